// The approximate instructions one by one, and what is made of them.
template <typename T> struct answers {
  T *out;
  int stride;
  __device__ void operator()(T value) {
    *out = value;
    out += stride;
  }
};

#define UNARY(instruction, value)                                                                                      \
  [](float of) {                                                                                                       \
    float is;                                                                                                          \
    asm(instruction " %0, %1;" : "=f"(is) : "f"(of));                                                                  \
    return is;                                                                                                         \
  }(value)

// x is between -3 and 3.
extern "C" __global__ void elementary_instructions(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], positive = fabsf(x) + 0x1p-20f;
  answers<float> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(UNARY("sin.approx.f32", x)), answer(UNARY("sin.approx.ftz.f32", x));
  answer(UNARY("cos.approx.f32", x)), answer(UNARY("cos.approx.ftz.f32", x));
  answer(UNARY("ex2.approx.f32", x)), answer(UNARY("ex2.approx.ftz.f32", x));
  answer(UNARY("lg2.approx.f32", positive)), answer(UNARY("lg2.approx.ftz.f32", positive));
  answer(UNARY("rcp.approx.f32", x)), answer(UNARY("rcp.approx.ftz.f32", x));
  answer(UNARY("sqrt.approx.f32", positive)), answer(UNARY("sqrt.approx.ftz.f32", positive));
  answer(UNARY("rsqrt.approx.f32", positive)), answer(UNARY("rsqrt.approx.ftz.f32", positive));
  float quotient;
  asm("div.approx.f32 %0, %1, %2;" : "=f"(quotient) : "f"(x), "f"(positive));
  answer(quotient);
  asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(x), "f"(positive));
  answer(quotient);
#if __CUDA_ARCH__ >= 750
  answer(UNARY("tanh.approx.f32", x));
#else
  answer(tanhf(x));
#endif
}

extern "C" __global__ void elementary_double(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(out[i]) : "d"(in[i]));
  asm("rsqrt.approx.f64 %0, %1;" : "=d"(out[n + i]) : "d"(fabs(in[i])));
}

// The functions that a program calls; with fast mathematics they become the instructions above. x is between -3 and 3.
extern "C" __global__ void elementary_functions(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], positive = fabsf(x) + 0.125f;
  answers<float> answer = {out + i, (int)(gridDim.x * blockDim.x)};
  answer(sinf(x)), answer(cosf(x)), answer(tanf(x / 4)), answer(expf(x)), answer(exp2f(x)), answer(exp10f(x));
  answer(logf(positive)), answer(log2f(positive)), answer(log10f(positive)), answer(powf(positive, 1.5f));
  answer(sqrtf(positive)), answer(rsqrtf(positive)), answer(1.0f / positive), answer(x / positive);
}
