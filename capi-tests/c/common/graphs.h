/*
 * What the programs on graphs share: kernels that leave traces in memory, graphs and launches of them, and owners whose releases
 * are counted. Include it first.
 */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "busy.h"
#include "control.h"
#include "resources.h"

#include <time.h>

static struct objects all;
static int version;     /* of the driver; 0 for "none" */
static uint64_t memory; /* NUMBERS numbers on the device */

enum { NUMBERS = 256 };

static const char trace_code[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    /* Appends a digit to a number, so that the number tells the order. */
    ".visible .entry append(.param .u64 to, .param .u32 digit) {\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %digit, %number;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u32 %digit, [digit];\n"
    "  ld.volatile.global.u32 %number, [%to];\n"
    "  mad.lo.u32 %number, %number, 10, %digit;\n"
    "  st.volatile.global.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n"
    /* Adds to a number; each thread does. */
    ".visible .entry add(.param .u64 to, .param .u32 number) {\n"
    "  .reg .u64 %to;\n"
    "  .reg .u32 %number;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u32 %number, [number];\n"
    "  red.global.add.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n"
    /* Adds one number to another. */
    ".visible .entry sum(.param .u64 to, .param .u64 from) {\n"
    "  .reg .u64 %to, %from;\n"
    "  .reg .u32 %number;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u64 %from, [from];\n"
    "  ld.volatile.global.u32 %number, [%from];\n"
    "  red.global.add.u32 [%to], %number;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry nothing() { ret; }\n";

static inline cushim_kernel kernel_of(cushim_library library, const char *name) {
  cushim_kernel kernel = NULL;
  CHECK_OK(cushim_kernel_create(library, name, &kernel));
  return kernel;
}

/* The objects, with `append` as the kernel, and memory. False on the driver "none", which has no graphs. */
static inline int open_graphs(void) {
  cushim_graph none = (cushim_graph)NOT_NULL;
  cushim_builder builder = (cushim_builder)NOT_NULL;
  all = open_objects();
  if (is_none(all.driver)) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_create(all.context, NULL, &none));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_builder_create(all.context, NULL, &builder));
    CHECK(none == NULL && builder == NULL);
    builder = (cushim_builder)NOT_NULL;
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_builder_create_on(all.stream, NULL, &builder));
    CHECK(builder == NULL);
    return 0;
  }
  version = given_number("CHECK_VERSION");
  CHECK_OK(cushim_library_load(all.context, trace_code, sizeof trace_code, NULL, &all.library));
  all.kernel = kernel_of(all.library, "append");
  CHECK_OK(cushim_context_allocate(all.context, NUMBERS * 4, &memory));
  CHECK_OK(set_bytes(all.context, memory, 0, NUMBERS * 4));
  return 1;
}

/* Ends the program. */
static inline int close_graphs(void) {
  if (memory != 0) CHECK_OK(cushim_context_free(all.context, memory));
  close_objects(&all);
  return check_done();
}

static inline uint64_t slot(int index) { return memory + 4 * (uint64_t)index; }

static inline uint32_t number_at(uint64_t pointer) {
  uint32_t number = 0;
  cushim_endpoint to = cushim_endpoint_host(&number), from = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, sizeof number));
  return number;
}

static inline void clear_memory(void) { CHECK_OK(set_bytes(all.context, memory, 0, NUMBERS * 4)); }

static inline cushim_graph new_graph(void) {
  cushim_graph graph = NULL;
  if (!CHECK_OK(cushim_graph_create(all.context, NULL, &graph))) exit(1);
  return graph;
}

/* Moves a graph, which the driver destroys with the node's. */
static inline cushim_status move_child(cushim_graph graph, cushim_graph child, cushim_node *node, cushim_graph *inner) {
  CUgraph native = NULL;
  cushim_status status;
  if (!CHECK_OK(cushim_graph_native(child, &native))) return CUSHIM_ERROR_INTERNAL; /* nobody would know what became of it */
  status = cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_MOVE, node, inner);
  if (status == CUSHIM_SUCCESS) PROGRAMS_OWN(native);
  return status;
}

/* A copy that others make, and have to destroy. */
static inline CUgraph copied_by_others(CUgraph graph) {
  CUgraph copy = NULL;
  CHECK_STATUS(CUDA_SUCCESS, table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuGraphClone_10000(&copy, graph));
  if (copy != NULL) PROGRAMS_OWN(copy);
  return copy;
}

static inline cushim_exec new_exec(cushim_graph graph) {
  cushim_exec exec = NULL;
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  return exec;
}

