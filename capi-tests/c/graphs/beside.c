/*
 * Calls beside a capture: while another library or a builder captures, every kind of call is made on other objects, and the capture stays
 * valid. The driver itself would refuse about thirty of them in the thread of a capture, or in every thread, and invalidate the capture;
 * cushim makes them so that it does not.
 */
#include "builders.h"

#include <pthread.h>

static const cushim_driver_table *cu;

/* What the calls use: nothing of it has to do with the capture. */
static struct {
  cushim_stream stream, legacy;
  cushim_event first, second;
  cushim_graph graph;
  cushim_exec exec;
  cushim_resource pool, managed_memory;
  cushim_buffer managed;
  void *page;
} beside;

static void prepare(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  beside.stream = new_stream(all.context);
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &beside.legacy));
  beside.first = new_event(all.context, CUSHIM_EVENT_TIMING);
  beside.second = new_event(all.context, CUSHIM_EVENT_TIMING);
  CHECK_OK(cushim_event_record(beside.first, beside.stream));
  CHECK_OK(cushim_event_record(beside.second, beside.stream));
  CHECK_OK(cushim_stream_synchronize(beside.stream));
  beside.graph = new_graph();
  add_append(beside.graph, NULL, 10, 1);
  beside.exec = new_exec(beside.graph);
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &beside.pool));
  CHECK_OK(cushim_resource_create_managed(all.context, &MANAGED_OPTIONS, &beside.managed_memory));
  CHECK_OK(cushim_buffer_create(beside.managed_memory, NULL, BYTES, &beside.managed));
  CHECK_OK(cushim_context_allocate_host(all.context, BYTES, 0, &beside.page));
}

static void clean_up(void) {
  CHECK_OK(cushim_context_free_host(all.context, beside.page));
  CHECK_OK(cushim_buffer_destroy(beside.managed));
  CHECK_OK(cushim_resource_destroy(beside.managed_memory));
  CHECK_OK(cushim_resource_destroy(beside.pool));
  CHECK_OK(cushim_exec_destroy(beside.exec));
  CHECK_OK(cushim_graph_destroy(beside.graph));
  CHECK_OK(cushim_event_destroy(beside.first));
  CHECK_OK(cushim_event_destroy(beside.second));
  CHECK_OK(cushim_stream_destroy(beside.stream));
}

/* The calls: each undoes what it does, so that destroying is among them. */
static cushim_status allocate(void) {
  uint64_t pointer = 0;
  cushim_status status = cushim_context_allocate(all.context, 64, &pointer);
  return status != 0 ? status : cushim_context_free(all.context, pointer);
}

static cushim_status allocate_host(void) {
  void *page = NULL;
  cushim_status status = cushim_context_allocate_host(all.context, 64, 0, &page);
  return status != 0 ? status : cushim_context_free_host(all.context, page);
}

static cushim_status register_host(void) {
  cushim_status status = cushim_context_register_host(all.context, own_memory, sizeof own_memory, 0);
  return status != 0 ? status : cushim_context_unregister_host(all.context, own_memory);
}

static cushim_status allocate_in_stream(void) {
  uint64_t pointer = 0;
  cushim_status status = cushim_stream_allocate(beside.stream, 64, &pointer);
  return status != 0 ? status : cushim_stream_free(beside.stream, pointer);
}

static cushim_status buffer_of(cushim_resource resource, cushim_stream stream) {
  cushim_buffer buffer = NULL;
  cushim_status status = cushim_buffer_create(resource, stream, BYTES, &buffer);
  return status != 0 ? status : cushim_buffer_destroy(buffer);
}

static cushim_status buffer_of_pool(void) { return buffer_of(beside.pool, beside.stream); }
static cushim_status managed_buffer(void) { return buffer_of(beside.managed_memory, NULL); }

static cushim_status create_stream(void) {
  cushim_stream stream = NULL;
  cushim_status status = cushim_stream_create(all.context, NULL, &stream);
  return status != 0 ? status : cushim_stream_destroy(stream);
}

