/* Objects from many threads: of their own, shared, and destroyed by one while others use them. */
#include "objects.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 100, SLOTS = 4 };

static struct objects all;
/* Streams that come and go while every thread uses them. */
static cushim_stream slots[SLOTS];

static void run(void *(*work)(void *)) {
  pthread_t threads[THREADS];
  size_t i;
  for (i = 0; i < THREADS; i++) {
    if (!CHECK(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0)) exit(1);
  }
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void *with_their_own(void *number) {
  int i;
  for (i = 0; i < ROUNDS; i++) {
    cushim_stream stream = new_stream(all.context), other = new_stream(all.context);
    cushim_event event = new_event(all.context, 0);
    int32_t done = 0;
    CHECK_OK(cushim_event_record(event, stream));
    CHECK_OK(cushim_stream_wait_event(other, event));
    CHECK_OK(cushim_stream_destroy(stream));
    CHECK_OK(cushim_stream_synchronize(other));
    CHECK_OK(cushim_event_query(event, &done));
    CHECK(done == 1);
    CHECK_OK(cushim_event_destroy(event));
    CHECK_OK(cushim_stream_destroy(other));
  }
  return number;
}

/* Each thread has a claim of its own on the same stream and event, and ends that only. */
static void *with_shared_ones(void *number) {
  int i;
  for (i = 0; i < ROUNDS; i++) {
    cushim_stream stream;
    cushim_event event;
    CHECK_OK(cushim_stream_ref(all.stream, &stream));
    CHECK_OK(cushim_event_ref(all.event, &event));
    CHECK_OK(cushim_event_record(event, stream));
    CHECK_OK(cushim_stream_wait_event(all.stream, event));
    CHECK_OK(cushim_event_synchronize(event));
    CHECK_OK(cushim_stream_destroy(stream));
    CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_stream_destroy(stream));
    CHECK_OK(cushim_event_destroy(event));
  }
  return number;
}

/* What is used is there to the end of the call, or was destroyed: nothing else. */
static int is_there_or_gone(cushim_status status) {
  return status == CUSHIM_SUCCESS || status == CUSHIM_ERROR_INVALID_HANDLE;
}

static void replace(cushim_stream *slot) {
  cushim_stream old = __atomic_exchange_n(slot, new_stream(all.context), __ATOMIC_ACQ_REL);
  CHECK_OK(cushim_stream_destroy(old));
}

/* The first two threads destroy and replace what the others use. */
static void *against_destroy(void *number) {
  size_t i;
  for (i = 0; i < ROUNDS; i++) {
    cushim_stream *slot = &slots[i % SLOTS];
    cushim_stream stream = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    int32_t done;
    if ((uintptr_t)number < 2) {
      replace(slot);
      continue;
    }
    CHECK(is_there_or_gone(cushim_stream_query(stream, &done)));
    CHECK(is_there_or_gone(cushim_event_record(all.event, stream)));
    CHECK(is_there_or_gone(cushim_stream_wait_event(stream, all.event)));
    CHECK(is_there_or_gone(cushim_stream_synchronize(stream)));
  }
  return number;
}

static cushim_stream contested[ROUNDS];
static int ended[ROUNDS];

/* Of all who destroy a claim, one does. */
static void *against_each_other(void *number) {
  int i;
  for (i = 0; i < ROUNDS; i++) {
    cushim_status status = cushim_stream_destroy(contested[i]);
    CHECK(status == CUSHIM_SUCCESS || status == CUSHIM_ERROR_ALREADY_DESTROYED);
    if (status == CUSHIM_SUCCESS) __atomic_add_fetch(&ended[i], 1, __ATOMIC_RELAXED);
  }
  return number;
}

int main(void) {
  int i;
  check_begin();
  all = open_objects();
  run(with_their_own);
  run(with_shared_ones);
  for (i = 0; i < SLOTS; i++) slots[i] = new_stream(all.context);
  run(against_destroy);
  for (i = 0; i < SLOTS; i++) CHECK_OK(cushim_stream_destroy(slots[i]));
  for (i = 0; i < ROUNDS; i++) contested[i] = new_stream(all.context);
  run(against_each_other);
  for (i = 0; i < ROUNDS; i++) CHECK(ended[i] == 1);
  close_objects(&all);
  return check_done();
}
