/*
 * An exec is changed very often, and launched now and then: what is replaced is released when the launches before are done, and nothing
 * grows. The whole number of changes is made under one version, a part of it under the others.
 */
#include "graphs.h"
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
/* Bytes on the heap. */
static size_t heap(void) { return mallinfo2().uordblks; }
#else
static size_t heap(void) { return 0; }
#endif

enum { MANY = 100000, FEW = 2000, ROUND = 1000 };

static int given, gone; /* owners */
static cushim_buffer buffers[2];
static struct control control;
static int has_control;

static int times(void) { return has_control && version == 13000 ? MANY : FEW; }

static cushim_owner next_owner(void) {
  given++;
  return counted(&gone);
}

struct endless {
  const char *name;
  cushim_status (*change)(cushim_node node, cushim_exec exec, int time);
  int is_owned;
};

static cushim_status fill(cushim_node node, cushim_exec exec, int time) {
  cushim_owner owner = next_owner();
  cushim_endpoint to = owned_slot(0, &owner);
  return cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32((uint32_t)time), 1);
}

static cushim_status argument(cushim_node node, cushim_exec exec, int time) {
  cushim_owned_pointer pointer;
  const cushim_arg arg = owned_arg(&pointer, slot(time % 8), &gone);
  given++;
  return cushim_exec_set_argument(exec, node, 0, &arg);
}

static void no_op(void *data) { (void)data; }

static cushim_status function(cushim_node node, cushim_exec exec, int time) {
  cushim_owner owner = next_owner();
  (void)time;
  return cushim_exec_set_host_function(exec, node, no_op, NULL, &owner);
}

static cushim_status rebinding(cushim_node node, cushim_exec exec, int time) {
  size_t nodes = 0;
  const cushim_status status = cushim_exec_rebind(exec, buffers[time % 2], buffers[1 - time % 2], &nodes);
  (void)node;
  CHECK(nodes == 2);
  return status;
}

static cushim_status value(cushim_node node, cushim_exec exec, int time) {
  const uint32_t number = (uint32_t)time;
  size_t nodes = 0;
  const cushim_status status = cushim_exec_set_parameter(exec, "number", &number, sizeof number, &nodes);
  (void)node;
  CHECK(nodes == 2);
  return status;
}

/* Waits until no more than so many owners and objects of the driver are there. */
static void expect_few(const struct endless *what, int owners, size_t live) {
  char text[160];
  size_t now = 0;
  int i;
  for (i = 0; i < 2000; i++) {
    now = has_control ? control.live_objects() : live;
    if (given - released(&gone) <= owners && now <= live) break;
    pause_shortly();
  }
  snprintf(text, sizeof text, "%s: %d of %d owners are gone, %zu objects are there, %zu before", what->name, gone, given, now, live);
  check_that(given - gone == owners && now <= live, __FILE__, __LINE__, text);
}

static void change_often(const struct endless *what, cushim_graph graph, cushim_node node) {
  cushim_exec exec = new_exec(graph);
  const int before = given - released(&gone), end = times();
  size_t live = 0;
  int time;
  run(exec);
  for (time = 0; time < end; time++) {
    if (!CHECK_OK(what->change(node, exec, time))) break;
    if (time % 16 == 0) CHECK_OK(cushim_exec_launch(exec, all.stream));
    if (time % ROUND != ROUND - 1) continue;
    CHECK_OK(cushim_stream_synchronize(all.stream));
    flush_callbacks();
    if (time < ROUND) live = has_control ? control.live_objects() : 0;
    expect_few(what, before + what->is_owned, live);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  expect_few(what, 0, live);
}

static int is_open;

static void wait_until_open(void *data) {
  (void)data;
  while (!__atomic_load_n(&is_open, __ATOMIC_SEQ_CST)) pause_shortly();
}

/* Two buffers are exchanged again and again, and no launch is known to be done: the exec keeps both, however often that is. */
static void rebind_often(cushim_exec exec) {
  enum { TIMES = 10000, ROOM = 64 * 1024 };
  size_t before, live;
  int time;
  for (time = 0; time < 10; time++) CHECK_OK(rebinding(NULL, exec, time));
  flush_callbacks();
  before = heap();
  live = has_control ? control.live_objects() : 0;
  for (time = 0; time < TIMES; time++) {
    if (!CHECK_OK(rebinding(NULL, exec, time))) break;
  }
  if (!has_control) return;
  CHECK(heap() <= before + ROOM);
  CHECK(control.live_objects() <= live);
}

static void rebind_meanwhile(cushim_graph graph) {
  cushim_exec exec = new_exec(graph);
  cushim_stream stream = NULL;
  run(exec);
  CHECK_OK(cushim_stream_create(all.context, NULL, &stream));
  /* The launch waits. */
  CHECK_OK(cushim_stream_launch_host_function(stream, wait_until_open, NULL, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  rebind_often(exec);
  __atomic_store_n(&is_open, 1, __ATOMIC_SEQ_CST);
  CHECK_OK(cushim_stream_synchronize(stream));
  /* The stream is gone, so nobody can ask it. */
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  rebind_often(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  const struct endless of_fills = {"memset", fill, 1}, of_arguments = {"argument", argument, 1}, of_functions = {"function", function, 1};
  const struct endless of_buffers = {"buffer", rebinding, 0}, of_values = {"parameter", value, 0};
  cushim_parameter parameter;
  cushim_resource pool;
  cushim_arg args[2];
  cushim_graph graph;
  cushim_node node = NULL;
  cushim_kernel add;
  const uint32_t number = 1;
  cushim_owner owner;
  check_begin();
  if (!open_graphs()) return close_graphs();
  has_control = find_control(&control);
  add = kernel_of(all.library, "add");
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &buffers[0]));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &buffers[1]));
  CHECK_OK(fill_bytes(all.stream, cushim_buffer_pointer(buffers[0]), 0, 64));
  CHECK_OK(fill_bytes(all.stream, cushim_buffer_pointer(buffers[1]), 0, 64));

  graph = new_graph();
  change_often(&of_fills, graph, add_number(graph, NULL, 0, 1));
  graph = new_graph();
  change_often(&of_arguments, graph, add_append(graph, NULL, 0, 1));
  graph = new_graph();
  owner = next_owner();
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, &node));
  change_often(&of_functions, graph, node);

  memset(&parameter, 0, sizeof parameter);
  parameter.name = "number";
  parameter.value = &number;
  parameter.size = sizeof number;
  args[0] = cushim_arg_buffer(buffers[0]);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter);
  graph = new_graph();
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &node));
  CHECK_OK(cushim_graph_add_kernel(graph, &node, 1, add, NULL, args, 2, NULL));
  change_often(&of_buffers, graph, node);
  graph = new_graph();
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &node));
  CHECK_OK(cushim_graph_add_kernel(graph, &node, 1, add, NULL, args, 2, NULL));
  change_often(&of_values, graph, node);

  graph = new_graph();
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &node));
  CHECK_OK(cushim_graph_add_kernel(graph, &node, 1, add, NULL, args, 2, NULL));
  rebind_meanwhile(graph);

  CHECK_OK(cushim_buffer_destroy(buffers[0]));
  CHECK_OK(cushim_buffer_destroy(buffers[1]));
  CHECK_OK(cushim_kernel_destroy(add));
  return close_graphs();
}
