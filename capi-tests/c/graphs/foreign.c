/* Graphs that others made, wrapped: their nodes are found and read from the driver, edited, given owners, and let alone at the end. */
#include "conditions.h"

static const cushim_driver_table *cu;

static CUgraph native_of(cushim_graph graph) {
  CUgraph native = NULL;
  CHECK_OK(cushim_graph_native(graph, &native));
  return native;
}

static cushim_graph wrap(CUgraph native, cushim_ownership ownership) {
  cushim_graph graph = NULL;
  CHECK_OK(cushim_graph_wrap(all.context, native, ownership, &graph));
  return graph;
}

/* A copy that the library does not know of. */
static cushim_graph foreign_copy(cushim_graph graph) {
  CUgraph copy = NULL;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphClone_10000(&copy, native_of(graph)));
  return wrap(copy, CUSHIM_OWNED);
}

/* One native graph is one graph, however often it is wrapped. */
static void the_same(void) {
  cushim_graph graph = new_graph(), again, none = (cushim_graph)NOT_NULL;
  cushim_node node = add_append(graph, NULL, 0, 7), found = NULL;
  size_t count = 0;
  again = wrap(native_of(graph), CUSHIM_BORROWED);
  CHECK(again != graph && is_same(again, graph));
  CHECK_OK(cushim_graph_get_nodes(again, &found, 1, &count));
  CHECK(count == 1 && found == node);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_wrap(all.context, native_of(graph), CUSHIM_OWNED, &none));
  CHECK_CONTAINS(last_message(), "owns this native handle already");
  CHECK(none == NULL);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(result_of(again) == 7);
  CHECK_OK(cushim_graph_destroy(again));
}

/* A graph of the whole is that graph, and its nodes are the same; nobody else destroys it. */
static void is_inner(CUgraph native, cushim_graph inner) {
  cushim_graph again = wrap(native, CUSHIM_BORROWED), none = (cushim_graph)NOT_NULL;
  cushim_node node = NULL, found = NULL;
  size_t count = 0;
  CHECK(again != inner && is_same(again, inner));
  CHECK_OK(cushim_graph_get_nodes(inner, &node, 1, &count));
  CHECK_OK(cushim_graph_get_nodes(again, &found, 1, &count));
  CHECK(count == 1 && found == node);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_wrap(all.context, native, CUSHIM_OWNED, &none));
  CHECK_CONTAINS(last_message(), "is part of another graph");
  CHECK(none == NULL);
  CHECK_OK(cushim_graph_destroy(again));
}

static CUgraph child_of(CUgraphNode node) {
  CUgraph child = NULL;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphChildGraphNodeGetGraph_10000(node, &child));
  return child;
}

static CUgraphNode native_node(cushim_node node) {
  CUgraphNode native = NULL;
  CHECK_OK(cushim_node_native(node, &native));
  return native;
}

/* So it is with child graphs, whoever told their native handle, and however deep they are. */
static void the_same_child(void) {
  cushim_graph graph = new_graph(), child = new_graph(), lowest = new_graph(), inner = NULL, below, again;
  cushim_node node = NULL, around = NULL, second = NULL;
  CUgraph native;
  size_t count = 0;
  add_append(lowest, NULL, 0, 1);
  CHECK_OK(cushim_graph_add_child(child, NULL, 0, lowest, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner));
  CHECK_OK(cushim_graph_get_nodes(inner, &around, 1, &count));
  below = inner_of(around);
  native = child_of(native_node(node)); /* the first native handle of the whole */
  is_inner(native, inner);
  is_inner(child_of(native_node(around)), below);
  is_inner(native_of(below), below);
  /* One that is added now, too. */
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, lowest, CUSHIM_CHILD_CLONE, &second, NULL));
  is_inner(native_of(inner_of(second)), inner_of(second));
  /* An owning handle keeps the whole; a child graph that was removed is found no more, whoever has its native handle next. */
  again = wrap(native, CUSHIM_BORROWED);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(node_count(inner) == 1);
  CHECK_OK(cushim_node_remove(node));
  graph = wrap(native, CUSHIM_BORROWED);
  CHECK(!is_same(graph, again));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(again));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(lowest));
}