static cushim_status create_event(void) {
  cushim_event event = NULL;
  cushim_status status = cushim_event_create(all.context, NULL, &event);
  return status != 0 ? status : cushim_event_destroy(event);
}

static cushim_status event_query(void) {
  int32_t done = 0;
  return cushim_event_query(beside.first, &done);
}

static cushim_status event_synchronize(void) { return cushim_event_synchronize(beside.first); }

static cushim_status event_synchronize_within(void) {
  int32_t done = 0;
  return cushim_event_synchronize_within(beside.first, 1000000, &done);
}

static cushim_status event_elapsed(void) {
  float milliseconds = 0;
  return cushim_event_elapsed(beside.first, beside.second, &milliseconds);
}

static cushim_status event_record(void) { return cushim_event_record(beside.first, beside.stream); }
static cushim_status wait_event(void) { return cushim_stream_wait_event(beside.stream, beside.first); }

static cushim_status stream_query(void) {
  int32_t done = 0;
  return cushim_stream_query(beside.stream, &done);
}

static cushim_status synchronize(void) { return cushim_stream_synchronize(beside.stream); }

static cushim_status synchronize_within(void) {
  int32_t done = 0;
  return cushim_stream_synchronize_within(beside.stream, 1000000, &done);
}

static cushim_status synchronize_legacy(void) { return cushim_stream_synchronize(beside.legacy); }
static cushim_status synchronize_context(void) { return cushim_context_synchronize(all.context); }

static cushim_status launch_in(cushim_stream stream) {
  cushim_arg args[2];
  uint64_t to = slot(20);
  const uint32_t digit = 1;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  return cushim_kernel_launch(all.kernel, stream, NULL, args, 2);
}

static cushim_status launch(void) { return launch_in(beside.stream); }
static cushim_status launch_legacy(void) { return launch_in(beside.legacy); }

static cushim_status copy_now(void) {
  uint32_t number = 1;
  cushim_endpoint device = cushim_endpoint_device(slot(30)), host = cushim_endpoint_host(&number);
  cushim_status status = cushim_context_copy(all.context, &device, &host, 4);
  return status != 0 ? status : cushim_context_copy(all.context, &host, &device, 4);
}

static cushim_status copy_pageable(void) {
  static uint32_t number;
  cushim_endpoint device = cushim_endpoint_device(slot(30)), host = cushim_endpoint_host(&number);
  return cushim_stream_copy(beside.stream, &device, &host, 4);
}

static cushim_status copy_pinned(void) {
  cushim_endpoint device = cushim_endpoint_device(slot(30)), host = cushim_endpoint_host(beside.page);
  return cushim_stream_copy(beside.stream, &device, &host, 4);
}

static cushim_status fill_now(void) { return set_bytes(all.context, slot(30), 1, 4); }

static cushim_status fill(void) {
  cushim_endpoint to = cushim_endpoint_device(slot(30));
  return cushim_stream_fill(beside.stream, &to, CUSHIM_VALUE_32(1), 1);
}

static cushim_status load(void) {
  cushim_library library = NULL;
  cushim_kernel kernel = NULL;
  int32_t value = 0;
  cushim_status status = cushim_library_load(all.context, trace_code, sizeof trace_code, NULL, &library);
  if (status != 0) return status;
  CHECK_OK(cushim_kernel_create(library, "append", &kernel));
  CHECK_OK(cushim_kernel_get_attribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS, &value));
  CHECK_OK(cushim_kernel_destroy(kernel));
  return cushim_library_destroy(library);
}

static cushim_status advise(void) {
  const cushim_range range = cushim_range_buffer(beside.managed, 0, 0);
  return cushim_context_advise(all.context, &range, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL);
}

static cushim_status prefetch(void) {
  const cushim_range range = cushim_range_buffer(beside.managed, 0, 0);
  const cushim_location host = cushim_location_host();
  return cushim_stream_prefetch(beside.stream, &range, &host);
}

