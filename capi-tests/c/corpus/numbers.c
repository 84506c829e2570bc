/* Whole numbers, conversions, rounding, numbers of 16 bits: all of it exact. */
#include "run.h"

#include <fenv.h>

enum { MEMBERS = 128, MOST_ROWS = 64 };

/* A kernel of two operands; `each` answers of so many bytes, one row under the other. */
static void check_rows(struct run *run, const char *kernel, const void *a, const void *b, size_t operand, const void *rows,
                       size_t count, size_t each) {
  uint64_t x = put(run, a, MEMBERS * operand), y = put(run, b, MEMBERS * operand), z = put(run, NULL, MEMBERS * count * each);
  LAUNCH(run, kernel, line(2, MEMBERS / 2), ARG(x), ARG(y), ARG(z));
  same(run, kernel, z, rows, count * MEMBERS, each);
}

/* No divisor is 0 or -1. */
#define DIVISION(type, name)                                                                                           \
  static void divide_##name(struct run *run) {                                                                         \
    static type a[MEMBERS], b[MEMBERS], rows[5][MEMBERS];                                                              \
    uint64_t state = 50;                                                                                               \
    int i;                                                                                                             \
    for (i = 0; i < MEMBERS; i++) {                                                                                    \
      a[i] = (type)random_bits(&state);                                                                                \
      b[i] = (type)(random_bits(&state) >> (i % 8 * (int)sizeof(type)));                                               \
      if (b[i] == 0 || b[i] == (type)-1) b[i] = 3;                                                                     \
      rows[0][i] = (type)(a[i] / b[i]);                                                                                \
      rows[1][i] = (type)(a[i] % b[i]);                                                                                \
      rows[2][i] = (type)(a[i] / 7);                                                                                   \
      rows[3][i] = (type)(a[i] % 10);                                                                                  \
      rows[4][i] = (type)(a[i] / 16);                                                                                  \
    }                                                                                                                  \
    check_rows(run, "divisions_" #name, a, b, sizeof(type), rows, 5, sizeof(type));                                    \
  }

DIVISION(int8_t, s8)
DIVISION(uint16_t, u16)
DIVISION(int32_t, s32)
DIVISION(uint32_t, u32)
DIVISION(int64_t, s64)
DIVISION(uint64_t, u64)

static void divisions(struct run *run) {
  divide_s8(run), divide_u16(run), divide_s32(run), divide_u32(run), divide_s64(run), divide_u64(run);
}

/* Answers of one thread after the other. */
struct rows {
  uint32_t values[MOST_ROWS][MEMBERS];
  int count;
};

static void add(struct rows *rows, int i, uint32_t value) { rows->values[rows->count++][i] = value; }

static void add_64(struct rows *rows, int i, uint64_t value) {
  add(rows, i, (uint32_t)value);
  add(rows, i, (uint32_t)(value >> 32));
}

static uint32_t bits_set(uint64_t x) {
  uint32_t count = 0;
  for (; x != 0; x &= x - 1) count++;
  return count;
}

/* The highest bit that is set; -1 if none is. */
static int highest(uint64_t x) {
  int at = -1;
  for (; x != 0; x >>= 1) at++;
  return at;
}

static uint64_t reversed(uint64_t x, int bits) {
  uint64_t result = 0;
  int i;
  for (i = 0; i < bits; i++) result |= (x >> i & 1) << (bits - 1 - i);
  return result;
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t both = (uint64_t)b << 32 | a;
  uint32_t result = 0, k;
  for (k = 0; k < 4; k++) {
    uint32_t pick = selector >> (4 * k) & 15, byte = (uint32_t)(both >> (8 * (pick & 7))) & 255;
    if (pick & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * k);
  }
  return result;
}

static uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t by) {
  return (uint32_t)(((uint64_t)high << 32 | low) << by >> 32);
}

static uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t by) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> by);
}

/* Bits of a from a position on; what lies beyond bit 31 is 0, or the sign. */
static uint32_t extracted(uint32_t a, uint32_t at, uint32_t length, int is_signed) {
  uint64_t wide = is_signed ? (uint64_t)(int64_t)(int32_t)a : a;
  uint32_t last = at + length - 1 > 31 ? 31 : at + length - 1, field;
  if (length == 0) return 0;
  field = (uint32_t)(wide >> at) & (length > 31 ? ~0u : (1u << length) - 1);
  if (is_signed && (a >> last & 1) && length < 32) field |= ~0u << length;
  return field;
}

static uint32_t inserted(uint32_t a, uint32_t b, uint32_t at, uint32_t length) {
  uint32_t mask = (uint32_t)(((uint64_t)1 << length) - 1) << at;
  return (b & ~mask) | (a << at & mask);
}

