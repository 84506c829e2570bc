extern "C" __global__ void fault_assert(int n) { assert(n == 7); }

extern "C" __global__ void fault_trap(int n) {
  if (n != 7) __trap();
}

extern "C" __global__ void fault_bounds(int *nowhere) { *nowhere = 1; }

extern "C" __global__ void fault_read(const int *nowhere, int *out) { *out = *nowhere; }

extern "C" __global__ void fault_misaligned(char *at) { *(int *)(at + 1) = 1; }

extern "C" __global__ void fault_null(int *at) { atomicAdd(at, 1); }

extern "C" __global__ void fault_shared(int i, int *out) {
  __shared__ int here[4];
  here[threadIdx.x] = 1;
  __syncthreads();
  *out = here[i];
}
