/* Calls of all kinds, with memory running short. */
#include "short_memory.h"

/* What the calls use and make. */
static cushim_driver driver;
static cushim_context context;
static cushim_stream stream;
static cushim_event event;
static cushim_buffer buffer;
static cushim_resource resource;
static cushim_library library;
static cushim_kernel kernel;
static cushim_graph graph, other_graph;
static cushim_exec exec;
static cushim_builder builder;
static cushim_error error;
static cushim_node node;
static uint64_t pointer;

static cushim_status open_it(void) { return cushim_driver_open(NULL, &driver); }
static void close_it(void) { CHECK_OK(cushim_driver_destroy(driver)); }
static cushim_status create_context(void) { return cushim_context_create(all.device, NULL, &context); }
static cushim_status retain_context(void) { return cushim_context_retain_primary(all.device, &context); }
static void destroy_context(void) { CHECK_OK(cushim_context_destroy(context)); }
static cushim_status create_stream(void) { return cushim_stream_create(all.context, NULL, &stream); }
static void destroy_stream(void) { CHECK_OK(cushim_stream_destroy(stream)); }
static cushim_status create_event(void) { return cushim_event_create(all.context, NULL, &event); }
static void destroy_event(void) { CHECK_OK(cushim_event_destroy(event)); }
static cushim_status create_and_destroy(void) {
  cushim_stream made;
  const cushim_status status = cushim_stream_create(all.context, NULL, &made);
  return status != CUSHIM_SUCCESS ? status : cushim_stream_destroy(made);
}
static cushim_status record(void) { return cushim_event_record(all.event, all.stream); }
static cushim_status wait_event(void) { return cushim_stream_wait_event(all.stream, all.event); }
static cushim_status synchronize(void) { return cushim_stream_synchronize(all.stream); }
static cushim_status load(void) {
  return cushim_library_load(all.context, trace_code, sizeof trace_code, NULL, &library);
}
static void unload(void) { CHECK_OK(cushim_library_destroy(library)); }
static cushim_status create_kernel(void) { return cushim_kernel_create(all.library, "nothing", &kernel); }
static void destroy_kernel(void) { CHECK_OK(cushim_kernel_destroy(kernel)); }
static cushim_status launch(void) {
  uint32_t digit = 1;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(memory);
  args[1] = CUSHIM_ARG(digit);
  return cushim_kernel_launch(all.kernel, all.stream, NULL, args, 2);
}
static cushim_status allocate(void) { return cushim_context_allocate(all.context, 64, &pointer); }
static cushim_status allocate_in_order(void) { return cushim_stream_allocate(all.stream, 64, &pointer); }
static void free_it(void) { CHECK_OK(cushim_context_free(all.context, pointer)); }
static void free_in_order(void) { CHECK_OK(cushim_stream_free(all.stream, pointer)); }
static cushim_status create_buffer(void) { return cushim_buffer_create_default(all.device, all.stream, 64, &buffer); }
static void destroy_buffer(void) { CHECK_OK(cushim_buffer_destroy(buffer)); }
static cushim_status create_pool(void) { return cushim_resource_create_device_pool(all.device, &DEVICE_POOL_OPTIONS, &resource); }
static void destroy_resource(void) { CHECK_OK(cushim_resource_destroy(resource)); }
static cushim_status fill(void) { return fill_bytes(all.stream, memory, 0, 4); }
static cushim_status copy(void) {
  cushim_endpoint to = cushim_endpoint_device(slot(1)), from = cushim_endpoint_device(slot(0));
  return cushim_stream_copy(all.stream, &to, &from, 4);
}
static void CUSHIM_CUDA_CB nothing_to_do(void *data) { (void)data; }
static int releases;
static cushim_status host_function(void) {
  const cushim_owner owner = counted(&releases);
  return cushim_stream_launch_host_function(all.stream, nothing_to_do, NULL, &owner);
}
static cushim_status set_label(void) { return cushim_set_label(all.stream, "a label"); }
static cushim_status describe(void) {
  char line[64];
  return cushim_describe(all.stream, line, sizeof line, NULL);
}
/* Errors: what counts is that there are some. */
static cushim_status refused(void) { return cushim_stream_synchronize(NULL) == CUSHIM_SUCCESS ? 1 : 0; }
static cushim_status refused_by_driver(void) {
  return cushim_context_allocate(all.context, (size_t)1 << 50, &pointer) == CUSHIM_SUCCESS ? 1 : 0;
}
static cushim_status read_error(void) {
  static cushim_error_detail detail;
  detail.struct_size = sizeof detail;
  return cushim_last_error(&detail);
}
static cushim_status read_message(void) { return *cushim_last_error_message() != '\0' ? 0 : 1; }
static cushim_status take_error(void) { return cushim_error_take(&error); }
static void destroy_error(void) { CHECK_OK(cushim_error_destroy(error)); refused(); }
static cushim_status create_graph(void) { return cushim_graph_create(all.context, NULL, &graph); }
static void destroy_graph(void) { CHECK_OK(cushim_graph_destroy(graph)); }
static cushim_status add_an_empty(void) { return cushim_graph_add_empty(other_graph, NULL, 0, &node); }
static cushim_status add_a_kernel(void) { return add_numbered(other_graph, NULL, 0, all.kernel, memory, 1, &node); }
static cushim_status add_a_fill(void) {
  cushim_endpoint to = cushim_endpoint_device(memory);
  return cushim_graph_add_fill(other_graph, NULL, 0, &to, CUSHIM_VALUE_32(0), 1, &node);
}
static cushim_status add_a_function(void) {
  const cushim_owner owner = counted(&releases);
  return cushim_graph_add_host_function(other_graph, NULL, 0, nothing_to_do, NULL, &owner, &node);
}
static void remove_node(void) { CHECK_OK(cushim_node_remove(node)); }
static cushim_status clone(void) { return cushim_graph_clone(other_graph, &graph); }
static cushim_status instantiate(void) { return cushim_exec_create(other_graph, NULL, &exec, NULL); }
static void destroy_exec(void) { CHECK_OK(cushim_exec_destroy(exec)); }
static cushim_exec other_exec;
static cushim_status launch_graph(void) { return cushim_exec_launch(other_exec, all.stream); }
static cushim_status update(void) { return cushim_exec_update(other_exec, other_graph, NULL); }
static cushim_status create_builder(void) { return cushim_builder_create(all.context, NULL, &builder); }
static void destroy_builder(void) { CHECK_OK(cushim_builder_destroy(builder)); }
static cushim_status capture(void) {
  cushim_builder made;
  cushim_graph captured;
  cushim_status status = cushim_builder_create(all.context, NULL, &made), ended;
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_builder_begin(made);
  if (status == CUSHIM_SUCCESS) {
    status = fill_bytes(cushim_builder_stream(made), memory, 0, 4);
    ended = cushim_builder_end(made, &captured);
    if (ended == CUSHIM_SUCCESS) cushim_graph_destroy(captured);
    else status = ended;
  }
  cushim_builder_destroy(made);
  return status;
}

