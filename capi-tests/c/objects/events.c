/* Events: recorded, waited for, timed; whose they are. */
#include "busy.h"

static struct objects all;
static int version; /* of the driver; 0 for "none" */

static CUevent native_of(cushim_event event) {
  CUevent native = NULL;
  CHECK_OK(cushim_event_native(event, &native));
  return native;
}

static uint32_t flags_of(cushim_event event) {
  uint32_t flags = 99;
  CHECK_OK(cushim_event_get_flags(event, &flags));
  return flags;
}

static int is_done(cushim_event event) {
  int32_t done = -1;
  CHECK_OK(cushim_event_query(event, &done));
  return done;
}

static void created(void) {
  cushim_event event, claim;
  cushim_context context;
  uint32_t flags = CUSHIM_EVENT_BLOCKING_SYNC | CUSHIM_EVENT_INTERPROCESS;
  CHECK_OK(cushim_event_create(all.context, NULL, &event));
  CHECK(flags_of(event) == 0);
  CHECK_OK(cushim_event_get_context(event, &context));
  CHECK(is_same(context, all.context));
  CHECK_OK(cushim_event_ref(event, &claim));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_event_destroy(event));
  CHECK(is_done(claim));
  CHECK_OK(cushim_event_destroy(claim));
  CHECK_OK(cushim_event_destroy(NULL));
  event = new_event(all.context, flags);
  CHECK(flags_of(event) == flags);
  CHECK_OK(cushim_event_destroy(event));
}

static void options(void) {
  cushim_event_options given;
  cushim_event event = (cushim_event)NOT_NULL;
  memset(&given, 0, sizeof given);
  given.struct_size = sizeof given;
  given.flags = CUSHIM_EVENT_TIMING | CUSHIM_EVENT_INTERPROCESS;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_create(all.context, &given, &event));
  CHECK(event == NULL);
  given.flags = 8;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_create(all.context, &given, &event));
  given.flags = 0;
  given.reserved = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_create(all.context, &given, &event));
}

/* Who waits for an event that was never recorded waits for nothing. */
static void never_recorded(void) {
  cushim_event event = new_event(all.context, CUSHIM_EVENT_TIMING);
  int32_t done = -1;
  float milliseconds = 1;
  CHECK(is_done(event));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_synchronize_within(event, 0, &done));
  CHECK(done == 1);
  CHECK_OK(cushim_stream_wait_event(all.stream, event));
  CHECK_STATUS(CUSHIM_ERROR_NOT_RECORDED, cushim_event_elapsed(event, event, &milliseconds));
  CHECK_CONTAINS(last_message(), "never recorded");
  CHECK(milliseconds == 0);
  CHECK_OK(cushim_event_destroy(event));
}

/* What a graph records was never recorded until the graph is launched. */
static void never_launched(void) {
  cushim_event start = new_event(all.context, CUSHIM_EVENT_TIMING), end = new_event(all.context, CUSHIM_EVENT_TIMING);
  cushim_graph graph;
  cushim_node node;
  cushim_exec exec;
  float milliseconds = 1;
  CHECK_OK(cushim_set_label(end, "in a graph"));
  CHECK_OK(cushim_event_record(start, all.stream));
  CHECK_OK(cushim_graph_create(all.context, NULL, &graph));
  CHECK_OK(cushim_graph_add_event_record(graph, NULL, 0, end, &node));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_STATUS(CUDA_ERROR_INVALID_HANDLE, cushim_event_elapsed(start, end, &milliseconds));
  CHECK_CONTAINS(last_message(), "The end, event \"in a graph\", was never recorded: the graph that records it has not been launched");
  CHECK_STATUS(CUDA_ERROR_INVALID_HANDLE, cushim_event_elapsed(end, start, &milliseconds));
  CHECK_CONTAINS(last_message(), "The start, event \"in a graph\", was never recorded");
  CHECK(strstr(last_message(), "The end") == NULL);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_event_elapsed(start, end, &milliseconds));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_event_destroy(start));
  CHECK_OK(cushim_event_destroy(end));
}

