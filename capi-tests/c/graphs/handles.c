/*
 * Handles of nodes: each node has one, whoever tells it; it stands where the next one is written; and when its node is gone it tells
 * what that was, and everything else is refused.
 */
#include "conditions.h"

static void no_op(void *data) { (void)data; }

/* Whatever tells of a node tells the same handle, before and after others asked. */
static void one_for_each_node(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_node quiet, after, listed[4], node = NULL, parent = NULL;
  cushim_edge edges[4];
  size_t count = 0;
  int i;
  CHECK_OK(add_numbered(graph, NULL, 0, all.kernel, memory, 1, NULL)); /* nobody asked for its handle */
  CHECK_OK(cushim_graph_get_nodes(graph, &quiet, 1, &count));
  after = add_append(graph, quiet, 0, 2);
  CHECK_OK(cushim_graph_add_child(graph, &after, 1, child, CUSHIM_CHILD_CLONE, &node, &inner));
  for (i = 0; i < 2; i++) {
    CHECK_OK(cushim_graph_get_nodes(graph, listed, 4, &count));
    CHECK(count == 3 && listed[0] == quiet && listed[1] == after && listed[2] == node);
    CHECK_OK(cushim_graph_get_edges(graph, edges, 4, &count));
    CHECK(count == 2 && edges[0].from_node == quiet && edges[0].to_node == after && edges[1].from_node == after && edges[1].to_node == node);
    CHECK_OK(cushim_node_get_dependencies(after, edges, 4, &count));
    CHECK(count == 1 && edges[0].from_node == quiet && edges[0].to_node == after);
    CHECK_OK(cushim_node_get_dependents(after, edges, 4, &count));
    CHECK(count == 1 && edges[0].from_node == after && edges[0].to_node == node);
    CHECK_OK(cushim_graph_get_parent(inner, &parent));
    CHECK(parent == node);
  }
  CHECK(is_same(quiet, listed[0]) && !is_same(quiet, after));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The handle of a node may stand where that of the next one is written: a chain needs one variable. */
static void in_and_out(void) {
  const uint32_t digit = 2;
  const uint64_t to = memory;
  cushim_arg args[2];
  struct {
    uint64_t to;
    uint32_t digit;
  } block = {memory, 3};
  cushim_graph graph = new_graph(), child = new_graph();
  cushim_endpoint at = cushim_endpoint_device(slot(4)), from = cushim_endpoint_device(slot(8));
  cushim_region rows = cushim_region_at(at, 8), columns = cushim_region_at(from, 8);
  const cushim_extent extent = {4, 1, 1};
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_memory_operation operation;
  cushim_node node = add_append(graph, NULL, 0, 1), listed[32];
  uint64_t pointer = 0;
  size_t count = 0;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  allocation.bytes = 64;
  CHECK_OK(cushim_graph_add_empty(graph, &node, 1, &node));
  CHECK_OK(cushim_graph_add_kernel(graph, &node, 1, all.kernel, NULL, args, 2, &node));
  CHECK_OK(cushim_graph_add_kernel_packed(graph, &node, 1, all.kernel, NULL, &block, 12, &node));
  CHECK_OK(cushim_graph_add_copy(graph, &node, 1, &at, &from, 16, &node));
  CHECK_OK(cushim_graph_add_copy_3d(graph, &node, 1, &rows, &columns, &extent, &node));
  CHECK_OK(cushim_graph_add_fill(graph, &node, 1, &at, CUSHIM_VALUE_32(1), 1, &node));
  CHECK_OK(cushim_graph_add_fill_2d(graph, &node, 1, &at, 8, CUSHIM_VALUE_32(1), 1, 2, &node));
  CHECK_OK(cushim_graph_add_event_record(graph, &node, 1, all.event, &node));
  CHECK_OK(cushim_graph_add_event_wait(graph, &node, 1, all.event, &node));
  CHECK_OK(cushim_graph_add_host_function(graph, &node, 1, no_op, NULL, NULL, &node));
  CHECK_OK(cushim_graph_add_host_function_bytes(graph, &node, 1, no_op, NULL, 0, &node));
  CHECK_OK(cushim_graph_add_child(graph, &node, 1, child, CUSHIM_CHILD_CLONE, &node, NULL));
  if (version >= 11070) {
    memset(&operation, 0, sizeof operation);
    operation.action = CUSHIM_MEMORY_WRITE_32;
    operation.at = at;
    CHECK_OK(cushim_graph_add_memory_operations(graph, &node, 1, &operation, 1, &node));
  }
  if (version >= 12030) {
    cushim_graph body = NULL;
    CHECK_OK(cushim_graph_add_conditional(graph, &node, 1, new_condition(graph, 1), CUSHIM_CONDITIONAL_IF, 1, &node, &body));
  }
  CHECK_OK(cushim_graph_add_allocation(graph, &node, 1, &allocation, &node, &pointer));
  CHECK_OK(cushim_graph_add_free(graph, &node, 1, pointer, &node));
  CHECK_OK(cushim_graph_get_nodes(graph, listed, 32, &count));
  CHECK(edge_count(graph) == count - 1 && listed[count - 1] == node);
  CHECK(result_of(graph) == 123);

  /* One that is refused leaves NULL there, like every out-parameter. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(child, &node, 1, &node));
  CHECK(node == NULL && node_count(child) == 0);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The node is gone: what changes it, or asks where it stands, is refused, by this status. */
static void is_refused_everywhere(cushim_node node, cushim_graph graph, cushim_exec exec) {
  cushim_endpoint to = cushim_endpoint_device(memory);
  cushim_region rows = cushim_region_at(to, 8);
  const cushim_extent extent = {4, 1, 1};
  const uint32_t digit = 2;
  const uint64_t address = memory;
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_arg args[2];
  cushim_edge edge = edge_between(node, node), edges[1];
  cushim_memory_operation operation;
  cushim_graph of = NULL;
  cushim_node found = NULL, before = node;
  CUgraphNode native = NULL;
  void *data = NULL;
  size_t listed = 0;
  int32_t enabled = 0;
  uint32_t id = 7;
  uint64_t tools_id = 7;
  args[0] = CUSHIM_ARG(address);
  args[1] = CUSHIM_ARG(digit);
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = to;
#define GONE(call) CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, call)
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_node_remove(node));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_node_remove(node));
  GONE(cushim_node_get_graph(node, &of));
  GONE(cushim_node_get_graphs(node, &of, 1, &listed));
  GONE(cushim_node_native(node, &native));
  GONE(cushim_node_get_dependencies(node, edges, 1, &listed));
  GONE(cushim_node_get_dependents(node, edges, 1, &listed));
  GONE(cushim_node_set_dependencies(node, NULL, 0));
  GONE(cushim_node_set_dependents(node, NULL, 0));
  GONE(cushim_node_set_owner(node, 0, &owner));
  GONE(cushim_node_set_owner(node, 0, NULL));
  GONE(cushim_node_get_owner(node, 0, &data));
  GONE(cushim_node_find_in(node, graph, &found));
  GONE(cushim_node_get_id(node, &id));
  GONE(cushim_node_get_tools_id(node, &tools_id));
  GONE(cushim_node_set_kernel(node, NULL, NULL, args, 2));
  GONE(cushim_node_set_argument(node, 1, &args[1]));
  GONE(cushim_node_set_copy(node, &to, NULL, 0));
  GONE(cushim_node_set_copy_3d(node, &rows, &rows, &extent));
  GONE(cushim_node_set_fill(node, &to, CUSHIM_VALUE_32(1), 1));
  GONE(cushim_node_set_fill_2d(node, &to, 8, CUSHIM_VALUE_32(1), 1, 1));
  GONE(cushim_node_set_event(node, all.event));
  GONE(cushim_node_set_host_function(node, no_op, NULL, &owner));
  GONE(cushim_node_set_host_function_bytes(node, no_op, NULL, 0));
  if (version >= 11070) GONE(cushim_node_set_memory_operations(node, &operation, 1));
  CHECK(cushim_exec_get_enabled(exec, node, &enabled) != CUSHIM_SUCCESS);
  CHECK(cushim_exec_set_enabled(exec, node, 0) != CUSHIM_SUCCESS);
  CHECK(cushim_exec_set_argument(exec, node, 1, &args[1]) != CUSHIM_SUCCESS);
  CHECK(cushim_exec_set_child(exec, node, graph) != CUSHIM_SUCCESS);
  GONE(cushim_set_label(node, "another label"));
  GONE(cushim_graph_add_edges(graph, &edge, 1));
  GONE(cushim_graph_remove_edges(graph, &edge, 1));
  GONE(cushim_graph_add_empty(graph, &before, 1, NULL));
#undef GONE
  CHECK(of == NULL && found == NULL && native == NULL && listed == 0 && released(&count) == 0);
}

