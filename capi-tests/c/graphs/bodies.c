/*
 * Bodies of conditional nodes that are captured, with forks and joins inside them: each kind of node with values that choose a body, none,
 * and one that is out of range. What the graph leaves in memory is what the same program leaves that is written in plain C.
 */
#include "builders.h"

enum { VALUE = 8, OTHER = 9, SEEN = 4 }; /* the slots of the conditions' values; the first slots are compared */

static void add_up_in(cushim_stream stream, int to_index, int from_index) {
  cushim_kernel kernel = NULL;
  cushim_arg args[2];
  uint64_t to = slot(to_index), from = slot(from_index);
  CHECK_OK(cushim_kernel_create(all.library, "sum", &kernel));
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(from);
  CHECK_OK(cushim_kernel_launch(kernel, stream, NULL, args, 2));
  CHECK_OK(cushim_kernel_destroy(kernel)); /* the body keeps it */
}

/* What is in a body: three branches, of which one is forked from another, joined in two stages. */
static void capture_body(cushim_builder body, uint32_t number) {
  cushim_builder forks[2] = {NULL}, inner = NULL;
  int i;
  append(body, 0, number);
  CHECK_OK(cushim_builder_fork(body, forks, 2));
  append(forks[0], 1, number);
  append(forks[1], 2, number + 1);
  CHECK_OK(cushim_builder_fork(forks[1], &inner, 1));
  append(inner, 3, 7);
  append(forks[1], 2, 5);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(body, NULL));
  CHECK_CONTAINS(last_message(), "joined");
  CHECK_OK(cushim_builder_join(forks[1], &inner, 1));
  append(forks[1], 3, 1);
  CHECK_OK(cushim_builder_join(body, forks, 2));
  for (i = 1; i < SEEN; i++) add_up_in(cushim_builder_stream(body), 0, i);
  CHECK_OK(cushim_builder_destroy(inner));
  for (i = 0; i < 2; i++) CHECK_OK(cushim_builder_destroy(forks[i]));
}

static void append_to(uint32_t *number, uint32_t digit) { *number = *number * 10 + digit; }

static void plain_body(uint32_t *numbers, uint32_t number) {
  int i;
  append_to(&numbers[0], number);
  append_to(&numbers[1], number);
  append_to(&numbers[2], number + 1);
  append_to(&numbers[2], 5);
  append_to(&numbers[3], 7);
  append_to(&numbers[3], 1);
  for (i = 1; i < SEEN; i++) numbers[0] += numbers[i];
}

static void plain(cushim_conditional_kind kind, uint32_t value, uint32_t *numbers) {
  append_to(&numbers[0], 8);
  switch (kind) {
    case CUSHIM_CONDITIONAL_IF:
      if (value != 0) plain_body(numbers, 1);
      break;
    case CUSHIM_CONDITIONAL_IF_ELSE: plain_body(numbers, value != 0 ? 1 : 2); break;
    case CUSHIM_CONDITIONAL_SWITCH:
      if (value < 3) plain_body(numbers, value + 1);
      break;
    case CUSHIM_CONDITIONAL_WHILE:
      for (; value != 0; value--) plain_body(numbers, 1);
      break;
    default: CHECK(0);
  }
  append_to(&numbers[0], 9);
}

/* A node whose condition is what stands in the memory when the graph is launched; work goes on after it. */
static cushim_graph conditional(cushim_conditional_kind kind, size_t body_count) {
  cushim_builder builder = begun(), bodies[3] = {NULL};
  cushim_condition condition = condition_of(builder, 0);
  cushim_graph graph = NULL, body = NULL;
  size_t i;
  append(builder, 0, 8);
  decide_in(cushim_builder_stream(builder), conditions.choose, condition, VALUE);
  CHECK_OK(cushim_builder_add_conditional(builder, condition, kind, body_count, NULL, bodies));
  append(builder, 0, 9);
  for (i = 0; i < body_count; i++) {
    CHECK_OK(cushim_builder_begin(bodies[i]));
    capture_body(bodies[i], (uint32_t)i + 1);
    if (kind == CUSHIM_CONDITIONAL_WHILE)
      decide_in(cushim_builder_stream(bodies[i]), conditions.countdown, condition, VALUE);
    CHECK_OK(cushim_builder_end(bodies[i], &body));
    CHECK(node_count(body) >= 9);
    CHECK_OK(cushim_graph_destroy(body));
    CHECK_OK(cushim_builder_destroy(bodies[i]));
  }
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return graph;
}