static void timing(void) {
  cushim_event start = new_event(all.context, CUSHIM_EVENT_TIMING), end = new_event(all.context, CUSHIM_EVENT_TIMING);
  cushim_event untimed = new_event(all.context, 0);
  float forward = -1, backward = 1;
  CHECK_OK(cushim_event_record(start, all.stream));
  CHECK_OK(cushim_event_record(untimed, all.stream));
  CHECK_STATUS(CUSHIM_ERROR_NOT_RECORDED, cushim_event_elapsed(start, end, &forward));
  CHECK_CONTAINS(last_message(), "was never recorded");
  CHECK_OK(cushim_event_record(end, all.stream));
  CHECK_OK(cushim_event_synchronize(end));
  CHECK_OK(cushim_event_elapsed(start, end, &forward));
  CHECK(forward >= 0 && forward < 10000);
  CHECK_OK(cushim_event_elapsed(end, start, &backward));
  CHECK(backward <= 0);
  CHECK_STATUS(CUSHIM_ERROR_TIMING_DISABLED, cushim_event_elapsed(start, untimed, &forward));
  CHECK_CONTAINS(last_message(), "the end, event, does not measure time");
  CHECK_CONTAINS(last_message(), "CUSHIM_EVENT_TIMING");
  CHECK_CONTAINS(last_message(), "create it with timing");
  CHECK_OK(cushim_event_destroy(start));
  CHECK_OK(cushim_event_destroy(end));
  CHECK_OK(cushim_event_destroy(untimed));
}

static void pending(void) {
  cushim_event start = new_event(all.context, CUSHIM_EVENT_TIMING);
  cushim_stream other = new_stream(all.context);
  struct busy busy;
  int32_t done = -1;
  float milliseconds = 1;
  if (can_be_busy(all.driver)) {
    CHECK_OK(cushim_event_record(start, all.stream));
    busy_begin(&busy, all.driver, all.stream);
    CHECK_OK(cushim_event_record(all.event, all.stream));
    CHECK(!is_done(all.event) && is_done(start));
    CHECK_OK(cushim_event_synchronize_within(all.event, 1000000, &done));
    CHECK(done == 0);
    CHECK_STATUS(CUDA_ERROR_NOT_READY, cushim_event_elapsed(start, all.event, &milliseconds));
    CHECK_CONTAINS(last_message(), "Synchronise");
    /* Recording again replaces the record; who waits already goes on waiting for the earlier one. */
    CHECK_OK(cushim_stream_wait_event(other, all.event));
    CHECK_OK(cushim_event_record(all.event, other));
    CHECK(!is_done(all.event));
    busy_end(&busy);
    CHECK_OK(cushim_event_synchronize_within(all.event, 10000000000ull, &done));
    CHECK(done == 1);
    CHECK_OK(cushim_event_elapsed(start, all.event, &milliseconds));
    CHECK(milliseconds > 0);
  }
  CHECK_OK(cushim_stream_destroy(other));
  CHECK_OK(cushim_event_destroy(start));
}

