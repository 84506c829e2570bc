/*
 * What many nodes of an exec use is exchanged in one call: a buffer, or the value of a named parameter; in child graphs and bodies,
 * too, and all or nothing.
 */
#include "conditions.h"

static cushim_resource pool;

static cushim_buffer new_buffer(cushim_resource resource, size_t bytes, uint32_t number) {
  cushim_buffer buffer = NULL;
  cushim_endpoint to;
  CHECK_OK(cushim_buffer_create(resource, all.stream, bytes, &buffer));
  to = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_stream_fill(all.stream, &to, CUSHIM_VALUE_32(number), bytes / 4));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  return buffer;
}

static uint32_t in_buffer(cushim_buffer buffer, size_t index) { return number_at(cushim_buffer_pointer(buffer) + 4 * index); }

static cushim_parameter parameter_of(const char *name, const void *value, uint32_t size) {
  cushim_parameter parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.name = name;
  parameter.value = value;
  parameter.size = size;
  return parameter;
}

/* Adds to a number of the memory what the parameter is. */
static cushim_status add_bound(cushim_graph graph, int index, cushim_kernel kernel, const cushim_parameter *parameter, cushim_node *node) {
  const uint64_t to = slot(index);
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(to);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, parameter);
  return cushim_graph_add_kernel(graph, NULL, 0, kernel, NULL, args, 2, node);
}

