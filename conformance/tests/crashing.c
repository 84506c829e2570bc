/* A driver for CUDA 13.0 that has three functions, one of which cannot bear NULL. */
#include <stddef.h>
#include <stdlib.h>

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

int cuInit(unsigned flags) {
  return flags == 0 ? 0 : 1;
}

int cuDeviceGetCount(int *count) {
  if (count == NULL) abort();
  *count = 1;
  return 0;
}
