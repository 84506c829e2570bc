/*
 * CUSHIM_CHECK=order names what nothing orders: operations in streams, and nodes of a graph when it is instantiated. Each planted case has a
 * twin in which the order is there, and about which nothing is said. Nothing is said at all where nobody asked.
 */
#include "graphs.h"

#include "builders.h"

static int is_asked;
static int reports;
static char last_report[2048];
static cushim_stream a, b;
static cushim_event event;
static cushim_buffer shared;

static void hear(void *user, cushim_log_level level, const char *target, const char *message) {
  (void)user, (void)target;
  if (level == CUSHIM_LOG_WARN && (strstr(message, "nothing orders") != NULL || strstr(message, "no path of edges") != NULL)) {
    reports++;
    snprintf(last_report, sizeof last_report, "%s", message);
  }
}

/* The reports since the last time. */
static int heard(void) {
  int count;
  flush_callbacks();
  count = reports;
  reports = 0;
  return count;
}

static cushim_stream non_blocking(const char *label) {
  cushim_stream stream = new_stream(all.context);
  CHECK_OK(cushim_set_label(stream, label));
  return stream;
}

/* New streams, so that each pair of places is a new one, and what was done before is over. */
static void begin(const char *first, const char *second) {
  if (a != NULL) CHECK_OK(cushim_stream_destroy(a));
  if (b != NULL) CHECK_OK(cushim_stream_destroy(b));
  CHECK_OK(cushim_context_synchronize(all.context));
  a = non_blocking(first);
  b = non_blocking(second);
  CHECK(heard() == 0);
}

static void fill(cushim_stream stream, uint64_t at, size_t bytes) {
  cushim_endpoint to = cushim_endpoint_device(at);
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_8(1), bytes));
}

static void copy(cushim_stream stream, uint64_t to, uint64_t from, size_t bytes) {
  cushim_endpoint target = cushim_endpoint_device(to), source = cushim_endpoint_device(from);
  CHECK_OK(cushim_stream_copy(stream, &target, &source, bytes));
}

static void launch(cushim_stream stream, cushim_kernel kernel, uint64_t at) {
  const uint32_t digit = 1;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(at);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_kernel_launch(kernel, stream, NULL, args, 2));
}

static void ordered_by_event(void) {
  CHECK_OK(cushim_event_record(event, a));
  CHECK_OK(cushim_stream_wait_event(b, event));
}

static void is_reported(int count) {
  const int found = heard();
  if (found != (is_asked ? count : 0)) fprintf(stderr, "%d reports, the last: %s\n", found, last_report);
  CHECK(found == (is_asked ? count : 0));
}

static void says(const char *part) {
  if (is_asked) CHECK_CONTAINS(last_report, part);
}

