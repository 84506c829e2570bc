#include <cuda_fp16.h>

// Arithmetic of 16 bits: each thread writes its answers, one under the other.
struct answers {
  unsigned short *out;
  int stride;
  __device__ void operator()(__half value) {
    *out = __half_as_ushort(value);
    out += stride;
  }
};

extern "C" __global__ void halves(const __half *x, const __half *y, const __half *z, unsigned short *out) {
  int t = threadIdx.x;
  __half a = x[t], b = y[t], c = z[t];
  answers answer = {out + t, (int)blockDim.x};
  answer(__hadd(a, b));
  answer(__hsub(a, b));
  answer(__hmul(a, b));
  answer(__hfma(a, b, c));
  answer(__hneg(a));
  answer(__habs(a));
  answer(__hadd_sat(a, b));
  answer(__hmul_sat(a, b));
  answer(__hfma_sat(a, b, c));
  answer(__hlt(a, b) ? a : b);
  answer(__hge(a, c) ? a : c);
  answer(__heq(a, a) ? b : c);
  answer(hfloor(a));
  answer(hceil(a));
  answer(htrunc(a));
  answer(hrint(a));
}

// Two at a time.
extern "C" __global__ void halves_two(const __half2 *x, const __half2 *y, const __half2 *z, __half2 *out) {
  int t = threadIdx.x, n = blockDim.x;
  __half2 a = x[t], b = y[t], c = z[t];
  out[t] = __hadd2(a, b);
  out[n + t] = __hsub2(a, b);
  out[2 * n + t] = __hmul2(a, b);
  out[3 * n + t] = __hfma2(a, b, c);
  out[4 * n + t] = __hneg2(a);
  out[5 * n + t] = __lowhigh2highlow(a);
  out[6 * n + t] = __hgt2(a, b);
  out[7 * n + t] = __halves2half2(__high2half(a), __low2half(b));
}

// Conversions, in every direction of rounding.
extern "C" __global__ void halves_converted(const float *f, const double *d, const int *i, unsigned short *out) {
  int t = threadIdx.x;
  answers answer = {out + t, (int)blockDim.x};
  answer(__float2half_rn(f[t]));
  answer(__float2half_rz(f[t]));
  answer(__float2half_rd(f[t]));
  answer(__float2half_ru(f[t]));
  answer(__double2half(d[t]));
  answer(__int2half_rn(i[t]));
  answer(__int2half_rz(i[t]));
  answer(__uint2half_rn(i[t]));
  answer(__short2half_rn((short)i[t]));
  answer(__ll2half_rn((long long)i[t] * 3));
}

extern "C" __global__ void halves_widened(const __half *x, float *f, double *d, int *i) {
  int t = threadIdx.x, n = blockDim.x;
  f[t] = __half2float(x[t]);
  d[t] = (double)__half2float(x[t]);
  i[t] = __half2int_rn(x[t]);
  i[n + t] = __half2int_rz(x[t]);
  i[2 * n + t] = __half2int_rd(x[t]);
  i[3 * n + t] = __half2int_ru(x[t]);
  i[4 * n + t] = __half2short_rn(x[t]);
  i[5 * n + t] = (int)__half2uint_rz(__habs(x[t]));
  i[6 * n + t] = (int)__half2ll_rn(x[t]);
}
