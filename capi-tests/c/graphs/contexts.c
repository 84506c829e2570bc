/*
 * One definition spans contexts and devices: kernel, copy and memset nodes run where they say, and allocations are made where they say.
 * With one device the other context is a second one of it; softcuda is run with two devices as well.
 */
#include "graphs.h"

static cushim_device device;   /* the other one, or the same */
static cushim_context context; /* of it */
static int32_t devices;
static uint64_t there; /* memory in that context */

static cushim_endpoint at_there(int index) {
  cushim_endpoint place = cushim_endpoint_device(there + 4 * (uint64_t)index);
  place.context = context;
  return place;
}

static cushim_endpoint at_here(int index) {
  cushim_endpoint place = cushim_endpoint_device(slot(index));
  place.context = all.context;
  return place;
}

static uint32_t number_there(int index) {
  uint32_t number = 0;
  cushim_endpoint to = cushim_endpoint_host(&number), from = at_there(index);
  CHECK_OK(cushim_context_copy(context, &to, &from, sizeof number));
  return number;
}

/* The other context sets numbers and appends to one; it comes over, and is appended to here. */
static cushim_graph make(cushim_node *nodes) {
  cushim_library library = NULL;
  cushim_kernel append;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_endpoint to = at_there(0), from;
  const uint64_t address = there;
  const uint32_t digit = 2;
  cushim_arg args[2];
  cushim_graph graph = new_graph();
  CHECK_OK(cushim_library_load(context, trace_code, sizeof trace_code, NULL, &library));
  append = kernel_of(library, "append");
  config.grid.x = config.block.x = 1;
  config.context = context;
  args[0] = CUSHIM_ARG(address);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &nodes[0]));
  CHECK_OK(cushim_graph_add_kernel(graph, &nodes[0], 1, append, &config, args, 2, &nodes[1]));
  to = at_here(0);
  from = at_there(0);
  CHECK_OK(cushim_graph_add_copy(graph, &nodes[1], 1, &to, &from, 4, &nodes[2]));
  nodes[3] = add_append(graph, nodes[2], 0, 3);
  CHECK_OK(cushim_kernel_destroy(append));
  CHECK_OK(cushim_library_destroy(library));
  return graph;
}

static void several_contexts(void) {
  cushim_node nodes[4];
  cushim_graph graph = make(nodes), clone = NULL, parent = new_graph();
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_exec exec;
  CHECK(result_of(graph) == 123 && number_there(0) == 12);
  CHECK_OK(cushim_node_get_kernel(nodes[1], &told));
  CHECK(is_same(told.config.context, context));
  CHECK_OK(cushim_node_get_kernel(nodes[3], &told));
  CHECK(is_same(told.config.context, all.context));
  CHECK_OK(cushim_graph_clone(graph, &clone));
  CHECK_OK(cushim_graph_add_child(parent, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK(result_of(clone) == 123 && result_of(parent) == 123);
  /* A changed node stays where it was. */
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_fill(exec, nodes[0], NULL, CUSHIM_VALUE_32(4), 0));
  CHECK(result_of_exec(exec) == 423 && number_there(0) == 42);
  CHECK_OK(cushim_node_set_fill(nodes[0], NULL, CUSHIM_VALUE_32(5), 0));
  CHECK(result_of(graph) == 523);
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  CHECK(result_of_exec(exec) == 523);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(parent));
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Memsets of an exec, and the sources of its copies, stay with the memory of their contexts. The destination of a copy may move. */
static void memory_of_another_context(void) {
  const cushim_endpoint here = at_here(0), next = at_here(1), other = at_there(0);
  cushim_graph graph = new_graph();
  cushim_node fill = NULL, copy = NULL;
  cushim_exec exec;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &here, CUSHIM_VALUE_32(7), 1, &fill));
  CHECK_OK(cushim_graph_add_copy(graph, &fill, 1, &next, &here, 4, &copy));
  exec = new_exec(graph);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_fill(exec, fill, &other, CUSHIM_VALUE_32(8), 1));
  CHECK_CONTAINS(last_message(), "keeps the context of its memory in an exec");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_copy(exec, copy, NULL, &other, 4));
  CHECK_CONTAINS(last_message(), "the context of its source");
  /* On another device that depends on who reaches whose memory. */
  if (devices == 1) CHECK_OK(cushim_exec_set_copy(exec, copy, &other, NULL, 4));
  CHECK(result_of_exec(exec) == 7);
  CHECK_OK(cushim_exec_set_fill(exec, fill, &here, CUSHIM_VALUE_32(8), 1));
  CHECK(result_of_exec(exec) == 8);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The graph keeps the contexts of its nodes: their last handles may go before it is launched. */
