/* Floating-point numbers: exact where IEEE says so, within a bound where an instruction is approximate. */
#include "run.h"

static void mandelbrot_reference(int w, int h, int limit, uint16_t *steps) {
  int px, py;
  for (py = 0; py < h; py++)
    for (px = 0; px < w; px++) {
      float cx = 3.0f * (float)px / (float)w - 2.0f, cy = 2.0f * (float)py / (float)h - 1.0f, x = 0, y = 0;
      int n = 0;
      for (; n < limit && x * x + y * y <= 4.0f; n++) {
        float xx = x * x, yy = y * y;
        y = fmaf(x + x, y, cy);
        x = xx - yy + cx;
      }
      steps[py * w + px] = (uint16_t)n;
    }
}

static void mandelbrot_reference_double(int w, int h, int limit, uint16_t *steps) {
  int px, py;
  for (py = 0; py < h; py++)
    for (px = 0; px < w; px++) {
      double cx = 3.0 * px / w - 2.0, cy = 2.0 * py / h - 1.0, x = 0, y = 0;
      int n = 0;
      for (; n < limit && x * x + y * y <= 4.0; n++) {
        double xx = x * x, yy = y * y;
        y = fma(x + x, y, cy);
        x = xx - yy + cx;
      }
      steps[py * w + px] = (uint16_t)n;
    }
}

static void mandelbrot(struct run *run) {
  enum { W = 64, H = 40 };
  static uint16_t steps[W * H];
  int w = W, h = H, limit = 200;
  uint64_t out = put(run, NULL, sizeof steps);
  mandelbrot_reference(W, H, limit, steps);
  LAUNCH(run, "mandelbrot", plane(4, 5, 16, 8), ARG(w), ARG(h), ARG(limit), ARG(out));
  same(run, "float", out, steps, W * H, 2);
  mandelbrot_reference_double(W, H, limit, steps);
  LAUNCH(run, "mandelbrot_double", plane(4, 5, 16, 8), ARG(w), ARG(h), ARG(limit), ARG(out));
  same(run, "double", out, steps, W * H, 2);
}

enum { BODIES = 192 };

static void pull_of_all(float (*bodies)[4], const float *me, float *sum, double *most) {
  int k, axis;
  for (k = 0; k < BODIES; k++) {
    float d[3], distance, inverse, pull;
    for (axis = 0; axis < 3; axis++) d[axis] = bodies[k][axis] - me[axis];
    distance = fmaf(d[0], d[0], fmaf(d[1], d[1], fmaf(d[2], d[2], 0.01f)));
    inverse = 1.0f / sqrtf(distance);
    pull = bodies[k][3] * (inverse * inverse * inverse);
    for (axis = 0; axis < 3; axis++) {
      sum[axis] = fmaf(d[axis], pull, sum[axis]);
      if (fabs(sum[axis]) > *most) *most = fabs(sum[axis]);
    }
  }
}

static void nbody(struct run *run) {
  static float bodies[BODIES][4], sums[BODIES][4];
  static double expected[BODIES * 4];
  uint64_t state = 20, from, to;
  double most = 0;
  int n = BODIES, i;
  for (i = 0; i < BODIES * 4; i++) bodies[i / 4][i % 4] = i % 4 == 3 ? random_float(&state, 0, 1) : random_float(&state, -5, 5);
  memset(sums, 0, sizeof sums);
  for (i = 0; i < BODIES; i++) pull_of_all(bodies, bodies[i], sums[i], &most);
  for (i = 0; i < BODIES * 4; i++) expected[i] = sums[i / 4][i % 4];
  from = put(run, bodies, sizeof bodies), to = put(run, NULL, sizeof sums);
  LAUNCH(run, "nbody", line(BODIES / 64, 64), ARG(n), ARG(from), ARG(to));
  if (!run->fast) {
    same(run, "accelerations", to, sums, BODIES * 4, 4);
    return;
  }
  /* rsqrt.approx is off by 2^-22.9 at most, its cube by three times that, and so is each of the sums. */
  near_float(run, "accelerations", to, expected, BODIES * 4, (struct bound){4 * 0x1p-22 * most, 4 * 0x1p-22});
}

static double normal(double d) {
  double k = 1 / (1 + 0.2316419 * fabs(d));
  double poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  double tail = 0.3989422804014327 * exp(-0.5 * d * d) * poly;
  return d > 0 ? 1 - tail : tail;
}

