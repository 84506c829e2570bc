/*
 * Events that stand for places in graphs, and streams that become part of a capture: also in captures of others, and where an event
 * becomes a node besides. What would invalidate a capture is refused, and names what it is about.
 */
#include "builders.h"

#include <pthread.h>

static const cushim_driver_table *cu;

/* A stream that others have made, and capture. */
static struct {
  CUstream native;
  cushim_stream stream;
} theirs;

static void others_begin(void) {
  CHECK_OK(cushim_context_set_current(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&theirs.native, 1));
  CHECK_OK(cushim_stream_wrap(all.context, theirs.native, CUSHIM_BORROWED, &theirs.stream));
  CHECK_OK(cushim_set_label(theirs.stream, "theirs"));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(theirs.native, CU_STREAM_CAPTURE_MODE_RELAXED));
}

/* Their capture is valid, and their graph leaves this in the first number. */
static void others_end(uint32_t expected) {
  CUgraph native = NULL;
  cushim_graph graph = NULL;
  int ended = CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(theirs.native, &native));
  CHECK_OK(cushim_stream_destroy(theirs.stream));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(theirs.native));
  if (ended) {
    CHECK_OK(cushim_graph_wrap(all.context, native, CUSHIM_OWNED, &graph));
    CHECK(result_of(graph) == expected);
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_context_clear_current(all.driver));
}

/* It stands for a place in a graph, and asking whether it is done would invalidate the capture. */
static void is_a_place(cushim_event event) {
  int32_t done = -1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_query(event, &done));
  CHECK_CONTAINS(last_message(), "event \"mark\" was last recorded in a stream that was being captured");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_synchronize(event));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_synchronize_within(event, 0, &done));
}

static cushim_event new_mark(unsigned flags) {
  cushim_event event = new_event(all.context, flags);
  CHECK_OK(cushim_set_label(event, "mark"));
  return event;
}

/* Events that are recorded in a capture of others. */
static void in_captures_of_others(void) {
  cushim_event mark = new_mark(0), outside = new_event(all.context, 0);
  cushim_stream side = new_stream(all.context), legacy = NULL;
  cushim_builder builder = begun(); /* before the others, who end theirs even where a call fails */
  int32_t done = 0;
  CHECK_OK(cushim_event_record(outside, all.stream));
  CHECK_OK(cushim_set_label(outside, "outside"));
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  others_begin();
  append_in(theirs.stream, 0, 1);
  CHECK_OK(cushim_event_record(mark, theirs.stream));
  is_a_place(mark);
  /* What stands for work that runs cannot be waited for, whoever captures. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(theirs.stream, outside));
  CHECK_CONTAINS(last_message(), "event \"outside\" was recorded outside of the capture");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_stream(theirs.stream, all.stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(legacy, mark));
  CHECK_CONTAINS(last_message(), "legacy default stream cannot wait for event \"mark\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_stream(legacy, theirs.stream));
  CHECK_CONTAINS(last_message(), "the end of wrapped stream \"theirs\"");
  append(builder, 1, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(cushim_builder_stream(builder), mark));
  CHECK_CONTAINS(last_message(), "event \"mark\" was recorded in another capture");
  CHECK_OK(cushim_event_record(outside, cushim_builder_stream(builder)));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(theirs.stream, outside));
  CHECK(captured(builder) == 0);
  CHECK_OK(cushim_builder_destroy(builder));
  /* But another stream can take part, and be joined. */
  CHECK_OK(cushim_stream_wait_event(side, mark));
  append_in(side, 0, 2);
  CHECK_OK(cushim_stream_wait_stream(theirs.stream, side));
  append_in(theirs.stream, 0, 3);
  others_end(123);
  CHECK_OK(cushim_event_record(mark, side));
  CHECK_OK(cushim_event_synchronize(mark));
  CHECK_OK(cushim_event_query(mark, &done));
  CHECK(done == 1);
  CHECK_OK(cushim_event_destroy(mark));
  CHECK_OK(cushim_event_destroy(outside));
  CHECK_OK(cushim_stream_destroy(side));
}

/* Before CUDA 11.7 a memory operation invalidates the capture that it is in. */
static void memory_operations_of_others(void) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = cushim_endpoint_device(slot(0));
  others_begin();
  append_in(theirs.stream, 0, 7);
  if (version < 11070) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_memory_operations(theirs.stream, &operation, 1));
    CHECK_CONTAINS(last_message(), "11.7");
    others_end(7);
  } else {
    CHECK_OK(cushim_stream_memory_operations(theirs.stream, &operation, 1));
    others_end(0);
  }
}

