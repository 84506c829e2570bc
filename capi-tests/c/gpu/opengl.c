/*
 * Buffers and images of OpenGL, without a display: EGL makes a context of the device's. Where there is no EGL, or no OpenGL context of the
 * CUDA device, the program says "skipped" and why, and checks nothing. `memory/opengl` has what needs no device.
 */
#include "objects.h"
#include "resources.h"

#include <dlfcn.h>

/* What is used of EGL and OpenGL, which are found at run time. */
typedef void *egl_display, *egl_config, *egl_context, *egl_device;
enum {
  EGL_PLATFORM_DEVICE = 0x313F, EGL_CUDA_DEVICE = 0x323A, EGL_OPENGL_API = 0x30A2, EGL_NONE = 0x3038, EGL_SURFACE_TYPE = 0x3033,
  EGL_PBUFFER_BIT = 1, EGL_RENDERABLE_TYPE = 0x3040, EGL_OPENGL_BIT = 8,
  GL_ARRAY_BUFFER = 0x8892, GL_DYNAMIC_DRAW = 0x88E8, GL_TEXTURE_2D = 0x0DE1, GL_RGBA = 0x1908, GL_RGBA8 = 0x8058, GL_UNSIGNED_BYTE = 0x1401,
  GL_TEXTURE_MAX_LEVEL = 0x813D, VERTEX_BYTES = 4096, WIDTH = 64, HEIGHT = 32
};
#define PROC(result, name, ...) typedef result (*name##_type)(__VA_ARGS__); static name##_type name
PROC(void *, eglGetProcAddress, const char *);
PROC(unsigned, eglQueryDevicesEXT, int, egl_device *, int *);
PROC(unsigned, eglQueryDeviceAttribEXT, egl_device, int, intptr_t *);
PROC(egl_display, eglGetPlatformDisplayEXT, unsigned, void *, const int *);
PROC(unsigned, eglInitialize, egl_display, int *, int *);
PROC(unsigned, eglBindAPI, unsigned);
PROC(unsigned, eglChooseConfig, egl_display, const int *, egl_config *, int, int *);
PROC(egl_context, eglCreateContext, egl_display, egl_config, egl_context, const int *);
PROC(unsigned, eglMakeCurrent, egl_display, void *, void *, egl_context);
PROC(unsigned, eglDestroyContext, egl_display, egl_context);
PROC(unsigned, eglTerminate, egl_display);
PROC(void, glGenBuffers, int, unsigned *);
PROC(void, glBindBuffer, unsigned, unsigned);
PROC(void, glBufferData, unsigned, intptr_t, const void *, unsigned);
PROC(void, glGetBufferSubData, unsigned, intptr_t, intptr_t, void *);
PROC(void, glGenTextures, int, unsigned *);
PROC(void, glBindTexture, unsigned, unsigned);
PROC(void, glTexParameteri, unsigned, unsigned, int);
PROC(void, glTexImage2D, unsigned, int, int, int, int, int, unsigned, unsigned, const void *);
PROC(void, glGetTexImage, unsigned, int, unsigned, unsigned, void *);
PROC(void, glFinish, void);
PROC(unsigned, glGetError, void);

static egl_display display;
static egl_context rendering;
static struct objects all;
static unsigned char bytes[VERTEX_BYTES], pixels[HEIGHT][WIDTH][4];

/* A pointer to a function, from one to data. */
static void function_of(void *to, void *from) { memcpy(to, &from, sizeof from); }