/* A selector that is not constant loses its fourth bits (measured): __byte_perm copies no signs, as `prmt` would. */
static void bits(struct run *run, const uint32_t *x, const uint32_t *y) {
  static struct rows rows;
  int i;
  for (i = 0; i < MEMBERS; i++) {
    uint32_t a = x[i], b = y[i], c = a + b, moved = a >> (b & 31);
    uint64_t wide = (uint64_t)a << 32 | b, left = wide << (a & 63), right = wide >> (b & 63);
    int32_t sign = (int32_t)a >> (b & 31);
    rows.count = 0;
    add(&rows, i, bits_set(a)), add(&rows, i, bits_set(wide));
    add(&rows, i, (uint32_t)(31 - highest(a))), add(&rows, i, (uint32_t)(63 - highest(right)));
    add(&rows, i, a == 0 ? 0 : (uint32_t)highest(a & -a) + 1);
    add(&rows, i, left == 0 ? 0 : (uint32_t)highest(left & -left) + 1);
    add(&rows, i, (uint32_t)reversed(a, 32)), add_64(&rows, i, reversed(wide, 64));
    add(&rows, i, permuted(a, b, 0x3715)), add(&rows, i, permuted(a, b, b & 0x7777));
    add(&rows, i, funnel_left(a, b, b & 31)), add(&rows, i, funnel_left(a, b, (b & 63) > 32 ? 32 : b & 63));
    add(&rows, i, funnel_right(a, b, a & 31)), add(&rows, i, funnel_right(a, b, (a & 63) > 32 ? 32 : a & 63));
    add(&rows, i, a << (b & 31)), add(&rows, i, moved), add(&rows, i, (uint32_t)sign);
    add_64(&rows, i, wide << (b & 63)), add_64(&rows, i, wide >> (a & 63)), add_64(&rows, i, (uint64_t)((int64_t)wide >> (a & 63)));
    add(&rows, i, extracted(a, b & 31, b >> 8 & 31, 0)), add(&rows, i, extracted(a, b & 31, b >> 8 & 31, 1));
    add(&rows, i, inserted(a, b, a & 31, b >> 8 & 15));
    add(&rows, i, (uint32_t)highest(moved)), add(&rows, i, (uint32_t)highest((uint32_t)(sign < 0 ? ~sign : sign)));
    add(&rows, i, moved == 0 ? ~0u : (uint32_t)(31 - highest(moved)));
    add(&rows, i, a ^ b ^ c), add(&rows, i, (a & b) | (a & c) | (b & c)), add(&rows, i, !(a & 1));
  }
  check_rows(run, "integers_bits", x, y, 4, rows.values, (size_t)rows.count, 4);
}

/* The product's bytes are summed; `sign` for signed ones. */
static uint32_t dot(uint32_t a, uint32_t b, int lanes, int sign, uint32_t sum) {
  int k;
  for (k = 0; k < lanes; k++) {
    int32_t p = (int32_t)(a >> (8 * k) & 255), q = (int32_t)(b >> (8 * k) & 255);
    if (sign) p = (int8_t)p, q = (int8_t)q;
    sum += (uint32_t)(p * q);
  }
  return sum;
}

static uint32_t dot_halves(uint32_t a, uint32_t bytes, int sign, uint32_t sum) {
  int k;
  for (k = 0; k < 2; k++) {
    int32_t p = (int32_t)(a >> (16 * k) & 0xffff), q = (int32_t)(bytes >> (8 * k) & 255);
    if (sign) p = (int16_t)p, q = (int8_t)q;
    sum += (uint32_t)(p * q);
  }
  return sum;
}

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

static int32_t signed_24(uint32_t x) { return (int32_t)(x << 8) >> 8; }

