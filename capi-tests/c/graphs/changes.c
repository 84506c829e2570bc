/*
 * Nodes are changed, in the graph for what is instantiated later or in one exec only: all of it or a part, with owners that are
 * exchanged, and refused without a trace.
 */
#include "graphs.h"

static const uint32_t one = 1;

static cushim_resource pool;

static cushim_arg numbered(const uint32_t *number) {
  cushim_arg arg;
  arg.kind = CUSHIM_ARG_BYTES;
  arg.size = sizeof *number;
  arg.value = number;
  return arg;
}

static int called;

static void call(void *data) { called += data == NULL ? 1 : *(const int *)data; }

/* Every type of node, changed in an exec: nothing else changes, and reading back tells both. */
static void every_type(void) {
  cushim_graph graph = new_graph();
  cushim_event other = new_event(all.context, 0), event = NULL;
  cushim_node kernel = add_append(graph, NULL, 0, 1), fill = add_number(graph, NULL, 1, 5), rows = NULL, copy = NULL, record = NULL;
  cushim_node wait = NULL, host = NULL;
  cushim_endpoint to = cushim_endpoint_device(slot(8)), from = cushim_endpoint_device(slot(64));
  cushim_exec exec, untouched;
  cushim_fill_node told = CUSHIM_OPTIONS(cushim_fill_node);
  const uint32_t digit = 7;
  const int three = 30;
  cushim_arg arg = numbered(&digit);
  CHECK_OK(cushim_graph_add_fill_2d(graph, &fill, 1, &to, 8, CUSHIM_VALUE_32(2), 1, 2, &rows));
  to = cushim_endpoint_device(slot(16));
  CHECK_OK(cushim_graph_add_copy(graph, &rows, 1, &to, &from, 8, &copy));
  CHECK_OK(cushim_graph_add_event_record(graph, NULL, 0, all.event, &record));
  CHECK_OK(cushim_graph_add_event_wait(graph, NULL, 0, all.event, &wait));
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, call, NULL, NULL, &host));
  exec = new_exec(graph);
  untouched = new_exec(graph);

  CHECK_OK(cushim_exec_set_argument(exec, kernel, 1, &arg));
  CHECK_OK(cushim_exec_set_fill(exec, fill, NULL, CUSHIM_VALUE_32(6), 0));
  to = cushim_endpoint_device(slot(32));
  CHECK_OK(cushim_exec_set_fill_2d(exec, rows, &to, 8, CUSHIM_VALUE_32(3), 1, 2));
  from = cushim_endpoint_device(slot(32));
  CHECK_OK(cushim_exec_set_copy(exec, copy, NULL, &from, 0));
  CHECK_OK(cushim_exec_set_event(exec, record, other));
  CHECK_OK(cushim_exec_set_event(exec, wait, other));
  CHECK_OK(cushim_exec_set_host_function_bytes(exec, host, call, &three, sizeof three));
  called = 0;
  CHECK(result_of_exec(exec) == 7 && number_at(slot(1)) == 6 && number_at(slot(8)) == 0 && called == 30);
  CHECK(number_at(slot(32)) == 3 && number_at(slot(33)) == 0 && number_at(slot(34)) == 3 && number_at(slot(16)) == 3);
  CHECK_OK(cushim_event_synchronize(other));
  CHECK_OK(cushim_exec_get_event(exec, record, &event, NULL));
  CHECK(is_same(event, other));
  CHECK_OK(cushim_node_get_event(wait, &event, NULL));
  CHECK(is_same(event, all.event));
  CHECK_OK(cushim_exec_get_fill(exec, rows, &told));
  CHECK(told.value == 3 && told.height == 2 && told.destination.address == slot(32));
  CHECK_OK(cushim_node_get_fill(rows, &told));
  CHECK(told.value == 2 && told.destination.address == slot(8));
  called = 0;
  CHECK(result_of_exec(untouched) == 1 && number_at(slot(1)) == 5 && number_at(slot(8)) == 2 && number_at(slot(16)) == 0 && called == 1);

  /* The same in the graph: those that exist go on as they are. */
  CHECK_OK(cushim_node_set_argument(kernel, 1, &arg));
  CHECK_OK(cushim_node_set_fill(fill, NULL, CUSHIM_VALUE_32(6), 0));
  to = cushim_endpoint_device(slot(32));
  CHECK_OK(cushim_node_set_fill_2d(rows, &to, 8, CUSHIM_VALUE_32(3), 1, 2));
  CHECK_OK(cushim_node_set_copy(copy, NULL, &from, 0));
  CHECK_OK(cushim_node_set_event(record, other));
  CHECK_OK(cushim_node_set_event(wait, other));
  CHECK_OK(cushim_node_set_host_function(host, call, &called, NULL));
  called = 0;
  CHECK(result_of_exec(untouched) == 1 && number_at(slot(8)) == 2 && called == 1);
  called = 20; /* its own number once more */
  CHECK(result_of(graph) == 7 && number_at(slot(1)) == 6 && number_at(slot(32)) == 3 && number_at(slot(16)) == 3 && called == 40);
  CHECK_OK(cushim_exec_destroy(untouched));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_event_destroy(other));
}

