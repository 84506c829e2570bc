/*
 * Many nodes are built, instantiated, launched and destroyed in time and memory that grow with their number. CHECK_NODES says how many:
 * of a hundred thousand, what grew with their square would not end within the minute that a program has.
 */
#include "graphs.h"

#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define CAN_MEASURE 1
#endif
#endif

enum { FEW = 1000 };

static int most;

/* Bytes that the process has allocated and not freed. */
static size_t heap_bytes(void) {
#ifdef CAN_MEASURE
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

static cushim_kernel add;
static cushim_buffer buffer;
static int releases;

/* A chain of kernels that add 1 to a number; each keeps its kernel and buffer, and an owner if there is to be one. */
static cushim_graph chain(int nodes, int owned) {
  const uint32_t one = 1;
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  int i;
  args[0] = owned ? owned_arg(&pointer, cushim_buffer_pointer(buffer), &releases) : cushim_arg_buffer(buffer);
  args[1] = CUSHIM_ARG(one);
  for (i = 0; i < nodes; i++) {
    if (!CHECK_OK(cushim_graph_add_kernel(graph, &node, i > 0, add, NULL, args, 2, &node))) break;
  }
  return graph;
}

static uint32_t run_once(cushim_graph graph) {
  cushim_exec exec = new_exec(graph);
  CHECK_OK(set_bytes(all.context, cushim_buffer_pointer(buffer), 0, 4));
  run(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  return number_at(cushim_buffer_pointer(buffer));
}

/* The heap once nothing is freed any more: a driver releases what nodes kept on a thread of its own. */
static size_t settled_heap(void) {
  const struct timespec pause = {0, 20000000};
  size_t bytes, before = 0;
  int i, same = 0;
  for (i = 0; i < 100 && same < 5; i++) {
    flush_callbacks();
    bytes = heap_bytes();
    same = bytes == before ? same + 1 : 0;
    before = bytes;
    nanosleep(&pause, NULL);
  }
  return before;
}

/* Bytes for each node of such a chain. */
static double bytes_each(int nodes) {
  const size_t before = settled_heap();
  cushim_graph graph = chain(nodes, 0);
  const double each = ((double)heap_bytes() - (double)before) / nodes;
  CHECK_OK(cushim_graph_destroy(graph));
  return each;
}

/* The same of nodes that the driver was told of without cushim. */
static double raw_bytes_each(int nodes) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  const uint64_t pointer = cushim_buffer_pointer(buffer);
  const uint32_t one = 1;
  const size_t before = settled_heap();
  CUDA_KERNEL_NODE_PARAMS_v2 params;
  const void *values[2];
  CUgraph graph = NULL;
  CUgraphNode node = NULL;
  cushim_context popped = NULL;
  double each;
  int i;
  memset(&params, 0, sizeof params);
  values[0] = &pointer;
  values[1] = &one;
  CHECK_OK(cushim_kernel_native_function(add, &params.func));
  params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = (void **)values;
  CHECK_OK(cushim_context_push(all.context)); /* without, a driver crashes on kernels */
  CHECK_OK(cu->cuGraphCreate_10000(&graph, 0));
  for (i = 0; i < nodes; i++) {
    const CUgraphNode last = node;
    if (!CHECK_OK(cu->cuGraphAddKernelNode_12000(&node, graph, &last, i > 0, &params))) break;
  }
  each = ((double)heap_bytes() - (double)before) / nodes;
  CHECK_OK(cu->cuGraphDestroy_10000(graph));
  CHECK_OK(cushim_context_pop(all.driver, &popped, NULL));
  return each;
}

/* What cushim adds to the driver's own: the record of the node, with the kernel, the buffer and the arguments, and its place. */
static void a_node_takes_little_more_than_the_drivers(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  double own;
  if (!is_software(all.driver) || heap_bytes() == 0 || cu->cuGraphAddKernelNode_12000 == NULL) return;
  bytes_each(FEW); /* what is allocated once */
  own = bytes_each(FEW) - raw_bytes_each(FEW);
  if (!CHECK(own < 300)) fprintf(stderr, "  %.0f bytes for each node beside the driver's\n", own);
}

/* A real driver takes more for each node of a large graph, and keeps what it took: the heap is its own, too. */
static void memory_grows_linearly(void) {
  double few, many;
  size_t before;
  if (!is_software(all.driver)) return;
  bytes_each(FEW); /* what is allocated once */
  before = settled_heap();
  few = bytes_each(FEW);
  many = bytes_each(most);
  if (!CHECK(many < few * 1.25 + 100)) fprintf(stderr, "  %.0f bytes for each of few nodes, %.0f of many\n", few, many);
  CHECK((double)settled_heap() < (double)before + 128.0 * most); /* handles are used again, and keep their places */
}

static void built_launched_and_destroyed(void) {
  cushim_graph graph = chain(most, 0);
  CHECK(node_count(graph) == (size_t)most && edge_count(graph) == (size_t)most - 1);
  CHECK(run_once(graph) == (uint32_t)most);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void cloned(void) {
  cushim_graph graph = chain(FEW, 0), clone = NULL;
  CHECK_OK(cushim_graph_clone(graph, &clone));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(node_count(clone) == FEW && run_once(clone) == FEW);
  CHECK_OK(cushim_graph_destroy(clone));
}

/* Every owner is released, once. */
static void all_are_released(void) {
  cushim_graph graph = chain(most, 1);
  CHECK(released(&releases) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&releases, most) == most);
}

/* Edges that follow the order in which the nodes were made need no search for cycles: one by one, all at once, and removed again. */
static void edges(void) {
  cushim_graph graph = new_graph();
  cushim_node *nodes = (cushim_node *)calloc((size_t)most, sizeof *nodes);
  cushim_edge *list = (cushim_edge *)calloc((size_t)most, sizeof *list);
  int i;
  for (i = 0; i < most; i++) CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, &nodes[i]));
  for (i = 0; i + 1 < most; i++) list[i] = edge_between(nodes[i], nodes[i + 1]);
  for (i = 0; i + 1 < most / 2; i++) CHECK_OK(cushim_graph_add_edges(graph, &list[i], 1));
  CHECK_OK(cushim_graph_add_edges(graph, list + most / 2 - 1, (size_t)most / 2));
  CHECK(edge_count(graph) == (size_t)most - 1);
  for (i = 0; i < most; i += 2) CHECK_OK(cushim_node_remove(nodes[i]));
  CHECK(edge_count(graph) == 0 && node_count(graph) == (size_t)most / 2);
  CHECK_OK(cushim_graph_destroy(graph));
  free(nodes);
  free(list);
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    cushim_resource pool;
    most = getenv("CHECK_NODES") != NULL ? given_number("CHECK_NODES") : 4000;
    add = kernel_of(all.library, "add");
    CHECK_OK(cushim_device_get_resource(all.device, &pool));
    CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &buffer));
    CHECK_OK(cushim_stream_synchronize(all.stream)); /* it is used in no stream, too */
    memory_grows_linearly();
    a_node_takes_little_more_than_the_drivers();
    built_launched_and_destroyed();
    cloned();
    all_are_released();
    edges();
    CHECK_OK(cushim_buffer_destroy(buffer));
    CHECK_OK(cushim_kernel_destroy(add));
  }
  return close_graphs();
}
