/*
 * Who waits for releases has them all: what an exec was the last to use the driver releases on a thread of its own, some time after the
 * last launch. And nobody waits for a launch that is not done, or for an exec that is still there.
 */
#include "graphs.h"

enum { ROUNDS = 500 };

static int count;

static void no_op(void *data) { (void)data; }

/* A graph whose one node has an owner. */
static cushim_graph owning(cushim_node *node) {
  cushim_owner owner = {&count, count_release};
  cushim_graph graph = new_graph();
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, node));
  return graph;
}

static cushim_exec launched(cushim_graph graph, cushim_stream stream) {
  cushim_exec exec = NULL;
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  return exec;
}

static int flushed(uint64_t nanoseconds) {
  int32_t done = 0;
  CHECK_OK(cushim_flush_callbacks(nanoseconds, &done));
  return done;
}

/* The stream may end first, and the graph before the exec. */
static void exec_and_graph_are_destroyed(int round) {
  cushim_stream stream = round % 2 ? all.stream : new_stream(all.context);
  cushim_node node;
  cushim_graph graph = owning(&node);
  cushim_exec exec = launched(graph, stream);
  if (round % 3 == 0) CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_exec_destroy(exec));
  if (round % 3 != 0) CHECK_OK(cushim_graph_destroy(graph));
  if (round % 2 == 0) CHECK_OK(cushim_stream_destroy(stream));
}

/* The launch ends only after the exec. */
static void exec_is_destroyed_first(void) {
  cushim_node node;
  cushim_graph graph = owning(&node);
  CHECK_OK(cushim_exec_destroy(launched(graph, all.stream)));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static void each_round(void) {
  int round, late = 0;
  for (round = 0; round < ROUNDS; round++) {
    int before = released(&count);
    if (round % 5 == 0) {
      exec_is_destroyed_first();
    } else {
      exec_and_graph_are_destroyed(round);
    }
    CHECK(flushed(UINT64_MAX) == 1);
    late += released(&count) != before + 1;
    CHECK(released_soon(&count, before + 1));
  }
  CHECK(late == 0);
}

/* What an exec still uses is not due, however long the wait. */
static void a_live_exec(void) {
  int before = released(&count);
  cushim_node node;
  cushim_graph graph = owning(&node);
  cushim_exec exec = launched(graph, all.stream);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(flushed(UINT64_MAX) == 1 && released(&count) == before);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(flushed(UINT64_MAX) == 1 && released(&count) == before + 1);
}

static int gate;

static void wait_for_gate(void *data) {
  (void)data;
  while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) usleep(100);
}

/* Nor is what a launch uses that is under way. */
static void a_launch_under_way(void) {
  int before = released(&count);
  cushim_node node;
  cushim_graph graph = owning(&node);
  cushim_exec exec = NULL;
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_stream_launch_host_function(all.stream, wait_for_gate, NULL, NULL));
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(flushed(UINT64_MAX) == 1 && released(&count) == before);
  __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(flushed(UINT64_MAX) == 1 && released(&count) == before + 1);
}

/* What a node of an exec used before it was changed is due when the launches until then are done. */
static void a_changed_node(void) {
  int before = released(&count);
  cushim_owner owner = {&count, count_release};
  cushim_graph graph = new_graph();
  cushim_exec exec = NULL;
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, NULL, &node));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_set_host_function(exec, node, no_op, NULL, &owner));
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_exec_set_host_function(exec, node, no_op, NULL, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(flushed(UINT64_MAX) == 1 && released(&count) == before + 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    each_round();
    a_live_exec();
    a_launch_under_way();
    a_changed_node();
  }
  return close_graphs();
}
