#include <cooperative_groups.h>

// Each round every block looks at what its neighbour left in the round before.
extern "C" __global__ void grid_sync(int rounds, unsigned *a, unsigned *b) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  unsigned i = grid.thread_rank(), n = grid.size();
  for (int round = 0; round < rounds; round++) {
    b[i] = a[(i + blockDim.x) % n] * 3 + a[i];
    grid.sync();
    unsigned *swap = a;
    a = b;
    b = swap;
  }
}

// The same, with a barrier of its own: the blocks must run at once.
extern "C" __global__ void grid_barrier(int rounds, unsigned *a, unsigned *b, unsigned *arrived) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int round = 0; round < rounds; round++) {
    ((volatile unsigned *)b)[i] = ((volatile unsigned *)a)[(i + blockDim.x) % n] * 3 + ((volatile unsigned *)a)[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1u);
      while (*(volatile unsigned *)arrived < gridDim.x * (round + 1)) {
      }
    }
    __syncthreads();
    unsigned *swap = a;
    a = b;
    b = swap;
  }
}

// Groups within a warp and a block.
extern "C" __global__ void group_tiles(const int *in, int *out) {
  auto block = cooperative_groups::this_thread_block();
  auto tile = cooperative_groups::tiled_partition<8>(block);
  int x = in[block.thread_rank()], sum = x;
  for (int distance = 4; distance > 0; distance /= 2) sum += tile.shfl_xor(sum, distance);
  block.sync();
  auto some = cooperative_groups::coalesced_threads();
  if (x & 1) {
    auto odd = cooperative_groups::coalesced_threads();
    sum = sum * 1000 + odd.size() * 10 + (odd.thread_rank() == 0);
  }
  out[block.thread_rank()] = sum + (some.size() - 32) + tile.any(x == 3);
}
