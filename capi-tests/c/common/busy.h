/* A stream that is kept busy until it is told to go on. */
#ifndef BUSY_H
#define BUSY_H

#include "objects.h"

#include <semaphore.h>

struct busy {
  sem_t begun, done, ended;
};

static void CUSHIM_CUDA_CB busy_function(void *data) {
  struct busy *busy = (struct busy *)data;
  sem_post(&busy->begun);
  while (sem_wait(&busy->done) != 0) {
  }
  sem_post(&busy->ended);
}

/* Whether a stream of this driver can be kept busy; those of "none" cannot. */
static inline int can_be_busy(cushim_driver driver) { return !is_none(driver); }

/* The stream has work from now on, and is doing it, until `busy_end`. */
static inline void busy_begin(struct busy *busy, cushim_driver driver, cushim_stream stream) {
  const cushim_driver_table *table = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  CUstream native = NULL;
  sem_init(&busy->begun, 0, 0);
  sem_init(&busy->done, 0, 0);
  sem_init(&busy->ended, 0, 0);
  CHECK_OK(cushim_stream_native(stream, &native));
  if (!CHECK_STATUS(CUDA_SUCCESS, table->cuLaunchHostFunc_10000(native, busy_function, busy))) exit(1);
  while (sem_wait(&busy->begun) != 0) {
  }
}

/* The function does not use `busy` any more when this returns. */
static inline void busy_end(struct busy *busy) {
  sem_post(&busy->done);
  while (sem_wait(&busy->ended) != 0) {
  }
}

#endif
