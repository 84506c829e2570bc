/*
 * A graph with conditional nodes is not instantiated while a clone of it exists, or of a graph in it: driver 580 refuses the one, and crashes
 * at the other (measured). cushim refuses both, with a sentence.
 */
#include "conditions.h"

static cushim_graph clone_of(cushim_graph graph) {
  cushim_graph clone = NULL;
  CHECK_OK(cushim_graph_clone(graph, &clone));
  return clone;
}

/* Adds an IF whose body appends 8. */
static void add_if(cushim_graph graph) {
  cushim_graph body = NULL;
  add_conditional(graph, NULL, new_condition(graph, 1), CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 0, 8);
}

static void is_refused(cushim_graph graph, const char *which) {
  cushim_exec exec = (cushim_exec)NOT_NULL;
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_CONTAINS(last_message(), "clone");
  CHECK_CONTAINS(last_message(), which);
  CHECK(exec == NULL);
}

/* A graph with a child graph, which is copied or moved into it. */
static cushim_graph with_child(int is_moved, cushim_graph *inner) {
  cushim_graph graph = new_graph(), child = new_graph();
  CHECK_OK(cushim_set_label(graph, "outer"));
  if (is_moved) {
    CHECK_OK(move_child(graph, child, NULL, inner));
  } else {
    CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, inner));
  }
  CHECK_OK(cushim_set_label(*inner, "inner"));
  CHECK_OK(cushim_graph_destroy(child));
  return graph;
}

static void of_a_graph(void) {
  cushim_graph graph = new_graph(), clone = clone_of(graph);
  add_append(clone, NULL, 0, 3);
  add_if(graph);
  is_refused(graph, "has a clone");
  CHECK(result_of(clone) == 3);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK(result_of(graph) == 8);
  CHECK_OK(cushim_graph_destroy(graph));

  graph = new_graph();
  clone = clone_of(graph);
  add_if(clone);
  add_append(graph, NULL, 0, 3);
  CHECK(result_of(clone) == 8 && result_of(graph) == 3);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void of_a_child(int is_moved) {
  cushim_graph inner = NULL, graph = with_child(is_moved, &inner), clone = clone_of(inner), other = NULL;
  cushim_exec exec;
  add_if(graph);
  is_refused(graph, "\"inner\", which was cloned");
  /* It exists as long as what was made of it. */
  exec = new_exec(clone);
  CHECK_OK(cushim_graph_destroy(clone));
  is_refused(graph, "\"inner\", which was cloned");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(result_of(graph) == 8);
  CHECK_OK(cushim_graph_destroy(graph));

  /* The condition may be in the child, and a clone's clone is none. */
  graph = with_child(is_moved, &inner);
  clone = clone_of(inner);
  other = clone_of(clone);
  add_if(inner);
  is_refused(graph, "\"inner\", which was cloned");
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK(result_of(graph) == 8);
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* An exec or a copy of a graph counts once the graph was moved into another one. */
static void before_it_moves(int is_instantiated) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL, holder = new_graph();
  cushim_exec exec = NULL;
  add_append(child, NULL, 0, 5);
  if (is_instantiated) {
    exec = new_exec(child);
  } else {
    CHECK_OK(cushim_graph_add_child(holder, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  }
  CHECK_OK(move_child(graph, child, NULL, &inner));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_set_label(inner, "inner"));
  CHECK(result_of(graph) == 5);
  add_if(graph);
  is_refused(graph, "\"inner\", which was cloned");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(holder));
  result_of(graph);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A copy whose original is gone has nodes of none that is there. */
static void of_what_is_gone(void) {
  cushim_graph graph = new_graph(), other = new_graph(), clone, holder = new_graph(), inner = NULL;
  cushim_node node = add_append(other, NULL, 0, 5), own = add_append(graph, NULL, 0, 6), found = NULL;
  clone = clone_of(graph);
  CHECK_OK(cushim_graph_add_child(holder, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_OK(cushim_node_find_in(own, clone, &found));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_find_in(node, clone, &found));
  CHECK_CONTAINS(last_message(), "perhaps no copy");
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_find_in(node, clone, &found));
  CHECK(found == NULL);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_find_in(node, inner, &found));
  CHECK(result_of(clone) == 6 && result_of(holder) == 6);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(holder));
  CHECK_OK(cushim_graph_destroy(other));
}

/* A clone goes on in the graph into which it is moved, and a graph takes its clones along. */
static void of_what_moves(void) {
  cushim_graph inner = NULL, graph = with_child(0, &inner), clone = clone_of(inner), other = new_graph(), moved = new_graph();
  CHECK_OK(move_child(other, clone, NULL, NULL));
  CHECK_OK(cushim_graph_destroy(clone));
  add_if(graph);
  is_refused(graph, "\"inner\", which was cloned");
  CHECK_OK(cushim_graph_destroy(other));
  CHECK(result_of(graph) == 8);
  CHECK_OK(cushim_graph_destroy(graph));

  graph = new_graph();
  clone = clone_of(moved);
  CHECK_OK(move_child(graph, moved, NULL, &inner));
  CHECK_OK(cushim_graph_destroy(moved));
  CHECK_OK(cushim_set_label(inner, "inner"));
  add_if(graph);
  is_refused(graph, "\"inner\", which was cloned");
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK(result_of(graph) == 8);
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  of_what_is_gone();
  if (version >= 12040) {
    open_conditions();
    of_a_graph();
    of_a_child(0);
    if (version >= 12090) {
      of_a_child(1);
      of_what_moves();
      before_it_moves(0);
      before_it_moves(1);
    }
    close_conditions();
  }
  return close_graphs();
}
