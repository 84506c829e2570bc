// Each block counts in shared memory and adds what it found.
extern "C" __global__ void histogram(int n, const unsigned char *in, unsigned *counts) {
  __shared__ unsigned local[256];
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&counts[bin], local[bin]);
}

// One addition for all lanes of a warp that saw the same.
extern "C" __global__ void histogram_by_warp(int n, const unsigned char *in, unsigned *counts) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned active = __activemask(), same = 0;
    // One bit of the number at a time: the lanes that agree with this one so far.
    same = active;
    for (int bit = 0; bit < 8; bit++) {
      bool set = in[i] >> bit & 1;
      unsigned ballot = __ballot_sync(active, set);
      same &= set ? ballot : ~ballot;
    }
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (__ffs(same) - 1 == lane) atomicAdd(&counts[in[i]], __popc(same));
  }
}
