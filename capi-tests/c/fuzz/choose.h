/* Which function is called next. */
#ifndef FUZZ_CHOOSE_H
#define FUZZ_CHOOSE_H

#include "fit.h"

enum { MOST_CLAIMS = 40 };

static struct fuzz_line *line;

/* Costly, or with an effect on all that follows. */
static int is_rare(const char *name) {
  static const char *const rare[] = {"cushim_driver_open",     "cushim_context_create", "cushim_log_set_callback",
                                     "cushim_log_set_pull",    "cushim_context_set_limit"};
  static const char *const costly[] = {"cushim_library_load", "cushim_library_load_file"};
  size_t i;
  for (i = 0; i < sizeof rare / sizeof *rare; i++) {
    if (strcmp(name, rare[i]) == 0) return 16;
  }
  for (i = 0; i < sizeof costly / sizeof *costly; i++) {
    if (strcmp(name, costly[i]) == 0) return 4;
  }
  return strcmp(name, "cushim_device_reset_primary_context") == 0 ? 256 : 1;
}

/*
 * What a real driver does not bear: driver 580 crashes where a stream of a reset context is used. What may be current on
 * the thread is then limited to the context that never goes, and contexts are left as they are.
 */
static int is_unsafe(const char *name) {
  static const char *const unsafe[] = {"cushim_device_reset_primary_context", "cushim_context_push",
                                       "cushim_context_set_current", "cushim_context_set_limit"};
  size_t i;
  for (i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
    if (strcmp(name, unsafe[i]) == 0) return 1;
  }
  return 0;
}

static int function_named(const char *name) {
  int i;
  for (i = 0; i < FUNCTIONS && strcmp(fuzz_functions[i].name, name) != 0; i++) {
  }
  return i < FUNCTIONS ? i : NOTHING;
}

static int something_sleeps(void) {
  int i;
  for (i = 0; i < object_count; i++) {
    if (objects[i].asleep && lives(i)) return 1;
  }
  return 0;
}

static int choose_function(void) {
  if (something_sleeps() && once_in(32)) return function_named("cushim_buffer_wake");
  for (;;) {
    const int chosen = (int)below(FUNCTIONS);
    const struct fuzz_function *function = &fuzz_functions[chosen];
    if (function->of_graphs || (settings.safe && is_unsafe(function->name))) continue;
    if (has_gl() && strcmp(function->name, "cushim_driver_open") == 0) continue; /* it opens another one */
    if (once_in((uint64_t)is_rare(function->name))) return chosen;
  }
}

/* The destroy function of a claim, where there are many. */
static int choose_destroy(uint64_t *claim) {
  int i, kind;
  *claim = 0;
  for (i = 0; i < 16; i++) {
    const struct token *it = &tokens[below((uint64_t)token_count)];
    if (it->state != CLAIM) continue;
    *claim = it->value;
    for (kind = 0; kind < FUNCTIONS; kind++) {
      const struct fuzz_parameter *first = fuzz_functions[kind].parameters;
      if (fuzz_functions[kind].parameter_count == 1 && first->role == ENDED && first->kind == (int)it->kind) return kind;
    }
  }
  return choose_function();
}

/* With which an episode starts, so that there is something to call the others on. */
static int opening_function(int step) {
  static const char *const opening[] = {"cushim_context_retain_primary",      "cushim_context_create",    "cushim_stream_create",
                                        "cushim_stream_create",               "cushim_event_create",      "cushim_event_create",
                                        "cushim_context_allocate",            "cushim_stream_allocate",   "cushim_library_load",
                                        "cushim_kernel_create",               "cushim_kernel_create",     "cushim_resource_create_managed",
                                        "cushim_buffer_create",
                                        "cushim_resource_create_device_pool", "cushim_resource_allocate", "cushim_buffer_create_default",
                                        "cushim_buffer_create",               "cushim_buffer_create",
                                        "cushim_resource_create_virtual",     "cushim_resource_import",
                                        "cushim_buffer_create",               "cushim_buffer_import"};
  if (step >= (int)(sizeof opening / sizeof *opening)) return NOTHING;
  if (step == 1 && !once_in(8)) return NOTHING; /* costly */
  return function_named(opening[step]);
}

/* Buffers of the call, one after the other, as arguments or in structs; NOTHING after the last. */
static int buffer_of(const struct plan *plan, int at) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    const int object = plan->objects[i];
    if (object != NOTHING && objects[object].kind == FUZZ_buffer && at-- == 0) return object;
  }
  return at < plan->used_count ? plan->used[at] : NOTHING;
}

