/* Beside the runtime's driver_types.h, of which this is the part that matters. */
#define DECLARE_AS_THE_RUNTIME_DOES                       \
  struct CUuuid_st { char bytes[16]; };                   \
  typedef struct CUuuid_st CUuuid;                        \
  typedef struct CUstream_st *cudaStream_t;

#if RUNTIME_FIRST
#define CU_UUID_HAS_BEEN_DEFINED
DECLARE_AS_THE_RUNTIME_DOES
#endif
#define CUDA_VERSION 13000 /* as programs define it that test it, without cuda.h */
#include <cushim_driver.h>
#if !RUNTIME_FIRST
#ifndef CU_UUID_HAS_BEEN_DEFINED
DECLARE_AS_THE_RUNTIME_DOES
#endif
typedef struct CUstream_st *cudaStream_t;
#endif

int size(CUstream stream, CUuuid uuid);
int size(CUstream stream, CUuuid uuid) {
  cudaStream_t same = stream;
  return same != NULL ? (int)sizeof uuid : 0;
}
