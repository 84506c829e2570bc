/*
 * Memory that a kernel is given by a place, and that its device does not reach: refused in streams, in graphs, in execs and under capture,
 * before anything happens. What the device reaches, or will, is taken: memory of graphs, too, of which the driver says nothing yet.
 */
#include "builders.h"

static cushim_kernel add;
static uint32_t of_program[4]; /* host memory, beside the stack and malloc */

enum { SITES = 5 };

/* A kernel with this place, wherever kernels are given: in a stream, as a node, in a node that is set, in an exec, in a capture. */
static cushim_status give(int site, const cushim_endpoint *place) {
  static const char *const names[SITES] = {"stream", "node", "set", "exec", "capture"};
  const uint64_t good = slot(0);
  const uint32_t one = 1;
  cushim_arg args[2], arg = cushim_arg_endpoint(place);
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  cushim_exec exec = NULL;
  cushim_status status;
  size_t count = 0;
  args[0] = CUSHIM_ARG(good);
  args[1] = CUSHIM_ARG(one);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &node));
  if (site == 0) {
    args[0] = arg;
    status = cushim_kernel_launch(add, all.stream, NULL, args, 2);
  } else if (site == 1) {
    args[0] = arg;
    status = cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, NULL);
    CHECK_OK(cushim_graph_get_nodes(graph, NULL, 0, &count));
    CHECK(count == (status == CUSHIM_SUCCESS ? 2u : 1u));
  } else if (site == 2) {
    args[0] = arg;
    status = cushim_node_set_kernel(node, NULL, NULL, args, 2);
  } else if (site == 3) {
    exec = new_exec(graph);
    status = cushim_exec_set_argument(exec, node, 0, &arg);
    CHECK_OK(cushim_exec_destroy(exec));
  } else {
    cushim_builder builder = begun();
    cushim_graph captured = NULL;
    args[0] = arg;
    status = cushim_kernel_launch(add, cushim_builder_stream(builder), NULL, args, 2);
    CHECK_OK(cushim_builder_end(builder, &captured)); /* which is valid in any case */
    CHECK_OK(cushim_graph_get_nodes(captured, NULL, 0, &count));
    CHECK(count == (status == CUSHIM_SUCCESS ? 1u : 0u));
    CHECK_OK(cushim_graph_destroy(captured));
    CHECK_OK(cushim_builder_destroy(builder));
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  if (status != CUSHIM_SUCCESS && getenv("CHECK_SHOWS") != NULL) printf("%s: %s\n", names[site], last_message());
  return status;
}

static void refused(cushim_endpoint place, const char *why) {
  int site;
  for (site = 0; site < SITES; site++) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, give(site, &place));
    CHECK_CONTAINS(last_message(), why);
    CHECK_CONTAINS(last_message(), "argument 0: ");
    CHECK(last_detail()->item == 0);
  }
}

static void taken(cushim_endpoint place) {
  int site;
  for (site = 0; site < SITES; site++) CHECK_OK(give(site, &place));
}

static void host_memory(void) {
  uint32_t on_stack[4] = {0};
  uint32_t *const of_heap = (uint32_t *)calloc(4, sizeof *of_heap);
  cushim_endpoint place;
  refused(cushim_endpoint_device((uint64_t)(uintptr_t)on_stack), "is host memory");
  refused(cushim_endpoint_device((uint64_t)(uintptr_t)of_heap), "page-lock it");
  refused(cushim_endpoint_device((uint64_t)(uintptr_t)of_program), "is host memory");
  place = cushim_endpoint_device((uint64_t)(uintptr_t)of_heap);
  place.offset = 8;
  refused(place, "is host memory");
  CHECK(of_heap[0] == 0 && of_program[0] == 0 && on_stack[0] == 0);
  free(of_heap);
}

/* Numbers that are no memory at all, a handle, and memory that was freed. */
static void no_memory(void) {
  uint64_t freed = 0;
  cushim_endpoint place = cushim_endpoint_device((uint64_t)(uintptr_t)all.buffer);
  cushim_arg args[2];
  const uint32_t one = 1;
  refused(place, "is a handle");
  refused(cushim_endpoint_device(0x1230), "never allocated");
  CHECK_OK(cushim_context_allocate(all.context, 1 << 20, &freed));
  CHECK_OK(cushim_context_free(all.context, freed));
  if (!is_software(all.driver)) return; /* a GPU's driver may have the block that it was part of */
  place = cushim_endpoint_device(freed);
  args[0] = cushim_arg_endpoint(&place);
  args[1] = CUSHIM_ARG(one);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(add, all.stream, NULL, args, 2));
  CHECK_CONTAINS(last_message(), "it was freed");
}

