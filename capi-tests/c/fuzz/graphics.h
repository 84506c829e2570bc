/* In some episodes the driver has an OpenGL, of the program's own: its buffers are memory of the root's context. */
#ifndef FUZZ_GRAPHICS_H
#define FUZZ_GRAPHICS_H

#include "handles.h"

#include "opengl_driver.h"

static int has_gl(void) { return driver_without_gl != NULL; }

/* Opens a driver with OpenGL around the root's, which it becomes. */
static void open_gl(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  driver_without_gl = root_driver;
  must(cushim_driver_get_table(driver_without_gl, CUSHIM_TABLE_LEGACY_STREAM, &gl.real), "cushim_driver_get_table");
  options.getter = gl_get;
  must(cushim_driver_open(&options, &root_driver), "cushim_driver_open");
  memset(gl.registrations, 0, sizeof gl.registrations);
}

static void make_gl_memory(void) {
  int i;
  for (i = 0; has_gl() && i < GL_BUFFERS; i++) {
    uint64_t address = 0;
    must(cushim_context_allocate(root_context, GL_BYTES, &address), "cushim_context_allocate");
    gl.buffers[i] = address;
  }
  for (i = 0; i < GL_LEVELS; i++) gl.levels[i] = (CUarray)(uintptr_t)(0x1000 * (i + 1));
}

/* Unless it went with the root's context. */
static void free_gl_memory(int is_gone) {
  int i;
  for (i = 0; has_gl() && !is_gone && i < GL_BUFFERS; i++) must(cushim_context_free(root_context, gl.buffers[i]), "cushim_context_free");
}

static void close_gl(void) {
  if (has_gl()) must(cushim_driver_destroy(driver_without_gl), "cushim_driver_destroy");
  driver_without_gl = NULL;
}

/* Whether the address is in a buffer of OpenGL. */
static int is_of_gl(uint64_t address) {
  int i;
  for (i = 0; has_gl() && i < GL_BUFFERS; i++) {
    if (address - gl.buffers[i] < GL_BYTES) return 1;
  }
  return 0;
}

/* A name in OpenGL, mostly of something that there is. */
static uint64_t draw_gl_name(const struct plan *plan) {
  if (once_in(8)) return below(64);
  return is_named(plan, "cushim_graphics_register_gl_image") ? (uint64_t)GL_IMAGE : 1 + below(GL_BUFFERS);
}

#endif