/* What is not named of a kernel stays. */
static void parts_of_kernels(void) {
  cushim_graph graph = new_graph();
  cushim_kernel add = kernel_of(all.library, "add"), nothing = kernel_of(all.library, "nothing");
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config), later;
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  const uint64_t second = slot(1), to = memory;
  const uint32_t number = 3, five = 5;
  struct {
    uint64_t to;
    uint32_t number;
  } block = {memory, 100};
  cushim_arg args[2];
  cushim_node node = NULL;
  cushim_exec exec;
  args[0] = CUSHIM_ARG(to);
  args[1] = numbered(&number);
  config.grid.x = 2;
  config.block.x = 4;
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, &config, args, 2, &node));
  exec = new_exec(graph);
  CHECK(result_of_exec(exec) == 24);
  later = config;
  later.grid.x = 1;
  CHECK_OK(cushim_exec_set_kernel(exec, node, NULL, &later, NULL, 0));
  CHECK(result_of_exec(exec) == 12);
  args[1] = numbered(&five);
  CHECK_OK(cushim_exec_set_kernel(exec, node, NULL, NULL, args, 2));
  CHECK(result_of_exec(exec) == 20);
  args[0] = CUSHIM_ARG(second);
  CHECK_OK(cushim_exec_set_argument(exec, node, 0, &args[0]));
  CHECK(result_of_exec(exec) == 0 && number_at(slot(1)) == 20);
  args[0] = CUSHIM_ARG(to);
  CHECK_OK(cushim_exec_set_kernel(exec, node, all.kernel, NULL, args, 2)); /* another kernel */
  later.block.x = 1;
  CHECK_OK(cushim_exec_set_kernel(exec, node, NULL, &later, NULL, 0));
  CHECK(result_of_exec(exec) == 5);
  CHECK_OK(cushim_exec_set_kernel_packed(exec, node, add, NULL, &block, 12));
  CHECK(result_of_exec(exec) == 100);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_kernel_packed(exec, node, NULL, NULL, &block, 0));
  CHECK(strstr(last_message(), "device") == NULL);
  CHECK_OK(cushim_exec_get_kernel(exec, node, &told));
  CHECK(is_same(told.kernel, add) && told.config.grid.x == 1 && told.config.block.x == 1 && told.block_size == 12);
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(is_same(told.kernel, add) && told.config.grid.x == 2 && told.config.block.x == 4 && told.block_size == 0);
  if (version >= 12040) { /* the driver tells where each argument stands in the block */
    args[1] = numbered(&number);
    CHECK_OK(cushim_exec_set_argument(exec, node, 1, &args[1]));
    CHECK(result_of_exec(exec) == 3);
  } else {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_argument(exec, node, 1, &args[1]));
    CHECK_CONTAINS(last_message(), "one block");
  }
  /* A kernel without parameters takes an empty list. */
  CHECK_OK(cushim_node_set_kernel(node, nothing, NULL, args, 0));
  CHECK(result_of(graph) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(add));
  CHECK_OK(cushim_kernel_destroy(nothing));
}

