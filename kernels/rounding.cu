// Every operation in every direction of rounding; each thread writes its answers, one under the other.
template <typename T> struct answers {
  T *out;
  int stride;
  __device__ void operator()(T value) {
    *out = value;
    out += stride;
  }
};

extern "C" __global__ void rounding_float(const float *x, const float *y, const float *z, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i], b = y[i], c = z[i];
  answers<float> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(__fadd_rn(a, b)), answer(__fadd_rz(a, b)), answer(__fadd_rd(a, b)), answer(__fadd_ru(a, b));
  answer(__fsub_rn(a, b)), answer(__fsub_rz(a, b)), answer(__fsub_rd(a, b)), answer(__fsub_ru(a, b));
  answer(__fmul_rn(a, b)), answer(__fmul_rz(a, b)), answer(__fmul_rd(a, b)), answer(__fmul_ru(a, b));
  answer(__fdiv_rn(a, b)), answer(__fdiv_rz(a, b)), answer(__fdiv_rd(a, b)), answer(__fdiv_ru(a, b));
  answer(__fmaf_rn(a, b, c)), answer(__fmaf_rz(a, b, c)), answer(__fmaf_rd(a, b, c)), answer(__fmaf_ru(a, b, c));
  answer(__frcp_rn(a)), answer(__frcp_rz(a)), answer(__frcp_rd(a)), answer(__frcp_ru(a));
  a = fabsf(a);
  answer(__fsqrt_rn(a)), answer(__fsqrt_rz(a)), answer(__fsqrt_rd(a)), answer(__fsqrt_ru(a));
}

extern "C" __global__ void rounding_double(const double *x, const double *y, const double *z, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double a = x[i], b = y[i], c = z[i];
  answers<double> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(__dadd_rn(a, b)), answer(__dadd_rz(a, b)), answer(__dadd_rd(a, b)), answer(__dadd_ru(a, b));
  answer(__dsub_rn(a, b)), answer(__dsub_rz(a, b)), answer(__dsub_rd(a, b)), answer(__dsub_ru(a, b));
  answer(__dmul_rn(a, b)), answer(__dmul_rz(a, b)), answer(__dmul_rd(a, b)), answer(__dmul_ru(a, b));
  answer(__ddiv_rn(a, b)), answer(__ddiv_rz(a, b)), answer(__ddiv_rd(a, b)), answer(__ddiv_ru(a, b));
  answer(__fma_rn(a, b, c)), answer(__fma_rz(a, b, c)), answer(__fma_rd(a, b, c)), answer(__fma_ru(a, b, c));
  answer(__drcp_rn(a)), answer(__drcp_rz(a)), answer(__drcp_rd(a)), answer(__drcp_ru(a));
  a = fabs(a);
  answer(__dsqrt_rn(a)), answer(__dsqrt_rz(a)), answer(__dsqrt_rd(a)), answer(__dsqrt_ru(a));
}

// To whole numbers, and what has no rounding.
extern "C" __global__ void rounding_whole(const float *x, const float *y, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i], b = y[i];
  answers<float> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(floorf(a)), answer(ceilf(a)), answer(truncf(a)), answer(rintf(a)), answer(nearbyintf(a)), answer(roundf(a));
  answer(fabsf(a)), answer(-a), answer(fminf(a, b)), answer(fmaxf(a, b)), answer(copysignf(a, b)), answer(__saturatef(a));
  answer(fmodf(a, b)), answer(fdimf(a, b)), answer(a < b ? a : b), answer(isnan(a) || isinf(b) ? 1.0f : signbit(a) ? 2.0f : 3.0f);
}

extern "C" __global__ void rounding_whole_double(const double *x, const double *y, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double a = x[i], b = y[i];
  answers<double> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(floor(a)), answer(ceil(a)), answer(trunc(a)), answer(rint(a)), answer(round(a));
  answer(fabs(a)), answer(-a), answer(fmin(a, b)), answer(fmax(a, b)), answer(copysign(a, b)), answer(fmod(a, b));
}