static void parameters(void) {
  cushim_graph graph = new_graph(), child = new_graph(), clone = NULL, body = NULL;
  cushim_kernel add = kernel_of(all.library, "add");
  const uint32_t one = 1, two = 2, five = 5;
  const uint64_t wide = 7;
  cushim_parameter seed = parameter_of("seed", &one, 4), other = parameter_of("other", &two, 4), too_wide = parameter_of("seed", &wide, 8);
  cushim_parameter nameless = parameter_of(NULL, &one, 4);
  cushim_exec exec, untouched, of_clone;
  cushim_node node = NULL;
  cushim_arg args[2], arg;
  uint64_t values[2];
  const uint64_t to = slot(3);
  size_t count = 77;
  CHECK_OK(add_bound(graph, 0, add, &seed, &node));
  CHECK_OK(add_bound(graph, 1, add, &seed, NULL));
  CHECK_OK(add_bound(graph, 2, add, &other, NULL));
  CHECK_OK(add_bound(child, 3, add, &seed, NULL));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, add_bound(graph, 4, add, &too_wide, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, add_bound(graph, 4, add, &nameless, NULL));
  CHECK_OK(cushim_graph_clone(graph, &clone));
  exec = new_exec(graph);
  untouched = new_exec(graph);
  of_clone = new_exec(clone);
  CHECK_OK(cushim_exec_set_parameter(exec, "seed", &five, 4, &count));
  CHECK(count == 3);
  CHECK(result_of_exec(exec) == 5 && number_at(slot(1)) == 5 && number_at(slot(2)) == 2 && number_at(slot(3)) == 5);
  CHECK(result_of_exec(untouched) == 1 && number_at(slot(3)) == 1);
  CHECK_OK(cushim_exec_set_parameter(of_clone, "other", &five, 4, NULL));
  CHECK(result_of_exec(of_clone) == 1 && number_at(slot(2)) == 5 && number_at(slot(3)) == 1);
  CHECK_OK(cushim_exec_get_arguments(exec, node, args, 2, &count, values, sizeof values, NULL));
  CHECK(count == 2 && *(const uint32_t *)args[1].value == 5);

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "none", &five, 4, &count));
  CHECK_CONTAINS(last_message(), "no parameter \"none\"; it has \"other\", \"seed\"");
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "seed", &wide, 8, &count));
  CHECK_CONTAINS(last_message(), "takes 4 bytes, and 8 are given");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, NULL, &five, 4, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "seed", NULL, 4, NULL));
  CHECK(result_of_exec(exec) == 5);
  /* An argument that is set singly is the parameter's no more. */
  arg = CUSHIM_ARG(two);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK_OK(cushim_exec_set_parameter(exec, "seed", &one, 4, &count));
  CHECK(count == 2 && result_of_exec(exec) == 2 && number_at(slot(1)) == 1);
  /* It can be another one's, or a new one's, of which the size is known from then on. */
  other.name = "third";
  arg = cushim_arg_make(CUSHIM_ARG_PARAMETER, &other);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK_OK(cushim_exec_set_parameter(exec, "third", &five, 4, &count));
  CHECK(count == 1 && result_of_exec(exec) == 5);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "third", &wide, 8, &count));
  too_wide.name = "third";
  arg = cushim_arg_make(CUSHIM_ARG_PARAMETER, &too_wide);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_argument(exec, node, 0, &arg));
  CHECK_CONTAINS(last_message(), "\"third\" has 4 bytes elsewhere");
  CHECK(result_of_exec(exec) == 5);
  /* A name that no argument has any more is refused, and set again it is there again; another exec still has it. */
  arg = CUSHIM_ARG(two);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  count = 77;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "third", &five, 4, &count));
  CHECK_CONTAINS(last_message(), "\"third\" any more");
  CHECK(count == 0 && result_of_exec(exec) == 2);
  CHECK_OK(cushim_exec_set_parameter(untouched, "seed", &five, 4, &count));
  CHECK(count == 3);
  arg = cushim_arg_make(CUSHIM_ARG_PARAMETER, &other);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK_OK(cushim_exec_set_parameter(exec, "third", &five, 4, &count));
  CHECK(count == 1 && result_of_exec(exec) == 5);
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(two);
  CHECK_OK(cushim_exec_set_kernel(exec, node, NULL, NULL, args, 2)); /* all arguments, of which none is one */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "third", &five, 4, &count));
  CHECK_CONTAINS(last_message(), "\"third\" any more");
  /* In a stream a parameter is its value. */
  clear_memory();
  args[0] = CUSHIM_ARG(to);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &other);
  CHECK_OK(cushim_kernel_launch(add, all.stream, NULL, args, 2));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(slot(3)) == 2);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_exec_destroy(untouched));
  CHECK_OK(cushim_exec_destroy(of_clone));
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(graph));
  if (version >= 12030) { /* in a body, too */
    graph = new_graph();
    add_conditional(graph, NULL, new_condition(graph, 1), CUSHIM_CONDITIONAL_IF, 1, &body);
    CHECK_OK(add_bound(body, 0, add, &seed, NULL));
    exec = new_exec(graph);
    CHECK_OK(cushim_exec_set_parameter(exec, "seed", &five, 4, &count));
    CHECK(count == 1 && result_of_exec(exec) == 5);
    CHECK_OK(cushim_exec_destroy(exec));
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_kernel_destroy(add));
}

/* What was refused leaves no parameter behind. */
static void refused_parameters(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node foreign = add_empty(other, NULL);
  const uint64_t wide = 7, to = memory;
  const uint32_t narrow = 3;
  cushim_parameter first = parameter_of("size", &wide, 8), second = parameter_of("size", &narrow, 4);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(to);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &first);
  config.grid.x = 1;
  config.block.x = 5000;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, &foreign, 1, sum, NULL, args, 2, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, sum, &config, args, 2, NULL));
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &second);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 2, NULL));
  CHECK(result_of(graph) == 3);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* A buffer in kernel arguments, as a whole and in part, at both ends of copies, and under memsets. */