/* What is refused leaves the node as it was, in the graph and in the exec, and releases nothing. */
static void refusals(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node kernel = add_append(graph, NULL, 0, 1), fill = add_number(graph, kernel, 1, 5), copy = NULL, rows = NULL, box = NULL, later;
  cushim_node foreign = add_append(other, NULL, 0, 2), empty = add_empty(graph, NULL);
  cushim_endpoint to = owned_slot(1, &owner), from = owned_slot(2, &owner), place = cushim_endpoint_device(slot(8));
  const cushim_extent extent = {4, 2, 1};
  cushim_region region = cushim_region_at(cushim_endpoint_device(slot(8)), 8);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_owned_pointer pointer;
  const uint32_t number = 3;
  const uint64_t wide = 3;
  cushim_arg args[2], arg = CUSHIM_ARG(wide);
  cushim_exec exec, both[2];
  cushim_kernel add = kernel_of(all.library, "add");
  int i;
  args[0] = owned_arg(&pointer, memory, &count);
  args[1] = numbered(&number);
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &place, &place, 4, &copy));
  CHECK_OK(cushim_graph_add_fill_2d(graph, &copy, 1, &place, 8, CUSHIM_VALUE_32(1), 1, 2, &rows));
  CHECK_OK(cushim_graph_add_copy_3d(graph, &rows, 1, &region, &region, &extent, &box));
  exec = new_exec(graph);
  both[0] = NULL, both[1] = exec;
  config.grid.x = 1;
  for (i = 0; i < 2; i++) {
    cushim_exec at = both[i];
    config.block.x = 5000;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_kernel, kernel, all.kernel, &config, args, 2));
    CHECK_CONTAINS(last_message(), "5000");
    config.block.x = 0;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_kernel, kernel, NULL, &config, args, 2));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_kernel, kernel, add, NULL, NULL, 0));
    CHECK_CONTAINS(last_message(), "without arguments");
    CHECK_OK(IN_GRAPH_OR_EXEC(at, set_kernel, kernel, all.kernel, NULL, NULL, 0));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_argument, kernel, 1, &arg));
    CHECK_CONTAINS(last_message(), "argument 1 takes 4 bytes, and 8 are given");
    CHECK(last_detail()->item == 1);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_argument, kernel, 2, &arg));
    CHECK(last_detail()->item == 2);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_argument, kernel, 0, NULL));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_fill, kernel, &to, CUSHIM_VALUE_32(1), 1));
    CHECK_CONTAINS(last_message(), "is no memset node, and cannot become one");
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_kernel, fill, all.kernel, NULL, args, 2));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_event, fill, all.event));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, IN_GRAPH_OR_EXEC(at, set_event, fill, NULL));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_host_function, empty, call, NULL, &owner));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_fill, fill, &to, &one, 3, 1));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_fill, fill, NULL, CUSHIM_VALUE_32(1), (size_t)1 << 20));
    CHECK_CONTAINS(last_message(), "left in its allocation");
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_fill, rows, &to, CUSHIM_VALUE_32(1), 1));
    CHECK_CONTAINS(last_message(), "sets rows");
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_copy, box, &to, &from, 4));
    CHECK_CONTAINS(last_message(), "a 2D or 3D copy");
    CHECK_CONTAINS(last_message(), "cushim_node_set_copy_3d");
    from = cushim_endpoint_host(&count);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_copy, copy, &to, &from, 4));
    CHECK_CONTAINS(last_message(), "CUSHIM_ENDPOINT_KEEP_BYTES");
    from = owned_slot(2, &owner);
  }
  /* In an exec a copy of a box keeps its memory. */
  region.endpoint = cushim_endpoint_device(slot(16));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_copy_3d(exec, box, &region, &region, &extent));
  CHECK_CONTAINS(last_message(), "instantiate the graph again");
  CHECK_OK(cushim_node_set_copy_3d(box, &region, &region, &extent));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_kernel(exec, foreign, all.kernel, NULL, args, 2));
  later = add_append(graph, NULL, 0, 3);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_kernel(exec, later, all.kernel, NULL, args, 2));
  CHECK_CONTAINS(last_message(), "added since");
  CHECK_OK(cushim_node_remove(later));
  CHECK(released(&count) == 0);
  CHECK(result_of_exec(exec) == 1 && number_at(slot(1)) == 5 && result_of(graph) == 1 && number_at(slot(1)) == 5);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_kernel_destroy(add));
  CHECK(released(&count) == 0);
}

