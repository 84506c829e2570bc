/*
 * What the test programs share: checks that go on after a failure and say where it was. Include it first.
 *
 * A program ends with `return check_done();`. One that hangs is ended after a minute, and then says at which check it was, as one that
 * crashes does.
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "recorder.h" /* both headers, and a note of what each call returns */

#ifdef __GLIBC__
#include <execinfo.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_count, check_failures;
enum { CHECK_SHOWN = 20 }; /* failures; more say no more */

/* Where the program is: the check that was begun last. */
static const char *check_file = "no check";
static int check_line;

static inline void check_here(const char *file, int line) {
  __atomic_store_n(&check_file, file, __ATOMIC_RELAXED);
  __atomic_store_n(&check_line, line, __ATOMIC_RELAXED);
}

static inline int check_that(int passed, const char *file, int line, const char *what) {
  __atomic_add_fetch(&check_count, 1, __ATOMIC_RELAXED);
  if (passed) return 1;
  if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED) <= CHECK_SHOWN) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
  }
  return 0;
}

/* A line of its own below the failure that was just shown. */
static inline int check_more(const char *what, const char *more) {
  if (check_failures <= CHECK_SHOWN) fprintf(stderr, "  %s%s\n", what, more);
  return 0;
}

/* The message of the calling thread's last error. */
static inline const char *last_message(void) {
  static __thread cushim_error_detail detail;
  memset(&detail, 0, sizeof detail);
  detail.struct_size = sizeof detail;
  return cushim_last_error(&detail) == CUSHIM_SUCCESS ? detail.message : "cushim_last_error failed";
}

static inline int check_status(cushim_status expected, cushim_status got, const char *file, int line, const char *call) {
  char what[64];
  if (check_that(expected == got, file, line, call)) return 1;
  snprintf(what, sizeof what, "is %d, not %d; last error: ", (int)got, (int)expected);
  return check_more(what, last_message());
}

static inline int check_contains(const char *text, const char *part, const char *file, int line, const char *what) {
  if (check_that(text != NULL && strstr(text, part) != NULL, file, line, what)) return 1;
  check_more("lacks: ", part);
  return check_more("is: ", text != NULL ? text : "NULL");
}

/* The condition holds. */
#define CHECK(condition) check_that((check_here(__FILE__, __LINE__), (condition) ? 1 : 0), __FILE__, __LINE__, #condition)
/* The call returns this status, or this CUresult. */
#define CHECK_STATUS(expected, call) check_status(expected, (check_here(__FILE__, __LINE__), call), __FILE__, __LINE__, #call)
/* The call succeeds. */
#define CHECK_OK(call) check_status(0, (check_here(__FILE__, __LINE__), call), __FILE__, __LINE__, #call)
/* The text has this part. */
#define CHECK_CONTAINS(text, part) check_contains(text, part, __FILE__, __LINE__, #text)

#ifdef __GLIBC__
enum { CHECK_FRAMES = 24 };
static void *check_frames[CHECK_FRAMES];
#endif

static inline void check_died(int number) {
  char text[512];
  const char *const file = __atomic_load_n(&check_file, __ATOMIC_RELAXED);
  const int line = __atomic_load_n(&check_line, __ATOMIC_RELAXED);
  const int length = snprintf(text, sizeof text, "%s:%d: %s here\n", file, line, number == SIGALRM ? "hung" : "crashed");
  if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) _exit(1);
#ifdef __GLIBC__
  backtrace_symbols_fd(check_frames, backtrace(check_frames, CHECK_FRAMES), STDERR_FILENO);
#endif
  signal(number, SIG_DFL);
  raise(number);
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

/* Around what leaks on purpose: LeakSanitizer does not tell of what the thread allocates there. */
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define CHECK_LEAKS_BEGIN() __lsan_disable()
#define CHECK_LEAKS_END() __lsan_enable()
#else
#define CHECK_LEAKS_BEGIN() ((void)0)
#define CHECK_LEAKS_END() ((void)0)
#endif

/* Seconds after which a program hangs; under a sanitizer it is many times slower. */
enum { CHECK_HANGS_AFTER = __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) ? 280 : 60 };

static inline void check_begin(void) {
  const int numbers[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT};
  struct sigaction before;
  size_t i;
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    /* A sanitizer says more about a crash than this does. */
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) signal(numbers[i], check_died);
  }
  /* The fault sweep has more patience with what it runs a second time. */
  alarm(CHECK_HANGS_AFTER * (getenv("FAULT_SWEEP_AGAIN") != NULL ? 4u : 1u));
}

static inline int check_done(void) {
  if (check_failures == 0) printf("%d checks passed\n", check_count);
  else fprintf(stderr, "%d of %d checks failed\n", check_failures, check_count);
  return check_failures != 0;
}

/* A number that the harness handed over: CHECK_VERSION is the version that the driver is to report. */
static inline int given_number(const char *name) {
  const char *text = getenv(name);
  if (text == NULL) {
    fprintf(stderr, "%s must be set\n", name);
    exit(2);
  }
  return atoi(text);
}

/* The driver of the environment. Without one the program ends. */
static inline cushim_driver open_driver(void) {
  cushim_driver driver;
  if (!CHECK_OK(cushim_driver_open(NULL, &driver))) exit(1);
  return driver;
}

static inline cushim_driver_info info_of(cushim_driver driver) {
  cushim_driver_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  CHECK_OK(cushim_driver_get_info(driver, &info));
  return info;
}

static inline const cushim_driver_table *table_of(cushim_driver driver, cushim_table_kind kind) {
  const cushim_driver_table *table = NULL;
  if (!CHECK_OK(cushim_driver_get_table(driver, kind, &table)) || !CHECK(table != NULL)) exit(1);
  return table;
}

/* The address in an entry of the table, as an object pointer: what cushim_driver_lookup gives. */
static inline void *address_at(const cushim_driver_table *table, size_t offset) {
  void *address;
  memcpy(&address, (const char *)table + offset, sizeof address);
  return address;
}

#endif
