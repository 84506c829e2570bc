/*
 * Every call of the driver that a capture makes fails once, from the first call of a builder to its end, forks and bodies included: the
 * error is told by the call that met it, nothing is left in the driver, owners are released once, and the same capture then succeeds.
 * Where a call can do without the driver's answer, the graph works and keeps what it uses all the same.
 */
#include "../common/builders.h"

static struct control control;
static int releases[3]; /* of the owners of a memset, a host function and a body */
static int lent[3];
static int calls;

static void count_call(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST); }

static cushim_status fill_owned(cushim_stream stream, int index, uint32_t number, int which) {
  const cushim_owner owner = counted(&releases[which]);
  cushim_endpoint to = owned_slot(index, &owner);
  cushim_status status = cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(number), 1);
  if (status == CUSHIM_SUCCESS) lent[which] = 1; /* a failed call has taken nothing over */
  return status;
}

static cushim_status launch(cushim_stream stream, int index, uint32_t digit) {
  const uint64_t to = slot(index);
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  return cushim_kernel_launch(all.kernel, stream, NULL, args, 2);
}

#define TRY(call)                                    \
  do {                                               \
    cushim_status tried = (call);                    \
    if (tried != CUSHIM_SUCCESS) return tried;       \
  } while (0)

/* What is made on the way, given up where it fails. */
struct made {
  cushim_builder builder, fork, body;
  cushim_graph graph;
};

static cushim_status body_in(struct made *made) {
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  cushim_condition condition = NULL;
  options.initial = 1;
  options.flags = CUSHIM_CONDITION_RESET;
  TRY(cushim_builder_create_condition(made->builder, &options, &condition));
  TRY(cushim_builder_add_conditional(made->builder, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &made->body));
  TRY(cushim_builder_begin(made->body));
  TRY(fill_owned(cushim_builder_stream(made->body), 2, 8, 2));
  return cushim_builder_end(made->body, NULL);
}

static cushim_status capture(struct made *made) {
  cushim_owner owner = counted(&releases[1]);
  cushim_stream stream;
  TRY(cushim_builder_create(all.context, NULL, &made->builder));
  TRY(cushim_builder_begin(made->builder));
  stream = cushim_builder_stream(made->builder);
  TRY(fill_owned(stream, 0, 4, 0));
  TRY(launch(stream, 0, 2));
  TRY(cushim_builder_fork(made->builder, &made->fork, 1));
  TRY(launch(cushim_builder_stream(made->fork), 1, 7));
  TRY(cushim_stream_launch_host_function(stream, count_call, &calls, &owner));
  lent[1] = 1;
  TRY(cushim_builder_join(made->builder, &made->fork, 1));
  if (version >= 12030) TRY(body_in(made));
  return cushim_builder_end(made->builder, &made->graph);
}

static void give_up(struct made *made) {
  CHECK_OK(cushim_graph_destroy(made->graph));
  CHECK_OK(cushim_builder_destroy(made->body));
  CHECK_OK(cushim_builder_destroy(made->fork));
  CHECK_OK(cushim_builder_destroy(made->builder));
}

static int holds(int passed, int ordinal, const char *what) {
  char line[160];
  snprintf(line, sizeof line, "call %d fails: %s", ordinal, what);
  return check_that(passed, __FILE__, __LINE__, line);
}

static void works(cushim_graph graph, int ordinal) {
  calls = 0;
  holds(result_of(graph) == 42 && number_at(slot(1)) == 7 && calls == 1, ordinal, "the graph works");
  if (version >= 12030) holds(number_at(slot(2)) == 8, ordinal, "the body works");
}

static void owners_are_released(int ordinal) {
  int i;
  for (i = 0; i < 3; i++) holds(released_soon(&releases[i], lent[i]) == lent[i], ordinal, "each owner that was taken over is released once");
}

static struct made once(cushim_status *status) {
  struct made made;
  memset(&made, 0, sizeof made);
  memset(releases, 0, sizeof releases);
  memset(lent, 0, sizeof lent);
  *status = capture(&made);
  return made;
}