static void price(double spot, double strike, double years, double rate, double volatility, double *call, double *put) {
  double root = sqrt(years), d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root);
  double d2 = d1 - volatility * root, discounted = strike * exp(-rate * years);
  *call = spot * normal(d1) - discounted * normal(d2);
  *put = discounted * (1 - normal(d2)) - spot * (1 - normal(d1));
}

enum { OPTIONS = 1000 };

static void black_scholes_float(struct run *run) {
  static float given[3][OPTIONS];
  static double calls[OPTIONS], puts[OPTIONS];
  float rate = 0.02f, volatility = 0.3f;
  uint64_t state = 21, in[3], call, sold;
  int n = OPTIONS, i;
  for (i = 0; i < OPTIONS; i++) {
    given[0][i] = random_float(&state, 5, 30), given[1][i] = random_float(&state, 1, 100);
    given[2][i] = random_float(&state, 0.25f, 10);
    price(given[0][i], given[1][i], given[2][i], rate, volatility, &calls[i], &puts[i]);
  }
  for (i = 0; i < 3; i++) in[i] = put(run, given[i], sizeof given[i]);
  call = put(run, NULL, sizeof *given), sold = put(run, NULL, sizeof *given);
  LAUNCH(run, "black_scholes", line(8, 128), ARG(n), ARG(rate), ARG(volatility), ARG(in[0]), ARG(in[1]), ARG(in[2]), ARG(call), ARG(sold));
  /* Differences of products of at most 100 whose factors are off by a few units of 2^-24, and d by a few more. */
  near_float(run, "calls", call, calls, OPTIONS, (struct bound){100 * 0x1p-20, 0x1p-20});
  near_float(run, "puts", sold, puts, OPTIONS, (struct bound){100 * 0x1p-20, 0x1p-20});
}

static void black_scholes_double(struct run *run) {
  static double given[3][OPTIONS], calls[OPTIONS], puts[OPTIONS];
  double rate = 0.02, volatility = 0.3;
  uint64_t state = 22, in[3], call, sold;
  int n = OPTIONS, i;
  for (i = 0; i < OPTIONS; i++) {
    given[0][i] = random_double(&state, 5, 30), given[1][i] = random_double(&state, 1, 100);
    given[2][i] = random_double(&state, 0.25, 10);
    price(given[0][i], given[1][i], given[2][i], rate, volatility, &calls[i], &puts[i]);
  }
  for (i = 0; i < 3; i++) in[i] = put(run, given[i], sizeof given[i]);
  call = put(run, NULL, sizeof *given), sold = put(run, NULL, sizeof *given);
  LAUNCH(run, "black_scholes_double", line(8, 128), ARG(n), ARG(rate), ARG(volatility), ARG(in[0]), ARG(in[1]), ARG(in[2]), ARG(call), ARG(sold));
  near_double(run, "double calls", call, calls, OPTIONS, (struct bound){100 * 0x1p-49, 0x1p-49});
  near_double(run, "double puts", sold, puts, OPTIONS, (struct bound){100 * 0x1p-49, 0x1p-49});
}

static void black_scholes(struct run *run) {
  black_scholes_float(run);
  black_scholes_double(run);
}

static void philox(const uint32_t *counter, const uint32_t *key, uint32_t *out) {
  uint32_t c[4], k[2] = {key[0], key[1]};
  int round;
  memcpy(c, counter, sizeof c);
  for (round = 0; round < 10; round++) {
    uint64_t a = (uint64_t)0xd2511f53 * c[0], b = (uint64_t)0xcd9e8d57 * c[2];
    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0], c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1], c[3] = (uint32_t)a;
    k[0] += 0x9e3779b9, k[1] += 0xbb67ae85;
  }
  memcpy(out, c, sizeof c);
}

