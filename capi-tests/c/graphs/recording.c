/*
 * Every function that takes a stream, in streams that are being captured: of a builder, of a forked one, and of a body. What becomes a
 * node, what does something else, and what is refused; the capture is valid afterwards in each case, and its graph works. With a handle
 * that is stale, because its builder has ended or is closed, each of them is refused with the builder's state.
 */
#include "builders.h"

/* What the functions are called with, beside the stream. */
static struct {
  cushim_stream other; /* with work, and recorded in `outside` */
  cushim_event event, outside, inside;
  cushim_buffer buffer, second, managed;
  cushim_resource pool, memory;
  cushim_exec exec;
  uint64_t pooled;
  cushim_range range;
  uint32_t *host; /* page-locked */
} with;

static void open_arguments(void) {
  cushim_graph graph = new_graph();
  void *page = NULL;
  with.other = new_stream(all.context);
  with.event = new_event(all.context, 0);
  with.outside = new_event(all.context, 0);
  with.inside = new_event(all.context, 0);
  append_in(with.other, 100, 1);
  CHECK_OK(cushim_event_record(with.outside, with.other));
  CHECK_OK(cushim_device_get_resource(all.device, &with.pool));
  CHECK_OK(cushim_buffer_create(with.pool, with.other, 256, &with.buffer));
  CHECK_OK(cushim_buffer_create(with.pool, with.other, 256, &with.second));
  CHECK_OK(cushim_resource_allocate(with.pool, with.other, 256, &with.pooled));
  CHECK_OK(cushim_resource_create_managed(all.context, &MANAGED_OPTIONS, &with.memory));
  CHECK_OK(cushim_buffer_create(with.memory, NULL, BYTES, &with.managed));
  CHECK_OK(cushim_context_allocate_host(all.context, 64, 0, &page));
  with.host = (uint32_t *)page;
  with.range = cushim_range_buffer(with.managed, 0, 0);
  add_append(graph, NULL, 50, 1);
  with.exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_synchronize(with.other));
}

static void close_arguments(void) {
  CHECK_OK(cushim_resource_free(with.pool, with.other, with.pooled, 256));
  CHECK_OK(cushim_exec_destroy(with.exec));
  CHECK_OK(cushim_buffer_destroy(with.managed));
  CHECK_OK(cushim_resource_destroy(with.memory));
  CHECK_OK(cushim_context_free_host(all.context, with.host));
  CHECK_OK(cushim_buffer_destroy(with.buffer));
  CHECK_OK(cushim_buffer_destroy(with.second));
  CHECK_OK(cushim_event_destroy(with.event));
  CHECK_OK(cushim_event_destroy(with.outside));
  CHECK_OK(cushim_event_destroy(with.inside));
  CHECK_OK(cushim_stream_destroy(with.other));
}

/* Questions. */
static cushim_status get_context(cushim_stream stream) {
  cushim_context context = NULL;
  return cushim_stream_get_context(stream, &context);
}

static cushim_status get_kind(cushim_stream stream) {
  cushim_stream_kind kind = CUSHIM_STREAM_CREATED;
  return cushim_stream_get_kind(stream, &kind);
}

static cushim_status get_flags(cushim_stream stream) {
  uint32_t flags = 0;
  return cushim_stream_get_flags(stream, &flags);
}

static cushim_status get_priority(cushim_stream stream) {
  int32_t priority = 0;
  return cushim_stream_get_priority(stream, &priority);
}

static cushim_status get_id(cushim_stream stream) {
  uint64_t id = 0;
  return cushim_stream_get_id(stream, &id);
}

static cushim_status native(cushim_stream stream) {
  CUstream native = NULL;
  return cushim_stream_native(stream, &native);
}

static cushim_status reference(cushim_stream stream) {
  cushim_stream reference = NULL;
  cushim_status status = cushim_stream_ref(stream, &reference);
  CHECK_OK(cushim_stream_destroy(reference));
  return status;
}

static cushim_status push(cushim_stream stream) {
  cushim_status status = cushim_stream_push_current(stream);
  if (status == 0) CHECK_OK(cushim_stream_pop_current(NULL));
  return status;
}

static cushim_status destroy(cushim_stream stream) { return cushim_stream_destroy(stream); }

