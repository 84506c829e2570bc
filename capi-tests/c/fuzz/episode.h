/* An episode: calls on what earlier calls made, each checked against the model, and everything given back at the end. */
#ifndef FUZZ_EPISODE_H
#define FUZZ_EPISODE_H

#include "draw.h"

#include "../control.h"

enum { MOST_CLAIMS = 24, NANOSECONDS_PER_SECOND = 1000000000 };

static struct fuzz_line *line;

static void must(cushim_status status, const char *what) {
  if (status != CUSHIM_SUCCESS) fail("%s answers %d: %s", what, (int)status, cushim_last_error_message());
}

/* Which call. */

/* Costly, or with an effect on all that follows. */
static int is_rare(const char *name) {
  static const char *const rare[] = {"cushim_driver_open",     "cushim_context_create", "cushim_log_set_callback",
                                     "cushim_log_set_pull",    "cushim_context_set_limit"};
  size_t i;
  for (i = 0; i < sizeof rare / sizeof *rare; i++) {
    if (strcmp(name, rare[i]) == 0) return 16;
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

static int choose_function(void) {
  for (;;) {
    const int chosen = (int)below(FUNCTIONS);
    const struct fuzz_function *function = &fuzz_functions[chosen];
    if (settings.safe && is_unsafe(function->name)) continue;
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
  static const char *const opening[] = {"cushim_context_retain_primary", "cushim_context_create", "cushim_stream_create",
                                        "cushim_stream_create",          "cushim_event_create",   "cushim_event_create",
                                        "cushim_context_allocate",       "cushim_stream_allocate"};
  int i;
  if (step >= (int)(sizeof opening / sizeof *opening)) return NOTHING;
  if (step == 1 && !once_in(8)) return NOTHING; /* costly */
  for (i = 0; i < FUNCTIONS; i++) {
    if (strcmp(fuzz_functions[i].name, opening[step]) == 0) return i;
  }
  return NOTHING;
}

static struct plan draw_plan(void) {
  struct plan plan;
  uint64_t claim = 0;
  int i, chosen;
  memset(&plan, 0, sizeof plan);
  for (i = 0; i < PARAMETERS; i++) plan.objects[i] = NOTHING;
  chosen = opening_function(progress->step);
  if (chosen == NOTHING) chosen = live_claims() > MOST_CLAIMS && once_in(2) ? choose_destroy(&claim) : choose_function();
  plan.function = &fuzz_functions[chosen];
  line->function = chosen;
  if (claim != 0) {
    plan.arguments[0] = claim;
    judge_handle(&plan, 0);
    return plan;
  }
  for (i = 0; i < plan.function->parameter_count; i++) draw_argument(&plan, i);
  return plan;
}

/* What must come of it. */

static int any_lost(const struct plan *plan) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    if (plan->objects[i] != NOTHING && is_lost(plan->objects[i])) return 1;
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
                                      "cushim_context_get_id", "cushim_stream_get_id", "cushim_device_can_access_peer"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (is_named(plan, names[i])) return 1;
  }
  return 0;
}

/* Whether the driver is "none", which has little to offer. */
static int is_none(void) {
  static int known = -1;
  cushim_driver_info info;
  if (known >= 0) return known;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  must(cushim_driver_get_info(root_driver, &info), "cushim_driver_get_info");
  return known = info.kind == CUSHIM_DRIVER_KIND_NONE;
}

/* Errors after which nothing works any more: no call here gives cause for one. */
static int is_sticky(cushim_status status) { return (status >= 700 && status != 708 && status != 709 && status != 712 && status != 713 && status < 720) || status == 999; }

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
    return (may & bit(status)) != 0;
  }
  if (status == CUSHIM_SUCCESS) return 1;
  if (status == CUSHIM_ERROR_INVALID_HANDLE) return plan->unsure;
  if (status == CUSHIM_ERROR_UNSUPPORTED && is_none()) return plan->function->reaches_driver || plan->doubtful;
  if (status == CUSHIM_ERROR_ALREADY_DESTROYED || status == CUSHIM_ERROR_STREAM_REQUIRED) return 0;
  if (status == CUSHIM_ERROR_INVALID_ARGUMENT) return plan->doubtful;
  if (any_lost(plan)) return plan->function->reaches_driver;
  if (status == CUDA_ERROR_CONTEXT_IS_DESTROYED && gone_may_be_current()) return plan->function->reaches_driver;
  if (is_sticky(status)) return 0;
  if (plan->doubtful || plan->unsure) return 1;
  return plan->function->reaches_driver && (!in_one_context(plan) || depends_on_more(plan));
}

static int is_zero(const unsigned char *bytes, size_t size) {
  size_t i;
  for (i = 0; i < size; i++) {
    if (bytes[i] != 0) return 0;
  }
  return 1;
}

