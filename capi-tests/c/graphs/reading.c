/* What a node does is read back, typed, through its first handle and through enumeration, on every driver. */
#include "graphs.h"

static cushim_resource pool;
static cushim_buffer buffer;

/* The last node of the graph, as enumeration tells it: the same handle. */
static void is_found(cushim_graph graph, cushim_node node) {
  cushim_node nodes[16];
  size_t count = 0, i, found = 0;
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 16, &count));
  for (i = 0; i < count && i < 16; i++) found += nodes[i] == node;
  CHECK(found == 1);
}

static int is_at_buffer(cushim_endpoint place, uint64_t offset) {
  return place.kind == CUSHIM_ENDPOINT_BUFFER && is_same((const void *)(uintptr_t)place.address, buffer) && place.offset == offset;
}

static int is_at(cushim_endpoint place, cushim_endpoint_kind kind, uint64_t address) {
  return place.kind == kind && place.address == address && place.offset == 0 && place.owner == NULL;
}

static void kernels(void) {
  cushim_graph graph = new_graph();
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_kernel add = kernel_of(all.library, "add");
  cushim_node node = NULL;
  const uint32_t number = 77;
  cushim_arg args[2], read[2];
  uint64_t values[8];
  cushim_endpoint part = cushim_endpoint_buffer(buffer, 24);
  const cushim_endpoint *place;
  size_t count = 0, needed = 0;
  config.grid.x = 2, config.grid.y = 3, config.grid.z = 4;
  config.block.x = 5, config.block.y = 2, config.block.z = 1;
  config.shared_bytes = 64;
  args[0] = cushim_arg_buffer(buffer);
  args[1] = CUSHIM_ARG(number);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, &config, args, 2, &node));
  is_found(graph, node);
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(is_same(told.kernel, add) && told.arg_count == 2 && told.block_size == 0);
  CHECK(told.config.grid.x == 2 && told.config.grid.y == 3 && told.config.grid.z == 4);
  CHECK(told.config.block.x == 5 && told.config.block.y == 2 && told.config.block.z == 1);
  CHECK(told.config.shared_bytes == 64 && told.config.flags == config.flags && told.config.attribute_count == 0);
  CHECK(is_same(told.config.context, all.context));
  CHECK_OK(cushim_node_get_arguments(node, read, 2, &count, values, sizeof values, &needed));
  if (CHECK(count == 2 && needed == 8)) {
    CHECK(read[0].kind == CUSHIM_ARG_BUFFER && is_same(read[0].value, buffer));
    CHECK(read[1].kind == CUSHIM_ARG_BYTES && read[1].size == 4 && *(const uint32_t *)read[1].value == 77);
  }

  /* What was read can be given: the same once more. */
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, told.kernel, &told.config, read, 2, &node));
  CHECK_OK(cushim_node_get_arguments(node, NULL, 0, &count, NULL, 0, &needed));
  CHECK(count == 2 && needed == 8);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_arguments(node, read, 2, &count, values, 4, &needed));
  CHECK(count == 0 && needed == 0);
  CHECK_CONTAINS(last_message(), "8 bytes");

  args[0] = cushim_arg_endpoint(&part);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &node));
  CHECK_OK(cushim_node_get_arguments(node, read, 2, &count, values, sizeof values, &needed));
  if (CHECK(count == 2 && read[0].kind == CUSHIM_ARG_ENDPOINT && needed == sizeof *place + 8)) {
    place = (const cushim_endpoint *)read[0].value;
    CHECK(is_at_buffer(*place, 24));
  }
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(told.config.grid.x == 1 && told.config.block.x == 1 && told.config.flags == 0);
  CHECK_OK(cushim_kernel_destroy(add));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void blocks(void) {
  cushim_graph graph = new_graph();
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  struct {
    uint64_t to;
    uint32_t digit;
  } block = {memory, 6};
  cushim_node node = NULL;
  cushim_arg read[2];
  uint64_t values[2];
  size_t count = 0, needed = 0;
  CHECK_OK(cushim_graph_add_kernel_packed(graph, NULL, 0, all.kernel, NULL, &block, 12, &node));
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(told.block_size == 12 && told.arg_count == (version >= 12040 ? 2u : 0u));
  CHECK_OK(cushim_node_get_arguments(node, read, 2, &count, values, sizeof values, NULL));
  CHECK(count == told.arg_count);
  if (count == 2) CHECK(*(const uint64_t *)read[0].value == memory && *(const uint32_t *)read[1].value == 6);
  if (count == 2) { /* of the first argument alone, whose value needs no room for the others */
    memset(values, 7, sizeof values);
    CHECK_OK(cushim_node_get_arguments(node, read, 1, &count, values, 8, &needed));
    CHECK(count == 2 && needed == 16 && read[0].value == (const void *)values && values[0] == memory && values[1] == 0x0707070707070707u);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_arguments(node, read, 1, &count, values, 7, &needed));
    CHECK_CONTAINS(last_message(), "the values of 1 argument take 8 bytes");
    CHECK(count == 0 && needed == 0);
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

static void copies(void) {
  cushim_graph graph = new_graph();
  cushim_copy_node told = CUSHIM_OPTIONS(cushim_copy_node);
  static uint32_t host[64];
  const cushim_extent extent = {12, 2, 3};
  cushim_endpoint to = cushim_endpoint_buffer(buffer, 8), from = cushim_endpoint_device(slot(4));
  cushim_region rows, columns;
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 40, &node));
  is_found(graph, node);
  CHECK_OK(cushim_node_get_copy(node, &told));
  CHECK(told.is_3d == 0 && told.extent.width == 40);
  CHECK(is_at_buffer(told.destination.endpoint, 8) && is_at(told.source.endpoint, CUSHIM_ENDPOINT_DEVICE, slot(4)));
  from = cushim_endpoint_host(host);
  from.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 40, &node));
  CHECK_OK(cushim_node_get_copy(node, &told));
  CHECK(is_at(told.source.endpoint, CUSHIM_ENDPOINT_HOST, (uint64_t)(uintptr_t)host));

  rows = cushim_region_at(cushim_endpoint_device(memory), 16);
  rows.x = 4, rows.y = 1, rows.z = 1, rows.rows = 4;
  columns = cushim_region_at(cushim_endpoint_device(slot(128)), 12);
  CHECK_OK(cushim_graph_add_copy_3d(graph, NULL, 0, &rows, &columns, &extent, &node));
  CHECK_OK(cushim_node_get_copy(node, &told));
  CHECK(told.is_3d == 1 && told.extent.width == 12 && told.extent.height == 2 && told.extent.depth == 3);
  CHECK(told.destination.x == 4 && told.destination.y == 1 && told.destination.z == 1 && told.destination.pitch == 16 && told.destination.rows == 4);
  CHECK(is_at(told.destination.endpoint, CUSHIM_ENDPOINT_DEVICE, memory) && is_at(told.source.endpoint, CUSHIM_ENDPOINT_DEVICE, slot(128)));
  CHECK(told.source.x == 0 && told.source.pitch == 12);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void memsets(void) {
  cushim_graph graph = new_graph();
  cushim_fill_node told = CUSHIM_OPTIONS(cushim_fill_node);
  cushim_endpoint to = cushim_endpoint_buffer(buffer, 4), rows = cushim_endpoint_device(memory);
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_16(0x5678), 10, &node));
  is_found(graph, node);
  CHECK_OK(cushim_node_get_fill(node, &told));
  CHECK(is_at_buffer(told.destination, 4) && told.value_size == 2 && (told.value & 0xffff) == 0x5678 && told.width == 10 && told.height == 1);
  CHECK(told.pitch == 0);
  CHECK_OK(cushim_graph_add_fill_2d(graph, NULL, 0, &rows, 32, CUSHIM_VALUE_32(5), 3, 2, &node));
  CHECK_OK(cushim_node_get_fill(node, &told));
  CHECK(is_at(told.destination, CUSHIM_ENDPOINT_DEVICE, memory) && told.pitch == 32 && told.value == 5 && told.value_size == 4);
  CHECK(told.width == 3 && told.height == 2);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void no_op(void *data) { (void)data; }

