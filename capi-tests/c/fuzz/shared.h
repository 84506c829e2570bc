/* What all parts of the fuzzer share: the interface as data, random numbers, and how a failure is told. */
#ifndef FUZZ_SHARED_H
#define FUZZ_SHARED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cushim.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 400, PARAMETERS = 10 };

/* What a parameter is to the function. */
enum fuzz_role { VALUE, HANDLE, ENDED, PASSED, TEXT, READ, OPTIONS, PLACE, CLAIMED, LENT, FILLED, BUFFER, ARRAY };

#include "fuzz.inc"

enum { FUNCTIONS = sizeof fuzz_functions / sizeof *fuzz_functions };

/* How the run is made; the same for every process of it. */
struct fuzz_settings {
  uint64_t calls, seed, first;
  int safe;       /* only what a real driver bears */
  int transcript; /* a line for every call */
  int faults;     /* calls of the driver fail at random */
};
static struct fuzz_settings settings;

/* A call as it was made. */
struct fuzz_line {
  int function;
  uint64_t arguments[PARAMETERS];
  cushim_status status;
};

enum { LAST_LINES = 64 };

/* What the process that watches sees of the one that works, also after its death. */
struct fuzz_progress {
  uint64_t calls, episode;
  int step, returned;
  struct fuzz_line lines[LAST_LINES]; /* by the number of the call */
  unsigned char skipped[STEPS];       /* steps that are left out, while a failure is made smaller */
  int alone;                          /* one episode, and its calls shown if 2 */
  int has_another;                    /* another process exports something of each kind */
  uint64_t succeeded[FUNCTIONS];      /* how often */
};
static struct fuzz_progress *progress;

/* SplitMix64. */
static uint64_t random_state;

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static uint64_t drawn(void) { return mixed(random_state += 0x9e3779b97f4a7c15u); }

/* 0 to count - 1. */
static uint64_t below(uint64_t count) { return drawn() % count; }

static int once_in(uint64_t count) { return below(count) == 0; }

#define ONE_OF(...) one_of((const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
static uint64_t one_of(const uint64_t *values, size_t count) { return values[below(count)]; }

static void show_line(FILE *to, const struct fuzz_line *line, int returned) {
  const struct fuzz_function *function = &fuzz_functions[line->function];
  int i;
  fprintf(to, "  %s(", function->name);
  for (i = 0; i < function->parameter_count; i++) {
    fprintf(to, "%s%s 0x%" PRIx64, i == 0 ? "" : ", ", function->parameters[i].name, line->arguments[i]);
  }
  if (returned) fprintf(to, ") = %d\n", (int)line->status);
  else fprintf(to, ") did not return\n");
}

/* How a process ends in which something was not as it would be without faults: the next episode has one of its own. */
enum { ENDED_BY_A_FAULT = 4 };

/* Ends the process that works: something is not as it must be. */
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *what, ...) {
  va_list arguments;
  if (settings.faults && progress->calls > 0) _exit(ENDED_BY_A_FAULT);
  va_start(arguments, what);
  if (progress->alone != 1) {
    fprintf(stderr, "fuzz: ");
    vfprintf(stderr, what, arguments);
    fprintf(stderr, "\n");
  }
  va_end(arguments);
  fflush(NULL);
  _exit(3);
}

#endif