static void compare(cushim_exec exec, const uint32_t *expected) {
  int i;
  run(exec);
  for (i = 0; i < SEEN; i++) CHECK(number_at(slot(i)) == expected[i]);
}

static void every_kind(void) {
  static const struct {
    cushim_conditional_kind kind;
    size_t body_count;
    int since;
    uint32_t values[5]; /* true, false, out of range */
  } cases[] = {
      {CUSHIM_CONDITIONAL_IF, 1, 12030, {0, 1, 7, 1, 0}},
      {CUSHIM_CONDITIONAL_WHILE, 1, 12030, {0, 1, 4, 0, 2}},
      {CUSHIM_CONDITIONAL_IF_ELSE, 2, 12080, {0, 1, 5, 1, 0}},
      {CUSHIM_CONDITIONAL_SWITCH, 3, 12080, {0, 1, 2, 3, 99}},
  };
  size_t i, j;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    cushim_graph graph;
    cushim_exec exec;
    if (version < cases[i].since) continue;
    graph = conditional(cases[i].kind, cases[i].body_count);
    exec = new_exec(graph);
    CHECK_OK(cushim_graph_destroy(graph));
    for (j = 0; j < 5; j++) {
      uint32_t expected[SEEN] = {0};
      clear_memory();
      CHECK_OK(set_bytes(all.context, slot(VALUE), (uint8_t)cases[i].values[j], 1));
      plain(cases[i].kind, cases[i].values[j], expected);
      compare(exec, expected);
    }
    CHECK_OK(cushim_exec_destroy(exec));
  }
}

/* A loop in whose body a fork decides by itself: in its body there are forks again. Work goes on behind each of them. */
static void nested(void) {
  cushim_builder builder = begun(), body = NULL, fork = NULL, inside = NULL;
  cushim_condition again = condition_of(builder, 1), odd;
  cushim_graph graph = NULL;
  cushim_exec exec;
  uint32_t value, expected[SEEN];
  decide_in(cushim_builder_stream(builder), conditions.choose, again, VALUE);
  CHECK_OK(cushim_builder_add_conditional(builder, again, CUSHIM_CONDITIONAL_WHILE, 1, NULL, &body));
  CHECK_OK(cushim_builder_begin(body));
  CHECK_OK(cushim_builder_fork(body, &fork, 1));
  odd = condition_of(fork, 0);
  decide_in(cushim_builder_stream(fork), conditions.choose, odd, OTHER);
  CHECK_OK(cushim_builder_add_conditional(fork, odd, CUSHIM_CONDITIONAL_IF, 1, NULL, &inside));
  CHECK_OK(cushim_builder_begin(inside));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(body, NULL)); /* it waits for both */
  capture_body(inside, 4);
  CHECK_OK(cushim_builder_end(inside, NULL));
  append(fork, 0, 6);
  CHECK_OK(cushim_builder_join(body, &fork, 1));
  decide_in(cushim_builder_stream(body), conditions.countdown, again, VALUE);
  CHECK_OK(cushim_builder_end(body, NULL));
  append(builder, 0, 9);
  CHECK_OK(cushim_builder_end(builder, &graph));
  exec = new_exec(graph);
  for (value = 0; value < 2; value++) {
    int i;
    memset(expected, 0, sizeof expected);
    for (i = 0; i < 2; i++) {
      if (value != 0) plain_body(expected, 4);
      append_to(&expected[0], 6);
    }
    append_to(&expected[0], 9);
    clear_memory();
    CHECK_OK(set_bytes(all.context, slot(VALUE), 2, 1));
    CHECK_OK(set_bytes(all.context, slot(OTHER), (uint8_t)value, 1));
    compare(exec, expected);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(inside));
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

static cushim_builder body_of(cushim_builder builder, cushim_node *node) {
  cushim_builder body = NULL;
  CHECK_OK(cushim_builder_add_conditional(builder, condition_of(builder, 1), CUSHIM_CONDITIONAL_IF, 1, node, &body));
  return body;
}

/* What the first numbers are after the graph that is captured has run, as digits. */
static uint32_t digits_of(cushim_builder builder) {
  cushim_graph graph = NULL;
  cushim_exec exec;
  uint32_t digits = 0;
  int i;
  if (!CHECK_OK(cushim_builder_end(builder, &graph))) return 0;
  clear_memory();
  exec = new_exec(graph);
  run(exec);
  for (i = 0; i < SEEN; i++) digits = digits * 10 + number_at(slot(i));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  return digits;
}

/*
 * A body whose builder is given up while work is not joined, of forks and of forks of forks, whose builders are there or not: the body keeps
 * what was captured, its forks are closed, and the graph around it ends as any other.
 */
