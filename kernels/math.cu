// The functions of the mathematics library. Their PTX reaches far into the instruction set.
template <typename T> struct answers {
  T *out;
  int stride;
  __device__ void operator()(T value) {
    *out = value;
    out += stride;
  }
};

// x is between -3 and 3.
extern "C" __global__ void math_float(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], unit = x / 4, positive = fabsf(x) + 0.125f;
  answers<float> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(sinf(x * 1e6f)), answer(cosf(x * 1e3f)), answer(tanf(x)), answer(sinpif(x)), answer(cospif(x));
  answer(asinf(unit)), answer(acosf(unit)), answer(atanf(x)), answer(atan2f(x, 1.5f));
  answer(sinhf(x)), answer(coshf(x)), answer(tanhf(x)), answer(asinhf(x)), answer(acoshf(positive + 1)), answer(atanhf(unit));
  answer(expf(x * 10)), answer(exp2f(x)), answer(exp10f(x)), answer(expm1f(x));
  answer(logf(positive)), answer(log2f(positive)), answer(log10f(positive)), answer(log1pf(positive));
  answer(powf(positive, x)), answer(cbrtf(x)), answer(hypotf(x, 2.0f)), answer(rsqrtf(positive)), answer(rcbrtf(positive));
  answer(erff(x)), answer(erfcf(x)), answer(tgammaf(positive)), answer(lgammaf(positive + 2));
  answer(ldexpf(x, 7)), answer(remainderf(x, 0.7f));
}

extern "C" __global__ void math_double(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i], unit = x / 4, positive = fabs(x) + 0.125;
  answers<double> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(sin(x * 1e9)), answer(cos(x)), answer(tan(x)), answer(asin(unit)), answer(acos(unit)), answer(atan(x));
  answer(sinh(x)), answer(cosh(x)), answer(tanh(x)), answer(exp(x)), answer(exp2(x)), answer(expm1(x));
  answer(log(positive)), answer(log2(positive)), answer(log10(positive)), answer(log1p(positive)), answer(pow(positive, x));
  answer(cbrt(x)), answer(hypot(x, 2.0)), answer(rsqrt(positive)), answer(erf(x)), answer(erfc(x)), answer(tgamma(positive));
}
