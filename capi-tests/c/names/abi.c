/*
 * Which ABI a familiar name calls: seen on fake_driver.c, whose functions answer with a number of their own.
 *
 * Compiled with and without CUDA_API_PER_THREAD_DEFAULT_STREAM.
 */
#define CUSHIM_CUDA_NAMES
#include "check.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define STREAM(legacy, own) own
#else
#define STREAM(legacy, own) legacy
#endif

int main(void) {
  CUcontext context;
  char bytes[1];
  check_begin();
  CHECK_STATUS(13020, cuCtxCreate(&context, 0, 0));
  CHECK_STATUS(18000, cuMemAdvise(0, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  CHECK_STATUS(STREAM(13021, 13022), cuMemcpyHtoD(0, bytes, 1));
  CHECK_STATUS(STREAM(18001, 18002), cuMemPrefetchAsync(0, 1, 0, NULL));
  CHECK_STATUS(STREAM(12000, 12001), cuStreamQuery(NULL));
  /* No variant: the same in both. */
  CHECK_STATUS(13023, cuMemAlloc(NULL, 1));
  /* A variant that the driver lacks is absent: the plain function would work on another stream. */
  CHECK_STATUS(STREAM(12002, CUDA_ERROR_NOT_FOUND), cuStreamSynchronize(NULL));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemFree(0));
  return check_done();
}
