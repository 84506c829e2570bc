/*
 * Builders: work in streams becomes graphs. Their states, forks and joins with functions on the host, graphs and conditional nodes in what
 * they capture, memory that comes and goes in it, and what is refused with the capture still valid.
 */
#include "builders.h"

static void state_is(cushim_builder builder, cushim_builder_state state, cushim_builder_kind kind) {
  cushim_builder_state is = CUSHIM_BUILDER_NOT_STARTED;
  cushim_builder_kind of = CUSHIM_BUILDER_PRIMARY;
  CHECK_OK(cushim_builder_get_state(builder, &is, &of));
  CHECK(is == state && of == kind);
  CHECK_OK(cushim_builder_get_state(builder, NULL, NULL));
}

/* Everything that needs a capture is refused, with the state. */
static void nothing_goes(cushim_builder builder, const char *state) {
  cushim_builder fork = (cushim_builder)NOT_NULL;
  cushim_graph graph = new_graph();
  size_t count = 9;
  CHECK(cushim_builder_stream(builder) == NULL);
  CHECK_CONTAINS(last_message(), state);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, NULL));
  CHECK_CONTAINS(last_message(), state);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_get_tail(builder, NULL, 0, &count));
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_fork(builder, &fork, 1));
  CHECK(fork == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_join(builder, &builder, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_add_child(builder, graph, CUSHIM_CHILD_CLONE, NULL));
  CHECK_CONTAINS(last_message(), state);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void states(void) {
  cushim_builder builder = new_builder(), again = NULL, second = NULL;
  cushim_builder_options options = CUSHIM_OPTIONS(cushim_builder_options);
  cushim_stream stream, legacy = NULL;
  cushim_graph graph = NULL, known = NULL;
  cushim_context context = NULL;
  options.mode = (cushim_capture_mode)3;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_create(all.context, &options, &second));
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_create_on(legacy, NULL, &second));
  CHECK(second == NULL);
  CHECK_OK(cushim_builder_get_context(builder, &context));
  CHECK(context != NULL);
  state_is(builder, CUSHIM_BUILDER_NOT_STARTED, CUSHIM_BUILDER_PRIMARY);
  nothing_goes(builder, "was not begun");
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_event_record(all.event, cushim_builder_stream(builder)));
  CHECK_CONTAINS(last_message(), "only while it captures");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_get_graph(builder, &known));
  CHECK_OK(cushim_builder_begin(builder));
  state_is(builder, CUSHIM_BUILDER_CAPTURING, CUSHIM_BUILDER_PRIMARY);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_begin(builder));
  CHECK_CONTAINS(last_message(), "is capturing already");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_get_graph(builder, &known));
  stream = cushim_builder_stream(builder);
  CHECK(stream != NULL && stream == cushim_builder_stream(builder));
  append_in(stream, 0, 1);
  CHECK_OK(cushim_builder_ref(builder, &again));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_builder_end(again, &graph));
  state_is(again, CUSHIM_BUILDER_ENDED, CUSHIM_BUILDER_PRIMARY);
  nothing_goes(again, "has ended");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_begin(again));
  CHECK_OK(cushim_builder_get_graph(again, &known));
  CHECK(known != NULL && node_count(known) == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize(stream));
  CHECK_CONTAINS(last_message(), "has ended");
  CHECK_OK(cushim_builder_destroy(again));
  CHECK(result_of(graph) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A stream of the program's, captured in each mode and given back. */
static void given_streams(void) {
  static const cushim_capture_mode modes[] = {CUSHIM_CAPTURE_GLOBAL, CUSHIM_CAPTURE_THREAD_LOCAL, CUSHIM_CAPTURE_RELAXED};
  size_t i;
  for (i = 0; i < 3; i++) {
    cushim_builder_options options = CUSHIM_OPTIONS(cushim_builder_options);
    cushim_builder builder = NULL, other = NULL;
    cushim_stream stream = NULL;
    int32_t ready = -1;
    options.mode = modes[i];
    CHECK_OK(cushim_stream_create(all.context, NULL, &stream));
    CHECK_OK(cushim_builder_create_on(stream, &options, &builder));
    CHECK_OK(cushim_builder_create_on(stream, &options, &other));
    CHECK_OK(cushim_builder_begin(builder));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_begin(other));
    append_in(stream, 0, 4);
    /* Refused, and the capture is valid all the same. */
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_synchronize(stream));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_query(stream, &ready));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_synchronize(all.context));
    /* Nothing of this disturbs it. */
    clear_memory();
    CHECK_OK(cushim_stream_synchronize(all.stream));
    CHECK_OK(cushim_stream_query(all.stream, &ready));
    append(builder, 0, 5);
    CHECK(captured(builder) == 45);
    CHECK_OK(cushim_builder_destroy(builder));
    CHECK_OK(cushim_builder_begin(other));
    CHECK_OK(cushim_builder_destroy(other)); /* in the middle */
    clear_memory();
    append_in(stream, 0, 6);
    CHECK_OK(cushim_stream_synchronize(stream));
    CHECK(number_at(memory) == 6);
    CHECK_OK(cushim_stream_destroy(stream));
  }
}

