/* Memory that graphs allocate and free themselves: what is told of it, its limits, AUTO_FREE, and a device's figures. */
#include "graphs.h"

static cushim_graph_allocation allocation_of(size_t bytes) {
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  allocation.bytes = bytes;
  return allocation;
}

static cushim_node add_allocation(cushim_graph graph, cushim_node after, size_t bytes, uint64_t *pointer) {
  const cushim_graph_allocation allocation = allocation_of(bytes);
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_allocation(graph, &after, after != NULL, &allocation, &node, pointer));
  CHECK(*pointer != 0);
  return node;
}

static cushim_node add_free(cushim_graph graph, cushim_node after, uint64_t pointer) {
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_free(graph, &after, 1, pointer, &node));
  return node;
}

/* Allocates, sets, copies out, and frees if it is told to. */
static cushim_graph make(uint64_t *pointer, int frees) {
  cushim_graph graph = new_graph();
  cushim_node allocated = add_allocation(graph, NULL, 1024, pointer), set = NULL, copied = NULL;
  cushim_endpoint at = cushim_endpoint_device(*pointer), to = cushim_endpoint_device(memory);
  CHECK_OK(cushim_graph_add_fill(graph, &allocated, 1, &at, CUSHIM_VALUE_32(77), 256, &set));
  CHECK_OK(cushim_graph_add_copy(graph, &set, 1, &to, &at, 4, &copied));
  if (frees) add_free(graph, copied, *pointer);
  return graph;
}

static void allocated_and_freed(void) {
  uint64_t pointer = 0, told = 0;
  cushim_graph graph = make(&pointer, 1);
  cushim_node nodes[4];
  cushim_allocation_node read = CUSHIM_OPTIONS(cushim_allocation_node);
  cushim_exec exec = new_exec(graph);
  size_t count = 0;
  int i;
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 4, &count));
  CHECK(count == 4 && type_of(nodes[0]) == CUSHIM_NODE_ALLOCATION && type_of(nodes[3]) == CUSHIM_NODE_FREE);
  CHECK_OK(cushim_node_get_allocation(nodes[0], &read, NULL, 0));
  CHECK(read.pointer == pointer && read.bytes == 1024 && read.location.kind == CUSHIM_LOCATION_DEVICE && read.location.id == 0);
  CHECK(read.managed == 0 && read.peer_count == 0);
  CHECK_OK(cushim_node_get_free(nodes[3], &told));
  CHECK(told == pointer);
  for (i = 0; i < 3; i++) CHECK(result_of_exec(exec) == 77);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* What nobody frees in the graph is the stream's to use and to free; before that there is no second launch, but with AUTO_FREE. */
static void left_over(void) {
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  uint64_t pointer = 0;
  cushim_graph graph = make(&pointer, 0);
  cushim_exec exec = new_exec(graph);
  int i;
  CHECK(result_of_exec(exec) == 77);
  CHECK(number_at(pointer + 1020) == 77);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_launch(exec, all.stream));
  CHECK_CONTAINS(last_message(), "allocated memory that nobody freed");
  CHECK_OK(cushim_stream_free(all.stream, pointer));
  CHECK(result_of_exec(exec) == 77);
  CHECK_OK(cushim_context_free(all.context, pointer));
  CHECK_OK(cushim_exec_destroy(exec));
  options.flags = CUSHIM_EXEC_AUTO_FREE;
  CHECK_OK(cushim_exec_create(graph, &options, &exec, NULL));
  for (i = 0; i < 3; i++) CHECK(result_of_exec(exec) == 77);
  CHECK_OK(cushim_stream_free(all.stream, pointer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void refusals(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_graph_allocation allocation = allocation_of(0);
  cushim_node node = (cushim_node)NOT_NULL, allocated;
  uint64_t pointer = 7, plain = 0;
  const int32_t peers[1] = {99};
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer));
  CHECK_CONTAINS(last_message(), "at least one byte");
  CHECK(node == NULL && pointer == 0);
  allocation.bytes = 64;
  allocation.peers = peers;
  allocation.peer_count = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer));
  CHECK(last_detail()->item == 0);
  allocation.peers = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer));
  allocation.peer_count = 0;
  allocation.location = cushim_location_device(99);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer));
  allocation.location.kind = (cushim_location_kind)0;
  allocation.location.id = 0;
  allocation.flags = 64;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer));
  allocation.flags = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(graph, NULL, 0, NULL, &node, &pointer));
  CHECK(node_count(graph) == 0);

  CHECK_OK(cushim_context_allocate(all.context, 64, &plain));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_free(graph, NULL, 0, 0, &node));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graph_add_free(graph, NULL, 0, plain, &node));
  allocated = add_allocation(graph, NULL, 64, &pointer);
  add_free(graph, allocated, pointer);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graph_add_free(graph, &allocated, 1, pointer, &node));
  CHECK(node_count(graph) == 2);
  CHECK_OK(cushim_context_free(all.context, plain));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* Neither a node nor an edge leaves such a graph; it is neither copied nor instantiated twice. */