/* And with bodies, and graphs that were moved with all below them: the native handles stay, and the graphs are others. */
static void the_same_elsewhere(void) {
  cushim_graph graph = new_graph(), child, lowest, inner = NULL, moved = NULL, body = NULL;
  cushim_node around = NULL;
  CUgraph native, natives[2];
  size_t count = 0;
  if (version >= 12030) {
    add_conditional(graph, NULL, new_condition(graph, 1), CUSHIM_CONDITIONAL_IF, 1, &body);
    add_append(body, NULL, 0, 1);
    native = native_of(body);
    is_inner(native, body);
    CHECK_OK(cushim_graph_destroy(graph));
    graph = new_graph();
  }
  if (version >= 12090) {
    child = new_graph(), lowest = new_graph();
    add_append(lowest, NULL, 0, 1);
    CHECK_OK(cushim_graph_add_child(child, NULL, 0, lowest, CUSHIM_CHILD_CLONE, &around, &inner));
    natives[0] = native_of(child);
    natives[1] = native_of(inner);
    CHECK_OK(move_child(graph, child, NULL, &moved));
    is_inner(natives[0], moved);
    CHECK_OK(cushim_graph_get_nodes(moved, &around, 1, &count));
    is_inner(natives[1], inner_of(around));
    CHECK_OK(cushim_graph_destroy(child));
    CHECK_OK(cushim_graph_destroy(lowest));
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

/* What somebody else built: every node is told by the driver's own getters. */
static void read_back(void) {
  cushim_graph graph = new_graph(), child = new_graph(), wrapped, inner;
  cushim_node nodes[8], again[8], kernel, fill = NULL, copy = NULL;
  cushim_kernel_node run_by = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_fill_node filled = CUSHIM_OPTIONS(cushim_fill_node);
  cushim_copy_node copied = CUSHIM_OPTIONS(cushim_copy_node);
  cushim_endpoint to = cushim_endpoint_device(slot(8)), from = cushim_endpoint_device(slot(16));
  cushim_event event = (cushim_event)NOT_NULL;
  CUevent recorded = NULL, native_event = NULL;
  cushim_arg args[2];
  uint64_t values[2];
  size_t count = 0;
  kernel = add_append(graph, NULL, 0, 7);
  fill = add_number(graph, kernel, 1, 42);
  CHECK_OK(cushim_graph_add_copy(graph, &fill, 1, &to, &from, 16, &copy));
  CHECK_OK(cushim_graph_add_event_record(graph, &copy, 1, all.event, NULL));
  add_append(child, NULL, 2, 1);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  wrapped = foreign_copy(graph);
  CHECK_OK(cushim_graph_get_nodes(wrapped, nodes, 8, &count));
  CHECK(count == 5 && edge_count(wrapped) == 3);
  CHECK_OK(cushim_graph_get_nodes(wrapped, again, 8, &count));
  CHECK(memcmp(nodes, again, count * sizeof *nodes) == 0 && nodes[0] != kernel);
  CHECK(type_of(nodes[0]) == CUSHIM_NODE_KERNEL && type_of(nodes[1]) == CUSHIM_NODE_FILL && type_of(nodes[2]) == CUSHIM_NODE_COPY);
  CHECK(type_of(nodes[3]) == CUSHIM_NODE_EVENT_RECORD && type_of(nodes[4]) == CUSHIM_NODE_CHILD);
  CHECK_OK(cushim_node_get_kernel(nodes[0], &run_by));
  CHECK(run_by.config.grid.x == 1 && run_by.config.block.x == 1);
  CHECK_OK(cushim_node_get_arguments(nodes[0], args, 2, &count, values, sizeof values, NULL));
  CHECK(version < 12040 || (count == 2 && *(const uint64_t *)args[0].value == memory && *(const uint32_t *)args[1].value == 7));
  CHECK_OK(cushim_node_get_fill(nodes[1], &filled));
  CHECK(filled.value == 42 && filled.value_size == 4 && filled.destination.address == slot(1) && filled.width == 1);
  CHECK_OK(cushim_node_get_copy(nodes[2], &copied));
  CHECK(copied.destination.endpoint.address == slot(8) && copied.source.endpoint.address == slot(16) && copied.extent.width == 16);
  CHECK_OK(cushim_node_get_event(nodes[3], &event, &recorded));
  CHECK_OK(cushim_event_native(all.event, &native_event));
  CHECK(recorded == native_event);
  inner = inner_of(nodes[4]);
  CHECK(node_count(inner) == 1);
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK(node_count(graph) == 5 && result_of(graph) == 7);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Before CUDA 12.4 the driver does not tell the arguments of others' kernels: parts are refused, and all of the arguments are taken. */
static void parts_of_kernels(void) {
  cushim_graph graph = new_graph(), wrapped;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  const uint64_t to = memory;
  const uint32_t digit = 8;
  cushim_arg args[2];
  cushim_node node = NULL;
  cushim_exec exec;
  size_t count = 0, at;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  config.grid.x = config.block.x = 1;
  add_append(graph, NULL, 0, 7);
  wrapped = foreign_copy(graph);
  CHECK_OK(cushim_graph_get_nodes(wrapped, &node, 1, &count));
  exec = new_exec(wrapped);
  for (at = 0; at < 2; at++) {
    cushim_exec where = at == 0 ? exec : NULL;
    if (version >= 12040) {
      CHECK_OK(IN_GRAPH_OR_EXEC(where, set_kernel, node, NULL, &config, NULL, 0));
      CHECK_OK(IN_GRAPH_OR_EXEC(where, set_argument, node, 1, &args[1]));
    } else {
      CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(where, set_kernel, node, NULL, &config, NULL, 0));
      CHECK_CONTAINS(last_message(), "give all of them");
      CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(where, set_argument, node, 1, &args[1]));
      CHECK_CONTAINS(last_message(), "give all of them");
      CHECK(at != 0 || result_of_exec(exec) == 7);
      CHECK_OK(IN_GRAPH_OR_EXEC(where, set_kernel, node, all.kernel, NULL, args, 2));
      CHECK_OK(IN_GRAPH_OR_EXEC(where, set_kernel, node, NULL, &config, NULL, 0));
    }
    CHECK(at == 0 ? result_of_exec(exec) == 8 : result_of(wrapped) == 8);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A change that the driver refuses half-way leaves others' kernels as they were, also where it does not tell what they take. */
static void refused_half_way(const struct control *control) {
  cushim_graph graph = new_graph(), wrapped;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  const uint64_t to = memory;
  const uint32_t digit = 8;
  cushim_arg args[2];
  cushim_node node = NULL;
  size_t count = 0;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  config.grid.x = config.block.x = 1;
  config.flags = CUSHIM_LAUNCH_COOPERATIVE;
  add_append(graph, NULL, 0, 7);
  wrapped = foreign_copy(graph);
  CHECK_OK(cushim_graph_get_nodes(wrapped, &node, 1, &count));
  CHECK(control->fault_set("cuGraphKernelNodeSetAttribute=1") == 0);
  CHECK_STATUS(1, cushim_node_set_kernel(node, all.kernel, &config, args, 2));
  control->fault_clear();
  CHECK(result_of(wrapped) == 7);
  CHECK(control->fault_set("cuGraphKernelNodeSetParams=1;cuGraphNodeSetParams=1") == 0);
  CHECK_STATUS(1, cushim_node_set_kernel(node, all.kernel, &config, args, 2));
  control->fault_clear();
  CHECK(result_of(wrapped) == 7);
  CHECK_OK(cushim_node_set_kernel(node, all.kernel, &config, args, 2));
  CHECK(result_of(wrapped) == 8);
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* What others add is found when nodes are listed, and can be changed; what is added here is kept. */
static void edited_by_both(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  CUgraph native = NULL;
  CUgraphNode raw = NULL;
  cushim_graph graph, twice = (cushim_graph)NOT_NULL;
  cushim_node nodes[2], kernel, last;
  cushim_edge edge;
  cushim_exec exec;
  size_t found = 0;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphCreate_10000(&native, 0));
  graph = wrap(native, CUSHIM_OWNED);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_wrap(all.context, native, CUSHIM_OWNED, &twice));
  CHECK(twice == NULL);
  kernel = add_append(graph, NULL, 0, 3);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphAddEmptyNode_10000(&raw, native, NULL, 0));
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 2, &found));
  CHECK(found == 2 && nodes[0] == kernel && type_of(nodes[1]) == CUSHIM_NODE_EMPTY);
  edge = edge_between(kernel, nodes[1]);
  CHECK_OK(cushim_graph_add_edges(graph, &edge, 1));
  last = add_append(graph, nodes[1], 0, 4);
  edge = edge_between(last, kernel);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, &edge, 1));
  CHECK_CONTAINS(last_message(), "cycle");
  CHECK_OK(cushim_node_set_owner(last, 0, &owner));
  exec = new_exec(graph);
  CHECK(result_of_exec(exec) == 34);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(result_of_exec(exec) == 34 && released(&count) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&count, 1) == 1);
}