/* A stream of another context becomes part of a capture: that context is not to be waited for either, as long as it lasts. */
static void other_contexts(void) {
  cushim_context other = NULL;
  cushim_stream stream = NULL;
  cushim_builder builder = NULL;
  cushim_event event = NULL;
  cushim_graph graph = NULL;
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  CHECK_OK(cushim_stream_create(other, NULL, &stream));
  CHECK_OK(cushim_event_create(all.context, NULL, &event));
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_context_synchronize(other));
  append(builder, 0, 3);
  CHECK_OK(cushim_event_record(event, cushim_builder_stream(builder)));
  CHECK_OK(cushim_stream_wait_event(stream, event));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_synchronize(other));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_context_synchronize(other));
  CHECK(result_of(graph) == 3);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(other));
}

static void count_call(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST); }

/* Three branches, each with a function on the host, joined in stages. */
static void pipelines(void) {
  cushim_builder builder = begun(), forks[2] = {NULL}, inner = NULL;
  cushim_exec exec;
  cushim_graph graph = NULL;
  int calls = 0, releases = 0;
  cushim_owner owner = counted(&releases);
  size_t i;
  append(builder, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_fork(builder, forks, 0));
  CHECK_OK(cushim_builder_fork(builder, forks, 2));
  for (i = 0; i < 2; i++) {
    state_is(forks[i], CUSHIM_BUILDER_CAPTURING, CUSHIM_BUILDER_FORKED);
    append(forks[i], (int)i + 1, 2);
    CHECK_OK(cushim_stream_launch_host_function(cushim_builder_stream(forks[i]), count_call, &calls, i == 0 ? &owner : NULL));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(forks[i], &graph));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_get_graph(forks[i], &graph));
  }
  CHECK_OK(cushim_builder_fork(forks[1], &inner, 1));
  append(inner, 2, 3);
  CHECK_OK(cushim_set_label(inner, "the innermost"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, &graph));
  CHECK_CONTAINS(last_message(), "the innermost");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_join(builder, forks, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_join(builder, &builder, 1));
  CHECK_OK(cushim_builder_join(forks[1], &inner, 1));
  CHECK_OK(cushim_builder_join(builder, forks, 2));
  state_is(forks[0], CUSHIM_BUILDER_CLOSED, CUSHIM_BUILDER_FORKED);
  append(builder, 0, 9);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(inner));
  for (i = 0; i < 2; i++) CHECK_OK(cushim_builder_destroy(forks[i]));
  CHECK_OK(cushim_builder_destroy(builder));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  for (i = 1; i <= 3; i++) {
    CHECK(result_of_exec(exec) == 19);
    CHECK(number_at(slot(1)) == 2 && number_at(slot(2)) == 23 && calls == 2 * (int)i);
  }
  CHECK(released(&releases) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&releases, 1) == 1);
}