static void given_up_with_forks(int closes, int has_forks) {
  cushim_builder builder = begun(), body = body_of(builder, NULL), fork = NULL, inner = NULL;
  cushim_builder_state state = (cushim_builder_state)0;
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 1);
  CHECK_OK(cushim_builder_fork(body, &fork, 1));
  append(fork, 1, 2);
  CHECK_OK(cushim_builder_fork(fork, &inner, 1));
  append(inner, 2, 3);
  append(fork, 3, 4);
  if (!has_forks) {
    CHECK_OK(cushim_builder_destroy(inner));
    CHECK_OK(cushim_builder_destroy(fork));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(body, NULL));
    CHECK_CONTAINS(last_message(), "close the builder");
  }
  if (closes) CHECK_OK(cushim_builder_close(body));
  CHECK_OK(cushim_builder_destroy(body));
  if (has_forks) {
    CHECK_OK(cushim_builder_get_state(inner, &state, NULL));
    CHECK(state == CUSHIM_BUILDER_CLOSED && cushim_builder_stream(fork) == NULL);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_join(fork, &inner, 1));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_join(builder, &fork, 1));
    CHECK_CONTAINS(last_message(), "is closed");
  }
  append(builder, 0, 5);
  CHECK(digits_of(builder) == 15234);
  if (has_forks) {
    CHECK_OK(cushim_builder_destroy(inner));
    CHECK_OK(cushim_builder_destroy(fork));
  }
  CHECK_OK(cushim_builder_destroy(builder));
}

/* The same of a body in a body: that goes on, or has ended before. */
static void given_up_inside(int outer_ends_first) {
  cushim_builder builder = begun(), body = body_of(builder, NULL), inside, fork = NULL;
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 1);
  inside = body_of(body, NULL);
  if (outer_ends_first) CHECK_OK(cushim_builder_end(body, NULL));
  CHECK_OK(cushim_builder_begin(inside));
  CHECK_OK(cushim_builder_fork(inside, &fork, 1));
  append(fork, 1, 2);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(builder, NULL));
  CHECK_CONTAINS(last_message(), "body 0");
  CHECK_CONTAINS(last_message(), "close this builder (cushim_builder_close)");
  CHECK_OK(cushim_builder_destroy(inside));
  if (!outer_ends_first) {
    append(body, 0, 3);
    CHECK_OK(cushim_builder_end(body, NULL));
  }
  CHECK(digits_of(builder) == (outer_ends_first ? 1200u : 13200u));
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* A node stays while a body below it is captured, whether the capture around it goes on or not; afterwards its builder has no graph. */
static void removed(int primary_ends_first) {
  cushim_node node = NULL;
  cushim_builder builder = begun(), body = body_of(builder, &node), inside, unused;
  cushim_graph graph = NULL, gone = NULL;
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 1);
  inside = body_of(body, NULL);
  unused = body_of(body, NULL);
  CHECK_OK(cushim_builder_end(body, NULL));
  if (primary_ends_first) CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_begin(inside));
  CHECK_OK(cushim_set_label(inside, "the inner body"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_remove(node));
  CHECK_CONTAINS(last_message(), "the inner body");
  CHECK_CONTAINS(last_message(), "cushim_builder_end");
  append(inside, 1, 2);
  CHECK_OK(cushim_builder_end(inside, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_begin(inside));
  CHECK_CONTAINS(last_message(), "has ended, and captures once; edit the body itself, by its handle (cushim_node_get_graphs)");
  if (!primary_ends_first) CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_node_remove(node));
  CHECK(node_count(graph) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_builder_get_graph(inside, &gone));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_builder_get_graph(unused, &gone));
  CHECK_CONTAINS(last_message(), "was removed with the node");
  CHECK(gone == NULL);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(unused));
  CHECK_OK(cushim_builder_destroy(inside));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* With the builder of the whole all bodies in it are given up, at any depth; the streams of forks are as they were. */
static void given_up_with_all(int outer_ends_first) {
  cushim_builder builder = begun(), body = body_of(builder, NULL), inside, fork = NULL;
  cushim_builder_state state = (cushim_builder_state)0;
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 1);
  inside = body_of(body, NULL);
  if (outer_ends_first) CHECK_OK(cushim_builder_end(body, NULL));
  CHECK_OK(cushim_builder_begin(inside));
  CHECK_OK(cushim_builder_fork(inside, &fork, 1));
  append(fork, 1, 2);
  CHECK_OK(cushim_builder_close(builder));
  CHECK_OK(cushim_builder_get_state(inside, &state, NULL));
  CHECK(state == CUSHIM_BUILDER_CLOSED);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_end(inside, NULL));
  CHECK_OK(cushim_context_synchronize(all.context)); /* nothing captures any more */
  CHECK_OK(cushim_builder_destroy(fork));
  CHECK_OK(cushim_builder_destroy(inside));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* Another library has forked a stream from that of a body, and has not joined it: the body has its work all the same. */