/* An event that stands for a place, and is a node as well: while the capture goes on it stays a place; a launch records it. */
static void places_that_are_nodes(void) {
  cushim_event mark = new_mark(0);
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder), side = new_stream(all.context);
  cushim_graph graph = NULL;
  int32_t done = 0;
  append(builder, 0, 1);
  CHECK_OK(cushim_event_record(mark, stream));
  CHECK_OK(cushim_event_record_external(mark, stream));
  is_a_place(mark);
  CHECK_OK(cushim_stream_wait_event(stream, mark));
  append(builder, 0, 2);
  if (CHECK_OK(cushim_builder_end(builder, &graph))) {
    CHECK(result_of(graph) == 12);
    CHECK_OK(cushim_event_query(mark, &done));
    CHECK(done == 1);
    CHECK_OK(cushim_event_synchronize(mark));
    CHECK_OK(cushim_stream_wait_event(side, mark));
    CHECK_OK(cushim_stream_synchronize(side));
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(side));
  CHECK_OK(cushim_event_destroy(mark));
}

/* An event for several processes is a node, and no place: the driver would invalidate the capture of who waits. */
static void of_several_processes(void) {
  cushim_event mark = new_mark(CUSHIM_EVENT_INTERPROCESS);
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  append(builder, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_record(mark, stream));
  CHECK_CONTAINS(last_message(), "event \"mark\" is for several processes");
  CHECK_CONTAINS(last_message(), "cushim_event_record_external");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(stream, mark));
  CHECK_CONTAINS(last_message(), "cushim_stream_wait_event_external");
  CHECK_OK(cushim_event_record_external(mark, stream));
  CHECK_OK(cushim_stream_wait_event_external(stream, mark));
  append(builder, 0, 2);
  CHECK(captured(builder) == 12);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_event_destroy(mark));
}

/* A per-thread default stream takes part as any other: its nodes are typed, it is named, and may wait for what the capture records. */
static void default_streams(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder), per_thread = NULL;
  cushim_event mark = new_mark(0);
  cushim_graph graph = NULL;
  cushim_node nodes[4];
  cushim_kernel_node runs = CUSHIM_OPTIONS(cushim_kernel_node);
  size_t count = 0, i;
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &per_thread));
  CHECK_OK(cushim_set_label(per_thread, "here"));
  append(builder, 0, 1);
  CHECK_OK(cushim_stream_wait_stream(per_thread, stream));
  append_in(per_thread, 1, 2);
  /* It waits for the legacy default stream, as the driver would find out. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, set_bytes(all.context, slot(8), 0, 4));
  CHECK_CONTAINS(last_message(), "a blocking stream is being captured");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, &graph));
  CHECK_CONTAINS(last_message(), "per-thread default stream \"here\"");
  append(builder, 0, 2);
  CHECK_OK(cushim_event_record(mark, stream));
  CHECK_OK(cushim_stream_wait_event(per_thread, mark));
  CHECK_OK(cushim_event_record(mark, per_thread));
  is_a_place(mark);
  CHECK_OK(cushim_stream_wait_event(stream, mark));
  append(builder, 0, 3);
  if (CHECK_OK(cushim_builder_end(builder, &graph))) {
    CHECK_OK(cushim_graph_get_nodes(graph, nodes, 4, &count));
    CHECK(count == 4);
    for (i = 0; i < count && i < 4; i++) {
      CHECK_OK(cushim_node_get_kernel(nodes[i], &runs));
      CHECK(is_same(runs.kernel, all.kernel) && runs.arg_count == 2);
    }
    CHECK(result_of(graph) == 123 && number_at(slot(1)) == 2);
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_stream_synchronize(per_thread)); /* it is as before */
  CHECK_OK(cushim_set_label(per_thread, NULL));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_event_destroy(mark));
}

/* What the other thread below does: its default stream takes part, and is joined or not. */
struct elsewhere {
  cushim_builder builder;
  int joins;
};

static void *take_part(void *data) {
  const struct elsewhere *with = (const struct elsewhere *)data;
  cushim_stream per_thread = NULL, stream = cushim_builder_stream(with->builder);
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &per_thread));
  CHECK_OK(cushim_stream_wait_stream(per_thread, stream));
  append_in(per_thread, 1, 2);
  if (with->joins) CHECK_OK(cushim_stream_wait_stream(stream, per_thread));
  return NULL;
}

