/* What is lent and called: owners, host functions, pull mode, the log; and what may be called inside. */
#include "busy.h"

#include <poll.h>
#include <pthread.h>

static struct objects all;
static int version; /* of the driver; 0 for "none" */

static void flush(void) {
  int32_t done = -1;
  CHECK_OK(cushim_flush_callbacks(20000000000ull, &done));
  CHECK(done == 1);
}

/* Something that is lent: who called, how often, and how often it was released. */
struct lent {
  int calls, releases;
  pthread_t caller, releaser;
};

static int calls(struct lent *lent) { return __atomic_load_n(&lent->calls, __ATOMIC_SEQ_CST); }

static int releases(struct lent *lent) { return __atomic_load_n(&lent->releases, __ATOMIC_SEQ_CST); }

static void call(void *data) {
  struct lent *lent = (struct lent *)data;
  lent->caller = pthread_self();
  CHECK(releases(lent) == 0);
  __atomic_add_fetch(&lent->calls, 1, __ATOMIC_SEQ_CST);
}

static void release(void *data) {
  struct lent *lent = (struct lent *)data;
  int32_t done = -1;
  lent->releaser = pthread_self();
  /* Every function may be called here, but it cannot wait for itself. */
  CHECK_OK(cushim_stream_query(all.stream, &done));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, cushim_flush_callbacks(0, &done));
  __atomic_add_fetch(&lent->releases, 1, __ATOMIC_SEQ_CST);
}

static cushim_owner owner_of(void *data, cushim_release_function function) {
  cushim_owner owner;
  owner.data = data;
  owner.release = function;
  return owner;
}

static void host_function(void) {
  struct lent lent;
  cushim_owner owner = owner_of(&lent, release);
  memset(&lent, 0, sizeof lent);
  CHECK_OK(cushim_stream_launch_host_function(all.stream, call, &lent, &owner));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(calls(&lent) == 1);
  CHECK(version == 0 || !pthread_equal(lent.caller, pthread_self()));
  flush();
  CHECK(releases(&lent) == 1);
  CHECK(!pthread_equal(lent.releaser, pthread_self()) && !pthread_equal(lent.releaser, lent.caller));
}

static int slow_has_begun, slow_may_end;

static void release_slowly(void *data) {
  __atomic_store_n(&slow_has_begun, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&slow_may_end, __ATOMIC_SEQ_CST)) poll(NULL, 0, 1);
  release(data);
}

/* While one release takes long the others wait, and calls do not; when it has returned none is lost. */
static void one_that_is_slow(void) {
  enum { OTHERS = 100 };
  struct lent slow, others[OTHERS];
  cushim_owner owner = owner_of(&slow, release_slowly);
  cushim_event event = NULL;
  int32_t done = -1;
  int i;
  memset(&slow, 0, sizeof slow);
  memset(others, 0, sizeof others);
  CHECK_OK(cushim_stream_launch_host_function(all.stream, call, &slow, &owner));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  for (i = 0; i < 20000 && !__atomic_load_n(&slow_has_begun, __ATOMIC_SEQ_CST); i++) poll(NULL, 0, 1);
  for (i = 0; i < OTHERS; i++) {
    owner = owner_of(&others[i], release);
    CHECK_OK(cushim_stream_launch_host_function(all.stream, call, &others[i], &owner));
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_event_create(all.context, NULL, &event));
  CHECK_OK(cushim_event_record(event, all.stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_flush_callbacks(20000000u, &done));
  CHECK(done == 0);
  for (i = 0; i < OTHERS; i++) CHECK(calls(&others[i]) == 1 && releases(&others[i]) == 0);
  __atomic_store_n(&slow_may_end, 1, __ATOMIC_SEQ_CST);
  flush();
  CHECK(releases(&slow) == 1);
  for (i = 0; i < OTHERS; i++) CHECK(releases(&others[i]) == 1);
}

static uint32_t sum;

static void add_number(void *data) {
  if (data == NULL) sum += 100;
  else sum += *(uint32_t *)data;
}

/* The function gets a copy: the original may change meanwhile. */
static void kept_bytes(void) {
  struct busy busy;
  uint32_t number = 5;
  sum = 0;
  if (can_be_busy(all.driver)) busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_stream_launch_host_function_bytes(all.stream, add_number, &number, sizeof number));
  CHECK_OK(cushim_stream_launch_host_function_bytes(all.stream, add_number, NULL, 0));
  number = 7;
  if (can_be_busy(all.driver)) busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(sum == 105);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_launch_host_function_bytes(all.stream, NULL, &number, 4));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_launch_host_function_bytes(all.stream, add_number, NULL, 4));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_stream_launch_host_function_bytes(all.stream, add_number, &number, SIZE_MAX / 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_launch_host_function_bytes(all.stream, add_number, &number, SIZE_MAX));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_launch_host_function_bytes(NULL, add_number, &number, 4));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(sum == 105);
}

