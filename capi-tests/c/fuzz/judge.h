/* What a call must answer. */
#ifndef FUZZ_JUDGE_H
#define FUZZ_JUDGE_H

#include "choose.h"
#include "cleared.h"

static int any_lost(const struct plan *plan) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    if (plan->objects[i] != NOTHING && is_lost(plan->objects[i])) return 1;
  }
  for (i = 0; i < plan->used_count; i++) {
    if (is_lost(plan->used[i])) return 1;
  }
  for (i = 0; i < plan->inner_count; i++) {
    if (is_lost(plan->inner[i])) return 1;
  }
  return current_stream_count > 0 && is_lost(current_streams[current_stream_count - 1]);
}

/* Whether a context may be current that is gone: below the topmost one it stays on the thread's stack. */
static int gone_may_be_current(void) {
  int i;
  for (i = 0; i < object_count; i++) {
    if (objects[i].was_current && (!lives(i) || is_lost(i))) return 1;
  }
  return 0;
}

/* Whether all handles are of one context, or of none. */
static int in_one_context(const struct plan *plan) {
  int i, found = NOTHING;
  for (i = 0; i < PARAMETERS; i++) {
    const int context = plan->objects[i] == NOTHING ? NOTHING : ancestor(plan->objects[i], FUZZ_context);
    if (context == NOTHING) continue;
    if (found != NOTHING && found != context) return 0;
    found = context;
  }
  return 1;
}

/* Functions that look at more than their arguments. */
static int depends_on_more(const struct plan *plan) {
  static const char *const names[] = {"cushim_context_pop", "cushim_context_get_current", "cushim_event_elapsed",
                                      "cushim_context_get_id", "cushim_stream_get_id", "cushim_device_can_access_peer",
                                      "cushim_context_enable_peer_access", "cushim_context_disable_peer_access"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (is_named(plan, names[i])) return 1;
  }
  return 0;
}

/* Errors after which nothing works any more: no call here gives cause for one. A file that is none of the driver's it does not know. */
static int is_sticky(const struct plan *plan, cushim_status status) {
  static const cushim_status harmless[] = {704, 705, 708, 709, 712, 713}; /* of peers, contexts and registered memory */
  size_t i;
  for (i = 0; i < sizeof harmless / sizeof *harmless; i++) {
    if (status == harmless[i]) return 0;
  }
  if (status == 999) return imported_by(plan) == EXPORTED_KINDS;
  return status >= 700 && status < 720;
}

static int takes_current_stream(const struct plan *plan) {
  return is_named(plan, "cushim_stream_pop_current") || is_named(plan, "cushim_stream_get_current");
}

static int is_as_it_must_be(const struct plan *plan, cushim_status status) {
  unsigned may = plan->demanded;
  if (status == CUSHIM_ERROR_INTERNAL || status == CUSHIM_ERROR_FORKED || status == CUSHIM_ERROR_IN_CALLBACK) return 0;
  if (takes_current_stream(plan)) {
    if (current_stream_count == 0) may |= bit(CUSHIM_ERROR_STREAM_REQUIRED);
    else if (is_named(plan, "cushim_stream_get_current") && !lives(current_streams[current_stream_count - 1])) may |= bit(CUSHIM_ERROR_INVALID_HANDLE) | (plan->demanded ? 0 : bit(0));
  }
  if (may != 0) {
    if (plan->doubtful) may |= bit(CUSHIM_ERROR_INVALID_ARGUMENT);
    if (plan->unsure) may |= bit(CUSHIM_ERROR_INVALID_HANDLE);
    may |= plan->allowed;
    return (may & bit(status)) != 0;
  }
  if (status >= DECLINES) return plan->function->reaches_driver;
  if (status == CUSHIM_SUCCESS || (plan->allowed & bit(status)) != 0) return 1;
  if (status == CUSHIM_ERROR_INVALID_HANDLE) return plan->unsure;
  if (status == CUSHIM_ERROR_UNSUPPORTED) return plan->function->may_lack || (is_none() && (plan->function->reaches_driver || plan->doubtful));
  if (status == CUSHIM_ERROR_ALREADY_DESTROYED || status == CUSHIM_ERROR_STREAM_REQUIRED) return 0;
  if (status == CUSHIM_ERROR_INVALID_ARGUMENT) return plan->doubtful;
  if (any_lost(plan)) return plan->function->reaches_driver;
  if (status == CUDA_ERROR_CONTEXT_IS_DESTROYED && gone_may_be_current()) return plan->function->reaches_driver;
  if (is_sticky(plan, status)) return 0;
  if (plan->doubtful || plan->unsure) return 1;
  return plan->function->reaches_driver && (!in_one_context(plan) || depends_on_more(plan));
}

/* Whether the claim is ended in spite of the failure: what was to come of its end did not. */
static int is_ended(const struct plan *plan) {
  char text[8];
  const uint64_t handle = plan->arguments[0];
  const int known = plan->function->parameter_count > 0 && plan->function->parameters[0].role == ENDED ? token_with(handle) : NOTHING;
  if (known == NOTHING || tokens[known].state != CLAIM || plan->objects[0] == NOTHING) return 0;
  return cushim_same((const void *)(uintptr_t)handle, (const void *)(uintptr_t)handle, (int32_t *)(void *)text) == CUSHIM_ERROR_INVALID_HANDLE;
}

static void check_cleared(const struct plan *plan) { check_results(plan->function, plan->arguments); }

#endif
