// Sums of whole numbers, which come out the same in any order; and exchanges, whose sum is what went in.
__device__ void floats(float *f, double *d, float x, double y) {
  atomicAdd(&f[0], x);
  atomicAdd(&f[1], atomicExch(&f[2], x));
  atomicAdd(&d[0], y);
}

extern "C" __global__ void atomics_float(float *f, double *d, const float *x, const double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  floats(f, d, x[i], y[i]);
}

extern "C" __global__ void atomics_float_shared(float *f, double *d, const float *x, const double *y) {
  __shared__ float sf[3];
  __shared__ double sd[1];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 3) sf[threadIdx.x] = 0;
  if (threadIdx.x == 0) sd[0] = 0;
  __syncthreads();
  floats(sf, sd, x[i], y[i]);
  __syncthreads();
  // What the last exchange left is added, so that the sum is whole.
  if (threadIdx.x == 0) atomicAdd(&f[0], sf[0]), atomicAdd(&f[1], sf[1] + sf[2]), atomicAdd(&d[0], sd[0]);
}

// Places of 16 bits.
extern "C" __global__ void atomics_16(unsigned short *at) {
  unsigned short old = *at, seen;
  while ((seen = atomicCAS(at, old, (unsigned short)(old * 5 + 1))) != old) old = seen;
}