/* Nodes of others are given owners, changed and removed. */
static void changed(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph(), wrapped;
  cushim_node kernel = add_append(graph, NULL, 0, 3), fill = add_number(graph, kernel, 1, 4), nodes[2];
  void *data = NULL;
  cushim_exec exec;
  size_t found = 0;
  wrapped = foreign_copy(graph);
  CHECK_OK(cushim_graph_get_nodes(wrapped, nodes, 2, &found));
  CHECK(found == 2 && fill != nodes[1]);
  CHECK_OK(cushim_node_set_owner(nodes[1], 0, &owner));
  CHECK_OK(cushim_node_get_owner(nodes[1], 0, &data));
  CHECK(data == &count);
  CHECK_OK(cushim_node_set_fill(nodes[1], NULL, CUSHIM_VALUE_32(9), 0));
  exec = new_exec(wrapped);
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK(result_of_exec(exec) == 3 && number_at(slot(1)) == 9);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&count, 1) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void wrong(void) {
  cushim_graph graph = (cushim_graph)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_wrap(all.context, NULL, CUSHIM_BORROWED, &graph));
  CHECK(graph == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_wrap(all.context, (CUgraph)NOT_NULL, (cushim_ownership)7, &graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_wrap(NULL, (CUgraph)NOT_NULL, CUSHIM_BORROWED, &graph));
}

