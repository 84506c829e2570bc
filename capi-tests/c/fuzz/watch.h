/*
 * The process that watches the one that makes the calls: it ends one that hangs, and tries what fails again alone and with fewer
 * and fewer calls.
 */
#ifndef FUZZ_WATCH_H
#define FUZZ_WATCH_H

#include "shared.h"

#include "control.h"

#include <errno.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { HANGS_AFTER_SECONDS = 20, SHRINKS_FOR_SECONDS = 20, USUAL_CALLS = 20000, NANOSECONDS_PER_SECOND = 1000000000 };

/* One episode; each fuzzer has its own. */
static void run_episode(uint64_t number);

/* Where a call is that does not return, or crashes. */
static void stands_still(int number) {
#ifdef __GLIBC__
  enum { MOST = 32 };
  static void *frames[MOST];
  backtrace_symbols_fd(frames, backtrace(frames, MOST), STDERR_FILENO);
#endif
  signal(number, SIG_DFL);
  raise(number);
}

static void work(void) {
  const uint64_t last = settings.first + (settings.calls + STEPS - 1) / STEPS;
  uint64_t episode;
  for (episode = settings.first; episode < last; episode++) run_episode(episode);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / NANOSECONDS_PER_SECOND;
}

/* Waits for the process that works; ends it if it stands still. Returns whether it failed, and says how. */
static int watch(pid_t worker, int is_quiet) {
  const struct timespec pause = {0, 2000000};
  uint64_t seen = progress->calls;
  double since = now();
  int status = 0, hangs = 0;
  while (waitpid(worker, &status, WNOHANG) == 0) {
    nanosleep(&pause, NULL);
    if (progress->calls != seen) {
      seen = progress->calls;
      since = now();
    } else if (!hangs && now() - since > HANGS_AFTER_SECONDS) {
      hangs = 1;
      kill(worker, SIGABRT);
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == ENDED_BY_A_FAULT) return 0;
  if (is_quiet) return status != 0;
  if (hangs) fprintf(stderr, "fuzz: a call does not return\n");
  else if (WIFSIGNALED(status)) fprintf(stderr, "fuzz: ended by signal %d\n", WTERMSIG(status));
  return status != 0;
}

/* Runs the episodes of the settings, in a process of their own. */
static int run(int is_quiet) {
  pid_t worker;
  progress->calls = 0;
  fflush(NULL);
  worker = fork();
  if (worker == 0) {
    signal(SIGABRT, stands_still);
    signal(SIGSEGV, stands_still);
    work();
    fflush(NULL);
    _exit(0);
  }
  if (worker < 0) {
    fprintf(stderr, "fuzz: fork: %s\n", strerror(errno));
    exit(2);
  }
  return watch(worker, is_quiet);
}

/* The last calls of the process that failed. */
static void show_last(void) {
  const uint64_t shown = progress->calls < LAST_LINES ? progress->calls : LAST_LINES;
  uint64_t i;
  fprintf(stderr, "fuzz: the last calls, in episode %" PRIu64 ":\n", progress->episode);
  for (i = progress->calls - shown; i < progress->calls; i++) {
    show_line(stderr, &progress->lines[i % LAST_LINES], i + 1 < progress->calls || progress->returned);
  }
}

/* Leaves out ever smaller runs of steps, as long as the failure stays. */
static void shrink(void) {
  const double end = now() + SHRINKS_FOR_SECONDS;
  int width, from, i;
  for (width = STEPS / 2; width > 0; width /= 2) {
    for (from = 0; from < STEPS && now() < end; from += width) {
      unsigned char kept[STEPS];
      memcpy(kept, progress->skipped, STEPS);
      for (i = from; i < from + width && i < STEPS; i++) progress->skipped[i] = 1;
      if (memcmp(kept, progress->skipped, STEPS) != 0 && !run(1)) memcpy(progress->skipped, kept, STEPS);
    }
  }
}

static void explain(void) {
  const uint64_t calls = settings.calls, first = settings.first, failed = progress->episode;
  const char *mode = settings.faults ? "--faults " : settings.safe ? "--safe " : "";
  fprintf(stderr, "fuzz: seed %" PRIu64 " fails in episode %" PRIu64 "\n", settings.seed, failed);
  show_last();
  settings.first = failed;
  settings.calls = STEPS;
  settings.transcript = 0;
  progress->alone = 1;
  if (!run(1)) {
    fprintf(stderr, "fuzz: that episode alone does not fail; replay all: fuzz %s%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", mode,
            calls, settings.seed, first);
    return;
  }
  shrink();
  progress->alone = 2;
  fprintf(stderr, "fuzz: the same with as few calls as were found to do it:\n");
  run(0);
  fprintf(stderr, "fuzz: replay: fuzz %s%d %" PRIu64 " %" PRIu64 "\n", mode, STEPS, settings.seed, failed);
}

/* Whether the driver of the environment is softcuda: found out in a process of its own. */
static int is_softcuda(void) {
  int status = 1;
  pid_t asked = fork();
  if (asked == 0) {
    struct control control;
    cushim_driver driver;
    _exit(cushim_driver_open(NULL, &driver) == CUSHIM_SUCCESS && find_control(&control) ? 0 : 1);
  }
  return asked > 0 && waitpid(asked, &status, 0) == asked && status == 0;
}

static void read_arguments(int count, char **arguments) {
  uint64_t *const numbers[] = {&settings.calls, &settings.seed, &settings.first};
  size_t given = 0;
  int i;
  settings.calls = USUAL_CALLS;
  settings.seed = 1;
  for (i = 1; i < count; i++) {
    char *end;
    if (strcmp(arguments[i], "--safe") == 0) settings.safe = 1;
    else if (strcmp(arguments[i], "--transcript") == 0) settings.transcript = 1;
    else if (strcmp(arguments[i], "--faults") == 0) settings.faults = 1;
    else if (given < 3 && (*numbers[given++] = strtoull(arguments[i], &end, 0), *end == '\0')) continue;
    else {
      fprintf(stderr, "usage: fuzz [--safe] [--transcript] [--faults] [calls [seed [episode]]]\n       fuzz --compare TRANSCRIPT TRANSCRIPT\n");
      exit(2);
    }
  }
}

/* Where both processes see how far it is; NULL where there is no memory for it. */
static struct fuzz_progress *shared_progress(void) {
  void *memory = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : (struct fuzz_progress *)memory;
}

/* Runs what the settings say; the exit status. */
static int run_all(void) {
  const uint64_t last = settings.first + (settings.calls + STEPS - 1) / STEPS;
  uint64_t calls = 0;
  while (settings.first < last) {
    settings.calls = (last - settings.first) * STEPS;
    if (run(0)) {
      explain();
      return 1;
    }
    calls += progress->calls;
    settings.first = progress->episode + 1;
  }
  printf("%" PRIu64 " checks passed\n", calls);
  return 0;
}

#endif
