// Sums of 256 numbers a block, in shared memory: halves are added until one number is left.
extern "C" __global__ void reduce_shared(const float *in, float *sums) {
  __shared__ float part[256];
  int t = threadIdx.x;
  part[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

__device__ float warp_sum(float x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_down_sync(0xffffffff, x, distance);
  return x;
}

// The same with shuffles, within warps and then between them.
extern "C" __global__ void reduce_shuffle(const float *in, float *sums) {
  __shared__ float part[8];
  int t = threadIdx.x;
  float sum = warp_sum(in[blockIdx.x * 256 + t]);
  if (t % 32 == 0) part[t / 32] = sum;
  __syncthreads();
  if (t >= 32) return;
  sum = warp_sum(t < 8 ? part[t] : 0.0f);
  if (t == 0) sums[blockIdx.x] = sum;
}

// All of it into a few numbers: sum, least, greatest, and the sum of the squares.
extern "C" __global__ void reduce_atomic(int n, const int *in, int *sum, int *least, int *greatest,
                                         unsigned long long *squares) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(sum, in[i]);
    atomicMin(least, in[i]);
    atomicMax(greatest, in[i]);
    atomicAdd(squares, (unsigned long long)((long long)in[i] * in[i]));
  }
}

// The block that is done last adds up what the others left.
extern "C" __global__ void reduce_last(const double *in, double *part, unsigned *done, double *sum) {
  __shared__ double sums[64];
  __shared__ bool last;
  int t = threadIdx.x;
  sums[t] = in[blockIdx.x * 64 + t];
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) sums[t] = sums[t] + sums[t + half];
  }
  if (t == 0) {
    part[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  double total = 0;
  for (int block = 0; block < gridDim.x; block++) total += ((volatile double *)part)[block];
  *sum = total;
}
