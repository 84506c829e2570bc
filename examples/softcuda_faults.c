/*
 * Tries a piece of a program with each of its driver calls failing in turn, on a machine that needs no GPU: every failure
 * must be reported, and none may leave anything behind.
 *
 *   cc softcuda_faults.c -lcushim -lsoftcuda && CUSHIM_DRIVER=software ./a.out
 */
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>
#include <softcuda.h>
#include <stdio.h>

enum { SIZE = 4096 };

/* The piece: two buffers, one filled and copied to the other. */
static CUresult fill_and_copy(void) {
  CUdeviceptr from = 0, to = 0;
  CUresult result, freed;

  if ((result = cuMemAlloc(&from, SIZE)) == CUDA_SUCCESS && (result = cuMemAlloc(&to, SIZE)) == CUDA_SUCCESS &&
      (result = cuMemsetD8(from, 1, SIZE)) == CUDA_SUCCESS)
    result = cuMemcpyDtoD(to, from, SIZE);
  if ((freed = cuMemFree(to)) != CUDA_SUCCESS && result == CUDA_SUCCESS) result = freed;
  if ((freed = cuMemFree(from)) != CUDA_SUCCESS && result == CUDA_SUCCESS) result = freed;
  return result;
}

/* Has the nth call of a function fail. */
static int try_with_fault(const char *function, int n) {
  char fault[64];
  size_t before = softcuda_live_objects();
  CUresult result;

  snprintf(fault, sizeof fault, "%s#%d=2", function, n);
  if (softcuda_fault_set(fault) != 0) {
    fprintf(stderr, "%s\n", softcuda_message());
    return 1;
  }
  result = fill_and_copy();
  softcuda_fault_clear();
  if (result != CUDA_ERROR_OUT_OF_MEMORY || softcuda_fault_hits() != 1) {
    fprintf(stderr, "%s: the failure got lost\n", fault);
    return 1;
  }
  if (softcuda_live_objects() != before) {
    fprintf(stderr, "%s: something is left behind:\n", fault);
    softcuda_dump(2);
    return 1;
  }
  return 0;
}

int main(void) {
  static const char *const functions[] = {"cuMemAlloc", "cuMemset*", "cuMemcpy*"};
  int64_t counts[sizeof functions / sizeof *functions];
  size_t i;
  int n, tried = 0, failures = 0;
  CUcontext context;
  CUresult result;

  if ((result = cuInit(0)) != CUDA_SUCCESS || (result = cuDevicePrimaryCtxRetain(&context, 0)) != CUDA_SUCCESS ||
      (result = cuCtxSetCurrent(context)) != CUDA_SUCCESS || (result = fill_and_copy()) != CUDA_SUCCESS) {
    fprintf(stderr, "without a fault: %d\n", (int)result);
    return 1;
  }
  for (i = 0; i < sizeof functions / sizeof *functions; i++) counts[i] = softcuda_call_count(functions[i]);
  for (i = 0; i < sizeof functions / sizeof *functions; i++) {
    for (n = 1; n <= counts[i]; n++, tried++) failures += try_with_fault(functions[i], n);
  }
  cuDevicePrimaryCtxRelease(0);
  printf("%d faults, %d failures\n", tried, failures);
  return failures != 0;
}