static void memory_of_all_sorts(void) {
  uint32_t *pinned = NULL;
  uint64_t end = 0;
  cushim_endpoint nothing = cushim_endpoint_device(0);
  cushim_buffer buffer = NULL;
  cushim_resource pool = NULL;
  static uint32_t registered[4096] __attribute__((aligned(4096)));
  taken(cushim_endpoint_device(slot(3)));
  CHECK_OK(cushim_context_allocate(all.context, 1 << 21, &end));
  CHECK_OK(set_bytes(all.context, end, 0, 4));
  taken(cushim_endpoint_device(end));
  CHECK_OK(give(1, &nothing)); /* NULL is a value of pointers; nothing runs with it here */
  {
    cushim_endpoint behind = cushim_endpoint_device(end + (1 << 21)); /* as kernels take it that go from a beginning to an end */
    CHECK_OK(give(1, &behind));
  }
  CHECK_OK(cushim_context_free(all.context, end));
  CHECK_OK(cushim_context_allocate_host(all.context, 64, 0, (void **)&pinned));
  taken(cushim_endpoint_device((uint64_t)(uintptr_t)pinned));
  taken(cushim_endpoint_host(pinned));
  CHECK_OK(cushim_context_free_host(all.context, pinned));
  CHECK_OK(cushim_context_register_host(all.context, registered, sizeof registered, 0));
  taken(cushim_endpoint_device((uint64_t)(uintptr_t)registered));
  CHECK_OK(cushim_context_unregister_host(all.context, registered));
  refused(cushim_endpoint_device((uint64_t)(uintptr_t)registered), "is host memory");
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &pool));
  CHECK_OK(cushim_buffer_create(pool, NULL, 64, &buffer));
  taken(cushim_endpoint_device(cushim_buffer_pointer(buffer)));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &buffer));
  CHECK_OK(fill_bytes(all.stream, cushim_buffer_pointer(buffer), 0, 64));
  taken(cushim_endpoint_device(cushim_buffer_pointer(buffer)));
  taken(cushim_endpoint_buffer(buffer, 0));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* What graphs allocate: of a node, of a buffer in a capture, and of a node that somebody else has added. */
static void memory_of_graphs(void) {
  cushim_graph_allocation what = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_graph graph = new_graph(), captured = NULL;
  cushim_node allocation = NULL, cleared = NULL, kernel = NULL;
  uint64_t pointer = 0;
  cushim_endpoint place;
  cushim_arg args[2];
  const uint32_t one = 1;
  cushim_builder builder;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_exec exec;
  what.bytes = 64;
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &what, &allocation, &pointer));
  place = cushim_endpoint_device(pointer);
  args[0] = cushim_arg_endpoint(&place);
  args[1] = CUSHIM_ARG(one);
  CHECK_OK(cushim_graph_add_fill(graph, &allocation, 1, &place, CUSHIM_VALUE_32(0), 16, &cleared));
  CHECK_OK(cushim_graph_add_kernel(graph, &cleared, 1, add, NULL, args, 2, &kernel));
  CHECK_OK(cushim_node_set_argument(kernel, 0, &args[0]));
  place.offset = 4;
  CHECK_OK(cushim_node_set_kernel(kernel, NULL, NULL, args, 2));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_argument(exec, kernel, 0, &args[0]));
  /* Memory that a graph has left may be used in streams. */
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_kernel_launch(add, all.stream, NULL, args, 2));
  CHECK_OK(cushim_stream_free(all.stream, pointer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_create_graph(all.device, &resource));
  builder = begun();
  CHECK_OK(cushim_buffer_create(resource, cushim_builder_stream(builder), 64, &buffer));
  place = cushim_endpoint_device(cushim_buffer_pointer(buffer));
  CHECK_OK(cushim_stream_fill(cushim_builder_stream(builder), &place, CUSHIM_VALUE_32(0), 16));
  CHECK_OK(cushim_kernel_launch(add, cushim_builder_stream(builder), NULL, args, 2));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_builder_end(builder, &captured));
  exec = new_exec(captured);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(captured));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_resource_destroy(resource));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  add = kernel_of(all.library, "add");
  host_memory();
  no_memory();
  memory_of_all_sorts();
  memory_of_graphs();
  CHECK_OK(cushim_kernel_destroy(add));
  return close_graphs();
}
