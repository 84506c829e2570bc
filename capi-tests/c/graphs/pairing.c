/*
 * What the nodes of an exec do after it took over another graph. The driver pairs nodes by their edges: from those that no other follows
 * backwards, in the order in which edges were added. Where cushim cannot tell which node stands for which, it says so, and changes none.
 */
#include "graphs.h"

static struct control control;
static int has_control;

/* Whether the driver was asked for the nodes or edges of a graph since the last question. Where nobody counts, as expected. */
static int was_asked(int expected) {
  int64_t asked;
  if (!has_control) return expected;
  asked = control.call_count("cuGraphGetNodes") + control.call_count("cuGraphGetEdges");
  control.calls_reset();
  return asked > 0;
}

/* Sets a number of the memory, after no node. */
static cushim_node filling(cushim_graph graph, int index, uint32_t number) { return add_number(graph, NULL, index, number); }

static void follow(cushim_node node, cushim_node first, cushim_node second) {
  cushim_node after[2];
  after[0] = first;
  after[1] = second;
  CHECK_OK(cushim_node_set_dependencies(node, after, second != NULL ? 2 : first != NULL ? 1 : 0));
}

/* Two nodes, and one after both. */
static cushim_graph joined(int index, cushim_node *first, cushim_node *second, cushim_node *last) {
  cushim_graph graph = new_graph();
  *first = filling(graph, index, 1);
  *second = filling(graph, index + 1, 2);
  *last = add_empty(graph, NULL);
  return graph;
}

/* The node's number cannot be changed alone, nor told; all of it can. */
static void unknown(cushim_node node, cushim_exec exec) {
  cushim_fill_node fill = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_get_fill(exec, node, &fill));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_fill(exec, node, NULL, CUSHIM_VALUE_32(7), 0));
  CHECK_CONTAINS(last_message(), "set all of it once");
}

static void set(cushim_node node, cushim_exec exec, int index, uint32_t number) {
  cushim_endpoint to = cushim_endpoint_device(slot(index));
  CHECK_OK(cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32(number), 1));
  CHECK_OK(cushim_exec_set_fill(exec, node, NULL, CUSHIM_VALUE_32(number + 1), 0));
}

static uint32_t told(cushim_node node, cushim_exec exec) {
  cushim_fill_node fill = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_OK(cushim_exec_get_fill(exec, node, &fill));
  return fill.value;
}

/* The same nodes, joined in the other order: the first one takes over the second one's place. */
static void edges_in_another_order(void) {
  cushim_node first, second, last, ours, theirs, end;
  cushim_graph graph = joined(0, &first, &second, &last), twin = joined(4, &ours, &theirs, &end);
  cushim_exec exec;
  follow(last, first, second);
  follow(end, theirs, ours);
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  unknown(first, exec);
  unknown(second, exec);
  set(first, exec, 8, 10);
  CHECK(told(first, exec) == 11);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(8)) == 11 && number_at(slot(4)) == 1 && number_at(slot(5)) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
}

/* Of two nodes that no other follows one was followed for a while, by an edge or a node: it stands behind the other then. */
static void ends_in_another_order(void) {
  int of_node;
  for (of_node = 0; of_node < 2; of_node++) {
    cushim_graph graph = new_graph(), twin = new_graph(), clone = NULL;
    cushim_node first = filling(graph, 0, 1), second = filling(graph, 1, 2), ours = filling(twin, 4, 1), theirs = filling(twin, 5, 2), after = NULL;
    cushim_exec exec = new_exec(graph);
    CHECK_OK(cushim_exec_update(exec, twin, NULL));
    CHECK(told(first, exec) == 1 && told(second, exec) == 2);
    if (of_node) {
      after = add_empty(twin, ours);
      CHECK_OK(cushim_node_remove(after));
    } else {
      follow(theirs, ours, NULL);
      follow(theirs, NULL, NULL);
    }
    CHECK_OK(cushim_exec_update(exec, twin, NULL));
    unknown(first, exec);
    set(first, exec, 8, 10);
    clear_memory();
    run(exec);
    CHECK(number_at(slot(8)) == 11 && number_at(slot(4)) == 1 && number_at(slot(5)) == 0);
    /* A copy has them in the same order. */
    CHECK_OK(cushim_graph_clone(twin, &clone));
    CHECK_OK(cushim_exec_update(exec, clone, NULL));
    unknown(first, exec);
    set(first, exec, 8, 10);
    clear_memory();
    run(exec);
    CHECK(number_at(slot(8)) == 11 && number_at(slot(4)) == 1 && number_at(slot(5)) == 0);
    CHECK_OK(cushim_exec_destroy(exec));
    CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_graph_destroy(twin));
    CHECK_OK(cushim_graph_destroy(clone));
  }
}

