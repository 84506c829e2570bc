// Loads and stores of every width.
template <typename V> __device__ void turn(const V *in, V *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[n - 1 - i] = in[i];
}

#define TURN(type)                                                                                                     \
  extern "C" __global__ void vectors_##type(const type *in, type *out, int n) { turn(in, out, n); }

TURN(char)
TURN(short)
TURN(uchar2)
TURN(uchar4)
TURN(short2)
TURN(short4)
TURN(int2)
TURN(int4)
TURN(float2)
TURN(float4)
TURN(double2)
TURN(longlong2)

// Through memory that is only read, and back in parts.
extern "C" __global__ void vectors_parts(const float4 *__restrict__ in, float *x, double2 *yz, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = __ldg(&in[i]);
  x[i] = v.x - v.w;
  yz[i] = make_double2(v.y, v.z);
}

// Kinds of caching, which change nothing.
extern "C" __global__ void vectors_cached(const int *in, int *out) {
  int i = threadIdx.x;
  out[i] = __ldcg(&in[i]) + __ldcs(&in[i]) * 10 + __ldca(&in[i]) * 100 + __ldlu(&in[i]) * 1000 + __ldcv(&in[i]) * 10000;
  __stcg(&out[64 + i], i);
  __stcs(&out[128 + i], i + 1);
  __stwb(&out[192 + i], i + 2);
  __stwt(&out[256 + i], i + 3);
}
