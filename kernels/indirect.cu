// Functions that are chosen when it runs.
typedef int (*function)(int, int);

__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int power(int a, int b) {
  int result = 1;
  for (b &= 7; b > 0; b--) result *= a;
  return result;
}

__device__ function functions[4] = {plus, minus, times, power};

extern "C" __global__ void indirect(const int *which, const int *a, const int *b, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = functions[which[i] & 3](a[i], b[i]);
}

struct shape {
  __device__ virtual float area() const = 0;
  __device__ virtual int corners() const { return 0; }
};

struct square : shape {
  float side;
  __device__ square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
  __device__ int corners() const override { return 4; }
};

struct circle : shape {
  float radius;
  __device__ circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};

__device__ __noinline__ void measure(const shape *s, float *area, int *corners) {
  *area = s->area();
  *corners = s->corners();
}

extern "C" __global__ void indirect_virtual(const int *which, const float *size, float *area, int *corners) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  square s(size[i]);
  circle c(size[i]);
  measure(which[i] & 1 ? (const shape *)&s : &c, &area[i], &corners[i]);
}