static void others(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner[2] = {NULL, NULL};
  cushim_event event = NULL;
  CUevent native = NULL, expected = NULL;
  cushim_host_function function = NULL;
  cushim_node record = NULL, wait = NULL, host = NULL, pulled = NULL, node = NULL, empty = add_empty(graph, NULL);
  static int data;
  void *with = NULL;
  size_t count = 7;
  CHECK_OK(cushim_event_native(all.event, &expected));
  CHECK_OK(cushim_graph_add_event_record(graph, NULL, 0, all.event, &record));
  CHECK_OK(cushim_graph_add_event_wait(graph, NULL, 0, all.event, &wait));
  CHECK_OK(cushim_node_get_event(record, &event, &native));
  CHECK(is_same(event, all.event) && native == expected);
  CHECK_OK(cushim_node_get_event(wait, &event, NULL));
  CHECK(is_same(event, all.event));

  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, &data, NULL, &host));
  CHECK_OK(cushim_node_get_host_function(host, &function, &with));
  CHECK(function == no_op && with == &data);
  CHECK_OK(cushim_graph_add_host_function_bytes(graph, NULL, 0, no_op, "kept", 5, &host));
  CHECK_OK(cushim_node_get_host_function(host, &function, &with));
  CHECK(function == no_op && with != NULL && strcmp((const char *)with, "kept") == 0 && (uintptr_t)with % 16 == 0);
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, NULL, &data, NULL, &pulled));
  CHECK_OK(cushim_node_get_host_function(pulled, &function, &with));
  CHECK(function == NULL);

  add_append(child, NULL, 0, 1);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner[0]));
  CHECK_OK(cushim_node_get_graphs(node, &inner[1], 1, &count));
  CHECK(count == 1 && inner[0] == inner[1]);
  CHECK_OK(cushim_node_get_graphs(empty, NULL, 0, &count));
  CHECK(count == 0);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Each question about nodes of one type is refused by those of the others, and clears what it would have written. */