/* Edges of the exec's own graph were turned round since: the update from it, or from a clone of it, exchanges what both nodes do. */
static void edges_turned_round(void) {
  int of_clone;
  for (of_clone = 0; of_clone < 2; of_clone++) {
    cushim_graph graph = new_graph(), clone = NULL;
    cushim_node first = filling(graph, 0, 1), second = filling(graph, 1, 2);
    cushim_exec exec;
    follow(second, first, NULL);
    exec = new_exec(graph);
    /* Nothing is turned round yet. */
    CHECK_OK(cushim_exec_update(exec, graph, NULL));
    CHECK(told(first, exec) == 1 && told(second, exec) == 2);
    follow(second, NULL, NULL);
    follow(first, second, NULL);
    CHECK_OK(cushim_graph_clone(graph, &clone));
    CHECK_OK(cushim_exec_update(exec, of_clone ? clone : graph, NULL));
    unknown(first, exec);
    unknown(second, exec);
    set(first, exec, 8, 10);
    clear_memory();
    run(exec);
    CHECK(number_at(slot(8)) == 11 && number_at(slot(0)) == 1 && number_at(slot(1)) == 0);
    CHECK_OK(cushim_exec_destroy(exec));
    /* An exec of what the graph is now. */
    exec = new_exec(graph);
    CHECK_OK(cushim_exec_update(exec, clone, NULL));
    CHECK(told(first, exec) == 1 && told(second, exec) == 2);
    CHECK_OK(cushim_exec_destroy(exec));
    CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_graph_destroy(clone));
  }
}

/* What was added to the exec's own graph and removed again does not matter, unless it may have changed the order of nodes that no other
 * follows. */
static void added_and_removed(void) {
  int ends;
  for (ends = 1; ends <= 2; ends++) {
    cushim_graph graph = new_graph();
    cushim_node first = filling(graph, 0, 1), second = filling(graph, 1, 2), after = NULL;
    cushim_exec exec;
    if (ends == 1) follow(second, first, NULL);
    exec = new_exec(graph);
    after = add_empty(graph, ends == 1 ? second : first);
    CHECK_OK(cushim_node_remove(after));
    CHECK_OK(cushim_exec_update(exec, graph, NULL));
    if (ends == 1) {
      CHECK(told(first, exec) == 1 && told(second, exec) == 2);
      CHECK_OK(cushim_exec_set_fill(exec, first, NULL, CUSHIM_VALUE_32(7), 0));
      clear_memory();
      run(exec);
      CHECK(number_at(slot(0)) == 7 && number_at(slot(1)) == 2);
    } else {
      unknown(first, exec);
    }
    CHECK_OK(cushim_exec_destroy(exec));
    CHECK_OK(cushim_graph_destroy(graph));
  }
}

