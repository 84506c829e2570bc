// What lanes of a warp do together.
extern "C" __global__ void votes(const int *in, unsigned *out) {
  int i = threadIdx.x, x = in[i];
  unsigned *o = out + 12 * i;
  o[0] = __ballot_sync(0xffffffff, x > 0);
  o[1] = __any_sync(0xffffffff, x > 30) | __all_sync(0xffffffff, x > -100) << 1;
  o[2] = __match_any_sync(0xffffffff, x % 5);
  int same;
  o[3] = __match_all_sync(0xffffffff, x / 1000, &same);
  o[4] = same;
  o[5] = __reduce_add_sync(0xffffffff, (unsigned)x);
  o[6] = __reduce_max_sync(0xffffffff, x);
  o[7] = __reduce_xor_sync(0xffffffff, (unsigned)x);
  o[8] = __shfl_sync(0xffffffff, x, i * 7 + 3, 8);
  o[9] = __shfl_up_sync(0xffffffff, x, 3, 16);
  o[10] = __shfl_down_sync(0xffffffff, x, 5, 16);
  o[11] = __shfl_xor_sync(0xffffffff, x, 21);
}

// Both sides of a branch synchronise, with their own lanes and with all.
extern "C" __global__ void diverged(unsigned *out) {
  unsigned i = threadIdx.x, lane = i % 32, value;
  if (lane % 2) {
    value = __shfl_sync(0xaaaaaaaa, i * 10, 31);
    __syncwarp(0xaaaaaaaa);
  } else {
    value = __reduce_add_sync(0x55555555, i);
    __syncwarp(0x55555555);
  }
  unsigned active = __activemask();
  __syncwarp();
  value += __popc(active) > 0;
  if (lane < 7) return;
  out[i] = value + __ballot_sync(0xffffff80, lane & 1);
}

// Threads of one warp wait for each other through memory.
extern "C" __global__ void hand_over(volatile int *turn, int *order) {
  while (*turn != threadIdx.x)
    ;
  order[threadIdx.x] = threadIdx.x * threadIdx.x;
  __threadfence();
  *turn = threadIdx.x + 1;
}

extern "C" __global__ void barriers(int *out) {
  __shared__ int data[128];
  int i = threadIdx.x;
  data[i] = i;
  int count = __syncthreads_count(i % 3 == 0);
  int all = __syncthreads_and(i < 1000), any = __syncthreads_or(i == 77);
  // Producers and consumers at a named barrier.
  if (i < 64) {
    data[i] = i * 2;
    __threadfence_block();
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 128;" ::: "memory");
    out[i] = data[i - 64] + count * 1000 + all * 100000 + any * 1000000;
  }
  __syncthreads();
  if (i < 64) out[i] = data[127 - i];
}

// One half waits where the other does not come.
extern "C" __global__ void never(int *out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  out[threadIdx.x] = 1;
}

extern "C" __global__ void forever(volatile int *flag) {
  while (*flag == 0)
    ;
}

// Blocks wait for each other: all of them must be under way.
extern "C" __global__ void meet(unsigned *arrived, unsigned *out) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned *)arrived < gridDim.x)
      ;
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile unsigned *)arrived;
}