/* Label, type, and what it appended where. */
static void still_tells(cushim_node node, const char *called, uint32_t digit) {
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_arg args[2];
  uint64_t values[4];
  char label[16] = "";
  size_t count = 0;
  CHECK(type_of(node) == CUSHIM_NODE_KERNEL);
  CHECK_OK(cushim_get_label(node, label, sizeof label, NULL));
  CHECK(strcmp(label, called) == 0);
  CHECK_CONTAINS(description(node), called);
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(is_same(told.kernel, all.kernel) && told.config.grid.x == 1 && told.arg_count == 2);
  CHECK_OK(cushim_node_get_arguments(node, args, 2, &count, values, sizeof values, NULL));
  CHECK(count == 2 && *(const uint64_t *)args[0].value == memory && *(const uint32_t *)args[1].value == digit);
}

/* Removed itself, with the node around it, and with the node around that. */
static void removed(void) {
  cushim_graph graph = new_graph(), child = new_graph(), parent = new_graph(), middle = NULL;
  cushim_node itself = add_append(graph, NULL, 0, 1), outer = NULL, between, below;
  cushim_exec exec;
  size_t count = 0;
  add_append(child, NULL, 0, 2);
  CHECK_OK(cushim_graph_add_child(parent, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, parent, CUSHIM_CHILD_CLONE, &outer, &middle));
  CHECK_OK(cushim_graph_get_nodes(middle, &between, 1, &count));
  CHECK_OK(cushim_graph_get_nodes(inner_of(between), &below, 1, &count));
  CHECK_OK(cushim_set_label(itself, "one"));
  CHECK_OK(cushim_set_label(below, "two"));
  exec = new_exec(graph);
  CHECK_OK(cushim_node_remove(itself));
  CHECK_OK(cushim_node_remove(outer));
  still_tells(itself, "one", 1);
  still_tells(below, "two", 2);
  CHECK(type_of(outer) == CUSHIM_NODE_CHILD && type_of(between) == CUSHIM_NODE_CHILD);
  is_refused_everywhere(itself, graph, exec);
  is_refused_everywhere(below, graph, exec);
  is_refused_everywhere(outer, graph, exec);
  is_refused_everywhere(between, graph, exec);
  CHECK(node_count(graph) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(parent));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A graph that is moved has other nodes afterwards: handles of before, at every depth, tell what theirs were. */
static void moved(void) {
  cushim_graph graph = new_graph(), child = new_graph(), lowest = new_graph(), inner = NULL, deep = NULL, of = NULL;
  cushim_node itself = add_append(child, NULL, 0, 1), around = NULL, below, now[2];
  cushim_exec exec;
  size_t count = 0;
  if (version < 12090) return;
  add_append(lowest, NULL, 0, 2);
  CHECK_OK(cushim_graph_add_child(child, &itself, 1, lowest, CUSHIM_CHILD_CLONE, &around, &deep));
  CHECK_OK(cushim_graph_get_nodes(deep, &below, 1, &count));
  CHECK_OK(cushim_set_label(itself, "one"));
  CHECK_OK(cushim_set_label(below, "two"));
  CHECK_OK(move_child(graph, child, NULL, &inner));
  CHECK_OK(cushim_graph_destroy(child)); /* the handles are the new graph's to keep */
  exec = new_exec(graph);
  still_tells(itself, "one", 1);
  still_tells(below, "two", 2);
  CHECK(type_of(around) == CUSHIM_NODE_CHILD);
  is_refused_everywhere(itself, graph, exec);
  is_refused_everywhere(below, graph, exec);
  is_refused_everywhere(around, graph, exec);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(deep, NULL, 0, NULL));
  CHECK_CONTAINS(last_message(), "became");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_set_label(deep, "another label"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_graph(itself, &of));
  CHECK_CONTAINS(last_message(), "one");
  CHECK_OK(cushim_graph_get_nodes(inner, now, 2, &count));
  CHECK(count == 2 && now[0] != itself && now[1] != around && result_of_exec(exec) == 12);
  still_tells(now[0], "one", 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(lowest));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A removal that the driver refuses changes nothing: node, edges and owners are there, and the graph runs. */
static void refused_removal(void) {
  int count = 0;
  cushim_owned_pointer pointer;
  const uint32_t digit = 4;
  cushim_graph graph = new_graph();
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_node allocated = NULL, kernel = NULL, freed = NULL;
  cushim_edge edges[2];
  cushim_arg args[2];
  uint64_t address = 0;
  size_t found = 0;
  allocation.bytes = 64;
  args[0] = owned_arg(&pointer, memory, &count);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &allocation, &allocated, &address));
  CHECK_OK(cushim_graph_add_kernel(graph, &allocated, 1, all.kernel, NULL, args, 2, &kernel));
  CHECK_OK(cushim_graph_add_free(graph, &kernel, 1, address, &freed));
  CHECK_OK(cushim_set_label(kernel, "four"));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_remove(kernel));
  CHECK_CONTAINS(last_message(), "four");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_remove(kernel)); /* it was not removed */
  CHECK_OK(cushim_node_get_dependencies(kernel, edges, 2, &found));
  CHECK(found == 1 && edges[0].from_node == allocated);
  CHECK_OK(cushim_node_get_dependents(kernel, edges, 2, &found));
  CHECK(found == 1 && edges[0].to_node == freed);
  still_tells(kernel, "four", 4);
  CHECK(node_count(graph) == 3 && result_of(graph) == 4 && released(&count) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&count, 1) == 1);
}

