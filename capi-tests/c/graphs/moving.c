/* A graph is moved into a node, from CUDA 12.9 on: also one that cannot be copied. */
#include "conditions.h"

static void too_old(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = (cushim_graph)NOT_NULL;
  cushim_node node = (cushim_node)NOT_NULL;
  add_append(child, NULL, 0, 5);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_MOVE, &node, &inner));
  CHECK_CONTAINS(last_message(), "12.9");
  CHECK(node == NULL && inner == NULL && node_count(graph) == 0 && result_of(child) == 5);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The graph's handles are good no more; labels and owners go with it. */
static void moved(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = owned_slot(1, &owner);
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL, lent, borrowed = NULL;
  cushim_node node = NULL, in_child = add_append(child, NULL, 0, 5), found = NULL;
  CUgraph native = NULL;
  char label[16];
  size_t listed = 0;
  CHECK_OK(cushim_set_label(in_child, "five"));
  CHECK_OK(cushim_graph_add_fill(child, &in_child, 1, &to, CUSHIM_VALUE_32(1), 1, NULL));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphCreate_10000(&native, 0));
  CHECK_OK(cushim_graph_wrap(all.context, native, CUSHIM_BORROWED, &borrowed));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(graph, NULL, 0, borrowed, CUSHIM_CHILD_MOVE, &node, NULL));
  CHECK_CONTAINS(last_message(), "lender");
  CHECK_OK(cushim_graph_destroy(borrowed));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(native));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(child, NULL, 0, child, CUSHIM_CHILD_MOVE, &node, NULL));
  CHECK_OK(move_child(graph, child, &node, &inner));
  CHECK(node_count(inner) == 2 && edge_count(inner) == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(child, NULL, 0, NULL));
  CHECK_CONTAINS(last_message(), "became the child graph");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_graph(in_child, &lent));
  CHECK_CONTAINS(last_message(), "five");
  CHECK_CONTAINS(last_message(), "moved");
  CHECK_OK(cushim_graph_get_nodes(inner, &found, 1, &listed));
  CHECK_OK(cushim_get_label(found, label, sizeof label, NULL));
  CHECK(strcmp(label, "five") == 0 && found != in_child);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(graph, NULL, 0, inner, CUSHIM_CHILD_MOVE, &node, NULL));
  CHECK_CONTAINS(last_message(), "part of another graph");
  CHECK_OK(cushim_graph_destroy(child));
  CHECK(released(&count) == 0 && result_of(graph) == 5 && number_at(slot(1)) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&count, 1) == 1);
}

/* What allocates, or has conditional nodes, is moved where it cannot be copied. */
static void not_to_be_copied(void) {
  cushim_graph graph = new_graph(), allocating = new_graph(), conditional = new_graph(), body = NULL, inner = NULL;
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_node allocated = NULL, node = NULL, set = NULL;
  uint64_t pointer = 0;
  cushim_endpoint at;
  allocation.bytes = 64;
  CHECK_OK(cushim_graph_add_allocation(allocating, NULL, 0, &allocation, &allocated, &pointer));
  at = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_graph_add_fill(allocating, &allocated, 1, &at, CUSHIM_VALUE_32(3), 1, &set));
  CHECK_OK(cushim_graph_add_free(allocating, &set, 1, pointer, NULL));
  CHECK_OK(move_child(graph, allocating, &node, NULL));
  CHECK_OK(cushim_graph_destroy(allocating));

  add_conditional(conditional, NULL, new_condition(conditional, 1), CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 0, 8);
  /* One with conditional nodes is not moved (measured on driver 580), and stays what it was. */
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, move_child(graph, conditional, NULL, &inner));
  CHECK_CONTAINS(last_message(), "conditional nodes");
  CHECK(inner == NULL && node_count(graph) == 1 && node_count(body) == 1);
  CHECK(result_of(conditional) == 8);
  CHECK_OK(cushim_graph_destroy(conditional));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(body, NULL, 0, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
}

/*
 * The nodes that an exec of what was moved knew have other names now: it is updated from another graph, and no part of it is changed.
 */
static void exec_of_moved(void) {
  cushim_graph graph = new_graph(), child = new_graph(), other = new_graph();
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_endpoint to;
  cushim_exec exec;
  const uint32_t value = 1;
  size_t nodes = 0;
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, 64, &buffer));
  to = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_graph_add_fill(child, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL));
  CHECK_OK(cushim_graph_add_fill(other, NULL, 0, &to, CUSHIM_VALUE_32(2), 1, NULL));
  add_append(child, NULL, 0, 5);
  add_append(other, NULL, 0, 6);
  exec = new_exec(child);
  CHECK_OK(cushim_exec_rebind(exec, buffer, buffer, &nodes));
  CHECK(nodes == 1);
  CHECK_OK(move_child(graph, child, NULL, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, buffer, buffer, &nodes));
  CHECK_CONTAINS(last_message(), "moved into another");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "n", &value, sizeof value, &nodes));
  CHECK(nodes == 0);
  CHECK_OK(cushim_exec_update(exec, other, NULL));
  CHECK(result_of_exec(exec) == 6 && result_of(graph) == 5);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* A graph that had a condition once is not moved either, also if that went with a child graph: measured on driver 580. */
static void with_ended_conditions(void) {
  cushim_graph graph = new_graph(), child = new_graph(), below = new_graph(), inner = NULL;
  cushim_node node = NULL;
  cushim_condition ended, lasting;
  uint64_t native = 0;
  CHECK_OK(cushim_graph_add_child(child, NULL, 0, below, CUSHIM_CHILD_CLONE, &node, &inner));
  ended = new_condition(inner, 1);
  CHECK_OK(cushim_condition_native(ended, &native));
  CHECK_OK(cushim_node_remove(node));
  add_append(child, NULL, 0, 7);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, move_child(graph, child, NULL, NULL));
  CHECK_CONTAINS(last_message(), "or had one");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_condition_native(ended, &native));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_set_label(ended, "another label"));
  CHECK(result_of(child) == 7 && node_count(child) == 1 && node_count(graph) == 0);
  /* One whose condition no kernel ever used can be moved: the driver knows nothing of that. */
  CHECK_OK(cushim_graph_destroy(child));
  child = new_graph();
  lasting = new_condition(child, 1);
  add_append(child, NULL, 0, 5);
  CHECK_OK(move_child(graph, child, NULL, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_condition_native(lasting, &native));
  CHECK(result_of(graph) == 5);
  CHECK_OK(cushim_graph_destroy(below));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    if (version < 12090) {
      too_old();
    } else {
      open_conditions();
      moved();
      not_to_be_copied();
      exec_of_moved();
      with_ended_conditions();
      close_conditions();
    }
  }
  return close_graphs();
}