static cushim_status range_attributes(void) {
  const cushim_range range = cushim_range_buffer(beside.managed, 0, 0);
  cushim_range_attributes attributes = CUSHIM_OPTIONS(cushim_range_attributes);
  return cushim_context_get_range_attributes(all.context, &range, &attributes);
}

static cushim_status discard(void) {
  const cushim_range range = cushim_range_buffer(beside.managed, 0, 0);
  return cushim_stream_discard(beside.stream, &range);
}

static cushim_status create_pool(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource pool = NULL;
  cushim_status status = cushim_resource_create_device_pool(all.device, &options, &pool);
  return status != 0 ? status : cushim_resource_destroy(pool);
}

static cushim_status trim(void) { return cushim_resource_trim(beside.pool, 0); }

static cushim_status pool_attributes(void) {
  uint64_t value = 0;
  cushim_status status = cushim_resource_get_attribute(beside.pool, CUSHIM_POOL_RELEASE_THRESHOLD, &value);
  return status != 0 ? status : cushim_resource_set_attribute(beside.pool, CUSHIM_POOL_RELEASE_THRESHOLD, value);
}

static cushim_status memory_info(void) {
  size_t free_bytes = 0, total = 0;
  return cushim_context_get_memory_info(all.context, &free_bytes, &total);
}

static cushim_status pointer_attributes(void) {
  cushim_pointer_attributes attributes = CUSHIM_OPTIONS(cushim_pointer_attributes);
  return cushim_context_get_pointer_attributes(all.context, memory, &attributes);
}

static cushim_status set_limit(void) {
  size_t value = 0;
  cushim_status status = cushim_context_get_limit(all.context, CU_LIMIT_STACK_SIZE, &value);
  return status != 0 ? status : cushim_context_set_limit(all.context, CU_LIMIT_STACK_SIZE, value);
}

static cushim_status create_context(void) {
  cushim_context context = NULL;
  cushim_status status = cushim_context_create(all.device, NULL, &context);
  return status != 0 ? status : cushim_context_destroy(context);
}

static cushim_status instantiate(void) {
  cushim_exec exec = NULL;
  cushim_status status = cushim_exec_create(beside.graph, NULL, &exec, NULL);
  return status != 0 ? status : cushim_exec_destroy(exec);
}

static cushim_status launch_graph(void) {
  cushim_status status = cushim_exec_upload(beside.exec, beside.stream);
  return status != 0 ? status : cushim_exec_launch(beside.exec, beside.stream);
}

static cushim_status update(void) { return cushim_exec_update(beside.exec, beside.graph, NULL); }

static cushim_status build(void) {
  static int releases;
  cushim_graph graph = NULL;
  cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(30, &owner);
  cushim_status status = cushim_graph_create(all.context, NULL, &graph);
  if (status != 0) return status;
  status = cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL);
  return status != 0 ? status : cushim_graph_destroy(graph);
}

static cushim_status trim_graph_memory(void) { return cushim_device_trim_graph_memory(all.device); }

static void call_nothing(void *data) { (void)data; }
static cushim_status host_function(void) { return cushim_stream_launch_host_function(beside.stream, call_nothing, NULL, NULL); }

static cushim_status write_value(void) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = cushim_endpoint_device(slot(30));
  return cushim_stream_memory_operations(beside.stream, &operation, 1);
}

static cushim_status capture_another(void) {
  cushim_builder builder = begun();
  append(builder, 30, 1);
  CHECK_OK(cushim_builder_end(builder, NULL));
  return cushim_builder_destroy(builder);
}

static cushim_status give_up_another(void) {
  cushim_builder builder = begun();
  append(builder, 30, 1);
  return cushim_builder_destroy(builder);
}

static cushim_status flush(void) {
  flush_callbacks();
  return 0;
}

/*
 * Beside a capture of another library, beside one of a builder, and beside one of a blocking stream by a builder: "." it goes and disturbs nothing, "!" it is known to invalidate the
 * capture, since it is too cheap for the exchange of the thread's mode or nothing protects, "x" it is refused before.
 */