static cushim_status build_on(cushim_stream stream) {
  cushim_builder builder = NULL;
  cushim_status status = cushim_builder_create_on(stream, NULL, &builder);
  if (status == 0) CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_begin(builder));
  CHECK_OK(cushim_builder_destroy(builder));
  return status;
}

/* Waiting. */
static cushim_status query(cushim_stream stream) {
  int32_t done = 0;
  return cushim_stream_query(stream, &done);
}

static cushim_status synchronize(cushim_stream stream) { return cushim_stream_synchronize(stream); }

static cushim_status synchronize_within(cushim_stream stream) {
  int32_t done = 0;
  return cushim_stream_synchronize_within(stream, 0, &done);
}

static cushim_status wait_never_recorded(cushim_stream stream) { return cushim_stream_wait_event(stream, with.event); }
static cushim_status wait_outside(cushim_stream stream) { return cushim_stream_wait_event(stream, with.outside); }
static cushim_status wait_external(cushim_stream stream) { return cushim_stream_wait_event_external(stream, with.outside); }
static cushim_status wait_stream(cushim_stream stream) { return cushim_stream_wait_stream(stream, with.other); }

static cushim_status record_and_ask(cushim_stream stream) {
  int32_t done = 0;
  cushim_status status = cushim_event_record(with.inside, stream);
  if (status != 0) return status;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_query(with.inside, &done));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_synchronize(with.inside));
  CHECK_OK(cushim_stream_wait_event(stream, with.inside));
  return status;
}

static cushim_status record_external(cushim_stream stream) { return cushim_event_record_external(with.outside, stream); }

/* Copies and memsets. */
static cushim_status copy(cushim_stream stream) {
  cushim_endpoint to = cushim_endpoint_buffer(with.buffer, 0), from = cushim_endpoint_device(slot(60));
  return cushim_stream_copy(stream, &to, &from, 4);
}

static cushim_status copy_from_host(cushim_stream stream, uint32_t flags) {
  cushim_endpoint to = cushim_endpoint_buffer(with.buffer, 0), from = cushim_endpoint_host(with.host);
  from.flags = flags;
  return cushim_stream_copy(stream, &to, &from, 4);
}

static cushim_status copy_kept_by_nobody(cushim_stream stream) {
  uint32_t number = 0;
  cushim_endpoint to = cushim_endpoint_buffer(with.buffer, 0), from = cushim_endpoint_host(&number);
  return cushim_stream_copy(stream, &to, &from, 4);
}

static cushim_status copy_kept_by_caller(cushim_stream stream) { return copy_from_host(stream, CUSHIM_ENDPOINT_CALLER_KEEPS); }
static cushim_status copy_nothing(cushim_stream stream) {
  cushim_endpoint to = cushim_endpoint_buffer(with.buffer, 0), from = cushim_endpoint_buffer(with.second, 0);
  return cushim_stream_copy(stream, &to, &from, 0);
}

static cushim_status copy_3d(cushim_stream stream) {
  cushim_region to, from;
  cushim_extent extent = {4, 2, 1};
  memset(&to, 0, sizeof to);
  memset(&from, 0, sizeof from);
  to.endpoint = cushim_endpoint_buffer(with.buffer, 0);
  from.endpoint = cushim_endpoint_buffer(with.second, 0);
  to.pitch = from.pitch = 16;
  return cushim_stream_copy_3d(stream, &to, &from, &extent);
}

static cushim_status copy_with_attributes(cushim_stream stream) {
  cushim_endpoint to = cushim_endpoint_buffer(with.buffer, 0), from = cushim_endpoint_buffer(with.second, 0);
  cushim_copy_attributes attributes;
  memset(&attributes, 0, sizeof attributes);
  return cushim_stream_copy_with_attributes(stream, &to, &from, 4, &attributes);
}

static cushim_status copy_batch(cushim_stream stream) {
  cushim_copy copy;
  memset(&copy, 0, sizeof copy);
  copy.destination = cushim_endpoint_buffer(with.buffer, 0);
  copy.source = cushim_endpoint_buffer(with.second, 0);
  copy.bytes = 4;
  return cushim_stream_copy_batch(stream, &copy, 1, NULL, 0, NULL);
}

static cushim_status fill(cushim_stream stream) { return fill_buffer(stream, with.buffer, 0, 1, 4); }

static cushim_status fill_2d(cushim_stream stream) {
  cushim_endpoint to = cushim_endpoint_buffer(with.buffer, 0);
  return cushim_stream_fill_2d(stream, &to, 64, CUSHIM_VALUE_8(1), 4, 2);
}

