/* A driver that has an OpenGL of the program's own, and what that has. Include it after the others. */
#ifndef OPENGL_H
#define OPENGL_H

#include "opengl_driver.h"
#include "resources.h"

/* Opens the driver with an OpenGL, but for functions of these names, up to NULL; `driver` stays open meanwhile. */
static inline cushim_driver open_with_gl(cushim_driver driver, const char *const *lacks) {
  cushim_driver_options options;
  cushim_driver opened = NULL;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.getter = gl_get;
  options.getter_user = (void *)(uintptr_t)lacks;
  gl.real = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_driver_open(&options, &opened));
  return opened;
}

/* Makes what OpenGL has, in the context that is current. */
static inline void make_gl_objects(int with_arrays) {
  CUDA_ARRAY_DESCRIPTOR description;
  int i;
  for (i = 0; i < GL_BUFFERS; i++) {
    if (!CHECK(gl.real->cuMemAlloc_3020(&gl.buffers[i], GL_BYTES) == CUDA_SUCCESS)) exit(1);
    PROGRAMS_OWN(gl.buffers[i]);
  }
  memset(&description, 0, sizeof description);
  description.Width = GL_WIDTH;
  description.Height = GL_HEIGHT;
  description.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  description.NumChannels = 4;
  for (i = 0; !with_arrays && i < GL_LEVELS; i++) gl.levels[i] = (CUarray)(uintptr_t)(0x1000 * (i + 1));
  for (i = 0; with_arrays && i < GL_LEVELS; i++) CHECK(gl.real->cuArrayCreate_3020(&gl.levels[i], &description) == CUDA_SUCCESS);
}

static inline void destroy_gl_objects(int with_arrays) {
  int i;
  for (i = 0; i < GL_BUFFERS; i++) CHECK(gl.real->cuMemFree_3020(gl.buffers[i]) == CUDA_SUCCESS);
  for (i = 0; with_arrays && i < GL_LEVELS; i++) CHECK(gl.real->cuArrayDestroy_2000(gl.levels[i]) == CUDA_SUCCESS);
}

#endif