/* Kept bytes are as many as the copy has. */
static void kept_bytes(void) {
  cushim_graph graph = new_graph();
  uint32_t values[4] = {1, 2, 3, 4}, more[4] = {5, 6, 7, 8};
  cushim_endpoint to = cushim_endpoint_device(memory), from = cushim_endpoint_host(values);
  cushim_node node = NULL;
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, sizeof values, &node));
  from.address = (uint64_t)(uintptr_t)more;
  CHECK_OK(cushim_node_set_copy(node, NULL, &from, sizeof more));
  memset(more, 0, sizeof more);
  CHECK(result_of(graph) == 5 && number_at(slot(3)) == 8);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_copy(node, NULL, &from, 0)); /* how many are to be kept? */
  CHECK_CONTAINS(last_message(), "source: ");
  CHECK(result_of(graph) == 5);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Ends that stay are asked whether they have as many bytes as are new: of others' memory it is known where addresses end. */
static void too_many_bytes(void) {
  cushim_graph graph = new_graph();
  uint32_t values[2] = {1, 2};
  cushim_endpoint to = cushim_endpoint_device(memory), from = cushim_endpoint_host(values);
  cushim_node copy = NULL, fill = NULL;
  cushim_exec exec = NULL;
  int i;
  from.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, sizeof values, &copy));
  CHECK_OK(cushim_graph_add_fill(graph, &copy, 1, &to, CUSHIM_VALUE_8(1), 1, &fill));
  exec = new_exec(graph);
  for (i = 0; i < 2; i++) {
    const cushim_exec at = i == 0 ? NULL : exec;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_copy, copy, NULL, NULL, SIZE_MAX - 58));
    CHECK_CONTAINS(last_message(), "18446744073709551557 bytes from");
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(at, set_fill, fill, NULL, CUSHIM_VALUE_8(1), SIZE_MAX - 58));
    CHECK_CONTAINS(last_message(), "18446744073709551557 bytes from");
  }
  CHECK(result_of_exec(exec) == 1 && number_at(slot(1)) == 2);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* In the graph the owner before goes at once, unless an exec or a clone has it. */
static void owners_in_graphs(void) {
  int counts[3] = {0};
  cushim_owner owners[3];
  cushim_graph graph = new_graph();
  cushim_endpoint to;
  cushim_node node = NULL;
  cushim_exec exec;
  int i;
  for (i = 0; i < 3; i++) owners[i] = counted(&counts[i]);
  to = owned_slot(0, &owners[0]);
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &node));
  to = owned_slot(0, &owners[1]);
  CHECK_OK(cushim_node_set_fill(node, &to, CUSHIM_VALUE_32(2), 1));
  CHECK(released_soon(&counts[0], 1) == 1 && counts[1] == 0);
  exec = new_exec(graph);
  CHECK_OK(cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(3), 0)); /* keeps its place, and so its owner */
  CHECK(released(&counts[1]) == 0);
  to = owned_slot(0, &owners[2]);
  CHECK_OK(cushim_node_set_fill(node, &to, CUSHIM_VALUE_32(4), 1));
  CHECK(released(&counts[1]) == 0 && result_of_exec(exec) == 2 && result_of(graph) == 4);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&counts[1], 1) == 1 && counts[2] == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&counts[2], 1) == 1 && counts[0] == 1);
}

