/*
 * A launch that would use memory which is not there any more is refused, where somebody asked for that: by CUSHIM_CHECK=graphs, or when
 * the driver was opened. The kernel uses no memory, so nothing breaks where nobody asked.
 */
#include "graphs.h"

static const char ignoring[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry ignore(.param .u32 number, .param .u64 pointer) { ret; }\n";

static cushim_kernel ignore;

static uint64_t allocated(void) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_context_allocate(all.context, 1 << 20, &pointer));
  return pointer;
}

static void freed(uint64_t pointer) { CHECK_OK(cushim_context_free(all.context, pointer)); }

static cushim_node add_reader(cushim_graph graph, uint64_t pointer) {
  const uint32_t number = 1;
  cushim_arg args[2];
  cushim_node node = NULL;
  args[0] = CUSHIM_ARG(number);
  args[1] = CUSHIM_ARG(pointer);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, ignore, NULL, args, 2, &node));
  return node;
}

static void launched(cushim_exec exec) {
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static void refused(cushim_exec exec, const char *node, const char *use, const char *why) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_launch(exec, all.stream));
  CHECK_CONTAINS(last_message(), node);
  CHECK_CONTAINS(last_message(), use);
  CHECK_CONTAINS(last_message(), why);
}

static void ask_for_checks(void) {
  cushim_driver_options options;
  cushim_driver again = NULL;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = CUSHIM_DRIVER_CHECK_GRAPHS;
  if (CHECK_OK(cushim_driver_open(&options, &again))) CHECK_OK(cushim_driver_destroy(again));
}

/* Without the check nothing is asked, also of what was instantiated before it was switched on. */
static void not_asked(void) {
  const uint64_t pointer = allocated();
  cushim_graph graph = new_graph();
  cushim_exec exec;
  add_reader(graph, pointer);
  exec = new_exec(graph);
  freed(pointer);
  launched(exec);
  ask_for_checks();
  launched(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Arguments given as bytes; what is set in the exec counts, and what is updated. */
static void arguments(void) {
  uint64_t first = allocated(), second = allocated(), third;
  cushim_graph graph = new_graph(), twin = new_graph();
  cushim_node node = add_reader(graph, first);
  cushim_owned_pointer owned;
  cushim_endpoint place;
  cushim_arg arg = CUSHIM_ARG(second);
  int count = 0;
  cushim_exec exec = new_exec(graph);
  launched(exec);
  freed(first);
  refused(exec, "kernel node 0", "argument 1", "freed");
  CHECK(last_detail()->item == 1);
  CHECK_OK(cushim_set_label(node, "reader"));
  refused(exec, "reader", "argument 1", "freed");
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  launched(exec);
  freed(second);
  third = allocated(); /* perhaps at the same address */
  refused(exec, "reader", "argument 1", third == second ? "another allocation" : "freed");
  arg = owned_arg(&owned, third, &count);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  launched(exec);
  freed(third);
  refused(exec, "reader", "argument 1", "freed");
  add_reader(twin, memory);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  launched(exec);
  third = allocated();
  place = cushim_endpoint_device(third + 16);
  arg = cushim_arg_endpoint(&place);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  launched(exec);
  CHECK_OK(cushim_node_remove(node));
  launched(exec);
  freed(third);
  refused(exec, "reader", "argument 1", "freed");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
  CHECK(released_soon(&count, 1) == 1);
}

/* Nodes of other types; one that is passed over uses nothing. */
static void other_types(void) {
  const uint64_t gone = allocated(), kept = allocated();
  cushim_endpoint to = cushim_endpoint_device(gone), from = cushim_endpoint_device(kept);
  cushim_graph fills = new_graph(), copies = new_graph(), child = new_graph(), operations = NULL;
  cushim_node fill = NULL, inner = NULL, waiting = NULL;
  cushim_exec execs[3];
  cushim_memory_operation write;
  size_t count = 0;
  CHECK_OK(cushim_graph_add_fill(fills, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &fill));
  CHECK_OK(cushim_graph_add_copy(child, NULL, 0, &to, &from, 4, &inner));
  CHECK_OK(cushim_graph_add_copy(child, &inner, 1, &from, &to, 4, NULL));
  CHECK_OK(cushim_graph_add_child(copies, NULL, 0, child, CUSHIM_CHILD_CLONE, &inner, NULL));
  execs[0] = new_exec(fills);
  execs[1] = new_exec(copies);
  if (version >= 11070) {
    memset(&write, 0, sizeof write);
    write.action = CUSHIM_MEMORY_WRITE_32;
    write.at = to;
    write.value = 3;
    operations = new_graph();
    CHECK_OK(cushim_graph_add_memory_operations(operations, NULL, 0, &write, 1, &waiting));
    execs[2] = new_exec(operations);
    launched(execs[2]);
  }
  launched(execs[0]);
  launched(execs[1]);
  freed(gone);
  refused(execs[0], "memset node 0", "memory to set", "freed");
  refused(execs[1], "copy node", "destination", "freed");
  if (version >= 11060) {
    CHECK_OK(cushim_exec_set_enabled(execs[0], fill, 0));
    launched(execs[0]);
  }
  if (version >= 11070) {
    refused(execs[2], "memory operations node 0", "operation 0", "freed");
    CHECK_OK(cushim_exec_destroy(execs[2]));
    CHECK_OK(cushim_graph_destroy(operations));
  }
  CHECK_OK(cushim_graph_get_nodes(inner_of(inner), NULL, 0, &count));
  CHECK(count == 2);
  CHECK_OK(cushim_exec_destroy(execs[0]));
  CHECK_OK(cushim_exec_destroy(execs[1]));
  CHECK_OK(cushim_graph_destroy(fills));
  CHECK_OK(cushim_graph_destroy(copies));
  CHECK_OK(cushim_graph_destroy(child));
  freed(kept);
}

/* What a node of the exec uses is not known any more once the graph has it no more and the exec took over another one: it may be other
   memory, so that what it used before may be freed. */
static void taken_over(void) {
  const uint64_t before = allocated(), now = allocated();
  cushim_graph graph = new_graph(), twin = new_graph();
  cushim_node node = add_reader(graph, before);
  cushim_exec exec;
  add_reader(graph, now);
  add_reader(twin, now);
  add_reader(twin, now);
  exec = new_exec(graph);
  CHECK_OK(cushim_node_remove(node));
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  freed(before);
  launched(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
  freed(now);
}

/* Host memory, buffers, and what the graph allocates itself are no reason to complain. */
static void nothing_wrong(void) {
  static uint32_t page[4];
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL, next = NULL;
  cushim_graph graph = new_graph();
  cushim_graph_allocation what = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_node nodes[3];
  cushim_endpoint to = cushim_endpoint_host(page), from;
  cushim_arg args[2];
  const uint32_t number = 1;
  uint64_t pointer = 0;
  cushim_exec exec;
  size_t count = 0;
  int i;
  to.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &buffer));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &next));
  from = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(fill_bytes(all.stream, cushim_buffer_pointer(buffer), 1, 64));
  CHECK_OK(fill_bytes(all.stream, cushim_buffer_pointer(next), 1, 64));
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 16, NULL));
  what.bytes = 64;
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &what, &nodes[0], &pointer));
  args[0] = CUSHIM_ARG(number);
  args[1] = CUSHIM_ARG(pointer);
  CHECK_OK(cushim_graph_add_kernel(graph, &nodes[0], 1, ignore, NULL, args, 2, &nodes[1]));
  CHECK_OK(cushim_graph_add_free(graph, &nodes[1], 1, pointer, &nodes[2]));
  exec = new_exec(graph);
  CHECK_OK(cushim_buffer_destroy(buffer));
  for (i = 0; i < 3; i++) {
    launched(exec);
    CHECK_OK(cushim_exec_set_argument(exec, nodes[1], 1, &args[1]));
  }
  CHECK_OK(cushim_buffer_destroy(next));
  launched(exec);
  CHECK_OK(cushim_graph_get_nodes(graph, NULL, 0, &count));
  CHECK(count == 4);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A kernel on another device's memory needs access, and without would end all contexts. */
