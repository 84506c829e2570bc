/* After a reset of its context a buffer is no operand of a node any more, and the refusal releases nothing. */
#include "graphs.h"

int main(void) {
  const cushim_extent extent = {4, 1, 1};
  cushim_resource pool;
  cushim_buffer buffer = NULL;
  cushim_graph graph;
  cushim_endpoint gone, there;
  cushim_region gone_rows, there_rows;
  cushim_exec exec;
  cushim_node fill, rows = NULL, copy = NULL, box = NULL;
  check_begin();
  if (!open_graphs()) return close_graphs();
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &buffer));
  there = cushim_endpoint_device(memory);
  gone = cushim_endpoint_buffer(buffer, 0);
  gone_rows = cushim_region_at(gone, 8);
  there_rows = cushim_region_at(there, 8);
  graph = new_graph();
  fill = add_number(graph, NULL, 0, 1);
  CHECK_OK(cushim_graph_add_fill_2d(graph, NULL, 0, &there, 8, CUSHIM_VALUE_32(1), 1, 2, &rows));
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &there, &there, 4, &copy));
  CHECK_OK(cushim_graph_add_copy_3d(graph, NULL, 0, &there_rows, &there_rows, &extent, &box));
  exec = new_exec(graph);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_device_reset_primary_context(all.device));
  memory = 0; /* went with the context */
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_graph_add_fill(graph, NULL, 0, &gone, CUSHIM_VALUE_32(1), 1, NULL));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_graph_add_fill_2d(graph, NULL, 0, &gone, 8, CUSHIM_VALUE_32(1), 1, 2, NULL));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_graph_add_copy(graph, NULL, 0, &gone, &there, 4, NULL));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_graph_add_copy_3d(graph, NULL, 0, &gone_rows, &there_rows, &extent, NULL));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_node_set_fill(fill, &gone, CUSHIM_VALUE_32(1), 1));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_node_set_fill_2d(rows, &gone, 8, CUSHIM_VALUE_32(1), 1, 2));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_node_set_copy(copy, &gone, NULL, 0));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_node_set_copy_3d(box, &gone_rows, &there_rows, &extent));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_set_fill(exec, fill, &gone, CUSHIM_VALUE_32(1), 1));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_set_fill_2d(exec, rows, &gone, 8, CUSHIM_VALUE_32(1), 1, 2));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_set_copy(exec, copy, &gone, NULL, 0));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_set_copy_3d(exec, box, &gone_rows, &there_rows, &extent));
  CHECK(node_count(graph) == 4);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(buffer));
  return close_graphs();
}