static void rebound(void) {
  cushim_graph graph = new_graph(), child = new_graph();
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 128, 10), third = new_buffer(pool, 128, 100);
  cushim_endpoint part = cushim_endpoint_buffer(first, 8), end = cushim_endpoint_buffer(first, 32), to, rows;
  const uint64_t into = memory;
  cushim_arg args[2], read[2];
  cushim_node kernel = NULL, nodes[5];
  uint64_t values[16];
  cushim_copy_node copied = CUSHIM_OPTIONS(cushim_copy_node);
  cushim_exec exec, untouched;
  size_t count = 0;
  args[0] = CUSHIM_ARG(into);
  args[1] = cushim_arg_buffer(first);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, sum, NULL, args, 2, &kernel));
  args[1] = cushim_arg_endpoint(&part);
  CHECK_OK(cushim_graph_add_kernel(child, NULL, 0, sum, NULL, args, 2, &nodes[0]));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  to = cushim_endpoint_device(slot(1));
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &part, 4, &nodes[1]));
  CHECK_OK(cushim_graph_add_fill(graph, &nodes[1], 1, &end, CUSHIM_VALUE_32(3), 2, &nodes[2]));
  rows = cushim_endpoint_buffer(first, 48);
  CHECK_OK(cushim_graph_add_fill_2d(graph, &nodes[2], 1, &rows, 8, CUSHIM_VALUE_32(4), 1, 2, &nodes[3]));
  exec = new_exec(graph);
  untouched = new_exec(graph);
  CHECK_OK(cushim_exec_rebind(exec, first, second, &count));
  CHECK(count == 5);
  CHECK(result_of_exec(exec) == 20 && number_at(slot(1)) == 10);
  CHECK(in_buffer(second, 8) == 3 && in_buffer(second, 9) == 3 && in_buffer(second, 12) == 4 && in_buffer(second, 14) == 4);
  CHECK(in_buffer(second, 13) == 10 && in_buffer(first, 8) == 1);
  CHECK_OK(cushim_exec_get_arguments(exec, kernel, read, 2, &count, values, sizeof values, NULL));
  CHECK(read[1].kind == CUSHIM_ARG_BUFFER && is_same(read[1].value, second));
  CHECK_OK(cushim_exec_get_copy(exec, nodes[1], &copied));
  CHECK(is_same((const void *)(uintptr_t)copied.source.endpoint.address, second) && copied.source.endpoint.offset == 8);
  CHECK(result_of_exec(untouched) == 2);
  /* Again, and back. */
  CHECK_OK(cushim_exec_rebind(exec, second, third, &count));
  CHECK(count == 5 && result_of_exec(exec) == 200);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, third, first, &count));
  CHECK_CONTAINS(last_message(), "64 bytes");
  CHECK(count == 0 && result_of_exec(exec) == 200);
  CHECK_OK(cushim_exec_rebind(exec, first, third, &count)); /* nobody uses it */
  CHECK(count == 0);
  CHECK_OK(cushim_exec_rebind(exec, third, second, NULL));
  /* The exec keeps what it uses, and no more. */
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK(result_of_exec(exec) == 20);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_exec_destroy(untouched));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(third));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* Refused with the node that stands in the way; then nothing has changed. */
static void refusals(void) {
  cushim_graph graph = new_graph();
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 2), elsewhere = NULL, stale = new_buffer(pool, 64, 3);
  cushim_resource synchronous = NULL;
  const cushim_extent extent = {4, 2, 1};
  cushim_region box = cushim_region_at(cushim_endpoint_buffer(first, 0), 8), target = cushim_region_at(cushim_endpoint_device(slot(4)), 8);
  const uint64_t into = memory;
  cushim_arg args[2];
  cushim_node kernel = NULL, copy = NULL;
  cushim_exec exec;
  size_t count = 7;
  CHECK_OK(cushim_resource_create_device(all.context, &synchronous));
  CHECK_OK(cushim_buffer_create(synchronous, NULL, 64, &elsewhere));
  args[0] = CUSHIM_ARG(into);
  args[1] = cushim_arg_buffer(first);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, sum, NULL, args, 2, &kernel));
  exec = new_exec(graph);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, first, elsewhere, &count));
  CHECK_CONTAINS(last_message(), "resource");
  CHECK(count == 0);
  CHECK_OK(cushim_buffer_destroy(stale));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_rebind(exec, first, stale, &count));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_rebind(exec, NULL, second, &count));
  CHECK(result_of_exec(exec) == 1);
  /* A removed node runs on, and nobody can reach it. */
  CHECK_OK(cushim_set_label(kernel, "adder"));
  CHECK_OK(cushim_node_remove(kernel));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, first, second, &count));
  CHECK_CONTAINS(last_message(), "adder");
  CHECK_CONTAINS(last_message(), "removed");
  CHECK(result_of_exec(exec) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  /* The driver exchanges no memory of a box. */
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, sum, NULL, args, 2, &kernel));
  CHECK_OK(cushim_graph_add_copy_3d(graph, NULL, 0, &target, &box, &extent, &copy));
  CHECK_OK(cushim_set_label(copy, "boxed"));
  exec = new_exec(graph);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, first, second, &count));
  CHECK_CONTAINS(last_message(), "boxed");
  CHECK(result_of_exec(exec) == 1 && number_at(slot(4)) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_destroy(elsewhere));
  CHECK_OK(cushim_resource_destroy(synchronous));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* An exec that is rebound often keeps two buffers and no more. */