static int find_functions(void) {
  void *egl = dlopen("libEGL.so.1", RTLD_NOW);
  if (egl == NULL) {
    printf("skipped: no EGL (%s)\n", dlerror());
    return 0;
  }
  function_of(&eglGetProcAddress, dlsym(egl, "eglGetProcAddress"));
  if (eglGetProcAddress == NULL) {
    printf("skipped: libEGL.so.1 has no eglGetProcAddress\n");
    return 0;
  }
#define FIND(name) \
  function_of(&name, eglGetProcAddress(#name)); \
  if (name == NULL) function_of(&name, dlsym(egl, #name)); \
  if (name == NULL) { \
    printf("skipped: EGL has no function " #name "\n"); \
    return 0; \
  }
  FIND(eglQueryDevicesEXT) FIND(eglQueryDeviceAttribEXT) FIND(eglGetPlatformDisplayEXT) FIND(eglInitialize) FIND(eglBindAPI) FIND(eglChooseConfig)
  FIND(eglCreateContext) FIND(eglMakeCurrent) FIND(eglDestroyContext) FIND(eglTerminate) FIND(glGenBuffers) FIND(glBindBuffer) FIND(glBufferData)
  FIND(glGetBufferSubData) FIND(glGenTextures) FIND(glBindTexture) FIND(glTexParameteri) FIND(glTexImage2D) FIND(glGetTexImage) FIND(glFinish)
  FIND(glGetError)
#undef FIND
  return 1;
}

/* A context of OpenGL on the device that CUDA numbers 0, current on this thread. */
static int open_gl(void) {
  static const int wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  egl_device devices[32];
  egl_config config = NULL;
  int count = 0, configs = 0, i, major = 0, minor = 0;
  if (!find_functions()) return 0;
  if (!eglQueryDevicesEXT(32, devices, &count)) count = 0;
  for (i = 0; i < count; i++) {
    intptr_t ordinal = -1;
    if (!eglQueryDeviceAttribEXT(devices[i], EGL_CUDA_DEVICE, &ordinal) || ordinal != 0) continue;
    display = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE, devices[i], NULL);
    if (display == NULL || !eglInitialize(display, &major, &minor)) continue;
    printf("EGL %d.%d on device %d of %d\n", major, minor, i, count);
    if (!eglBindAPI(EGL_OPENGL_API) || !eglChooseConfig(display, wanted, &config, 1, &configs) || configs == 0) continue;
    rendering = eglCreateContext(display, config, NULL, NULL);
    if (rendering != NULL && eglMakeCurrent(display, NULL, NULL, rendering)) return 1;
  }
  printf("skipped: EGL has no OpenGL context of the CUDA device; it has %d devices\n", count);
  return 0;
}

static unsigned new_gl_buffer(unsigned value) {
  unsigned name = 0;
  glGenBuffers(1, &name);
  glBindBuffer(GL_ARRAY_BUFFER, name);
  memset(bytes, (int)value, sizeof bytes);
  glBufferData(GL_ARRAY_BUFFER, sizeof bytes, bytes, GL_DYNAMIC_DRAW);
  glFinish();
  return name;
}

/* What OpenGL has there now: the same byte everywhere, or -1. */
static int gl_value(unsigned name) {
  size_t i;
  memset(bytes, 0xee, sizeof bytes);
  glBindBuffer(GL_ARRAY_BUFFER, name);
  glGetBufferSubData(GL_ARRAY_BUFFER, 0, sizeof bytes, bytes);
  for (i = 1; i < sizeof bytes; i++) {
    if (bytes[i] != bytes[0]) return -1;
  }
  return bytes[0];
}

static int is_mapped(cushim_graphics graphics) {
  int32_t mapped = -1;
  CHECK_OK(cushim_graphics_get_mapped(graphics, &mapped));
  return mapped;
}

static void buffers(void) {
  cushim_graphics graphics = NULL;
  cushim_buffer buffer = NULL, again = (cushim_buffer)NOT_NULL;
  cushim_stream other = new_stream(all.context);
  CUgraphicsResource native = NULL;
  const unsigned name = new_gl_buffer(3);
  if (!CHECK_OK(cushim_graphics_register_gl_buffer(all.context, name, 0, &graphics))) return;
  CHECK_OK(cushim_set_label(graphics, "vertices"));
  CHECK_OK(cushim_graphics_native(graphics, &native));
  CHECK(native != NULL && !is_mapped(graphics));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_unmap(graphics, NULL));
  CHECK_CONTAINS(last_message(), "\"vertices\" is not mapped");
  CHECK_OK(cushim_graphics_map(graphics, all.stream, &buffer));
  CHECK(is_mapped(graphics) && cushim_buffer_size(buffer) == VERTEX_BYTES);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map(graphics, all.stream, &again));
  CHECK(again == NULL);
  CHECK_CONTAINS(last_message(), "\"vertices\" is mapped already");
  CHECK(last_byte(all.stream, cushim_buffer_pointer(buffer), VERTEX_BYTES) == 3);
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 7, VERTEX_BYTES));
  CHECK_OK(cushim_graphics_unmap(graphics, NULL));
  CHECK(!is_mapped(graphics) && gl_value(name) == 7);
  /* The buffer has nothing any more. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, fill_buffer(all.stream, buffer, 0, 9, VERTEX_BYTES));
  CHECK_CONTAINS(last_message(), "unmapped");
  CHECK_OK(cushim_buffer_destroy(buffer));
  /* Mapped in one stream, it is given back in another. */
  CHECK_OK(cushim_graphics_map(graphics, all.stream, &buffer));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 8, VERTEX_BYTES));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_buffer_destroy_on(buffer, other));
  CHECK(!is_mapped(graphics) && gl_value(name) == 8);
  /* The handle may go first: the buffer keeps the registration. */
  CHECK_OK(cushim_graphics_map(graphics, other, &buffer));
  CHECK_OK(cushim_graphics_destroy(graphics));
  CHECK_OK(fill_buffer(other, buffer, 0, 5, VERTEX_BYTES));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(gl_value(name) == 5);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_register_gl_buffer(all.context, 0, 0, &graphics));
  CHECK(cushim_graphics_register_gl_buffer(all.context, name + 1000, 0, &graphics) > 0);
  CHECK(graphics == NULL);
  CHECK_OK(cushim_stream_destroy(other));
}

