/*
 * A launch of a graph that waits for an event makes its stream part of the capture that has recorded the event (measured on driver 580): work
 * behind it would be captured, and never run. cushim refuses the launch, and the capture stays whole; also while another thread records.
 */
#include "builders.h"

#include <pthread.h>

static cushim_event event;
static cushim_exec exec;

enum form { PLAIN, IN_A_CHILD, REMOVED_SINCE, FORMS };

/* An exec that waits for the event: the node stands in a child graph, or was removed from the graph since, if that is asked for. */
static cushim_exec waiting(int form) {
  const int in_child = form == IN_A_CHILD;
  cushim_graph graph = new_graph(), child = new_graph();
  cushim_node wait = NULL;
  CHECK_OK(cushim_graph_add_event_wait(in_child ? child : graph, NULL, 0, event, &wait));
  if (in_child) CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  exec = new_exec(graph);
  if (form == REMOVED_SINCE) CHECK_OK(cushim_node_remove(wait));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
  return exec;
}

static cushim_status launch(cushim_exec of) { return cushim_exec_launch(of, all.stream); }

static void is_refused(void) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, launch(exec));
  CHECK_CONTAINS(last_message(), "part of that capture");
  CHECK_CONTAINS(last_message(), "\"go\"");
}

/* What the other thread does until the first is through. */
static int is_over, called;

static void *capture_records(void *data) {
  cushim_builder builder = NULL;
  int round;
  for (round = 0; !__atomic_load_n(&is_over, __ATOMIC_SEQ_CST); round++) {
    builder = begun();
    CHECK_OK(cushim_event_record(event, cushim_builder_stream(builder)));
    CHECK_OK(round % 2 == 0 ? cushim_builder_end(builder, NULL) : cushim_builder_close(builder));
    CHECK_OK(cushim_builder_destroy(builder));
  }
  return data;
}

/* Records in a stream that is captured now and then: each one is in the capture, or is work. */
static void *record_until_over(void *stream) {
  while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) CHECK_OK(cushim_event_record(event, (cushim_stream)stream));
  return NULL;
}

static void *record_where_captures_begin(void *data) {
  const cushim_stream stream = new_stream(all.context);
  cushim_builder builder = NULL;
  pthread_t recording;
  CHECK(pthread_create(&recording, NULL, record_until_over, stream) == 0);
  while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
    CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
    CHECK_OK(cushim_builder_end(builder, NULL));
    CHECK_OK(cushim_builder_destroy(builder));
  }
  CHECK(pthread_join(recording, NULL) == 0);
  CHECK_OK(cushim_stream_destroy(stream));
  return data;
}

static void is_called(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST); }

/* Whatever the other thread does, what is enqueued behind a launch runs. */
static void is_refused_in_time(void *(*records)(void *)) {
  pthread_t other;
  int32_t done = 0;
  int round;
  is_over = called = 0;
  CHECK_OK(cushim_event_create(all.context, NULL, &event));
  waiting(PLAIN);
  if (!CHECK(pthread_create(&other, NULL, records, NULL) == 0)) return;
  for (round = 0; round < 20000; round++) {
    const cushim_status status = launch(exec);
    CHECK(status == CUSHIM_SUCCESS || status == CUSHIM_ERROR_INVALID_ARGUMENT);
    CHECK_OK(cushim_stream_launch_host_function(all.stream, is_called, &called, NULL));
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_flush_callbacks(30000000000ull, &done));
  CHECK(called == round);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_event_destroy(event));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    int form;
    for (form = 0; form < FORMS; form++) {
      cushim_builder builder;
      cushim_graph graph = NULL;
      CHECK_OK(cushim_event_create(all.context, NULL, &event));
      CHECK_OK(cushim_set_label(event, "go"));
      waiting(form);
      CHECK_OK(launch(exec));
      builder = begun();
      CHECK_OK(cushim_event_record(event, cushim_builder_stream(builder)));
      is_refused();
      /* Nothing was lost, and the stream takes part in nothing. */
      CHECK_OK(cushim_stream_synchronize(all.stream));
      CHECK_OK(cushim_builder_end(builder, &graph));
      CHECK_OK(cushim_builder_destroy(builder));
      CHECK_OK(launch(exec));
      CHECK_OK(cushim_stream_synchronize(all.stream));
      /* Once more, with an exec that is made while the capture is under way; a record elsewhere ends it. */
      CHECK_OK(cushim_exec_destroy(exec));
      CHECK_OK(cushim_graph_destroy(graph));
      builder = begun();
      CHECK_OK(cushim_event_record(event, cushim_builder_stream(builder)));
      waiting(form);
      is_refused();
      CHECK_OK(cushim_event_record(event, all.stream));
      CHECK_OK(launch(exec));
      CHECK_OK(cushim_stream_synchronize(all.stream));
      CHECK_OK(cushim_builder_end(builder, &graph));
      CHECK_OK(cushim_graph_destroy(graph));
      CHECK_OK(cushim_exec_destroy(exec));
      CHECK_OK(cushim_event_destroy(event));
      CHECK_OK(cushim_builder_destroy(builder));
    }
    is_refused_in_time(capture_records);
    is_refused_in_time(record_where_captures_begin);
  }
  return close_graphs();
}
