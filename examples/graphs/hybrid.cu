// The kernels of hybrid.c and hybrid.cpp in CUDA C++.

// The driver's own, since 12.3: nothing has to be linked.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long condition, unsigned value);

// How many pairs are not done, and the number of rounds.
struct counts {
  unsigned left, rounds;
};

// (a, b) becomes (b, a mod b), unless b is 0. Counts the pairs that are not done.
extern "C" __global__ void step(uint2 *pairs, counts *counts) {
  uint2 &pair = pairs[blockIdx.x * blockDim.x + threadIdx.x];
  if (pair.y == 0) return;
  pair = make_uint2(pair.y, pair.x % pair.y);
  if (pair.y != 0) atomicAdd(&counts->left, 1);
}

// Counts the rounds; there is another one while pairs are left. One thread.
extern "C" __global__ void judge(unsigned long long condition, counts *counts) {
  counts->rounds++;
  cudaGraphSetConditional(condition, counts->left);
}