/* Whether the call enqueues work, or does it. */
static int works(const struct plan *plan) {
  return mentions(plan, "copy") || mentions(plan, "fill") || mentions(plan, "launch") || mentions(plan, "prefetch") || mentions(plan, "discard") ||
         mentions(plan, "advise") || mentions(plan, "scratch") || mentions(plan, "range") || mentions(plan, "memory_operations") || mentions(plan, "accessed");
}

/* Waits for all work of the stream in whose order the buffer's memory comes and goes. */
static void settle(int buffer) {
  cushim_stream stream = NULL;
  int i;
  for (i = 0; i < token_count; i++) {
    if (tokens[i].object == buffer && tokens[i].state != ENDED_CLAIM) break;
  }
  if (i == token_count || cushim_buffer_get_stream((cushim_buffer)(uintptr_t)tokens[i].value, &stream) != CUSHIM_SUCCESS) return;
  if (stream == NULL || cushim_stream_synchronize(stream) == CUSHIM_SUCCESS) objects[buffer].settled = 1;
}

/* What sleeps is used by no work of other streams. */
static void wait_for_all(void) {
  int i;
  for (i = 0; i < token_count; i++) {
    if (tokens[i].kind != FUZZ_context || tokens[i].state == ENDED_CLAIM || is_lost(tokens[i].object)) continue;
    (void)cushim_context_synchronize((cushim_context)(uintptr_t)tokens[i].value);
  }
  (void)cushim_context_synchronize(root_context);
}

/* What is the user's to order: the use of a buffer in another stream than that of its memory, and a change of that. */
static void order_before(const struct plan *plan) {
  const int user = user_of_memory(plan), reorders = mentions(plan, "set_stream") || mentions(plan, "destroy_on");
  int i, buffer;
  if (is_named(plan, "cushim_buffer_sleep")) wait_for_all();
  if (!works(plan) && !reorders) return;
  for (i = 0; (buffer = buffer_of(plan, i)) != NOTHING; i++) {
    const struct object *it = &objects[buffer];
    if (it->stream != NOTHING && it->stream != user && (reorders || !it->settled)) settle(buffer);
  }
}

static void order_after(const struct plan *plan) {
  const int user = user_of_memory(plan);
  int i, at, buffer, elsewhere = 0;
  if (!works(plan) || user == NOTHING) return;
  for (i = 0; (buffer = buffer_of(plan, i)) != NOTHING; i++) {
    const struct object *it = &objects[buffer];
    /* What was taken in is let go of by another thread. */
    elsewhere |= it->children > 0 || (it->parent != NOTHING && objects[it->parent].kind == FUZZ_buffer);
    /* What is freed at once waits for the work of its own context. */
    elsewhere |= it->ordered ? it->stream != user : it->source != ancestor(user, FUZZ_context);
  }
  for (at = 0; at < PARAMETERS && plan->objects[at] != user; at++) {
  }
  if (!elsewhere) return;
  if (objects[user].kind == FUZZ_stream) cushim_stream_synchronize((cushim_stream)(uintptr_t)plan->arguments[at]);
  if (objects[user].kind == FUZZ_context) cushim_context_synchronize((cushim_context)(uintptr_t)plan->arguments[at]);
}

static void clear_plan(struct plan *plan) {
  int i;
  if (plan->given != NULL) free(plan->given);
  memset(plan, 0, sizeof *plan);
  for (i = 0; i < PARAMETERS; i++) plan->objects[i] = NOTHING;
}

static void draw_call(struct plan *plan, int chosen) {
  int i;
  clear_plan(plan);
  plan->function = &fuzz_functions[chosen];
  line->function = chosen;
  for (i = 0; i < plan->function->parameter_count; i++) draw_argument(plan, i);
  fit(plan);
}

static struct plan draw_plan(void) {
  struct plan plan;
  uint64_t claim = 0;
  int chosen;
  memset(&plan, 0, sizeof plan);
  chosen = opening_function(progress->step);
  if (chosen == NOTHING) chosen = live_claims() > MOST_CLAIMS && once_in(2) ? choose_destroy(&claim) : choose_function();
  if (claim != 0) {
    clear_plan(&plan);
    plan.function = &fuzz_functions[chosen];
    line->function = chosen;
    plan.arguments[0] = claim;
    judge_handle(&plan, 0);
    return plan;
  }
  draw_call(&plan, chosen);
  return plan;
}

#endif