/* A clone finds its nodes, with labels; what is no clone, or younger, is not found. */
static void clones(void) {
  cushim_graph graph = new_graph(), clone = NULL, other = new_graph(), child_clone = NULL, inner = NULL;
  cushim_node node = add_append(graph, NULL, 0, 5), later, found = NULL;
  char label[16];
  CHECK_OK(cushim_set_label(node, "five"));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, other, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_OK(cushim_graph_clone(graph, &clone));
  CHECK_OK(cushim_node_find_in(node, clone, &found));
  CHECK(found != NULL && found != node && type_of(found) == CUSHIM_NODE_KERNEL);
  CHECK_OK(cushim_get_label(found, label, sizeof label, NULL));
  CHECK(strcmp(label, "five") == 0);
  CHECK(node_count(clone) == 2 && result_of(clone) == 5);
  later = add_empty(graph, NULL);
  CHECK(node_count(clone) == 2);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_find_in(later, clone, &found));
  CHECK(found == NULL);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_find_in(node, other, &found));
  CHECK_CONTAINS(last_message(), "no copy");
  CHECK_OK(cushim_graph_clone(inner, &child_clone)); /* of a child graph, too */
  CHECK(node_count(child_clone) == 0);
  CHECK_OK(cushim_graph_destroy(child_clone));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(result_of(clone) == 5);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(other));
}

