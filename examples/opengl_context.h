/*
 * An OpenGL context without a window, for the examples: EGL makes it on a device that CUDA has, too. Both are found at run time, so that the
 * examples start where there are none. A program with a window has such a context already.
 */
#ifndef OPENGL_CONTEXT_H
#define OPENGL_CONTEXT_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* What the examples call of OpenGL. */
static struct {
  void (*gen_buffers)(int count, unsigned *names);
  void (*bind_buffer)(unsigned target, unsigned name);
  void (*buffer_data)(unsigned target, intptr_t bytes, const void *data, unsigned usage);
  void (*get_buffer_sub_data)(unsigned target, intptr_t offset, intptr_t bytes, void *data);
  void (*delete_buffers)(int count, const unsigned *names);
} gl;

enum { GL_ARRAY_BUFFER = 0x8892, GL_DYNAMIC_DRAW = 0x88E8 };

/* Sets a pointer to a function of EGL or OpenGL; false if there is none. */
static int find_function(void *egl, void *pointer, const char *name) {
  void *address = dlsym(egl, name);
  void *(*ask)(const char *name);
  if (address == NULL) {
    void *getter = dlsym(egl, "eglGetProcAddress");
    memcpy(&ask, &getter, sizeof ask);
    address = getter != NULL ? ask(name) : NULL;
  }
  memcpy(pointer, &address, sizeof address);
  return address != NULL;
}

/* Makes an OpenGL context of the CUDA device current on this thread. NULL, or why there is none. */
static const char *open_opengl(int cuda_device) {
  enum { PLATFORM_DEVICE = 0x313F, CUDA_DEVICE = 0x323A, OPENGL_API = 0x30A2 };
  static const int wanted[] = {0x3033 /* surface type */, 1 /* pbuffer */, 0x3040 /* renderable type */, 8 /* OpenGL */, 0x3038 /* end */};
  unsigned (*query_devices)(int room, void **devices, int *count);
  unsigned (*query_attribute)(void *device, int attribute, intptr_t *value);
  void *(*get_display)(unsigned platform, void *native, const int *attributes);
  unsigned (*initialize)(void *display, int *major, int *minor);
  unsigned (*bind_api)(unsigned api);
  unsigned (*choose_config)(void *display, const int *attributes, void **configs, int room, int *count);
  void *(*create_context)(void *display, void *config, void *shared, const int *attributes);
  unsigned (*make_current)(void *display, void *draw, void *read, void *context);
  void *devices[32], *config = NULL, *egl = dlopen("libEGL.so.1", RTLD_NOW);
  int count = 0, configs = 0, i;
  if (egl == NULL) return "there is no EGL (libEGL.so.1)";
  if (!find_function(egl, &query_devices, "eglQueryDevicesEXT") || !find_function(egl, &query_attribute, "eglQueryDeviceAttribEXT") ||
      !find_function(egl, &get_display, "eglGetPlatformDisplayEXT") || !find_function(egl, &initialize, "eglInitialize") ||
      !find_function(egl, &bind_api, "eglBindAPI") || !find_function(egl, &choose_config, "eglChooseConfig") ||
      !find_function(egl, &create_context, "eglCreateContext") || !find_function(egl, &make_current, "eglMakeCurrent") ||
      !find_function(egl, &gl.gen_buffers, "glGenBuffers") || !find_function(egl, &gl.bind_buffer, "glBindBuffer") ||
      !find_function(egl, &gl.buffer_data, "glBufferData") || !find_function(egl, &gl.get_buffer_sub_data, "glGetBufferSubData") ||
      !find_function(egl, &gl.delete_buffers, "glDeleteBuffers"))
    return "EGL lacks a function";
  if (!query_devices(32, devices, &count)) return "EGL lists no devices";
  for (i = 0; i < count; i++) {
    intptr_t ordinal = -1;
    void *display, *context;
    if (!query_attribute(devices[i], CUDA_DEVICE, &ordinal) || ordinal != cuda_device) continue;
    display = get_display(PLATFORM_DEVICE, devices[i], NULL);
    if (display == NULL || !initialize(display, NULL, NULL) || !bind_api(OPENGL_API)) continue;
    if (!choose_config(display, wanted, &config, 1, &configs) || configs == 0) continue;
    context = create_context(display, config, NULL, NULL);
    if (context != NULL && make_current(display, NULL, NULL, context)) return NULL;
  }
  return "EGL has no OpenGL context of the CUDA device";
}

#endif
