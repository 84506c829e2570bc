/* Nodes that write values to memory and wait for them: from CUDA 11.7 on. */
#include "graphs.h"

static cushim_memory_operation operation_of(cushim_memory_action action, uint32_t flags, int index, uint64_t value) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = action;
  operation.flags = flags;
  operation.at = cushim_endpoint_device(slot(index));
  operation.value = value;
  return operation;
}

static void too_old(void) {
  cushim_graph graph = new_graph();
  const cushim_memory_operation operation = operation_of(CUSHIM_MEMORY_WRITE_32, 0, 0, 1);
  cushim_node node = (cushim_node)NOT_NULL, empty = add_empty(graph, NULL);
  cushim_exec exec;
  size_t count = 7;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_add_memory_operations(graph, NULL, 0, &operation, 1, &node));
  CHECK_CONTAINS(last_message(), "11.7");
  CHECK(node == NULL && node_count(graph) == 1);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_get_memory_operations(empty, NULL, 0, &count));
  CHECK_CONTAINS(last_message(), "11.7");
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_set_memory_operations(empty, &operation, 1));
  CHECK_CONTAINS(last_message(), "11.7");
  exec = new_exec(graph);
  count = 7;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_get_memory_operations(exec, empty, NULL, 0, &count));
  CHECK_CONTAINS(last_message(), "11.7");
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_set_memory_operations(exec, empty, &operation, 1));
  CHECK_CONTAINS(last_message(), "11.7");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void operations(void) {
  int counts[2] = {0};
  cushim_owner owner = counted(&counts[0]);
  cushim_graph graph = new_graph();
  cushim_memory_operation list[3], told[4];
  struct control control;
  cushim_node node = NULL;
  cushim_exec exec, untouched;
  size_t count = 0;
  list[0] = operation_of(CUSHIM_MEMORY_WRITE_32, 0, 0, 99);
  list[1] = operation_of(CUSHIM_MEMORY_WAIT_32, CU_STREAM_WAIT_VALUE_EQ, 0, 99);
  list[2] = operation_of(CUSHIM_MEMORY_WRITE_64, 0, 2, 0x100000005);
  CHECK_OK(cushim_graph_add_memory_operations(graph, NULL, 0, list, 3, &node));
  CHECK(type_of(node) == CUSHIM_NODE_MEMORY_OPERATIONS);
  CHECK(result_of(graph) == 99 && number_at(slot(2)) == 5 && number_at(slot(3)) == 1);
  CHECK_OK(cushim_node_get_memory_operations(node, told, 4, &count));
  CHECK(count == 3 && told[1].action == CUSHIM_MEMORY_WAIT_32 && told[1].flags == CU_STREAM_WAIT_VALUE_EQ && told[1].value == 99);
  CHECK(told[2].action == CUSHIM_MEMORY_WRITE_64 && told[2].value == 0x100000005 && told[2].at.address == slot(2));
  CHECK_OK(cushim_node_set_owner(node, 0, &owner));

  exec = new_exec(graph);
  untouched = new_exec(graph);
  list[0].value = list[1].value = 55;
  CHECK_OK(cushim_exec_set_memory_operations(exec, node, list, 3));
  CHECK(result_of_exec(exec) == 55 && result_of_exec(untouched) == 99 && result_of(graph) == 99);
  CHECK_OK(cushim_exec_get_memory_operations(exec, node, told, 1, &count));
  CHECK(count == 3 && told[0].value == 55);
  list[0].value = list[1].value = 44;
  CHECK_OK(cushim_node_set_memory_operations(node, list, 3));
  CHECK(result_of(graph) == 44 && result_of_exec(untouched) == 99);

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_memory_operations(exec, node, list, 0));
  if (find_control(&control)) { /* documented; not asked of another driver */
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_memory_operations(exec, node, list, 2));
    CHECK_CONTAINS(last_message(), "keeps its operations");
  }
  list[2].action = (cushim_memory_action)99;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_memory_operations(exec, node, list, 3));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_memory_operations(graph, NULL, 0, list, 3, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_memory_operations(graph, NULL, 0, list, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_memory_operations(add_empty(graph, NULL), list, 1));
  CHECK(result_of_exec(exec) == 55);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_exec_destroy(untouched));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&counts[0], 1) == 1);
}

