/* The header with the familiar names from the start, and again without, as an unaware header would include it. */
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>
#undef CUSHIM_CUDA_NAMES
#include <cushim_driver.h>

CUresult context(CUcontext *created, CUdevice device);
CUresult context(CUcontext *created, CUdevice device) {
  CUresult result = cuCtxCreate(created, CU_CTX_SCHED_BLOCKING_SYNC, device);
  return result != CUDA_SUCCESS ? result : cuMemAdvise(0, 1, CU_MEM_ADVISE_SET_READ_MOSTLY, device);
}
