// Every atomic operation, on global and shared memory; each thread adds to the same words.
template <class T> __device__ void all_integers(T *p, T i) {
  atomicAdd(p + 0, i);
  atomicMin(p + 1, i);
  atomicMax(p + 2, i);
  atomicAnd(p + 3, ~(T(1) << (i % 31)));
  atomicOr(p + 4, T(1) << (i % 31));
  atomicXor(p + 5, i * T(2654435761u));
}

// words: 16 unsigned, then 16 int, then 16 unsigned long long, as zeros except the minima.
extern "C" __global__ void global_atomics(unsigned *u, int *s, unsigned long long *w, long long *l, float *f, double *d) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  all_integers(u, i + 1);
  all_integers(s, (int)i - 500);
  all_integers(w, (unsigned long long)i << 20 | i);
  atomicMin(l + 0, (long long)i - 12345678901ll);
  atomicMax(l + 1, (long long)i * 12345678901ll);
  atomicSub(u + 6, i);
  atomicInc(u + 7, 99);
  atomicDec(u + 8, 99);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 0.5);
  // A lock made of compare-and-swap and exchange.
  unsigned long long old = w[6], seen;
  do {
    seen = old;
    old = atomicCAS(w + 6, seen, seen + i);
  } while (old != seen);
  u[16 + i] = atomicExch(u + 9, i + 1);
}

extern "C" __global__ void shared_atomics(unsigned *u, int *s, unsigned long long *w, float *f, double *d) {
  __shared__ unsigned su[16];
  __shared__ int ss[16];
  __shared__ unsigned long long sw[16];
  __shared__ float sf;
  __shared__ double sd;
  unsigned i = threadIdx.x;
  if (i < 16) {
    su[i] = i == 1 || i == 3 ? 0xffffffffu : 0;
    ss[i] = i == 3 ? -1 : 0;
    sw[i] = i == 1 || i == 3 ? ~0ull : 0;
    sf = 0;
    sd = 0;
  }
  __syncthreads();
  all_integers(su, i + 1);
  all_integers(ss, (int)i - 50);
  all_integers(sw, (unsigned long long)i << 20 | i);
  atomicInc(su + 7, 9);
  atomicDec(su + 8, 9);
  atomicAdd(&sf, 0.5f);
  atomicAdd(&sd, 0.25);
  atomicCAS(su + 10, 0u, i + 1);
  atomicExch(su + 11, 7u);
  __syncthreads();
  if (i < 16) {
    u[i] = su[i];
    s[i] = ss[i];
    w[i] = sw[i];
  }
  if (i == 0) *f = sf, *d = sd;
}

// Each thread of the grid takes a lock in turn, lanes of a warp against each other.
extern "C" __global__ void lock(unsigned *mutex, unsigned *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(mutex, 0u, 1u) == 0) {
      *(volatile unsigned *)counter = *(volatile unsigned *)counter + 1;
      __threadfence();
      atomicExch(mutex, 0u);
      done = true;
    }
  }
}