/* Nothing is left where a result of a failed call would be. */
static void check_cleared(const struct plan *plan) {
  int i;
  for (i = 0; i < plan->function->parameter_count; i++) {
    const struct fuzz_parameter *parameter = &plan->function->parameters[i];
    const int is_result = parameter->role == PLACE || parameter->role == CLAIMED || parameter->role == LENT;
    if (!is_result || plan->arguments[i] == 0) continue;
    if (!is_zero(rooms[i].bytes, parameter->size)) fail("%s of a failed call is not cleared", parameter->name);
  }
}

/* What follows from it. */

static uint64_t native_of(enum fuzz_kind kind, uint64_t handle) {
  CUcontext context = NULL;
  CUstream stream = NULL;
  CUevent event = NULL;
  if (kind == FUZZ_context) cushim_context_native((cushim_context)(uintptr_t)handle, &context);
  if (kind == FUZZ_stream) cushim_stream_native((cushim_stream)(uintptr_t)handle, &stream);
  if (kind == FUZZ_event) cushim_event_native((cushim_event)(uintptr_t)handle, &event);
  return address_of(context) + address_of(stream) + address_of(event);
}

/* The object that owns this native handle. Default streams are told by small numbers, which many share. */
static int object_with(enum fuzz_kind kind, uint64_t native) {
  int i;
  for (i = object_count - 1; i >= 0 && native > 2; i--) {
    if (objects[i].kind == kind && objects[i].native == native && lives(i) && !is_lost(i)) return i;
  }
  return NOTHING;
}

static int is_same(uint64_t a, uint64_t b) {
  int32_t same = 0;
  must(cushim_same((const void *)(uintptr_t)a, (const void *)(uintptr_t)b, &same), "cushim_same");
  return same;
}

static int living_token_of(int object) {
  int i;
  for (i = 0; i < token_count; i++) {
    if (tokens[i].object == object && tokens[i].state == CLAIM) return i;
  }
  return NOTHING;
}

/* What a new claim is on. */
static int object_of_claim(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  const uint64_t native = native_of(kind, handle);
  int object = NOTHING, other;
  if (kind == FUZZ_driver) object = 0;
  else if (mentions(plan, "_ref")) object = subject(plan);
  else object = object_with(kind, native);
  if (object == NOTHING) {
    object = add_object(kind, subject(plan));
    /* What was wrapped and is nobody's here is another object each time. */
    objects[object].native = mentions(plan, "_wrap") ? 0 : native;
    objects[object].primary = is_named(plan, "cushim_context_retain_primary");
  } else if ((other = living_token_of(object)) != NOTHING && !is_same(handle, tokens[other].value)) {
    fail("this is not the object that it should be");
  }
  return object;
}

static void take_claim(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  int object;
  if (handle == 0) {
    if (!is_named(plan, "cushim_error_take")) fail("success without a handle");
    return;
  }
  if (token_with(handle) != NOTHING) fail("the handle was given out before");
  object = kind == FUZZ_error && !mentions(plan, "_ref") ? add_object(kind, NOTHING) : object_of_claim(plan, kind, handle);
  add_token(handle, kind, CLAIM, object);
}

static void take_borrowed(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  const int known = handle == 0 ? NOTHING : token_with(handle);
  const int object = known != NOTHING ? tokens[known].object : kind == FUZZ_device && is_named(plan, "cushim_driver_get_device") ? add_object(kind, 0) : subject(plan) == NOTHING ? NOTHING : ancestor(subject(plan), kind);
  if (handle == 0 || object == NOTHING) return;
  if (known != NOTHING && tokens[known].state != BORROWED) fail("a claim as a borrowed handle");
  if (objects[object].borrowed != 0 && objects[object].borrowed != handle && lives(object)) fail("another borrowed handle of the same object");
  objects[object].borrowed = handle;
  if (known == NOTHING) add_token(handle, kind, BORROWED, object);
}

static void forget_at(uint64_t address, enum memory_kind kind) {
  const int at = memory_at(address, kind);
  if (at != NOTHING) forget_memory(at);
}

static void apply_memory(const struct plan *plan) {
  const uint64_t given = plan->arguments[1];
  uint64_t made[PARAMETERS];
  int i;
  for (i = 0; i < PARAMETERS; i++) memcpy(&made[i], rooms[i].bytes, sizeof made[i]);
  if (is_named(plan, "cushim_context_allocate")) add_memory(PLAIN, made[2], subject(plan));
  else if (is_named(plan, "cushim_stream_allocate")) add_memory(OF_STREAM, made[2], subject(plan));
  else if (is_named(plan, "cushim_context_allocate_host")) add_memory(PINNED, made[3], subject(plan));
  else if (is_named(plan, "cushim_context_register_host")) add_memory(REGISTERED, given, subject(plan));
  else if (is_named(plan, "cushim_context_free")) forget_at(given, PLAIN);
  else if (is_named(plan, "cushim_stream_free")) forget_at(given, OF_STREAM);
  else if (is_named(plan, "cushim_context_free_host")) forget_at(given, PINNED);
  else if (is_named(plan, "cushim_context_unregister_host")) forget_at(given, REGISTERED);
}

