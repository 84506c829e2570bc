/*
 * The familiar names: a program for cuda.h of CUDA 12, in C and in C++, on whatever driver there is.
 *
 * Included first without them and then with them, as a program's own header may have done.
 */
#include "check.h"
#define CUSHIM_CUDA_NAMES
#include <cushim_driver.h>
#include <cushim_driver.h>

static void errors(void) {
  const char *text = NULL;
  CHECK_OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(text != NULL && strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
  CHECK_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  CHECK(text != NULL && text[0] != '\0');
}

/* What the driver lacks is answered. */
static void absent(int version) {
  CHECK((cuMemDiscardBatchAsync(NULL, NULL, 0, 0, NULL) == CUDA_ERROR_NOT_FOUND) == (version < 13000));
  CHECK((cuGreenCtxDestroy(NULL) == CUDA_ERROR_NOT_FOUND) == (version < 12040));
}

static void round_trip(CUdevice device) {
  char sent[] = "over to the device and back", back[sizeof sent] = "";
  CUdeviceptr memory = 0;
  size_t size = 0;
  CUdeviceptr base = 0;
  CHECK_OK(cuMemAlloc(&memory, sizeof sent));
  CHECK_OK(cuMemcpyHtoD(memory, sent, sizeof sent));
  CHECK_OK(cuMemcpyDtoH(back, memory, sizeof back));
  CHECK(strcmp(sent, back) == 0);
  CHECK_OK(cuMemsetD8(memory, 'x', 4));
  CHECK_OK(cuMemcpyDtoH(back, memory, sizeof back));
  CHECK(memcmp(back, "xxxx to", 7) == 0);
  CHECK_OK(cuMemGetAddressRange(&base, &size, memory));
  CHECK(base == memory && size >= sizeof sent);

  /* Four arguments on every driver, 13 included; what softcuda makes of them is another matter. */
  CHECK(cuMemAdvise(memory, sizeof sent, CU_MEM_ADVISE_SET_READ_MOSTLY, device) != CUDA_ERROR_NOT_FOUND);
  CHECK(cuMemPrefetchAsync(memory, sizeof sent, device, NULL) != CUDA_ERROR_NOT_FOUND);
  CHECK_OK(cuMemFree(memory));
}

int main(void) {
  CUdevice device = -1;
  CUcontext context = NULL;
  int version = 0, count = 0;
  check_begin();
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDriverGetVersion(&version));
  CHECK(version == given_number("CHECK_VERSION"));
  CHECK_OK(cuDeviceGetCount(&count));
  CHECK(count > 0);
  CHECK_OK(cuDeviceGet(&device, 0));
  CHECK_OK(cuCtxCreate(&context, CU_CTX_SCHED_AUTO, device));
  errors();
  absent(version);
  round_trip(device);
  CHECK_OK(cuCtxDestroy(context));
  return check_done();
}