static void wrapping(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_event again, wrapped;
  cushim_context other;
  cushim_event_options timed;
  CUevent native = NULL;
  float milliseconds;
  if (version == 0) { /* "none" has no handles */
    CHECK(native_of(all.event) == NULL);
    return;
  }
  CHECK_OK(cushim_event_wrap(all.context, native_of(all.event), CUSHIM_BORROWED, NULL, &again));
  CHECK(is_same(again, all.event) && flags_of(again) == CUSHIM_EVENT_TIMING);
  CHECK_OK(cushim_event_destroy(again));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_event_wrap(all.context, native_of(all.event), CUSHIM_OWNED, NULL, &again));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_wrap(all.context, NULL, CUSHIM_BORROWED, NULL, &again));
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_event_wrap(other, native_of(all.event), CUSHIM_BORROWED, NULL, &again));
  CHECK_OK(cushim_context_destroy(other));

  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventCreate_2000(&native, CU_EVENT_DEFAULT));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventRecord_2000(native, NULL));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventSynchronize_2000(native));
  CHECK_OK(cushim_context_pop(all.driver, &other, NULL));
  memset(&timed, 0, sizeof timed);
  timed.struct_size = sizeof timed;
  timed.flags = CUSHIM_EVENT_TIMING;
  /* However often it is wrapped it is one object, which owns it once somebody gave it away. */
  CHECK_OK(cushim_event_wrap(all.context, native, CUSHIM_BORROWED, &timed, &again));
  CHECK_OK(cushim_event_wrap(all.context, native, CUSHIM_OWNED, NULL, &wrapped));
  CHECK(again != wrapped && is_same(again, wrapped) && flags_of(wrapped) == CUSHIM_EVENT_TIMING);
  CHECK_OK(cushim_event_destroy(again));
  CHECK_CONTAINS(description(wrapped), "event");
  CHECK(is_done(wrapped));
  CHECK_OK(cushim_event_elapsed(wrapped, wrapped, &milliseconds)); /* whether others recorded it is not known here */
  CHECK(milliseconds == 0);
  CHECK_OK(cushim_event_destroy(wrapped));
}

/* An event of another context of the same driver can be waited for, but not recorded. */
static void other_context(void) {
  cushim_context context;
  cushim_event event;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  event = new_event(context, 0);
  CHECK_OK(cushim_stream_wait_event(all.stream, event));
  if (version != 0) {
    CHECK(cushim_event_record(event, all.stream) > 0);
    CHECK(last_detail()->driver_code == last_detail()->status);
  }
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_context_destroy(context));
}

/* Streams of another context wait for an event that other processes may open; drivers crash on that. */
static void interprocess_elsewhere(void) {
  cushim_context other;
  cushim_stream waiting[3];
  cushim_event event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  struct busy busy;
  int32_t done = -1;
  int i;
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  CHECK_OK(cushim_stream_create(other, NULL, &waiting[0]));
  CHECK_OK(cushim_context_get_legacy_stream(other, &waiting[1]));
  CHECK_OK(cushim_context_get_per_thread_stream(other, &waiting[2]));
  for (i = 0; i < 3; i++) CHECK_OK(cushim_stream_wait_event(waiting[i], event)); /* never recorded */
  if (can_be_busy(all.driver)) busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_event_record(event, all.stream));
  for (i = 0; i < 3; i++) CHECK_OK(cushim_stream_wait_event(waiting[i], event));
  if (can_be_busy(all.driver)) {
    for (i = 0; i < 3; i++) {
      CHECK_OK(cushim_stream_query(waiting[i], &done));
      CHECK(!done);
    }
    busy_end(&busy);
  }
  for (i = 0; i < 3; i++) {
    CHECK_OK(cushim_stream_synchronize(waiting[i]));
    CHECK_OK(cushim_stream_wait_event(waiting[i], event)); /* done */
  }
  CHECK_OK(cushim_stream_destroy(waiting[0]));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_context_destroy(other));
}

static void labels(void) {
  char label[16];
  CHECK_OK(cushim_set_label(all.event, "copied"));
  CHECK_OK(cushim_get_label(all.event, label, sizeof label, NULL));
  CHECK(strcmp(label, "copied") == 0);
  CHECK(strcmp(description(all.event), "event \"copied\"") == 0);
  CHECK_OK(cushim_set_label(all.event, NULL));
}

/* Events of different drivers have no time between them. */
static void several_drivers(void) {
  cushim_driver_options options;
  cushim_driver none;
  cushim_context context;
  cushim_event event;
  float milliseconds;
  if (version == 0) return;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  context = primary_context(first_device(none));
  event = new_event(context, CUSHIM_EVENT_TIMING);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_elapsed(event, all.event, &milliseconds));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_driver_destroy(none));
}

int main(void) {
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  created();
  options();
  never_recorded();
  if (version != 0) never_launched();
  timing();
  pending();
  wrapping();
  other_context();
  interprocess_elsewhere();
  labels();
  several_drivers();
  close_objects(&all);
  return check_done();
}