/* The graph reads host memory at each launch: somebody keeps it. */
static void host_memory(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  uint32_t bytes = 7;
  int releases = 0;
  cushim_owner owner = counted(&releases);
  cushim_endpoint to = cushim_endpoint_device(memory), from = cushim_endpoint_host(&bytes);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(stream, &to, &from, sizeof bytes));
  CHECK_CONTAINS(last_message(), "is being captured: the source is host memory");
  CHECK_CONTAINS(last_message(), "CUSHIM_ENDPOINT_KEEP_BYTES");
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  CHECK_OK(cushim_stream_copy(stream, &to, &from, sizeof bytes));
  from.flags = 0;
  from.owner = &owner;
  to.address = slot(1);
  CHECK_OK(cushim_stream_copy(stream, &to, &from, sizeof bytes));
  bytes = 8;
  append_in(stream, 0, 1);
  CHECK(captured(builder) == 71);
  CHECK(number_at(slot(1)) == 8);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(released_soon(&releases, 1) == 1);
}

/* A graph in the middle, and nodes by hand after what was captured last. */
static void hybrids(void) {
  cushim_builder builder = begun();
  cushim_graph child = new_graph(), graph = NULL;
  cushim_node tail[2] = {NULL}, node = NULL;
  size_t count = 0;
  add_append(child, NULL, 0, 2);
  append(builder, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_add_child(builder, child, (cushim_child_ownership)9, &node));
  CHECK_OK(cushim_builder_add_child(builder, child, CUSHIM_CHILD_CLONE, &node));
  CHECK(type_of(node) == CUSHIM_NODE_CHILD);
  CHECK_OK(cushim_builder_get_tail(builder, tail, 2, &count));
  CHECK(count == 1 && tail[0] == node && tail[1] == NULL);
  CHECK_OK(cushim_node_get_graph(node, &graph));
  add_append(graph, node, 1, 5);
  append(builder, 0, 3);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK(captured(builder) == 123);
  CHECK(number_at(slot(1)) == 5);
  CHECK_OK(cushim_builder_destroy(builder));
}

/* Each node is known, and has its parameters and its label: whether its handle is asked for never, once in between, or each time. */
static void which_is_which(void) {
  enum { NODES = 24, NEVER, ONCE, ALWAYS };
  int asked;
  for (asked = NEVER; asked <= ALWAYS; asked++) {
    cushim_builder builder = begun(), at[3] = {NULL, NULL, NULL};
    cushim_node nodes[NODES], tail = NULL, last = NULL;
    cushim_graph graph = NULL;
    size_t count = 0;
    uint32_t i;
    at[0] = builder;
    CHECK_OK(cushim_builder_fork(builder, &at[1], 2));
    for (i = 0; i < NODES; i++) {
      cushim_builder here = at[i % 3];
      if (i % 4 == 3) set_in(cushim_builder_stream(here), 8 + (int)i, i);
      else append(here, (int)(i % 3), i);
      if (asked == ALWAYS || (asked == ONCE && i == 15)) {
        char name[16];
        snprintf(name, sizeof name, "number %u", (unsigned)i);
        CHECK_OK(cushim_builder_get_tail(here, &tail, 1, &count));
        CHECK(count == 1 && tail != last);
        CHECK_OK(cushim_set_label(tail, name));
        last = tail;
      }
    }
    CHECK_OK(cushim_builder_join(builder, &at[1], 2));
    CHECK_OK(cushim_builder_end(builder, &graph));
    CHECK_OK(cushim_graph_get_nodes(graph, nodes, NODES, &count));
    CHECK(count == NODES);
    for (i = 0; i < NODES && count == NODES; i++) {
      char name[16];
      snprintf(name, sizeof name, "number %u", (unsigned)i);
      if (i % 4 == 3) {
        cushim_fill_node filled = CUSHIM_OPTIONS(cushim_fill_node);
        CHECK_OK(cushim_node_get_fill(nodes[i], &filled));
        CHECK(filled.value == i && filled.destination.address == slot(8 + (int)i));
      } else {
        cushim_arg args[2];
        uint64_t values[2];
        CHECK_OK(cushim_node_get_arguments(nodes[i], args, 2, &count, values, sizeof values, NULL));
        CHECK(count == 2 && *(const uint64_t *)args[0].value == slot((int)(i % 3)) && *(const uint32_t *)args[1].value == i);
        count = NODES;
      }
      CHECK((strstr(description(nodes[i]), name) != NULL) == (asked == ALWAYS || (asked == ONCE && i == 15)));
    }
    CHECK(edge_count(graph) == NODES - 3);
    CHECK_OK(cushim_exec_destroy(new_exec(graph)));
    CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_builder_destroy(builder));
    CHECK_OK(cushim_builder_destroy(at[1]));
    CHECK_OK(cushim_builder_destroy(at[2]));
  }
}