static void forked_by_others(int closes) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_builder builder = begun(), body = body_of(builder, NULL);
  CUstream native = NULL, other = NULL;
  CUevent event = NULL;
  CHECK_OK(cushim_context_set_current(all.context));
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 1);
  CHECK_OK(cushim_stream_native(cushim_builder_stream(body), &native));
  CHECK_OK(cu->cuStreamCreate_2000(&other, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cu->cuEventCreate_2000(&event, CU_EVENT_DISABLE_TIMING));
  CHECK_OK(cu->cuEventRecord_2000(event, native));
  CHECK_OK(cu->cuStreamWaitEvent_3020(other, event, 0));
  CHECK_OK(cu->cuMemsetD32Async_3020(slot(1), 2, 1, other));
  if (closes) CHECK_OK(cushim_builder_close(body));
  else CHECK_OK(cushim_builder_end(body, NULL));
  CHECK(digits_of(builder) == 1200);
  CHECK_OK(cu->cuStreamDestroy_4000(other));
  CHECK_OK(cu->cuEventDestroy_4000(event));
  CHECK_OK(cu->cuCtxSetCurrent_4000(NULL));
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
}

static void bodies_that_are_given_up(void) {
  int i;
  for (i = 0; i < 4; i++) given_up_with_forks(i & 1, i & 2);
  for (i = 0; i < 2; i++) {
    given_up_inside(i);
    given_up_with_all(i);
    removed(i);
    forked_by_others(i);
  }
}

/* A body whose capture somebody invalidates takes the whole graph with it; calls on the rest say so. */
static void given_up(void) {
  cushim_builder builder = begun(), body = NULL;
  cushim_condition condition = condition_of(builder, 0), foreign = NULL;
  cushim_graph other = new_graph(), graph = NULL;
  cushim_arg args[2];
  uint64_t from = slot(VALUE);
  CUstream native = NULL;
  CHECK_OK(cushim_condition_create(other, NULL, &foreign));
  CHECK_OK(cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &body));
  CHECK_OK(cushim_builder_begin(body));
  CHECK_OK(cushim_stream_native(cushim_builder_stream(body), &native));
  CHECK_STATUS(900, table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuStreamSynchronize_2000(native));
  CHECK_STATUS(901, cushim_builder_end(body, &graph));
  args[0] = cushim_arg_make(CUSHIM_ARG_CONDITION, foreign);
  args[1] = CUSHIM_ARG(from);
  CHECK_STATUS(901, cushim_kernel_launch(conditions.choose, cushim_builder_stream(builder), NULL, args, 2));
  CHECK(cushim_builder_end(builder, &graph) != CUSHIM_SUCCESS && graph == NULL);
  CHECK_OK(cushim_builder_destroy(body));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(other));
}

/* A stream of the program's joins the body, and somebody invalidates that. */
static cushim_stream joined_and_invalid(cushim_builder body) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_stream joined = new_stream(all.context);
  CUstream native = NULL;
  CHECK_OK(cushim_builder_begin(body));
  append(body, 0, 1);
  CHECK_OK(cushim_stream_wait_stream(joined, cushim_builder_stream(body)));
  append_in(joined, 1, 2);
  CHECK_OK(cushim_stream_native(cushim_builder_stream(body), &native));
  CHECK_STATUS(900, cu->cuStreamSynchronize_2000(native));
  return joined;
}

static CUstreamCaptureStatus capturing(CUstream native) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK_OK(table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM)->cuStreamIsCapturing_10000(native, &status));
  return status;
}

static void is_free(cushim_stream stream) {
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK(capturing(native) == CU_STREAM_CAPTURE_STATUS_NONE);
  append_in(stream, 0, 3);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
}