/* Handles of nodes of others that were removed, with the node around them or by themselves, tell what the driver said of them. */
static void removed(void) {
  cushim_graph graph = new_graph(), child = new_graph(), wrapped;
  cushim_node nodes[3], below = NULL;
  cushim_fill_node filled = CUSHIM_OPTIONS(cushim_fill_node);
  cushim_kernel_node run_by = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_arg args[2];
  uint64_t values[2];
  size_t count = 0;
  add_number(graph, NULL, 1, 42);
  add_append(graph, NULL, 0, 7);
  add_number(child, NULL, 2, 43);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  wrapped = foreign_copy(graph);
  CHECK_OK(cushim_graph_get_nodes(wrapped, nodes, 3, &count));
  CHECK(count == 3);
  CHECK_OK(cushim_graph_get_nodes(inner_of(nodes[2]), &below, 1, &count));
  CHECK_OK(cushim_node_remove(nodes[0]));
  CHECK_OK(cushim_node_remove(nodes[1]));
  CHECK_OK(cushim_node_remove(nodes[2]));
  CHECK_OK(cushim_node_get_fill(nodes[0], &filled));
  CHECK(filled.value == 42 && filled.destination.address == slot(1));
  CHECK_OK(cushim_node_get_fill(below, &filled));
  CHECK(filled.value == 43 && filled.destination.address == slot(2));
  CHECK_OK(cushim_node_get_kernel(nodes[1], &run_by));
  CHECK(run_by.config.grid.x == 1 && run_by.config.block.x == 1);
  CHECK_OK(cushim_node_get_arguments(nodes[1], args, 2, &count, values, sizeof values, NULL));
  CHECK(version < 12040 || (count == 2 && *(const uint32_t *)args[1].value == 7));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_node_remove(below));
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A conditional node of somebody else's is told with condition, kind and bodies from CUDA 13.2 on; before it is a conditional node. */
static void conditional(void) {
  CUgraph native = NULL;
  CUgraphNode raw = NULL;
  CUgraphConditionalHandle handle = 0;
  CUgraphNodeParams params;
  CUcontext current = NULL;
  cushim_context before;
  cushim_graph graph, bodies[2] = {NULL};
  cushim_node node = NULL, parent = NULL;
  cushim_condition condition = (cushim_condition)NOT_NULL, again = NULL;
  cushim_conditional_kind kind = CUSHIM_CONDITIONAL_SWITCH;
  uint64_t told = 0;
  size_t count = 0;
  if (version < 12030) return;
  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxGetCurrent_4000(&current));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphCreate_10000(&native, 0));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphConditionalHandleCreate_12030(&handle, native, current, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  memset(&params, 0, sizeof params);
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  params.conditional.ctx = current;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphAddNode_12030(&raw, native, NULL, NULL, 0, &params));
  CHECK_OK(cushim_context_pop(all.driver, &before, NULL));
  graph = wrap(native, CUSHIM_OWNED);
  CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &count));
  CHECK(count == 1 && type_of(node) == CUSHIM_NODE_CONDITIONAL);
  CHECK_OK(cushim_node_get_condition(node, &condition, &kind));
  CHECK_OK(cushim_node_get_graphs(node, bodies, 2, &count));
  if (version >= 13020) {
    CHECK(condition != NULL && kind == CUSHIM_CONDITIONAL_IF && count == 1);
    CHECK_OK(cushim_condition_native(condition, &told));
    CHECK(told == handle);
    CHECK_OK(cushim_node_get_condition(node, &again, NULL));
    CHECK(again == condition);
    CHECK_OK(cushim_graph_get_parent(bodies[0], &parent));
    CHECK(parent == node);
    add_append(bodies[0], NULL, 0, 4);
    CHECK(result_of(graph) == 4);
  } else {
    CHECK(condition == NULL && kind == 0 && count == 0);
    CHECK(result_of(graph) == 0);
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    struct control control;
    cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
    the_same();
    the_same_child();
    the_same_elsewhere();
    read_back();
    parts_of_kernels();
    edited_by_both();
    changed();
    wrong();
    clones();
    removed();
    conditional();
    if (find_control(&control)) refused_half_way(&control);
  }
  return close_graphs();
}
