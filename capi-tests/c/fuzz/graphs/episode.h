/* An episode: calls on what earlier calls made, and everything given back at the end. */
#ifndef FUZZ_GRAPHS_EPISODE_H
#define FUZZ_GRAPHS_EPISODE_H

#include "../cleared.h"
#include "../faults.h"
#include "choose.h"

#include "control.h"

/* What a call has given. */

/* Adds a kernel to the body of a loop that ends the loop, in whichever context it is; else the loop goes. */
static void end_loop(cushim_graph body, cushim_node loop) {
  int of;
  for (of = 0; of < 2; of++) {
    cushim_condition condition = NULL;
    const uint32_t number = 0;
    cushim_arg args[3];
    must(cushim_node_get_condition(loop, &condition, NULL), "cushim_node_get_condition");
    args[0] = arg_of(CUSHIM_ARG_BYTES, 8, &device_memory);
    args[1] = arg_of(CUSHIM_ARG_BYTES, 4, &number);
    args[2] = arg_of(CUSHIM_ARG_CONDITION, 0, condition);
    if (cushim_graph_add_kernel(body, NULL, 0, guards[of], NULL, args, 3, NULL) == CUSHIM_SUCCESS) return;
  }
  must(cushim_node_remove(loop), "cushim_node_remove");
}

/* What ends a loop is nobody's to change: kernels are known by the functions that added them, and by no other. */
static int is_no_kernel(uint64_t node) {
  cushim_node_type type = CUSHIM_NODE_KERNEL;
  return cushim_node_get_type((cushim_node)(uintptr_t)node, &type) == CUSHIM_SUCCESS && type != CUSHIM_NODE_KERNEL;
}

static void note(const struct call *call, enum fuzz_kind kind, enum token_state state, uint64_t value) {
  struct token *token;
  if (kind == FUZZ_node && !mentions(call, "_add_") && token_with(value) == NOTHING && !is_no_kernel(value)) return;
  token = add_token(value, kind, state, call->function->name);
  if (kind == FUZZ_node || kind == FUZZ_condition) {
    if (token->graph == 0) token->graph = call->arguments[0];
    if (mentions(call, "cushim_builder_")) {
      cushim_graph graph = NULL;
      cushim_builder_get_graph((cushim_builder)(uintptr_t)call->arguments[0], &graph);
      token->graph = address_of(graph);
    }
  }
  if (is_named(call, "cushim_buffer_create")) {
    int32_t of = 0;
    /* Memory of graphs is there in a graph only, and what a kernel writes to is no smaller than that. */
    cushim_resource_get_kind((cushim_resource)(uintptr_t)call->arguments[0], &of);
    token->is_unfit = call->arguments[2] < 64 || of == CUSHIM_RESOURCE_GRAPH;
  }
  if (is_named(call, "cushim_buffer_ref")) token->is_unfit = tokens[token_with(call->arguments[0])].is_unfit;
}

static void note_array(const struct call *call, int at) {
  const struct fuzz_parameter *parameter = &call->function->parameters[at];
  const uint64_t *handles = (const uint64_t *)(const void *)rooms[at].bytes;
  int i;
  if (parameter->kind == FUZZ_none) return;
  /* Builders are the only ones that a call gives several of to own. */
  for (i = 0; i < 16 && handles[i] != 0; i++) note(call, (enum fuzz_kind)parameter->kind, parameter->kind == FUZZ_builder ? CLAIM : BORROWED, handles[i]);
}

static void note_pointer(const struct call *call) {
  uint64_t pointer = 0;
  int i;
  for (i = 0; i < call->function->parameter_count; i++) {
    if (strcmp(call->function->parameters[i].name, "pointer") == 0) memcpy(&pointer, rooms[i].bytes, sizeof pointer);
  }
  if (pointer != 0 && graph_pointer_count < MOST) graph_pointers[graph_pointer_count++] = pointer;
}

static void forget_pointer(uint64_t pointer) {
  int i;
  for (i = 0; i < graph_pointer_count; i++) {
    if (graph_pointers[i] == pointer) graph_pointers[i--] = graph_pointers[--graph_pointer_count];
  }
  if (graph_pointers_old > graph_pointer_count) graph_pointers_old = graph_pointer_count;
}

/* New memory can have an address that a graph had which is gone: by that it is not the program's to free. An arena does not tell its own. One
 * more reference is no new memory: its buffer may be a graph's which is gone, and the address the program's own by now. */
