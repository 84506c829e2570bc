/*
 * A capture into a graph that exists, from CUDA 13.3 on: its nodes take over what is captured, and what that uses. What is not the same
 * graph ends the capture, and the graph with it.
 */
#include "builders.h"

#include <pthread.h>

static const cushim_driver_table *driver(void) { return table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM); }

static CUstream native_of(cushim_stream stream) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  return native;
}

/* No capture survives this. */
static void invalidate(cushim_stream stream) { CHECK_STATUS(900, driver()->cuStreamSynchronize_2000(native_of(stream))); }

static void too_old(void) {
  cushim_graph graph = new_graph();
  cushim_builder builder = new_builder();
  add_append(graph, NULL, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_builder_recapture(builder, graph));
  CHECK_CONTAINS(last_message(), "13.3");
  CHECK_CONTAINS(last_message(), "cushim_exec_update");
  CHECK(node_count(graph) == 1 && result_of(graph) == 1);
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_builder_close(builder));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
}

static cushim_builder begun_again(cushim_graph graph) {
  cushim_builder builder = new_builder();
  CHECK_OK(cushim_builder_recapture(builder, graph));
  return builder;
}

/* A memset, and beside each other two kernels, which come together. */
static void enqueue(cushim_builder builder, cushim_owner *owner, uint32_t value) {
  cushim_endpoint to = owned_slot(2, owner);
  cushim_builder fork = NULL;
  CHECK_OK(cushim_stream_fill(cushim_builder_stream(builder), &to, CUSHIM_VALUE_32(value), 1));
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  append(builder, 0, value);
  append(fork, 1, value + 1);
  CHECK_OK(cushim_builder_join(builder, &fork, 1));
  append(builder, 0, value + 2);
  CHECK_OK(cushim_builder_destroy(fork));
}

static cushim_graph recorded(cushim_owner *owner, uint32_t value) {
  cushim_graph graph = NULL;
  cushim_builder builder = begun();
  enqueue(builder, owner, value);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return graph;
}

static int has(cushim_exec exec, uint32_t first, uint32_t second, uint32_t third) {
  clear_memory();
  run(exec);
  return number_at(slot(0)) == first && number_at(slot(1)) == second && number_at(slot(2)) == third;
}

/* The exec goes on as it was until it is updated; nodes, labels and handles are the same; what is replaced is released. */
static void taken_over(void) {
  int counts[2] = {0};
  cushim_owner owners[2];
  cushim_graph graph, again = NULL;
  cushim_builder builder;
  cushim_node nodes[8], now[8];
  cushim_fill_node fill = CUSHIM_OPTIONS(cushim_fill_node);
  cushim_exec exec, other;
  size_t count = 0, later = 0;
  char label[16];
  owners[0] = counted(&counts[0]);
  owners[1] = counted(&counts[1]);
  graph = recorded(&owners[0], 1);
  exec = new_exec(graph);
  CHECK(has(exec, 13, 2, 1));
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 8, &count));
  CHECK_OK(cushim_set_label(nodes[0], "the memset"));

  builder = begun_again(graph);
  enqueue(builder, &owners[1], 5);
  CHECK_OK(cushim_builder_end(builder, &again));
  CHECK(is_same(again, graph));
  CHECK_OK(cushim_graph_destroy(again));
  CHECK_OK(cushim_builder_get_graph(builder, &again));
  CHECK(is_same(again, graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_get_nodes(graph, now, 8, &later));
  CHECK(count == later && memcmp(nodes, now, count * sizeof *nodes) == 0);
  CHECK_OK(cushim_node_get_fill(nodes[0], &fill));
  CHECK(fill.value == 5);
  CHECK_OK(cushim_get_label(nodes[0], label, sizeof label, NULL));
  CHECK(strcmp(label, "the memset") == 0);
  fill = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_OK(cushim_exec_get_fill(exec, nodes[0], &fill));
  CHECK(fill.value == 1);

  CHECK(has(exec, 13, 2, 1) && released(&counts[0]) == 0);
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  CHECK(released_soon(&counts[0], 1) == 1 && released(&counts[1]) == 0);
  CHECK(has(exec, 57, 6, 5));
  other = new_exec(graph);
  CHECK(has(other, 57, 6, 5));
  CHECK_OK(cushim_node_set_fill(nodes[0], NULL, CUSHIM_VALUE_32(8), 0));
  add_append(graph, nodes[0], 3, 4);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released(&counts[1]) == 0);
  CHECK_OK(cushim_exec_destroy(other));
  CHECK(released_soon(&counts[1], 1) == 1);
}

