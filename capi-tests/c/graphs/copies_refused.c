/*
 * Copies, memsets and values in memory that is not what it is said to be: each call names the end and the reason, and has the same status as
 * all others for the same mistake; as a range and as a box, in streams, contexts, graphs and execs.
 */
#include "graphs.h"

enum { SHORT = 1024, LONG = 4096 };

static cushim_graph graph;
static cushim_node range_node, box_node;
static cushim_exec exec;

static void is_refused(cushim_status status, const char *end, const char *why, int line) {
  if (!check_that(status == CUSHIM_ERROR_INVALID_ARGUMENT, __FILE__, line, "refused as an argument")) {
    check_more("last error: ", last_message());
  }
  check_contains(last_message(), end, __FILE__, line, "the end is named");
  check_contains(last_message(), why, __FILE__, line, "the reason is given");
}

#define REFUSED(end, call) is_refused(call, end, why, __LINE__)

/* A bad place, as the source and as the destination, beside a good one. */
static void bad(cushim_endpoint place, cushim_endpoint good, size_t bytes, const char *why, int has_value) {
  const cushim_extent box = {bytes / 4, 4, 1};
  cushim_region of_bad, of_good;
  cushim_copy item;
  cushim_memory_operation operation;
  size_t count = 0;
  memset(&of_bad, 0, sizeof of_bad);
  memset(&item, 0, sizeof item);
  memset(&operation, 0, sizeof operation);
  of_good = of_bad;
  of_bad.endpoint = place;
  of_good.endpoint = good;
  item.destination = good;
  item.source = place;
  item.bytes = bytes;
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = place;
  REFUSED("source", cushim_stream_copy(all.stream, &good, &place, bytes));
  REFUSED("destination", cushim_stream_copy(all.stream, &place, &good, bytes));
  REFUSED("source", cushim_context_copy(all.context, &good, &place, bytes));
  REFUSED("source", cushim_stream_copy_3d(all.stream, &of_good, &of_bad, &box));
  REFUSED("destination", cushim_stream_copy_3d(all.stream, &of_bad, &of_good, &box));
  REFUSED("destination", cushim_context_copy_3d(all.context, &of_bad, &of_good, &box));
  REFUSED("source", cushim_stream_copy_batch(all.stream, &item, 1, NULL, 0, NULL));
  REFUSED("source", cushim_graph_add_copy(graph, NULL, 0, &good, &place, bytes, NULL));
  REFUSED("destination", cushim_graph_add_copy_3d(graph, NULL, 0, &of_bad, &of_good, &box, NULL));
  REFUSED("source", cushim_node_set_copy(range_node, &good, &place, bytes));
  REFUSED("destination", cushim_node_set_copy(range_node, &place, &good, bytes));
  REFUSED("source", cushim_exec_set_copy(exec, range_node, &good, &place, bytes));
  REFUSED("source", cushim_node_set_copy_3d(box_node, &of_good, &of_bad, &box));
  REFUSED("source", cushim_exec_set_copy_3d(exec, box_node, &of_good, &of_bad, &box));
  REFUSED("memory to set", cushim_stream_fill(all.stream, &place, CUSHIM_VALUE_8(1), bytes));
  REFUSED("memory to set", cushim_graph_add_fill(graph, NULL, 0, &place, CUSHIM_VALUE_8(1), bytes, NULL));
  if (has_value && version >= 11070) REFUSED("place of the value", cushim_stream_memory_operations(all.stream, &operation, 1));
  CHECK_OK(cushim_graph_get_nodes(graph, NULL, 0, &count));
  CHECK(count == 2);
}