/* With its graph a node's handle is good no more. */
static void after_the_graph(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1);
  cushim_node_type type = CUSHIM_NODE_EVENT_WAIT;
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_type(node, &type));
  CHECK(type == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_remove(node));
}

/* A handle of what its graph alone keeps says so: there is no reference of a node or a condition to be taken. */
static void gone_with_the_graph(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1);
  cushim_condition condition = version >= 12030 ? new_condition(graph, 1) : NULL;
  cushim_node_type type = CUSHIM_NODE_OTHER;
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_type(node, &type));
  CHECK_CONTAINS(last_message(), "keep a handle of that one (cushim_graph_ref)");
  CHECK(strstr(last_message(), "reference of your own") == NULL);
  if (condition == NULL) return;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_set_label(condition, "late"));
  CHECK_CONTAINS(last_message(), "keep a handle of that one (cushim_graph_ref)");
  CHECK(strstr(last_message(), "reference of your own") == NULL);
}

/* A graph tells of the 4,096 nodes that were removed last. A handle that it has forgotten is stale, and never names the node that has
 * come to the place of its own. */
static void the_last_that_were_removed(void) {
  enum { REMEMBERED = 4096, ROUND = 50 };
  static cushim_node seen[REMEMBERED + ROUND];
  cushim_graph graph = new_graph();
  cushim_node first = add_append(graph, NULL, 0, 1), second = NULL;
  char label[16];
  cushim_node_type type = (cushim_node_type)0;
  uint64_t identity = 0;
  int i, j, count = 0;
  CHECK_OK(cushim_set_label(first, "first"));
  CHECK_OK(cushim_node_remove(first));
  CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, &second));
  CHECK_OK(cushim_node_remove(second));
  CHECK(second != first);
  for (i = 0; i < REMEMBERED - 2; i++) {
    cushim_node node = NULL;
    CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, &node));
    CHECK_OK(cushim_node_remove(node));
    CHECK(node != first && node != second);
  }
  CHECK(type_of(first) == CUSHIM_NODE_KERNEL && type_of(second) == CUSHIM_NODE_EMPTY);
  CHECK_OK(cushim_get_label(first, label, sizeof label, NULL));
  CHECK(strcmp(label, "first") == 0);
  CHECK_CONTAINS(description(first), "removed kernel node \"first\"");

  for (i = 0; i < ROUND; i++) {
    cushim_node node = NULL;
    CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, &node));
    CHECK_OK(cushim_node_remove(node));
    seen[count++] = node;
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_type(first, &type));
  CHECK_CONTAINS(last_message(), "\"first\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_get_identity(second, &identity));
  CHECK_CONTAINS(description(first), "destroyed node \"first\"");

  /* Their places are other nodes' by now. */
  for (i = 0; i < ROUND; i++) {
    cushim_node node = add_append(graph, NULL, 0, 1);
    CHECK(node != first && node != second && type_of(node) == CUSHIM_NODE_KERNEL);
    for (j = 0; j < count; j++) CHECK(node != seen[j]);
    seen[count++] = node;
  }
  for (i = 0; i < ROUND; i++) CHECK(type_of(seen[i]) == CUSHIM_NODE_EMPTY);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_type(first, &type));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_remove(second));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(graph, &second, 1, NULL));
  CHECK(node_count(graph) == ROUND);
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    if (version >= 12030) open_conditions();
    one_for_each_node();
    in_and_out();
    removed();
    moved();
    refused_removal();
    after_the_graph();
    gone_with_the_graph();
    the_last_that_were_removed();
    if (version >= 12030) close_conditions();
  }
  return close_graphs();
}
