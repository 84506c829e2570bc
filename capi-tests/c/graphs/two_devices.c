/*
 * Graphs over two devices: kernels of both, and copies between them, of addresses, boxes and buffers of pools; captured from streams of
 * both, built by hand, and done directly, with peer access and without. softcuda shows two devices here.
 */
#include "builders.h"

enum { BLOCK = 64 };

/* What is made on a device. */
static struct side {
  cushim_device device; /* borrowed */
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_kernel kernel;
  uint64_t memory; /* of the context */
  cushim_buffer buffer; /* of the device's pool */
} sides[2];

static struct side side_of(int32_t ordinal) {
  struct side side;
  cushim_resource pool = NULL;
  memset(&side, 0, sizeof side);
  CHECK_OK(cushim_driver_get_device(all.driver, ordinal, &side.device));
  CHECK_OK(cushim_context_retain_primary(side.device, &side.context));
  side.stream = new_stream(side.context);
  CHECK_OK(cushim_library_load(side.context, trace_code, sizeof trace_code, NULL, &side.library));
  side.kernel = kernel_of(side.library, "append");
  CHECK_OK(cushim_context_allocate(side.context, BLOCK * 4, &side.memory));
  CHECK_OK(cushim_device_get_resource(side.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, side.stream, BLOCK * 4, &side.buffer));
  CHECK_OK(cushim_stream_synchronize(side.stream));
  return side;
}

static void close_side(struct side *side) {
  CHECK_OK(cushim_buffer_destroy(side->buffer));
  CHECK_OK(cushim_stream_synchronize(side->stream));
  CHECK_OK(cushim_context_free(side->context, side->memory));
  CHECK_OK(cushim_kernel_destroy(side->kernel));
  CHECK_OK(cushim_library_destroy(side->library));
  CHECK_OK(cushim_stream_destroy(side->stream));
  CHECK_OK(cushim_context_destroy(side->context));
}

/* A number of a side's memory. */
static uint64_t number_of(int side, int index) { return sides[side].memory + 4 * (uint64_t)index; }

/* Where an operation goes: into a stream, or into a graph after the nodes before. */
struct sink {
  cushim_stream streams[2]; /* of each device */
  cushim_graph graph;
  cushim_node last[2]; /* what came last on each side */
};

/* What the next node of a side comes after. An array of one, which is empty at first. */
struct after {
  cushim_node node;
  size_t count;
};

static struct after after_on(const struct sink *sink, int side) {
  struct after after;
  after.node = sink->last[side];
  after.count = after.node != NULL;
  return after;
}

static void append_on(struct sink *sink, int side, int index, uint32_t digit) {
  const struct after after = after_on(sink, side);
  uint64_t to = number_of(side, index);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_arg args[2];
  config.grid.x = config.block.x = 1;
  config.context = sides[side].context; /* for nodes that are added: a stream has a context */
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  if (sink->graph == NULL) {
    CHECK_OK(cushim_kernel_launch(sides[side].kernel, sink->streams[side], &config, args, 2));
    return;
  }
  CHECK_OK(cushim_graph_add_kernel(sink->graph, &after.node, after.count, sides[side].kernel, &config, args, 2, &sink->last[side]));
}

static void copy_on(struct sink *sink, int side, cushim_endpoint to, cushim_endpoint from, size_t bytes) {
  const struct after after = after_on(sink, side);
  if (sink->graph == NULL) {
    CHECK_OK(cushim_stream_copy(sink->streams[side], &to, &from, bytes));
    return;
  }
  CHECK_OK(cushim_graph_add_copy(sink->graph, &after.node, after.count, &to, &from, bytes, &sink->last[side]));
}

static void copy_box_on(struct sink *sink, int side, cushim_region to, cushim_region from, cushim_extent extent) {
  const struct after after = after_on(sink, side);
  if (sink->graph == NULL) {
    CHECK_OK(cushim_stream_copy_3d(sink->streams[side], &to, &from, &extent));
    return;
  }
  CHECK_OK(cushim_graph_add_copy_3d(sink->graph, &after.node, after.count, &to, &from, &extent, &sink->last[side]));
}

/* What comes next on the side comes after what is on the other by now. */
static void wait_on(struct sink *sink, int side) {
  cushim_node both[2];
  if (sink->graph == NULL) {
    CHECK_OK(cushim_stream_wait_stream(sink->streams[side], sink->streams[1 - side]));
    return;
  }
  both[0] = sink->last[1 - side];
  both[1] = sink->last[side];
  CHECK_OK(cushim_graph_add_empty(sink->graph, both, both[1] != NULL ? 2 : 1, &sink->last[side]));
}