static void often(void) {
  cushim_graph graph = new_graph();
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_buffer before = new_buffer(pool, 64, 0), next;
  const uint64_t into = memory;
  cushim_arg args[2];
  cushim_exec exec;
  struct control control;
  const int has_control = find_control(&control);
  size_t live = 0;
  uint32_t i;
  args[0] = CUSHIM_ARG(into);
  args[1] = cushim_arg_buffer(before);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, sum, NULL, args, 2, NULL));
  exec = new_exec(graph);
  for (i = 1; i <= 100; i++) {
    next = new_buffer(pool, 64, i);
    CHECK_OK(cushim_exec_rebind(exec, before, next, NULL));
    CHECK_OK(cushim_buffer_destroy(before));
    before = next;
    CHECK(result_of_exec(exec) == i);
    flush_callbacks();
    if (i == 10 && has_control) live = control.live_objects();
  }
  if (has_control) {
    for (i = 0; i < 1000 && control.live_objects() > live; i++) pause_shortly(), flush_callbacks();
    CHECK(control.live_objects() <= live);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(before));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* A node is removed after its parameter was set: it runs on as it is, and the parameter reaches what is left. */
static void removed_between(void) {
  cushim_graph graph = new_graph();
  cushim_kernel add = kernel_of(all.library, "add");
  cushim_buffer buffer = new_buffer(pool, 64, 0);
  cushim_parameter parameter;
  cushim_node first = NULL, second = NULL;
  cushim_arg args[2];
  cushim_exec exec;
  uint32_t number = 1;
  size_t count = 0;
  memset(&parameter, 0, sizeof parameter);
  parameter.name = "number";
  parameter.value = &number;
  parameter.size = sizeof number;
  args[0] = cushim_arg_buffer(buffer);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &first));
  CHECK_OK(cushim_graph_add_kernel(graph, &first, 1, add, NULL, args, 2, &second));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_parameter(exec, "number", &number, sizeof number, &count));
  CHECK(count == 2);
  CHECK_OK(cushim_node_remove(second));
  CHECK_OK(cushim_exec_set_parameter(exec, "number", &number, sizeof number, &count));
  CHECK(count == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_kernel_destroy(add));
}

/* What a node does in the exec counts, also when it was removed from the graph: by an update, by a change of its own or by rebinding
   before. */
