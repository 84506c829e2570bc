__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }

// How many ways there are to place the remaining queens.
__device__ __noinline__ int queens(int size, int row, unsigned columns, unsigned left, unsigned right) {
  if (row == size) return 1;
  int ways = 0;
  for (unsigned open = ~(columns | left | right) & ((1u << size) - 1); open != 0; open &= open - 1) {
    unsigned bit = open & -open;
    ways += queens(size, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return ways;
}

struct pair {
  long long a, b;
};

// Two numbers of Fibonacci's: a struct is passed back.
__device__ __noinline__ pair fibonacci(unsigned n) {
  if (n == 0) return {0, 1};
  pair half = fibonacci(n / 2);
  long long c = half.a * (2 * half.b - half.a), d = half.a * half.a + half.b * half.b;
  return n % 2 == 0 ? pair{c, d} : pair{d, c + d};
}

extern "C" __global__ void recursion(unsigned *ackermanns, unsigned *even, int *ways, long long *fibonaccis) {
  int i = threadIdx.x;
  ackermanns[i] = ackermann(2, i % 8);
  even[i] = is_even(i);
  ways[i] = queens(i % 7 + 1, 0, 0, 0, 0);
  fibonaccis[i] = fibonacci(i + 20).a;
}