static void count_drained(const struct plan *plan) {
  const size_t stride = (size_t)plan->arguments[1];
  size_t i, count;
  memcpy(&count, rooms[3].bytes, sizeof count);
  for (i = 0; i < count; i++) {
    int32_t kind;
    memcpy(&kind, rooms[0].bytes + i * stride, sizeof kind);
    owners_drained += kind == CUSHIM_ITEM_RELEASE;
  }
}

static void apply(const struct plan *plan) {
  int i;
  for (i = 0; i < plan->function->parameter_count; i++) {
    const struct fuzz_parameter *parameter = &plan->function->parameters[i];
    const enum fuzz_kind kind = (enum fuzz_kind)parameter->kind;
    uint64_t handle;
    memcpy(&handle, rooms[i].bytes, sizeof handle);
    if (parameter->role == ENDED && plan->arguments[i] != 0) end_claim(token_with(plan->arguments[i]));
    if (plan->arguments[i] == 0) continue;
    if (parameter->role == CLAIMED) take_claim(plan, kind, handle);
    if (parameter->role == LENT) take_borrowed(plan, kind, handle);
    if (parameter->role == READ && strcmp(parameter->type, "cushim_owner") == 0) owners_taken++;
  }
  if (mentions(plan, "alloc") || mentions(plan, "free") || mentions(plan, "register")) apply_memory(plan);
  else if (is_named(plan, "cushim_stream_push_current")) current_streams[current_stream_count++] = subject(plan);
  else if (is_named(plan, "cushim_stream_pop_current")) current_stream_count--;
  else if (is_named(plan, "cushim_context_push") || is_named(plan, "cushim_context_set_current")) objects[subject(plan)].was_current = 1;
  else if (is_named(plan, "cushim_device_reset_primary_context")) lose_primary(subject(plan));
  else if (is_named(plan, "cushim_drain")) count_drained(plan);
}

static void step(void) {
  struct plan plan;
  line = &progress->lines[progress->calls % LAST_LINES];
  plan = draw_plan();
  memcpy(line->arguments, plan.arguments, sizeof plan.arguments);
  progress->returned = 0;
  progress->calls++;
  line->status = plan.function->call(plan.arguments);
  progress->returned = 1;
  if (settings.transcript) {
    /* Whether work is done yet is no property of the driver. */
    const int races = line->status == CUDA_ERROR_NOT_READY || (is_named(&plan, "cushim_event_elapsed") && line->status == 0);
    printf("%" PRIu64 ".%d %s %d\n", progress->episode, progress->step, plan.function->name, races ? 0 : (int)line->status);
  }
  if (progress->alone == 2) show_line(stderr, line, 1);
  if (!is_as_it_must_be(&plan, line->status)) {
    fail("%s answers %d (demanded 0x%x, doubtful %d, unsure %d): %s", plan.function->name, (int)line->status, plan.demanded,
         plan.doubtful, plan.unsure, cushim_last_error_message());
  }
  if (line->status == CUSHIM_SUCCESS) apply(&plan);
  else check_cleared(&plan);
}

/* From the beginning to the end. */

static int device_object;

/* The driver is the first object, its first device the second, the primary context of that the third. */
static void begin(void) {
  cushim_device device;
  object_count = token_count = memory_count = current_stream_count = 0;
  if (root_driver == NULL) must(cushim_driver_open(NULL, &root_driver), "cushim_driver_open");
  must(cushim_driver_get_device(root_driver, 0, &device), "cushim_driver_get_device");
  if (root_context == NULL) must(cushim_context_retain_primary(device, &root_context), "cushim_context_retain_primary");
  add_object(FUZZ_driver, NOTHING);
  objects[0].claims = 1;
  device_object = add_object(FUZZ_device, 0);
  add_token(address_of(device), FUZZ_device, BORROWED, device_object);
  objects[device_object].borrowed = address_of(device);
  objects[add_object(FUZZ_context, device_object)].claims = 1;
  objects[2].primary = 1;
  objects[2].native = native_of(FUZZ_context, address_of(root_context));
}