static void removed_after_changes(void) {
  enum { UPDATED, SET, REBOUND, WAYS };
  int way;
  for (way = UPDATED; way < WAYS; way++) {
    cushim_graph graph = new_graph(), twin = new_graph();
    cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 2), third = new_buffer(pool, 64, 3);
    cushim_endpoint before = cushim_endpoint_buffer(first, 0), now = cushim_endpoint_buffer(second, 0);
    cushim_node node = NULL;
    cushim_exec exec;
    size_t count = 0;
    CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &before, CUSHIM_VALUE_32(10), 1, &node));
    CHECK_OK(cushim_graph_add_fill(twin, NULL, 0, &now, CUSHIM_VALUE_32(10), 1, NULL));
    CHECK_OK(cushim_set_label(node, "filler"));
    exec = new_exec(graph);
    if (way == UPDATED) CHECK_OK(cushim_exec_update(exec, twin, NULL));
    if (way == SET) CHECK_OK(cushim_exec_set_fill(exec, node, &now, CUSHIM_VALUE_32(10), 1));
    if (way == REBOUND) CHECK_OK(cushim_exec_rebind(exec, first, second, NULL));
    CHECK_OK(cushim_node_remove(node));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, second, third, &count));
    CHECK_CONTAINS(last_message(), "filler");
    CHECK_CONTAINS(last_message(), "removed");
    CHECK(count == 0);
    CHECK_OK(cushim_exec_rebind(exec, first, third, &count));
    CHECK(count == 0);
    run(exec);
    CHECK(in_buffer(first, 0) == 1 && in_buffer(second, 0) == 10 && in_buffer(third, 0) == 3);
    CHECK_OK(cushim_exec_destroy(exec));
    CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_graph_destroy(twin));
    CHECK_OK(cushim_buffer_destroy(first));
    CHECK_OK(cushim_buffer_destroy(second));
    CHECK_OK(cushim_buffer_destroy(third));
  }
}

/* A removed node of which nobody can tell what it does since an update may use any buffer. */
static void removed_and_unknown(void) {
  cushim_graph graph = new_graph(), twin = NULL;
  cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 2);
  cushim_endpoint to = cushim_endpoint_buffer(first, 0);
  cushim_node node = NULL, other = NULL;
  cushim_exec exec;
  size_t count = 0;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(10), 1, &node));
  CHECK_OK(cushim_graph_add_fill(graph, &node, 1, &to, CUSHIM_VALUE_32(11), 1, &other));
  CHECK_OK(cushim_graph_clone(graph, &twin));
  CHECK_OK(cushim_set_label(node, "filler"));
  exec = new_exec(graph);
  CHECK_OK(cushim_node_remove(node));
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK_OK(cushim_exec_set_fill(exec, other, &to, CUSHIM_VALUE_32(12), 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, first, second, &count));
  CHECK_CONTAINS(last_message(), "filler");
  CHECK(count == 0);
  run(exec);
  CHECK(in_buffer(first, 0) == 12 && in_buffer(second, 0) == 2);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
}

/* A node that comes to use a buffer twice, by two calls, is one node. */
static void counted_once(void) {
  cushim_graph graph = new_graph();
  cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 2), third = new_buffer(pool, 64, 3);
  cushim_endpoint to = cushim_endpoint_buffer(first, 0), from = cushim_endpoint_buffer(second, 32);
  cushim_exec exec;
  size_t count = 0;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 4, NULL));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_rebind(exec, first, second, &count));
  CHECK(count == 1);
  CHECK_OK(cushim_exec_rebind(exec, second, third, &count));
  CHECK(count == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_destroy(third));
}

