/* Edges: added and removed in bulk, read and assigned as sets in both directions, and what closes a cycle or is of another graph. */
#include "graphs.h"

enum { NODES = 5 };

static struct control control;
static int has_control;

/* How many calls of a function of the driver were made since the last question. */
static int64_t calls_of(const char *name) {
  const int64_t count = has_control ? control.call_count(name) : -1;
  if (has_control) control.calls_reset();
  return count;
}

/* Nodes without edges; each appends the digit of its number, from 1 on. */
static cushim_graph make(cushim_node *nodes) {
  cushim_graph graph = new_graph();
  int i;
  for (i = 0; i < NODES; i++) nodes[i] = add_append(graph, NULL, 0, (uint32_t)(i + 1));
  return graph;
}

static int is_between(cushim_graph graph, cushim_node from, cushim_node to) {
  cushim_edge edges[64];
  size_t count = 0, i;
  int found = 0;
  CHECK_OK(cushim_graph_get_edges(graph, edges, 64, &count));
  for (i = 0; i < count && i < 64; i++) found += edges[i].from_node == from && edges[i].to_node == to;
  return found;
}

/* A chain in any order of the nodes runs in that order. */
static void chains(void) {
  static const int orders[][NODES] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}};
  static const uint32_t results[] = {12345, 54321, 31524};
  cushim_node nodes[NODES];
  cushim_edge edges[NODES - 1];
  size_t k;
  int i;
  for (k = 0; k < sizeof orders / sizeof *orders; k++) {
    cushim_graph graph = make(nodes);
    for (i = 0; i + 1 < NODES; i++) edges[i] = edge_between(nodes[orders[k][i]], nodes[orders[k][i + 1]]);
    calls_of("");
    CHECK_OK(cushim_graph_add_edges(graph, edges, NODES - 1));
    CHECK(!has_control || calls_of("cuGraphAddDependencies") == 1);
    CHECK(edge_count(graph) == NODES - 1 && result_of(graph) == results[k]);
    calls_of("");
    CHECK_OK(cushim_graph_remove_edges(graph, edges, NODES - 1));
    CHECK(!has_control || calls_of("cuGraphRemoveDependencies") == 1);
    CHECK(edge_count(graph) == 0);
    CHECK_OK(cushim_graph_destroy(graph));
  }
}

