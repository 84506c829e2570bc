/*
 * A driver that has an OpenGL, and an OpenGL that needs no device: a getter of the program's hands out the functions of a driver, and its own
 * where that one asks OpenGL. Buffers are memory of the driver's, and images its arrays (softcuda has none, and nobody looks into those). It
 * counts what it is told, and refuses what is asked in the wrong order. `opengl.h` opens it for the programs that check.
 */
#ifndef OPENGL_DRIVER_H
#define OPENGL_DRIVER_H

#include <cushim.h>
#include <cushim_driver.h>

#include <pthread.h>
#include <string.h>

enum { GL_BUFFERS = 3, GL_BYTES = 4096, GL_WIDTH = 16, GL_HEIGHT = 8, GL_IMAGE = 50, GL_LEVELS = 2, GL_MOST = 64, GL_TEXTURE_2D = 0x0de1 };

/* What one registration is: the driver's handle points here. */
struct gl_registration {
  unsigned name;
  int is_mapped, is_registered;
};

static struct {
  const cushim_driver_table *real;
  CUdeviceptr buffers[GL_BUFFERS];
  CUarray levels[GL_LEVELS];
  struct gl_registration registrations[GL_MOST];
  int count, maps, unmaps, ends; /* calls that succeeded */
  unsigned flags;                /* of the last registration */
  CUstream stream;               /* of the last map or unmap */
  int failing;                   /* so many unmaps fail from now on */
  int is_lost;                   /* as after an error of the device, no stream tells whether it is captured, and nothing is unmapped */
  pthread_mutex_t lock;
} gl = {NULL, {0}, {NULL}, {{0, 0, 0}}, 0, 0, 0, 0, 0, NULL, 0, 0, PTHREAD_MUTEX_INITIALIZER};

/* How many calls there were so far; threads of the library's make some. */
static inline int gl_count(const int *calls) {
  int count;
  pthread_mutex_lock(&gl.lock);
  count = *calls;
  pthread_mutex_unlock(&gl.lock);
  return count;
}

static inline CUresult CUSHIM_CUDAAPI gl_is_capturing(CUstream stream, CUstreamCaptureStatus *status) {
  return gl.is_lost ? CUDA_ERROR_ILLEGAL_ADDRESS : gl.real->cuStreamIsCapturing_10000(stream, status);
}

static inline CUresult gl_register(CUgraphicsResource *resource, unsigned name, unsigned flags) {
  struct gl_registration *registration = gl.registrations;
  while (registration < gl.registrations + GL_MOST && registration->is_registered) registration++;
  if (registration == gl.registrations + GL_MOST) return CUDA_ERROR_OUT_OF_MEMORY;
  gl.count++;
  registration->is_mapped = 0;
  registration->name = name;
  registration->is_registered = 1;
  gl.flags = flags;
  memcpy(resource, &registration, sizeof registration);
  return CUDA_SUCCESS;
}

