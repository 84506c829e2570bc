/*
 * A program for cuda.h of CUDA 13 on drivers before: what an older form of a function can do, it does; seen on softcuda.
 */
#define CUDA_VERSION 13000
#include <cuda.h>

#include "check.h"

static void times(void) {
  CUevent start, end;
  float milliseconds = -1;
  CHECK_OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CHECK_OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CHECK_OK(cuEventRecord(start, NULL));
  CHECK_OK(cuEventRecord(end, NULL));
  CHECK_OK(cuEventSynchronize(end));
  CHECK_OK(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  CHECK_OK(cuEventDestroy(start));
  CHECK_OK(cuEventDestroy(end));
}

static void managed(CUdevice device, int version) {
  CUmemLocation location;
  CUdeviceptr pages;
  memset(&location, 0, sizeof location);
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  CHECK_OK(cuMemAllocManaged(&pages, 65536, CU_MEM_ATTACH_GLOBAL));
  CHECK_OK(cuMemAdvise(pages, 65536, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location));
  CHECK_OK(cuMemPrefetchAsync(pages, 65536, location, 0, NULL));
  location.type = CU_MEM_LOCATION_TYPE_HOST;
  CHECK_OK(cuMemPrefetchAsync(pages, 65536, location, 0, NULL));
  CHECK_OK(cuCtxSynchronize());
  if (version < 12020) {
    /* The older form has no nodes of memory. */
    location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemPrefetchAsync(pages, 65536, location, 0, NULL));
    CHECK_CONTAINS(last_message(), "12.2");
  }
  CHECK_OK(cuMemFree(pages));
}

static void lookup(void) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  void *function = NULL;
  CHECK_OK(cuGetProcAddress("cuInit", &function, 2000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
  CHECK(function != NULL && found == CU_GET_PROC_ADDRESS_SUCCESS);
  CHECK_OK(cuGetProcAddress("cuInit", &function, 2000, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
}

int main(void) {
  CUctxCreateParams params;
  CUcontext context;
  CUdevice device;
  int version = 0;
  check_begin();
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDriverGetVersion(&version));
  CHECK_OK(cuDeviceGet(&device, 0));
  CHECK_OK(cuCtxCreate(&context, NULL, 0, device));
  times();
  managed(device, version);
  lookup();
  CHECK_OK(cuCtxDestroy(context));
  if (version < 12050) {
    memset(&params, 0, sizeof params);
    CHECK_OK(cuCtxCreate(&context, &params, 0, device));
    CHECK_OK(cuCtxDestroy(context));
    params.numExecAffinityParams = 1;
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuCtxCreate(&context, &params, 0, device));
    CHECK_CONTAINS(last_message(), "12.5");
  }
  return check_done();
}