/* In an exec the one before goes when every launch that was made before is done; nothing grows with the number of changes. */
static void owners_in_execs(void) {
  enum { TIMES = 40 };
  int counts[TIMES] = {0}, i, left = 0;
  cushim_graph graph = new_graph();
  cushim_owner owner = counted(&counts[0]);
  cushim_endpoint to = owned_slot(0, &owner);
  cushim_node node = NULL;
  cushim_exec exec;
  struct busy busy;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(0), 1, &node));
  exec = new_exec(graph);
  owner = counted(&counts[1]);
  CHECK_OK(cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32(1), 1));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  owner = counted(&counts[2]);
  CHECK_OK(cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32(2), 1));
  CHECK(released(&counts[1]) == 0);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(released_soon(&counts[1], 1) == 1 && counts[2] == 0);
  for (i = 3; i < TIMES; i++) {
    owner = counted(&counts[i]);
    CHECK_OK(cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32((uint32_t)i), 1));
    CHECK((int)result_of_exec(exec) == i);
  }
  for (i = 2; i < TIMES - 1; i++) CHECK(released_soon(&counts[i], 1) == 1);
  for (i = 0; i < TIMES; i++) left += counts[i] == 0;
  CHECK(left == 2 && counts[TIMES - 1] == 0 && counts[0] == 0); /* the last, and that of the graph */
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&counts[TIMES - 1], 1) == 1 && counts[0] == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&counts[0], 1) == 1);
}

/* An exec is changed also after its graph is gone, and after the stream of its last launch is. */
static void after_the_graph(void) {
  int first = 0, second = 0, third = 0;
  cushim_owner owner = counted(&first);
  cushim_graph graph = new_graph();
  cushim_endpoint to = owned_slot(0, &owner);
  cushim_stream stream = new_stream(all.context);
  cushim_node node = NULL;
  cushim_exec exec;
  cushim_fill_node told = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  owner = counted(&second);
  CHECK_OK(cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32(2), 1));
  CHECK(result_of_exec(exec) == 2 && released(&second) == 0);
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_stream_synchronize(stream)); /* what it writes is cleared below */
  CHECK_OK(cushim_stream_destroy(stream));
  owner = counted(&third);
  CHECK_OK(cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32(3), 1));
  CHECK(result_of_exec(exec) == 3);
  CHECK_OK(cushim_exec_get_fill(exec, node, &told));
  CHECK(told.value == 3);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(4), 0));
  CHECK_CONTAINS(last_message(), "destroyed");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_remove(node));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&first, 1) == 1 && released_soon(&second, 1) == 1 && released_soon(&third, 1) == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(4), 0));
}

