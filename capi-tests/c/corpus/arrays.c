/* Arrays in, arrays out: the kernels that everybody writes first. */
#include "run.h"

static void vector_add(struct run *run) {
  enum { N = 5000 };
  static float a[N], b[N], sum[N];
  static double da[N], db[N], dsum[N];
  static int32_t ia[4 * N], ib[4 * N], isum[4 * N];
  uint64_t state = 1, x, y, z;
  int n = N, i;
  for (i = 0; i < N; i++) {
    a[i] = random_float(&state, -100, 100), b[i] = random_float(&state, -1, 1), sum[i] = a[i] + b[i];
    da[i] = random_double(&state, -1e9, 1e9), db[i] = random_double(&state, -1, 1), dsum[i] = da[i] + db[i];
  }
  for (i = 0; i < 4 * N; i++) {
    ia[i] = (int32_t)random_bits(&state), ib[i] = (int32_t)random_bits(&state);
    isum[i] = (int32_t)((uint32_t)ia[i] + (uint32_t)ib[i]);
  }
  x = put(run, a, sizeof a), y = put(run, b, sizeof b), z = put(run, NULL, sizeof sum);
  LAUNCH(run, "vector_add", line(20, 256), ARG(n), ARG(x), ARG(y), ARG(z));
  same(run, "float", z, sum, N, sizeof *sum);
  x = put(run, da, sizeof da), y = put(run, db, sizeof db), z = put(run, NULL, sizeof dsum);
  LAUNCH(run, "vector_add_strided", line(3, 96), ARG(n), ARG(x), ARG(y), ARG(z));
  same(run, "double", z, dsum, N, sizeof *dsum);
  x = put(run, ia, sizeof ia), y = put(run, ib, sizeof ib), z = put(run, NULL, sizeof isum);
  LAUNCH(run, "vector_add_four", line(20, 256), ARG(n), ARG(x), ARG(y), ARG(z));
  same(run, "int4", z, isum, 4 * N, sizeof *isum);
}

static void saxpy(struct run *run) {
  enum { N = 3001 };
  static float x[N], y[N];
  static double dx[N], dy[N];
  uint64_t state = 2, at_x, at_y, at_dx, at_dy;
  int n = N, i;
  float a = 2.7182817f;
  double da = -0.1;
  for (i = 0; i < N; i++) x[i] = random_float(&state, -9, 9), y[i] = random_float(&state, -9, 9);
  for (i = 0; i < N; i++) dx[i] = random_double(&state, -9, 9), dy[i] = random_double(&state, -9, 9);
  at_x = put(run, x, sizeof x), at_y = put(run, y, sizeof y);
  at_dx = put(run, dx, sizeof dx), at_dy = put(run, dy, sizeof dy);
  for (i = 0; i < N; i++) y[i] = fmaf(a, x[i], y[i]), dy[i] = fma(da, dx[i], dy[i]);
  LAUNCH(run, "saxpy", line(24, 128), ARG(n), ARG(a), ARG(at_x), ARG(at_y));
  same(run, "float", at_y, y, N, sizeof *y);
  LAUNCH(run, "daxpy", line(24, 128), ARG(n), ARG(da), ARG(at_dx), ARG(at_dy));
  same(run, "double", at_dy, dy, N, sizeof *dy);
}