/* The answers that the generator's authors publish. */
static void known_answers(struct run *run) {
  static const uint32_t zero[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
  static const uint32_t of_zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  static const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  uint32_t out[4];
  philox(zero, zero, out);
  if (memcmp(out, of_zero, sizeof out) != 0) fail(run, "the reference does not know the answer for zeros");
  philox(ones, ones, out);
  if (memcmp(out, of_ones, sizeof out) != 0) fail(run, "the reference does not know the answer for ones");
}

static uint64_t inside(float x, float y) { return fmaf(x, x, y * y) < 1.0f; }

static void monte_carlo(struct run *run) {
  enum { THREADS = 256, ROUNDS = 30 };
  static uint32_t numbers[THREADS][4], key[2] = {0x12345678, 0x9abcdef0}, first[4] = {7, 8, 9, 10}, from[4];
  uint64_t count = 0, out = put(run, NULL, sizeof numbers), sum = put(run, NULL, 8);
  uint32_t i, rounds = ROUNDS;
  known_answers(run);
  for (i = 0; i < THREADS; i++) {
    memcpy(from, first, sizeof from);
    from[0] += i;
    philox(from, key, numbers[i]);
  }
  LAUNCH(run, "philox_numbers", line(2, THREADS / 2), ARG(key), ARG(first), ARG(out));
  same(run, "numbers", out, numbers, THREADS, 16);
  for (i = 0; i < THREADS * ROUNDS; i++) {
    uint32_t counter[4] = {i / ROUNDS, i % ROUNDS, 0, 0}, r[4];
    philox(counter, key, r);
    count += inside((float)r[0] * 0x1p-32f, (float)r[1] * 0x1p-32f) + inside((float)r[2] * 0x1p-32f, (float)r[3] * 0x1p-32f);
  }
  LAUNCH(run, "monte_carlo_pi", line(4, THREADS / 4), ARG(rounds), ARG(key), ARG(sum));
  same(run, "points inside", sum, &count, 1, 8);
}

/* One function of a list: where the truth comes from, and how far off the device may be. */
struct function {
  const char *name;
  double (*truth)(double x);
  struct bound bound;
};

enum { ARGUMENTS = 512 };

static void check_floats(struct run *run, const char *kernel, const struct function *functions, size_t count) {
  static float in[ARGUMENTS];
  static double expected[ARGUMENTS];
  uint64_t state = 23, from, to = put(run, NULL, count * sizeof in);
  size_t f;
  int i;
  for (i = 0; i < ARGUMENTS; i++) in[i] = random_float(&state, -3, 3);
  from = put(run, in, sizeof in);
  LAUNCH(run, kernel, line(4, ARGUMENTS / 4), ARG(from), ARG(to));
  for (f = 0; f < count; f++) {
    for (i = 0; i < ARGUMENTS; i++) expected[i] = functions[f].truth(in[i]);
    near_float(run, functions[f].name, to + f * sizeof in, expected, ARGUMENTS, functions[f].bound);
  }
}

static void check_doubles(struct run *run, const char *kernel, const struct function *functions, size_t count) {
  static double in[ARGUMENTS], expected[ARGUMENTS];
  uint64_t state = 24, from, to = put(run, NULL, count * sizeof in);
  size_t f;
  int i;
  for (i = 0; i < ARGUMENTS; i++) in[i] = random_double(&state, -3, 3);
  from = put(run, in, sizeof in);
  LAUNCH(run, kernel, line(4, ARGUMENTS / 4), ARG(from), ARG(to));
  for (f = 0; f < count; f++) {
    for (i = 0; i < ARGUMENTS; i++) expected[i] = functions[f].truth(in[i]);
    near_double(run, functions[f].name, to + f * sizeof in, expected, ARGUMENTS, functions[f].bound);
  }
}

/* What the kernels make of x before they call; in the precision in which they do. */
static double tiny(double x) { return fabsf((float)x) + 0x1p-20f; }
static double eighth(double x) { return fabsf((float)x) + 0.125f; }
static double eighth_double(double x) { return fabs(x) + 0.125; }

#define OF(name, expression)                                                                                           \
  static double name(double x) { return expression; }
OF(reciprocal, 1 / x)
OF(lg2_tiny, log2(tiny(x)))
OF(sqrt_tiny, sqrt(tiny(x)))
OF(rsqrt_tiny, 1 / sqrt(tiny(x)))
OF(quotient_tiny, x / tiny(x))
OF(rsqrt_abs, 1 / sqrt(fabs(x)))

/* The bounds are those that the PTX ISA states. */
static const struct function instructions[] = {
    {"sin.approx", sin, {0x1.6ap-21, 0}},     {"sin.approx.ftz", sin, {0x1.6ap-21, 0}},
    {"cos.approx", cos, {0x1.6ap-21, 0}},     {"cos.approx.ftz", cos, {0x1.6ap-21, 0}},
    {"ex2.approx", exp2, {0, 0x1p-22}},       {"ex2.approx.ftz", exp2, {0, 0x1p-22}},
    {"lg2.approx", lg2_tiny, {0x1p-22, 0x1p-22}}, {"lg2.approx.ftz", lg2_tiny, {0x1p-22, 0x1p-22}},
    {"rcp.approx", reciprocal, {0, 0x1p-23}}, {"rcp.approx.ftz", reciprocal, {0, 0x1p-23}},
    {"sqrt.approx", sqrt_tiny, {0, 0x1p-23}}, {"sqrt.approx.ftz", sqrt_tiny, {0, 0x1p-23}},
    {"rsqrt.approx", rsqrt_tiny, {0, 0x1.13p-23}}, {"rsqrt.approx.ftz", rsqrt_tiny, {0, 0x1.13p-23}},
    {"div.approx", quotient_tiny, {0, 0x1p-22}}, {"div.full", quotient_tiny, {0, 0x1p-22}},
    {"tanh.approx", tanh, {0, 0x1p-11}},
};

static const struct function double_instructions[] = {
    {"rcp.approx.ftz.f64", reciprocal, {0, 0x1p-20}},
    {"rsqrt.approx.f64", rsqrt_abs, {0, 0x1p-20}},
};

OF(tan_quarter, tan((float)x / 4))
OF(exp10_, pow(10, x))
OF(log_eighth, log(eighth(x)))
OF(log2_eighth, log2(eighth(x)))
OF(log10_eighth, log10(eighth(x)))
OF(power_eighth, pow(eighth(x), 1.5))
OF(sqrt_eighth, sqrt(eighth(x)))
OF(rsqrt_eighth, 1 / sqrt(eighth(x)))
OF(reciprocal_eighth, 1 / eighth(x))
OF(quotient_eighth, x / eighth(x))

/* With fast mathematics an error of sin and cos is absolute, and exp's grows with its argument. */
static const struct function functions[] = {
    {"sinf", sin, {0x1p-20, 0x1p-22}},         {"cosf", cos, {0x1p-20, 0x1p-22}},
    {"tanf", tan_quarter, {0x1p-18, 0x1p-18}}, {"expf", exp, {0, 0x1p-20}},
    {"exp2f", exp2, {0, 0x1p-21}},             {"exp10f", exp10_, {0, 0x1p-19}},
    {"logf", log_eighth, {0x1p-21, 0x1p-22}},  {"log2f", log2_eighth, {0x1p-21, 0x1p-22}},
    {"log10f", log10_eighth, {0x1p-21, 0x1p-21}}, {"powf", power_eighth, {0, 0x1p-19}},
    {"sqrtf", sqrt_eighth, {0, 0x1p-22}},      {"rsqrtf", rsqrt_eighth, {0, 0x1p-22}},
    {"reciprocal", reciprocal_eighth, {0, 0x1p-22}}, {"quotient", quotient_eighth, {0, 0x1p-22}},
};

static void elementary(struct run *run) {
  check_floats(run, "elementary_instructions", instructions, COUNT(instructions));
  check_doubles(run, "elementary_double", double_instructions, COUNT(double_instructions));
  check_floats(run, "elementary_functions", functions, COUNT(functions));
}

static const double pi = 3.14159265358979323846;
#define F(x) ((double)(float)(x))
OF(m_sin, sin((float)x * 1e6f))
OF(m_cos, cos((float)x * 1e3f))
OF(m_sinpi, sin(pi * x))
OF(m_cospi, cos(pi * x))
OF(m_asin, asin(x / 4))
OF(m_acos, acos(x / 4))
OF(m_atan2, atan2(x, 1.5))
OF(m_acosh, acosh((float)eighth(x) + 1.0f))
OF(m_atanh, atanh(x / 4))
OF(m_exp, exp((float)x * 10.0f))
OF(m_log1p, log1p(eighth(x)))
OF(m_pow, pow(eighth(x), x))
OF(m_hypot, hypot(x, 2))
OF(m_rcbrt, 1 / cbrt(eighth(x)))
OF(m_tgamma, tgamma(eighth(x)))
OF(m_lgamma, lgamma((float)eighth(x) + 2.0f))
OF(m_ldexp, ldexp(x, 7))
OF(m_remainder, remainder(x, (double)0.7f))

/* Units in the last place of a number, at the end of its range where they weigh most. */
#define ULPS(n) {0, (n) * 0x1p-23}

static const struct function of_floats[] = {
    {"sinf", m_sin, {0x1p-22, 0}},     {"cosf", m_cos, {0x1p-22, 0}},   {"tanf", tan, ULPS(4)},
    {"sinpif", m_sinpi, {0x1p-22, 0}}, {"cospif", m_cospi, {0x1p-22, 0}}, {"asinf", m_asin, ULPS(4)},
    {"acosf", m_acos, ULPS(4)},        {"atanf", atan, ULPS(4)},        {"atan2f", m_atan2, ULPS(4)},
    {"sinhf", sinh, ULPS(4)},          {"coshf", cosh, ULPS(4)},        {"tanhf", tanh, ULPS(4)},
    {"asinhf", asinh, ULPS(4)},        {"acoshf", m_acosh, ULPS(4)},    {"atanhf", m_atanh, ULPS(4)},
    {"expf", m_exp, ULPS(4)},          {"exp2f", exp2, ULPS(4)},        {"exp10f", exp10_, ULPS(4)},
    {"expm1f", expm1, ULPS(4)},        {"logf", log_eighth, ULPS(4)},   {"log2f", log2_eighth, ULPS(4)},
    {"log10f", log10_eighth, ULPS(4)}, {"log1pf", m_log1p, ULPS(4)},    {"powf", m_pow, ULPS(8)},
    {"cbrtf", cbrt, ULPS(4)},          {"hypotf", m_hypot, ULPS(4)},    {"rsqrtf", rsqrt_eighth, ULPS(4)},
    {"rcbrtf", m_rcbrt, ULPS(4)},      {"erff", erf, ULPS(4)},          {"erfcf", erfc, ULPS(8)},
    {"tgammaf", m_tgamma, ULPS(12)},   {"lgammaf", m_lgamma, {0x1p-21, 8 * 0x1p-23}}, {"ldexpf", m_ldexp, {0, 0}},
    {"remainderf", m_remainder, {0, 0}},
};

OF(d_sin, sin(x * 1e9))
OF(d_log, log(eighth_double(x)))
OF(d_log2, log2(eighth_double(x)))
OF(d_log10, log10(eighth_double(x)))
OF(d_log1p, log1p(eighth_double(x)))
OF(d_pow, pow(eighth_double(x), x))
OF(d_rsqrt, 1 / sqrt(eighth_double(x)))
OF(d_tgamma, tgamma(eighth_double(x)))
#define DOUBLE_ULPS(n) {0, (n) * 0x1p-52}

static const struct function of_doubles[] = {
    {"sin", d_sin, {0x1p-51, 0}},        {"cos", cos, {0x1p-51, 0}},      {"tan", tan, DOUBLE_ULPS(4)},
    {"asin", m_asin, DOUBLE_ULPS(4)},    {"acos", m_acos, DOUBLE_ULPS(4)}, {"atan", atan, DOUBLE_ULPS(4)},
    {"sinh", sinh, DOUBLE_ULPS(6)},      {"cosh", cosh, DOUBLE_ULPS(6)},  {"tanh", tanh, DOUBLE_ULPS(6)},
    {"exp", exp, DOUBLE_ULPS(4)},        {"exp2", exp2, DOUBLE_ULPS(4)},  {"expm1", expm1, DOUBLE_ULPS(4)},
    {"log", d_log, DOUBLE_ULPS(4)},      {"log2", d_log2, DOUBLE_ULPS(4)}, {"log10", d_log10, DOUBLE_ULPS(4)},
    {"log1p", d_log1p, DOUBLE_ULPS(4)},  {"pow", d_pow, DOUBLE_ULPS(4)},  {"cbrt", cbrt, DOUBLE_ULPS(4)},
    {"hypot", m_hypot, DOUBLE_ULPS(4)},  {"rsqrt", d_rsqrt, DOUBLE_ULPS(4)}, {"erf", erf, DOUBLE_ULPS(4)},
    {"erfc", erfc, DOUBLE_ULPS(8)},      {"tgamma", d_tgamma, DOUBLE_ULPS(16)},
};

static void math_functions(struct run *run) {
  check_floats(run, "math_float", of_floats, COUNT(of_floats));
  check_doubles(run, "math_double", of_doubles, COUNT(of_doubles));
}

const struct kernel_case mathematics_cases[] = {
    {"black_scholes", black_scholes}, {"elementary", elementary},   {"mandelbrot", mandelbrot}, {"math", math_functions},
    {"monte_carlo", monte_carlo},     {"nbody", nbody},             {NULL, NULL},
};
