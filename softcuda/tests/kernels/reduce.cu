// Reductions, scans, histograms, sorting: shared memory, shuffles, atomics.
extern "C" __global__ void reduce_shared(const int *in, int *out, int n) {
  extern __shared__ int part[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step >>= 1) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_shuffle(const int *in, int *out, int n) {
  __shared__ int warps[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = i < n ? in[i] : 0;
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], bins[i]);
}

extern "C" __global__ void scan(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned sums[32];
  unsigned i = threadIdx.x, lane = i % 32, value = i < n ? in[i] : 0;
  for (int step = 1; step < 32; step <<= 1) {
    unsigned other = __shfl_up_sync(0xffffffff, value, step);
    if (lane >= step) value += other;
  }
  if (lane == 31) sums[i / 32] = value;
  __syncthreads();
  if (i < 32) {
    unsigned sum = i < blockDim.x / 32 ? sums[i] : 0;
    for (int step = 1; step < 32; step <<= 1) {
      unsigned other = __shfl_up_sync(0xffffffff, sum, step);
      if (lane >= step) sum += other;
    }
    sums[i] = sum;
  }
  __syncthreads();
  if (i >= 32) value += sums[i / 32 - 1];
  if (i < n) out[i] = value;
}

extern "C" __global__ void sort(unsigned *data) {
  extern __shared__ unsigned keys[];
  unsigned i = threadIdx.x;
  keys[i] = data[blockIdx.x * blockDim.x + i];
  for (unsigned size = 2; size <= blockDim.x; size <<= 1)
    for (unsigned step = size / 2; step > 0; step >>= 1) {
      __syncthreads();
      unsigned other = i ^ step;
      if (other > i) {
        bool up = (i & size) == 0;
        unsigned a = keys[i], b = keys[other];
        if ((a > b) == up) {
          keys[i] = b;
          keys[other] = a;
        }
      }
    }
  __syncthreads();
  data[blockIdx.x * blockDim.x + i] = keys[i];
}

// Every block adds its part; the last one to come finishes.
__device__ unsigned arrived;
extern "C" __global__ void reduce_last(const double *in, double *parts, double *out, int n) {
  __shared__ double sums[128];
  __shared__ bool last;
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    double total = 0;
    for (int i = 0; i < gridDim.x; i++) total += ((volatile double *)parts)[i];
    *out = total;
  }
}