static cushim_status memory_operations(cushim_stream stream) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = cushim_endpoint_device(slot(61));
  return cushim_stream_memory_operations(stream, &operation, 1);
}

/* Managed memory. */
static cushim_status prefetch(cushim_stream stream) {
  const cushim_location host = cushim_location_host();
  return cushim_stream_prefetch(stream, &with.range, &host);
}
static cushim_status prefetch_batch(cushim_stream stream) {
  const cushim_location host = cushim_location_host();
  return cushim_stream_prefetch_batch(stream, &with.range, 1, &host, 1, NULL);
}
static cushim_status discard(cushim_stream stream) { return cushim_stream_discard(stream, &with.range); }
static cushim_status discard_batch(cushim_stream stream) { return cushim_stream_discard_batch(stream, &with.range, 1, NULL); }
static cushim_status discard_prefetch(cushim_stream stream) {
  const cushim_location host = cushim_location_host();
  return cushim_stream_discard_prefetch(stream, &with.range, &host);
}
static cushim_status discard_prefetch_batch(cushim_stream stream) {
  const cushim_location host = cushim_location_host();
  return cushim_stream_discard_prefetch_batch(stream, &with.range, 1, &host, 1, NULL);
}

/* Memory that comes and goes. */
static cushim_status allocate_and_free(cushim_stream stream) {
  uint64_t pointer = 1;
  cushim_status status = cushim_stream_allocate(stream, 64, &pointer);
  if (status == 0) return cushim_stream_free(stream, pointer);
  CHECK(pointer == 0);
  return status;
}

static cushim_status free_pooled(cushim_stream stream) { return cushim_stream_free(stream, with.pooled); }

static cushim_status allocate_of_pool(cushim_stream stream) {
  uint64_t pointer = 1;
  return cushim_resource_allocate(with.pool, stream, 64, &pointer);
}

static cushim_status deallocate(cushim_stream stream) { return cushim_resource_free(with.pool, stream, with.pooled, 256); }

static cushim_status create_buffer(cushim_stream stream) {
  cushim_buffer buffer = NULL;
  return cushim_buffer_create(with.pool, stream, 64, &buffer);
}

static cushim_status create_copy(cushim_stream stream) {
  cushim_buffer buffer = NULL;
  return cushim_buffer_create_copy(with.buffer, stream, &buffer);
}

static cushim_status create_scratch(cushim_stream stream) {
  cushim_buffer buffer = NULL;
  uint32_t number = 0;
  return cushim_buffer_create_scratch(with.pool, stream, &number, sizeof number, &buffer);
}

static cushim_status allocate_of_device(cushim_stream stream) {
  cushim_buffer buffer = NULL;
  return cushim_buffer_create_default(all.device, stream, 64, &buffer);
}

/* The rest. */
static cushim_status launch(cushim_stream stream) {
  cushim_arg args[2];
  uint64_t to = slot(62);
  const uint32_t digit = 1;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  return cushim_kernel_launch(all.kernel, stream, NULL, args, 2);
}

static cushim_status launch_packed(cushim_stream stream) {
  struct {
    uint64_t to;
    uint32_t digit;
  } block;
  memset(&block, 0, sizeof block);
  block.to = slot(62);
  return cushim_kernel_launch_packed(all.kernel, stream, NULL, &block, 12);
}

static void call_nothing(void *data) { (void)data; }

static cushim_status host_function(cushim_stream stream) { return cushim_stream_launch_host_function(stream, call_nothing, NULL, NULL); }
static cushim_status host_function_bytes(cushim_stream stream) {
  return cushim_stream_launch_host_function_bytes(stream, call_nothing, "bytes", 5);
}
static cushim_status upload(cushim_stream stream) { return cushim_exec_upload(with.exec, stream); }
static cushim_status instantiate(cushim_stream stream) {
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  cushim_graph graph = new_graph();
  cushim_exec exec = NULL;
  cushim_status status;
  options.upload_stream = stream;
  status = cushim_exec_create(graph, &options, &exec, NULL);
  if (status == CUSHIM_SUCCESS) CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  return status;
}
static cushim_status launch_graph(cushim_stream stream) { return cushim_exec_launch(with.exec, stream); }