static cushim_endpoint there(int side, int index) {
  cushim_endpoint place = cushim_endpoint_device(number_of(side, index));
  place.context = sides[side].context;
  return place;
}

/* The work: it begins and ends on the first device. */
static void work(struct sink *sink) {
  cushim_region to, from;
  const cushim_extent extent = {8, 2, 1};
  append_on(sink, 0, 0, 1);
  wait_on(sink, 1);
  append_on(sink, 1, 0, 2);
  copy_on(sink, 1, there(0, 1), there(1, 0), 4); /* to the first */
  append_on(sink, 0, 0, 3);                       /* beside it */
  append_on(sink, 1, 0, 4);
  wait_on(sink, 0);
  append_on(sink, 0, 1, 5);
  copy_on(sink, 0, there(1, 8), there(0, 0), 8); /* to the second */
  memset(&to, 0, sizeof to);
  memset(&from, 0, sizeof from);
  from.endpoint = there(1, 8);
  from.pitch = 16;
  to.endpoint = there(0, 16);
  to.pitch = 32;
  copy_box_on(sink, 0, to, from, extent); /* and back */
  copy_on(sink, 0, cushim_endpoint_buffer(sides[0].buffer, 0), there(0, 16), 8);
  copy_on(sink, 0, there(1, 32), cushim_endpoint_buffer(sides[0].buffer, 0), 8); /* from a pool of the first */
  copy_on(sink, 0, cushim_endpoint_buffer(sides[1].buffer, 8), there(0, 16), 8); /* to a pool of the second */
  copy_on(sink, 0, there(0, 32), cushim_endpoint_buffer(sides[1].buffer, 8), 8);
}

struct results {
  uint32_t numbers[2][BLOCK];
};

static void clear_both(void) {
  int i;
  for (i = 0; i < 2; i++) {
    CHECK_OK(set_bytes(sides[i].context, sides[i].memory, 0, BLOCK * 4));
    CHECK_OK(cushim_context_synchronize(sides[i].context));
  }
}

static struct results results_now(void) {
  struct results results;
  int i;
  for (i = 0; i < 2; i++) CHECK_OK(cushim_context_synchronize(sides[i].context)); /* either may have the last work of the other */
  for (i = 0; i < 2; i++) {
    cushim_endpoint to = cushim_endpoint_host(results.numbers[i]), from = cushim_endpoint_device(sides[i].memory);
    CHECK_OK(cushim_context_copy(sides[i].context, &to, &from, sizeof results.numbers[i]));
  }
  return results;
}

static void are_right(struct results results, const char *how) {
  const int failures = check_failures;
  CHECK(results.numbers[0][0] == 13 && results.numbers[0][1] == 25);
  CHECK(results.numbers[1][0] == 24 && results.numbers[1][8] == 13 && results.numbers[1][9] == 25);
  CHECK(results.numbers[0][16] == 13 && results.numbers[0][17] == 25);
  CHECK(results.numbers[0][32] == 13 && results.numbers[0][33] == 25);
  CHECK(results.numbers[1][32] == 13 && results.numbers[1][33] == 25);
  if (check_failures != failures) {
    int side, i;
    fprintf(stderr, "%s:\n", how);
    for (side = 0; side < 2; side++) {
      for (i = 0; i < 34; i++) {
        if (results.numbers[side][i] != 0) fprintf(stderr, "  device %d, %d: %u\n", side, i, (unsigned)results.numbers[side][i]);
      }
    }
  }
}

static void directly(void) {
  struct sink sink;
  memset(&sink, 0, sizeof sink);
  sink.streams[0] = sides[0].stream;
  sink.streams[1] = sides[1].stream;
  clear_both();
  work(&sink);
  are_right(results_now(), "in streams");
}

/* Each launch does it anew. */
static void launch_twice(cushim_graph graph, const char *how) {
  cushim_exec exec = new_exec(graph);
  int i;
  for (i = 0; i < 2; i++) {
    clear_both();
    CHECK_OK(cushim_exec_launch(exec, sides[i].stream)); /* in a stream of either device */
    are_right(results_now(), how);
  }
  CHECK_OK(cushim_exec_destroy(exec));
}