static void other_device(void) {
  cushim_device second = NULL;
  cushim_context there = NULL;
  uint64_t pointer = 0;
  int32_t can = 0;
  int32_t devices = 0;
  cushim_graph graph;
  cushim_exec exec;
  CHECK_OK(cushim_driver_get_device_count(all.driver, &devices));
  if (devices < 2) return;
  CHECK_OK(cushim_driver_get_device(all.driver, 1, &second));
  CHECK_OK(cushim_device_can_access_peer(all.device, second, &can));
  CHECK_OK(cushim_context_retain_primary(second, &there));
  CHECK_OK(cushim_context_allocate(there, 64, &pointer));
  graph = new_graph();
  add_reader(graph, pointer);
  exec = new_exec(graph);
  refused(exec, "kernel node 0", "argument 1", "another device");
  if (can) {
    CHECK_OK(cushim_context_enable_peer_access(all.context, there));
    launched(exec);
    CHECK_OK(cushim_context_disable_peer_access(all.context, there));
    refused(exec, "kernel node 0", "argument 1", "another device");
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_context_free(there, pointer));
  CHECK_OK(cushim_context_destroy(there));
}

int main(void) {
  cushim_library library = NULL;
  check_begin();
  if (open_graphs()) {
    CHECK_OK(cushim_library_load(all.context, ignoring, sizeof ignoring, NULL, &library));
    ignore = kernel_of(library, "ignore");
    if (getenv("CUSHIM_CHECK") == NULL) not_asked();
    arguments();
    other_types();
    taken_over();
    nothing_wrong();
    other_device();
    CHECK_OK(cushim_kernel_destroy(ignore));
    CHECK_OK(cushim_library_destroy(library));
  }
  return close_graphs();
}