/* The default stream of another thread: of that only the driver can tell, here, that it was not joined. */
static void default_streams_elsewhere(int joins) {
  struct elsewhere with;
  cushim_graph graph = (cushim_graph)NOT_NULL;
  pthread_t thread;
  with.builder = begun();
  with.joins = joins;
  append(with.builder, 0, 1);
  if (!CHECK(pthread_create(&thread, NULL, take_part, &with) == 0)) return;
  CHECK(pthread_join(thread, NULL) == 0);
  append(with.builder, 0, 3);
  if (joins) {
    CHECK(captured(with.builder) == 13 && number_at(slot(1)) == 2);
  } else {
    CHECK_STATUS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cushim_builder_end(with.builder, &graph));
    CHECK_CONTAINS(last_message(), "The per-thread default stream of another thread takes part");
    CHECK(graph == NULL);
  }
  CHECK_OK(cushim_builder_destroy(with.builder));
}

/* A stream that others have made part of the capture is recognised by the driver's graph. */
static void forked_by_others(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder), side = NULL;
  cushim_graph graph = NULL;
  cushim_node nodes[3];
  cushim_kernel_node runs = CUSHIM_OPTIONS(cushim_kernel_node);
  CUstream native = NULL, natively = NULL;
  CUevent event = NULL;
  size_t count = 0, i;
  append(builder, 0, 1);
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_OK(cushim_context_set_current(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&natively, 1));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventCreate_2000(&event, 2));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventRecord_2000(event, native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamWaitEvent_3020(natively, event, 0));
  CHECK_OK(cushim_stream_wrap(all.context, natively, CUSHIM_BORROWED, &side));
  append_in(side, 0, 2);
  CHECK_OK(cushim_stream_wait_stream(stream, side));
  append(builder, 0, 3);
  if (CHECK_OK(cushim_builder_end(builder, &graph))) {
    CHECK_OK(cushim_graph_get_nodes(graph, nodes, 3, &count));
    CHECK(count == 3);
    for (i = 0; i < count && i < 3; i++) {
      CHECK_OK(cushim_node_get_kernel(nodes[i], &runs));
      CHECK(is_same(runs.kernel, all.kernel) && runs.arg_count == 2);
    }
    CHECK(result_of(graph) == 123);
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(side));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventDestroy_4000(event));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(natively));
  CHECK_OK(cushim_context_clear_current(all.driver));
}

/* A builder's own stream has the builder's label, and what a stream waits for is named. */
static void names(void) {
  cushim_builder builder = begun(), given = NULL, fork = NULL;
  cushim_stream named = new_stream(all.context);
  CHECK_OK(cushim_set_label(builder, "first"));
  CHECK_OK(cushim_set_label(named, "named"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_synchronize(cushim_builder_stream(builder)));
  CHECK_CONTAINS(last_message(), "stream \"first\" is being captured");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_stream(cushim_builder_stream(builder), named));
  CHECK_CONTAINS(last_message(), "the end of stream \"named\" was recorded outside of the capture");
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  CHECK_OK(cushim_set_label(fork, "beside"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_synchronize(cushim_builder_stream(fork)));
  CHECK_CONTAINS(last_message(), "stream \"beside\" is being captured");
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(builder));
  /* A stream that somebody gave keeps its own. */
  CHECK_OK(cushim_builder_create_on(named, NULL, &given));
  CHECK_OK(cushim_set_label(given, "second"));
  CHECK_OK(cushim_builder_begin(given));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_synchronize(named));
  CHECK_CONTAINS(last_message(), "stream \"named\" is being captured");
  CHECK_OK(cushim_builder_destroy(given));
  CHECK_OK(cushim_stream_destroy(named));
}

/* A graph that is being captured into is not moved. */
static void moved_too_early(void) {
  cushim_builder builder = begun();
  cushim_graph graph = NULL, outer = new_graph(), inner = (cushim_graph)NOT_NULL;
  cushim_node node = NULL;
  size_t count = 0;
  CHECK_OK(cushim_set_label(builder, "first"));
  append(builder, 0, 1);
  CHECK_OK(cushim_builder_get_tail(builder, &node, 1, &count));
  CHECK_OK(cushim_node_get_graph(node, &graph));
  if (version >= 12090) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(outer, NULL, 0, graph, CUSHIM_CHILD_MOVE, NULL, &inner));
    CHECK_CONTAINS(last_message(), "while builder \"first\" captures into it");
    CHECK(inner == NULL);
  }
  CHECK(captured(builder) == 1);
  CHECK_OK(cushim_graph_destroy(outer));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* Memory that is freed once a stream has done its work is not freed while that is being captured; nothing is destroyed then. */