static void by_hand(void) {
  struct sink sink;
  memset(&sink, 0, sizeof sink);
  CHECK_OK(cushim_graph_create(sides[0].context, NULL, &sink.graph));
  work(&sink);
  launch_twice(sink.graph, "built by hand");
  CHECK_OK(cushim_graph_destroy(sink.graph));
}

/* The stream of the second device becomes part of the capture when it waits, and leaves it at the end. */
static void captured_from_both(void) {
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  struct sink sink;
  memset(&sink, 0, sizeof sink);
  CHECK_OK(cushim_builder_create(sides[0].context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  sink.streams[0] = cushim_builder_stream(builder);
  sink.streams[1] = sides[1].stream;
  work(&sink);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_synchronize(sides[1].stream));
  CHECK(node_count(graph) == 12);
  launch_twice(graph, "captured");
  CHECK_OK(cushim_graph_destroy(graph));
}

/*
 * A node copies with one context, so memory of two pools needs access of one device to the other's pool. Refused, the capture is valid.
 */
static void between_pools(int side, int has_access) {
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  cushim_endpoint to = cushim_endpoint_buffer(sides[1].buffer, 0), from = cushim_endpoint_buffer(sides[0].buffer, 0);
  cushim_status status;
  CHECK_OK(cushim_builder_create(sides[side].context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  status = cushim_stream_copy(cushim_builder_stream(builder), &to, &from, 8);
  CHECK_STATUS(has_access ? 0 : CUDA_ERROR_INVALID_VALUE, status);
  if (!has_access) {
    CHECK_CONTAINS(last_message(), "is memory of a pool of device 1, to which device 0 of this copy has no access");
    CHECK_CONTAINS(last_message(), "The capture is still valid");
  }
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK(node_count(graph) == (has_access ? 1u : 0u));
  if (!has_access) {
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graph_add_copy(graph, NULL, 0, &to, &from, 8, NULL));
    CHECK_CONTAINS(last_message(), "is memory of a pool of device 0, to which device 1 of this copy has no access");
  } else { /* and back */
    cushim_exec exec = NULL;
    cushim_node node = NULL;
    size_t count = 0;
    CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &count));
    CHECK_OK(cushim_graph_add_copy(graph, &node, 1, &from, &to, 8, NULL));
    CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
    CHECK_OK(cushim_exec_launch(exec, sides[side].stream));
    CHECK_OK(cushim_stream_synchronize(sides[side].stream));
    CHECK_OK(cushim_exec_destroy(exec));
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* What is refused in a capture leaves that valid. */
static void refused(void) {
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  cushim_endpoint to, from;
  uint32_t number = 0;
  CHECK_OK(cushim_builder_create(sides[0].context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  to = there(1, 0);
  from = cushim_endpoint_host(&number);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(cushim_builder_stream(builder), &to, &from, 4));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_stream(cushim_builder_stream(builder), sides[1].stream));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK(node_count(graph) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

static void each_way(void) {
  directly();
  by_hand();
  captured_from_both();
}

static void with_two_devices(void) {
  int32_t reach[2] = {0};
  int i;
  for (i = 0; i < 2; i++) sides[i] = side_of(i);
  each_way();
  refused();
  between_pools(0, 0);
  for (i = 0; i < 2; i++) CHECK_OK(cushim_device_can_access_peer(sides[i].device, sides[1 - i].device, &reach[i]));
  if (reach[0] && reach[1]) {
    cushim_resource pool = NULL;
    CHECK_OK(cushim_device_get_resource(sides[0].device, &pool));
    CHECK_OK(cushim_resource_add_peers(pool, &sides[1].device, 1));
    for (i = 0; i < 2; i++) between_pools(i, 1);
    CHECK_OK(cushim_resource_remove_peers(pool, &sides[1].device, 1));
    for (i = 0; i < 2; i++) CHECK_OK(cushim_context_enable_peer_access(sides[i].context, sides[1 - i].context));
    each_way();
    for (i = 0; i < 2; i++) {
      CHECK_OK(cushim_context_synchronize(sides[i].context));
      CHECK_OK(cushim_context_disable_peer_access(sides[i].context, sides[1 - i].context));
    }
  }
  for (i = 0; i < 2; i++) close_side(&sides[i]);
}

int main(void) {
  int32_t count = 0;
  setenv("SOFTCUDA_DEVICES", "2", 0);
  if (!open_graphs()) return close_graphs();
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  if (count >= 2) with_two_devices();
  else printf("two devices are needed, and there is %d\n", (int)count);
  return close_graphs();
}
