/* What a description says an object is or does: of each type of node, of graphs, execs, buffers, kernels; in the graph and when it is gone. */
#include "builders.h"

static void says(const void *handle, const char *part) { CHECK_CONTAINS(description(handle), part); }

static void nodes(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_graph_allocation what = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_endpoint to = cushim_endpoint_device(slot(0)), from = cushim_endpoint_device(slot(64));
  cushim_region box_to, box_from;
  const cushim_extent box = {16, 4, 1};
  cushim_node kernel = NULL, copy = NULL, rows = NULL, fill = NULL, event = NULL, empty = NULL, allocation = NULL, parent = NULL;
  cushim_exec exec;
  uint64_t pointer = 0, address = slot(0);
  const uint32_t digit = 1;
  cushim_arg args[2];
  char expected[64];
  args[0] = CUSHIM_ARG(address);
  args[1] = CUSHIM_ARG(digit);
  config.grid.x = 2;
  config.grid.y = 3;
  config.block.x = 64;
  memset(&box_to, 0, sizeof box_to);
  box_from = box_to;
  box_to.endpoint = to;
  box_from.endpoint = from;
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, all.kernel, &config, args, 2, &kernel));
  says(kernel, "kernel node");
  says(kernel, "(borrowed): kernel append, grid 2x3x1, block 64x1x1");
  CHECK_OK(cushim_set_label(kernel, "first"));
  says(kernel, "kernel node \"first\"");
  says(kernel, "kernel append");
  config.shared_bytes = 1024;
  CHECK_OK(cushim_node_set_kernel(kernel, NULL, &config, NULL, 0));
  says(kernel, "1024 bytes of dynamic shared memory");
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 64, &copy));
  says(copy, "64 bytes from device memory at 0x");
  CHECK_OK(cushim_graph_add_copy_3d(graph, NULL, 0, &box_to, &box_from, &box, &rows));
  says(rows, "4 rows of 16 bytes");
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(7), 9, &fill));
  says(fill, "9 values of 4 bytes at 0x");
  CHECK_OK(cushim_set_label(all.event, "tick"));
  CHECK_OK(cushim_graph_add_event_record(graph, NULL, 0, all.event, &event));
  says(event, "event \"tick\"");
  CHECK_OK(cushim_set_label(all.event, NULL));
  CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, &empty));
  says(empty, "empty node");
  says(graph, "graph: 6 nodes");
  exec = new_exec(graph);
  says(exec, "exec: 6 nodes");
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &parent, &inner));
  says(inner, "child graph (borrowed): 0 nodes");
  says(exec, "6 nodes"); /* as it was instantiated */
  says(graph, "7 nodes");
  CHECK_OK(cushim_node_remove(kernel));
  says(kernel, "kernel append");
  says(kernel, "removed");
  says(exec, "6 nodes");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(strcmp(description(exec), "destroyed exec") == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(strcmp(description(graph), "destroyed graph") == 0);
  graph = new_graph();
  what.bytes = 4096;
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &what, &allocation, &pointer));
  snprintf(expected, sizeof expected, "4096 bytes at %#llx", (unsigned long long)pointer);
  says(allocation, expected);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
}

static void others(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL;
  char expected[64];
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 4096, &buffer));
  CHECK_OK(cushim_set_label(buffer, "weights"));
  snprintf(expected, sizeof expected, "buffer \"weights\": 4096 bytes at %#llx, ", (unsigned long long)cushim_buffer_pointer(buffer));
  says(buffer, expected);
  says(buffer, "pool");
  says(pool, "pool");
  says(all.kernel, "kernel: append");
  CHECK_OK(cushim_set_label(all.kernel, "k"));
  says(all.kernel, "kernel \"k\": append");
  CHECK_OK(cushim_set_label(all.kernel, NULL));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(strcmp(description(buffer), "destroyed buffer \"weights\"") == 0);
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  nodes();
  others();
  return close_graphs();
}