/* After a whole update from another graph the exec knows what its nodes do, if both list the same nodes in the same order. */
static void after_updates(void) {
  cushim_graph graph = new_graph(), twin = new_graph();
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 2), third = new_buffer(pool, 64, 3);
  const uint64_t into = memory;
  cushim_arg args[2];
  cushim_node node = NULL;
  cushim_exec exec;
  size_t count = 0;
  args[0] = CUSHIM_ARG(into);
  args[1] = cushim_arg_buffer(first);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, sum, NULL, args, 2, &node));
  args[1] = cushim_arg_buffer(second);
  CHECK_OK(cushim_graph_add_kernel(twin, NULL, 0, sum, NULL, args, 2, NULL));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK(result_of_exec(exec) == 2);
  CHECK_OK(cushim_exec_rebind(exec, first, third, &count));
  CHECK(count == 0);
  CHECK_OK(cushim_exec_rebind(exec, second, third, &count));
  CHECK(count == 1 && result_of_exec(exec) == 3);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_buffer_destroy(third));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* The exec keeps the buffer that it uses now, also of a node of which it kept nothing before: because the definition's last handle had
   gone, because the definition's own argument became a plain value, or because the node came with another child graph. */
static void kept_by_the_exec_alone(void) {
  enum { DESTROYED, PLAIN, ANOTHER_CHILD, WAYS };
  cushim_kernel sum = kernel_of(all.library, "sum");
  int way;
  for (way = DESTROYED; way < WAYS; way++) {
    cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
    cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 10);
    const uint64_t into = memory, plain = cushim_buffer_pointer(first);
    cushim_node node = NULL, in_child = NULL;
    cushim_arg args[2], arg = CUSHIM_ARG(plain);
    cushim_exec exec;
    size_t count = 0;
    if (way == ANOTHER_CHILD && version < 12020) {
      CHECK_OK(cushim_graph_destroy(graph));
      CHECK_OK(cushim_graph_destroy(child));
      CHECK_OK(cushim_buffer_destroy(first));
      CHECK_OK(cushim_buffer_destroy(second));
      continue;
    }
    args[0] = CUSHIM_ARG(into);
    args[1] = cushim_arg_buffer(first);
    CHECK_OK(cushim_graph_add_kernel(child, NULL, 0, sum, NULL, args, 2, &in_child));
    CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner));
    exec = new_exec(way == ANOTHER_CHILD ? graph : child);
    if (way == DESTROYED) CHECK_OK(cushim_graph_destroy(child));
    if (way == PLAIN) CHECK_OK(cushim_node_set_argument(in_child, 1, &arg));
    if (way == ANOTHER_CHILD) CHECK_OK(cushim_exec_set_child(exec, node, child));
    CHECK_OK(cushim_exec_rebind(exec, first, second, &count));
    CHECK(count == 1);
    CHECK_OK(cushim_buffer_destroy(second));
    flush_callbacks();
    CHECK(result_of_exec(exec) == 10);
    CHECK_OK(cushim_exec_destroy(exec));
    if (way != DESTROYED) CHECK_OK(cushim_graph_destroy(child));
    CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_buffer_destroy(first));
  }
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* An update from another definition brings its parameters along: what the nodes of the exec have now counts, a name's size, too. */
static void parameters_of_another(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_kernel add = kernel_of(all.library, "add");
  const uint32_t four = 4, five = 5;
  const uint64_t to = slot(2), there = slot(3);
  cushim_parameter narrow = parameter_of("same", &four, 4), wide = parameter_of("same", &to, 8), only = parameter_of("only", &five, 4);
  cushim_arg args[2];
  cushim_exec exec;
  size_t count = 77;
  CHECK_OK(add_bound(graph, 0, add, &narrow, NULL));
  args[0] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &wide);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &only);
  CHECK_OK(cushim_graph_add_kernel(other, NULL, 0, add, NULL, args, 2, NULL));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, other, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "same", &four, 4, &count));
  CHECK_CONTAINS(last_message(), "takes 8 bytes, and 4 are given");
  CHECK(count == 0);
  CHECK_OK(cushim_exec_set_parameter(exec, "same", &there, 8, &count));
  CHECK(count == 1);
  CHECK_OK(cushim_exec_set_parameter(exec, "only", &four, 4, &count));
  CHECK(count == 1);
  clear_memory();
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(slot(3)) == 4 && number_at(slot(2)) == 0 && number_at(slot(0)) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "nobody's", &four, 4, &count));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_kernel_destroy(add));
}

