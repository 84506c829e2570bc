/*
 * Without a driver cuInit answers CUDA_ERROR_NO_DEVICE, and every other familiar name CUDA_ERROR_NOT_FOUND; it writes
 * nothing. The last error says why there is no driver. Also compiled with CUDA_H, as a program that includes cuda.h.
 *
 * calls.inc is made from the header: a block for each name, with zeros for arguments, that ends with CALL(call).
 */
#ifdef CUDA_H
#include <cuda.h>
#else
#define CUSHIM_CUDA_NAMES
#endif
#include "check.h"

#define CALL(call) CHECK_STATUS(CUDA_ERROR_NOT_FOUND, call)

static void every_name(void) {
  CHECK_STATUS(CUDA_ERROR_NO_DEVICE, cuInit(0));
  CHECK(last_message()[0] != '\0');
  if (getenv("CHECK_MESSAGE") != NULL) CHECK_CONTAINS(last_message(), getenv("CHECK_MESSAGE"));
#ifndef CUDA_H
#include "calls.inc"
#endif
}

static void writes_nothing(void) {
  CUcontext context = (CUcontext)&context;
  CUdeviceptr memory = 7;
  int version = 7;
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuCtxCreate(&context, 0, 0));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemAlloc(&memory, 1));
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuDriverGetVersion(&version));
  CHECK(last_message()[0] != '\0'); /* which driver lacks what, or why there is none */
  CHECK(context == (CUcontext)&context && memory == 7 && version == 7);
}

static void errors(void) {
  const char *text = NULL;
  CHECK_OK(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text));
  CHECK(text != NULL && strcmp(text, "CUDA_ERROR_NOT_FOUND") == 0);
  CHECK_OK(cuGetErrorName(CUDA_SUCCESS, &text));
  CHECK(text != NULL && strcmp(text, "CUDA_SUCCESS") == 0);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(CUDA_SUCCESS, NULL));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(CUDA_SUCCESS, NULL));
  CHECK_OK(cuGetErrorString(CUDA_ERROR_NOT_FOUND, &text));
  CHECK(text != NULL && text[0] != '\0');
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
  CHECK(text == NULL);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &text));
  CHECK(text == NULL);
}

int main(void) {
  check_begin();
  every_name();
  writes_nothing();
  errors();
  /* The default table is there, and empty; if a driver was to be opened and could not be, the last error says why. */
  CHECK(cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM) != NULL);
  CHECK(!CUSHIM_HAS(cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM), cuInit_2000));
  if (getenv("CHECK_MESSAGE") != NULL) CHECK_CONTAINS(last_message(), getenv("CHECK_MESSAGE"));
  return check_done();
}
