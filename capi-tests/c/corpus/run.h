/* One kernel source, as one compiler made it, on the device: what the cases are written with. */
#ifndef CORPUS_RUN_H
#define CORPUS_RUN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cushim.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALLOCATIONS = 64 };

struct run {
  const char *compiler;
  int fast; /* compiled with fast mathematics */
  int arch; /* compute capability that it was compiled for, times ten: 75 */
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  int is_captured;   /* launches are captured, and their graphs launched */
  uint64_t checksum; /* of all that was compared, in order */
  int approximate;   /* whether any of it was compared within a bound */
  double worst;      /* the largest deviation, in bounds */
  char failure[1024]; /* the first one; empty if all is well */
  uint64_t memory[MOST_ALLOCATIONS];
  void *copies[MOST_ALLOCATIONS];
  int memory_count, copy_count;
};

struct kernel_case {
  const char *source; /* the name of its .cu */
  void (*check)(struct run *run);
};

/* Each list ends with NULL. */
extern const struct kernel_case arrays_cases[], numbers_cases[], mathematics_cases[], threads_cases[], language_cases[];

/* The first device, with a stream. Ends the program if there is none. */
void open_device(struct run *run);
/* Notes a failure, unless there was one before. */
void fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Device memory with these bytes in it; with zeros if `bytes` is NULL. It is freed with the run. */
uint64_t put(struct run *run, const void *bytes, size_t size);
/* What the device memory holds once all that was launched is done. */
void *got(struct run *run, uint64_t pointer, size_t size);
/* Where a variable of the code lies. */
uint64_t variable(struct run *run, const char *name, size_t size);
void overwrite(struct run *run, uint64_t pointer, const void *bytes, size_t size);

struct shape {
  cushim_dim3 grid, block;
  uint32_t shared_bytes, flags;
};

void launch(struct run *run, const char *kernel, struct shape shape, const cushim_arg *args, size_t count);
/* Whether waiting for the stream succeeds. */
cushim_status finish(struct run *run);

/* A launch of blocks of threads: `LAUNCH(run, "saxpy", 4, 256, &n, ...)` takes variables. */
#define ARG(variable) {CUSHIM_ARG_BYTES, (uint32_t)sizeof(variable), &(variable)}
#define ARGS(...) (const cushim_arg[]){__VA_ARGS__}, sizeof((cushim_arg[]){__VA_ARGS__}) / sizeof(cushim_arg)
#define LAUNCH(run, kernel, shape, ...) launch(run, kernel, shape, ARGS(__VA_ARGS__))

static inline struct shape line(uint32_t blocks, uint32_t threads) {
  struct shape shape = {{blocks, 1, 1}, {threads, 1, 1}, 0, 0};
  return shape;
}

static inline struct shape plane(uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by) {
  struct shape shape = {{gx, gy, 1}, {bx, by, 1}, 0, 0};
  return shape;
}

/* Memory of the device must hold exactly these bytes: elements of so many bytes. */
void same(struct run *run, const char *what, uint64_t pointer, const void *expected, size_t count, size_t each);

/* How far a number may be from the true one: `absolute`, or `relative` to it, whichever is more. */
struct bound {
  double absolute, relative;
};

void near_float(struct run *run, const char *what, uint64_t pointer, const double *expected, size_t count, struct bound bound);
void near_double(struct run *run, const char *what, uint64_t pointer, const double *expected, size_t count, struct bound bound);

/* Numbers that are the same each time: SplitMix64. */
static inline uint64_t random_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* From `low` to `high`, on a grid of 2^-24 of the width. */
static inline float random_float(uint64_t *state, float low, float high) {
  return low + (high - low) * ((float)(random_bits(state) >> 40) * 0x1p-24f);
}

static inline double random_double(uint64_t *state, double low, double high) {
  return low + (high - low) * ((double)(random_bits(state) >> 11) * 0x1p-53);
}

static inline int32_t random_int(uint64_t *state, int32_t low, int32_t high) {
  return low + (int32_t)(random_bits(state) % (uint64_t)((int64_t)high - low + 1));
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