static void wrong_types(void) {
  cushim_graph graph = new_graph();
  cushim_kernel_node kernel = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_copy_node copy = CUSHIM_OPTIONS(cushim_copy_node);
  cushim_fill_node fill = CUSHIM_OPTIONS(cushim_fill_node);
  cushim_allocation_node allocation = CUSHIM_OPTIONS(cushim_allocation_node);
  cushim_node empty = add_empty(graph, NULL), memset_node = add_number(graph, NULL, 0, 1);
  cushim_event event = (cushim_event)NOT_NULL;
  cushim_condition condition = (cushim_condition)NOT_NULL;
  cushim_host_function function = no_op;
  uint64_t pointer = 7;
  size_t count = 7;
  kernel.arg_count = 7;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_kernel(empty, &kernel));
  CHECK_CONTAINS(last_message(), "is no kernel node");
  CHECK(kernel.arg_count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_arguments(memset_node, NULL, 0, &count, NULL, 0, NULL));
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_copy(memset_node, &copy));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_fill(empty, &fill));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_allocation(empty, &allocation, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_free(empty, &pointer));
  CHECK(pointer == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_event(empty, &event, NULL));
  CHECK(event == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_host_function(empty, &function, NULL));
  CHECK(function == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_condition(empty, &condition, NULL));
  CHECK(condition == NULL);
  if (version >= 11070) CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_memory_operations(empty, NULL, 0, &count));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A struct of an older program has fewer bytes: no more are written. */
static void sizes(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_number(graph, NULL, 0, 9);
  cushim_fill_node told = CUSHIM_OPTIONS(cushim_fill_node);
  told.struct_size = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_fill(node, &told));
  memset(&told, 0xee, sizeof told);
  told.struct_size = offsetof(cushim_fill_node, width);
  CHECK_OK(cushim_node_get_fill(node, &told));
  CHECK(told.value == 9 && told.struct_size == offsetof(cushim_fill_node, width) && told.width != 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_fill(node, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* In an exec a node does what it did when that was made, whatever becomes of the graph. */
static void in_execs(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node node = add_number(graph, NULL, 0, 3), foreign = add_number(other, NULL, 0, 4), later;
  cushim_exec exec = new_exec(graph);
  cushim_fill_node told = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_OK(cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(8), 0));
  CHECK_OK(cushim_exec_get_fill(exec, node, &told));
  CHECK(told.value == 3);
  CHECK_OK(cushim_node_get_fill(node, &told));
  CHECK(told.value == 8);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_get_fill(exec, foreign, &told));
  later = add_number(graph, NULL, 0, 5);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_get_fill(exec, later, &told));
  CHECK_CONTAINS(last_message(), "added since");
  CHECK(told.value == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    CHECK_OK(cushim_device_get_resource(all.device, &pool));
    CHECK_OK(cushim_buffer_create(pool, all.stream, 1024, &buffer));
    kernels();
    blocks();
    copies();
    memsets();
    others();
    wrong_types();
    sizes();
    in_execs();
    CHECK_OK(cushim_buffer_destroy(buffer));
  }
  return close_graphs();
}