static void free_memory(const struct memory *memory) {
  void *address = (void *)(uintptr_t)memory->address;
  cushim_status status = CUSHIM_SUCCESS;
  switch (memory->kind) {
  case PLAIN:
  case OF_STREAM: status = cushim_context_free(root_context, memory->address); break;
  case PINNED: status = cushim_context_free_host(root_context, address); break;
  case REGISTERED: status = cushim_context_unregister_host(root_context, address); break;
  }
  /* A reset has taken it, perhaps. */
  if (status != CUSHIM_SUCCESS && !is_lost(2) && !is_lost(memory->object)) must(status, "giving memory back");
}

/* Claims in any order. */
static void destroy_claims(void) {
  const int start = token_count > 0 ? (int)below((uint64_t)token_count) : 0;
  int i;
  for (i = 0; i < token_count; i++) {
    const int at = (start + i) % token_count;
    cushim_status status;
    if (tokens[at].state != CLAIM) continue;
    status = fuzz_destroy(tokens[at].kind, tokens[at].value);
    if (status != CUSHIM_SUCCESS) fail("destroying a %s at the end answers %d: %s", fuzz_kind_names[tokens[at].kind], (int)status, cushim_last_error_message());
    end_claim(at);
  }
  for (i = 0; i < token_count; i += 7) {
    if (tokens[i].state != ENDED_CLAIM) continue;
    if (fuzz_destroy(tokens[i].kind, tokens[i].value) != CUSHIM_ERROR_ALREADY_DESTROYED) fail("a %s is destroyed twice", fuzz_kind_names[tokens[i].kind]);
  }
}

static void drain_all(void) {
  cushim_item items[4];
  size_t count = 0, i;
  do {
    must(cushim_drain(items, sizeof *items, 4, &count), "cushim_drain");
    for (i = 0; i < count; i++) owners_drained += items[i].kind == CUSHIM_ITEM_RELEASE;
  } while (count > 0);
}

/*
 * Every owner is released or drained, soon: one whose function runs while its context is reset, when that
 * returns. Under softcuda's lazy schedule what nobody waits for runs after a second.
 */
static void settle_owners(void) {
  int32_t done = 0;
  int milliseconds;
  must(cushim_flush_callbacks(10000, &done), "cushim_flush_callbacks");
  if (!done) fail("owners are not released within ten seconds");
  for (milliseconds = 0; milliseconds < 3000; milliseconds++) {
    drain_all();
    if (owners_taken == __atomic_load_n(&owners_released, __ATOMIC_RELAXED) + owners_drained) return;
    usleep(1000);
  }
  fail("%" PRIu64 " owners were lent, %" PRIu64 " released and %" PRIu64 " drained", owners_taken, owners_released, owners_drained);
}

/* The driver has nothing left of what was made in it, soon: a function that waits in a stream keeps its context. */
static void check_nothing_lives(void) {
  struct control control;
  int milliseconds;
  if (!find_control(&control)) return;
  for (milliseconds = 0; milliseconds < 3000; milliseconds++) {
    if (control.live_objects() == 0) return;
    usleep(1000);
  }
  if (progress->alone != 1) control.dump(STDERR_FILENO);
  fail("something is left behind in the driver");
}

/* At the end of an episode nothing lives. A reset may have made the root's context another one than it was. */
static void end(void) {
  cushim_context context;
  cushim_device device;
  int i;
  must(cushim_log_set_callback(NULL, NULL, NULL, 0), "cushim_log_set_callback");
  while (current_stream_count-- > 0) must(cushim_stream_pop_current(NULL), "cushim_stream_pop_current");
  while (cushim_context_pop(root_driver, &context, NULL) == CUSHIM_SUCCESS) {
  }
  cushim_context_clear_current(root_driver);
  if (is_lost(2)) {
    must(cushim_context_destroy(root_context), "cushim_context_destroy");
    must(cushim_driver_get_device(root_driver, 0, &device), "cushim_driver_get_device");
    must(cushim_context_retain_primary(device, &root_context), "cushim_context_retain_primary");
  }
  for (i = 0; i < object_count; i++) {
    const int token = objects[i].kind == FUZZ_context ? living_token_of(i) : NOTHING;
    if (token == NOTHING || is_lost(i)) continue;
    must(cushim_context_synchronize((cushim_context)(uintptr_t)tokens[token].value), "cushim_context_synchronize");
  }
  must(cushim_context_synchronize(root_context), "cushim_context_synchronize");
  for (i = 0; i < memory_count; i++) free_memory(&memories[i]);
  destroy_claims();
  settle_owners();
  if (settings.safe) return; /* a primary context is slow to come up again */
  must(cushim_context_destroy(root_context), "cushim_context_destroy");
  must(cushim_driver_destroy(root_driver), "cushim_driver_destroy");
  root_context = NULL;
  root_driver = NULL;
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
