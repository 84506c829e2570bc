/* What programs include that were written for NVIDIA's headers, twice, and cushim's behind it. */
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaTypedefs.h>
#include <builtin_types.h>
#include <cuda.h>
#include <cushim.h>

/* cuda.h includes stdlib.h, on which programs rely. */
CUresult everything(CUdevice device, CUdevice_attribute attribute);
CUresult everything(CUdevice device, CUdevice_attribute attribute) {
  int *value = (int *)malloc(sizeof *value);
  PFN_cuInit init = cuInit;
  CUcontext context = NULL;
  CUresult result = init(0);
  if (result == CUDA_SUCCESS) result = cuDeviceGetAttribute(value, attribute, device);
  if (result == CUDA_SUCCESS) result = cuCtxCreate_v2(&context, CU_CTX_SCHED_AUTO, device);
  if (result == CUDA_SUCCESS) result = cuProfilerStop();
  free(value);
  return result;
}
