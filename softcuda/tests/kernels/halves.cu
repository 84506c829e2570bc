// 16-bit floating-point numbers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(const float *a, const float *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half x = __float2half_rn(a[i]), y = __float2half_rn(b[i]);
  float *o = out + 12 * i;
  o[0] = __half2float(__hadd(x, y));
  o[1] = __half2float(__hsub(x, y));
  o[2] = __half2float(__hmul(x, y));
  o[3] = __half2float(__hfma(x, y, x));
  o[4] = __half2float(__float2half_rz(a[i]));
  o[5] = __hlt(x, y) + 2 * __hge(x, y) + 4 * __heq(x, x);
  o[6] = __half2float(__habs(__hneg(x)));
  o[7] = __half2float(__int2half_rn((int)a[i]));
  o[8] = __half2int_rz(x);
  __half2 p = __halves2half2(x, y), q = __hfma2(p, p, __half2half2(y));
  o[9] = __low2float(q);
  o[10] = __high2float(q);
  o[11] = __half2float(__hmax(x, y)) + __half2float(__hmin(x, y));
}

extern "C" __global__ void brains(const float *a, const float *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat16 x = __float2bfloat16_rn(a[i]), y = __float2bfloat16_rn(b[i]);
  float *o = out + 6 * i;
  o[0] = __bfloat162float(__hadd(x, y));
  o[1] = __bfloat162float(__hmul(x, y));
  o[2] = __bfloat162float(__hfma(x, y, y));
  o[3] = __bfloat162float(__hmax(x, y));
  o[4] = __bfloat162float(__float2bfloat16_rz(a[i]));
  __nv_bfloat162 p = __floats2bfloat162_rn(a[i], b[i]);
  o[5] = __bfloat162float(__low2bfloat16(p)) + __bfloat162float(__high2bfloat16(p));
}