static const struct {
  const char *name;
  cushim_status (*call)(void);
  char others, ours, blocking;
  int since;
} calls[] = {
    {"allocate", allocate, '.', '.', '.', 0},
    {"allocate page-locked memory", allocate_host, '.', '.', '.', 0},
    {"register", register_host, '.', '.', '.', 0},
    {"allocate in a stream", allocate_in_stream, '.', '.', '.', 0},
    {"a buffer of a pool", buffer_of_pool, '.', '.', '.', 0},
    {"a managed buffer", managed_buffer, '.', '.', '.', 0},
    {"create a stream", create_stream, '.', '.', '.', 0},
    {"create an event", create_event, '.', '.', '.', 0},
    {"query an event", event_query, '!', '.', '.', 0},
    {"synchronise an event", event_synchronize, '.', '.', '.', 0},
    {"synchronise an event for a while", event_synchronize_within, '!', '.', '.', 0},
    {"elapsed time", event_elapsed, '.', '.', '.', 0},
    {"record", event_record, '.', '.', '.', 0},
    {"wait", wait_event, '.', '.', '.', 0},
    {"query a stream", stream_query, '!', '.', '.', 0},
    {"synchronise a stream", synchronize, '.', '.', '.', 0},
    {"synchronise a stream for a while", synchronize_within, '!', '.', '.', 0},
    {"synchronise the legacy stream", synchronize_legacy, '.', '.', 'x', 0},
    {"synchronise the context", synchronize_context, '!', 'x', 'x', 0},
    {"launch", launch, '.', '.', '.', 0},
    {"launch in the legacy stream", launch_legacy, '.', '.', 'x', 0},
    {"copy", copy_now, '.', '.', 'x', 0},
    {"copy pageable memory in a stream", copy_pageable, '.', '.', '.', 0},
    {"copy page-locked memory in a stream", copy_pinned, '.', '.', '.', 0},
    {"fill", fill_now, '.', '.', 'x', 0},
    {"fill in a stream", fill, '.', '.', '.', 0},
    {"load and unload code", load, '.', '.', '.', 0},
    {"advise", advise, '.', '.', '.', 0},
    {"prefetch", prefetch, '.', '.', '.', 0},
    {"attributes of a range", range_attributes, '.', '.', '.', 0},
    {"discard", discard, '.', '.', '.', 13000},
    {"create a pool", create_pool, '.', '.', '.', 0},
    {"trim a pool", trim, '.', '.', '.', 0},
    {"attributes of a pool", pool_attributes, '.', '.', '.', 0},
    {"how much memory is free", memory_info, '.', '.', '.', 0},
    {"attributes of a pointer", pointer_attributes, '.', '.', '.', 0},
    {"set a limit", set_limit, '.', '.', '.', 0},
    {"create a context", create_context, '.', '.', '.', 0},
    {"instantiate", instantiate, '.', '.', '.', 0},
    {"launch a graph", launch_graph, '.', '.', '.', 0},
    {"update an exec", update, '.', '.', '.', 0},
    {"build a graph", build, '.', '.', '.', 0},
    {"trim the memory of graphs", trim_graph_memory, '.', '.', '.', 0},
    {"a host function", host_function, '.', '.', '.', 0},
    {"write a value", write_value, '.', '.', '.', 11070},
    {"capture something else", capture_another, '.', '.', '.', 0},
    {"give up another capture", give_up_another, '.', '.', '.', 0},
    {"wait for the releases of owners", flush, '.', '.', '.', 0},
};

enum { CALLS = sizeof calls / sizeof *calls };

/* A call on a thread of its own, or on this one. */
struct made {
  size_t row;
  cushim_status status;
};

static void *make(void *data) {
  struct made *made = (struct made *)data;
  made->status = calls[made->row].call();
  return NULL;
}