/*
 * In a builder's stream, and in that of a body: "." does nothing to the graph, "+" becomes a node, "2" becomes two, "x" is refused, "d" is
 * refused by the driver, "b" is not to be done with a borrowed handle. The last column is the legacy default stream while a blocking
 * stream is being captured, which any work in it would invalidate, and any question.
 */
static const struct {
  const char *name;
  cushim_status (*call)(cushim_stream);
  char primary, body, legacy;
  int since;
} calls[] = {
    {"get_context", get_context, '.', '.', '.', 0},
    {"get_kind", get_kind, '.', '.', '.', 0},
    {"get_flags", get_flags, 'x', 'x', 'x', 0},
    {"get_priority", get_priority, '.', '.', 'x', 0},
    {"get_id", get_id, 'x', 'x', 'x', 12000},
    {"native", native, '.', '.', '.', 0},
    {"ref", reference, '.', '.', '.', 0},
    {"push_current", push, '.', '.', '.', 0},
    {"destroy", destroy, 'b', 'b', 'b', 0},
    {"builder_create_on", build_on, '.', '.', 'x', 0},
    {"query", query, 'x', 'x', 'x', 0},
    {"synchronize", synchronize, 'x', 'x', 'x', 0},
    {"synchronize_within", synchronize_within, 'x', 'x', 'x', 0},
    {"wait_event, never recorded", wait_never_recorded, '.', '.', 'x', 0},
    {"wait_event, recorded outside", wait_outside, 'x', 'x', 'x', 0},
    {"wait_event_external", wait_external, '+', 'x', 'x', 0},
    {"wait_stream", wait_stream, 'x', 'x', 'x', 0},
    {"event_record", record_and_ask, '.', '.', 'x', 0},
    {"event_record_external", record_external, '+', 'x', 'x', 0},
    {"copy", copy, '+', '+', 'x', 0},
    {"copy, host memory that nobody keeps", copy_kept_by_nobody, 'x', 'x', 'x', 0},
    {"copy, host memory that the caller keeps", copy_kept_by_caller, '+', '+', 'x', 0},
    {"copy, nothing", copy_nothing, '.', '.', 'x', 0},
    {"copy_3d", copy_3d, '+', '+', 'x', 0},
    {"copy_with_attributes", copy_with_attributes, 'x', 'x', 'x', 0},
    {"copy_batch", copy_batch, 'x', 'x', 'x', 0},
    {"fill", fill, '+', '+', 'x', 0},
    {"fill_2d", fill_2d, '+', '+', 'x', 0},
    {"memory_operations", memory_operations, '+', 'x', 'x', 11070},
    {"prefetch", prefetch, 'x', 'x', 'x', 0},
    {"prefetch_batch", prefetch_batch, 'x', 'x', 'x', 0},
    {"discard", discard, 'x', 'x', 'x', 13000},
    {"discard_batch", discard_batch, 'x', 'x', 'x', 13000},
    {"discard_prefetch", discard_prefetch, 'x', 'x', 'x', 13000},
    {"discard_prefetch_batch", discard_prefetch_batch, 'x', 'x', 'x', 13000},
    {"stream_allocate and stream_free", allocate_and_free, '2', 'x', 'x', 0},
    {"stream_free, of other memory", free_pooled, 'd', 'x', 'x', 0},
    {"resource_allocate", allocate_of_pool, 'x', 'x', 'x', 0},
    {"resource_free", deallocate, 'x', 'x', 'x', 0},
    {"buffer_create", create_buffer, 'x', 'x', 'x', 0},
    {"buffer_create_copy", create_copy, 'x', 'x', 'x', 0},
    {"buffer_create_scratch", create_scratch, 'x', 'x', 'x', 0},
    {"device_allocate", allocate_of_device, 'x', 'x', 'x', 0},
    {"kernel_launch", launch, '+', '+', 'x', 0},
    {"kernel_launch_packed", launch_packed, '+', '+', 'x', 0},
    {"host_function", host_function, '+', 'x', 'x', 0},
    {"host_function_bytes", host_function_bytes, '+', 'x', 'x', 0},
    {"exec_upload", upload, 'x', 'x', 'x', 0},
    {"exec_create, with an upload", instantiate, 'x', 'x', 'x', 0},
    {"exec_launch", launch_graph, 'x', 'x', 'x', 0},
};

enum { CALLS = sizeof calls / sizeof *calls };

enum captured_in { IN_PRIMARY, IN_FORK, IN_BODY, KINDS };

