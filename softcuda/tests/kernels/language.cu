// What C++ has beside loops: functions, recursion, pointers to them, classes, printf, assert, constants.

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(unsigned *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 16); }

struct Matrix {
  double m[3][3];
};

__device__ __noinline__ Matrix product(Matrix a, Matrix b) {
  Matrix c;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      c.m[i][j] = 0;
      for (int k = 0; k < 3; k++) c.m[i][j] = fma(a.m[i][k], b.m[k][j], c.m[i][j]);
    }
  return c;
}

extern "C" __global__ void structures(Matrix a, int power, double *out) {
  Matrix r = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  a.m[0][0] += threadIdx.x;
  for (int i = 0; i < power; i++) r = product(r, a);
  for (int i = 0; i < 9; i++) out[threadIdx.x * 9 + i] = r.m[i / 3][i % 3];
}

typedef int (*operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ operation operations[3] = {plus, minus, times};

extern "C" __global__ void pointers(const int *a, const int *b, int *out) {
  int i = threadIdx.x;
  out[i] = operations[i % 3](a[i], b[i]);
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ float area() const override { return 3.0f * radius * radius; }
};

extern "C" __global__ void classes(float *out) {
  Square square;
  Circle circle;
  square.side = threadIdx.x;
  circle.radius = threadIdx.x;
  Shape *shape = threadIdx.x % 2 ? (Shape *)&square : (Shape *)&circle;
  out[threadIdx.x] = shape->area();
}

extern "C" __global__ void switches(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i];
  switch (x) {
    case 0: x = 17; break;
    case 1: x = in[(i + 1) % n] * 3; break;
    case 2: x -= 9;
    case 3: x ^= 0x55; break;
    case 4: x = x * x * x; break;
    case 5: x = -x; break;
    case 6: for (int k = 0; k < i % 7; k++) x += k * k; break;
    case 7: x = 1 << (i % 20); break;
    default: x = 999;
  }
  out[i] = x;
}

extern "C" __global__ void print(int n) {
  if (threadIdx.x < n)
    printf("thread %d of %u: %5.2f %-6s| %c %lld 0x%08x %e %%\n", threadIdx.x, blockDim.x, threadIdx.x * 1.5, threadIdx.x % 2 ? "odd" : "even",
           'a' + threadIdx.x, -(long long)threadIdx.x * 1000000007ll * 1000, threadIdx.x * 0x1234567, threadIdx.x / 3.0);
}

extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, unsigned long);
extern "C" __global__ void check(const int *in, int n) {
  int i = threadIdx.x;
  if (i < n && in[i] < 0) __assertfail("in[i] >= 0", "language.cu", 120, "check", 1);
}

extern "C" __global__ void trap(int lane) {
  if (threadIdx.x == lane) asm volatile("trap;");
}

__constant__ float weights[5] = {1, 4, 6, 4, 1};
__constant__ int shifted;
__device__ const char *const words[] = {"zero", "one", "two"};
extern "C" __global__ void constants(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = -2; k <= 2; k++) {
    int at = i + k < 0 ? 0 : i + k >= n ? n - 1 : i + k;
    sum = fmaf(weights[k + 2], in[at], sum);
  }
  out[i] = sum / 16 + shifted + words[i % 3][1];
}

extern "C" __global__ void locals(int *out, int n) {
  int table[32];
  for (int i = 0; i < 32; i++) table[i] = i * threadIdx.x;
  int at = n, sum = 0;
  for (int i = 0; i < 32; i++) {
    at = (at * 5 + 7) % 32;
    sum = sum * 3 + table[at];
    table[(at + 3) % 32] ^= sum;
  }
  out[threadIdx.x] = sum;
}


extern "C" __device__ void cudaGraphSetConditional(unsigned long long, unsigned);
extern "C" __global__ void count_down(unsigned long long handle, unsigned *counter) {
  cudaGraphSetConditional(handle, --*counter != 0);
}