/* Halves are added until one is left. */
static float tree(const float *from, int n) {
  float part[256];
  int half, i;
  memcpy(part, from, (size_t)n * sizeof *part);
  for (half = n / 2; half > 0; half /= 2)
    for (i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

static void reduce_floats(struct run *run) {
  enum { BLOCKS = 24, N = BLOCKS * 256 };
  static float in[N], sums[BLOCKS], warps[8];
  uint64_t state = 3, at = 0, out = put(run, NULL, sizeof sums);
  int i, warp;
  for (i = 0; i < N; i++) in[i] = random_float(&state, -1, 3);
  at = put(run, in, sizeof in);
  for (i = 0; i < BLOCKS; i++) sums[i] = tree(in + i * 256, 256);
  LAUNCH(run, "reduce_shared", line(BLOCKS, 256), ARG(at), ARG(out));
  same(run, "shared", out, sums, BLOCKS, sizeof *sums);
  for (i = 0; i < BLOCKS; i++) {
    for (warp = 0; warp < 8; warp++) warps[warp] = tree(in + i * 256 + warp * 32, 32);
    sums[i] = tree(warps, 8);
  }
  LAUNCH(run, "reduce_shuffle", line(BLOCKS, 256), ARG(at), ARG(out));
  same(run, "shuffle", out, sums, BLOCKS, sizeof *sums);
}

static void reduce_atomic(struct run *run) {
  enum { N = 10007 };
  static int32_t in[N], least = 0x7fffffff, greatest = -0x7fffffff;
  int32_t expected[3] = {0, 0x7fffffff, -0x7fffffff}, n = N, i;
  uint64_t squares = 0, state = 4, at, sum, low, high, square;
  for (i = 0; i < N; i++) {
    in[i] = random_int(&state, -100000, 100000);
    expected[0] += in[i];
    if (in[i] < expected[1]) expected[1] = in[i];
    if (in[i] > expected[2]) expected[2] = in[i];
    squares += (uint64_t)((int64_t)in[i] * in[i]);
  }
  at = put(run, in, sizeof in), sum = put(run, NULL, 4), low = put(run, &least, 4), high = put(run, &greatest, 4);
  square = put(run, NULL, 8);
  LAUNCH(run, "reduce_atomic", line(10, 128), ARG(n), ARG(at), ARG(sum), ARG(low), ARG(high), ARG(square));
  same(run, "sum", sum, &expected[0], 1, 4);
  same(run, "least", low, &expected[1], 1, 4);
  same(run, "greatest", high, &expected[2], 1, 4);
  same(run, "squares", square, &squares, 1, 8);
}

static void reduce_last(struct run *run) {
  enum { BLOCKS = 30, N = BLOCKS * 64 };
  static double in[N];
  double total = 0, sums[64];
  uint64_t state = 5, at, part, count, sum;
  int block, half, i;
  for (i = 0; i < N; i++) in[i] = random_double(&state, -1, 3);
  for (block = 0; block < BLOCKS; block++) {
    memcpy(sums, in + block * 64, sizeof sums);
    for (half = 32; half > 0; half /= 2)
      for (i = 0; i < half; i++) sums[i] += sums[i + half];
    total += sums[0];
  }
  at = put(run, in, sizeof in), part = put(run, NULL, BLOCKS * 8), count = put(run, NULL, 4), sum = put(run, NULL, 8);
  LAUNCH(run, "reduce_last", line(BLOCKS, 64), ARG(at), ARG(part), ARG(count), ARG(sum));
  same(run, "last block", sum, &total, 1, 8);
}

static void reduce(struct run *run) {
  reduce_floats(run);
  reduce_atomic(run);
  reduce_last(run);
}

static void transpose(struct run *run) {
  enum { W = 100, H = 75 };
  static float in[H][W], out[W][H];
  int w = W, h = H, x, y;
  uint64_t from, to;
  for (y = 0; y < H; y++)
    for (x = 0; x < W; x++) out[x][y] = in[y][x] = (float)(y * W + x) * 0.5f;
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof out);
  LAUNCH(run, "transpose", plane(4, 3, 32, 8), ARG(w), ARG(h), ARG(from), ARG(to));
  same(run, "transpose", to, out, (size_t)W * H, 4);
}

static void histogram(struct run *run) {
  enum { N = 20011 };
  static unsigned char in[N];
  uint32_t counts[256] = {0};
  uint64_t state = 6, from, to;
  int n = N, i;
  for (i = 0; i < N; i++) in[i] = (unsigned char)(random_bits(&state) & random_bits(&state)), counts[in[i]]++;
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof counts);
  LAUNCH(run, "histogram", line(12, 192), ARG(n), ARG(from), ARG(to));
  same(run, "shared", to, counts, 256, 4);
  to = put(run, NULL, sizeof counts);
  LAUNCH(run, "histogram_by_warp", line(12, 192), ARG(n), ARG(from), ARG(to));
  same(run, "by warp", to, counts, 256, 4);
}

