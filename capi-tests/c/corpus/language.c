/* What the language has besides arithmetic: calls, switches, variables, structs, printing, and what goes wrong. */
#include "child.h"
#include "run.h"

static uint32_t ackermann(uint32_t m, uint32_t n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static void recursion(struct run *run) {
  enum { N = 40 };
  static const int32_t queens[] = {1, 0, 0, 2, 10, 4, 40}; /* ways to place 1 to 7 */
  uint32_t ackermanns[N], even[N], i, k;
  int32_t ways[N];
  int64_t fibonaccis[N];
  uint64_t a = put(run, NULL, sizeof ackermanns), e = put(run, NULL, sizeof even), w = put(run, NULL, sizeof ways);
  uint64_t f = put(run, NULL, sizeof fibonaccis);
  for (i = 0; i < N; i++) {
    int64_t x = 0, y = 1, z;
    for (k = 0; k < i + 20; k++) z = x + y, x = y, y = z;
    ackermanns[i] = ackermann(2, i % 8), even[i] = i % 2 == 0, ways[i] = queens[i % 7], fibonaccis[i] = x;
  }
  /* A kilobyte, which is what threads have at first, is not enough. */
  cushim_context_set_limit(run->context, CU_LIMIT_STACK_SIZE, 8192);
  LAUNCH(run, "recursion", line(1, N), ARG(a), ARG(e), ARG(w), ARG(f));
  same(run, "ackermann", a, ackermanns, N, 4);
  same(run, "even", e, even, N, 4);
  same(run, "queens", w, ways, N, 4);
  same(run, "fibonacci", f, fibonaccis, N, 8);
}

static void heap(struct run *run) {
  enum { N = 96, LISTS = 4 * N, SOME = 6 };
  uint32_t sums[LISTS], left[N], ones[3] = {1, 1, 1}, some = SOME, i, k;
  uint64_t s = put(run, NULL, sizeof sums), p = put(run, NULL, N * 8), l = put(run, NULL, sizeof left);
  uint64_t a = put(run, NULL, sizeof ones);
  for (i = 0; i < LISTS; i++)
    for (sums[i] = 0, k = 0; k < i % 9 + 1; k++) sums[i] += i * k + 1;
  for (i = 0; i < N; i++)
    for (left[i] = 0, k = 0; k <= i; k++) left[i] += i * 1000 + k;
  LAUNCH(run, "heap_lists", line(4, N), ARG(s));
  LAUNCH(run, "heap_leave", line(1, N), ARG(p));
  LAUNCH(run, "heap_take", line(1, N), ARG(p), ARG(l));
  LAUNCH(run, "heap_exhaust", line(1, 1), ARG(some), ARG(a)); /* 8 MiB, which is what a context has at first */
  same(run, "lists", s, sums, LISTS, 4);
  same(run, "what was left", l, left, N, 4);
  same(run, "exhausted", a, ones, 3, 4);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The lines in order of the alphabet: which thread is first is not said. */
static void sort_lines(char *text) {
  char *lines[256], *copy = strdup(text), *at, *rest = copy;
  size_t count = 0, i;
  while ((at = strsep(&rest, "\n")) != NULL && count < COUNT(lines))
    if (*at != 0) lines[count++] = at;
  qsort(lines, count, sizeof *lines, by_text);
  for (i = 0, *text = 0; i < count; i++) text += sprintf(text, "%s\n", lines[i]);
  free(copy);
}

static void check_text(struct run *run, const char *what, const char *is, const char *expected) {
  uint64_t at = put(run, is, strlen(is) + 1);
  if (strcmp(is, expected) != 0) fail(run, "%s printed: %.300s", what, is);
  same(run, what, at, is, strlen(is), 1);
}

static void prints(struct run *run) {
  static const char expected[] =
      "no arguments, 100%\n"
      "int -42    42|42   |00042 +42 7\n"
      "unsigned 4000000000 beef BEEF 0xff 10\n"
      "long -1234567890123 12345678901234567890 123456789abcdef\n"
      "float 1.500000 3.142 1.234568e+04 0.0001       2.50|2.5       |\n"
      "text literal x     text|text    |te\n"
      "1 mixed 2.000000 3 4\n";
  char many[8192] = "", *at = many, *is = child_prints(run, "prints");
  int i;
  check_text(run, "prints", is, expected);
  free(is);
  for (i = 0; i < 120; i++) at += sprintf(at, "block %d thread %d\n", i / 40, i % 40);
  sort_lines(many);
  is = child_prints(run, "prints_many");
  sort_lines(is);
  check_text(run, "prints_many", is, many);
  free(is);
}

static void faults(struct run *run) {
  static const struct {
    const char *kernel;
    int status; /* of waiting for it, then and ever after */
  } all[] = {
      {"fault_assert", CUDA_ERROR_ASSERT},
      {"fault_trap", CUDA_ERROR_LAUNCH_FAILED},
      {"fault_bounds", CUDA_ERROR_ILLEGAL_ADDRESS},
      {"fault_read", CUDA_ERROR_ILLEGAL_ADDRESS},
      {"fault_misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
      {"fault_null", CUDA_ERROR_ILLEGAL_ADDRESS},
      {"fault_shared", CUDA_ERROR_ILLEGAL_ADDRESS},
  };
  size_t i;
  for (i = 0; i < COUNT(all); i++) {
    char *is = child_prints(run, all[i].kernel), expected[64], *last = is;
    /* An assertion says on standard error what it is. */
    snprintf(expected, sizeof expected, "%d %d\n", all[i].status, all[i].status);
    check_text(run, all[i].kernel, last, expected);
    free(is);
  }
}

struct setting {
  char tag;
  double scale;
  int16_t offsets[3];
};

static void variables(struct run *run) {
  static const struct setting settings[2] = {{'a', 0.5, {1, 2, 3}}, {'b', 4.0, {-1, -2, -3}}};
  static const char *texts[3] = {"one", "two", "three"};
  static const int64_t large[2] = {-1, 0x123456789abcdef0};
  int32_t written[16], out[64], counter = 40 + 64, t;
  float table[8];
  double numbers[32];
  unsigned char zeros[100];
  uint64_t to = put(run, NULL, sizeof out), wide = put(run, NULL, sizeof numbers);
  for (t = 0; t < 16; t++) written[t] = 3 * t - 7;
  for (t = 0; t < 100; t++) zeros[t] = (unsigned char)t;
  overwrite(run, variable(run, "written", sizeof written), written, sizeof written);
  overwrite(run, variable(run, "zeros", sizeof zeros), zeros, sizeof zeros);
  for (t = 0; t < 32; t++) {
    const struct setting *mine = &settings[t % 2];
    out[t] = mine->tag + mine->offsets[t % 3] * 1000 + written[t % 16] * 100000;
    numbers[t] = mine->scale * (1 << t % 8);
    out[32 + t] = "constant text"[t % 13] + texts[t % 3][t % 3] * 256 + zeros[t] + (int32_t)(large[t % 2] >> 32);
  }
  LAUNCH(run, "variables_read", line(1, 32), ARG(to), ARG(wide));
  same(run, "numbers", to, out, 64, 4);
  same(run, "scaled", wide, numbers, 32, 8);
  launch(run, "variables_count", line(2, 32), NULL, 0);
  for (t = 0; t < 8; t++) table[t] = (float)t;
  same(run, "counter", variable(run, "counter", 4), &counter, 1, 4);
  same(run, "table", variable(run, "table", sizeof table), table, 8, 4);
}

static void turned(struct run *run, const char *kernel, size_t size) {
  enum { N = 37 };
  static unsigned char in[N * 16], out[N * 16];
  uint64_t state = 40 + size, from, to;
  size_t i;
  int n = N;
  for (i = 0; i < N * size; i++) in[i] = (unsigned char)random_bits(&state);
  for (i = 0; i < N; i++) memcpy(out + (N - 1 - i) * size, in + i * size, size);
  from = put(run, in, N * size), to = put(run, NULL, N * size);
  LAUNCH(run, kernel, line(2, 32), ARG(from), ARG(to), ARG(n));
  same(run, kernel, to, out, N, size);
}

static void vectors(struct run *run) {
  enum { N = 50 };
  float in[N][4], x[N];
  double yz[N][2];
  int32_t numbers[64], out[320], n = N, i;
  uint64_t state = 41, from, to, wide;
  turned(run, "vectors_char", 1), turned(run, "vectors_short", 2), turned(run, "vectors_uchar2", 2);
  turned(run, "vectors_uchar4", 4), turned(run, "vectors_short2", 4), turned(run, "vectors_short4", 8);
  turned(run, "vectors_int2", 8), turned(run, "vectors_int4", 16), turned(run, "vectors_float2", 8);
  turned(run, "vectors_float4", 16), turned(run, "vectors_double2", 16), turned(run, "vectors_longlong2", 16);
  for (i = 0; i < N * 4; i++) in[i / 4][i % 4] = random_float(&state, -1, 1);
  for (i = 0; i < N; i++) x[i] = in[i][0] - in[i][3], yz[i][0] = in[i][1], yz[i][1] = in[i][2];
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof x), wide = put(run, NULL, sizeof yz);
  LAUNCH(run, "vectors_parts", line(2, 32), ARG(from), ARG(to), ARG(wide), ARG(n));
  same(run, "parts", to, x, N, 4);
  same(run, "the other parts", wide, yz, N, 16);
  for (i = 0; i < 64; i++) {
    numbers[i] = i * i, out[i] = 11111 * i * i;
    out[64 + i] = i, out[128 + i] = i + 1, out[192 + i] = i + 2, out[256 + i] = i + 3;
  }
  from = put(run, numbers, sizeof numbers), to = put(run, NULL, sizeof out);
  LAUNCH(run, "vectors_cached", line(1, 64), ARG(from), ARG(to));
  same(run, "cached", to, out, 320, 4);
}

/* The machine of switches.cu. */
static int32_t interpret(const uint8_t *code, int32_t in, int32_t i) {
  uint32_t stack[8] = {(uint32_t)in}, hash = 0, at = 0, op, *other;
  int top = 0, left = 300;
  while (left-- > 0) {
    op = code[at++];
    hash = hash * 31 + op;
    if (op == 0) return (int32_t)(stack[top] ^ hash);
    if (op >= 2 && op <= 4) {
      other = &stack[top];
      top = (top - 1) & 7;
      stack[top] = op == 2 ? stack[top] + *other : op == 3 ? stack[top] * *other : stack[top] - *other;
    } else if (op == 1) top = (top + 1) & 7, stack[top] = code[at++];
    else if (op == 5) other = &stack[top], top = (top + 1) & 7, stack[top] = *other;
    else if (op == 6) stack[top] = -stack[top];
    else if (op == 7) at = (int32_t)stack[top] > 0 ? at + (uint32_t)(int8_t)code[at] : at + 1;
    else if (op == 8) stack[top] = (uint32_t)__builtin_popcount(stack[top]);
    else if (op == 9) stack[top] += (uint32_t)i;
    else if (op == 10) stack[top] = (uint32_t)((int32_t)stack[top] >> 1);
    else return -1;
  }
  return -2;
}

static void switches(struct run *run) {
  enum { N = 128 };
  /* Twice what came in, plus the thread's number; halved until it is not above 0; and some more. */
  static const uint8_t code[] = {5, 2, 9, 1, 3, 3, 10, 7, 0xff, 1, 7, 4, 6, 5, 8, 2, 9, 5, 3, 0};
  int32_t in[N], out[N], table_in[N + 1], table[N], i;
  uint64_t state = 42, at, from, to;
  for (i = 0; i < N; i++) in[i] = random_int(&state, -2000, 30000), out[i] = interpret(code, in[i], i);
  at = put(run, code, sizeof code), from = put(run, in, sizeof in), to = put(run, NULL, sizeof out);
  LAUNCH(run, "switches", line(2, N / 2), ARG(at), ARG(from), ARG(to));
  same(run, "machine", to, out, N, 4);
  for (i = 0; i <= N; i++) table_in[i] = i % 11 == 10 ? 1000 : i % 13 == 12 ? -9 : random_int(&state, 0, 8);
  for (i = 0; i < N; i++) {
    uint32_t reversed = 0, bit;
    for (bit = 0; bit < 32; bit++) reversed |= ((uint32_t)i >> bit & 1) << (31 - bit);
    switch (table_in[i]) {
      case 0: table[i] = 10; break;
      case 1: table[i] = 21; break;
      case 2: table[i] = 2 * i; break;
      case 3: table[i] = table_in[i + 1] + 5; break;
      case 5: table[i] = (int32_t)reversed; break;
      case 6: table[i] = 73; break;
      case 7: table[i] = 7; break;
      case 1000: table[i] = 1; break;
      default: table[i] = table_in[i] / 3;
    }
  }
  from = put(run, table_in, sizeof table_in), to = put(run, NULL, sizeof table);
  LAUNCH(run, "switches_table", line(2, N / 2), ARG(from), ARG(to));
  same(run, "table", to, table, N, 4);
}

static void indirect(struct run *run) {
  enum { N = 128 };
  int32_t which[N], a[N], b[N], out[N], corners[N], i, k;
  float size[N], area[N];
  uint64_t state = 43, w, x, y, z, s, c;
  for (i = 0; i < N; i++) {
    uint32_t power = 1;
    which[i] = random_int(&state, 0, 3), a[i] = random_int(&state, -999, 999), b[i] = random_int(&state, 0, 99);
    for (k = 0; k < (b[i] & 7); k++) power *= (uint32_t)a[i];
    out[i] = which[i] == 0 ? a[i] + b[i] : which[i] == 1 ? a[i] - b[i] : which[i] == 2 ? a[i] * b[i] : (int32_t)power;
    size[i] = random_float(&state, 0, 9);
    area[i] = which[i] & 1 ? size[i] * size[i] : 3.0f * size[i] * size[i];
    corners[i] = which[i] & 1 ? 4 : 0;
  }
  w = put(run, which, sizeof which), x = put(run, a, sizeof a), y = put(run, b, sizeof b), z = put(run, NULL, sizeof out);
  LAUNCH(run, "indirect", line(2, 64), ARG(w), ARG(x), ARG(y), ARG(z));
  same(run, "functions", z, out, N, 4);
  s = put(run, size, sizeof size), x = put(run, NULL, sizeof area), c = put(run, NULL, sizeof corners);
  LAUNCH(run, "indirect_virtual", line(2, 64), ARG(w), ARG(s), ARG(x), ARG(c));
  same(run, "areas", x, area, N, 4);
  same(run, "corners", c, corners, N, 4);
}

struct box {
  char tag;
  double size[3];
  int16_t edges;
  uint64_t to;
};

static void parameters(struct run *run) {
  enum { N = 48 };
  struct box g = {'g', {0.25, 1.5, -3}, -21, 0};
  char a = -3;
  int16_t b = -3000;
  int32_t c = 123456789, turned_around[N], t, many[200], chosen[N];
  int64_t d = -1234567890123;
  float e = 0.5f;
  double f = 1e6, out[N];
  uint8_t h[3] = {200, 100, 7}, i = 1;
  struct {
    _Alignas(16) uint32_t x[4];
  } j = {{1, 2, 3, 4000000000u}};
  uint64_t to = put(run, NULL, sizeof out);
  g.to = put(run, NULL, sizeof turned_around);
  for (t = 0; t < N; t++) {
    /* All of them are whole, or halves and quarters, so that each sum is exact. */
    out[t] = (double)(a + b + c + d) + 0.5 + f + 'g' + g.size[t % 3] + g.edges + h[0] * 3 + h[2] + 1000 + j.x[0] + j.x[3];
    turned_around[t] = g.edges * t + h[1];
  }
  for (t = 0; t < 200; t++) many[t] = t * t - 77;
  for (t = 0; t < N; t++) chosen[t] = many[t * 7 % 200];
  LAUNCH(run, "parameters", line(1, N), ARG(a), ARG(b), ARG(c), ARG(d), ARG(e), ARG(f), ARG(g), ARG(h), ARG(i), ARG(j), ARG(to));
  same(run, "sums", to, out, N, 8);
  same(run, "through a pointer", g.to, turned_around, N, 4);
  to = put(run, NULL, sizeof chosen);
  LAUNCH(run, "parameters_many", line(1, N), ARG(many), ARG(to));
  same(run, "many", to, chosen, N, 4);
}

static int less_short(const void *a, const void *b) { return *(const int16_t *)a - *(const int16_t *)b; }

static void locals(struct run *run) {
  enum { N = 64 };
  static int16_t in[N * 24];
  static uint32_t steps[1024];
  int32_t out[N], t, k;
  uint64_t state = 44, from, to;
  for (t = 0; t < N * 24; t++) in[t] = (int16_t)random_bits(&state);
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof in);
  LAUNCH(run, "locals_sort", line(2, N / 2), ARG(from), ARG(to));
  for (t = 0; t < N; t++) qsort(in + t * 24, 24, sizeof *in, less_short);
  same(run, "sorted", to, in, N * 24, 2);
  for (t = 0; t < N; t++) {
    uint32_t seed = (uint32_t)t, sum = 0;
    for (k = 0; k < 4; k++) {
      seed = seed * 1103515245 + 12345;
      sum ^= (uint32_t)((int32_t)seed >> k);
    }
    out[t] = (int32_t)(sum * 4 + (t & 1 ? 1 : 2));
  }
  to = put(run, NULL, sizeof out);
  LAUNCH(run, "locals_passed", line(1, N), ARG(to));
  same(run, "passed on", to, out, N, 4);
  for (t = 0; t < 1024; t++) {
    uint64_t n;
    for (steps[t] = 0, n = (uint64_t)t + 1; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) steps[t]++;
  }
  to = put(run, NULL, sizeof steps);
  LAUNCH(run, "collatz", line(8, 128), ARG(to));
  same(run, "collatz", to, steps, 1024, 4);
}

/* Digests of "abc" and of nothing, from FIPS 180-4 and its examples. */
static void sha256(struct run *run) {
  static const uint32_t abc[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
  static const uint32_t nothing[8] = {0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924, 0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855};
  enum { N = 64 };
  char messages[3 * N];
  uint32_t digests[N][8], t;
  int32_t size = 3, none = 0;
  uint64_t from, to = put(run, NULL, sizeof digests);
  for (t = 0; t < N; t++) memcpy(messages + 3 * t, "abc", 3), memcpy(digests[t], abc, sizeof abc);
  from = put(run, messages, sizeof messages);
  LAUNCH(run, "sha256", line(2, N / 2), ARG(from), ARG(size), ARG(to));
  same(run, "abc", to, digests, N, 32);
  for (t = 0; t < N; t++) memcpy(digests[t], nothing, sizeof nothing);
  LAUNCH(run, "sha256", line(2, N / 2), ARG(from), ARG(none), ARG(to));
  same(run, "nothing", to, digests, N, 32);
}

const struct kernel_case language_cases[] = {
    {"faults", faults},   {"indirect", indirect}, {"locals", locals},       {"parameters", parameters},
    {"heap", heap}, {"prints", prints},   {"recursion", recursion}, {"sha256", sha256},     {"switches", switches},
    {"variables", variables}, {"vectors", vectors}, {NULL, NULL},
};