/* Whether the call was made. */
static int fails(int ordinal) {
  cushim_status status;
  struct made made;
  uint64_t hits;
  size_t live;
  char fault[32];
  flush_callbacks();
  live = control.live_objects();
  control.calls_reset();
  snprintf(fault, sizeof fault, "*#%d=2", ordinal);
  CHECK(control.fault_set(fault) == 0);
  made = once(&status);
  hits = control.fault_hits();
  control.fault_clear();
  if (status == CUSHIM_SUCCESS) works(made.graph, ordinal);
  else holds(status == CUDA_ERROR_OUT_OF_MEMORY, ordinal, "the status is the driver's");
  give_up(&made);
  owners_are_released(ordinal);
  /* What went on had failed to destroy an event, which nobody can help. */
  holds(control.live_objects() <= live + (hits != 0 && status == CUSHIM_SUCCESS), ordinal, "nothing is left in the driver");
  made = once(&status);
  holds(status == CUSHIM_SUCCESS, ordinal, "the same then succeeds");
  if (status == CUSHIM_SUCCESS) works(made.graph, ordinal);
  give_up(&made);
  owners_are_released(ordinal);
  return hits != 0;
}

static cushim_status two_nodes(cushim_builder builder, int which) {
  TRY(fill_owned(cushim_builder_stream(builder), 0, 4, which));
  TRY(launch(cushim_builder_stream(builder), 0, 2 + (uint32_t)which));
  return cushim_builder_end(builder, NULL);
}

static cushim_status capture_again(struct made *made) {
  TRY(cushim_builder_create(all.context, NULL, &made->builder));
  TRY(cushim_builder_recapture(made->builder, made->graph));
  return two_nodes(made->builder, 1);
}

/* The same of a capture into a graph that exists: what was instantiated from it goes on, whatever becomes of the graph. */
static int fails_again(int ordinal) {
  cushim_builder builder = begun();
  cushim_status status;
  struct made made;
  cushim_exec exec;
  uint64_t hits;
  size_t live;
  char fault[32];
  memset(&made, 0, sizeof made);
  memset(releases, 0, sizeof releases);
  memset(lent, 0, sizeof lent);
  flush_callbacks();
  CHECK_OK(cushim_builder_close(builder));
  CHECK_OK(cushim_builder_destroy(builder));
  live = control.live_objects();
  builder = begun();
  CHECK_OK(two_nodes(builder, 0));
  CHECK_OK(cushim_builder_get_graph(builder, &made.graph));
  CHECK_OK(cushim_graph_ref(made.graph, &made.graph));
  CHECK_OK(cushim_builder_destroy(builder));
  exec = new_exec(made.graph);
  control.calls_reset();
  snprintf(fault, sizeof fault, "*#%d=2", ordinal);
  CHECK(control.fault_set(fault) == 0);
  status = capture_again(&made);
  hits = control.fault_hits();
  control.fault_clear();
  holds(status == CUSHIM_SUCCESS || status == CUDA_ERROR_OUT_OF_MEMORY, ordinal, "the status is the driver's");
  holds(result_of_exec(exec) == 42, ordinal, "the exec goes on");
  if (status == CUSHIM_SUCCESS) {
    CHECK_OK(cushim_exec_update(exec, made.graph, NULL));
    holds(result_of_exec(exec) == 43, ordinal, "the graph works");
  }
  give_up(&made);
  holds(result_of_exec(exec) == 42 + (status == CUSHIM_SUCCESS), ordinal, "the exec goes on without the graph");
  CHECK_OK(cushim_exec_destroy(exec));
  owners_are_released(ordinal);
  holds(control.live_objects() <= live + (hits != 0 && status == CUSHIM_SUCCESS), ordinal, "nothing is left in the driver");
  return hits != 0;
}

int main(void) {
  int ordinal = 1, again = 1;
  check_begin();
  if (!open_graphs() || !CHECK(find_control(&control))) return close_graphs();
  (void)fails(100000); /* what is made once is there from now on */
  while (fails(ordinal) && ordinal < 1000) ordinal++;
  CHECK(ordinal > 30 && ordinal < 1000);
  if (version >= 13030) {
    while (fails_again(again) && again < 1000) again++;
    CHECK(again > 10 && again < 1000);
  }
  printf("%d calls of the driver failed\n", ordinal + again - 2);
  return close_graphs();
}