static void arithmetic(struct run *run, const uint32_t *x, const uint32_t *y) {
  static struct rows rows;
  int i;
  for (i = 0; i < MEMBERS; i++) {
    uint32_t a = x[i], b = y[i];
    int32_t sa = (int32_t)a, sb = (int32_t)b;
    int64_t la = sa, lb = sb;
    uint64_t w = (uint64_t)a << 32 | b, o = (uint64_t)b << 31 | a, product = (uint64_t)a * b;
    u128 sum = ((u128)b << 96 | (u128)a << 64 | (u128)b << 32 | a) + ((u128)a << 64 | (u128)a << 32 | b);
    u128 difference = ((u128)a << 64 | (u128)b << 32 | a) - ((u128)a << 32 | b);
    uint64_t mad = product + a + ((uint64_t)b << 32);
    rows.count = 0;
    add(&rows, i, (uint32_t)(product >> 32)), add(&rows, i, (uint32_t)(uint64_t)(la * lb >> 32));
    add_64(&rows, i, (uint64_t)((u128)w * o >> 64)), add_64(&rows, i, (uint64_t)((s128)(int64_t)w * (int64_t)o >> 64)), add_64(&rows, i, w * o);
    add(&rows, i, (uint32_t)((int64_t)signed_24(a) * signed_24(b))), add(&rows, i, (a & 0xffffff) * (b & 0xffffff));
    add(&rows, i, (uint32_t)(la > lb ? la - lb : lb - la) + 5), add(&rows, i, (a > b ? a - b : b - a) + 7);
    add(&rows, i, (uint32_t)((la + lb) >> 1)), add(&rows, i, (uint32_t)(((uint64_t)a + b) >> 1));
    add(&rows, i, (uint32_t)((la + lb + 1) >> 1)), add(&rows, i, (uint32_t)(((uint64_t)a + b + 1) >> 1));
    add(&rows, i, sa < 0 ? -a : a), add(&rows, i, sa < sb ? a : b), add(&rows, i, sa > sb ? a : b);
    add(&rows, i, a < b ? a : b), add(&rows, i, a > b ? a : b), add_64(&rows, i, (int64_t)w < 0 ? -w : w);
    add_64(&rows, i, (int64_t)w < (int64_t)o ? w : o), add_64(&rows, i, w > o ? w : o);
    add(&rows, i, dot(a, b, 4, 1, 100)), add(&rows, i, dot(a, b, 4, 0, 100));
    add(&rows, i, dot_halves(a, b, 1, 3)), add(&rows, i, dot_halves(a, b >> 16, 0, 3));
    add_64(&rows, i, (uint64_t)sum), add_64(&rows, i, (uint64_t)(sum >> 64));
    add_64(&rows, i, (uint64_t)difference), add(&rows, i, (uint32_t)(difference >> 64));
    add_64(&rows, i, mad);
    add(&rows, i, (uint32_t)((int16_t)a * (int16_t)b)), add_64(&rows, i, (uint64_t)(la * lb) + w);
  }
  check_rows(run, "integers_arithmetic", x, y, 4, rows.values, (size_t)rows.count, 4);
}

/* One operation of two numbers, for each lane of a word. */
typedef int32_t (*lane_operation)(int32_t a, int32_t b);

