/*
 * Which function a name of cuda.h calls, in each version and mode: seen on fake_driver.c, whose functions answer with a
 * number of their own. Not one line is for cushim, but for the checks.
 */
#include <cuda.h>

#include "check.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define IS_CALLED(expected, name) CHECK(strcmp(TEXT(name), expected) == 0)

#if defined(__CUDA_API_VERSION_INTERNAL)
/* Every ABI by the name that the driver exports. */
int main(void) {
  CUcontext context;
  char bytes[1];
  check_begin();
  CHECK_STATUS(12003, cuCtxCreate(&context, 0, 0));
  CHECK_STATUS(13020, cuCtxCreate_v2(&context, 0, 0));
  CHECK_STATUS(21040, cuCtxCreate_v3(&context, NULL, 0, 0, 0));
  CHECK_STATUS(12005, cuMemAlloc(NULL, 1));
  CHECK_STATUS(13023, cuMemAlloc_v2(NULL, 1));
  CHECK_STATUS(12004, cuMemcpyHtoD(0, bytes, 1));
  CHECK_STATUS(13021, cuMemcpyHtoD_v2(0, bytes, 1));
  CHECK_STATUS(13022, cuMemcpyHtoD_v2_ptds(0, bytes, 1));
  CHECK_STATUS(12000, cuStreamQuery(NULL));
  CHECK_STATUS(12001, cuStreamQuery_ptsz(NULL));
  IS_CALLED("cuMemAlloc", cuMemAlloc);
  return check_done();
}
#else
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define STREAM(legacy, own) own
#else
#define STREAM(legacy, own) legacy
#endif

int main(void) {
  CUcontext context;
  char bytes[1];
  check_begin();
#if CUDA_VERSION >= 13000
  {
    CUmemLocation location;
    memset(&location, 0, sizeof location);
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK_STATUS(22050, cuCtxCreate(&context, NULL, 0, 0));
    CHECK_STATUS(22020, cuMemAdvise(0, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, location));
    CHECK_STATUS(STREAM(22021, 22022), cuMemPrefetchAsync(0, 1, location, 0, NULL));
    IS_CALLED("cuCtxCreate_v4", cuCtxCreate);
  }
#else
  CHECK_STATUS(13020, cuCtxCreate(&context, 0, 0));
  CHECK_STATUS(18000, cuMemAdvise(0, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  CHECK_STATUS(STREAM(18001, 18002), cuMemPrefetchAsync(0, 1, 0, NULL));
  IS_CALLED("cuCtxCreate_v2", cuCtxCreate);
#endif
  CHECK_STATUS(STREAM(13021, 13022), cuMemcpyHtoD(0, bytes, 1));
  CHECK_STATUS(STREAM(12000, 12001), cuStreamQuery(NULL));
  CHECK_STATUS(13023, cuMemAlloc(NULL, 1));
  CHECK_STATUS(13023, cuMemAlloc_v2(NULL, 1));
  /* A variant that the driver lacks is absent: the plain function would work on another stream. */
  CHECK_STATUS(STREAM(12002, CUDA_ERROR_NOT_FOUND), cuStreamSynchronize(NULL));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemFree(0));
  CHECK_CONTAINS(last_message(), "cuMemFree");
  /* Programs that look names up themselves make texts of them. */
  IS_CALLED("cuMemAlloc_v2", cuMemAlloc);
  IS_CALLED(STREAM("cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"), cuMemcpyHtoD);
  return check_done();
}
#endif