/* What has no value may have an owner all the same: taken, and released once; where the call fails, the caller's. */
static void owners_without_a_value(void) {
  int counts[5] = {0}, flushed;
  const cushim_owner owners[5] = {counted(&counts[0]), counted(&counts[1]), counted(&counts[2]), counted(&counts[3]), counted(&counts[4])};
  cushim_graph graph = new_graph();
  cushim_memory_operation list[2], wrong[2];
  cushim_node node = NULL;
  cushim_exec exec;
  memset(list, 0, sizeof list);
  list[0].action = CUSHIM_MEMORY_BARRIER;
  list[0].at.owner = &owners[0];
  list[1].action = CUSHIM_MEMORY_BARRIER;
  list[1].at.owner = &owners[1];
  memcpy(wrong, list, sizeof wrong);
  wrong[1].action = (cushim_memory_action)99;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, wrong, 2));
  wrong[1].action = CUSHIM_MEMORY_WRITE_32; /* to NULL */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_memory_operations(all.stream, wrong, 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_memory_operations(graph, NULL, 0, wrong, 2, &node));
  CHECK(released(&counts[0]) == 0 && released(&counts[1]) == 0);
  CHECK_OK(cushim_stream_memory_operations(all.stream, list, 2));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(released_soon(&counts[0], 1) == 1 && released_soon(&counts[1], 1) == 1);

  /* Where the device flushes. */
  list[0].action = CUSHIM_MEMORY_FLUSH_REMOTE_WRITES;
  list[0].at.owner = &owners[4];
  flushed = cushim_stream_memory_operations(all.stream, list, 1) == CUDA_SUCCESS;
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(released_soon(&counts[4], flushed) == flushed);
  list[0].action = CUSHIM_MEMORY_BARRIER;

  list[0].at.owner = &owners[2];
  list[1].at.owner = &owners[3];
  CHECK_OK(cushim_graph_add_memory_operations(graph, NULL, 0, list, 2, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(released(&counts[2]) == 0 && released(&counts[3]) == 0);
  list[0].at.owner = list[1].at.owner = NULL;
  CHECK_OK(cushim_node_set_memory_operations(node, list, 2));
  CHECK(released(&counts[2]) == 0); /* the exec keeps what it has */
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&counts[2], 1) == 1 && released_soon(&counts[3], 1) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&counts[0]) == 1 && released(&counts[1]) == 1 && released(&counts[2]) == 1 && released(&counts[3]) == 1);
}

/* The same of what has no bytes. */
static void owners_without_bytes(void) {
  int counts[3] = {0};
  const cushim_owner owners[3] = {counted(&counts[0]), counted(&counts[1]), counted(&counts[2])};
  cushim_endpoint from = cushim_endpoint_device(slot(0)), to = cushim_endpoint_device(slot(1));
  from.owner = &owners[0];
  to.owner = &owners[1];
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 0));
  to.owner = &owners[2];
  CHECK_OK(cushim_stream_fill(all.stream, &to, CUSHIM_VALUE_8(0), 0));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(released_soon(&counts[0], 1) == 1 && released_soon(&counts[1], 1) == 1 && released_soon(&counts[2], 1) == 1);
}

/* Memory of a pool, and of the graph: added, and refused by the launch, which says where the value is. */
static void refused_by_the_launch(void) {
  cushim_graph graph = new_graph(), allocating = new_graph();
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_memory_operation operation = operation_of(CUSHIM_MEMORY_WRITE_32, 0, 0, 1);
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_node node = NULL;
  cushim_exec exec;
  uint64_t pointer = 0;
  CHECK_OK(cushim_device_get_resource(all.device, &resource));
  CHECK_OK(cushim_buffer_create(resource, all.stream, 64, &buffer));
  operation.at = cushim_endpoint_buffer(buffer, 0);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_memory_operations(all.stream, &operation, 1));
  CHECK_CONTAINS(last_message(), "memory of a pool");
  CHECK_OK(cushim_graph_add_memory_operations(graph, NULL, 0, &operation, 1, NULL));
  exec = new_exec(graph);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_launch(exec, all.stream));
  CHECK_CONTAINS(last_message(), "memory of a pool");
  CHECK_OK(cushim_exec_destroy(exec));
  allocation.bytes = 64;
  CHECK_OK(cushim_graph_add_allocation(allocating, NULL, 0, &allocation, &node, &pointer));
  operation.at = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_graph_add_memory_operations(allocating, &node, 1, &operation, 1, NULL));
  exec = new_exec(allocating);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_launch(exec, all.stream));
  CHECK_CONTAINS(last_message(), "memory of a graph");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(allocating));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    owners_without_bytes();
    if (version >= 11070) {
      operations();
      owners_without_a_value();
      refused_by_the_launch();
    } else {
      too_old();
    }
  }
  return close_graphs();
}
