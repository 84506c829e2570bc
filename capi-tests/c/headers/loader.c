/* The loader's header in a program that has types of its own for the driver's functions, other than cuda.h's. */
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct { int mine; } CUuuid;
enum { CUDA_SUCCESS, CU_STREAM_NON_BLOCKING = 1 };
#define CUDA_VERSION 11040
#define CUDAAPI
#define __cuda_cuda_h__

#include <cushim_loader.h>

typedef CUresult(CUDAAPI *init_function)(unsigned int flags);

CUresult load(init_function *init, CUuuid *uuid);
CUresult load(init_function *init, CUuuid *uuid) {
  cushim_driver driver = cushim_loader_open(NULL);
  void *function = cushim_loader_symbol(driver, "cuInit");
  *(void **)init = function;
  uuid->mine = cushim_last_error_message() != NULL;
  return function != NULL ? CUDA_SUCCESS : 1;
}