/* After an update from a graph whose nodes stand in another order a node is known again once it is set in full. */
static void set_in_full(void) {
  cushim_graph graphs[2];
  cushim_node nodes[2][3], edges[2];
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_buffer first = new_buffer(pool, 64, 1), second = new_buffer(pool, 64, 10);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  const uint64_t into = memory;
  const struct {
    uint64_t into, from;
  } block = {memory, cushim_buffer_pointer(first)};
  cushim_endpoint to = cushim_endpoint_device(slot(5)), from = cushim_endpoint_device(slot(4));
  cushim_arg args[2];
  cushim_exec exec;
  size_t count = 0;
  int i;
  config.grid.x = config.block.x = 1;
  args[0] = CUSHIM_ARG(into);
  args[1] = cushim_arg_buffer(first);
  for (i = 0; i < 2; i++) {
    cushim_edge edge;
    graphs[i] = new_graph();
    /* The second one follows the first, or the other way round. */
    CHECK_OK(cushim_graph_add_empty(graphs[i], NULL, 0, &edges[0]));
    CHECK_OK(cushim_graph_add_empty(graphs[i], NULL, 0, &edges[1]));
    memset(&edge, 0, sizeof edge);
    edge.from_node = edges[i];
    edge.to_node = edges[1 - i];
    CHECK_OK(cushim_graph_add_edges(graphs[i], &edge, 1));
    CHECK_OK(cushim_graph_add_kernel(graphs[i], &edges[1 - i], 1, sum, NULL, args, 2, &nodes[i][0]));
    CHECK_OK(cushim_graph_add_fill(graphs[i], &nodes[i][0], 1, &from, CUSHIM_VALUE_32(3), 1, &nodes[i][1]));
    CHECK_OK(cushim_graph_add_copy(graphs[i], &nodes[i][1], 1, &to, &from, 4, &nodes[i][2]));
  }
  exec = new_exec(graphs[0]);
  CHECK_OK(cushim_set_label(nodes[0][0], "to be set"));
  CHECK_OK(cushim_exec_update(exec, graphs[1], NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, first, second, &count));
  CHECK_CONTAINS(last_message(), "to be set");
  CHECK_CONTAINS(last_message(), "set all of it once");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "any", &i, sizeof i, &count));
  CHECK_CONTAINS(last_message(), "to be set");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_kernel(exec, nodes[0][0], NULL, NULL, args, 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_fill(exec, nodes[0][1], NULL, CUSHIM_VALUE_32(7), 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_copy(exec, nodes[0][2], &to, NULL, 4));
  CHECK_OK(cushim_exec_set_kernel_packed(exec, nodes[0][0], sum, &config, &block, sizeof block));
  CHECK_OK(cushim_exec_set_kernel(exec, nodes[0][0], sum, &config, args, 2));
  CHECK_OK(cushim_exec_set_fill(exec, nodes[0][1], &from, CUSHIM_VALUE_32(7), 1));
  CHECK_OK(cushim_exec_set_copy(exec, nodes[0][2], &to, &from, 4));
  CHECK_OK(cushim_exec_rebind(exec, first, second, &count));
  CHECK(count == 1 && result_of_exec(exec) == 10 && number_at(slot(5)) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  for (i = 0; i < 2; i++) CHECK_OK(cushim_graph_destroy(graphs[i]));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK_OK(cushim_kernel_destroy(sum));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    CHECK_OK(cushim_device_get_resource(all.device, &pool));
    if (version >= 12030) open_conditions();
    parameters();
    refused_parameters();
    rebound();
    refusals();
    often();
    removed_between();
    removed_after_changes();
    removed_and_unknown();
    counted_once();
    after_updates();
    kept_by_the_exec_alone();
    parameters_of_another();
    set_in_full();
    if (version >= 12030) close_conditions();
  }
  return close_graphs();
}