static void forget_address_of(const struct call *call, enum fuzz_kind kind, uint64_t handle) {
  if (kind == FUZZ_buffer && !is_named(call, "cushim_buffer_ref")) forget_pointer(cushim_buffer_pointer((cushim_buffer)(uintptr_t)handle));
  if (is_named(call, "cushim_resource_create_arena")) graph_pointers_old = graph_pointer_count;
}

/* A handle has ended, also when the driver did not release what it named; what the library refuses ends none. */
static void apply_end(const struct call *call) {
  int i;
  for (i = 0; i < call->function->parameter_count; i++) {
    const int token = call->function->parameters[i].role == ENDED ? token_with(call->arguments[i]) : NOTHING;
    if (token != NOTHING) tokens[token].state = ENDED_CLAIM;
  }
}

static void apply(const struct call *call) {
  int i;
  for (i = 0; i < call->function->parameter_count; i++) {
    const struct fuzz_parameter *parameter = &call->function->parameters[i];
    const enum fuzz_kind kind = (enum fuzz_kind)parameter->kind;
    uint64_t handle;
    if (call->arguments[i] == 0) continue;
    memcpy(&handle, rooms[i].bytes, sizeof handle);
    if (parameter->role == CLAIMED) {
      note(call, kind, CLAIM, handle);
      forget_address_of(call, kind, handle);
    }
    if (parameter->role == LENT) note(call, kind, BORROWED, handle);
    if (parameter->role == ARRAY) note_array(call, i);
  }
  owners_taken += call->owners;
  if (is_named(call, "cushim_graph_add_allocation") || is_named(call, "cushim_stream_allocate")) note_pointer(call);
  if (is_named(call, "cushim_stream_free")) forget_pointer(call->arguments[1]);
  if (is_named(call, "cushim_builder_begin") || is_named(call, "cushim_builder_fork")) {
    const uint64_t builder = is_named(call, "cushim_builder_fork") ? *(const uint64_t *)(const void *)rooms[1].bytes : call->arguments[0];
    add_token(address_of(cushim_builder_stream((cushim_builder)(uintptr_t)builder)), FUZZ_stream, BORROWED, "cushim_builder_stream");
  }
  if (is_named(call, "cushim_graph_add_conditional") && call->arguments[4] == CUSHIM_CONDITIONAL_WHILE) {
    cushim_graph body;
    cushim_node loop = NULL;
    memcpy(&body, rooms[7].bytes, sizeof body);
    must(cushim_graph_get_parent(body, &loop), "cushim_graph_get_parent");
    end_loop(body, loop);
  }
}

/* What a call may answer. */

/* Errors after which nothing works any more: no call here gives cause for one. */
static int is_sticky(cushim_status status) {
  return (status >= 700 && status < 720 && status != 704 && status != 705 && status != 708 && status != 709) || status == 999;
}

static void judge(const struct call *call, cushim_status status) {
  const int is_wrong = status == CUSHIM_ERROR_INTERNAL || status == CUSHIM_ERROR_FORKED || status == CUSHIM_ERROR_IN_CALLBACK || is_sticky(status);
  if (is_wrong || (status == CUSHIM_SUCCESS && call->is_bad)) fail("%s answers %d: %s", call->function->name, (int)status, cushim_last_error_message());
  if (status != CUSHIM_SUCCESS && cushim_last_error_message()[0] == '\0') fail("%s fails without a sentence", call->function->name);
}

/* What is freed waits for the work of its own context only: the end of a buffer after the work of a stream is the user's to order. */
static void order_after(const struct call *call) {
  int i;
  for (i = 0; i < call->function->parameter_count; i++) {
    if (call->function->parameters[i].kind == FUZZ_stream) (void)cushim_stream_synchronize((cushim_stream)(uintptr_t)call->arguments[i]);
  }
}

