/* Streams: created, wrapped and default ones; waiting for them and of them for others; a thread's current stream. */
#include "busy.h"

#include <pthread.h>
#include <time.h>

static struct objects all;
static int version; /* of the driver; 0 for "none" */

static CUstream native_of(cushim_stream stream) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  return native;
}

static int kind_of(cushim_stream stream) {
  int32_t kind = 0;
  CHECK_OK(cushim_stream_get_kind(stream, &kind));
  return kind;
}

static int is_done(cushim_stream stream) {
  int32_t done = -1;
  CHECK_OK(cushim_stream_query(stream, &done));
  return done;
}

static cushim_status create(int32_t priority, uint32_t flags, cushim_stream *stream) {
  cushim_stream_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.priority = priority;
  options.flags = flags;
  return cushim_stream_create(all.context, &options, stream);
}

static void created(void) {
  cushim_context context;
  cushim_stream stream = new_stream(all.context), other = new_stream(all.context), claim;
  uint32_t flags = 99;
  int32_t priority = 99;
  CHECK(kind_of(stream) == CUSHIM_STREAM_CREATED && (version == 0 || native_of(stream) != native_of(other)));
  CHECK_OK(cushim_stream_get_flags(stream, &flags));
  CHECK(flags == 0); /* no default stream blocks it */
  CHECK_OK(cushim_stream_get_priority(stream, &priority));
  CHECK(priority == 0);
  CHECK_OK(cushim_stream_get_context(stream, &context));
  CHECK(is_same(context, all.context));
  CHECK(is_done(stream));
  CHECK_OK(cushim_stream_ref(stream, &claim));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_stream_destroy(stream));
  CHECK_OK(cushim_stream_synchronize(claim));
  CHECK_OK(cushim_stream_destroy(claim));
  CHECK_OK(cushim_stream_destroy(other));
  CHECK_OK(cushim_stream_destroy(NULL));
}

static void options(void) {
  cushim_stream stream = (cushim_stream)NOT_NULL;
  int32_t least = 0, greatest = 0, priority = 99;
  uint32_t flags = 0;
  CHECK_OK(cushim_context_get_stream_priorities(all.context, &least, &greatest));
  CHECK_OK(create(greatest, CUSHIM_STREAM_BLOCKING, &stream));
  CHECK_OK(cushim_stream_get_priority(stream, &priority));
  CHECK(priority == greatest);
  CHECK_OK(cushim_stream_get_flags(stream, &flags));
  CHECK(version == 0 || flags == CUSHIM_STREAM_BLOCKING);
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, create(greatest - 1, 0, &stream));
  CHECK_CONTAINS(last_message(), "priority");
  CHECK(stream == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, create(least + 1, 0, &stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, create(0, 2, &stream));
  CHECK_CONTAINS(last_message(), "flags");
}

static void default_streams(void) {
  const struct { uintptr_t native; int kind; } known[] = {
      {0, CUSHIM_STREAM_LEGACY}, {1, CUSHIM_STREAM_LEGACY}, {2, CUSHIM_STREAM_PER_THREAD}};
  cushim_stream stream, named;
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; i++) {
    CHECK_OK(cushim_stream_wrap(all.context, (CUstream)known[i].native, CUSHIM_BORROWED, &stream));
    CHECK(kind_of(stream) == known[i].kind);
    CHECK_OK(cushim_stream_synchronize(stream)); /* no context is current */
    CHECK(is_done(stream));
    CHECK_OK(cushim_stream_destroy(stream));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
                 cushim_stream_wrap(all.context, (CUstream)known[i].native, CUSHIM_OWNED, &stream));
    CHECK(stream == NULL);
  }
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &named));
  CHECK(kind_of(named) == CUSHIM_STREAM_LEGACY && native_of(named) == (CUstream)(uintptr_t)1);
  CHECK_CONTAINS(description(named), "legacy default stream");
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &named));
  CHECK(kind_of(named) == CUSHIM_STREAM_PER_THREAD && native_of(named) == (CUstream)(uintptr_t)2);
  CHECK_OK(cushim_event_record(all.event, named));
  CHECK_OK(cushim_event_synchronize(all.event));
  CHECK_OK(cushim_stream_wait_event(named, all.event));
}

static cushim_context context_of(cushim_stream stream) {
  cushim_context context = NULL;
  CHECK_OK(cushim_stream_get_context(stream, &context));
  return context;
}

