/* What threads do together: atomics, warps, blocks, the grid. */
#include "run.h"

enum { BLOCKS = 5, THREADS = 96, ALL = BLOCKS * THREADS };

struct place {
  uint32_t value, hole;
  uint64_t returned;
};

struct wide_place {
  uint64_t value, returned;
};

/* Of the sums of what was returned: those that are known whatever the order. */
static void expect_32(struct place *at, const uint32_t *in, int n, int is_signed) {
  int i;
  uint64_t exchanged = at[1].value;
  for (i = 0; i < n; i++) {
    uint32_t x = in[i];
    exchanged += x;
    at[0].value += x;
    if (is_signed ? (int32_t)x < (int32_t)at[2].value : x < at[2].value) at[2].value = x;
    if (is_signed ? (int32_t)x > (int32_t)at[3].value : x > at[3].value) at[3].value = x;
    at[4].value &= x | 0x00f00f00;
    at[5].value |= x & 0x0ff00ff0;
    at[6].value ^= x;
    at[7].value = at[7].value * 3 + 1;
  }
  at[1].returned = exchanged;
}

/* What was exchanged last and what was returned are one sum; the rest is compared as it is. */
static void check_32(struct run *run, const char *kernel, const char *what, const uint32_t *in, int is_signed) {
  struct place start[8], expected[8], *is;
  uint64_t at, from = put(run, in, ALL * sizeof *in);
  uint32_t least_start = is_signed ? 1000 : 0xfffffff0u, sums[8];
  int i;
  memset(start, 0, sizeof start);
  start[2].value = least_start;
  start[4].value = 0xffffffff;
  start[7].value = 1;
  memcpy(expected, start, sizeof start);
  expect_32(expected, in, ALL, is_signed);
  at = put(run, start, sizeof start);
  LAUNCH(run, kernel, line(BLOCKS, THREADS), ARG(at), ARG(from));
  is = got(run, at, sizeof start);
  for (i = 0; i < 8; i++) sums[i] = i == 1 ? (uint32_t)is[1].returned + is[1].value : is[i].value;
  for (i = 0; i < 8; i++)
    if (sums[i] != (i == 1 ? (uint32_t)expected[1].returned : expected[i].value))
      fail(run, "%s: operation %d left %08x, not %08x", what, i, sums[i], i == 1 ? (uint32_t)expected[1].returned : expected[i].value);
  at = put(run, sums, sizeof sums);
  same(run, what, at, sums, 8, 4);
}

/* In shared memory each block has places of its own. */
static void check_32_shared(struct run *run, const char *kernel, const char *what, const uint32_t *in, int is_signed) {
  static struct place start[BLOCKS * 8], expected[BLOCKS * 8], *is;
  static uint32_t sums[BLOCKS * 8];
  uint64_t at, from = put(run, in, ALL * sizeof *in);
  int i, block;
  memset(start, 0, sizeof start);
  for (block = 0; block < BLOCKS; block++) {
    start[block * 8 + 2].value = is_signed ? 1000 : 0xfffffff0u;
    start[block * 8 + 4].value = 0xffffffff;
    start[block * 8 + 7].value = (uint32_t)block;
  }
  memcpy(expected, start, sizeof start);
  for (block = 0; block < BLOCKS; block++) expect_32(expected + block * 8, in + block * THREADS, THREADS, is_signed);
  at = put(run, start, sizeof start);
  LAUNCH(run, kernel, line(BLOCKS, THREADS), ARG(at), ARG(from));
  is = got(run, at, sizeof start);
  for (i = 0; i < BLOCKS * 8; i++) {
    uint32_t right = i % 8 == 1 ? (uint32_t)expected[i].returned : expected[i].value;
    sums[i] = i % 8 == 1 ? (uint32_t)is[i].returned + is[i].value : is[i].value;
    if (sums[i] != right) fail(run, "%s: block %d, operation %d left %08x, not %08x", what, i / 8, i % 8, sums[i], right);
  }
  at = put(run, sums, sizeof sums);
  same(run, what, at, sums, BLOCKS * 8, 4);
}

