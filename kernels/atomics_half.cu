#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Sums of small whole numbers, which come out the same in any order.
extern "C" __global__ void atomics_half(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2) {
  int i = threadIdx.x % 4;
  atomicAdd(h, __float2half((float)i));
  atomicAdd(h2, __floats2half2_rn((float)i, 1.0f));
  atomicAdd(b, __float2bfloat16((float)(i & 1)));
  atomicAdd(b2, __floats2bfloat162_rn((float)(i & 1), 1.0f));
}
