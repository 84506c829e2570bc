/* Each of our headers, and no code of a program's. */
#ifdef CUDA_H
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaTypedefs.h>
#else
#define CUSHIM_CUDA_NAMES
#endif
#if defined(__cplusplus) && __cplusplus >= 201703L
#include <cushim.hpp>
#endif
#include <cushim.h>
#include <cushim_driver.h>
#include <softcuda.h>

int strict(void);
int strict(void) { return 0; }