/* The graph is lost, its exec is not; what the graph kept is released with the exec. */
static void is_lost(cushim_graph graph, cushim_node node, cushim_exec exec, int *count) {
  cushim_exec none = (cushim_exec)NOT_NULL;
  cushim_node_type type = CUSHIM_NODE_OTHER;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_create(graph, NULL, &none, NULL));
  CHECK_CONTAINS(last_message(), "its capture ended without a graph");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(graph, NULL, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(8), 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_fill(exec, node, NULL, CUSHIM_VALUE_32(8), 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_update(exec, graph, NULL));
  CHECK_OK(cushim_node_get_type(node, &type));
  CHECK(type == CUSHIM_NODE_FILL && has(exec, 13, 2, 1));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(has(exec, 13, 2, 1) && released(count) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(count, 1) == 1);
}

enum difference { ANOTHER_TYPE, ANOTHER_PLACE, TOO_MANY, TOO_FEW, INVALIDATED, GIVEN_UP, DIFFERENCES };

static void differs(enum difference how) {
  int counts[2] = {0};
  cushim_owner owner = counted(&counts[0]), second = counted(&counts[1]);
  cushim_endpoint to = owned_slot(2, &second);
  cushim_graph graph = recorded(&owner, 1), ended = (cushim_graph)NOT_NULL;
  cushim_node node = NULL;
  cushim_exec exec = new_exec(graph);
  cushim_builder builder;
  cushim_stream stream;
  const uint64_t at = memory;
  const uint32_t digit = 1;
  size_t count = 0;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(at);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &count));
  builder = begun_again(graph);
  stream = cushim_builder_stream(builder);
  if (how == ANOTHER_TYPE) {
    CHECK_STATUS(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
    CHECK_CONTAINS(last_message(), "The capture was invalidated");
  } else {
    CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(4), 1));
  }
  if (how == ANOTHER_PLACE) {
    CHECK_OK(cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
    CHECK_STATUS(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
  }
  if (how == TOO_MANY) {
    cushim_builder fork = NULL;
    CHECK_OK(cushim_builder_fork(builder, &fork, 1));
    append(builder, 0, 1);
    append(fork, 1, 2);
    CHECK_OK(cushim_builder_join(builder, &fork, 1));
    append(builder, 0, 3);
    CHECK_STATUS(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
    CHECK_OK(cushim_builder_destroy(fork));
  }
  if (how == INVALIDATED) invalidate(stream);
  if (how == GIVEN_UP) {
    CHECK_OK(cushim_builder_close(builder));
  } else {
    CHECK_STATUS(how == TOO_FEW ? CUDA_ERROR_GRAPH_RECAPTURE_FAILURE : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                 cushim_builder_end(builder, &ended));
    if (how == TOO_FEW) CHECK_CONTAINS(last_message(), "nodes of graph 1 were captured with this library, and the graph is lost");
    CHECK(ended == NULL);
  }
  CHECK_OK(cushim_builder_destroy(builder));
  is_lost(graph, node, exec, &counts[0]);
  if (how != ANOTHER_TYPE) CHECK(released_soon(&counts[1], 1) == 1);
}

/* Nobody else changes or uses the graph meanwhile, and what it cannot take is refused; the capture goes on. */
static void meanwhile(void) {
  int count = 0;
  cushim_owner owner = counted(&count), second = counted(&count);
  cushim_graph graph = recorded(&owner, 1), other = new_graph(), made = (cushim_graph)NOT_NULL;
  cushim_condition condition = (cushim_condition)NOT_NULL;
  cushim_node node = NULL, added = (cushim_node)NOT_NULL;
  cushim_exec exec = new_exec(graph), none = (cushim_exec)NOT_NULL;
  cushim_builder builder, another = new_builder();
  size_t listed = 0;
  CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &listed));
  builder = begun_again(graph);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(graph, NULL, 0, &added));
  CHECK_CONTAINS(last_message(), "being recaptured");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_get_edges(graph, NULL, 0, &listed));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_fill(node, NULL, CUSHIM_VALUE_32(9), 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(node, 0, &second));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependencies(node, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_remove(node));
  CHECK_CONTAINS(last_message(), "being recaptured");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_create(graph, NULL, &none, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_update(exec, graph, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_clone(graph, &made));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(other, NULL, 0, graph, CUSHIM_CHILD_CLONE, &added, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(another, graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(builder, other));
  CHECK_CONTAINS(last_message(), "is capturing already");
  CHECK_OK(cushim_graph_get_nodes(other, NULL, 0, &listed));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_add_child(builder, other, CUSHIM_CHILD_CLONE, &added));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_create_condition(builder, NULL, &condition));
  CHECK(none == NULL && made == NULL && added == NULL && condition == NULL);
  enqueue(builder, &second, 3);
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  CHECK(has(exec, 35, 4, 3));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_builder_destroy(another));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&count, 2) == 2);
}