/* What a node was set to in an exec counts no more once its child graph took over a graph in which nobody can tell which node it is. */
static void child_in_another_order(void) {
  cushim_node first, second, last, ours, theirs, end, parent = NULL, nodes[3];
  cushim_graph child = joined(0, &first, &second, &last), twin = joined(4, &ours, &theirs, &end), graph = new_graph(), inner = NULL;
  cushim_exec exec;
  size_t count = 0;
  int owned = 0;
  const cushim_owner owner = counted(&owned);
  cushim_endpoint to = owned_slot(8, &owner);
  follow(last, first, second);
  follow(end, theirs, ours);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &parent, &inner));
  CHECK_OK(cushim_graph_get_nodes(inner, nodes, 3, &count));
  CHECK(count == 3);
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_fill(exec, nodes[0], &to, CUSHIM_VALUE_32(10), 1));
  CHECK_OK(cushim_exec_set_child(exec, parent, twin));
  CHECK(released_soon(&owned, 1) == 1);
  unknown(nodes[0], exec);
  set(nodes[0], exec, 9, 20);
  clear_memory();
  run(exec);
  /* Of a child graph the driver pairs nodes by their numbers. */
  CHECK(number_at(slot(9)) == 21 && number_at(slot(8)) == 0 && number_at(slot(4)) == 0 && number_at(slot(5)) == 2);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(twin));
}

/* A child graph whose nodes are not known any more leaves all others known; one to which nodes were added since is known itself. */
static void only_below_a_child(int is_known) {
  cushim_graph graph = new_graph(), child = new_graph(), twin = new_graph(), inner = NULL;
  cushim_node root = add_append(graph, NULL, 0, 1), parent = NULL, inside[2] = {NULL, NULL};
  cushim_kernel_node read = CUSHIM_OPTIONS(cushim_kernel_node);
  const uint32_t nine = 9;
  const cushim_arg arg = CUSHIM_ARG(nine);
  cushim_status status;
  size_t count = 0;
  cushim_edge edge;
  cushim_exec exec;
  add_append(child, NULL, 1, 2), add_append(child, NULL, 2, 3);
  add_append(twin, NULL, 1, 4), add_append(twin, NULL, 2, 5);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &parent, &inner));
  CHECK_OK(cushim_graph_get_nodes(inner, inside, 2, &count));
  exec = new_exec(graph);
  if (is_known) {
    add_empty(inner, NULL);
  } else {
    edge = edge_between(inside[0], inside[1]);
    CHECK_OK(cushim_graph_add_edges(inner, &edge, 1));
    CHECK_OK(cushim_graph_remove_edges(inner, &edge, 1));
  }
  CHECK_OK(cushim_exec_set_child(exec, parent, twin));
  CHECK_OK(cushim_exec_get_kernel(exec, root, &read));
  CHECK_OK(cushim_exec_set_argument(exec, root, 1, &arg));
  status = cushim_exec_set_argument(exec, inside[1], 1, &arg);
  CHECK_STATUS(is_known ? CUSHIM_SUCCESS : CUSHIM_ERROR_INVALID_ARGUMENT, status);
  if (!is_known) CHECK_CONTAINS(last_message(), "set all of it once");
  CHECK(result_of_exec(exec) == 9 && number_at(slot(1)) == 4 && number_at(slot(2)) == (is_known ? 9 : 5));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(twin));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Both nodes of the exec set these numbers. */
static void sets(cushim_exec exec, cushim_node first, cushim_node second, uint32_t one, uint32_t other) {
  CHECK(told(first, exec) == one && told(second, exec) == other);
}

