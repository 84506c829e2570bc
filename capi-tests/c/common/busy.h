/* A stream that is kept busy until it is told to go on. */
#ifndef BUSY_H
#define BUSY_H

#include "objects.h"

#include <errno.h>
#include <semaphore.h>
#include <time.h>

struct busy {
  sem_t begun, done, ended;
  long limit_ms;
};

static void CUSHIM_CUDA_CB busy_function(void *data) {
  struct busy *busy = (struct busy *)data;
  struct timespec until;
  sem_post(&busy->begun);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (until.tv_nsec / 1000000 + busy->limit_ms) / 1000;
  until.tv_nsec = (until.tv_nsec + busy->limit_ms * 1000000) % 1000000000;
  while (sem_timedwait(&busy->done, &until) != 0 && errno == EINTR) {
  }
  sem_post(&busy->ended);
}

/* Waits; not for ever, for where the context is lost the function is not called. */
static inline int busy_wait(sem_t *semaphore) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  while (sem_timedwait(semaphore, &until) != 0) {
    if (errno != EINTR) return 0;
  }
  return 1;
}

static inline void busy_prepare(struct busy *busy, long limit_ms) {
  sem_init(&busy->begun, 0, 0);
  sem_init(&busy->done, 0, 0);
  sem_init(&busy->ended, 0, 0);
  busy->limit_ms = limit_ms;
}

/* Whether a stream of this driver can be kept busy; those of "none" cannot. */
static inline int can_be_busy(cushim_driver driver) { return !is_none(driver); }

/* The stream has work from now on, and is doing it, until `busy_end`, for this time at most. */
static inline void busy_within(struct busy *busy, cushim_driver driver, cushim_stream stream, long limit_ms) {
  const cushim_driver_table *table = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  CUstream native = NULL;
  busy_prepare(busy, limit_ms);
  CHECK_OK(cushim_stream_native(stream, &native));
  if (!CHECK_STATUS(CUDA_SUCCESS, table->cuLaunchHostFunc_10000(native, busy_function, busy))) exit(1);
  CHECK(busy_wait(&busy->begun));
}

/* Not for ever: the library waits for the stream where the driver refuses the function that releases what its work uses. */
static inline void busy_begin(struct busy *busy, cushim_driver driver, cushim_stream stream) {
  busy_within(busy, driver, stream, 10000);
}

/* The function does not use `busy` any more when this returns. */
static inline void busy_end(struct busy *busy) {
  sem_post(&busy->done);
  CHECK(busy_wait(&busy->ended));
}

#endif
