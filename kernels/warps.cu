// What lanes of a warp tell each other. Each thread writes its answers, one under the other.
struct answers {
  unsigned *out;
  int stride;
  __device__ void operator()(unsigned value) {
    *out = value;
    out += stride;
  }
};

extern "C" __global__ void warps_votes(const int *in, unsigned *out) {
  int t = threadIdx.x, x = in[t];
  answers answer = {out + t, (int)blockDim.x};
  answer(__all_sync(0xffffffff, x >= 0));
  answer(__all_sync(0xffffffff, x > 3));
  answer(__any_sync(0xffffffff, x == 5));
  answer(__any_sync(0xffffffff, x == 99));
  answer(__ballot_sync(0xffffffff, x & 1));
  // Half of the lanes alone.
  unsigned mask = t % 32 < 16 ? 0x0000ffff : 0xffff0000;
  answer(__ballot_sync(mask, x > 2));
  if (t & 1) {
    answer(__ballot_sync(0xaaaaaaaa, x > 3));
    answer(__shfl_sync(0xaaaaaaaa, x, 7));
  } else {
    answer(__ballot_sync(0x55555555, x < 3));
    answer(__shfl_sync(0x55555555, x, 8));
  }
  __syncwarp();
  answer(__syncthreads_count(x & 1));
  answer(__syncthreads_and(x < 100));
  answer(__syncthreads_or(x == 6));
}

extern "C" __global__ void warps_shuffles(const int *in, unsigned *out) {
  int t = threadIdx.x, x = in[t];
  answers answer = {out + t, (int)blockDim.x};
  answer(__shfl_sync(0xffffffff, x, 31 - t % 32));
  answer(__shfl_sync(0xffffffff, x, 2, 8));
  answer(__shfl_sync(0xffffffff, x, 40));
  answer(__shfl_up_sync(0xffffffff, x, 3));
  answer(__shfl_up_sync(0xffffffff, x, 1, 16));
  answer(__shfl_down_sync(0xffffffff, x, 5));
  answer(__shfl_down_sync(0xffffffff, x, 2, 4));
  answer(__shfl_xor_sync(0xffffffff, x, 16));
  answer(__shfl_xor_sync(0xffffffff, x, 3, 8));
  long long wide = __shfl_sync(0xffffffff, x * 0x100000001ll, 9);
  answer((unsigned)wide);
  answer((unsigned)(wide >> 32));
  answer(__float_as_uint(__shfl_xor_sync(0xffffffff, (float)x, 1)));
}

extern "C" __global__ void warps_matches(const int *in, unsigned *out) {
  int t = threadIdx.x, x = in[t], same;
  answers answer = {out + t, (int)blockDim.x};
  answer(__match_any_sync(0xffffffff, x));
  answer(__match_any_sync(0xffffffff, (long long)x << 40));
  answer(__match_all_sync(0xffffffff, x, &same));
  answer(same);
  answer(__match_all_sync(0xffffffff, x * 0, &same));
  answer(same);
}

extern "C" __global__ void warps_reductions(const int *in, unsigned *out) {
  int t = threadIdx.x, x = in[t];
  answers answer = {out + t, (int)blockDim.x};
#if __CUDA_ARCH__ >= 800
  answer(__reduce_add_sync(0xffffffff, x));
  answer(__reduce_min_sync(0xffffffff, -x));
  answer(__reduce_max_sync(0xffffffff, x));
  answer(__reduce_and_sync(0xffffffff, x | 8u));
  answer(__reduce_or_sync(0xffffffff, (unsigned)x));
  answer(__reduce_xor_sync(0xffffffff, (unsigned)x));
  answer(__reduce_max_sync(0xffffffff, (unsigned)-x));
#else
  int sum = 0, least = 1 << 30, greatest = -1;
  unsigned all = ~0u, any = 0, odd = 0, top = 0;
  for (int lane = 0; lane < 32; lane++) {
    int other = __shfl_sync(0xffffffff, x, lane);
    sum += other;
    least = min(least, -other);
    greatest = max(greatest, other);
    all &= other | 8u;
    any |= other;
    odd ^= other;
    top = max(top, (unsigned)-other);
  }
  answer(sum), answer(least), answer(greatest), answer(all), answer(any), answer(odd), answer(top);
#endif
}

// Lanes that leave one after the other, and which of them are left.
extern "C" __global__ void warps_divergence(const int *in, unsigned *out) {
  int t = threadIdx.x, x = in[t];
  unsigned steps = 0, sum = 0;
  for (int i = 0; i < x * 3; i++) {
    if (i % 4 == 3) continue;
    for (int k = 0; k < i; k++) {
      if (k == x) break;
      sum += k ^ x;
    }
    steps++;
  }
  __syncwarp();
  unsigned equal, less, less_equal, greater, greater_equal, lane;
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(equal));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(less_equal));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(greater));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(greater_equal));
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  answers answer = {out + t, (int)blockDim.x};
  answer(steps), answer(sum);
  answer(equal), answer(less), answer(less_equal), answer(greater), answer(greater_equal), answer(lane);
}