static void memory_that_waits(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_resource memories = NULL;
  cushim_buffer kept = NULL, scratch = NULL, used = NULL;
  cushim_endpoint place;
  uint32_t page[16] = {0};
  CHECK_OK(cushim_resource_create_device(all.context, &memories));
  CHECK_OK(cushim_buffer_create(memories, NULL, sizeof page, &kept));
  CHECK_OK(cushim_buffer_create(memories, stream, sizeof page, &used));
  CHECK_OK(cushim_buffer_create_scratch(memories, all.stream, page, sizeof page, &scratch));
  CHECK_OK(cushim_buffer_set_stream(kept, stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy(kept));
  CHECK_CONTAINS(last_message(), "is being captured, and memory is freed when that has done its work");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_on(kept, stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_scratch(scratch, stream, page));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_scratch(scratch, stream, NULL));
  /* What the graph uses is the graph's to free. */
  place = cushim_endpoint_buffer(used, 0);
  CHECK_OK(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(5), 1));
  place = cushim_endpoint_buffer(scratch, 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_scratch(scratch, stream, page));
  CHECK_OK(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(5), 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_scratch(scratch, stream, page));
  CHECK_CONTAINS(last_message(), "whenever it is launched");
  CHECK_OK(cushim_buffer_destroy(used));
  append(builder, 0, 1);
  CHECK(captured(builder) == 1);
  CHECK_OK(cushim_buffer_destroy_scratch(scratch, all.stream, page));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(page[0] == 5);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_buffer_destroy(kept));
  CHECK_OK(cushim_resource_destroy(memories));
}

static uint64_t used_in(cushim_resource pool) {
  uint64_t used = 0;
  CHECK_OK(cushim_resource_get_attribute(pool, CUSHIM_POOL_USED_CURRENT, &used));
  return used;
}

/* Memory of a pool whose stream is being captured is freed afterwards, and is no part of the graph; `by_others`: who captures. */
static void memory_of_a_pool(cushim_capture_mode mode, int by_others) {
  cushim_builder_options options = CUSHIM_OPTIONS(cushim_builder_options);
  cushim_device_pool_options own = CUSHIM_OPTIONS(cushim_device_pool_options);
  cushim_stream stream = new_stream(all.context);
  cushim_resource pool = NULL;
  cushim_buffer one = NULL, other = NULL;
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  CUgraph native = NULL;
  CUstream raw = NULL;
  int i;
  options.mode = mode;
  own.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &own, &pool));
  CHECK_OK(cushim_buffer_create(pool, stream, 4096, &one));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 4096, &other));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  if (by_others) {
    CHECK_OK(cushim_stream_native(stream, &raw));
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(raw, CU_STREAM_CAPTURE_MODE_RELAXED));
  } else {
    CHECK_OK(cushim_builder_create_on(stream, &options, &builder));
    CHECK_OK(cushim_builder_begin(builder));
  }
  append_in(stream, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_scratch(one, stream, NULL));
  CHECK_OK(cushim_buffer_destroy(one));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_on(other, stream));
  CHECK_OK(cushim_buffer_set_stream(other, stream));
  CHECK_OK(cushim_buffer_destroy(other));
  append_in(stream, 0, 2);
  flush_callbacks();
  CHECK(used_in(pool) == 2 * 4096);
  if (by_others) {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(raw, &native));
    CHECK_OK(cushim_graph_wrap(all.context, native, CUSHIM_OWNED, &graph));
  } else {
    CHECK_OK(cushim_builder_end(builder, &graph));
    CHECK_OK(cushim_builder_destroy(builder));
  }
  CHECK(node_count(graph) == 2);
  CHECK(result_of(graph) == 12);
  for (i = 0; i < 2000 && used_in(pool) != 0; i++) {
    pause_shortly();
    CHECK_OK(cushim_stream_synchronize(stream));
  }
  CHECK(used_in(pool) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_resource_destroy(pool));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  in_captures_of_others();
  memory_operations_of_others();
  places_that_are_nodes();
  of_several_processes();
  default_streams();
  default_streams_elsewhere(1);
  default_streams_elsewhere(0);
  forked_by_others();
  names();
  moved_too_early();
  memory_of_a_pool(CUSHIM_CAPTURE_RELAXED, 0);
  memory_of_a_pool(CUSHIM_CAPTURE_GLOBAL, 0);
  memory_of_a_pool(CUSHIM_CAPTURE_RELAXED, 1);
  memory_that_waits();
  return close_graphs();
}