/* On every stream, in order with its work. */
static void in_order(void) {
  struct busy busy;
  struct lent lent;
  cushim_stream legacy, other = new_stream(all.context);
  memset(&lent, 0, sizeof lent);
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_stream_launch_host_function(legacy, call, &lent, NULL));
  CHECK_OK(cushim_stream_synchronize(legacy));
  CHECK(calls(&lent) == 1);
  if (can_be_busy(all.driver)) {
    busy_begin(&busy, all.driver, other);
    CHECK_OK(cushim_stream_launch_host_function(other, call, &lent, NULL));
    CHECK(calls(&lent) == 1);
    /* What is enqueued is called, whether or not the stream lives. */
    CHECK_OK(cushim_event_record(all.event, other));
    CHECK_OK(cushim_stream_destroy(other));
    busy_end(&busy);
    CHECK_OK(cushim_event_synchronize(all.event));
    CHECK(calls(&lent) == 2);
  } else {
    CHECK_OK(cushim_stream_destroy(other));
  }
  CHECK_OK(cushim_context_synchronize(all.context)); /* also where a check before has failed */
}

static void refused(void) {
  struct lent lent;
  cushim_owner owner = owner_of(&lent, release);
  memset(&lent, 0, sizeof lent);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_launch_host_function(NULL, call, &lent, &owner));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_launch_host_function(all.stream, NULL, &lent, &owner));
  CHECK_CONTAINS(last_message(), "release function");
  flush();
  CHECK(calls(&lent) == 0 && releases(&lent) == 0);
}

/* A stream that is captured makes a node of it: the graph keeps the owner, and calls the function when it is launched. */
static void captured(void) {
  const cushim_driver_table *table = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  static struct lent lent; /* a capture that fails may release its owner later */
  cushim_owner owner = owner_of(&lent, release);
  CUstream native = NULL;
  CUgraph graph = NULL;
  if (version == 0 || table->cuStreamBeginCapture_10010 == NULL) return;
  memset(&lent, 0, sizeof lent);
  CHECK_OK(cushim_stream_native(all.stream, &native));
  if (table->cuStreamBeginCapture_10010(native, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) return;
  CHECK_OK(cushim_stream_launch_host_function(all.stream, call, &lent, &owner));
  CHECK_OK(cushim_stream_launch_host_function_bytes(all.stream, add_number, "four", 4));
  CHECK_OK(table->cuStreamEndCapture_10000(native, &graph));
  flush();
  CHECK(releases(&lent) == 0);
  CHECK_OK(table->cuGraphDestroy_10000(graph));
  flush();
  CHECK(calls(&lent) == 0 && releases(&lent) == 1);
}

static int drain(cushim_drain_item *items, size_t capacity) {
  size_t count = 99;
  CHECK_OK(cushim_drain(items, sizeof *items, capacity, &count));
  return (int)count;
}

static int is_readable(void) {
  struct pollfd waited;
  memset(&waited, 0, sizeof waited);
  CHECK_OK(cushim_drain_fd(&waited.fd));
  waited.events = POLLIN;
  return poll(&waited, 1, 0) == 1;
}

static void pulled(void) {
  static char data, lent;
  cushim_drain_item items[4];
  cushim_owner owner = owner_of(&lent, NULL);
  CHECK(drain(items, 4) == 0 && !is_readable());
  CHECK_OK(cushim_stream_launch_host_function(all.stream, NULL, &data, &owner));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_readable());
  CHECK(drain(items, 1) == 1 && is_readable());
  CHECK(items[0].kind == CUSHIM_DRAIN_HOST_FUNCTION && items[0].data == &data && items[0].text[0] == '\0');
  CHECK(drain(items, 4) == 1 && !is_readable());
  CHECK(items[0].kind == CUSHIM_DRAIN_RELEASE && items[0].data == &lent && items[0].level == 0);
}

/* What a host function calls, and what it was answered. */
static struct inside {
  cushim_status recorded, event, stream, legacy, on_legacy, synchronized, destroyed, created, launched, flushed, described, drained;
  char sentence[512];
} inside;