static cushim_status expected_status(char answer) {
  switch (answer) {
    case 'x': return CUSHIM_ERROR_INVALID_ARGUMENT;
    case 'd': return CUDA_ERROR_INVALID_VALUE;
    case 'b': return CUSHIM_ERROR_INVALID_HANDLE;
    default: return CUSHIM_SUCCESS;
  }
}

/* With the two kernels around it. */
static size_t expected_nodes(char answer) { return answer == '+' ? 3 : answer == '2' ? 4 : 2; }

/* Calls it between two kernels, of which both run at each launch. */
static void in_a_capture(size_t row, enum captured_in kind) {
  const char answer = kind == IN_BODY ? calls[row].body : calls[row].primary;
  cushim_builder builder = begun(), it = builder, other = NULL;
  cushim_graph graph = NULL, inside = NULL;
  size_t nodes;
  cushim_status status;
  if (kind == IN_FORK) CHECK_OK(cushim_builder_fork(builder, &other, 1));
  if (kind == IN_BODY) {
    CHECK_OK(cushim_builder_add_conditional(builder, condition_of(builder, 1), CUSHIM_CONDITIONAL_IF, 1, NULL, &other));
    CHECK_OK(cushim_builder_begin(other));
  }
  if (other != NULL) it = other;
  append(it, 0, 1);
  status = calls[row].call(cushim_builder_stream(it));
  if (status != expected_status(answer)) fprintf(stderr, "%s, in %s:\n", calls[row].name, kind == IN_BODY ? "a body" : "a capture");
  CHECK_STATUS(expected_status(answer), status);
  append(it, 0, 2);
  if (kind == IN_FORK) CHECK_OK(cushim_builder_join(builder, &other, 1));
  if (kind == IN_BODY) CHECK_OK(cushim_builder_end(other, &inside));
  if (!CHECK_OK(cushim_builder_end(builder, &graph))) fprintf(stderr, "after %s\n", calls[row].name);
  nodes = node_count(kind == IN_BODY ? inside : graph);
  if (nodes != expected_nodes(answer)) fprintf(stderr, "%s, %u nodes:\n", calls[row].name, (unsigned)nodes);
  CHECK(nodes == expected_nodes(answer));
  CHECK(result_of(graph) == 12);
  CHECK_OK(cushim_graph_destroy(inside));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(other));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* In the legacy default stream, beside the capture of a stream that waits for that. */
static void beside_a_blocking_stream(size_t row) {
  const char answer = calls[row].legacy;
  cushim_stream_options options = CUSHIM_OPTIONS(cushim_stream_options);
  cushim_stream blocking = NULL, legacy = NULL;
  cushim_builder builder = NULL;
  cushim_status status;
  options.flags = CUSHIM_STREAM_BLOCKING;
  CHECK_OK(cushim_stream_create(all.context, &options, &blocking));
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_builder_create_on(blocking, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  append(builder, 0, 1);
  status = calls[row].call(legacy);
  if (status != expected_status(answer)) fprintf(stderr, "%s, in the legacy stream:\n", calls[row].name);
  CHECK_STATUS(expected_status(answer), status);
  append(builder, 0, 2);
  CHECK(captured(builder) == 12);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(blocking));
}

/* The handle outlives what it stands for. */
static void with_a_stale_handle(size_t row) {
  cushim_builder ended = begun(), closed = begun();
  cushim_stream streams[2];
  static const char *const words[] = {"has ended", "is closed"};
  int i;
  streams[0] = cushim_builder_stream(ended);
  streams[1] = cushim_builder_stream(closed);
  CHECK_OK(cushim_builder_end(ended, NULL));
  CHECK_OK(cushim_builder_close(closed));
  for (i = 0; i < 2; i++) {
    cushim_status status = calls[row].call(streams[i]);
    if (status != CUSHIM_ERROR_INVALID_HANDLE) fprintf(stderr, "%s, stale:\n", calls[row].name);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, status);
    if (calls[row].primary != 'b') CHECK_CONTAINS(last_message(), words[i]);
  }
  CHECK_OK(cushim_builder_destroy(ended));
  CHECK_OK(cushim_builder_destroy(closed));
}

static void count_call(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST); }

/*
 * A launch that is captured records its programmatic event, too: that stands for the kernel's place in the graph, and who waits for it
 * becomes part of the capture. `is_ended`: the capture is ended with a graph, and not given up.
 */