static void scan(struct run *run) {
  enum { BLOCKS = 40, N = BLOCKS * 256 - 100 };
  static int32_t in[N], out[N], sums[BLOCKS];
  int32_t n = N, blocks = BLOCKS, i, sum = 0;
  uint64_t state = 7, from, to, totals;
  for (i = 0; i < N; i++) {
    out[i] = sum += in[i] = random_int(&state, -50, 100);
    sums[i / 256] = sum;
  }
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof out), totals = put(run, NULL, sizeof sums);
  LAUNCH(run, "scan_blocks", line(BLOCKS, 256), ARG(n), ARG(from), ARG(to), ARG(totals));
  LAUNCH(run, "scan_totals", line(1, 1024), ARG(blocks), ARG(totals));
  LAUNCH(run, "scan_add", line(BLOCKS, 256), ARG(n), ARG(to), ARG(totals));
  same(run, "totals", totals, sums, BLOCKS, 4);
  same(run, "sums", to, out, N, 4);
}

static void matmul_float(struct run *run) {
  enum { N = 64 };
  static float a[N][N], b[N][N], c[N][N];
  uint64_t state = 8, x, y, z;
  int n = N, i, j, k;
  for (i = 0; i < N * N; i++) a[i / N][i % N] = random_float(&state, -1, 1), b[i / N][i % N] = random_float(&state, -1, 1);
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++)
      for (k = 0, c[i][j] = 0; k < N; k++) c[i][j] = fmaf(a[i][k], b[k][j], c[i][j]);
  x = put(run, a, sizeof a), y = put(run, b, sizeof b), z = put(run, NULL, sizeof c);
  LAUNCH(run, "matmul", plane(N / 16, N / 16, 16, 16), ARG(n), ARG(x), ARG(y), ARG(z));
  same(run, "float", z, c, N * N, 4);
}

static void matmul_double(struct run *run) {
  enum { N = 30 };
  static double a[N][N], b[N][N], c[N][N];
  uint64_t state = 9, x, y, z;
  int n = N, i, j, k;
  for (i = 0; i < N * N; i++) a[i / N][i % N] = random_double(&state, -1, 1), b[i / N][i % N] = random_double(&state, -1, 1);
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++)
      for (k = 0, c[i][j] = 0; k < N; k++) c[i][j] = fma(a[i][k], b[k][j], c[i][j]);
  x = put(run, a, sizeof a), y = put(run, b, sizeof b), z = put(run, NULL, sizeof c);
  LAUNCH(run, "matmul_double", plane(4, 4, 8, 8), ARG(n), ARG(x), ARG(y), ARG(z));
  same(run, "double", z, c, N * N, 8);
}

static void matmul_bytes(struct run *run) {
  enum { N = 32 };
  static int8_t a[N][N], b[N][N];
  static int32_t c[N][N];
  uint64_t state = 10, x, y, z;
  int n = N, i, j, k;
  for (i = 0; i < N * N; i++) a[i / N][i % N] = (int8_t)random_bits(&state), b[i / N][i % N] = (int8_t)random_bits(&state);
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++)
      for (k = 0, c[i][j] = 0; k < N; k++) c[i][j] += a[i][k] * b[j][k];
  x = put(run, a, sizeof a), y = put(run, b, sizeof b), z = put(run, NULL, sizeof c);
  LAUNCH(run, "matmul_bytes", plane(4, 4, 8, 8), ARG(n), ARG(x), ARG(y), ARG(z));
  same(run, "bytes", z, c, N * N, 4);
}

static void matmul(struct run *run) {
  matmul_float(run);
  matmul_double(run);
  matmul_bytes(run);
}