/* Graphs with graphs in them, and builders of bodies. */
static void not_again(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL, ended = NULL;
  cushim_builder builder = new_builder(), capturing = begun(), body = NULL;
  cushim_condition condition = condition_of(capturing, 1);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(builder, graph));
  CHECK_CONTAINS(last_message(), "child graphs");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(builder, inner));
  CHECK_CONTAINS(last_message(), "part of another graph");
  CHECK_OK(cushim_builder_add_conditional(capturing, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &body));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(body, child));
  CHECK_CONTAINS(last_message(), "body");
  CHECK_OK(cushim_builder_end(capturing, &ended));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(builder, ended));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_builder_recapture(builder, NULL));
  CHECK_OK(cushim_builder_recapture(builder, child)); /* without nodes */
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(capturing));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(ended));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
}

/* A kernel with a parameter, and then a memset of a buffer. */
static void enqueue_bound(cushim_builder builder, cushim_buffer buffer, uint32_t digit) {
  cushim_stream stream = cushim_builder_stream(builder);
  const uint64_t to = slot(0);
  cushim_parameter seed;
  cushim_endpoint place = cushim_endpoint_buffer(buffer, 0);
  cushim_arg args[2];
  memset(&seed, 0, sizeof seed);
  seed.name = "seed";
  seed.value = &digit;
  seed.size = 4;
  args[0] = CUSHIM_ARG(to);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &seed);
  CHECK_OK(cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
  CHECK_OK(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(digit), 1));
}

static cushim_graph recorded_bound(cushim_buffer buffer, uint32_t digit) {
  cushim_graph graph = NULL;
  cushim_builder builder = begun();
  enqueue_bound(builder, buffer, digit);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return graph;
}

static void changes_nothing(cushim_exec exec, cushim_node node, cushim_buffer from, cushim_buffer to) {
  const uint32_t five = 5;
  size_t count = 77;
  int32_t enabled = -1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_parameter(exec, "seed", &five, 4, &count));
  CHECK_CONTAINS(last_message(), "lost in a recapture");
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_rebind(exec, from, to, &count));
  CHECK_CONTAINS(last_message(), "lost in a recapture");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_enabled(exec, node, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_get_enabled(exec, node, &enabled));
}