static void contexts_are_kept(void) {
  const cushim_context before = context;
  const uint64_t there_before = there;
  cushim_node nodes[4];
  cushim_graph graph;
  cushim_exec exec;
  CHECK_OK(cushim_context_create(device, NULL, &context));
  CHECK_OK(cushim_context_allocate(context, NUMBERS * 4, &there));
  graph = make(nodes);
  CHECK_OK(cushim_context_destroy(context)); /* its memory goes with it, later */
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(result_of_exec(exec) == 123);
  CHECK_OK(cushim_exec_destroy(exec));
  context = before;
  there = there_before;
}

/* A kernel moves to the other context in the graph: in an exec that was made before, it stays where it is, whatever else is changed. */
static void moved_in_the_graph(void) {
  cushim_library library = NULL;
  cushim_kernel append, away;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  const uint64_t address = there;
  const uint32_t two = 2, three = 3;
  cushim_parameter digit;
  cushim_arg args[2];
  cushim_exec exec;
  size_t count = 0;
  memset(&digit, 0, sizeof digit);
  digit.name = "digit";
  digit.value = &two;
  digit.size = sizeof two;
  append = all.kernel;
  CHECK_OK(cushim_library_load(context, trace_code, sizeof trace_code, NULL, &library));
  away = kernel_of(library, "append");
  config.grid.x = config.block.x = 1;
  config.context = context;
  args[0] = CUSHIM_ARG(memory);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &digit);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, append, NULL, args, 2, &node));
  exec = new_exec(graph);
  args[0] = CUSHIM_ARG(address);
  CHECK_OK(cushim_node_set_kernel(node, away, &config, args, 2));
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(is_same(told.config.context, context));
  CHECK_OK(cushim_exec_get_kernel(exec, node, &told));
  CHECK(is_same(told.config.context, all.context));
  CHECK_OK(cushim_exec_set_parameter(exec, "digit", &three, sizeof three, &count));
  CHECK(count == 1 && result_of_exec(exec) == 3);
  args[1] = CUSHIM_ARG(two);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &args[1]));
  CHECK(result_of_exec(exec) == 2);
  CHECK_OK(cushim_exec_get_kernel(exec, node, &told));
  CHECK(is_same(told.config.context, all.context));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(away));
  CHECK_OK(cushim_library_destroy(library));
}

/* An allocation on the other device, and one that it may use. */
static void allocations(void) {
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_allocation_node told = CUSHIM_OPTIONS(cushim_allocation_node);
  cushim_graph graph = new_graph();
  cushim_node node = NULL, allocated = NULL;
  cushim_endpoint at, to;
  uint64_t pointer = 0;
  int32_t peers[1] = {1}, told_peers[1] = {-1}, reaches = 0;
  cushim_exec exec;
  if (devices < 2) {
    CHECK_OK(cushim_graph_destroy(graph));
    return;
  }
  allocation.bytes = 64;
  allocation.location = cushim_location_device(1);
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &allocation, &allocated, &pointer));
  CHECK_OK(cushim_node_get_allocation(allocated, &told, NULL, 0));
  CHECK(told.location.kind == CUSHIM_LOCATION_DEVICE && told.location.id == 1 && told.peer_count == 0);
  at = cushim_endpoint_device(pointer);
  at.context = context;
  to = at_there(1);
  CHECK_OK(cushim_graph_add_fill(graph, &allocated, 1, &at, CUSHIM_VALUE_32(77), 1, &node));
  CHECK_OK(cushim_graph_add_copy(graph, &node, 1, &to, &at, 4, &node));
  CHECK_OK(cushim_graph_add_free(graph, &node, 1, pointer, NULL));
  exec = new_exec(graph);
  run(exec);
  CHECK(number_there(1) == 77);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));

  CHECK_OK(cushim_device_can_access_peer(device, all.device, &reaches));
  if (!reaches) return;
  graph = new_graph();
  allocation.location = cushim_location_device(0);
  allocation.peers = peers;
  allocation.peer_count = 1;
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &allocation, &allocated, &pointer));
  CHECK_OK(cushim_node_get_allocation(allocated, &told, told_peers, 1));
  CHECK(told.peer_count == 1 && told_peers[0] == 1);
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    CHECK_OK(cushim_driver_get_device_count(all.driver, &devices));
    CHECK_OK(cushim_driver_get_device(all.driver, devices > 1, &device));
    if (devices > 1) CHECK_OK(cushim_context_retain_primary(device, &context));
    else CHECK_OK(cushim_context_create(device, NULL, &context));
    CHECK_OK(cushim_context_allocate(context, NUMBERS * 4, &there));
    several_contexts();
    memory_of_another_context();
    contexts_are_kept();
    moved_in_the_graph();
    allocations();
    CHECK_OK(cushim_context_free(context, there));
    CHECK_OK(cushim_context_destroy(context));
  }
  return close_graphs();
}