enum { WIDE = 50, HIGH = 37 };

static void heat_step(float (*in)[WIDE], float (*out)[WIDE], float rate) {
  int x, y;
  for (y = 0; y < HIGH; y++)
    for (x = 0; x < WIDE; x++) {
      float here = in[y][x], around;
      out[y][x] = here;
      if (x == 0 || y == 0 || x == WIDE - 1 || y == HIGH - 1) continue;
      around = in[y - 1][x] + in[y + 1][x] + in[y][x - 1] + in[y][x + 1];
      out[y][x] = fmaf(rate, fmaf(-4.0f, here, around), here);
    }
}

static void life_step(unsigned char (*in)[WIDE], unsigned char (*out)[WIDE]) {
  int x, y, dx, dy;
  for (y = 0; y < HIGH; y++)
    for (x = 0; x < WIDE; x++) {
      int around = -in[y][x];
      for (dy = -1; dy <= 1; dy++)
        for (dx = -1; dx <= 1; dx++) around += in[(y + dy + HIGH) % HIGH][(x + dx + WIDE) % WIDE];
      out[y][x] = around == 3 || (around == 2 && in[y][x] == 1);
    }
}

static void stencil(struct run *run) {
  static float heat[2][HIGH][WIDE];
  static unsigned char cells[2][HIGH][WIDE];
  uint64_t state = 11, h[2], c[2];
  int w = WIDE, high = HIGH, i, step;
  float rate = 0.23f;
  for (i = 0; i < HIGH * WIDE; i++) heat[0][i / WIDE][i % WIDE] = random_float(&state, 0, 100), cells[0][i / WIDE][i % WIDE] = random_bits(&state) & 1;
  for (i = 0; i < 2; i++) h[i] = put(run, heat[i], sizeof heat[i]), c[i] = put(run, cells[i], sizeof cells[i]);
  for (step = 0; step < 8; step++) {
    int from = step % 2, to = 1 - from;
    heat_step(heat[from], heat[to], rate);
    life_step(cells[from], cells[to]);
    LAUNCH(run, "stencil", plane(4, 3, 16, 16), ARG(w), ARG(high), ARG(rate), ARG(h[from]), ARG(h[to]));
    LAUNCH(run, "life", plane(7, 5, 8, 8), ARG(w), ARG(high), ARG(c[from]), ARG(c[to]));
  }
  same(run, "heat", h[0], heat[0], HIGH * WIDE, 4);
  same(run, "life", c[0], cells[0], HIGH * WIDE, 1);
}

