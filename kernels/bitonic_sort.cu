// One step of the network, over all of memory.
extern "C" __global__ void bitonic_step(unsigned *keys, int size, int distance) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
  if (other < i) return;
  unsigned a = keys[i], b = keys[other];
  if ((a > b) == ((i & size) == 0)) {
    keys[i] = b;
    keys[other] = a;
  }
}

// All steps, for 512 keys with their values in one block of 256 threads.
extern "C" __global__ void bitonic_block(long long *keys, int *values) {
  __shared__ long long k[512];
  __shared__ int v[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  for (int i = t; i < 512; i += 256) k[i] = keys[base + i], v[i] = values[base + i];
  for (int size = 2; size <= 512; size *= 2)
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (distance - 1)), other = i + distance;
      bool up = (i & size) == 0;
      if ((k[i] > k[other]) == up) {
        long long key = k[i];
        int value = v[i];
        k[i] = k[other], v[i] = v[other];
        k[other] = key, v[other] = value;
      }
    }
  __syncthreads();
  for (int i = t; i < 512; i += 256) keys[base + i] = k[i], values[base + i] = v[i];
}