/* A loop whose body is captured, with a fork in it; work goes on behind it. */
static void loops(void) {
  cushim_builder builder = begun(), body = NULL, fork = NULL;
  cushim_condition condition = condition_of(builder, 1);
  cushim_node node = NULL;
  cushim_stream inside;
  set_in(cushim_builder_stream(builder), 8, 3);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_WHILE, 2, &node, &body));
  CHECK_OK(cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_WHILE, 1, &node, &body));
  state_is(body, CUSHIM_BUILDER_NOT_STARTED, CUSHIM_BUILDER_BODY);
  append(builder, 0, 9);
  CHECK_OK(cushim_builder_begin(body));
  inside = cushim_builder_stream(body);
  append_in(inside, 0, 5);
  CHECK_OK(cushim_builder_fork(body, &fork, 1));
  append(fork, 1, 6);
  decide_in(inside, conditions.countdown, condition, 8);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_launch_host_function(inside, count_call, &node, NULL));
  CHECK_CONTAINS(last_message(), "cannot hold this node");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_join(body, &fork, 1));
  CHECK_OK(cushim_builder_end(body, NULL));
  CHECK(captured(builder) == 5559);
  CHECK(number_at(slot(1)) == 666);
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* By each value, and one that none has: the first body is captured, the second filled by hand, on a forked builder. */
static void switches(void) {
  static const uint32_t results[] = {19, 29, 9};
  cushim_builder builder = begun(), fork = NULL, bodies[2] = {NULL};
  cushim_condition condition = condition_of(builder, 0);
  cushim_graph graph = NULL, body = NULL;
  cushim_exec exec;
  uint32_t value;
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  decide_in(cushim_builder_stream(fork), conditions.choose, condition, 8);
  CHECK_OK(cushim_builder_add_conditional(fork, condition, CUSHIM_CONDITIONAL_SWITCH, 2, NULL, bodies));
  CHECK_OK(cushim_builder_begin(bodies[0]));
  append(bodies[0], 0, 1);
  CHECK_OK(cushim_builder_end(bodies[0], NULL));
  CHECK_OK(cushim_builder_get_graph(bodies[1], &body));
  add_append(body, NULL, 0, 2);
  CHECK_OK(cushim_builder_join(builder, &fork, 1));
  append(builder, 0, 9);
  CHECK_OK(cushim_builder_end(builder, &graph));
  exec = new_exec(graph);
  for (value = 0; value < 3; value++) {
    clear_memory();
    CHECK_OK(set_bytes(all.context, slot(8), value, 1));
    run(exec);
    CHECK(number_at(memory) == results[value]);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_builder_destroy(bodies[0]));
  CHECK_OK(cushim_builder_destroy(bodies[1]));
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Memory of the resource, used and freed in the capture. */
static uint32_t with_memory_of(cushim_resource resource) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_buffer buffer = NULL;
  cushim_endpoint to = cushim_endpoint_device(memory), from;
  uint32_t result;
  CHECK_OK(cushim_buffer_create(resource, stream, 1000, &buffer));
  from = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_stream_fill(stream, &from, CUSHIM_VALUE_32(6), 1));
  CHECK_OK(cushim_stream_copy(stream, &to, &from, 4));
  append_in(stream, 0, 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
  result = captured(builder);
  CHECK_OK(cushim_builder_destroy(builder));
  return result;
}

