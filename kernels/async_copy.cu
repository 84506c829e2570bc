// Copies into shared memory while the thread goes on.
#include <cuda_pipeline.h>

extern "C" __global__ void async_copy(const int *in, int *out) {
  __shared__ __align__(16) int here[2][256];
  int t = threadIdx.x, sum = 0;
  const int *mine = in + blockIdx.x * 1024;
  __pipeline_memcpy_async(&here[0][t * 4], &mine[t * 4], 16);
  __pipeline_commit();
  for (int part = 0; part < 4; part++) {
    if (part < 3) __pipeline_memcpy_async(&here[(part + 1) % 2][t * 4], &mine[(part + 1) * 256 + t * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int i = 0; i < 4; i++) sum = sum * 3 + here[part % 2][(t * 4 + i * 65) % 256];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + t] = sum;
}