static uint32_t stepped(uint32_t value, int up, uint32_t limit) {
  if (up) return value >= limit ? 0 : value + 1;
  return value == 0 || value > limit ? limit : value - 1;
}

static void counters(struct run *run, const char *kernel, int n, struct shape shape) {
  uint32_t at[4] = {5, 7, 1000000, 11}, returned[4] = {0};
  uint64_t place = put(run, at, sizeof at), sums = put(run, NULL, sizeof returned);
  int i;
  for (i = 0; i < n; i++) {
    returned[0] += at[0], returned[1] += at[1], returned[2] += at[2], returned[3] += at[3];
    at[0] = stepped(at[0], 1, 99), at[1] = stepped(at[1], 0, 49), at[2] -= 3, at[3] += 5;
  }
  LAUNCH(run, kernel, shape, ARG(place), ARG(sums));
  same(run, kernel, place, at, 4, 4);
  same(run, kernel, sums, returned, 4, 4);
}

static void scopes(struct run *run) {
  enum { N = 64 };
  int32_t expected[11] = {0}, i;
  uint64_t at = put(run, NULL, sizeof expected);
  for (i = 0; i < 4 * N; i++) {
    expected[i / N] += i;
    expected[4 + i / N] = i;
    expected[8] += i, expected[9] |= i, expected[10] ^= i * i;
  }
  LAUNCH(run, "atomics_scopes", line(4, N), ARG(at));
  same(run, "scopes", at, expected, 11, 4);
}

static void atomics_32(struct run *run) {
  static uint32_t in[ALL];
  uint64_t state = 30, lock = put(run, NULL, 4), sum = put(run, NULL, 4), from;
  uint32_t total = 0;
  int i;
  /* Small enough that the sum of what is exchanged fits. */
  for (i = 0; i < ALL; i++) in[i] = (uint32_t)random_bits(&state) & 0x000fffff;
  check_32(run, "atomics_unsigned", "unsigned", in, 0);
  check_32_shared(run, "atomics_unsigned_shared", "unsigned, shared", in, 0);
  for (i = 0; i < ALL; i++) in[i] -= 0x80000;
  check_32(run, "atomics_int", "int", in, 1);
  check_32_shared(run, "atomics_int_shared", "int, shared", in, 1);
  counters(run, "atomics_counters", ALL, line(BLOCKS, THREADS));
  counters(run, "atomics_counters_shared", THREADS, line(1, THREADS));
  scopes(run);
  from = put(run, in, sizeof in);
  for (i = 0; i < 2 * THREADS; i++) total += in[i];
  LAUNCH(run, "atomics_lock", line(2, THREADS), ARG(lock), ARG(sum), ARG(from));
  same(run, "lock", sum, &total, 1, 4);
}

static void start_64(struct wide_place *at) {
  memset(at, 0, 10 * sizeof *at);
  at[2].value = ~(uint64_t)0;
  at[4].value = ~(uint64_t)0;
  at[7].value = 1;
}

static void expect_64(struct wide_place *at, const uint64_t *in, int n) {
  int i;
  uint64_t exchanged = 0;
  for (i = 0; i < n; i++) {
    uint64_t x = in[i];
    exchanged += x;
    at[0].value += x;
    if (x < at[2].value) at[2].value = x;
    if (x > at[3].value) at[3].value = x;
    at[4].value &= x | 0x00f00f0000ff00ff;
    at[5].value |= x & 0x0ff00ff000110011;
    at[6].value ^= x;
    at[7].value = at[7].value * 3 + 1;
    if ((int64_t)x < (int64_t)at[8].value) at[8].value = x;
    if ((int64_t)x > (int64_t)at[9].value) at[9].value = x;
  }
  at[1].value = exchanged;
}