static void step(void) {
  struct fuzz_line *line = &progress->lines[progress->calls % LAST_LINES];
  struct call call;
  draw_call(&call);
  line->function = (int)(call.function - fuzz_functions);
  memcpy(line->arguments, call.arguments, sizeof call.arguments);
  progress->returned = 0;
  progress->calls++;
  faults_begin();
  line->status = call.function->call(call.arguments);
  progress->returned = 1;
  faults_end(line->status);
  if (settings.transcript) printf("%" PRIu64 ".%d %s %d\n", progress->episode, progress->step, call.function->name, (int)line->status);
  if (progress->alone == 2) show_line(stderr, line, 1);
  judge(&call, line->status);
  if (line->status == CUSHIM_SUCCESS && call.uses_buffer && !call.function->of_graphs) order_after(&call);
  if (line->status >= CUSHIM_SUCCESS) apply_end(&call);
  if (line->status == CUSHIM_SUCCESS) apply(&call);
  else check_results(call.function, call.arguments);
}

/* From the beginning to the end. */

static void begin(void) {
  cushim_device device;
  int of;
  token_count = graph_pointer_count = graph_pointers_old = 0;
  must(cushim_driver_open(NULL, &driver), "cushim_driver_open");
  if (settings.safe) return; /* calls have nothing to work on */
  must(cushim_driver_get_device(driver, 0, &device), "cushim_driver_get_device");
  must(cushim_context_retain_primary(device, &contexts[0]), "cushim_context_retain_primary");
  must(cushim_context_create(device, NULL, &contexts[1]), "cushim_context_create");
  must(cushim_context_allocate(contexts[0], PAGE, &device_memory), "cushim_context_allocate");
  add_token(address_of(device), FUZZ_device, BORROWED, "cushim_driver_get_device");
  for (of = 1; of >= 0; of--) {
    cushim_stream stream;
    cushim_context context;
    must(cushim_context_get_legacy_stream(contexts[of], &stream), "cushim_context_get_legacy_stream");
    must(cushim_stream_get_context(stream, &context), "cushim_stream_get_context");
    /* Most work is in one context, which comes more often. */
    add_token(address_of(context), FUZZ_context, BORROWED, "cushim_stream_get_context");
    open_code(of);
  }
}

/* Captures end with their builders, so these go first. */
static void destroy_claims(int builders) {
  const int start = token_count > 0 ? (int)below((uint64_t)token_count) : 0;
  int i;
  for (i = 0; i < token_count; i++) {
    struct token *token = &tokens[(start + i) % token_count];
    cushim_status status;
    if (token->state != CLAIM || (builders && token->kind != FUZZ_builder)) continue;
    status = fuzz_destroy(token->kind, token->value);
    token->state = ENDED_CLAIM;
    if (status != CUSHIM_SUCCESS) fail("destroying a %s at the end answers %d: %s", fuzz_kind_names[token->kind], (int)status, cushim_last_error_message());
  }
}

/* The driver has nothing left of what was made in it, soon. */
static void check_nothing_lives(void) {
  struct control control;
  int milliseconds;
  if (!find_control(&control)) return;
  for (milliseconds = 0; milliseconds < patience(); milliseconds++) {
    if (control.live_objects() == 0) return;
    usleep(1000);
  }
  if (progress->alone != 1) control.dump(STDERR_FILENO);
  fail("something is left behind in the driver");
}

static void end(void) {
  int i;
  if (settings.safe) {
    settle_owners();
    must(cushim_driver_destroy(driver), "cushim_driver_destroy");
    return;
  }
  destroy_claims(1);
  for (i = 0; i < 2; i++) must(cushim_context_synchronize(contexts[i]), "cushim_context_synchronize");
  destroy_claims(0);
  /* Most of it is not allocated; what is has no other owner by now, whose memory could have the address of a graph that is gone. */
  for (i = 0; i < graph_pointer_count; i++) (void)cushim_context_free(contexts[0], graph_pointers[i]);
  settle_owners();
  for (i = 0; i < 2; i++) close_code(i);
  must(cushim_context_free(contexts[0], device_memory), "cushim_context_free");
  for (i = 0; i < 2; i++) must(cushim_context_destroy(contexts[i]), "cushim_context_destroy");
  must(cushim_driver_destroy(driver), "cushim_driver_destroy");
  check_nothing_lives();
}

static void run_episode(uint64_t number) {
  const uint64_t seed = mixed(settings.seed ^ mixed(number));
  progress->episode = number;
  random_state = seed;
  begin();
  for (progress->step = 0; progress->step < STEPS; progress->step++) {
    if (progress->skipped[progress->step]) continue;
    /* Each step draws from numbers of its own, so that others can be left out. */
    random_state = mixed(seed + (uint64_t)progress->step);
    step();
  }
  random_state = seed + 1;
  end();
}

#endif