/* They are the context's: one borrowed handle each, which lives as long as the context and is nobody's to destroy. */
static void default_streams_are_borrowed(void) {
  cushim_context other;
  cushim_stream legacy, again, mine, owned;
  char label[16];
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  CHECK_OK(cushim_context_get_legacy_stream(other, &legacy));
  CHECK_OK(cushim_context_get_legacy_stream(other, &again));
  CHECK_OK(cushim_context_get_per_thread_stream(other, &mine));
  CHECK(legacy == again && legacy != mine && !is_same(legacy, mine));
  CHECK(!is_same(legacy, all.stream) && !is_same(other, legacy));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_destroy(legacy));
  CHECK_CONTAINS(last_message(), "borrowed");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_synchronize((cushim_event)(void *)legacy));
  CHECK_CONTAINS(last_message(), "stream");
  CHECK(context_of(legacy) == context_of(mine) && is_same(context_of(legacy), other));

  /* A label stays, though nobody holds the stream meanwhile. */
  CHECK_OK(cushim_set_label(legacy, "shared"));
  CHECK_OK(cushim_get_label(again, label, sizeof label, NULL));
  CHECK(strcmp(label, "shared") == 0);
  CHECK(strcmp(description(legacy), "legacy default stream \"shared\" (borrowed)") == 0);
  CHECK_OK(cushim_get_label(mine, label, sizeof label, NULL));
  CHECK(label[0] == '\0');
  CHECK_OK(cushim_get_label(other, label, sizeof label, NULL));
  CHECK(label[0] == '\0');

  /* Owning handles are of the same object, however they were made, and keep the context alive. */
  CHECK_OK(cushim_stream_wrap(other, NULL, CUSHIM_BORROWED, &owned));
  CHECK(owned != legacy && is_same(owned, legacy) && !is_same(owned, mine));
  CHECK_OK(cushim_stream_destroy(owned));
  CHECK_OK(cushim_stream_ref(mine, &owned));
  CHECK(is_same(owned, mine));
  CHECK_OK(cushim_stream_push_current(legacy));
  CHECK_OK(cushim_stream_get_current(&again));
  CHECK(again == legacy);
  CHECK_OK(cushim_stream_pop_current(&again));
  CHECK(again == legacy);
  CHECK_OK(cushim_context_destroy(other));
  CHECK_OK(cushim_stream_synchronize(legacy));
  CHECK_OK(cushim_stream_destroy(owned));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize(legacy));
  CHECK_CONTAINS(last_message(), "stream");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_set_label(mine, "gone"));
}

/* A native handle of an object is that object, with all that is known of it. */
static void wrapping(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_context other;
  cushim_stream again, wrapped;
  CUstream native = NULL;
  if (version == 0) { /* "none" has no handles: a created stream means none of anybody's */
    CHECK(native_of(all.stream) == NULL);
    return;
  }
  CHECK_OK(cushim_set_label(all.stream, "copy"));
  CHECK_OK(cushim_stream_wrap(all.context, native_of(all.stream), CUSHIM_BORROWED, &again));
  CHECK(again != all.stream && is_same(again, all.stream));
  CHECK_CONTAINS(description(again), "copy");
  CHECK_OK(cushim_stream_destroy(again));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_stream_wrap(all.context, native_of(all.stream), CUSHIM_OWNED, &again));
  CHECK_CONTAINS(last_message(), "copy");
  CHECK(again == NULL);
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_stream_wrap(other, native_of(all.stream), CUSHIM_BORROWED, &again));
  CHECK_CONTAINS(last_message(), "belongs to");
  CHECK_OK(cushim_context_destroy(other));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wrap(all.context, native_of(all.stream), -1, &again));
  CHECK_OK(cushim_set_label(all.stream, NULL));

  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&native, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cushim_context_pop(all.driver, &other, NULL));
  CHECK_OK(cushim_stream_wrap(all.context, native, CUSHIM_BORROWED, &wrapped));
  CHECK(kind_of(wrapped) == CUSHIM_STREAM_WRAPPED && native_of(wrapped) == native);
  CHECK_OK(cushim_stream_synchronize(wrapped));
  CHECK_OK(cushim_stream_wrap(all.context, native, CUSHIM_BORROWED, &again));
  CHECK(again != wrapped && is_same(again, wrapped));
  CHECK_OK(cushim_stream_destroy(again));
  CHECK_OK(cushim_stream_destroy(wrapped));
  /* It was borrowed, so it is still there to be owned. */
  CHECK_OK(cushim_stream_wrap(all.context, native, CUSHIM_OWNED, &wrapped));
  CHECK_OK(cushim_stream_synchronize(wrapped));
  CHECK_OK(cushim_stream_destroy(wrapped));
}

static void identity(void) {
  cushim_stream other = new_stream(all.context);
  uint64_t id = 0, its_id = 0;
  if (version != 0 && version < 12000) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_get_id(all.stream, &id));
    CHECK_CONTAINS(last_message(), "12.0");
  } else {
    CHECK_OK(cushim_stream_get_id(all.stream, &id));
    CHECK_OK(cushim_stream_get_id(other, &its_id));
    CHECK(id != its_id);
  }
  CHECK_OK(cushim_stream_destroy(other));
}