static int32_t l_add(int32_t a, int32_t b) { return a + b; }
static int32_t l_sub(int32_t a, int32_t b) { return a - b; }
static int32_t l_max(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t l_min(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t l_add_255(int32_t a, int32_t b) { return a + b > 255 ? 255 : a + b; }
static int32_t l_sub_127(int32_t a, int32_t b) { return a - b > 127 ? 127 : a - b < -128 ? -128 : a - b; }
static int32_t l_sub_32767(int32_t a, int32_t b) { return a - b > 32767 ? 32767 : a - b < -32768 ? -32768 : a - b; }
static int32_t l_distance(int32_t a, int32_t b) { return a > b ? a - b : b - a; }
static int32_t l_mean(int32_t a, int32_t b) { return (a + b + 1) / 2; }
static int32_t l_above(int32_t a, int32_t b) { return a > b ? -1 : 0; }
static int32_t l_at_most(int32_t a, int32_t b) { return a <= b ? -1 : 0; }
static int32_t l_equal(int32_t a, int32_t b) { return a == b; }
static int32_t l_negated(int32_t a, int32_t b) { return (void)b, -a; }

static uint32_t lanes(uint32_t a, uint32_t b, uint32_t width, int sign, lane_operation operation) {
  uint32_t result = 0, mask = (1u << width) - 1, at;
  for (at = 0; at < 32; at += width) {
    int32_t p = (int32_t)(a >> at & mask), q = (int32_t)(b >> at & mask);
    if (sign) p = (int32_t)((uint32_t)p << (32 - width)) >> (32 - width), q = (int32_t)((uint32_t)q << (32 - width)) >> (32 - width);
    result |= ((uint32_t)operation(p, q) & mask) << at;
  }
  return result;
}

static uint32_t sum_of_bytes(uint32_t x) { return (x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24); }

static void lane_operations(struct run *run, const uint32_t *x, const uint32_t *y) {
  static struct rows rows;
  int i;
  for (i = 0; i < MEMBERS; i++) {
    uint32_t a = x[i], b = y[i];
    rows.count = 0;
    add(&rows, i, lanes(a, b, 8, 0, l_add)), add(&rows, i, lanes(a, b, 8, 0, l_sub));
    add(&rows, i, lanes(a, b, 8, 0, l_max)), add(&rows, i, lanes(a, b, 8, 1, l_min));
    add(&rows, i, lanes(a, b, 8, 0, l_add_255)), add(&rows, i, lanes(a, b, 8, 1, l_sub_127));
    add(&rows, i, lanes(a, b, 8, 0, l_distance)), add(&rows, i, lanes(a, b, 8, 0, l_mean));
    add(&rows, i, lanes(a, b, 8, 0, l_above)), add(&rows, i, lanes(a, b, 8, 0, l_equal));
    add(&rows, i, sum_of_bytes(lanes(a, b, 8, 0, l_distance)));
    add(&rows, i, lanes(a, b, 16, 0, l_add)), add(&rows, i, lanes(a, b, 16, 1, l_sub_32767));
    add(&rows, i, lanes(a, b, 16, 1, l_max)), add(&rows, i, lanes(a, b, 16, 0, l_at_most));
    add(&rows, i, lanes(a, b, 8, 1, l_negated));
  }
  check_rows(run, "integers_lanes", x, y, 4, rows.values, (size_t)rows.count, 4);
}

static void integers(struct run *run) {
  static const uint32_t edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff00ff, 0x80808080};
  uint32_t a[MEMBERS], b[MEMBERS];
  uint64_t state = 51;
  size_t i;
  for (i = 0; i < MEMBERS; i++) a[i] = (uint32_t)random_bits(&state), b[i] = (uint32_t)random_bits(&state);
  for (i = 0; i < 64; i++) a[i] = edges[i / 8], b[i] = edges[i % 8];
  bits(run, a, b);
  arithmetic(run, a, b);
  lane_operations(run, a, b);
}

static const int directions[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* Operations in the order of rounding.cu, in all directions each. */
#define ROUNDING(type, name, fused, root, absolute)                                                                    \
  static void rounding_rows_##name(const type *x, const type *y, const type *z, type (*rows)[MEMBERS]) {               \
    int i, d;                                                                                                          \
    for (d = 0; d < 4; d++) {                                                                                          \
      fesetround(directions[d]);                                                                                       \
      for (i = 0; i < MEMBERS; i++) {                                                                                  \
        volatile type a = x[i], b = y[i], c = z[i], one = 1;                                                           \
        rows[d][i] = a + b;                                                                                            \
        rows[4 + d][i] = a - b;                                                                                        \
        rows[8 + d][i] = a * b;                                                                                        \
        rows[12 + d][i] = a / b;                                                                                       \
        rows[16 + d][i] = fused(a, b, c);                                                                              \
        rows[20 + d][i] = one / a;                                                                                     \
        rows[24 + d][i] = root(absolute(a));                                                                           \
      }                                                                                                                \
    }                                                                                                                  \
    fesetround(FE_TONEAREST);                                                                                          \
  }

ROUNDING(float, float, fmaf, sqrtf, fabsf)
ROUNDING(double, double, fma, sqrt, fabs)

static void rounding_float(struct run *run, const float *x, const float *y) {
  static float z[MEMBERS], rows[28][MEMBERS], whole[16][MEMBERS];
  uint64_t state = 53, a, b, c, to = put(run, NULL, sizeof rows);
  int i;
  for (i = 0; i < MEMBERS; i++) z[i] = random_float(&state, -2, 2) * (i % 3 == 0 ? 0x1p-30f : 1);
  rounding_rows_float(x, y, z, rows);
  a = put(run, x, sizeof z), b = put(run, y, sizeof z), c = put(run, z, sizeof z);
  LAUNCH(run, "rounding_float", line(2, MEMBERS / 2), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "float", to, rows, 28 * MEMBERS, 4);
  for (i = 0; i < MEMBERS; i++) {
    float p = x[i], q = y[i];
    float values[] = {floorf(p), ceilf(p), truncf(p), rintf(p), nearbyintf(p), roundf(p), fabsf(p), -p, fminf(p, q), fmaxf(p, q),
                      copysignf(p, q), p > 1 ? 1 : p > 0 ? p : 0, fmodf(p, q), fdimf(p, q), p < q ? p : q, signbit(p) ? 2.0f : 3.0f};
    size_t k;
    for (k = 0; k < 16; k++) whole[k][i] = values[k];
  }
  check_rows(run, "rounding_whole", x, y, 4, whole, 16, 4);
}

static void rounding_double(struct run *run, const double *x, const double *y) {
  static double z[MEMBERS], rows[28][MEMBERS], whole[11][MEMBERS];
  uint64_t state = 55, a, b, c, to = put(run, NULL, sizeof rows);
  int i;
  for (i = 0; i < MEMBERS; i++) z[i] = random_double(&state, -2, 2) * (i % 3 == 0 ? 0x1p-60 : 1);
  rounding_rows_double(x, y, z, rows);
  a = put(run, x, sizeof z), b = put(run, y, sizeof z), c = put(run, z, sizeof z);
  LAUNCH(run, "rounding_double", line(2, MEMBERS / 2), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "double", to, rows, 28 * MEMBERS, 8);
  for (i = 0; i < MEMBERS; i++) {
    double p = x[i], q = y[i];
    double values[] = {floor(p), ceil(p), trunc(p), rint(p), round(p), fabs(p), -p, fmin(p, q), fmax(p, q), copysign(p, q), fmod(p, q)};
    size_t k;
    for (k = 0; k < 11; k++) whole[k][i] = values[k];
  }
  check_rows(run, "rounding_whole_double", x, y, 8, whole, 11, 8);
}

static void rounding(struct run *run) {
  /* No zeros, so that nothing is divided by one. */
  static const float edges[] = {1, -1, 0.5f, 2.5f, -3.5f, 0x1p-126f, 0x1p-149f, 0x1.fffffep127f};
  float x[MEMBERS], y[MEMBERS];
  double dx[MEMBERS], dy[MEMBERS];
  uint64_t state = 52;
  int i;
  for (i = 0; i < MEMBERS; i++) {
    x[i] = i < 64 ? edges[i / 8] : ldexpf(random_float(&state, -2, 2), random_int(&state, -20, 20));
    y[i] = i < 64 ? edges[i % 8] : random_float(&state, 1, 100) * (i % 2 ? 1 : -1);
    dx[i] = i < 64 ? (double)edges[i / 8] * (1 + 0x1p-50) : ldexp(random_double(&state, -2, 2), random_int(&state, -20, 20));
    dy[i] = i < 64 ? edges[i % 8] : random_double(&state, 1, 100);
  }
  rounding_float(run, x, y);
  rounding_double(run, dx, dy);
}

/* The nearest number that fits. */
static int64_t clamped(long double x, long double low, long double high) {
  if (x < low) x = low;
  if (x > high) x = high;
  return x >= 0x1p63L ? (int64_t)(uint64_t)x : (int64_t)x;
}

enum { WHOLE_ROWS = 12 };

static void as_whole_numbers(double x, int64_t (*rows)[MEMBERS], int i) {
  const long double rounded[4] = {rint(x), trunc(x), floor(x), ceil(x)};
  int d;
  for (d = 0; d < 4; d++) rows[d][i] = clamped(rounded[d], -0x1p31L, 0x1p31L - 1);
  for (d = 0; d < 2; d++) rows[4 + d][i] = clamped(rounded[d], 0, 0x1p32L - 1);
  for (d = 0; d < 4; d++) rows[6 + d][i] = clamped(rounded[d], -0x1p63L, 0x1p63L - 1);
  for (d = 0; d < 2; d++) rows[10 + d][i] = clamped(rounded[d], 0, 0x1p64L - 1);
}

static void from_floating(struct run *run, const double *x) {
  static float f[MEMBERS], narrow[4][MEMBERS];
  static double wide[MEMBERS];
  static int64_t of_float[13][MEMBERS], of_double[15][MEMBERS];
  uint64_t from, to = put(run, NULL, sizeof of_double), other = put(run, NULL, sizeof narrow);
  int i, d, n = MEMBERS;
  for (i = 0; i < n; i++) {
    int32_t low;
    f[i] = (float)x[i], wide[i] = f[i];
    as_whole_numbers(f[i], of_float, i), as_whole_numbers(x[i], of_double, i);
    memcpy(&low, &f[i], 4), of_float[12][i] = low;
    memcpy(&of_double[14][i], &x[i], 8);
    of_double[12][i] = (int32_t)(of_double[14][i] >> 32), of_double[13][i] = (int32_t)of_double[14][i];
    for (d = 0; d < 4; d++) {
      volatile double given = x[i];
      volatile float result;
      fesetround(directions[d]);
      result = (float)given;
      fesetround(FE_TONEAREST);
      narrow[d][i] = result;
    }
  }
  from = put(run, f, sizeof f);
  LAUNCH(run, "conversions_from_float", line(1, MEMBERS), ARG(from), ARG(to), ARG(other));
  same(run, "from float", to, of_float, 13 * MEMBERS, 8);
  same(run, "widened", other, wide, MEMBERS, 8);
  from = put(run, x, sizeof wide);
  LAUNCH(run, "conversions_from_double", line(1, MEMBERS), ARG(from), ARG(to), ARG(other));
  same(run, "from double", to, of_double, 15 * MEMBERS, 8);
  same(run, "narrowed", other, narrow, 4 * MEMBERS, 4);
}

static float to_float(long double exact, int direction) {
  volatile long double given = exact;
  volatile float result;
  fesetround(directions[direction]);
  result = (float)given;
  fesetround(FE_TONEAREST);
  return result;
}

static double to_double(long double exact, int direction) {
  volatile long double given = exact;
  volatile double result;
  fesetround(directions[direction]);
  result = (double)given;
  fesetround(FE_TONEAREST);
  return result;
}

static void to_floating(struct run *run, const int64_t *x) {
  static float f[12][MEMBERS];
  static double d[7][MEMBERS];
  uint64_t from = put(run, x, MEMBERS * 8), to = put(run, NULL, sizeof f), wide = put(run, NULL, sizeof d);
  int i, k;
  for (i = 0; i < MEMBERS; i++) {
    int64_t l = x[i], put_together = (int64_t)(((uint64_t)l >> 32 & 0x3fffffff) << 32 | (uint32_t)l);
    float floats[] = {to_float((int32_t)l, 0), to_float((int32_t)l, 1), to_float((uint32_t)l, 2), to_float((uint32_t)l, 3),
                      to_float(l, 0), to_float(l, 1), to_float((uint64_t)l, 0), to_float((uint64_t)l, 3), to_float(l, 2),
                      (int8_t)l, (uint8_t)l, (int16_t)l};
    double doubles[] = {(int32_t)l, (uint32_t)l, to_double(l, 0), to_double(l, 1), to_double((uint64_t)l, 2), to_double((uint64_t)l, 3), 0};
    memcpy(&doubles[6], &put_together, 8);
    for (k = 0; k < 12; k++) f[k][i] = floats[k];
    for (k = 0; k < 7; k++) d[k][i] = doubles[k];
  }
  LAUNCH(run, "conversions_to_floating", line(1, MEMBERS), ARG(from), ARG(to), ARG(wide));
  same(run, "to float", to, f, 12 * MEMBERS, 4);
  same(run, "to double", wide, d, 7 * MEMBERS, 8);
}

static void whole_numbers(struct run *run, const int64_t *x) {
  static int64_t rows[12][MEMBERS];
  uint64_t from = put(run, x, MEMBERS * 8), to = put(run, NULL, sizeof rows);
  int i, k;
  for (i = 0; i < MEMBERS; i++) {
    int64_t l = x[i];
    int64_t values[] = {(int8_t)l, (uint8_t)l, (int16_t)l, (uint16_t)l, (int32_t)l, (uint32_t)l, l != 0, (int8_t)(l >> 8),
                        clamped((int32_t)l, -128, 127), clamped((int32_t)l, 0, 255), clamped(l, -0x1p31L, 0x1p31L - 1),
                        clamped(l, 0, 65535)};
    for (k = 0; k < 12; k++) rows[k][i] = values[k];
  }
  LAUNCH(run, "conversions_whole", line(1, MEMBERS), ARG(from), ARG(to));
  same(run, "whole", to, rows, 12 * MEMBERS, 8);
}

static void conversions(struct run *run) {
  static const double edges[] = {0.5, 1.5, 2.5, -0.5, -1.5, 0x1p31, -0x1p31, 0x1p32, 0x1p63, -0x1p63, 0x1p64, 1e30, -1e30, 0.49999999999999994};
  double x[MEMBERS];
  int64_t whole[MEMBERS];
  uint64_t state = 56;
  int i;
  for (i = 0; i < MEMBERS; i++) {
    x[i] = i < (int)COUNT(edges) ? edges[i] : ldexp(random_double(&state, -1, 1), random_int(&state, 0, 66));
    whole[i] = (int64_t)random_bits(&state) >> (i % 64);
  }
  from_floating(run, x);
  to_floating(run, whole);
  whole_numbers(run, whole);
}

/* A format of 16 bits: how many bits its significand has, and its least exponent. */
struct format {
  int digits, least, most, shift;
};

static const struct format half = {11, -14, 15, 10}, bfloat = {8, -126, 127, 7};

/* A number of the format as its bits, rounded in this direction. */
static uint16_t narrow(double x, struct format format, int direction) {
  int exponent, most = (format.most * 2 + 1) << format.shift;
  double unit;
  volatile double units;
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  if (x == 0) return sign;
  frexp(x, &exponent);
  exponent = exponent - 1 < format.least ? format.least : exponent - 1;
  unit = ldexp(1, exponent - format.digits + 1);
  fesetround(directions[direction]);
  units = fabs(rint(x / unit));
  fesetround(FE_TONEAREST);
  if (units >= ldexp(1, format.digits)) units /= 2, exponent++;
  if (exponent > format.most) {
    int away = direction == 0 || (direction == 2 && sign) || (direction == 3 && !sign);
    return (uint16_t)(sign | (away ? most : most - 1));
  }
  /* Below the least exponent the leading digit is absent, and so is its one. */
  return (uint16_t)(sign | (((exponent - format.least) << format.shift) + (int)units));
}

static double widen(uint16_t bits, struct format format) {
  int exponent = bits >> format.shift & (format.most * 2 + 1), digits = bits & ((1 << format.shift) - 1);
  double x = exponent == 0 ? ldexp(digits, format.least - format.shift)
                           : ldexp(digits + (1 << format.shift), format.least + exponent - 1 - format.shift);
  return bits & 0x8000 ? -x : x;
}

static double saturated(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

/* Numbers whose sums and products are exact in double precision. */
static void sixteen(uint64_t *state, struct format format, uint16_t *x, int count) {
  int i;
  for (i = 0; i < count; i++) x[i] = narrow(random_float(state, -4, 4), format, 0);
}

static void halves_arithmetic(struct run *run) {
  static uint16_t x[MEMBERS], y[MEMBERS], z[MEMBERS], rows[16][MEMBERS];
  uint64_t state = 57, a, b, c, to = put(run, NULL, sizeof rows);
  int i, k;
  sixteen(&state, half, x, MEMBERS), sixteen(&state, half, y, MEMBERS), sixteen(&state, half, z, MEMBERS);
  for (i = 0; i < MEMBERS; i++) {
    double p = widen(x[i], half), q = widen(y[i], half), r = widen(z[i], half);
    double values[] = {p + q, p - q, p * q, p * q + r, -p, fabs(p), saturated(p + q), saturated(p * q), saturated(p * q + r),
                       p < q ? p : q, p >= r ? p : r, q, floor(p), ceil(p), trunc(p), rint(p)};
    for (k = 0; k < 16; k++) rows[k][i] = narrow(values[k], half, 0);
  }
  a = put(run, x, sizeof x), b = put(run, y, sizeof y), c = put(run, z, sizeof z);
  LAUNCH(run, "halves", line(1, MEMBERS), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "half", to, rows, 16 * MEMBERS, 2);
}

static void halves_two(struct run *run) {
  enum { N = 64 };
  static uint16_t x[N][2], y[N][2], z[N][2], rows[8][N][2];
  uint64_t state = 58, a, b, c, to = put(run, NULL, sizeof rows);
  int i, k;
  sixteen(&state, half, &x[0][0], 2 * N), sixteen(&state, half, &y[0][0], 2 * N), sixteen(&state, half, &z[0][0], 2 * N);
  for (i = 0; i < N; i++) {
    for (k = 0; k < 2; k++) {
      double p = widen(x[i][k], half), q = widen(y[i][k], half), r = widen(z[i][k], half);
      rows[0][i][k] = narrow(p + q, half, 0), rows[1][i][k] = narrow(p - q, half, 0), rows[2][i][k] = narrow(p * q, half, 0);
      rows[3][i][k] = narrow(p * q + r, half, 0), rows[4][i][k] = x[i][k] ^ 0x8000, rows[5][i][k] = x[i][1 - k];
      rows[6][i][k] = p > q ? 0x3c00 : 0;
    }
    rows[7][i][0] = x[i][1], rows[7][i][1] = y[i][0];
  }
  a = put(run, x, sizeof x), b = put(run, y, sizeof y), c = put(run, z, sizeof z);
  LAUNCH(run, "halves_two", line(1, N), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "half2", to, rows, 16 * N, 2);
}

static void halves_converted(struct run *run) {
  static float f[MEMBERS];
  static double d[MEMBERS];
  static int32_t whole[MEMBERS];
  static uint16_t rows[10][MEMBERS];
  uint64_t state = 59, a, b, c, to = put(run, NULL, sizeof rows);
  int i, k;
  for (i = 0; i < MEMBERS; i++) {
    f[i] = ldexpf(random_float(&state, -1, 1), random_int(&state, -26, 17)), d[i] = random_double(&state, -100, 100);
    whole[i] = random_int(&state, 0, 60000) - (i % 2 ? 30000 : 0);
    for (k = 0; k < 4; k++) rows[k][i] = narrow(f[i], half, k);
    rows[4][i] = narrow(d[i], half, 0), rows[5][i] = narrow(whole[i], half, 0), rows[6][i] = narrow(whole[i], half, 1);
    rows[7][i] = narrow((uint32_t)whole[i], half, 0), rows[8][i] = narrow((int16_t)whole[i], half, 0);
    rows[9][i] = narrow(whole[i] * 3.0, half, 0);
  }
  a = put(run, f, sizeof f), b = put(run, d, sizeof d), c = put(run, whole, sizeof whole);
  LAUNCH(run, "halves_converted", line(1, MEMBERS), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "to half", to, rows, 10 * MEMBERS, 2);
}

static void halves_widened(struct run *run) {
  static uint16_t x[MEMBERS];
  static float f[MEMBERS];
  static double d[MEMBERS];
  static int32_t rows[7][MEMBERS];
  uint64_t state = 60, from, a = put(run, NULL, sizeof f), b = put(run, NULL, sizeof d), c = put(run, NULL, sizeof rows);
  int i, k;
  for (i = 0; i < MEMBERS; i++) {
    x[i] = narrow(ldexp(random_double(&state, -1, 1), random_int(&state, -20, 15)), half, 0);
    d[i] = widen(x[i], half), f[i] = (float)d[i];
    {
      double values[] = {rint(d[i]), trunc(d[i]), floor(d[i]), ceil(d[i]), rint(d[i]), trunc(fabs(d[i])), rint(d[i])};
      for (k = 0; k < 7; k++) rows[k][i] = (int32_t)values[k];
    }
  }
  from = put(run, x, sizeof x);
  LAUNCH(run, "halves_widened", line(1, MEMBERS), ARG(from), ARG(a), ARG(b), ARG(c));
  same(run, "half to float", a, f, MEMBERS, 4);
  same(run, "half to double", b, d, MEMBERS, 8);
  same(run, "half to int", c, rows, 7 * MEMBERS, 4);
}

static void halves(struct run *run) {
  halves_arithmetic(run);
  halves_two(run);
  halves_converted(run);
  halves_widened(run);
}

/* From 1 to 4 in size, so that a product and a sum fit into single precision. */
static void bfloats_of(uint64_t *state, uint16_t *x, int count) {
  int i;
  for (i = 0; i < count; i++) x[i] = narrow(random_float(state, 1, 4) * (random_bits(state) & 1 ? 1 : -1), bfloat, 0);
}

static void bfloats_arithmetic(struct run *run) {
  static uint16_t x[MEMBERS], y[MEMBERS], z[MEMBERS], rows[8][MEMBERS];
  uint64_t state = 61, a, b, c, to = put(run, NULL, sizeof rows);
  int i, k;
  bfloats_of(&state, x, MEMBERS), bfloats_of(&state, y, MEMBERS), bfloats_of(&state, z, MEMBERS);
  for (i = 0; i < MEMBERS; i++) {
    double p = widen(x[i], bfloat), q = widen(y[i], bfloat), r = widen(z[i], bfloat);
    double values[] = {p + q, p - q, p * q, p * q + r, -p, fabs(p), p < q ? p : q, q};
    for (k = 0; k < 8; k++) rows[k][i] = narrow(values[k], bfloat, 0);
  }
  a = put(run, x, sizeof x), b = put(run, y, sizeof y), c = put(run, z, sizeof z);
  LAUNCH(run, "bfloats", line(1, MEMBERS), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "bfloat16", to, rows, 8 * MEMBERS, 2);
  /* The same numbers, two and two. */
  to = put(run, NULL, sizeof rows);
  LAUNCH(run, "bfloats_two", line(1, MEMBERS / 2), ARG(a), ARG(b), ARG(c), ARG(to));
  same(run, "bfloat162", to, rows, 4 * MEMBERS, 2);
}

static void bfloats(struct run *run) {
  static float f[MEMBERS], back[MEMBERS];
  static uint16_t rows[6][MEMBERS];
  uint64_t state = 62, from, to = put(run, NULL, sizeof rows), wide = put(run, NULL, sizeof back);
  int i, k;
  bfloats_arithmetic(run);
  for (i = 0; i < MEMBERS; i++) {
    f[i] = ldexpf(random_float(&state, -1, 1), random_int(&state, -100, 100));
    for (k = 0; k < 4; k++) rows[k][i] = narrow(f[i], bfloat, k);
    rows[4][i] = rows[0][i], rows[5][i] = rows[0][i] ^ 0x8000, back[i] = (float)widen(rows[0][i], bfloat);
  }
  from = put(run, f, sizeof f);
  LAUNCH(run, "bfloats_converted", line(1, MEMBERS), ARG(from), ARG(to), ARG(wide));
  same(run, "to bfloat16", to, rows, 6 * MEMBERS, 2);
  same(run, "bfloat16 to float", wide, back, MEMBERS, 4);
}

const struct kernel_case numbers_cases[] = {
    {"bfloats", bfloats}, {"conversions", conversions}, {"divisions", divisions},
    {"halves", halves},   {"integers", integers},       {"rounding", rounding},   {NULL, NULL},
};