static void memory_in_captures(void) {
  cushim_resource resource = NULL;
  cushim_resource_kind kind = CUSHIM_RESOURCE_CUSTOM;
  size_t bytes = 1;
  uint64_t pointer = 1;
  CHECK_OK(cushim_resource_create_graph(all.device, &resource));
  CHECK_OK(cushim_resource_get_kind(resource, &kind));
  CHECK(kind == CUSHIM_RESOURCE_GRAPH);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_allocate(resource, all.stream, 64, &pointer));
  CHECK_OK(cushim_resource_get_arena_bytes(resource, &bytes));
  CHECK(bytes == 0 && pointer == 0);
  CHECK(with_memory_of(resource) == 61);
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_resource_create_arena(all.context, 0, &resource));
  CHECK(with_memory_of(resource) == 61);
  CHECK_OK(cushim_resource_get_arena_bytes(resource, &bytes));
  CHECK(bytes == 1024);
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_resource_create_arena(all.context, bytes, &resource));
  CHECK(with_memory_of(resource) == 61 && with_memory_of(resource) == 61);
  CHECK_OK(cushim_resource_destroy(resource));
}

/* The same calls with another buffer, number and owner: the exec takes them over, and lets go of what it had. Other calls it refuses. */
static cushim_graph anew(uint32_t number, int index, int *releases, int is_longer) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  cushim_owner owner = counted(releases);
  cushim_endpoint to = owned_slot(index, &owner);
  cushim_graph graph = NULL;
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(number), 1));
  append_in(stream, index, 1);
  if (is_longer) append_in(stream, index, 1);
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_get_graph(builder, &graph));
  CHECK_OK(cushim_graph_ref(graph, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return graph;
}

static void captured_anew(void) {
  static int releases[3];
  cushim_graph first = anew(4, 0, &releases[0], 0), second = anew(5, 1, &releases[1], 0), longer = anew(6, 2, &releases[2], 1);
  cushim_exec exec = new_exec(first), again;
  CHECK(result_of_exec(exec) == 41);
  CHECK_OK(cushim_exec_destroy(exec));
  exec = new_exec(first); /* it makes any number of execs */
  again = new_exec(first);
  CHECK_OK(cushim_graph_destroy(first));
  CHECK(result_of_exec(again) == 41);
  CHECK_OK(cushim_exec_destroy(again));
  CHECK(released(&releases[0]) == 0);
  CHECK_OK(cushim_exec_update(exec, second, NULL));
  CHECK_OK(cushim_graph_destroy(second));
  CHECK(result_of_exec(exec) == 0 && number_at(slot(1)) == 51);
  CHECK(released(&releases[1]) == 0);
  CHECK_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cushim_exec_update(exec, longer, NULL));
  CHECK_OK(cushim_graph_destroy(longer));
  CHECK(released_soon(&releases[2], 1) == 1);
  CHECK(result_of_exec(exec) == 0 && number_at(slot(1)) == 51);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&releases[0], 1) == 1 && released_soon(&releases[1], 1) == 1);
}