static const struct tried_call calls[] = {
    {"open_it", open_it, close_it, 1},
    CALL(create_context, destroy_context), CALL(retain_context, destroy_context), CALL(create_stream, destroy_stream),
    CALL(create_event, destroy_event),     CALL(create_and_destroy, nothing),     CALL(record, nothing),
    CALL(wait_event, nothing),             CALL(synchronize, nothing),            CALL(load, unload),
    CALL(create_kernel, destroy_kernel),   CALL(launch, nothing),                 CALL(allocate, free_it),
    CALL(allocate_in_order, free_in_order), CALL(create_buffer, destroy_buffer),  CALL(create_pool, destroy_resource),
    CALL(fill, nothing),                   CALL(copy, nothing),                   CALL(host_function, nothing),
    CALL(set_label, nothing),              CALL(describe, nothing),               CALL(refused, nothing),
    CALL(refused_by_driver, nothing),      CALL(read_error, nothing),             CALL(read_message, nothing),
    CALL(take_error, destroy_error),       CALL(create_graph, destroy_graph),     CALL(add_an_empty, remove_node),
    CALL(add_a_kernel, remove_node),       CALL(add_a_fill, remove_node),         CALL(add_a_function, remove_node),
    CALL(clone, destroy_graph),            CALL(instantiate, destroy_exec),       CALL(launch_graph, nothing),
    CALL(update, nothing),                 CALL(create_builder, destroy_builder), CALL(capture, nothing),
};

static void prepare(void) {
  if (!open_graphs()) exit(1);
  other_graph = new_graph();
  add_append(other_graph, NULL, 0, 1);
  other_exec = new_exec(other_graph);
  refused();
}

static void check_unchanged(void) {
  if (other_graph != NULL) CHECK(node_count(other_graph) == 1);
}

int main(void) { return try_all(calls, sizeof calls / sizeof *calls); }