/* No call names a node that the driver has destroyed: single nodes of the exec cannot be changed any more, all of them together can. */
static void exec_of_a_lost_graph(int is_invalidated) {
  const uint32_t two = 2;
  cushim_resource pool = NULL;
  cushim_buffer from = NULL, to = NULL;
  cushim_graph graph, other, longer;
  cushim_builder builder;
  cushim_exec exec;
  cushim_node node = NULL;
  size_t count = 0;
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &from));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &to));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  graph = recorded_bound(from, 1);
  other = recorded_bound(to, 7);
  longer = recorded_bound(to, 8);
  add_append(longer, NULL, 3, 4);
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &count));
  CHECK_OK(cushim_exec_set_parameter(exec, "seed", &two, 4, &count));
  CHECK(count == 1 && result_of_exec(exec) == 2);
  builder = begun_again(graph);
  append(builder, 0, 3);
  if (is_invalidated) invalidate(cushim_builder_stream(builder));
  CHECK_STATUS(is_invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(builder));

  changes_nothing(exec, node, from, to);
  CHECK(result_of_exec(exec) == 2 && number_at(cushim_buffer_pointer(from)) == 1);
  CHECK(cushim_exec_update(exec, longer, NULL) != CUSHIM_SUCCESS);
  CHECK_OK(cushim_exec_update(exec, other, NULL));
  CHECK(result_of_exec(exec) == 7 && number_at(cushim_buffer_pointer(to)) == 7);
  changes_nothing(exec, node, to, from);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_graph_destroy(longer));
  changes_nothing(exec, node, to, from);
  CHECK(result_of_exec(exec) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_buffer_destroy(from));
  CHECK_OK(cushim_buffer_destroy(to));
}

/* What is to be joined is, in this capture: the edges of the one before do not count. */
static void unjoined(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = cushim_endpoint_device(slot(2));
  cushim_graph graph = recorded(&owner, 1), ended = (cushim_graph)NOT_NULL;
  cushim_builder builder = begun_again(graph), fork = NULL;
  cushim_exec exec;
  CHECK_OK(cushim_stream_fill(cushim_builder_stream(builder), &to, CUSHIM_VALUE_32(4), 1));
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  append(builder, 0, 4);
  append(fork, 1, 5);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, &ended));
  CHECK_CONTAINS(last_message(), "before what was forked from it is joined");
  CHECK(ended == NULL);
  CHECK_OK(cushim_builder_join(builder, &fork, 1));
  append(builder, 0, 6);
  CHECK_OK(cushim_builder_end(builder, NULL));
  exec = new_exec(graph);
  CHECK(has(exec, 46, 5, 4));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&count, 1) == 1);
}

/* Two memsets beside each other, and one after both. */
static void enqueue_memsets(cushim_builder builder, cushim_owner *owner, uint32_t value) {
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_endpoint to = owned_slot(2, owner);
  cushim_builder fork = NULL;
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  set_in(stream, 0, value);
  set_in(cushim_builder_stream(fork), 1, value + 1);
  CHECK_OK(cushim_builder_join(builder, &fork, 1));
  if (owner != NULL) CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(value + 2), 1));
  else CHECK_STATUS(CUDA_SUCCESS, driver()->cuMemsetD32Async_3020(slot(2), value + 2, 1, native_of(stream)));
  CHECK_OK(cushim_builder_destroy(fork));
}

static uint32_t fill_of(cushim_node node, cushim_exec exec) {
  cushim_fill_node fill = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_fill, node, &fill));
  return fill.value;
}