/* Waits for all work as others would, so that what is planted runs into no freed memory, and cushim does not know of an order. */
static void unseen_wait(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CUcontext native = NULL;
  CHECK_OK(cushim_context_native(all.context, &native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxPushCurrent_4000(native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxSynchronize_2000());
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxPopCurrent_4000(&native));
}

static void streams_without_order(void) {
  begin("writer", "reader");
  fill(a, slot(0), 64);
  copy(b, slot(64), slot(8), 64);
  is_reported(1);
  says("copy of 64 bytes in stream \"reader\" reads 32 bytes at 0x");
  says("(source), which memset of 64 bytes in stream \"writer\" writes (memory to set), and nothing orders the two");
  says("record an event in stream \"writer\" after the memset of 64 bytes (cushim_event_record), and have stream \"reader\" wait for it");
  copy(b, slot(64), slot(8), 64); /* each pair of places is reported once */
  is_reported(0);
  begin("first", "second");
  fill(a, slot(0), 64);
  fill(b, slot(16), 64); /* other bytes */
  copy(a, slot(32), slot(48), 64);
  copy(b, slot(64), slot(48), 64); /* both read */
  is_reported(0);
  begin("filling", "running");
  fill(a, slot(0), 64);
  launch(b, all.kernel, slot(0));
  is_reported(1);
  says("stream \"running\" may write the memory at 0x");
  says("(argument 0)");
  begin("one kernel", "another");
  launch(a, all.kernel, slot(0));
  launch(b, all.kernel, slot(1));
  is_reported(0);
  launch(b, all.kernel, slot(0));
  is_reported(1);
}

static void buffers_are_named(void) {
  begin("left", "right");
  CHECK_OK(fill_buffer(a, shared, 0, 3, BYTES));
  CHECK_OK(fill_buffer(b, shared, BYTES / 2, 3, 16));
  is_reported(1);
  says("16 bytes of buffer \"weights\" at 0x");
}

static void events_order(void) {
  begin("before", "after");
  fill(a, slot(0), 64);
  ordered_by_event();
  fill(b, slot(0), 64);
  is_reported(0);
  fill(a, slot(0), 64); /* after the record */
  is_reported(1);
  begin("too early", "too late");
  CHECK_OK(cushim_event_record(event, a));
  fill(a, slot(0), 64);
  CHECK_OK(cushim_stream_wait_event(b, event));
  fill(b, slot(0), 64);
  is_reported(1);
  begin("waited for", "waiting");
  fill(a, slot(0), 64);
  CHECK_OK(cushim_stream_wait_stream(b, a));
  fill(b, slot(0), 64);
  is_reported(0);
}

static void the_host_orders(void) {
  int32_t done = 0;
  begin("synchronised", "next");
  fill(a, slot(0), 64);
  CHECK_OK(cushim_stream_synchronize(a));
  fill(b, slot(0), 64);
  is_reported(0);
  CHECK_OK(cushim_event_record(event, b));
  CHECK_OK(cushim_event_synchronize(event));
  fill(a, slot(0), 64);
  is_reported(0);
  while (!done && CHECK_OK(cushim_stream_query(a, &done))) {
  }
  fill(b, slot(0), 64);
  is_reported(0);
  CHECK_OK(cushim_context_synchronize(all.context));
  fill(a, slot(0), 64);
  is_reported(0);
}

static void default_streams(void) {
  cushim_stream legacy = NULL, blocking = NULL;
  cushim_stream_options options;
  begin("beside", "unused");
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = CUSHIM_STREAM_BLOCKING;
  CHECK_OK(cushim_stream_create(all.context, &options, &blocking));
  fill(legacy, slot(0), 64);
  fill(blocking, slot(0), 64);
  fill(legacy, slot(0), 64);
  is_reported(0);
  fill(a, slot(0), 64);
  is_reported(1);
  says("legacy default stream");
  CHECK_OK(cushim_stream_synchronize(a));
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK_OK(cushim_stream_destroy(blocking));
}

static void nothing(void *data) { (void)data; }

/* Where order could come from what cushim does not see, nothing is said. */
static void others_may_order(void) {
  CUstream native = NULL;
  CUevent mark = NULL;
  begin("given away", "alone");
  fill(a, slot(0), 64);
  CHECK_OK(cushim_stream_native(a, &native));
  fill(b, slot(0), 64);
  is_reported(0);
  begin("marked by others", "waits for others");
  fill(a, slot(0), 64);
  CHECK_OK(cushim_event_native(event, &mark));
  CHECK_OK(cushim_stream_wait_event(b, event));
  fill(b, slot(0), 64);
  is_reported(0);
  begin("calls", "is called after");
  fill(a, slot(0), 64);
  CHECK_OK(cushim_stream_launch_host_function(a, nothing, NULL, NULL));
  fill(b, slot(0), 64);
  is_reported(0);
  fill(a, slot(0), 64); /* the function may have waited */
  is_reported(0);
}

static void frees_and_allocations(void) {
  uint64_t pointer = 0;
  begin("allocates", "uses");
  CHECK_OK(cushim_stream_allocate(a, BYTES, &pointer));
  unseen_wait();
  fill(b, pointer, 16);
  is_reported(1);
  says("which allocation of 4096 bytes in stream \"allocates\" writes (allocation)");
  unseen_wait();
  CHECK_OK(cushim_stream_free(a, pointer));
  is_reported(1);
  says("free in stream \"allocates\" writes 16 bytes");
  begin("allocates in order", "uses in order");
  CHECK_OK(cushim_stream_allocate(a, BYTES, &pointer));
  ordered_by_event();
  fill(b, pointer, 16);
  CHECK_OK(cushim_stream_free(b, pointer));
  is_reported(0);
}

static cushim_node add_copy(cushim_graph graph, cushim_node after, int to, int from) {
  cushim_endpoint target = cushim_endpoint_device(slot(to)), source = cushim_endpoint_device(slot(from));
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_copy(graph, &after, after != NULL, &target, &source, 4, &node));
  return node;
}