/* A chain of memset and kernel becomes a fan-in: the kernel waits for both memsets, and they for nobody. */
static void rewired(void) {
  cushim_graph graph = new_graph();
  cushim_kernel sum = kernel_of(all.library, "sum");
  const uint64_t first = slot(0), second = slot(1);
  cushim_arg args[2];
  cushim_node a = add_number(graph, NULL, 0, 40), b = add_number(graph, a, 1, 2), last = NULL, both[2];
  cushim_edge edges[4];
  size_t count = 0;
  args[0] = CUSHIM_ARG(first);
  args[1] = CUSHIM_ARG(second);
  CHECK_OK(cushim_graph_add_kernel(graph, &b, 1, sum, NULL, args, 2, &last));
  CHECK(result_of(graph) == 42);
  both[0] = a, both[1] = b;
  calls_of("");
  CHECK_OK(cushim_node_set_dependencies(last, both, 2));
  CHECK(!has_control || calls_of("cuGraphAddDependencies") == 1);
  CHECK_OK(cushim_node_set_dependencies(b, NULL, 0));
  CHECK(!has_control || calls_of("cuGraphRemoveDependencies") == 1);
  CHECK_OK(cushim_node_get_dependencies(last, edges, 4, &count));
  CHECK(count == 2 && edge_count(graph) == 2 && is_between(graph, a, last) && is_between(graph, b, last));
  CHECK_OK(cushim_node_get_dependents(a, edges, 4, &count));
  CHECK(count == 1 && edges[0].from_node == a && edges[0].to_node == last && edges[0].type == 0);
  CHECK(result_of(graph) == 42);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* Predecessors and successors are sets: what is missing is added, what is too many is removed, the rest stays. */
static void sets(void) {
  cushim_node nodes[NODES], wanted[NODES];
  cushim_graph graph = make(nodes);
  size_t count = 0;
  wanted[0] = nodes[0], wanted[1] = nodes[1], wanted[2] = nodes[2];
  CHECK_OK(cushim_node_set_dependencies(nodes[4], wanted, 3));
  CHECK(edge_count(graph) == 3);
  wanted[0] = nodes[3], wanted[1] = nodes[2];
  calls_of("");
  CHECK_OK(cushim_node_set_dependencies(nodes[4], wanted, 2));
  CHECK(!has_control || (control.call_count("cuGraphAddDependencies") == 1 && control.call_count("cuGraphRemoveDependencies") == 1));
  CHECK(edge_count(graph) == 2 && is_between(graph, nodes[2], nodes[4]) && is_between(graph, nodes[3], nodes[4]));
  calls_of("");
  CHECK_OK(cushim_node_set_dependencies(nodes[4], wanted, 2)); /* as it is */
  CHECK(!has_control || (control.call_count("cuGraphAddDependencies") == 0 && control.call_count("cuGraphRemoveDependencies") == 0));
  wanted[0] = nodes[1], wanted[1] = nodes[2];
  CHECK_OK(cushim_node_set_dependents(nodes[0], wanted, 2));
  CHECK(edge_count(graph) == 4 && is_between(graph, nodes[0], nodes[1]) && is_between(graph, nodes[0], nodes[2]));
  CHECK_OK(cushim_node_get_dependents(nodes[0], NULL, 0, &count));
  CHECK(count == 2);
  CHECK_OK(cushim_node_set_dependents(nodes[0], NULL, 0));
  CHECK_OK(cushim_node_set_dependencies(nodes[4], NULL, 0));
  CHECK(edge_count(graph) == 0);
  CHECK_OK(cushim_graph_add_edges(graph, NULL, 0));
  CHECK_OK(cushim_graph_remove_edges(graph, NULL, 0));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The edge is refused, says why, which it is, and leaves the graph as it was. */
static void is_refused(cushim_graph graph, const cushim_edge *edges, size_t count, cushim_status status, int item, const char *why) {
  const size_t before = edge_count(graph);
  CHECK_STATUS(status, cushim_graph_add_edges(graph, edges, count));
  CHECK_CONTAINS(last_message(), why);
  CHECK(last_detail()->item == item);
  CHECK(edge_count(graph) == before);
}

static void refusals(void) {
  cushim_node nodes[NODES], foreign[NODES], wanted[2];
  cushim_graph graph = make(nodes), other = make(foreign);
  cushim_edge edges[3];
  cushim_edge chain[NODES - 1];
  int i;
  for (i = 0; i + 1 < NODES; i++) chain[i] = edge_between(nodes[i], nodes[i + 1]);
  CHECK_OK(cushim_graph_add_edges(graph, chain, 3)); /* 0 → 1 → 2 → 3 */
  edges[0] = edge_between(nodes[3], nodes[4]);
  edges[1] = edge_between(nodes[2], nodes[2]);
  is_refused(graph, edges, 2, CUSHIM_ERROR_INVALID_ARGUMENT, 1, "to itself");
  edges[1] = edge_between(nodes[2], foreign[3]);
  is_refused(graph, edges, 2, CUSHIM_ERROR_INVALID_ARGUMENT, 1, "another graph");
  edges[1] = edge_between(nodes[3], nodes[0]);
  is_refused(graph, edges, 2, CUSHIM_ERROR_INVALID_ARGUMENT, 1, "cycle");
  edges[1] = edge_between(nodes[4], nodes[1]); /* closed by the edge before it */
  is_refused(graph, edges, 2, CUSHIM_ERROR_INVALID_ARGUMENT, 1, "cycle");
  edges[1] = edge_between(nodes[0], nodes[1]);
  is_refused(graph, edges, 2, CUSHIM_ERROR_INVALID_ARGUMENT, 1, "there already");
  edges[1] = edges[0];
  is_refused(graph, edges, 2, CUSHIM_ERROR_INVALID_ARGUMENT, 1, "twice");
  edges[1] = edge_between(NULL, nodes[1]);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_edges(graph, edges, 2));
  edges[1] = edge_between(nodes[0], nodes[4]);
  edges[1].reserved[3] = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, edges, 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, NULL, 2));
  CHECK(edge_count(graph) == 3);

  /* Sets close no cycle either, and the number is that of the node in the set. */
  wanted[0] = nodes[0], wanted[1] = nodes[3];
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependencies(nodes[1], wanted, 2));
  CHECK_CONTAINS(last_message(), "cycle");
  CHECK_CONTAINS(last_message(), "kernel node 3");
  CHECK(last_detail()->item == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependents(nodes[3], wanted, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependencies(nodes[4], foreign, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependencies(nodes[4], &nodes[4], 1));
  CHECK(edge_count(graph) == 3);

  edges[0] = edge_between(nodes[0], nodes[1]);
  edges[1] = edge_between(nodes[0], nodes[2]);
  /* A single edge as one of a list. */
  is_refused(graph, &edges[0], 1, CUSHIM_ERROR_INVALID_ARGUMENT, 0, "there already");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_remove_edges(graph, &edges[1], 1));
  CHECK_CONTAINS(last_message(), "not there");
  CHECK(last_detail()->item == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_remove_edges(graph, edges, 2));
  CHECK_CONTAINS(last_message(), "not there");
  CHECK(last_detail()->item == 1);
  CHECK(edge_count(graph) == 3); /* none, not one of them */
  edges[1] = edge_between(foreign[0], nodes[1]);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_remove_edges(graph, edges, 2));
  CHECK(last_detail()->item == 1);
  /* What was refused is possible the other way round. */
  edges[0] = edge_between(nodes[4], nodes[0]);
  CHECK_OK(cushim_graph_add_edges(graph, edges, 1));
  CHECK(result_of(graph) == 51234);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* A node may be the last of a long chain that was made backwards: the way is followed all the same. */
