/*
 * before.c, on cushim:
 *
 *   cc after.c -lcushim -o after
 *
 * No toolkit is needed to build it, and one binary runs on drivers of CUDA 11.4 to 13.x. Without a driver it says so.
 */
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>

#include <stdio.h>
#include <stdlib.h>

#define BYTES ((size_t)1 << 20)

static void check(CUresult result, const char *call) {
  const char *name = NULL;
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s: %s\n", call, name != NULL ? name : "unknown result");
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_NOT_FOUND) fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

#define CHECK(call) check(call, #call)

static void expect(const unsigned char *bytes, unsigned char value, const char *what) {
  for (size_t i = 0; i < BYTES; i++) {
    if (bytes[i] != value) {
      fprintf(stderr, "%s: byte %zu is %d, not %d\n", what, i, bytes[i], value);
      exit(1);
    }
  }
  printf("%s: ok\n", what);
}

/* Device memory: fill it there, copy it out; copy something in, copy it out. */
static void plain_memory(void) {
  unsigned char *host = malloc(BYTES);
  CUdeviceptr device;
  if (host == NULL) exit(1);
  CHECK(cuMemAlloc(&device, BYTES));
  CHECK(cuMemsetD8(device, 7, BYTES));
  CHECK(cuMemcpyDtoH(host, device, BYTES));
  expect(host, 7, "fill");
  for (size_t i = 0; i < BYTES; i++) host[i] = 42;
  CHECK(cuMemcpyHtoD(device, host, BYTES));
  for (size_t i = 0; i < BYTES; i++) host[i] = 0;
  CHECK(cuMemcpyDtoH(host, device, BYTES));
  expect(host, 42, "copy");
  CHECK(cuMemFree(device));
  free(host);
}

/* Managed memory: ask for it on the device, move it there, fill it, move it back. */
static void managed_memory(CUdevice device) {
  int concurrent = 0;
  CUdeviceptr pages;
  CUresult result = cuMemAllocManaged(&pages, BYTES, CU_MEM_ATTACH_GLOBAL);
  if (result == CUDA_ERROR_NOT_SUPPORTED) {
    printf("managed: not supported here\n");
    return;
  }
  check(result, "cuMemAllocManaged");
  CHECK(cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device));
  if (concurrent) {
    CHECK(cuMemAdvise(pages, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    CHECK(cuMemPrefetchAsync(pages, BYTES, device, NULL));
  }
  CHECK(cuMemsetD8(pages, 9, BYTES));
  if (concurrent) CHECK(cuMemPrefetchAsync(pages, BYTES, CU_DEVICE_CPU, NULL));
  CHECK(cuCtxSynchronize());
  expect((const unsigned char *)(size_t)pages, 9, concurrent ? "managed, with advice and prefetch" : "managed");
  CHECK(cuMemFree(pages));
}

int main(void) {
  int version = 0;
  char name[128];
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDriverGetVersion(&version));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetName(name, sizeof name, device));
  printf("driver %d.%d, %s\n", version / 1000, version % 1000 / 10, name);
  CHECK(cuCtxCreate(&context, CU_CTX_SCHED_AUTO, device));
  plain_memory();
  managed_memory(device);
  CHECK(cuCtxDestroy(context));
  return 0;
}