static void call_inside(void *legacy) {
  cushim_stream created;
  size_t count;
  int32_t done;
  char line[64];
  inside.recorded = cushim_event_record(all.event, all.stream);
  inside.event = cushim_event_query(all.event, &done);
  inside.stream = cushim_stream_query(all.stream, &done);
  inside.legacy = cushim_stream_query((cushim_stream)legacy, &done);
  inside.on_legacy = cushim_event_record(all.event, (cushim_stream)legacy);
  inside.synchronized = cushim_stream_synchronize(all.stream);
  snprintf(inside.sentence, sizeof inside.sentence, "%s", last_message());
  inside.destroyed = cushim_stream_destroy(all.stream);
  inside.created = cushim_stream_create(all.context, NULL, &created);
  inside.launched = cushim_stream_launch_host_function(all.stream, call_inside, legacy, NULL);
  inside.flushed = cushim_flush_callbacks(0, &done);
  inside.described = cushim_describe(all.stream, line, sizeof line, NULL);
  inside.drained = cushim_drain(NULL, sizeof(cushim_drain_item), 0, &count);
}

static void inside_a_host_function(void) {
  cushim_stream legacy, other = new_stream(all.context);
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_stream_launch_host_function(other, call_inside, legacy, NULL));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK_OK(inside.recorded);
  CHECK_OK(inside.event);
  CHECK_OK(inside.stream);
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.legacy);
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.on_legacy);
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.synchronized);
  CHECK_CONTAINS(inside.sentence, "inside a function that the driver called");
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.destroyed);
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.created);
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.launched);
  CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, inside.flushed);
  CHECK_OK(inside.described);
  CHECK_OK(inside.drained);
  CHECK_OK(cushim_stream_destroy(other));
}

/* What the log said. */
struct said {
  int lines, others, releases;
};

/* Makes a line of the log, and perhaps more. */
static void log_a_line(void) {
  cushim_driver_options options;
  cushim_driver driver;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "/nonexistent.so";
  CHECK_STATUS(CUSHIM_ERROR_DRIVER_UNUSABLE, cushim_driver_open(&options, &driver));
}

/* What it logs itself does not come back to it. */
static void hear(void *user, int32_t level, const char *target, const char *message) {
  struct said *said = (struct said *)user;
  int32_t done = -1;
  CHECK_OK(cushim_stream_query(all.stream, &done));
  if (strcmp(target, "cushim") == 0 && level == CUSHIM_LOG_DEBUG && strstr(message, "/nonexistent.so") != NULL) said->lines++;
  else said->others++;
  log_a_line();
}

static void unheard(void *user) { ((struct said *)user)->releases++; }

static void logged(void) {
  struct said said;
  cushim_owner owner = owner_of(&said, unheard);
  cushim_drain_item items[4];
  memset(&said, 0, sizeof said);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_log_set_callback(hear, &said, &owner, 6));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_log_set_callback(NULL, NULL, &owner, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_log_set_pull(-1));
  CHECK_OK(cushim_log_set_callback(hear, &said, &owner, CUSHIM_LOG_DEBUG));
  log_a_line();
  flush();
  CHECK(said.lines == 1 && said.releases == 0);
  CHECK_OK(cushim_log_set_pull(CUSHIM_LOG_DEBUG));
  log_a_line();
  flush();
  CHECK(said.lines == 1 && said.releases == 1);
  if (CHECK(drain(items, 4) > 0)) {
    CHECK(items[0].kind == CUSHIM_DRAIN_LOG_LINE && items[0].level == CUSHIM_LOG_DEBUG && items[0].data == NULL);
    CHECK_CONTAINS(items[0].target, "cushim");
    CHECK_CONTAINS(items[0].text, "/nonexistent.so");
  }
  CHECK_OK(cushim_log_set_callback(NULL, NULL, NULL, 0));
  log_a_line();
  CHECK(drain(items, 4) == 0);
}

static void bad_arguments(void) {
  cushim_drain_item item;
  size_t count = 99;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_drain(&item, 8, 1, &count));
  CHECK_CONTAINS(last_message(), "stride of items is 8; pass sizeof");
  CHECK(count == 0);
}

int main(void) {
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  host_function();
  one_that_is_slow();
  kept_bytes();
  in_order();
  refused();
  captured();
  pulled();
  inside_a_host_function();
  logged();
  bad_arguments();
  close_objects(&all);
  return check_done();
}