static void check_64(struct run *run, const char *kernel, const uint64_t *in, int groups) {
  static struct wide_place start[BLOCKS * 10], expected[BLOCKS * 10], *is;
  static uint64_t values[BLOCKS * 10], right[BLOCKS * 10];
  uint64_t from = put(run, in, ALL * sizeof *in), at;
  int group, i, n = ALL / groups;
  for (group = 0; group < groups; group++) {
    start_64(start + group * 10);
    memcpy(expected + group * 10, start + group * 10, 10 * sizeof *start);
    expect_64(expected + group * 10, in + group * n, n);
  }
  at = put(run, start, (size_t)groups * 10 * sizeof *start);
  LAUNCH(run, kernel, line(BLOCKS, THREADS), ARG(at), ARG(from));
  is = got(run, at, (size_t)groups * 10 * sizeof *start);
  for (i = 0; i < groups * 10; i++) {
    values[i] = is[i].value + (i % 10 == 1 ? is[i].returned : 0);
    right[i] = expected[i].value;
  }
  at = put(run, values, (size_t)groups * 10 * 8);
  same(run, kernel, at, right, (size_t)groups * 10, 8);
}

static void atomics_64(struct run *run) {
  static uint64_t in[ALL];
  uint64_t state = 31;
  int i;
  for (i = 0; i < ALL; i++) in[i] = random_bits(&state);
  check_64(run, "atomics_long", in, 1);
  check_64(run, "atomics_long_shared", in, BLOCKS);
}

static void atomics_16(struct run *run) {
  uint16_t value[2] = {3, 0x1234};
  uint64_t at = put(run, value, sizeof value);
  int i;
  for (i = 0; i < 2 * 48; i++) value[0] = (uint16_t)(value[0] * 5 + 1);
  LAUNCH(run, "atomics_16", line(2, 48), ARG(at));
  same(run, "16 bits, and what lies beside them", at, value, 2, 2);
}

static void atomics_float(struct run *run) {
  static float x[ALL];
  static double y[ALL];
  float sums[2] = {0}, *is;
  double sum = 0;
  uint64_t state = 32, f, d, in, wide;
  int i;
  for (i = 0; i < ALL; i++) {
    x[i] = (float)random_int(&state, -1000, 1000), y[i] = random_int(&state, -1000000, 1000000);
    sums[0] += x[i], sums[1] += x[i], sum += y[i];
  }
  in = put(run, x, sizeof x), wide = put(run, y, sizeof y), f = put(run, NULL, 12), d = put(run, NULL, 8);
  LAUNCH(run, "atomics_float", line(BLOCKS, THREADS), ARG(f), ARG(d), ARG(in), ARG(wide));
  same(run, "float", f, sums, 1, 4);
  same(run, "double", d, &sum, 1, 8);
  is = got(run, f, 12);
  is[1] += is[2];
  if (is[1] != sums[1]) fail(run, "exchanged: %g, not %g", (double)is[1], (double)sums[1]);
  f = put(run, NULL, 12), d = put(run, NULL, 8);
  LAUNCH(run, "atomics_float_shared", line(BLOCKS, THREADS), ARG(f), ARG(d), ARG(in), ARG(wide));
  same(run, "float, shared", f, sums, 2, 4);
  same(run, "double, shared", d, &sum, 1, 8);
  atomics_16(run);
}

/* 160 threads add 0, 1, 2, 3 in turn, and two at a time; in bfloat16, 0 and 1. */
static void atomics_half(struct run *run) {
  static const uint16_t half[1] = {0x5b80} /* 240 */, halves[2] = {0x5b80, 0x5900} /* 240, 160 */;
  static const uint16_t bfloat[1] = {0x42a0} /* 80 */, bfloats[2] = {0x42a0, 0x4320} /* 80, 160 */;
  uint64_t h = put(run, NULL, 4), h2 = put(run, NULL, 4), b = put(run, NULL, 4), b2 = put(run, NULL, 4);
  LAUNCH(run, "atomics_half", line(1, 160), ARG(h), ARG(h2), ARG(b), ARG(b2));
  same(run, "half", h, half, 1, 2);
  same(run, "half2", h2, halves, 2, 2);
  same(run, "bfloat16", b, bfloat, 1, 2);
  same(run, "bfloat162", b2, bfloats, 2, 2);
}

enum { LANES = 32, WARPS = 3, MEMBERS = LANES * WARPS, MOST_ANSWERS = 16 };