static void copies(void) {
  static char of_program[LONG];
  uint64_t small = 0, large = 0, freed = 0;
  cushim_endpoint good, other;
  cushim_region to, from;
  const cushim_extent box = {16, 4, 1};
  CHECK_OK(cushim_context_allocate(all.context, SHORT, &small));
  CHECK_OK(cushim_context_allocate(all.context, LONG, &large));
  CHECK_OK(cushim_context_allocate(all.context, LONG, &freed));
  CHECK_OK(cushim_context_free(all.context, freed));
  good = cushim_endpoint_device(large);
  other = cushim_endpoint_device(small);
  memset(&to, 0, sizeof to);
  from = to;
  to.endpoint = good;
  from.endpoint = other;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &good, &other, 64, &range_node));
  CHECK_OK(cushim_graph_add_copy_3d(graph, NULL, 0, &to, &from, &box, &box_node));
  exec = new_exec(graph);
  bad(cushim_endpoint_device((uint64_t)(uintptr_t)of_program), good, 64, "is host memory", 1);
  bad(cushim_endpoint_device(freed), good, 64, "it was freed", 1);
  bad(cushim_endpoint_device(0x1230), good, 64, "never allocated", 1);
  bad(other, good, LONG, "too few for 4096", 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_context_free(all.context, small));
  CHECK_OK(cushim_context_free(all.context, large));
}

/* Memory of a graph, of which the driver says nothing, is not blamed for what the other end is guilty of. */
static void memory_of_a_graph(void) {
  static char of_program[64];
  cushim_graph_allocation what = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_graph own = new_graph();
  cushim_node allocation = NULL, copy = NULL;
  cushim_endpoint place, good = cushim_endpoint_device(memory), bad_one = cushim_endpoint_device((uint64_t)(uintptr_t)of_program);
  uint64_t pointer = 0;
  what.bytes = 64;
  CHECK_OK(cushim_graph_add_allocation(own, NULL, 0, &what, &allocation, &pointer));
  place = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_graph_add_copy(own, &allocation, 1, &place, &good, 64, &copy));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(own, &allocation, 1, &place, &bad_one, 64, NULL));
  CHECK_CONTAINS(last_message(), "The source");
  CHECK(strstr(last_message(), "The destination") == NULL);
  CHECK_OK(cushim_graph_destroy(own));
}

/* A launch of a size that the kernel does not take has one status, in a stream, a graph and a capture. */
static void launches(void) {
  static const uint32_t digit = 1;
  const uint64_t to = memory;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_builder builder = NULL;
  cushim_arg args[2];
  int which;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  for (which = 0; which < 4; which++) {
    config.grid.x = which == 0 ? 0 : 1;
    config.grid.y = which == 3 ? 70000 : 1;
    config.grid.z = config.block.y = config.block.z = 1;
    config.block.x = which == 1 ? 2000 : 1;
    config.shared_bytes = which == 2 ? 1u << 30 : 0;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(all.kernel, all.stream, &config, args, 2));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, &config, args, 2, NULL));
    CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(all.kernel, cushim_builder_stream(builder), &config, args, 2));
    CHECK_OK(cushim_builder_destroy(builder));
  }
}

/* The status that a refused allocation has is the one that its sentence says, whatever the driver answered. */
static void places_of_allocations(void) {
  cushim_graph own = new_graph();
  int32_t kind;
  CHECK_OK(cushim_set_label(own, "own"));
  for (kind = 2; kind <= 4; kind++) { /* the host, a NUMA node, that of the calling thread */
    cushim_graph_allocation what = CUSHIM_OPTIONS(cushim_graph_allocation);
    uint64_t pointer = 7;
    what.bytes = 64;
    what.location.kind = (cushim_location_kind)kind;
    CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_add_allocation(own, NULL, 0, &what, NULL, &pointer));
    CHECK_CONTAINS(last_message(), "CUDA_ERROR_NOT_SUPPORTED (801)");
    CHECK_CONTAINS(last_message(), "graph \"own\"");
    CHECK(strstr(last_message(), "(1)") == NULL && pointer == 0);
  }
  CHECK_OK(cushim_graph_destroy(own));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  graph = new_graph();
  copies();
  memory_of_a_graph();
  launches();
  places_of_allocations();
  CHECK_OK(cushim_graph_destroy(graph));
  return close_graphs();
}
