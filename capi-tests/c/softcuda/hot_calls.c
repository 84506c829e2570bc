/*
 * What calls that programs make again and again do beside the driver's own: they allocate nothing, in whatever stream, and a launch of an
 * exec takes as few calls of the driver as its stream allows.
 */
#include "watched_memory.h"

static struct control control;
static cushim_exec exec;
static cushim_stream streams[4];
static const char *const names[4] = {"created", "wrapped", "legacy", "per-thread"};
enum { CREATED, WRAPPED, LEGACY, PER_THREAD };

static cushim_status launch_exec(cushim_stream stream) { return cushim_exec_launch(exec, stream); }
static cushim_status launch_kernel(cushim_stream stream) {
  const uint32_t digit = 1;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(memory);
  args[1] = CUSHIM_ARG(digit);
  return cushim_kernel_launch(all.kernel, stream, NULL, args, 2);
}
static cushim_status fill(cushim_stream stream) { return fill_bytes(stream, memory, 0, 4); }
static cushim_status copy(cushim_stream stream) {
  const cushim_endpoint to = cushim_endpoint_device(slot(1)), from = cushim_endpoint_device(slot(0));
  return cushim_stream_copy(stream, &to, &from, 4);
}
static cushim_status record(cushim_stream stream) { return cushim_event_record(all.event, stream); }
static cushim_status wait_event(cushim_stream stream) { return cushim_stream_wait_event(stream, all.event); }
static cushim_status query(cushim_stream stream) {
  int32_t done;
  return cushim_stream_query(stream, &done);
}
static cushim_status push_and_pop(cushim_stream stream) {
  cushim_stream popped;
  const cushim_status status = cushim_stream_push_current(stream);
  return status != CUSHIM_SUCCESS ? status : cushim_stream_pop_current(&popped);
}

static const struct {
  const char *name;
  cushim_status (*call)(cushim_stream stream);
} calls[] = {{"launch of an exec", launch_exec}, {"launch of a kernel", launch_kernel},
             {"fill", fill},                     {"copy", copy},
             {"record", record},                 {"wait", wait_event},
             {"query", query},                   {"push and pop", push_and_pop}};

/* Allocations of the third of three calls: what is made once is made by then. */
static void allocate_nothing(void) {
  size_t call, stream;
  int times;
  for (call = 0; call < sizeof calls / sizeof *calls; call++) {
    for (stream = 0; stream < 4; stream++) {
      for (times = 0; times < 3; times++) {
        allocations = 0, watched = 1;
        CHECK_OK(calls[call].call(streams[stream]));
        watched = 0;
      }
      CHECK_OK(cushim_stream_synchronize(streams[stream])); /* all of them use the same memory */
      if (!CHECK(allocations == 0)) fprintf(stderr, "  %s in the %s stream: %d\n", calls[call].name, names[stream], allocations);
    }
  }
}

/*
 * In a stream that others can reach the driver is asked once whether they capture, since a launch would invalidate the capture, and an
 * event follows the launch. In a default stream the driver is asked once which context is current, and it is the right one here.
 */
static void call_the_driver_rarely(void) {
  size_t stream;
  for (stream = 0; stream < 4; stream++) {
    const int is_reached = stream != CREATED, is_default = stream == LEGACY || stream == PER_THREAD;
    CHECK_OK(launch_exec(streams[stream]));
    flush_callbacks();
    CHECK_OK(launch_exec(streams[stream])); /* what is made once is made by then */
    control.calls_reset();
    CHECK_OK(launch_exec(streams[stream]));
    CHECK(control.call_count("cuGraphLaunch") == 1);
    CHECK(control.call_count("cuEventRecord") == is_reached);
    CHECK(control.call_count("cuStreamIsCapturing") == is_reached);
    CHECK(control.call_count("cuCtxGetCurrent") == is_default);
    if (!CHECK(control.call_count("*") == 1 + 2 * is_reached + is_default)) {
      fprintf(stderr, "  %d in the %s stream\n", (int)control.call_count("*"), names[stream]);
    }
  }
}

/* A default stream's object is there as long as a handle owns the context, and does not keep the context when none does. */
static void keep_no_context(void) {
  cushim_context context, again;
  cushim_stream legacy;
  int32_t done = 0;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  CHECK_OK(cushim_context_get_legacy_stream(context, &legacy));
  CHECK_OK(cushim_context_ref(context, &again));
  CHECK_OK(cushim_stream_query(legacy, &done));
  CHECK_OK(cushim_context_destroy(again));
  CHECK_OK(cushim_stream_query(legacy, &done));
  control.calls_reset();
  CHECK_OK(cushim_context_destroy(context));
  CHECK(control.call_count("cuCtxDestroy") == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_query(legacy, &done));
}

/* Nor is a context gone whose default stream somebody holds, when its last handle is. */
static void outlive_the_handles(void) {
  cushim_context context;
  cushim_stream legacy, held;
  int32_t done = 0;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  CHECK_OK(cushim_context_get_legacy_stream(context, &legacy));
  CHECK_OK(cushim_stream_query(legacy, &done));
  CHECK_OK(cushim_stream_ref(legacy, &held));
  CHECK_OK(cushim_set_label(held, "kept"));
  control.calls_reset();
  CHECK_OK(cushim_context_destroy(context));
  CHECK(control.call_count("cuCtxDestroy") == 0);
  CHECK_OK(cushim_stream_query(held, &done));
  CHECK_OK(cushim_stream_query(legacy, &done));
  CHECK_OK(cushim_stream_destroy(held));
  CHECK(control.call_count("cuCtxDestroy") == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_query(legacy, &done));
}

int main(void) {
  cushim_graph graph;
  CUstream native;
  CHECK(open_graphs() && find_control(&control));
  CHECK(dl_iterate_phdr(find_code, NULL) && code_begin != 0);
  graph = new_graph();
  add_append(graph, NULL, 0, 1);
  exec = new_exec(graph);
  streams[CREATED] = all.stream;
  CHECK_OK(cushim_stream_create(all.context, NULL, &streams[WRAPPED]));
  CHECK_OK(cushim_stream_native(streams[WRAPPED], &native)); /* from now on others have it */
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &streams[LEGACY]));
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &streams[PER_THREAD]));
  CHECK_OK(cushim_context_set_current(all.context));
  allocate_nothing();
  call_the_driver_rarely();
  keep_no_context();
  outlive_the_handles();
  CHECK_OK(cushim_context_clear_current(all.driver));
  CHECK_OK(cushim_stream_destroy(streams[WRAPPED]));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  return close_graphs();
}