/* Answers of all threads, one row under the other. */
struct answers {
  uint32_t rows[MOST_ANSWERS][MEMBERS];
  int count;
};

static uint32_t votes(const int32_t *in, int warp, uint32_t mask, int (*holds)(int32_t)) {
  uint32_t ballot = 0;
  int lane;
  for (lane = 0; lane < LANES; lane++)
    if ((mask >> lane & 1) && holds(in[warp * LANES + lane])) ballot |= 1u << lane;
  return ballot;
}

static int is_odd(int32_t x) { return x & 1; }
static int above_2(int32_t x) { return x > 2; }
static int above_3(int32_t x) { return x > 3; }
static int below_3(int32_t x) { return x < 3; }
static int is_5(int32_t x) { return x == 5; }
static int is_6(int32_t x) { return x == 6; }

static void expect_votes(const int32_t *in, struct answers *answers) {
  uint32_t odd = 0, six = 0;
  int t;
  for (t = 0; t < MEMBERS; t++) odd += (uint32_t)is_odd(in[t]), six |= (uint32_t)is_6(in[t]);
  for (t = 0; t < MEMBERS; t++) {
    int warp = t / LANES, lane = t % LANES;
    uint32_t *at = &answers->rows[0][t], half = lane < 16 ? 0xffff : 0xffff0000;
    uint32_t values[] = {
        1, votes(in, warp, ~0u, above_3) == ~0u, votes(in, warp, ~0u, is_5) != 0, 0, votes(in, warp, ~0u, is_odd),
        votes(in, warp, half, above_2),
        lane & 1 ? votes(in, warp, 0xaaaaaaaa, above_3) : votes(in, warp, 0x55555555, below_3),
        (uint32_t)in[warp * LANES + (lane & 1 ? 7 : 8)], odd, 1, six,
    };
    size_t k;
    for (k = 0; k < COUNT(values); k++) at[k * MEMBERS] = values[k];
    answers->count = COUNT(values);
  }
}

static float as_float(int32_t x) { return (float)x; }

static void expect_shuffles(const int32_t *in, struct answers *answers) {
  int t;
  for (t = 0; t < MEMBERS; t++) {
    int lane = t % LANES;
    const int32_t *warp = in + t - lane;
    float other = as_float(warp[lane ^ 1]);
    uint32_t bits;
    memcpy(&bits, &other, 4);
    {
      uint32_t values[] = {
          (uint32_t)warp[31 - lane], (uint32_t)warp[(lane & ~7) + 2], (uint32_t)warp[8],
          (uint32_t)warp[lane < 3 ? lane : lane - 3], (uint32_t)warp[lane % 16 < 1 ? lane : lane - 1],
          (uint32_t)warp[lane + 5 > 31 ? lane : lane + 5], (uint32_t)warp[lane % 4 + 2 > 3 ? lane : lane + 2],
          (uint32_t)warp[lane ^ 16], (uint32_t)warp[lane ^ 3], (uint32_t)warp[9], (uint32_t)warp[9], bits,
      };
      size_t k;
      for (k = 0; k < COUNT(values); k++) answers->rows[k][t] = values[k];
      answers->count = COUNT(values);
    }
  }
}

static void expect_matches(const int32_t *in, struct answers *answers) {
  int t, lane;
  for (t = 0; t < MEMBERS; t++) {
    const int32_t *warp = in + t / LANES * LANES;
    uint32_t equal = 0;
    for (lane = 0; lane < LANES; lane++)
      if (warp[lane] == in[t]) equal |= 1u << lane;
    answers->rows[0][t] = answers->rows[1][t] = equal;
    answers->rows[2][t] = equal == ~0u ? ~0u : 0;
    answers->rows[3][t] = equal == ~0u;
    answers->rows[4][t] = ~0u;
    answers->rows[5][t] = 1;
  }
  answers->count = 6;
}

