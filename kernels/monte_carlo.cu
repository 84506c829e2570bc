// Philox4x32-10: four random numbers for a counter and a key.
__device__ uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; round++) {
    unsigned high0 = __umulhi(0xd2511f53, counter.x), low0 = 0xd2511f53 * counter.x;
    unsigned high1 = __umulhi(0xcd9e8d57, counter.z), low1 = 0xcd9e8d57 * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9e3779b9;
    key.y += 0xbb67ae85;
  }
  return counter;
}

extern "C" __global__ void philox_numbers(uint2 key, uint4 first, uint4 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  first.x += i;
  out[i] = philox(first, key);
}

// How many of the points in a square fall into the circle; each thread takes two points a round.
extern "C" __global__ void monte_carlo_pi(int rounds, uint2 key, unsigned long long *inside) {
  unsigned count = 0;
  for (int round = 0; round < rounds; round++) {
    uint4 r = philox(make_uint4(blockIdx.x * blockDim.x + threadIdx.x, round, 0, 0), key);
    float x = r.x * 0x1p-32f, y = r.y * 0x1p-32f;
    count += fmaf(x, x, __fmul_rn(y, y)) < 1.0f;
    x = r.z * 0x1p-32f, y = r.w * 0x1p-32f;
    count += fmaf(x, x, __fmul_rn(y, y)) < 1.0f;
  }
  atomicAdd(inside, (unsigned long long)count);
}
