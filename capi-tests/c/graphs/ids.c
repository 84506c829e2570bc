/* The numbers by which the driver's tools tell graphs, execs and nodes apart: from CUDA 13.1 on. */
#include "graphs.h"

static void ids(void) {
  cushim_graph graph = new_graph(), other = new_graph(), clone = NULL;
  cushim_node node = add_empty(graph, NULL), found = NULL;
  uint64_t tool = 0, other_tool = 0;
  cushim_exec exec = new_exec(graph), again = new_exec(graph);
  uint32_t first = 7, second = 7, third = 7, fourth = 7;
  CHECK_OK(cushim_graph_get_id(graph, &first));
  CHECK_OK(cushim_graph_get_id(other, &second));
  CHECK_OK(cushim_exec_get_id(exec, &third));
  CHECK_OK(cushim_exec_get_id(again, &fourth));
  CHECK(first != second && third != fourth);
  CHECK_OK(cushim_graph_get_id(graph, &second));
  CHECK(first == second);
  CHECK_OK(cushim_node_get_id(node, &first));
  CHECK_OK(cushim_graph_clone(graph, &clone));
  CHECK_OK(cushim_node_find_in(node, clone, &found));
  CHECK_OK(cushim_node_get_id(found, &second));
  CHECK(first == second);
  CHECK_OK(cushim_node_get_tools_id(node, &tool));
  CHECK_OK(cushim_node_get_tools_id(found, &other_tool));
  CHECK(tool != other_tool);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_exec_destroy(again));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void too_old(void) {
  cushim_graph graph = new_graph();
  cushim_exec exec = new_exec(graph);
  cushim_node node = add_empty(graph, NULL);
  uint32_t id = 7;
  uint64_t tool = 7;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_get_id(node, &id));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_get_tools_id(node, &tool));
  CHECK_CONTAINS(last_message(), "13.1");
  CHECK(id == 0 && tool == 0);
  id = 7;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_get_id(graph, &id));
  CHECK_CONTAINS(last_message(), "13.1");
  CHECK(id == 0);
  id = 7;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_get_id(exec, &id));
  CHECK_CONTAINS(last_message(), "13.1");
  CHECK(id == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    if (version >= 13010) ids();
    else too_old();
  }
  return close_graphs();
}