static void expect_reductions(const int32_t *in, struct answers *answers) {
  int warp, lane, k;
  for (warp = 0; warp < WARPS; warp++) {
    uint32_t sum = 0, all = ~0u, any = 0, odd = 0, top = 0;
    int32_t least = 1 << 30, greatest = -1;
    for (lane = 0; lane < LANES; lane++) {
      int32_t x = in[warp * LANES + lane];
      sum += (uint32_t)x, all &= (uint32_t)x | 8, any |= (uint32_t)x, odd ^= (uint32_t)x;
      if (-x < least) least = -x;
      if (x > greatest) greatest = x;
      if ((uint32_t)-x > top) top = (uint32_t)-x;
    }
    for (lane = 0; lane < LANES; lane++) {
      uint32_t values[] = {sum, (uint32_t)least, (uint32_t)greatest, all, any, odd, top};
      for (k = 0; k < 7; k++) answers->rows[k][warp * LANES + lane] = values[k];
    }
  }
  answers->count = 7;
}

static void expect_divergence(const int32_t *in, struct answers *answers) {
  int t, i, k;
  for (t = 0; t < MEMBERS; t++) {
    uint32_t steps = 0, sum = 0, lane = (uint32_t)t % LANES, bit = 1u << lane;
    int32_t x = in[t];
    for (i = 0; i < x * 3; i++) {
      if (i % 4 == 3) continue;
      for (k = 0; k < i && k != x; k++) sum += (uint32_t)(k ^ x);
      steps++;
    }
    {
      uint32_t values[] = {steps, sum, bit, bit - 1, bit | (bit - 1), ~(bit | (bit - 1)), ~(bit - 1), lane};
      for (k = 0; k < 8; k++) answers->rows[k][t] = values[k];
    }
  }
  answers->count = 8;
}

static void check_warps(struct run *run, const char *kernel, const int32_t *in,
                        void (*expect)(const int32_t *in, struct answers *answers)) {
  static struct answers answers;
  uint64_t from = put(run, in, MEMBERS * sizeof *in), to = put(run, NULL, sizeof answers.rows);
  expect(in, &answers);
  LAUNCH(run, kernel, line(1, MEMBERS), ARG(from), ARG(to));
  same(run, kernel, to, answers.rows, (size_t)answers.count * MEMBERS, 4);
}

static void warps(struct run *run) {
  int32_t in[MEMBERS];
  uint64_t state = 33;
  int i;
  /* The last warp is of one mind. */
  for (i = 0; i < MEMBERS; i++) in[i] = i < 2 * LANES ? random_int(&state, 0, 7) : 6;
  check_warps(run, "warps_votes", in, expect_votes);
  check_warps(run, "warps_shuffles", in, expect_shuffles);
  check_warps(run, "warps_matches", in, expect_matches);
  check_warps(run, "warps_reductions", in, expect_reductions);
  check_warps(run, "warps_divergence", in, expect_divergence);
}

enum { ROUNDS = 6, GRID = 4, GROUP = 64 };

static void rounds(uint32_t *a, uint32_t *b) {
  uint32_t i, n = GRID * GROUP, round, *swap;
  for (round = 0; round < ROUNDS; round++, swap = a, a = b, b = swap)
    for (i = 0; i < n; i++) b[i] = a[(i + GROUP) % n] * 3 + a[i];
}

static void tiles(struct run *run) {
  int32_t in[64], out[64];
  uint64_t state = 35, from, to;
  int t, k;
  for (t = 0; t < 64; t++) in[t] = random_int(&state, 0, 7);
  for (t = 0; t < 64; t++) {
    int sum = 0, odd = 0, first = -1, three = 0;
    for (k = t & ~7; k < (t & ~7) + 8; k++) sum += in[k], three |= in[k] == 3;
    for (k = (t & ~31) + 31; k >= (t & ~31); k--)
      if (in[k] & 1) odd++, first = k;
    if (in[t] & 1) sum = sum * 1000 + odd * 10 + (first == t);
    out[t] = sum + three;
  }
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof out);
  LAUNCH(run, "group_tiles", line(1, 64), ARG(from), ARG(to));
  same(run, "tiles", to, out, 64, 4);
}