/* What a call of the driver's captures is not known here: the driver tells what such a node does, and the node keeps nothing more. */
static void captured_by_the_driver(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_graph graph = NULL;
  cushim_builder builder = begun();
  cushim_node nodes[3];
  cushim_exec exec;
  size_t listed = 0;
  enqueue_memsets(builder, &owner, 1);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 3, &listed));
  CHECK(listed == 3 && fill_of(nodes[2], NULL) == 3);
  builder = begun_again(graph);
  enqueue_memsets(builder, NULL, 6);
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(fill_of(nodes[0], NULL) == 6 && fill_of(nodes[2], NULL) == 8 && fill_of(nodes[0], exec) == 1 && fill_of(nodes[2], exec) == 3);
  CHECK(has(exec, 1, 2, 3) && released(&count) == 0);
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  CHECK(released_soon(&count, 1) == 1);
  CHECK(has(exec, 6, 7, 8) && fill_of(nodes[2], exec) == 8);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A graph that a builder makes; it can be recaptured when that has ended. */
static void during_its_first_capture(void) {
  cushim_builder capturing = begun(), builder = new_builder();
  cushim_graph graph = NULL, ended = NULL;
  cushim_node node = NULL;
  size_t count = 0;
  append(capturing, 0, 3);
  CHECK_OK(cushim_builder_get_tail(capturing, &node, 1, &count));
  CHECK_OK(cushim_node_get_graph(node, &graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(builder, graph));
  CHECK_CONTAINS(last_message(), "is being captured; end that capture");
  append(capturing, 0, 4);
  CHECK_OK(cushim_builder_end(capturing, &ended));
  CHECK_OK(cushim_builder_recapture(builder, ended));
  append(builder, 0, 5);
  append(builder, 0, 6);
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK(result_of(ended) == 56);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_builder_destroy(capturing));
  CHECK_OK(cushim_graph_destroy(ended));
}

/* The driver has no such condition before something uses it. */
static void unused_condition(void) {
  cushim_graph graph = new_graph();
  cushim_builder builder = new_builder();
  new_condition(graph, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_recapture(builder, graph));
  CHECK_CONTAINS(last_message(), "conditions");
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void *end_it(void *builder) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end((cushim_builder)builder, NULL));
  CHECK_CONTAINS(last_message(), "the thread that began has to end");
  return NULL;
}

static void *end_it_well(void *builder) {
  CHECK_OK(cushim_builder_end((cushim_builder)builder, NULL));
  return NULL;
}

static void *close_it(void *builder) {
  CHECK_OK(cushim_builder_close((cushim_builder)builder));
  return NULL;
}

static void on_another_thread(void *(*call)(void *), cushim_builder builder) {
  pthread_t thread;
  if (CHECK(pthread_create(&thread, NULL, call, builder) == 0)) pthread_join(thread, NULL);
}

/* In a mode other than the relaxed one, the thread that began ends it; any thread closes it, and the graph is lost. */
static void threads(void) {
  static const cushim_capture_mode modes[] = {CUSHIM_CAPTURE_GLOBAL, CUSHIM_CAPTURE_THREAD_LOCAL, CUSHIM_CAPTURE_RELAXED};
  size_t i;
  for (i = 0; i < 3; i++) {
    const int is_relaxed = modes[i] == CUSHIM_CAPTURE_RELAXED;
    int count = 0, replacing = 0;
    cushim_owner owner = counted(&count), second = counted(&replacing);
    cushim_builder_options options = CUSHIM_OPTIONS(cushim_builder_options);
    cushim_builder builder = NULL, closed = NULL;
    cushim_graph graph = recorded(&owner, 1);
    cushim_exec exec = new_exec(graph);
    cushim_node node = NULL;
    size_t listed = 0;
    options.mode = modes[i];
    CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &listed));
    CHECK_OK(cushim_builder_create(all.context, &options, &builder));
    CHECK_OK(cushim_builder_recapture(builder, graph));
    enqueue(builder, &second, 1);
    if (!is_relaxed) on_another_thread(end_it, builder);
    if (is_relaxed) on_another_thread(end_it_well, builder);
    else CHECK_OK(cushim_builder_end(builder, NULL));
    CHECK_OK(cushim_builder_destroy(builder));
    CHECK_OK(cushim_exec_update(exec, graph, NULL));
    CHECK(released_soon(&count, 1) == 1);
    CHECK_OK(cushim_builder_create(all.context, &options, &closed));
    CHECK_OK(cushim_builder_recapture(closed, graph));
    on_another_thread(close_it, closed);
    CHECK_OK(cushim_builder_destroy(closed));
    is_lost(graph, node, exec, &replacing);
  }
}