/* Events of others: the graph waits for one and records the other whenever it is launched, and keeps both. */
static void events_of_others(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder), other = new_stream(all.context);
  cushim_event before = new_event(all.context, 0), after = new_event(all.context, 0);
  cushim_graph graph = NULL;
  cushim_exec exec;
  cushim_node nodes[3] = {NULL};
  size_t count = 0;
  uint32_t round;
  CHECK_OK(cushim_event_record(before, other));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(stream, before));
  CHECK_OK(cushim_stream_wait_event_external(stream, before));
  append_in(stream, 0, 3);
  CHECK_OK(cushim_event_record_external(after, stream));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 3, &count));
  CHECK(count == 3 && type_of(nodes[0]) == CUSHIM_NODE_EVENT_WAIT && type_of(nodes[2]) == CUSHIM_NODE_EVENT_RECORD);
  exec = new_exec(graph);
  clear_memory();
  for (round = 1; round <= 2; round++) {
    uint32_t number = 0;
    cushim_endpoint to = cushim_endpoint_host(&number), from = cushim_endpoint_device(memory);
    append_in(other, 0, round);
    CHECK_OK(cushim_event_record_external(before, other)); /* as any record, where nothing is captured */
    CHECK_OK(cushim_exec_launch(exec, all.stream));
    CHECK_OK(cushim_stream_wait_event_external(other, after));
    CHECK_OK(cushim_stream_copy(other, &to, &from, sizeof number));
    CHECK_OK(cushim_stream_synchronize(other));
    CHECK(number == (round == 1 ? 13 : 1323));
  }
  CHECK_OK(cushim_event_destroy(before));
  CHECK_OK(cushim_event_destroy(after));
  run(exec);
  CHECK(number_at(memory) == 13233);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_stream_destroy(other));
}

/* The legacy default stream is never captured: it is not to wait for a place in a graph. */
static void beside_the_legacy_stream(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder), legacy = NULL;
  cushim_event event = NULL;
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_event_create(all.context, NULL, &event));
  append_in(stream, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_stream(legacy, stream));
  CHECK_CONTAINS(last_message(), "cannot be captured");
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_wait_event(legacy, event));
  CHECK_CONTAINS(last_message(), "cannot be captured");
  append_in(stream, 0, 2);
  CHECK(captured(builder) == 12);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_event_destroy(event));
}

/*
 * What a fork has captured whose builder is closed is joined with another that it was joined into, or that was forked from it; else the capture
 * does not end any more, and the message says what is left to do.
 */
static void closed_forks(void) {
  cushim_builder builder = begun(), forks[2] = {NULL}, last = NULL;
  CHECK_OK(cushim_builder_fork(builder, forks, 2));
  CHECK_OK(cushim_set_label(forks[0], "first"));
  CHECK_OK(cushim_set_label(forks[1], "second"));
  append(forks[0], 0, 1);
  CHECK_OK(cushim_builder_join(forks[1], forks, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, NULL));
  CHECK_CONTAINS(last_message(), "is joined: forked builder \"second\"");
  CHECK_OK(cushim_builder_fork(forks[1], &last, 1));
  CHECK_OK(cushim_set_label(last, "last"));
  CHECK_OK(cushim_builder_destroy(forks[1]));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, NULL));
  CHECK_CONTAINS(last_message(), "is joined: forked builder \"last\"");
  CHECK_OK(cushim_builder_join(builder, &last, 1));
  append(builder, 0, 2);
  CHECK(captured(builder) == 12);
  CHECK_OK(cushim_builder_destroy(last));
  CHECK_OK(cushim_builder_destroy(forks[0]));
  CHECK_OK(cushim_builder_destroy(builder));
}

static void lost_forks(int closes) {
  cushim_builder builder = begun(), fork = NULL;
  CHECK_OK(cushim_builder_fork(builder, &fork, 1));
  CHECK_OK(cushim_set_label(fork, "lost"));
  append(fork, 0, 1);
  if (closes) CHECK_OK(cushim_builder_close(fork));
  else CHECK_OK(cushim_builder_destroy(fork));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, NULL));
  CHECK_CONTAINS(last_message(), "the forked builder \"lost\" was closed or destroyed");
  CHECK_CONTAINS(last_message(), "cushim_builder_close");
  CHECK_OK(cushim_builder_close(builder));
  if (closes) CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* The driver removes no node of a graph that is captured; the message says what to do. */
