/*
 * Threads that are cancelled (pthread_cancel) inside calls that wait, or read or write files: they come back first. Without that
 * the C library unwinds functions that it cannot unwind, which ends the process.
 */
#include "graphs.h"

#include <pthread.h>

static cushim_event event;
static cushim_graph graph;

static void opens(void) {
  cushim_driver driver = open_driver();
  CHECK_OK(cushim_driver_destroy(driver));
}

static void opens_what_is_no_driver(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver;
  options.driver = "/proc/self/exe";
  CHECK(cushim_driver_open(&options, &driver) != CUSHIM_SUCCESS);
}

static void gets_the_default_table(void) { CHECK(cushim_driver_default_table(CUSHIM_TABLE_LEGACY_STREAM) != NULL); }

static void waits(void) {
  int32_t done;
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_synchronize_within(event, 1000000, &done));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_stream_synchronize_within(all.stream, 1000000, &done));
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK_OK(cushim_flush_callbacks(1000000000u, &done));
}

static void loads_a_file(void) {
  cushim_library library;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_library_load_file(all.context, "/proc/self/exe", NULL, &library));
}

static void writes_a_file(void) {
  CHECK_OK(cushim_graph_write_json(graph, "/dev/null", 0));
  CHECK_OK(cushim_graph_write_dot(graph, "/dev/null", 0));
}

static int come_back;

/* Cancels the library's own thread, and gives it the chance to end. */
static void cancels(void *data) {
  CHECK(data == &come_back && pthread_cancel(pthread_self()) == 0);
  pthread_testcancel();
  come_back++;
}

static void releases(void) {
  const cushim_owner owner = {&come_back, cancels};
  cushim_buffer buffer;
  int32_t done = 0;
  int i;
  for (i = 1; i <= 2; i++) {
    CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 4096, 4096, NULL, &owner, &buffer));
    CHECK_OK(cushim_buffer_destroy(buffer));
    CHECK_OK(cushim_flush_callbacks(10000000000ull, &done));
    CHECK(done && come_back == i);
  }
}

static void queues_and_drains(void) {
  const cushim_owner owner = {&event, NULL};
  cushim_drain_item item;
  cushim_buffer buffer;
  size_t count;
  int32_t fd;
  CHECK_OK(cushim_drain_fd(&fd));
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 4096, 4096, NULL, &owner, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer)); /* queues the owner's data */
  CHECK_OK(cushim_drain(&item, sizeof item, 1, &count));
  CHECK(count == 1 && item.data == &event);
}

static int came_back;

/* The thread is cancelled before the call, so the first place where that may take effect would end it. */
static void *cancelled(void *function) {
  void (*call)(void);
  memcpy(&call, &function, sizeof call);
  CHECK(pthread_cancel(pthread_self()) == 0);
  call();
  came_back = 1;
  pthread_testcancel();
  return NULL;
}

static void run_cancelled(void (*call)(void)) {
  pthread_t thread;
  void *result = NULL, *function;
  memcpy(&function, &call, sizeof function);
  came_back = 0;
  if (!CHECK(pthread_create(&thread, NULL, cancelled, function) == 0)) exit(1);
  CHECK(pthread_join(thread, &result) == 0);
  CHECK(came_back && result == PTHREAD_CANCELED);
}

int main(void) {
  check_begin();
  setenv("CUSHIM_LOG", "debug", 1); /* lines are written, too */
  unsetenv("CHECK_RECORD");         /* the recorder opens files outside of the calls */
  run_cancelled(opens);
  run_cancelled(opens_what_is_no_driver);
  run_cancelled(gets_the_default_table);
  if (!open_graphs()) return close_graphs();
  event = new_event(all.context, 0);
  graph = new_graph();
  run_cancelled(waits);
  run_cancelled(loads_a_file);
  run_cancelled(writes_a_file);
  releases();
  run_cancelled(queues_and_drains);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_event_destroy(event));
  return close_graphs();
}