static void grid_sync(struct run *run) {
  static uint32_t a[GRID * GROUP], b[GRID * GROUP], start[GRID * GROUP];
  uint64_t state = 34, at_a, at_b, arrived;
  struct shape shape = line(GRID, GROUP);
  uint32_t n = ROUNDS, i;
  shape.flags = CUSHIM_LAUNCH_COOPERATIVE;
  for (i = 0; i < COUNT(a); i++) start[i] = a[i] = (uint32_t)random_bits(&state);
  rounds(a, b);
  at_a = put(run, start, sizeof a), at_b = put(run, NULL, sizeof b);
  LAUNCH(run, "grid_sync", shape, ARG(n), ARG(at_a), ARG(at_b));
  same(run, "grid", at_a, a, COUNT(a), 4);
  at_a = put(run, start, sizeof a), at_b = put(run, NULL, sizeof b), arrived = put(run, NULL, 4);
  LAUNCH(run, "grid_barrier", shape, ARG(n), ARG(at_a), ARG(at_b), ARG(arrived));
  same(run, "barrier", at_a, a, COUNT(a), 4);
  tiles(run);
}

static void reversed(struct run *run, int32_t n) {
  static int32_t in[15000], out[15000];
  struct shape shape = line(1, 128);
  uint64_t from, to;
  int i;
  for (i = 0; i < n; i++) out[n - 1 - i] = in[i] = i * i;
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof out);
  shape.shared_bytes = (uint32_t)n * 4;
  LAUNCH(run, "dynamic_shared", shape, ARG(n), ARG(from), ARG(to));
  same(run, n * 4 > 49152 ? "more than 48 KiB" : "reversed", to, out, (size_t)n, 4);
}

static void dynamic_shared(struct run *run) {
  enum { N = 96 };
  double in[N], out[N];
  uint32_t sizes[2] = {1000, 1000}, *is;
  struct shape shape = line(1, N);
  uint64_t from, to;
  int i, n = N;
  reversed(run, 3000);
  reversed(run, 15000);
  for (i = 0; i < N; i++) in[i] = i * 0.5;
  for (i = 0; i < N; i++) out[i] = in[i * 7 % N] + i % 32;
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof out);
  shape.shared_bytes = N * 10;
  LAUNCH(run, "dynamic_parts", shape, ARG(n), ARG(from), ARG(to));
  same(run, "parts", to, out, N, 8);
  shape.shared_bytes = 1000;
  to = put(run, NULL, sizeof sizes);
  LAUNCH(run, "dynamic_size", shape, ARG(to));
  is = got(run, to, sizeof sizes);
  same(run, "size", to, sizes, 1, 4);
  /* The driver may keep some of it for itself. */
  if (is[1] < 1000 || is[1] > 1000 + 4096) fail(run, "total size: %u", is[1]);
}

static void places(struct run *run) {
  enum { GX = 3, GY = 2, GZ = 2, BX = 5, BY = 3, BZ = 2, N = GX * GY * GZ * BX * BY * BZ };
  static uint32_t out[2 * N];
  struct shape shape = {{GX, GY, GZ}, {BX, BY, BZ}, 0, 0};
  int32_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  uint64_t to = put(run, NULL, sizeof out);
  uint32_t i;
  for (i = 0; i < N; i++) {
    uint32_t t = i % (BX * BY * BZ), b = i / (BX * BY * BZ);
    out[i] = t % BX | t / BX % BY << 4 | t / (BX * BY) << 8 | b % GX << 12 | b / GX % GY << 16 | b / (GX * GY) << 20;
    out[N + i] = 3200 + t % 32;
  }
  LAUNCH(run, "places", shape, ARG(to));
  same(run, "places", to, out, 2 * N, 4);
  to = put(run, NULL, sizeof ones);
  LAUNCH(run, "places_time", line(1, 8), ARG(to));
  same(run, "time", to, ones, 8, 4);
}

const struct kernel_case threads_cases[] = {
    {"atomics_32", atomics_32},     {"atomics_64", atomics_64}, {"atomics_float", atomics_float},
    {"atomics_half", atomics_half}, {"dynamic_shared", dynamic_shared}, {"grid_sync", grid_sync},
    {"places", places},             {"warps", warps},           {NULL, NULL},
};