static void gives_up(cushim_builder builder, int how) {
  cushim_graph graph = NULL;
  if (how == 0) CHECK(cushim_builder_end(builder, &graph) == 901 && graph == NULL);
  if (how == 1) CHECK_OK(cushim_builder_close(builder));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* An invalid body is ended, with the streams that joined it: when the capture around it has ended. */
static void invalid_bodies_end(int how_body, int how_outer) {
  cushim_builder builder = begun(), body = body_of(builder, NULL);
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = owned_slot(2, &owner);
  cushim_stream joined;
  CHECK_OK(cushim_stream_fill(cushim_builder_stream(builder), &to, CUSHIM_VALUE_32(5), 1));
  joined = joined_and_invalid(body);
  gives_up(body, how_body);
  gives_up(builder, how_outer);
  is_free(joined);
  CHECK(released_soon(&count, 1) == 1);
  CHECK_OK(cushim_context_synchronize(all.context));
}

/* One in a body of a graph that has been captured is ended at once. */
static void invalid_afterwards(int how) {
  cushim_builder builder = begun(), body = body_of(builder, NULL);
  cushim_graph graph = NULL;
  cushim_exec exec = NULL;
  cushim_stream joined;
  CHECK_OK(cushim_builder_end(builder, &graph));
  joined = joined_and_invalid(body);
  gives_up(body, how);
  is_free(joined);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* One in a body of a body waits for both; one beside another that is invalid, too, as well. */
static void several_invalid(void) {
  cushim_builder builder = begun(), first = body_of(builder, NULL), second = body_of(builder, NULL), inner;
  cushim_stream of_inner, of_second;
  CHECK_OK(cushim_builder_begin(first));
  inner = body_of(first, NULL);
  of_inner = joined_and_invalid(inner);
  of_second = joined_and_invalid(second);
  gives_up(inner, 0);
  gives_up(second, 2);
  CHECK(cushim_builder_end(first, NULL) == 901);
  gives_up(first, 2);
  gives_up(builder, 0);
  is_free(of_inner);
  is_free(of_second);
  CHECK_OK(cushim_context_synchronize(all.context));
}

static void invalidate(cushim_builder builder) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CUstream native = NULL;
  CHECK_OK(cushim_stream_native(cushim_builder_stream(builder), &native));
  CHECK_STATUS(900, cu->cuStreamSynchronize_2000(native));
}

/* An invalid body in another one ends; that other one stays, and is not missed: others capture. */
static void invalid_in_an_invalid_one(void) {
  cushim_builder builder = begun(), middle = body_of(builder, NULL), inner;
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = owned_slot(2, &owner);
  cushim_stream joined;
  CHECK_OK(cushim_stream_fill(cushim_builder_stream(builder), &to, CUSHIM_VALUE_32(5), 1));
  CHECK_OK(cushim_builder_begin(middle));
  inner = body_of(middle, NULL);
  joined = joined_and_invalid(inner);
  invalidate(middle);
  gives_up(inner, 0);
  CHECK(cushim_builder_end(middle, NULL) == 901);
  gives_up(middle, 2);
  gives_up(builder, 0);
  is_free(joined);
  CHECK(released_soon(&count, 1) == 1);
  given_up();
}

/* With the graph around it the driver has destroyed the body: its capture stays, and what has joined it, which says so. */
static void invalid_in_what_is_destroyed(int how_body, int how_outer) {
  cushim_builder builder = begun(), body = body_of(builder, NULL);
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = owned_slot(2, &owner);
  cushim_stream joined;
  CUstream native = NULL;
  CHECK_OK(cushim_stream_fill(cushim_builder_stream(builder), &to, CUSHIM_VALUE_32(5), 1));
  joined = joined_and_invalid(body);
  CHECK_OK(cushim_stream_native(joined, &native));
  invalidate(builder);
  gives_up(body, how_body);
  gives_up(builder, how_outer);
  to = cushim_endpoint_device(slot(0));
  CHECK(capturing(native) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CHECK_STATUS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cushim_stream_fill(joined, &to, CUSHIM_VALUE_32(5), 1));
  CHECK(released_soon(&count, 1) == 1);
  CHECK_STATUS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cushim_context_synchronize(all.context));
  CHECK_OK(cushim_stream_destroy(joined)); /* softcuda bears it */
}

static void every_invalid_body_ends(void) {
  int i;
  for (i = 0; i < 9; i++) invalid_bodies_end(i / 3, i % 3);
  for (i = 0; i < 3; i++) invalid_afterwards(i);
  several_invalid();
  /* From here on the context has a capture that stays. */
  invalid_in_an_invalid_one();
  for (i = 0; i < 9; i++) invalid_in_what_is_destroyed(i / 3, i % 3);
}

int main(void) {
  check_begin();
  if (!open_graphs()) return close_graphs();
  if (version >= 12030) {
    open_conditions();
    every_kind();
    nested();
    bodies_that_are_given_up();
    if (is_software(all.driver)) { /* what is left of the graphs stays */
      given_up();
      every_invalid_body_ends();
    }
    close_conditions();
  }
  return close_graphs();
}