static void long_cycles(void) {
  enum { LENGTH = 300 };
  cushim_node nodes[LENGTH];
  cushim_graph graph = new_graph();
  cushim_edge edge;
  int i;
  for (i = 0; i < LENGTH; i++) nodes[i] = add_empty(graph, NULL);
  for (i = LENGTH - 1; i > 0; i--) {
    edge = edge_between(nodes[i], nodes[i - 1]);
    CHECK_OK(cushim_graph_add_edges(graph, &edge, 1));
  }
  edge = edge_between(nodes[0], nodes[LENGTH - 1]);
  is_refused(graph, &edge, 1, CUSHIM_ERROR_INVALID_ARGUMENT, 0, "cycle");
  CHECK_OK(cushim_node_remove(nodes[LENGTH / 2])); /* the way is broken */
  CHECK_OK(cushim_graph_add_edges(graph, &edge, 1));
  CHECK(edge_count(graph) == LENGTH - 2);
  CHECK(result_of(graph) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A kernel may start before the one ahead of it is done: ports and types, from CUDA 12.3 on. */
static void data(void) {
  cushim_graph graph = new_graph();
  cushim_node first = add_append(graph, NULL, 0, 1), second = add_append(graph, NULL, 1, 2), empty = add_empty(graph, NULL);
  cushim_edge edge = edge_between(first, second), read;
  size_t count = 0;
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  if (version < 12030) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_add_edges(graph, &edge, 1));
    CHECK_CONTAINS(last_message(), "12.3");
    CHECK(edge_count(graph) == 0);
  } else {
    CHECK_OK(cushim_graph_add_edges(graph, &edge, 1));
    CHECK_OK(cushim_graph_get_edges(graph, &read, 1, &count));
    CHECK(count == 1 && memcmp(&read, &edge, sizeof read) == 0);
    CHECK_OK(cushim_node_get_dependents(first, &read, 1, &count));
    CHECK(count == 1 && memcmp(&read, &edge, sizeof read) == 0);
    CHECK_OK(cushim_node_set_dependencies(second, &first, 1)); /* an edge that stays keeps its data */
    CHECK_OK(cushim_node_get_dependencies(second, &read, 1, &count));
    CHECK(count == 1 && memcmp(&read, &edge, sizeof read) == 0);
    edge.from_node = empty;
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graph_add_edges(graph, &edge, 1));
    edge.from_node = first;
    CHECK(result_of(graph) == 1 && number_at(slot(1)) == 2);
    CHECK_OK(cushim_graph_remove_edges(graph, &edge, 1));
    CHECK(edge_count(graph) == 0);
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A change of neighbours that the driver refuses half-way is taken back, with the ports and types of the edges. */
static void half_way(void) {
  cushim_graph graph = new_graph();
  cushim_node first = add_append(graph, NULL, 0, 1), last = add_append(graph, NULL, 0, 2), other = add_append(graph, NULL, 0, 3);
  cushim_edge edge = edge_between(first, last), read;
  size_t count = 0;
  if (version >= 12030) {
    edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  }
  CHECK_OK(cushim_graph_add_edges(graph, &edge, 1));
  if (has_control) {
    CHECK(control.fault_set("cuGraphAddDependencies#1=2") == 0);
    CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_node_set_dependencies(last, &other, 1));
    CHECK(control.fault_set("cuGraphAddDependencies#1=2") == 0);
    CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_node_set_dependents(first, &other, 1));
    CHECK(control.fault_set("cuGraphRemoveDependencies#1=2") == 0);
    CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_node_set_dependencies(last, &other, 1));
    control.fault_clear();
  }
  CHECK_OK(cushim_graph_get_edges(graph, &read, 1, &count));
  CHECK(count == 1 && memcmp(&read, &edge, sizeof read) == 0);
  CHECK_OK(cushim_node_set_dependencies(last, &other, 1));
  CHECK_OK(cushim_graph_get_edges(graph, &read, 1, &count));
  CHECK(count == 1 && read.from_node == other && read.to_node == last && read.from_port == 0);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Edges end with their nodes, and a removed node has none. */
static void removed_nodes(void) {
  cushim_node nodes[NODES];
  cushim_graph graph = make(nodes);
  cushim_edge edge = edge_between(nodes[0], nodes[1]);
  size_t count = 7;
  CHECK_OK(cushim_node_set_dependencies(nodes[1], nodes, 1));
  CHECK_OK(cushim_node_set_dependents(nodes[1], nodes + 2, 3));
  CHECK(edge_count(graph) == 4);
  CHECK_OK(cushim_node_remove(nodes[1]));
  CHECK(edge_count(graph) == 0 && node_count(graph) == NODES - 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_edges(graph, &edge, 1));
  CHECK(last_detail()->item == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_remove_edges(graph, &edge, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_dependencies(nodes[1], NULL, 0, &count));
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_dependents(nodes[1], NULL, 0, &count));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_dependencies(nodes[1], nodes, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_dependencies(nodes[2], nodes, 2));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    has_control = find_control(&control);
    chains();
    rewired();
    sets();
    refusals();
    long_cycles();
    data();
    half_way();
    removed_nodes();
  }
  return close_graphs();
}