static void limits(void) {
  int count = 0;
  uint64_t pointer = 0;
  cushim_owner owner = counted(&count);
  cushim_graph graph = make(&pointer, 1), parent = new_graph(), clone = (cushim_graph)NOT_NULL;
  cushim_endpoint to = owned_slot(1, &owner);
  cushim_node nodes[4], fill = NULL;
  cushim_edge edge;
  cushim_exec exec, second = NULL;
  size_t found = 0;
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 4, &found));
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(3), 1, &fill));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_remove(fill));
  CHECK_CONTAINS(last_message(), "allocates memory");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_remove(nodes[0]));
  edge = edge_between(nodes[0], nodes[1]);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_remove_edges(graph, &edge, 1));
  CHECK_CONTAINS(last_message(), "allocates memory");
  CHECK(node_count(graph) == 5 && edge_count(graph) == 3 && released(&count) == 0);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_clone(graph, &clone));
  CHECK_CONTAINS(last_message(), "allocates memory");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_add_child(parent, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
  exec = new_exec(graph);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_create(graph, NULL, &second, NULL));
  CHECK_CONTAINS(last_message(), "one exec at a time");
  CHECK(clone == NULL && second == NULL && node_count(parent) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  exec = new_exec(graph); /* one at a time is fine */
  CHECK(result_of_exec(exec) == 77 && number_at(slot(1)) == 3);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(parent));
  CHECK(released_soon(&count, 1) == 1);
}

/* The graph has this edge, and no other one. */
static int has_only(cushim_graph graph, cushim_node from, cushim_node to) {
  cushim_edge edges[4];
  size_t count = 0;
  CHECK_OK(cushim_graph_get_edges(graph, edges, 4, &count));
  return count == 1 && edges[0].from_node == from && edges[0].to_node == to;
}

/* No edge leaves such a graph, wherever it is. Edges can be added, and a refused change adds none. */
static void edges_stay(void) {
  cushim_graph graph = new_graph();
  cushim_node first = add_empty(graph, NULL), other = add_empty(graph, NULL), last = add_empty(graph, first), both[2];
  cushim_edge edge = edge_between(first, last);
  uint64_t pointer = 0;
  both[0] = first, both[1] = other;
  add_allocation(graph, NULL, 64, &pointer);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_remove_edges(graph, &edge, 1));
  CHECK_CONTAINS(last_message(), "removes neither nodes nor edges");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_set_dependencies(last, &other, 1));
  CHECK_CONTAINS(last_message(), "removes neither nodes nor edges");
  CHECK(has_only(graph, first, last));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_set_dependencies(last, NULL, 0));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_set_dependents(first, &other, 1));
  CHECK(has_only(graph, first, last));
  CHECK_OK(cushim_node_set_dependencies(last, both, 2));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_set_dependencies(last, NULL, 0));
  CHECK(edge_count(graph) == 2);
  CHECK_OK(cushim_graph_destroy(graph));
}

static cushim_graph_memory figures(void) {
  cushim_graph_memory told = CUSHIM_OPTIONS(cushim_graph_memory);
  CHECK_OK(cushim_device_get_graph_memory(all.device, &told));
  return told;
}

static void device_figures(void) {
  uint64_t pointer = 0;
  cushim_graph graph = make(&pointer, 0);
  cushim_exec exec = new_exec(graph);
  cushim_graph_memory told;
  CHECK_OK(cushim_device_reset_graph_memory_peaks(all.device));
  CHECK(result_of_exec(exec) == 77);
  told = figures();
  CHECK(told.used >= 1024 && told.used_peak >= told.used && told.reserved >= told.used && told.reserved_peak >= told.reserved);
  CHECK_OK(cushim_stream_free(all.stream, pointer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_device_trim_graph_memory(all.device));
  told = figures();
  CHECK(told.used == 0 && told.reserved == 0 && told.used_peak >= 1024);
  CHECK_OK(cushim_device_reset_graph_memory_peaks(all.device));
  told = figures();
  CHECK(told.used_peak == 0 && told.reserved_peak == 0);
}

/* Other places than a device are the driver's to offer: a status that names the place, where it does not. */
static void other_places(void) {
  static const struct {
    cushim_location_kind kind;
    uint32_t flags;
    const char *name;
  } places[] = {{CUSHIM_LOCATION_HOST, 0, "memory of the host"},
                {CUSHIM_LOCATION_HOST_NUMA, 0, "memory of NUMA node 0"},
                {CUSHIM_LOCATION_DEVICE, CUSHIM_GRAPH_ALLOCATION_MANAGED, "managed memory"}};
  size_t i;
  for (i = 0; i < sizeof places / sizeof *places; i++) {
    cushim_graph graph = new_graph();
    cushim_graph_allocation allocation = allocation_of(64);
    cushim_node node = (cushim_node)NOT_NULL;
    uint64_t pointer = 7;
    cushim_status status;
    allocation.location.kind = places[i].kind;
    allocation.flags = places[i].flags;
    status = cushim_graph_add_allocation(graph, NULL, 0, &allocation, &node, &pointer);
    if (status == CUSHIM_SUCCESS) {
      cushim_allocation_node told = CUSHIM_OPTIONS(cushim_allocation_node);
      CHECK_OK(cushim_node_get_allocation(node, &told, NULL, 0));
      CHECK(pointer != 0 && told.location.kind == places[i].kind && (told.managed != 0) == (places[i].flags != 0));
    } else {
      CHECK_CONTAINS(last_message(), places[i].name);
      if (places[i].flags != 0 && version < 13000) CHECK_CONTAINS(last_message(), "needs a driver for CUDA 13.0");
      CHECK(pointer == 0 && node == NULL && node_count(graph) == 0);
    }
    CHECK_OK(cushim_graph_destroy(graph));
  }
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    allocated_and_freed();
    left_over();
    refusals();
    limits();
    edges_stay();
    device_figures();
    other_places();
  }
  return close_graphs();
}
