/*
 * Two threads with one capture: what one adds by hand stays in order with what the other enqueues, whoever ends the capture ends what
 * begins in it, and what comes too late is done or refused.
 */
#include "builders.h"

#include <pthread.h>

/* The other thread, with what it is about. */
static struct {
  pthread_t thread;
  cushim_builder builder;
  cushim_stream stream;
  cushim_buffer buffer;
  cushim_graph graph, outer;
  int go;
  int over;
} other;

static int is_set(const int *flag) { return __atomic_load_n(flag, __ATOMIC_SEQ_CST); }

static void set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST); }

/* Both begin at the same time; one of them a little later, by the number of the round. */
static void meet(int delay) {
  volatile int rest = delay % 400;
  set(&other.go);
  while (rest > 0) rest--;
}

static void wait_to_meet(void) {
  while (!is_set(&other.go)) {}
}

static int begin_other(void *(*run)(void *)) {
  other.go = other.over = 0;
  return CHECK(pthread_create(&other.thread, NULL, run, NULL) == 0);
}

static void join_other(void) { CHECK(pthread_join(other.thread, NULL) == 0); }

static void *fill_until_over(void *data) {
  cushim_endpoint to = cushim_endpoint_device(slot(1));
  int i;
  wait_to_meet();
  for (i = 0; i < 20000 && !is_set(&other.over); i++) CHECK_OK(cushim_stream_fill(other.stream, &to, CUSHIM_VALUE_32(1), 1));
  return data;
}

static void embed_or_decide(cushim_graph child, int decides) {
  cushim_builder body = NULL;
  if (!decides) {
    CHECK_OK(cushim_builder_add_child(other.builder, child, CUSHIM_CHILD_CLONE, NULL));
    return;
  }
  CHECK_OK(cushim_builder_add_conditional(other.builder, condition_of(other.builder, 0), CUSHIM_CONDITIONAL_IF, 1, NULL, &body));
  CHECK_OK(cushim_builder_destroy(body));
}

/* Whatever two threads do in one stream comes one after the other. */
static void stays_in_order(int decides) {
  cushim_graph child = new_graph(), graph = NULL;
  size_t nodes = 0, edges = 0;
  int round, i;
  add_empty(child, NULL);
  for (round = 0; round < 4; round++) {
    other.builder = begun();
    other.stream = cushim_builder_stream(other.builder);
    if (!begin_other(fill_until_over)) return;
    meet(0);
    for (i = 0; i < 50; i++) embed_or_decide(child, decides);
    set(&other.over);
    join_other();
    if (CHECK_OK(cushim_builder_end(other.builder, &graph))) {
      CHECK_OK(cushim_graph_get_nodes(graph, NULL, 0, &nodes));
      CHECK_OK(cushim_graph_get_edges(graph, NULL, 0, &edges));
      CHECK(edges == nodes - 1);
      CHECK_OK(cushim_graph_destroy(graph));
    }
    CHECK_OK(cushim_builder_destroy(other.builder));
  }
  CHECK_OK(cushim_graph_destroy(child));
}

static void *begin_body(void *data) {
  cushim_status status;
  wait_to_meet();
  status = cushim_builder_begin(other.builder);
  CHECK(status == CUSHIM_SUCCESS || status == CUSHIM_ERROR_INVALID_HANDLE || status == CUSHIM_ERROR_INVALID_ARGUMENT);
  return data;
}

/* The capture of a body that begins while the one around it is given up goes with that. */
static void body_begins(void) {
  cushim_builder outer;
  int round;
  for (round = 0; round < 400; round++) {
    outer = begun();
    CHECK_OK(cushim_builder_add_conditional(outer, condition_of(outer, 1), CUSHIM_CONDITIONAL_IF, 1, NULL, &other.builder));
    append(outer, 0, 1);
    if (!begin_other(begin_body)) return;
    meet(round);
    if (round % 2 == 0) CHECK_OK(cushim_builder_close(outer));
    CHECK_OK(cushim_builder_destroy(outer));
    join_other();
    CHECK_OK(cushim_builder_destroy(other.builder));
  }
  CHECK_OK(cushim_context_synchronize(all.context)); /* nothing captures any more */
}

static void *move_graph(void *data) {
  cushim_graph inner = (cushim_graph)NOT_NULL;
  int i;
  wait_to_meet();
  for (i = 0; i < 4; i++) {
    CHECK(cushim_graph_add_child(other.outer, NULL, 0, other.graph, CUSHIM_CHILD_MOVE, NULL, &inner) != CUSHIM_SUCCESS);
    CHECK(inner == NULL);
  }
  return data;
}

/* The refusal names a builder that is destroyed meanwhile. */
static void builder_goes(void) {
  cushim_builder builder;
  cushim_node node = NULL;
  size_t count;
  int round;
  other.outer = new_graph();
  for (round = 0; round < 400; round++) {
    builder = begun();
    append(builder, 0, 1);
    CHECK_OK(cushim_builder_get_tail(builder, &node, 1, &count));
    CHECK_OK(cushim_node_get_graph(node, &other.graph));
    if (!begin_other(move_graph)) return;
    meet(round);
    CHECK_OK(cushim_builder_destroy(builder));
    join_other();
  }
  CHECK_OK(cushim_graph_destroy(other.outer));
}

static void *destroy_buffer(void *data) {
  wait_to_meet();
  CHECK_OK(cushim_buffer_destroy(other.buffer));
  return data;
}

/* Memory of a graph is freed in the capture, or is the graph's. */
static void buffer_goes(void) {
  cushim_resource resource = NULL;
  cushim_builder builder;
  int round;
  CHECK_OK(cushim_resource_create_graph(all.device, &resource));
  for (round = 0; round < 400; round++) {
    builder = begun();
    CHECK_OK(cushim_buffer_create(resource, cushim_builder_stream(builder), 256, &other.buffer));
    if (!begin_other(destroy_buffer)) return;
    meet(round);
    CHECK_OK(round % 2 == 0 ? cushim_builder_end(builder, NULL) : cushim_builder_close(builder));
    join_other();
    CHECK_OK(cushim_builder_destroy(builder));
  }
  CHECK_OK(cushim_resource_destroy(resource));
}

static void *fill_once(void *data) {
  cushim_endpoint to = cushim_endpoint_device(slot(1));
  wait_to_meet();
  CHECK_OK(cushim_stream_fill(other.stream, &to, CUSHIM_VALUE_32(1), 1));
  return data;
}

/* A stream that somebody gave takes the operation, before the end or after. */
static void too_late(void) {
  cushim_builder builder = NULL;
  int round;
  other.stream = new_stream(all.context);
  for (round = 0; round < 400; round++) {
    CHECK_OK(cushim_builder_create_on(other.stream, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
    append_in(other.stream, 0, 1);
    if (!begin_other(fill_once)) return;
    meet(round);
    CHECK_OK(cushim_builder_end(builder, NULL));
    join_other();
    CHECK_OK(cushim_builder_destroy(builder));
  }
  CHECK_OK(cushim_stream_synchronize(other.stream));
  CHECK_OK(cushim_stream_destroy(other.stream));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  stays_in_order(0);
  if (version >= 12030) {
    stays_in_order(1);
    body_begins();
  }
  if (version >= 12090) builder_goes();
  buffer_goes();
  too_late();
  return close_graphs();
}