static unsigned new_texture(void) {
  unsigned name = 0;
  memset(pixels, 4, sizeof pixels);
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_2D, name);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, WIDTH, HEIGHT, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  glFinish();
  return name;
}

static void copy_pixels(CUarray array, int to_array) {
  cushim_endpoint host = cushim_endpoint_host(pixels), image = cushim_endpoint_array(array);
  cushim_region from, to;
  cushim_extent extent;
  memset(&from, 0, sizeof from);
  memset(&extent, 0, sizeof extent);
  from.endpoint = to_array ? host : image;
  to = from;
  to.endpoint = to_array ? image : host;
  (to_array ? &from : &to)->pitch = sizeof pixels[0];
  extent.width = sizeof pixels[0];
  extent.height = HEIGHT;
  extent.depth = 1;
  CHECK_OK(cushim_stream_copy_3d(all.stream, &to, &from, &extent));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static void images(void) {
  cushim_graphics graphics = NULL;
  cushim_buffer buffer = (cushim_buffer)NOT_NULL;
  CUarray array = NULL, none = (CUarray)NOT_NULL;
  const unsigned name = new_texture();
  if (!CHECK_OK(cushim_graphics_register_gl_image(all.context, name, GL_TEXTURE_2D, 0, &graphics))) return;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map(graphics, all.stream, &buffer));
  CHECK(buffer == NULL);
  CHECK_OK(cushim_graphics_map_array(graphics, all.stream, 0, 0, &array));
  CHECK(array != NULL && is_mapped(graphics));
  CHECK(cushim_graphics_get_array(graphics, 0, 99, &none) > 0);
  CHECK(none == NULL && is_mapped(graphics));
  CHECK_OK(cushim_graphics_get_array(graphics, 0, 0, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graphics_map_array(graphics, all.stream, 0, 0, &none));
  CHECK(none == NULL && is_mapped(graphics));
  memset(pixels, 0, sizeof pixels);
  copy_pixels(array, 0);
  CHECK(pixels[0][0][0] == 4 && pixels[HEIGHT - 1][WIDTH - 1][3] == 4);
  memset(pixels, 9, sizeof pixels);
  copy_pixels(array, 1);
  CHECK_OK(cushim_graphics_unmap(graphics, all.stream));
  memset(pixels, 0, sizeof pixels);
  glBindTexture(GL_TEXTURE_2D, name);
  glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  CHECK(pixels[0][0][0] == 9 && pixels[HEIGHT - 1][WIDTH - 1][3] == 9);
  CHECK_OK(cushim_graphics_map_array(graphics, all.stream, 0, 0, &array));
  CHECK_OK(cushim_graphics_destroy(graphics)); /* while it is mapped: OpenGL has it again */
  CHECK(glGetError() == 0);
}

int main(void) {
  check_begin();
  all = open_objects();
  if (open_gl()) {
    buffers();
    images();
    eglMakeCurrent(display, NULL, NULL, NULL);
    eglDestroyContext(display, rendering);
    eglTerminate(display);
  }
  close_objects(&all);
  return check_done();
}
