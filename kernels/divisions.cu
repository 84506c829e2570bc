// Whole numbers, divided by what is known only when it runs, and by constants. No divisor is 0.
template <typename T> __device__ void divide(const T *a, const T *b, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  out[i] = a[i] / b[i];
  out[n + i] = a[i] % b[i];
  out[2 * n + i] = a[i] / 7;
  out[3 * n + i] = a[i] % 10;
  out[4 * n + i] = a[i] / 16;
}

#define DIVIDE(type, name)                                                                                             \
  extern "C" __global__ void divisions_##name(const type *a, const type *b, type *out) { divide(a, b, out); }

DIVIDE(signed char, s8)
DIVIDE(unsigned short, u16)
DIVIDE(int, s32)
DIVIDE(unsigned, u32)
DIVIDE(long long, s64)
DIVIDE(unsigned long long, u64)
