/* Which function is called next: those of graphs, and those whose work a graph can capture. */
#ifndef FUZZ_GRAPHS_CHOOSE_H
#define FUZZ_GRAPHS_CHOOSE_H

#include "draw.h"

enum { MOST_CLAIMS = 48 };

static int chosen_functions[FUNCTIONS];
static int chosen_count;

static int is_beside_graphs(const char *name) {
  static const char *const names[] = {
      "cushim_stream_create", "cushim_stream_ref", "cushim_stream_destroy", "cushim_stream_get_context", "cushim_stream_query",
      "cushim_stream_synchronize", "cushim_stream_wait_event", "cushim_stream_wait_stream", "cushim_stream_copy", "cushim_stream_copy_3d",
      "cushim_stream_fill", "cushim_stream_fill_2d", "cushim_stream_launch_host_function", "cushim_stream_launch_host_function_bytes",
      "cushim_stream_memory_operations", "cushim_stream_allocate", "cushim_stream_free", "cushim_event_create", "cushim_event_destroy",
      "cushim_event_record", "cushim_event_query", "cushim_event_synchronize", "cushim_buffer_create", "cushim_buffer_ref", "cushim_buffer_destroy",
      "cushim_buffer_get_pointer", "cushim_kernel_launch", "cushim_kernel_launch_packed", "cushim_kernel_ref", "cushim_kernel_destroy",
      "cushim_resource_create_device", "cushim_resource_create_managed", "cushim_resource_destroy", "cushim_context_synchronize",
      "cushim_context_get_legacy_stream", "cushim_set_label", "cushim_describe", "cushim_same"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return 1;
  }
  return 0;
}

static void choose_from(void) {
  int i;
  for (i = 0; i < FUNCTIONS; i++) {
    if (fuzz_functions[i].of_graphs || is_beside_graphs(fuzz_functions[i].name)) chosen_functions[chosen_count++] = i;
  }
}

static int function_named(const char *name) {
  int i;
  for (i = 0; i < FUNCTIONS; i++) {
    if (strcmp(fuzz_functions[i].name, name) == 0) return i;
  }
  fail("there is no function %s", name);
}

/* With which an episode starts, so that there is something to call the others on. */
static int opening_function(int step) {
  static const char *const opening[] = {"cushim_stream_create", "cushim_stream_create", "cushim_event_create", "cushim_event_create",
                                        "cushim_resource_create_device", "cushim_buffer_create", "cushim_buffer_create", "cushim_graph_create",
                                        "cushim_graph_add_kernel", "cushim_graph_add_fill", "cushim_graph_add_copy", "cushim_exec_create",
                                        "cushim_graph_create", "cushim_condition_create", "cushim_graph_add_conditional", "cushim_graph_add_kernel",
                                        "cushim_builder_create", "cushim_builder_begin", "cushim_kernel_launch", "cushim_exec_launch"};
  return step < (int)(sizeof opening / sizeof *opening) ? function_named(opening[step]) : NOTHING;
}

/* The destroy function of a claim, where there are many; else any function. */
static int choose_function(void) {
  const int opening = opening_function(progress->step);
  char name[64];
  int i;
  if (opening != NOTHING && !once_in(8)) return opening;
  for (i = 0; i < 16 && live_claims() > MOST_CLAIMS; i++) {
    const struct token *it = &tokens[below((uint64_t)token_count)];
    if (it->state != CLAIM) continue;
    snprintf(name, sizeof name, "cushim_%s_destroy", fuzz_kind_names[it->kind]);
    return function_named(name);
  }
  return chosen_functions[below((uint64_t)chosen_count)];
}

/* What is drawn apart and does not go together. */
static void fit(struct call *call) {
  /* The body of a loop is filled here, so it must be known. */
  if (is_named(call, "cushim_graph_add_conditional") && call->arguments[4] == CUSHIM_CONDITIONAL_WHILE) {
    if (guards[0] == NULL) call->arguments[4] = CUSHIM_CONDITIONAL_IF;
    else if (call->arguments[7] == 0) call->arguments[7] = address_of(rooms[7].bytes);
  }
  if (is_named(call, "cushim_graph_add_conditional") && !once_in(8)) {
    call->arguments[5] = call->arguments[4] == CUSHIM_CONDITIONAL_IF_ELSE ? 2 : call->arguments[4] == CUSHIM_CONDITIONAL_SWITCH ? 3 : 1;
  }
}

static void draw_call(struct call *call) {
  int i;
  memset(call, 0, sizeof *call);
  call->function = &fuzz_functions[choose_function()];
  for (i = 0; i < call->function->parameter_count; i++) draw_argument(call, i);
  fit(call);
}

#endif
