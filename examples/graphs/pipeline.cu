// The kernel of pipeline.c and pipeline.cpp in CUDA C++.

// numbers[i] = numbers[i] * factor + i, modulo 2^32.
extern "C" __global__ void work(unsigned *numbers, unsigned factor) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  numbers[i] = numbers[i] * factor + i;
}