/* Seconds of a clock that only goes forward. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void waiting(void) {
  cushim_stream other = new_stream(all.context), ended = new_stream(all.context);
  struct busy busy;
  int32_t done = -1;
  double start;
  CHECK_OK(cushim_stream_synchronize_within(all.stream, 0, &done));
  CHECK(done == 1);
  CHECK_OK(cushim_stream_wait_stream(other, all.stream));
  CHECK_OK(cushim_stream_synchronize(other));
  if (can_be_busy(all.driver)) {
    busy_begin(&busy, all.driver, all.stream);
    CHECK(!is_done(all.stream));
    start = now();
    CHECK_OK(cushim_stream_synchronize_within(all.stream, 20000000, &done));
    CHECK(done == 0 && now() - start >= 0.02);
    CHECK_OK(cushim_stream_wait_stream(other, all.stream));
    CHECK_OK(cushim_event_record(all.event, all.stream));
    CHECK_OK(cushim_stream_wait_event(ended, all.event));
    CHECK(!is_done(other) && !is_done(ended));
    CHECK_OK(cushim_stream_destroy(ended)); /* at once; its work goes on */
    CHECK(now() - start < 20);
    busy_end(&busy);
    CHECK_OK(cushim_stream_synchronize(other));
    CHECK_OK(cushim_stream_synchronize_within(all.stream, 10000000000ull, &done));
    CHECK(done == 1);
    CHECK(is_done(other) && is_done(all.stream));
  } else {
    CHECK_OK(cushim_stream_destroy(ended));
  }
  CHECK_OK(cushim_stream_destroy(other));
}

/* The same calls as with a stream's own handle, on whichever is current. */
static void current(void) {
  cushim_stream other = new_stream(all.context), token = cushim_stream_current(), found, claim;
  CHECK(token != NULL && token == cushim_stream_current());
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(token));
  CHECK_CONTAINS(last_message(), "current stream");
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_get_current(&found));
  CHECK(found == NULL);
  CHECK_CONTAINS(description(token), "none");
  CHECK_OK(cushim_stream_push_current(all.stream));
  CHECK_OK(cushim_stream_push_current(other));
  CHECK_OK(cushim_stream_get_current(&found));
  CHECK(is_same(found, other));
  CHECK(native_of(token) == native_of(other));
  CHECK_OK(cushim_stream_synchronize(token));
  CHECK_OK(cushim_event_record(all.event, token));
  CHECK_OK(cushim_stream_ref(token, &claim));
  CHECK(is_same(claim, other));
  CHECK_OK(cushim_stream_destroy(claim));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_destroy(token));
  CHECK_OK(cushim_stream_pop_current(&found));
  CHECK(is_same(found, other));
  CHECK(native_of(token) == native_of(all.stream));
  CHECK_OK(cushim_stream_push_current(token)); /* the one that is current, once more */
  CHECK_OK(cushim_stream_pop_current(NULL));
  CHECK(native_of(token) == native_of(all.stream));
  CHECK_OK(cushim_stream_pop_current(&found));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_pop_current(&found));
  CHECK(found == NULL);

  /* A stream does not live for being current. */
  CHECK_OK(cushim_stream_push_current(other));
  CHECK_OK(cushim_stream_destroy(other));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize(token));
  CHECK_CONTAINS(last_message(), "destroyed");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_get_current(&found));
  CHECK_OK(cushim_stream_pop_current(&found));
  CHECK(found == NULL);
}

static void *other_thread(void *unused) {
  (void)unused;
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(cushim_stream_current()));
  CHECK_OK(cushim_stream_push_current(all.stream)); /* and never popped */
  CHECK_OK(cushim_stream_synchronize(cushim_stream_current()));
  return NULL;
}

static void current_is_per_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(cushim_stream_current()));
}

/* NULL is no stream, whatever is to be done with one. */
static void required(void) {
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_synchronize(NULL));
  CHECK_CONTAINS(last_message(), "cushim_context_get_legacy_stream");
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_event_record(all.event, NULL));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_wait_event(NULL, all.event));
}

static void several_drivers(void) {
  cushim_driver_options options;
  cushim_driver none;
  cushim_context context;
  cushim_stream stream;
  cushim_event event;
  if (version == 0) return;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  context = primary_context(first_device(none));
  stream = new_stream(context);
  event = new_event(context, 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_wait_event(stream, all.event));
  CHECK_CONTAINS(last_message(), "another driver");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_wait_stream(stream, all.stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_record(event, all.stream));
  CHECK_OK(cushim_driver_destroy(none));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_event_record(event, stream)); /* they keep what they need */
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(stream));
}

static void labels(void) {
  char label[16];
  CHECK_OK(cushim_set_label(all.stream, "copy"));
  CHECK_OK(cushim_get_label(all.stream, label, sizeof label, NULL));
  CHECK(strcmp(label, "copy") == 0);
  CHECK(strcmp(description(all.stream), "stream \"copy\"") == 0);
  CHECK_OK(cushim_set_label(all.stream, NULL));
}

int main(void) {
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  created();
  options();
  default_streams();
  default_streams_are_borrowed();
  wrapping();
  identity();
  waiting();
  current();
  current_is_per_thread();
  required();
  several_drivers();
  labels();
  close_objects(&all);
  return check_done();
}