static void nodes_without_path(void) {
  cushim_graph graph = new_graph();
  cushim_node root = add_empty(graph, NULL), writer = add_number(graph, root, 0, 7), reader = add_copy(graph, root, 1, 0);
  cushim_edge edge;
  cushim_exec exec;
  CHECK_OK(cushim_set_label(graph, "step"));
  CHECK_OK(cushim_set_label(writer, "writer"));
  exec = new_exec(graph);
  is_reported(1);
  says("\"step\": copy node 2 reads 4 bytes at 0x");
  says("(source), which memset node \"writer\" writes (memory to set), and no path of edges orders the two");
  says("add an edge from memset node \"writer\" to copy node 2 (cushim_graph_add_edges)");
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  is_reported(1);
  CHECK_OK(cushim_exec_destroy(exec));
  edge = edge_between(writer, reader);
  CHECK_OK(cushim_graph_add_edges(graph, &edge, 1));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  is_reported(0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A path leads through the nodes around a child graph, and through those in it. */
static void graphs_in_graphs(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_node first = add_number(graph, NULL, 0, 7), node = NULL, beside;
  cushim_exec exec;
  add_number(child, NULL, 0, 8);
  CHECK_OK(cushim_graph_add_child(graph, &first, 1, child, CUSHIM_CHILD_CLONE, &node, &inner));
  exec = new_exec(graph);
  is_reported(0);
  CHECK_OK(cushim_exec_destroy(exec));
  beside = add_number(graph, first, 0, 9);
  exec = new_exec(graph);
  is_reported(1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_node_remove(beside));
  add_number(inner, NULL, 0, 10);
  exec = new_exec(graph);
  is_reported(1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
}

/* What a graph does it does in the stream that launches it; launches of one exec come one after the other. */
static void launches(void) {
  cushim_graph graph = new_graph();
  cushim_exec exec;
  add_number(graph, NULL, 0, 7);
  exec = new_exec(graph);
  CHECK_OK(cushim_set_label(exec, "tick"));
  begin("launching", "other");
  CHECK_OK(cushim_exec_launch(exec, a));
  CHECK_OK(cushim_exec_launch(exec, b));
  is_reported(0);
  fill(a, slot(0), 4);
  is_reported(1);
  says("which exec \"tick\" in stream \"other\" writes");
  begin("launching in order", "others in order");
  CHECK_OK(cushim_exec_launch(exec, a));
  ordered_by_event();
  fill(b, slot(0), 4);
  is_reported(0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void captures(void) {
  cushim_builder builder = begun();
  cushim_stream main = cushim_builder_stream(builder), fork = NULL;
  cushim_graph graph = NULL;
  cushim_exec exec;
  fork = non_blocking("fork");
  CHECK_OK(cushim_stream_wait_stream(fork, main));
  fill(main, slot(0), 64);
  fill(fork, slot(0), 64);
  is_reported(0); /* nothing runs yet */
  CHECK_OK(cushim_stream_wait_stream(main, fork));
  CHECK_OK(cushim_builder_end(builder, &graph));
  exec = new_exec(graph);
  is_reported(1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_destroy(fork));
}

int main(void) {
  const char *asked = getenv("CUSHIM_CHECK");
  cushim_resource device_memory = NULL;
  is_asked = asked != NULL && strstr(asked, "order") != NULL;
  if (!open_graphs()) return close_graphs();
  CHECK_OK(cushim_log_set_callback(hear, NULL, NULL, CUSHIM_LOG_WARN));
  event = new_event(all.context, 0);
  CHECK_OK(cushim_resource_create_device(all.context, &device_memory));
  CHECK_OK(cushim_buffer_create(device_memory, all.stream, BYTES, &shared));
  CHECK_OK(cushim_set_label(shared, "weights"));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  streams_without_order();
  buffers_are_named();
  events_order();
  the_host_orders();
  default_streams();
  frees_and_allocations();
  nodes_without_path();
  graphs_in_graphs();
  launches();
  captures();
  others_may_order();
  CHECK_OK(cushim_buffer_destroy(shared));
  CHECK_OK(cushim_resource_destroy(device_memory));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(a));
  CHECK_OK(cushim_stream_destroy(b));
  CHECK_OK(cushim_log_set_callback(NULL, NULL, NULL, CUSHIM_LOG_OFF));
  return close_graphs();
}