static inline CUresult CUSHIM_CUDAAPI gl_register_buffer(CUgraphicsResource *resource, unsigned name, unsigned flags) {
  return name >= 1 && name <= GL_BUFFERS ? gl_register(resource, name, flags) : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult CUSHIM_CUDAAPI gl_register_image(CUgraphicsResource *resource, unsigned name, unsigned target, unsigned flags) {
  return name == GL_IMAGE && target == GL_TEXTURE_2D ? gl_register(resource, name, flags) : CUDA_ERROR_INVALID_VALUE;
}

static inline struct gl_registration *gl_registration_of(CUgraphicsResource resource) {
  struct gl_registration *registration;
  memcpy(&registration, &resource, sizeof resource);
  return registration;
}

/* A map or an unmap, which the driver refuses in the wrong order, and in a stream that is being captured. */
static inline CUresult gl_turn(unsigned count, CUgraphicsResource *resources, CUstream stream, int is_map) {
  struct gl_registration *registration = gl_registration_of(resources[0]);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult result = CUDA_SUCCESS;
  if (count != 1 || !registration->is_registered) return CUDA_ERROR_INVALID_HANDLE;
  gl.real->cuStreamIsCapturing_10000(stream, &status);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  pthread_mutex_lock(&gl.lock);
  if (registration->is_mapped == is_map) result = is_map ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_NOT_MAPPED;
  else if (gl.is_lost) result = CUDA_ERROR_ILLEGAL_ADDRESS;
  else if (!is_map && gl.failing > 0) gl.failing--, result = CUDA_ERROR_OUT_OF_MEMORY;
  else registration->is_mapped = is_map, (void)(is_map ? gl.maps++ : gl.unmaps++), gl.stream = stream;
  pthread_mutex_unlock(&gl.lock);
  return result;
}

static inline CUresult CUSHIM_CUDAAPI gl_map(unsigned count, CUgraphicsResource *resources, CUstream stream) {
  return gl_turn(count, resources, stream, 1);
}

static inline CUresult CUSHIM_CUDAAPI gl_unmap(unsigned count, CUgraphicsResource *resources, CUstream stream) {
  return gl_turn(count, resources, stream, 0);
}

static inline CUresult CUSHIM_CUDAAPI gl_pointer(CUdeviceptr *pointer, size_t *bytes, CUgraphicsResource resource) {
  const struct gl_registration *registration = gl_registration_of(resource);
  if (!registration->is_mapped) return CUDA_ERROR_NOT_MAPPED;
  if (registration->name == GL_IMAGE) return CUDA_ERROR_NOT_MAPPED_AS_POINTER;
  *pointer = gl.buffers[registration->name - 1];
  *bytes = GL_BYTES;
  return CUDA_SUCCESS;
}

static inline CUresult CUSHIM_CUDAAPI gl_array(CUarray *array, CUgraphicsResource resource, unsigned layer, unsigned level) {
  const struct gl_registration *registration = gl_registration_of(resource);
  if (!registration->is_mapped) return CUDA_ERROR_NOT_MAPPED;
  if (registration->name != GL_IMAGE) return CUDA_ERROR_NOT_MAPPED_AS_ARRAY;
  if (layer > 0 || level >= GL_LEVELS) return CUDA_ERROR_INVALID_VALUE;
  *array = gl.levels[level];
  return CUDA_SUCCESS;
}

static inline CUresult CUSHIM_CUDAAPI gl_unregister(CUgraphicsResource resource) {
  struct gl_registration *registration = gl_registration_of(resource);
  if (!registration->is_registered) return CUDA_ERROR_INVALID_HANDLE;
  registration->is_registered = 0;
  pthread_mutex_lock(&gl.lock);
  gl.ends++;
  pthread_mutex_unlock(&gl.lock);
  return CUDA_SUCCESS;
}

/* Hands out the real driver's functions, but for those of OpenGL, and for those that it is to lack. */
static inline int gl_get(void *user, const char *symbol, void **address, int of, uint64_t flags, int *found) {
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result;
  const char *const *lacks = (const char *const *)user;
  for (; lacks != NULL && *lacks != NULL; lacks++) {
    if (strcmp(symbol, *lacks) != 0) continue;
    *address = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
  }
#define OWN(name, function)                      \
  if (strcmp(symbol, name) == 0) {               \
    void (*own)(void) = (void (*)(void))function; \
    memcpy(address, &own, sizeof own);           \
    *found = CU_GET_PROC_ADDRESS_SUCCESS;        \
    return CUDA_SUCCESS;                         \
  }
  OWN("cuGraphicsGLRegisterBuffer", gl_register_buffer)
  OWN("cuGraphicsGLRegisterImage", gl_register_image)
  OWN("cuGraphicsMapResources", gl_map)
  OWN("cuGraphicsUnmapResources", gl_unmap)
  OWN("cuGraphicsSubResourceGetMappedArray", gl_array)
  OWN("cuGraphicsUnregisterResource", gl_unregister)
  OWN("cuStreamIsCapturing", gl_is_capturing)
  if (of >= 3020) {
    OWN("cuGraphicsResourceGetMappedPointer", gl_pointer)
  }
#undef OWN
  if (CUSHIM_HAS(gl.real, cuGetProcAddress_12000)) {
    result = gl.real->cuGetProcAddress_12000(symbol, address, of, flags, &query);
  } else {
    result = gl.real->cuGetProcAddress_11030(symbol, address, of, flags);
    if (result == CUDA_ERROR_NOT_FOUND) query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, result = CUDA_SUCCESS;
  }
  *found = (int)query;
  return (int)result;
}

#endif