static cushim_status call_of(size_t row, int on_another_thread) {
  struct made made;
  pthread_t thread;
  made.row = row;
  made.status = CUSHIM_ERROR_INTERNAL;
  if (!on_another_thread) {
    make(&made);
  } else if (CHECK(pthread_create(&thread, NULL, make, &made) == 0)) {
    pthread_join(thread, NULL);
  }
  return made.status;
}

/* A capture that the library knows nothing of. */
static void beside_others(size_t row, CUstreamCaptureMode mode, int on_another_thread) {
  const int survives = calls[row].others == '.';
  cushim_context context = NULL;
  CUcontext popped = NULL;
  CUstream native = NULL;
  CUgraph graph = NULL;
  CUstreamCaptureStatus is = CU_STREAM_CAPTURE_STATUS_NONE;
  cushim_status status;
  CUresult ended;
  if (!survives && (mode != CU_STREAM_CAPTURE_MODE_GLOBAL && on_another_thread)) return; /* nothing forbids it */
  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&native, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cushim_context_pop(all.driver, &context, &popped));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(native, mode));
  status = call_of(row, on_another_thread);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamIsCapturing_10000(native, &is));
  ended = cu->cuStreamEndCapture_10000(native, &graph);
  if ((status == 0) != survives || (ended == CUDA_SUCCESS) != survives)
    fprintf(stderr, "%s, beside a foreign capture of mode %d, on %s thread: %d\n", calls[row].name, (int)mode,
            on_another_thread ? "another" : "this", (int)status);
  CHECK((status == CUSHIM_SUCCESS) == survives);
  CHECK(is == (survives ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED));
  CHECK((ended == CUDA_SUCCESS) == survives);
  if (graph != NULL) CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(graph));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(native));
}

static void beside_ours(size_t row, cushim_capture_mode mode, int on_another_thread, uint32_t stream_flags) {
  cushim_stream_options stream_options = CUSHIM_OPTIONS(cushim_stream_options);
  cushim_builder_options options = CUSHIM_OPTIONS(cushim_builder_options);
  cushim_stream stream = NULL;
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  const char answer = stream_flags == 0 ? calls[row].ours : calls[row].blocking;
  const cushim_status expected = answer == 'x' ? CUSHIM_ERROR_INVALID_ARGUMENT : CUSHIM_SUCCESS;
  cushim_status status;
  options.mode = mode;
  stream_options.flags = stream_flags;
  CHECK_OK(cushim_stream_create(all.context, &stream_options, &stream));
  CHECK_OK(cushim_builder_create_on(stream, &options, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  append(builder, 0, 1);
  status = call_of(row, on_another_thread);
  if (status != expected)
    fprintf(stderr, "%s, beside a capture of mode %d of a stream with flags %u, on %s thread:\n", calls[row].name, (int)mode,
            (unsigned)stream_flags, on_another_thread ? "another" : "this");
  CHECK_STATUS(expected, status);
  append(builder, 0, 2);
  if (!CHECK_OK(cushim_builder_end(builder, &graph))) return;
  CHECK_OK(cushim_stream_synchronize(beside.stream)); /* the memory that it uses is cleared next */
  CHECK(result_of(graph) == 12);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(stream));
}

int main(void) {
  check_begin();
  static const CUstreamCaptureMode others[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL};
  static const cushim_capture_mode ours[] = {CUSHIM_CAPTURE_GLOBAL, CUSHIM_CAPTURE_THREAD_LOCAL, CUSHIM_CAPTURE_RELAXED};
  size_t row, i;
  int thread;
  if (!open_graphs()) return close_graphs();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  prepare();
  for (row = 0; row < CALLS; row++) {
    if (version < calls[row].since) continue;
    for (thread = 0; thread < 2; thread++) {
      for (i = 0; i < 2; i++) beside_others(row, others[i], thread);
      for (i = 0; i < 3; i++) {
        beside_ours(row, ours[i], thread, 0);
        beside_ours(row, ours[i], thread, CUSHIM_STREAM_BLOCKING);
      }
    }
  }
  clean_up();
  return close_graphs();
}