/* Which node stands for which is found out once, and again after an edit of the nodes or edges of one of the two graphs. */
static void remembered(void) {
  cushim_graph graph = new_graph(), twin = new_graph(), third = new_graph();
  cushim_node first = filling(graph, 0, 1), second = filling(graph, 1, 2), ours = filling(twin, 0, 3), theirs = filling(twin, 1, 4);
  cushim_node one = filling(third, 0, 5), other = filling(third, 1, 6), more;
  cushim_exec exec;
  CUgraph native = NULL;
  follow(second, first, NULL);
  follow(theirs, ours, NULL);
  follow(other, one, NULL);
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK_OK(cushim_exec_update(exec, third, NULL));
  sets(exec, first, second, 5, 6);
  was_asked(1);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  sets(exec, first, second, 3, 4);
  CHECK_OK(cushim_exec_update(exec, third, NULL));
  sets(exec, first, second, 5, 6);
  CHECK(!was_asked(0));
  /* What the nodes do is no edit of the graph, and counts all the same. */
  CHECK_OK(cushim_node_set_fill(ours, NULL, CUSHIM_VALUE_32(7), 0));
  was_asked(1);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  sets(exec, first, second, 7, 4);
  CHECK(!was_asked(0));
  /* A node more, in the exec's own graph: the exec goes on without it. */
  more = add_empty(graph, second);
  was_asked(1);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK(was_asked(1));
  sets(exec, first, second, 7, 4);
  CHECK_OK(cushim_node_remove(more));
  /* One more and one less, in the other graph. */
  more = add_empty(twin, theirs);
  CHECK_OK(cushim_node_remove(more));
  was_asked(1);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK(was_asked(1));
  sets(exec, first, second, 7, 4);
  /* Other edges there, which the driver finds out itself. */
  follow(theirs, NULL, NULL);
  CHECK(cushim_exec_update(exec, twin, NULL) != CUSHIM_SUCCESS);
  sets(exec, first, second, 7, 4);
  follow(theirs, ours, NULL);
  was_asked(1);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK(was_asked(1));
  sets(exec, first, second, 7, 4);
  /* A graph that others may edit is looked at each time. */
  CHECK_OK(cushim_graph_native(third, &native));
  CHECK_OK(cushim_exec_update(exec, third, NULL));
  was_asked(1);
  CHECK_OK(cushim_exec_update(exec, third, NULL));
  CHECK(was_asked(1));
  sets(exec, first, second, 5, 6);
  CHECK_OK(cushim_exec_set_fill(exec, second, NULL, CUSHIM_VALUE_32(8), 0));
  clear_memory();
  run(exec);
  CHECK(number_at(slot(0)) == 5 && number_at(slot(1)) == 8);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(twin));
  CHECK_OK(cushim_graph_destroy(third));
}

/* Two graphs that number their nodes otherwise, because one has lost some: what the nodes use goes with the right ones. */
static void numbered_otherwise(void) {
  int released[2] = {0, 0};
  const cushim_owner owners[2] = {counted(&released[0]), counted(&released[1])};
  cushim_graph graph = new_graph(), twin = new_graph();
  cushim_node first = filling(graph, 0, 1), second = filling(graph, 1, 2), gone = add_empty(twin, NULL), ours, theirs;
  cushim_endpoint to = owned_slot(2, &owners[0]), at = owned_slot(3, &owners[1]);
  cushim_exec exec;
  follow(second, first, NULL);
  ours = add_empty(twin, NULL);
  CHECK_OK(cushim_node_remove(gone));
  CHECK_OK(cushim_node_remove(ours));
  ours = filling(twin, 2, 3);
  theirs = filling(twin, 3, 4);
  follow(theirs, ours, NULL);
  CHECK_OK(cushim_node_set_fill(ours, &to, CUSHIM_VALUE_32(3), 1));
  CHECK_OK(cushim_node_set_fill(theirs, &at, CUSHIM_VALUE_32(4), 1));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, twin, NULL));
  CHECK_OK(cushim_graph_destroy(twin));
  sets(exec, first, second, 3, 4);
  /* Each goes when its node is set, and not before. */
  set(first, exec, 0, 10);
  CHECK(released_soon(&released[0], 1) == 1 && released[1] == 0);
  set(second, exec, 1, 20);
  CHECK(released_soon(&released[1], 1) == 1);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(0)) == 11 && number_at(slot(1)) == 21 && number_at(slot(2)) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    has_control = find_control(&control);
    edges_in_another_order();
    edges_turned_round();
    ends_in_another_order();
    added_and_removed();
    remembered();
    numbered_otherwise();
    if (version >= 12020) {
      child_in_another_order();
      only_below_a_child(1);
      only_below_a_child(0);
    }
  }
  return close_graphs();
}
