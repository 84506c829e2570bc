/* A driver for CUDA 13.0 that does not survive captures nor one kind of user object, and loses its context for another. */
#include <stddef.h>
#include <stdlib.h>

static int is_lost;

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

int cuInit(unsigned flags) {
  return flags == 0 ? 0 : 1;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &is_lost;
  return device;
}

int cuCtxSetCurrent(void *context) {
  return context == NULL;
}

int cuCtxSynchronize(void) {
  return is_lost ? 700 : 0;
}

int cuModuleLoadData(void **module, const void *image) {
  *module = &is_lost;
  return image == NULL;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = module;
  return name == NULL;
}

int cuStreamCreate(void **stream, unsigned flags) {
  *stream = &is_lost;
  return flags > 1;
}

int cuStreamSynchronize(void *stream) {
  return stream == NULL;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  (void)shared;
  (void)extra;
  return function == NULL || stream == NULL || arguments == NULL || gx * gy * gz * bx * by * bz == 0;
}

int cuMemAlloc_v2(unsigned long long *address, size_t size) {
  *address = 4096;
  return size == 0;
}

int cuUserObjectCreate(void **object, void *data, void (*destroy)(void *), unsigned references, unsigned flags) {
  (void)data;
  if (object == NULL || destroy == NULL || references == 0) return 1;
  if (flags == 0) abort();
  if (flags == 2) is_lost = 1;
  return is_lost && flags != 2 ? 700 : 0;
}

int cuMemHostAlloc(void **host, size_t size, unsigned flags) {
  *host = calloc(1, size);
  return flags;
}

int cuEventCreate(void **event, unsigned flags) {
  *event = &is_lost;
  return flags > 7;
}

int cuStreamBeginCapture_v2(void *stream, int mode) {
  if (stream != NULL) abort();
  return mode;
}