/* A node that was removed from the graph cannot be changed in the exec any more: the refusal names it. */
static void removed_nodes(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_number(graph, NULL, 0, 1);
  cushim_exec exec = new_exec(graph);
  CHECK_OK(cushim_set_label(node, "first"));
  CHECK_OK(cushim_node_remove(node));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_fill(exec, node, NULL, CUSHIM_VALUE_32(2), 0));
  CHECK_CONTAINS(last_message(), "first");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(2), 0));
  CHECK(result_of_exec(exec) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The nodes of a child graph are changed like any others. */
static void child_graphs(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_node original = add_number(child, NULL, 0, 1), node = NULL;
  cushim_exec exec;
  size_t count = 0;
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_OK(cushim_graph_get_nodes(inner, &node, 1, &count));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_fill(exec, node, NULL, CUSHIM_VALUE_32(2), 0));
  CHECK(result_of_exec(exec) == 2 && result_of(graph) == 1);
  CHECK_OK(cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(3), 0));
  CHECK(result_of_exec(exec) == 2 && result_of(graph) == 3 && result_of(child) == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_fill(exec, original, NULL, CUSHIM_VALUE_32(4), 0));
  if (version >= 11060) {
    CHECK_OK(cushim_exec_set_enabled(exec, node, 0));
    CHECK(result_of_exec(exec) == 0);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A child graph does in one exec what another graph does, with the owners of that. */
static void other_children(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = owned_slot(0, &owner);
  cushim_graph graph = new_graph(), child = new_graph(), twin = new_graph(), longer = new_graph();
  cushim_node node = NULL, plain = add_empty(graph, NULL);
  cushim_exec exec, untouched;
  add_number(child, NULL, 0, 1);
  CHECK_OK(cushim_graph_add_fill(twin, NULL, 0, &to, CUSHIM_VALUE_32(2), 1, NULL));
  add_number(longer, add_number(longer, NULL, 0, 3), 0, 4);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, NULL));
  exec = new_exec(graph);
  untouched = new_exec(graph);
  CHECK_OK(cushim_exec_set_child(exec, node, twin));
  CHECK(result_of_exec(exec) == 2 && result_of_exec(untouched) == 1 && result_of(graph) == 1);
  CHECK(cushim_exec_set_child(exec, node, longer) > 0); /* the driver refuses it */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_child(exec, plain, twin));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_child(NULL, node, twin));
  CHECK(result_of_exec(exec) == 2);
  CHECK_OK(cushim_graph_destroy(twin));
  CHECK(released(&count) == 0 && result_of_exec(exec) == 2);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&count, 1) == 1);
  CHECK_OK(cushim_exec_destroy(untouched));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(longer));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Buffers given to an exec are kept by it alone. */
static void buffers(void) {
  cushim_graph graph = new_graph();
  cushim_buffer first = NULL, second = NULL;
  const uint32_t digit = 4;
  cushim_arg args[2];
  cushim_endpoint to = cushim_endpoint_device(memory), from;
  cushim_node nodes[2];
  cushim_exec exec;
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &first));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &second));
  CHECK_OK(fill_buffer(all.stream, first, 0, 0, 64));
  CHECK_OK(fill_buffer(all.stream, second, 0, 0, 64));
  args[0] = cushim_arg_buffer(first);
  args[1] = numbered(&digit);
  from = cushim_endpoint_buffer(first, 0);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 2, &nodes[0]));
  CHECK_OK(cushim_graph_add_copy(graph, nodes, 1, &to, &from, 4, &nodes[1]));
  CHECK_OK(cushim_buffer_destroy(first));
  exec = new_exec(graph);
  CHECK(result_of_exec(exec) == 4);
  args[0] = cushim_arg_buffer(second);
  from = cushim_endpoint_buffer(second, 0);
  CHECK_OK(cushim_exec_set_argument(exec, nodes[0], 0, &args[0]));
  CHECK_OK(cushim_exec_set_copy(exec, nodes[1], NULL, &from, 0));
  CHECK_OK(cushim_buffer_destroy(second));
  CHECK(result_of_exec(exec) == 4 && result_of_exec(exec) == 44 && result_of(graph) == 44);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(result_of_exec(exec) == 444);
  CHECK_OK(cushim_exec_destroy(exec));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    CHECK_OK(cushim_device_get_resource(all.device, &pool));
    every_type();
    parts_of_kernels();
    refusals();
    kept_bytes();
  too_many_bytes();
    owners_in_graphs();
    owners_in_execs();
    after_the_graph();
    removed_nodes();
    child_graphs();
    other_children();
    buffers();
  }
  return close_graphs();
}
