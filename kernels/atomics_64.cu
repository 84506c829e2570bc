// As in atomics_32.cu, for numbers of 64 bits.
template <typename T> struct place {
  T value;
  unsigned long long returned;
};

__device__ void common(place<unsigned long long> *at, unsigned long long x) {
  atomicAdd(&at[0].returned, atomicAdd(&at[0].value, x));
  atomicAdd(&at[1].returned, atomicExch(&at[1].value, x));
  atomicMin(&at[2].value, x);
  atomicMax(&at[3].value, x);
  atomicAnd(&at[4].value, x | 0x00f00f0000ff00ffull);
  atomicOr(&at[5].value, x & 0x0ff00ff000110011ull);
  atomicXor(&at[6].value, x);
  unsigned long long old = at[7].value, seen;
  while ((seen = atomicCAS(&at[7].value, old, old * 3 + 1)) != old) old = seen;
  atomicMin((long long *)&at[8].value, (long long)x);
  atomicMax((long long *)&at[9].value, (long long)x);
}

extern "C" __global__ void atomics_long(place<unsigned long long> *at, const unsigned long long *in) {
  common(at, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void atomics_long_shared(place<unsigned long long> *at, const unsigned long long *in) {
  __shared__ place<unsigned long long> here[10];
  int t = threadIdx.x;
  if (t < 10) here[t] = at[blockIdx.x * 10 + t];
  __syncthreads();
  common(here, in[blockIdx.x * blockDim.x + t]);
  __syncthreads();
  if (t < 10) at[blockIdx.x * 10 + t] = here[t];
}
