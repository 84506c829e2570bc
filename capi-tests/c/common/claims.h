/*
 * Notes what a program claims, and destroys at its end what it still holds. fault_sweep/claims.rs adds a wrapper for each
 * function that gives or ends a claim, and end_claim().
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define RECORDER_H
#include "control.h"
#include <cushim.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CLAIMS_NOTED = 4096 };
static struct { char kind; void *handle; } claims_noted[MOST_CLAIMS_NOTED];
static uint64_t memory_lent[MOST_CLAIMS_NOTED];
static pthread_mutex_t claims_lock = PTHREAD_MUTEX_INITIALIZER;
static int claims_are_noted;

static inline void claim_begins(char kind, void *handle) {
  int i = 0;
  pthread_mutex_lock(&claims_lock);
  claims_are_noted = 1;
  while (i < MOST_CLAIMS_NOTED - 1 && claims_noted[i].handle != NULL) i++;
  claims_noted[i].kind = kind;
  claims_noted[i].handle = handle;
  pthread_mutex_unlock(&claims_lock);
}

static inline void claim_ends(void *handle) {
  int i;
  pthread_mutex_lock(&claims_lock);
  for (i = 0; handle != NULL && i < MOST_CLAIMS_NOTED; i++) {
    if (claims_noted[i].handle == handle) claims_noted[i].handle = NULL;
  }
  pthread_mutex_unlock(&claims_lock);
}

/* Memory that the program has as an address, and to free. */
static inline void memory_is_lent(uint64_t address) {
  int i = 0;
  pthread_mutex_lock(&claims_lock);
  claims_are_noted = 1;
  while (i < MOST_CLAIMS_NOTED - 1 && memory_lent[i] != 0) i++;
  memory_lent[i] = address;
  pthread_mutex_unlock(&claims_lock);
}

static inline void memory_is_back(uint64_t address) {
  int i;
  pthread_mutex_lock(&claims_lock);
  for (i = 0; i < MOST_CLAIMS_NOTED && memory_lent[i] != address; i++) {}
  if (i < MOST_CLAIMS_NOTED) memory_lent[i] = 0;
  pthread_mutex_unlock(&claims_lock);
}

/* For what it gets by the driver's own functions, and a graph that it moved into another. */
#define LEND_MEMORY(address) memory_is_lent(address)

/* A free that fails may leak the memory; then the error says which. */
static inline void leak_is_told(void) {
  const char *told = strstr(cushim_last_error_message(), " bytes at 0x");
  unsigned long long address;
  if (told != NULL && sscanf(told, " bytes at %llx are leaked", &address) == 1) memory_is_lent(address);
}

/* Tells what the library does not owe. */
static void tell_memory(void) {
  const char *path = getenv("FAULT_SWEEP_LENT");
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  int i;
  for (i = 0; file != NULL && i < MOST_CLAIMS_NOTED; i++) {
    if (memory_lent[i] != 0) fprintf(file, "%#llx\n", (unsigned long long)memory_lent[i]);
  }
  if (file != NULL) fclose(file);
}

/* Whether a destroy said no, and the claim is what it was. */
static inline int claim_is_kept(cushim_status status) {
  return status == CUSHIM_ERROR_INVALID_HANDLE || status == CUSHIM_ERROR_INVALID_ARGUMENT ||
         status == CUSHIM_ERROR_STREAM_REQUIRED;
}

static void end_claim(char kind, void *handle);

/*
 * What a launch has used the driver lets go of on a thread of its own, and the library then on another: waits until nothing
 * lives any more, or nothing has become less for a while; longer while there are user objects, which a launch may have, and
 * where the sweep tries again because something was left.
 */
static void let_settle(void) {
  enum { STEADY = 25, STEADY_WHEN_TRIED_AGAIN = 1000, STEADY_WITH_LAUNCHES = 500 }; /* milliseconds */
  const int steady = getenv("FAULT_SWEEP_AGAIN") != NULL ? STEADY_WHEN_TRIED_AGAIN : STEADY;
  const struct timespec pause = {0, 1000000};
  struct control control;
  size_t last = 0, now;
  int32_t done;
  int same;
  cushim_flush_callbacks(2000000000u, &done);
  if (!find_control(&control)) return;
  for (same = 0; (now = control.live_objects()) != 0; same = now == last ? same + 1 : 0) {
    if (same >= steady && (control.live("user object") == 0 || same >= STEADY_WITH_LAUNCHES)) return;
    last = now;
    nanosleep(&pause, NULL);
    cushim_flush_callbacks(2000000000u, &done);
  }
}

static void end_claims(void) {
  int i;
  if (!claims_are_noted) return;
  for (i = 0; i < MOST_CLAIMS_NOTED; i++) {
    if (claims_noted[i].handle != NULL) end_claim(claims_noted[i].kind, claims_noted[i].handle);
  }
  let_settle();
  tell_memory();
}

/*
 * The program is linked with --wrap for both: the driver registers a function with atexit() later than any claim may begin,
 * and has ended when what was registered before is called.
 */
int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
void __real_exit(int code) __attribute__((noreturn));
void __wrap_exit(int code) __attribute__((noreturn));

int __wrap_main(int argc, char **argv) {
  const int code = __real_main(argc, argv);
  end_claims();
  return code;
}

void __wrap_exit(int code) {
  end_claims();
  __real_exit(code);
}