static int less(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

struct entry {
  int64_t key;
  int32_t value;
};

static int less_entry(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  return x->key < y->key ? -1 : x->key > y->key;
}

static void bitonic_block(struct run *run) {
  static struct entry entries[1024];
  static int64_t keys[1024];
  static int32_t values[1024];
  uint64_t state = 13, k, v;
  int i;
  for (i = 0; i < 1024; i++) {
    entries[i].key = keys[i] = (int64_t)random_bits(&state);
    entries[i].value = values[i] = i;
  }
  k = put(run, keys, sizeof keys), v = put(run, values, sizeof values);
  LAUNCH(run, "bitonic_block", line(2, 256), ARG(k), ARG(v));
  qsort(entries, 512, sizeof *entries, less_entry);
  qsort(entries + 512, 512, sizeof *entries, less_entry);
  for (i = 0; i < 1024; i++) keys[i] = entries[i].key, values[i] = entries[i].value;
  same(run, "block's keys", k, keys, 1024, 8);
  same(run, "block's values", v, values, 1024, 4);
}

static void bitonic_sort(struct run *run) {
  enum { N = 2048 };
  static uint32_t keys[N];
  uint64_t state = 12, at;
  int size, distance, i;
  for (i = 0; i < N; i++) keys[i] = (uint32_t)random_bits(&state);
  at = put(run, keys, sizeof keys);
  for (size = 2; size <= N; size *= 2)
    for (distance = size / 2; distance > 0; distance /= 2)
      LAUNCH(run, "bitonic_step", line(N / 256, 256), ARG(at), ARG(size), ARG(distance));
  qsort(keys, N, sizeof *keys, less);
  same(run, "keys", at, keys, N, 4);
  bitonic_block(run);
}

enum { NODES = 600, EDGES = NODES * 3 };

static int search(const int32_t *rows, const int32_t *next, int32_t *reached) {
  int step = 0, changed = 1, i, at;
  for (; changed; step++)
    for (changed = 0, i = 0; i < NODES; i++)
      for (at = rows[i]; reached[i] == step && at < rows[i + 1]; at++)
        if (reached[next[at]] == -1) reached[next[at]] = step + 1, changed = 1;
  return step;
}

static void graph(struct run *run) {
  static int32_t rows[NODES + 1], next[EDGES], reached[NODES];
  static float values[EDGES], x[NODES], y[NODES];
  uint64_t state = 14, r, c, seen, changed = put(run, NULL, 4), v, in, out;
  int n = NODES, i, at, step, steps;
  for (i = 0; i < EDGES; i++) next[i] = random_int(&state, 0, NODES - 1), values[i] = random_float(&state, -1, 1);
  for (i = 0; i < NODES; i++) x[i] = random_float(&state, -1, 1), reached[i] = i == 0 ? 0 : -1;
  for (i = 1; i < NODES; i++) rows[i] = rows[i - 1] + random_int(&state, 0, 5) % 4 + (i % 2);
  rows[NODES] = rows[NODES - 1];
  if (rows[NODES] > EDGES) abort();
  r = put(run, rows, sizeof rows), c = put(run, next, sizeof next), seen = put(run, reached, sizeof reached);
  steps = search(rows, next, reached);
  for (step = 0; step < steps; step++)
    LAUNCH(run, "graph_step", line(5, 128), ARG(n), ARG(step), ARG(r), ARG(c), ARG(seen), ARG(changed));
  same(run, "reached", seen, reached, NODES, 4);
  for (i = 0; i < NODES; i++)
    for (y[i] = 0, at = rows[i]; at < rows[i + 1]; at++) y[i] = fmaf(values[at], x[next[at]], y[i]);
  v = put(run, values, sizeof values), in = put(run, x, sizeof x), out = put(run, NULL, sizeof y);
  LAUNCH(run, "sparse", line(5, 128), ARG(n), ARG(r), ARG(c), ARG(v), ARG(in), ARG(out));
  same(run, "sparse", out, y, NODES, 4);
}

static void async_copy(struct run *run) {
  enum { BLOCKS = 3 };
  static int32_t in[BLOCKS * 1024], out[BLOCKS * 64];
  uint64_t state = 15, from, to;
  int block, t, part, i;
  for (i = 0; i < BLOCKS * 1024; i++) in[i] = random_int(&state, -1000, 1000);
  for (block = 0; block < BLOCKS; block++)
    for (t = 0; t < 64; t++) {
      uint32_t sum = 0;
      for (part = 0; part < 4; part++)
        for (i = 0; i < 4; i++) sum = sum * 3 + (uint32_t)in[block * 1024 + part * 256 + (t * 4 + i * 65) % 256];
      out[block * 64 + t] = (int32_t)sum;
    }
  from = put(run, in, sizeof in), to = put(run, NULL, sizeof out);
  LAUNCH(run, "async_copy", line(BLOCKS, 64), ARG(from), ARG(to));
  same(run, "sums", to, out, BLOCKS * 64, 4);
}

const struct kernel_case arrays_cases[] = {
    {"async_copy", async_copy}, {"bitonic_sort", bitonic_sort}, {"graph", graph},     {"histogram", histogram},
    {"matmul", matmul},         {"reduce", reduce},             {"saxpy", saxpy},     {"scan", scan},
    {"stencil", stencil},       {"transpose", transpose},       {"vector_add", vector_add}, {NULL, NULL},
};