static void programmatic_event(int is_ended) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_stream other = new_stream(all.context);
  cushim_event event = new_event(all.context, 0);
  cushim_builder builder = begun();
  cushim_graph graph = NULL;
  cushim_exec exec;
  cushim_arg args[2];
  const uint64_t to = slot(0);
  const uint32_t digit = 1;
  int32_t done = 0;
  int called = 0, count = 0;
  cushim_owner owner = counted(&count);
  config.grid.x = config.block.x = 1;
  config.programmatic_event = event;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_kernel_launch(all.kernel, cushim_builder_stream(builder), &config, args, 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_event_query(event, &done));
  CHECK_CONTAINS(last_message(), "was last recorded in a stream that was being captured");
  CHECK_OK(cushim_stream_wait_event(other, event));
  append_in(other, 1, 2);
  CHECK_OK(cushim_stream_launch_host_function(other, count_call, &called, &owner));
  CHECK(called == 0);
  if (is_ended) {
    CHECK_OK(cushim_event_record(with.inside, other));
    CHECK_OK(cushim_stream_wait_event(cushim_builder_stream(builder), with.inside));
    CHECK_OK(cushim_builder_end(builder, &graph));
    CHECK(node_count(graph) == 3);
    exec = new_exec(graph);
    run(exec);
    run(exec);
    CHECK(called == 2 && released(&count) == 0);
    CHECK_OK(cushim_exec_destroy(exec));
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(released_soon(&count, 1) == 1);
  /* Outside of a capture it stands for work again. */
  CHECK_OK(cushim_kernel_launch(all.kernel, other, &config, args, 2));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK_OK(cushim_stream_destroy(other));
}

/* What the driver would refuse, and invalidate the capture with it, is refused before: each shape that is too large. */
static void shapes(void) {
  static const struct {
    uint32_t grid[3], block[3], shared, cluster;
  } large[] = {
      {{UINT32_MAX, 1, 1}, {1, 1, 1}, 0, 0}, {{1, 65536, 1}, {1, 1, 1}, 0, 0}, {{1, 1, 65536}, {32, 1, 1}, 0, 0},         {{1, 1, 1}, {1025, 1, 1}, 0, 0},
      {{1, 1, 1}, {1, 1025, 1}, 0, 0},       {{1, 1, 1}, {1, 1, 65}, 0, 0},    {{1, 1, 1}, {UINT32_MAX, 1, 1}, 0, 0},     {{1, 1, 1}, {32, 32, 2}, 0, 0},
      {{1, 1, 1}, {1, 1, 1}, UINT32_MAX, 0}, {{2, 1, 1}, {1, 1, 1}, 0, 64},    {{UINT32_MAX, 1, 1}, {1, 1, 1}, 0, 2},
  };
  const uint64_t to = slot(0);
  const uint32_t digit = 1;
  cushim_builder builder = begun();
  cushim_arg args[2];
  size_t i;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  for (i = 0; i < sizeof large / sizeof *large; i++) {
    cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
    memcpy(&config.grid, large[i].grid, sizeof large[i].grid);
    memcpy(&config.block, large[i].block, sizeof large[i].block);
    config.shared_bytes = large[i].shared;
    config.cluster.x = large[i].cluster;
    if (large[i].cluster != 0 && version < 11080) continue;
    CHECK_STATUS(large[i].cluster == 64 ? (cushim_status)CUDA_ERROR_INVALID_CLUSTER_SIZE : (cushim_status)CUSHIM_ERROR_INVALID_ARGUMENT,
                 cushim_kernel_launch(all.kernel, cushim_builder_stream(builder), &config, args, 2));
  }
  append(builder, 0, 1);
  CHECK(captured(builder) == 1);
  CHECK_OK(cushim_builder_destroy(builder));
}

int main(void) {
  check_begin();
  size_t row;
  if (!open_graphs()) return close_graphs();
  open_arguments();
  for (row = 0; row < CALLS; row++) {
    if (version < calls[row].since) continue;
    in_a_capture(row, IN_PRIMARY);
    in_a_capture(row, IN_FORK);
    if (version >= 12030) in_a_capture(row, IN_BODY);
    beside_a_blocking_stream(row);
    with_a_stale_handle(row);
  }
  shapes();
  if (version >= 11080) {
    programmatic_event(1);
    programmatic_event(0);
  }
  close_arguments();
  return close_graphs();
}