/* The program's own graph stays the program's: what comes of a recapture, and what differs. */
static void borrowed(void) {
  int count = 0;
  cushim_owner owner = counted(&count), second = counted(&count);
  cushim_graph graph = recorded(&owner, 1), wrapped = NULL;
  cushim_builder builder;
  cushim_exec exec;
  CUgraph native = NULL, copy = NULL;
  CHECK_OK(cushim_graph_native(graph, &native));
  copy = copied_by_others(native);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_wrap(all.context, copy, CUSHIM_BORROWED, &wrapped));
  builder = begun_again(wrapped);
  enqueue(builder, &second, 3);
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(builder));
  exec = new_exec(wrapped);
  CHECK(has(exec, 35, 4, 3));
  builder = begun_again(wrapped);
  CHECK_STATUS(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(wrapped, NULL, 0, NULL));
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK(has(exec, 35, 4, 3));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released(&count) == 0);
  CHECK_STATUS(CUDA_SUCCESS, driver()->cuGraphDestroy_10000(copy));
  CHECK(released_soon(&count, 2) == 2);
}

/* Memory of the graph has the same address again. */
static void memory_of_the_graph(void) {
  cushim_resource resource = NULL;
  cushim_graph graph = NULL;
  cushim_exec exec = NULL;
  uint64_t addresses[2] = {0};
  uint32_t round;
  CHECK_OK(cushim_resource_create_graph(all.device, &resource));
  for (round = 0; round < 2; round++) {
    cushim_builder builder = round == 0 ? begun() : begun_again(graph);
    cushim_stream stream = cushim_builder_stream(builder);
    cushim_buffer buffer = NULL;
    cushim_endpoint there, to = cushim_endpoint_device(slot(0));
    CHECK_OK(cushim_buffer_create(resource, stream, 64, &buffer));
    CHECK_OK(cushim_buffer_get_pointer(buffer, &addresses[round]));
    there = cushim_endpoint_buffer(buffer, 0);
    to.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
    CHECK_OK(cushim_stream_fill(stream, &there, CUSHIM_VALUE_32(20 + round), 16));
    CHECK_OK(cushim_stream_copy(stream, &to, &there, 4));
    CHECK_OK(cushim_buffer_destroy(buffer));
    CHECK_OK(cushim_builder_end(builder, round == 0 ? &graph : NULL));
    CHECK_OK(cushim_builder_destroy(builder));
    if (round == 0) exec = new_exec(graph);
    else CHECK_OK(cushim_exec_update(exec, graph, NULL));
    CHECK(result_of_exec(exec) == 20 + round);
  }
  CHECK(addresses[0] != 0 && addresses[0] == addresses[1]);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_resource_destroy(resource));
}

int main(void) {
  int how;
  check_begin();
  if (!open_graphs()) return close_graphs();
  if (version < 13030) {
    too_old();
    return close_graphs();
  }
  open_conditions();
  taken_over();
  for (how = 0; how < DIFFERENCES; how++) differs((enum difference)how);
  exec_of_a_lost_graph(0);
  exec_of_a_lost_graph(1);
  meanwhile();
  not_again();
  unjoined();
  captured_by_the_driver();
  during_its_first_capture();
  unused_condition();
  threads();
  borrowed();
  memory_of_the_graph();
  close_conditions();
  return close_graphs();
}
