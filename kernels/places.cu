// Where each thread is, in three directions.
extern "C" __global__ void places(unsigned *out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread, size, of;
  out[i] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 | blockIdx.z << 20;
  asm("mov.u32 %0, WARP_SZ;" : "=r"(size));
  asm("mov.u32 %0, %%laneid;" : "=r"(of));
  out[gridDim.x * gridDim.y * gridDim.z * blockDim.x * blockDim.y * blockDim.z + i] = size * 100 + of;
}

// Time does not go backwards.
extern "C" __global__ void places_time(int *out) {
  long long before = clock64();
  unsigned long long now, later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  __nanosleep(100);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  out[threadIdx.x] = clock64() >= before && later >= now;
}
