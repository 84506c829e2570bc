/*
 * What was captured has ended when the last handle of its builder has, whatever other threads do; and threads that have one stream wait for
 * two captures at the same time invalidate neither.
 */
#include "builders.h"

#include <pthread.h>

static int inside, may_leave;

static cushim_status slow_allocate(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer) {
  (void)user, (void)stream, (void)bytes;
  __atomic_store_n(&inside, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&may_leave, __ATOMIC_SEQ_CST)) pause_shortly();
  *pointer = (uint64_t)(uintptr_t)own_memory;
  return CUSHIM_SUCCESS;
}

/* A call that takes as long as it is told to. */
static void *calls_slowly(void *resource) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create((cushim_resource)resource, NULL, 16, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  return NULL;
}

static cushim_resource slow_resource(void) {
  cushim_resource_functions functions = CUSHIM_OPTIONS(cushim_resource_functions);
  cushim_resource resource = NULL;
  functions.allocate = slow_allocate;
  functions.free = own_deallocate;
  functions.properties = own_properties;
  CHECK_OK(cushim_resource_create_custom(all.driver, &functions, &resource));
  return resource;
}

/* Another thread is inside a call, so nobody lets go of handles yet. */
static void destroyed_beside_a_call(void) {
  cushim_resource resource = slow_resource();
  cushim_stream stream = new_stream(all.context), joined = new_stream(all.context);
  cushim_builder builder = NULL, fork = NULL, again = NULL;
  pthread_t thread;
  CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  set_in(stream, 0, 4);
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  CHECK_OK(cushim_stream_wait_stream(joined, stream));
  CHECK_OK(cushim_builder_ref(builder, &again));
  CHECK(pthread_create(&thread, NULL, calls_slowly, resource) == 0);
  while (!__atomic_load_n(&inside, __ATOMIC_SEQ_CST)) pause_shortly();
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(cushim_builder_stream(again) != NULL); /* another handle has it */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_synchronize(all.context));
  CHECK_OK(cushim_builder_destroy(again));
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_synchronize(joined));
  __atomic_store_n(&may_leave, 1, __ATOMIC_SEQ_CST);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_OK(cushim_stream_destroy(joined));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_resource_destroy(resource));
}

enum { ROUNDS = 300 };

static int at_start;
static cushim_stream both;

struct waiting {
  cushim_builder builder;
  cushim_event event;
  cushim_status status;
};

/* One of two threads that begin together. */
static void *waits(void *data) {
  struct waiting *it = (struct waiting *)data;
  __atomic_add_fetch(&at_start, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&at_start, __ATOMIC_SEQ_CST) < 2) continue;
  it->status = cushim_stream_wait_event(both, it->event);
  return NULL;
}

/* A body's capture must not be invalidated: its graph would be lost. */
static cushim_builder new_body(cushim_builder builder) {
  cushim_builder body = NULL;
  CHECK_OK(cushim_builder_add_conditional(builder, condition_of(builder, 1), CUSHIM_CONDITIONAL_IF, 1, NULL, &body));
  CHECK_OK(cushim_builder_begin(body));
  return body;
}

static void two_wait(void) {
  cushim_builder outer[2];
  struct waiting it[2];
  pthread_t threads[2];
  int i;
  both = new_stream(all.context);
  at_start = 0;
  for (i = 0; i < 2; i++) {
    outer[i] = begun();
    it[i].builder = version >= 12030 ? new_body(outer[i]) : outer[i];
    it[i].event = new_event(all.context, 0);
    append(it[i].builder, 0, 1);
    CHECK_OK(cushim_event_record(it[i].event, cushim_builder_stream(it[i].builder)));
  }
  for (i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, waits, &it[i]) == 0);
  for (i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK((it[0].status == CUSHIM_SUCCESS) != (it[1].status == CUSHIM_SUCCESS));
  for (i = 0; i < 2; i++) {
    CHECK(it[i].status == CUSHIM_SUCCESS || it[i].status == CUSHIM_ERROR_INVALID_ARGUMENT);
    append(it[i].builder, 0, 2);
    CHECK_OK(cushim_builder_end(it[i].builder, NULL));
    if (outer[i] != it[i].builder) {
      CHECK_OK(cushim_builder_end(outer[i], NULL));
      CHECK_OK(cushim_builder_destroy(outer[i]));
    }
    CHECK_OK(cushim_builder_destroy(it[i].builder));
    CHECK_OK(cushim_event_destroy(it[i].event));
  }
  CHECK_OK(cushim_stream_synchronize(both));
  CHECK_OK(cushim_stream_destroy(both));
}

int main(void) {
  int i;
  check_begin();
  if (!open_graphs()) return close_graphs();
  destroyed_beside_a_call();
  for (i = 0; i < ROUNDS && check_failures == 0; i++) two_wait();
  CHECK_OK(cushim_context_synchronize(all.context));
  return close_graphs();
}
