// The kernel of decoder.c and decoder.cpp in CUDA C++.

// A layer appends the row to its cache, and mixes all rows of the cache into it: of integers, so that results are exact.
extern "C" __global__ void attend(unsigned *row, unsigned *cache, unsigned length) {
  const unsigned i = threadIdx.x, width = blockDim.x, mine = row[i];
  cache[(size_t)length * width + i] = mine;
  unsigned sum = 0;
  for (unsigned t = 0; t <= length; t++) sum = sum * 31 + cache[(size_t)t * width + i];
  row[i] = mine * 5 + sum;
}