static void removed_too_early(void) {
  cushim_builder builder = begun();
  cushim_node node = NULL;
  cushim_graph graph = NULL;
  CHECK_OK(cushim_set_label(builder, "the capture"));
  append(builder, 0, 1);
  CHECK_OK(cushim_builder_get_tail(builder, &node, 1, NULL));
  CHECK_STATUS(CUDA_ERROR_ILLEGAL_STATE, cushim_node_remove(node));
  CHECK_CONTAINS(last_message(), "builder \"the capture\" captures the node's graph");
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_node_remove(node));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* A capture that another invalidates, behind the library's back: the end says so, and everything can be used again. */
static void invalidated(void) {
  cushim_builder builder = begun();
  cushim_stream stream = cushim_builder_stream(builder);
  const cushim_driver_table *cu = NULL;
  cushim_graph graph = (cushim_graph)NOT_NULL;
  CUstream native = NULL;
  int releases = 0;
  cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(0, &owner);
  CHECK_OK(cushim_driver_get_table(all.driver, CUSHIM_TABLE_LEGACY_STREAM, &cu));
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(1), 1));
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_STATUS(900, cu->cuStreamSynchronize_2000(native));
  to.owner = NULL;
  CHECK_STATUS(901, cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(1), 1));
  CHECK_CONTAINS(last_message(), "memset node 0 was captured");
  CHECK_STATUS(901, cushim_builder_end(builder, &graph));
  CHECK_CONTAINS(last_message(), "memset node 0 was captured");
  CHECK(graph == NULL && released_soon(&releases, 1) == 1);
  state_is(builder, CUSHIM_BUILDER_CLOSED, CUSHIM_BUILDER_PRIMARY);
  nothing_goes(builder, "is closed");
  CHECK_OK(cushim_builder_destroy(builder));
}

/* What the driver is too old for is refused with the version that has it; the capture goes on, as if it had not been asked for. */
static void too_old(void) {
  cushim_graph child = new_graph(), captured_graph = NULL;
  cushim_builder builder = begun(), bodies[2] = {(cushim_builder)NOT_NULL, (cushim_builder)NOT_NULL};
  cushim_condition condition = (cushim_condition)NOT_NULL;
  cushim_node node = (cushim_node)NOT_NULL;
  append(builder, 0, 1);
  if (version < 12090) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_builder_add_child(builder, child, CUSHIM_CHILD_MOVE, &node));
    CHECK_CONTAINS(last_message(), "12.9");
    CHECK(node == NULL && node_count(child) == 0);
  }
  if (version < 12030) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_builder_create_condition(builder, NULL, &condition));
    CHECK_CONTAINS(last_message(), "12.3");
    CHECK(condition == NULL);
  } else if (version < 12080) {
    CHECK_OK(cushim_builder_create_condition(builder, NULL, &condition));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED,
                 cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_SWITCH, 2, &node, bodies));
    CHECK_CONTAINS(last_message(), "12.8");
    CHECK(node == NULL && bodies[0] == NULL && bodies[1] == NULL);
  }
  append(builder, 0, 2);
  CHECK_OK(cushim_builder_end(builder, &captured_graph));
  CHECK(node_count(captured_graph) == 2 && result_of(captured_graph) == 12);
  CHECK_OK(cushim_graph_destroy(captured_graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(child));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  states();
  given_streams();
  other_contexts();
  pipelines();
  host_memory();
  hybrids();
  which_is_which();
  memory_in_captures();
  captured_anew();
  events_of_others();
  beside_the_legacy_stream();
  closed_forks();
  lost_forks(0);
  lost_forks(1);
  removed_too_early();
  invalidated();
  too_old();
  if (version >= 12030) {
    open_conditions();
    loops();
    if (version >= 12080) switches();
    close_conditions();
  }
  return close_graphs();
}