/* The same with flags. */
static inline cushim_exec new_exec_with(cushim_graph graph, uint32_t flags) {
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  cushim_exec exec = NULL;
  options.flags = flags;
  CHECK_OK(cushim_exec_create(graph, &options, &exec, NULL));
  return exec;
}

static inline void run(cushim_exec exec) {
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* The first number of the memory after one launch of the graph, with zeros before. */
static inline uint32_t result_of(cushim_graph graph) {
  cushim_exec exec = new_exec(graph);
  clear_memory();
  run(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  return number_at(memory);
}

static inline uint32_t result_of_exec(cushim_exec exec) {
  clear_memory();
  run(exec);
  return number_at(memory);
}

/* Adds a kernel that takes an address and a number. */
static inline cushim_status add_numbered(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_kernel kernel,
                                         uint64_t to, uint32_t number, cushim_node *node) {
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(number);
  return cushim_graph_add_kernel(graph, after, after_count, kernel, NULL, args, 2, node);
}

/* Adds a node that appends a digit to a number of the memory. */
static inline cushim_node add_append(cushim_graph graph, cushim_node after, int index, uint32_t digit) {
  cushim_node node = NULL;
  CHECK_OK(add_numbered(graph, &after, after != NULL, all.kernel, slot(index), digit, &node));
  return node;
}

/* Adds a node that sets a number of the memory. */
static inline cushim_node add_number(cushim_graph graph, cushim_node after, int index, uint32_t number) {
  cushim_endpoint to = cushim_endpoint_device(slot(index));
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_fill(graph, &after, after != NULL, &to, CUSHIM_VALUE_32(number), 1, &node));
  return node;
}

static inline cushim_node add_empty(cushim_graph graph, cushim_node after) {
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_empty(graph, &after, after != NULL, &node));
  return node;
}

static inline int type_of(cushim_node node) {
  cushim_node_type type = CUSHIM_NODE_OTHER;
  CHECK_OK(cushim_node_get_type(node, &type));
  return type;
}

static inline size_t node_count(cushim_graph graph) {
  size_t count = 0;
  CHECK_OK(cushim_graph_get_nodes(graph, NULL, 0, &count));
  return count;
}

/* Reads or changes a node: in one exec, or in its graph if that is NULL. */
#define IN_GRAPH_OR_EXEC(exec, what, ...) \
  ((exec) != NULL ? cushim_exec_##what((exec), __VA_ARGS__) : cushim_node_##what(__VA_ARGS__))

static inline size_t edge_count(cushim_graph graph) {
  size_t count = 0;
  CHECK_OK(cushim_graph_get_edges(graph, NULL, 0, &count));
  return count;
}

static inline cushim_edge edge_between(cushim_node from, cushim_node to) {
  cushim_edge edge;
  memset(&edge, 0, sizeof edge);
  edge.from_node = from;
  edge.to_node = to;
  return edge;
}

/* The only graph in a node. */
static inline cushim_graph inner_of(cushim_node node) {
  cushim_graph inner = NULL;
  size_t count = 0;
  CHECK_OK(cushim_node_get_graphs(node, &inner, 1, &count));
  CHECK(count == 1);
  return inner;
}

/* An owner that counts its releases there. */
static inline void count_release(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST); }

static inline cushim_owner counted(int *count) {
  cushim_owner owner;
  owner.data = count;
  owner.release = count_release;
  return owner;
}

/* How often it was released, with what is due by now. */
static inline int released(const int *count) {
  flush_callbacks();
  return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

static inline void pause_shortly(void) {
  const struct timespec pause = {0, 2000000};
  nanosleep(&pause, NULL);
}

/* The same; what a thread of the driver's releases may take a while. Once a check has failed, it may never come, or later. */
static inline int released_soon(const int *count, int expected) {
  const int patience = check_failures == 0 ? 2000 : 50;
  int i;
  for (i = 0; i < patience && released(count) < expected; i++) pause_shortly();
  /* The count may be a variable of a function that is about to return. */
  if (released(count) < expected && check_failures != 0) exit(1);
  return released(count);
}

/* The device's memory with a counted owner; `owner` lives as long as the call that takes the place. */
static inline cushim_endpoint owned_slot(int index, const cushim_owner *owner) {
  cushim_endpoint place = cushim_endpoint_device(slot(index));
  place.owner = owner;
  return place;
}

static inline cushim_arg owned_arg(cushim_owned_pointer *pointer, uint64_t address, int *count) {
  pointer->pointer = address;
  pointer->owner = counted(count);
  return cushim_arg_make(CUSHIM_ARG_OWNED, pointer);
}

#endif
