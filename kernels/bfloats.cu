#include <cuda_bf16.h>

// Older devices have no instruction for it; the numbers here are such that the sum is exact before it is rounded.
__device__ __nv_bfloat16 fused(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
#if __CUDA_ARCH__ >= 800
  return __hfma(a, b, c);
#else
  return __float2bfloat16(fmaf(__bfloat162float(a), __bfloat162float(b), __bfloat162float(c)));
#endif
}

struct answers {
  unsigned short *out;
  int stride;
  __device__ void operator()(__nv_bfloat16 value) {
    *out = __bfloat16_as_ushort(value);
    out += stride;
  }
};

extern "C" __global__ void bfloats(const __nv_bfloat16 *x, const __nv_bfloat16 *y, const __nv_bfloat16 *z,
                                   unsigned short *out) {
  int t = threadIdx.x;
  __nv_bfloat16 a = x[t], b = y[t], c = z[t];
  answers answer = {out + t, (int)blockDim.x};
  answer(__hadd(a, b));
  answer(__hsub(a, b));
  answer(__hmul(a, b));
  answer(fused(a, b, c));
  answer(__hneg(a));
  answer(__habs(a));
  answer(__hlt(a, b) ? a : b);
  answer(__heq(a, a) ? b : c);
}

extern "C" __global__ void bfloats_two(const __nv_bfloat162 *x, const __nv_bfloat162 *y, const __nv_bfloat162 *z,
                                       __nv_bfloat162 *out) {
  int t = threadIdx.x, n = blockDim.x;
  __nv_bfloat162 a = x[t], b = y[t], c = z[t];
  out[t] = __hadd2(a, b);
  out[n + t] = __hsub2(a, b);
  out[2 * n + t] = __hmul2(a, b);
  #if __CUDA_ARCH__ >= 800
  out[3 * n + t] = __hfma2(a, b, c);
#else
  out[3 * n + t] = __halves2bfloat162(fused(a.x, b.x, c.x), fused(a.y, b.y, c.y));
#endif
}

extern "C" __global__ void bfloats_converted(const float *f, unsigned short *out, float *back) {
  int t = threadIdx.x;
  answers answer = {out + t, (int)blockDim.x};
  answer(__float2bfloat16_rn(f[t]));
  answer(__float2bfloat16_rz(f[t]));
  answer(__float2bfloat16_rd(f[t]));
  answer(__float2bfloat16_ru(f[t]));
  __nv_bfloat162 two = __floats2bfloat162_rn(f[t], -f[t]);
  answer(__low2bfloat16(two));
  answer(__high2bfloat16(two));
  back[t] = __bfloat162float(__float2bfloat16_rn(f[t]));
}
