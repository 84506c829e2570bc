// Each thread sorts numbers of its own.
extern "C" __global__ void locals_sort(const short *in, short *out) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  short mine[24];
  for (int i = 0; i < 24; i++) mine[i] = in[thread * 24 + i];
  for (int i = 1; i < 24; i++) {
    short x = mine[i];
    int at = i;
    for (; at > 0 && mine[at - 1] > x; at--) mine[at] = mine[at - 1];
    mine[at] = x;
  }
  for (int i = 0; i < 24; i++) out[thread * 24 + i] = mine[i];
}

__device__ __noinline__ void fill(int *numbers, int n, int seed) {
  for (int i = 0; i < n; i++) numbers[i] = seed = seed * 1103515245 + 12345;
}

// A pointer to them is passed on, and what is behind it may lie anywhere.
extern "C" __global__ void locals_passed(int *out) {
  __shared__ int shared[64][4];
  int mine[4], t = threadIdx.x, sum = 0;
  fill(t & 1 ? mine : shared[t], 4, t);
  const int *from = t & 1 ? mine : shared[t];
  for (int i = 0; i < 4; i++) sum ^= from[i] >> i;
  out[t] = sum * 4 + (__isShared(from) ? 2 : 0) + (__isLocal(from) ? 1 : 0) - (__isGlobal(out) ? 0 : 9);
}

// How many steps it takes to come down to 1.
extern "C" __global__ void collatz(unsigned *steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
  for (unsigned long long n = i + 1; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) count++;
  steps[i] = count;
}
