// Each operation on one place by many threads. What comes out does not depend on their order: the last value, and the sum
// of what the operations returned where that is known too. `T` is in shared memory for one of the kernels.
template <typename T> struct place {
  T value;
  unsigned long long returned;
};

template <typename T> __device__ void everything(place<T> *at, const T *in, int i) {
  unsigned long long got[12] = {};
  got[0] = atomicAdd(&at[0].value, in[i]);
  got[1] = atomicExch(&at[1].value, in[i]);
  atomicMin(&at[2].value, in[i]);
  atomicMax(&at[3].value, in[i]);
  atomicAnd(&at[4].value, in[i] | 0x00f00f00);
  atomicOr(&at[5].value, in[i] & 0x0ff00ff0);
  got[6] = atomicXor(&at[6].value, in[i]);
  T old = at[7].value, seen;
  while ((seen = atomicCAS(&at[7].value, old, (T)(old * 3 + 1))) != old) old = seen;
  for (int k = 0; k < 8; k++)
    if (k != 6) atomicAdd(&at[k].returned, k < 2 ? got[k] : 1);
}

template <typename T> __device__ void in_shared(place<T> *at, const T *in) {
  __shared__ place<T> here[8];
  int t = threadIdx.x;
  if (t < 8) here[t] = at[blockIdx.x * 8 + t];
  __syncthreads();
  everything(here, in, blockIdx.x * blockDim.x + t);
  __syncthreads();
  if (t < 8) at[blockIdx.x * 8 + t] = here[t];
}

extern "C" __global__ void atomics_int(place<int> *at, const int *in) {
  everything(at, in, blockIdx.x * blockDim.x + threadIdx.x);
}
extern "C" __global__ void atomics_unsigned(place<unsigned> *at, const unsigned *in) {
  everything(at, in, blockIdx.x * blockDim.x + threadIdx.x);
}
extern "C" __global__ void atomics_int_shared(place<int> *at, const int *in) { in_shared(at, in); }
extern "C" __global__ void atomics_unsigned_shared(place<unsigned> *at, const unsigned *in) { in_shared(at, in); }

// Counters that wrap, and subtraction.
__device__ void counters(unsigned *at, unsigned *returned) {
  atomicAdd(&returned[0], atomicInc(&at[0], 99));
  atomicAdd(&returned[1], atomicDec(&at[1], 49));
  atomicAdd(&returned[2], atomicSub(&at[2], 3u));
  atomicAdd(&returned[3], (unsigned)atomicSub((int *)&at[3], -5));
}

extern "C" __global__ void atomics_counters(unsigned *at, unsigned *returned) { counters(at, returned); }

extern "C" __global__ void atomics_counters_shared(unsigned *at, unsigned *returned) {
  __shared__ unsigned here[8];
  if (threadIdx.x < 8) here[threadIdx.x] = threadIdx.x < 4 ? at[threadIdx.x] : 0;
  __syncthreads();
  counters(here, here + 4);
  __syncthreads();
  if (threadIdx.x < 4) at[threadIdx.x] = here[threadIdx.x], returned[threadIdx.x] = here[threadIdx.x + 4];
}

// The scopes of a block and of the system.
extern "C" __global__ void atomics_scopes(int *at) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd_block(&at[blockIdx.x], i);
  atomicMax_block(&at[4 + blockIdx.x], i);
  atomicAdd_system(&at[8], i);
  atomicOr_system(&at[9], i);
  atomicXor_system(&at[10], i * i);
}

// A lock that each thread takes once, one lane after the other.
extern "C" __global__ void atomics_lock(int *lock, volatile int *sum, const int *in) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *sum = *sum * 2 - *sum + in[blockIdx.x * blockDim.x + threadIdx.x];
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
