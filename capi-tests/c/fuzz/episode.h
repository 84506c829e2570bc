/* An episode: calls on what earlier calls made, each checked against the model, and everything given back at the end. */
#ifndef FUZZ_EPISODE_H
#define FUZZ_EPISODE_H

#include "effects.h"
#include "faults.h"
#include "others.h"

#include "control.h"

static void step(void) {
  struct plan plan;
  line = &progress->lines[progress->calls % LAST_LINES];
  plan = draw_plan();
  memcpy(line->arguments, plan.arguments, sizeof plan.arguments);
  order_before(&plan);
  progress->returned = 0;
  progress->calls++;
  faults_begin();
  line->status = plan.function->call(plan.arguments);
  progress->returned = 1;
  faults_end(line->status);
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
  if (line->status == CUSHIM_SUCCESS) {
    progress->succeeded[line->function]++;
    order_after(&plan);
    apply(&plan);
  } else {
    apply_failure(&plan, line->status);
  }
  if (tensor_count > 8) delete_given_out((int)below((uint64_t)tensor_count));
  clear_plan(&plan);
  if (once_in(64)) ask_others();
}

/* From the beginning to the end. */

static int device_object;

/* The driver is the first object, its first device the second, the primary context of that the third. */
static void begin(void) {
  cushim_device device;
  meet_another();
  object_count = token_count = memory_count = stranded_count = tensor_count = current_stream_count = 0;
  if (root_driver == NULL) must(cushim_driver_open(NULL, &root_driver), "cushim_driver_open");
  must(cushim_driver_get_device(root_driver, 0, &device), "cushim_driver_get_device");
  if (root_context == NULL && !settings.safe && !is_none() && once_in(4)) {
    open_gl();
    must(cushim_driver_get_device(root_driver, 0, &device), "cushim_driver_get_device");
  }
  if (root_context == NULL) must(cushim_context_retain_primary(device, &root_context), "cushim_context_retain_primary");
  add_object(FUZZ_driver, NOTHING);
  objects[0].claims = 1;
  device_object = add_object(FUZZ_device, 0);
  add_token(address_of(device), FUZZ_device, BORROWED, device_object);
  objects[device_object].borrowed = address_of(device);
  note_device(device_object, address_of(device));
  objects[add_object(FUZZ_context, device_object)].claims = 1;
  objects[2].primary = 1;
  objects[2].native = native_of(FUZZ_context, address_of(root_context));
  lent_memory = 0;
  if (!is_none()) must(cushim_context_allocate(root_context, PAGE, &lent_memory), "cushim_context_allocate");
  make_gl_memory();
  memset(arena_states, 0, sizeof arena_states);
  arena_used = arena_misused = 0;
}

/* The resource may be gone. What is page-locked and no pool's is freed by another function; the driver knows which it is. */
static cushim_status free_of_resource(const struct memory *memory) {
  void *address = (void *)(uintptr_t)memory->address;
  const int piece = piece_at(memory->address);
  if (piece != NOTHING) {
    arena_states[piece] = FREED;
    return CUSHIM_SUCCESS;
  }
  return cushim_context_free(root_context, memory->address) == CUSHIM_SUCCESS ? CUSHIM_SUCCESS : cushim_context_free_host(root_context, address);
}

static void free_memory(const struct memory *memory) {
  void *address = (void *)(uintptr_t)memory->address;
  cushim_status status = CUSHIM_SUCCESS;
  switch (memory->kind) {
  case PLAIN:
  case OF_STREAM: status = cushim_context_free(root_context, memory->address); break;
  case PINNED: status = cushim_context_free_host(root_context, address); break;
  case OF_RESOURCE: status = free_of_resource(memory); break;
  case REGISTERED: status = cushim_context_unregister_host(root_context, address); break;
  case NO_MEMORY: break;
  }
  /* A reset has taken it, perhaps. */
  if (status != CUSHIM_SUCCESS && !is_lost(2) && !is_lost(memory->object) && !(memory->stream != NOTHING && is_lost(memory->stream))) must(status, "giving memory back");
}

/* What a reset has left of pools. */
static void free_stranded(void) {
  int i;
  for (i = 0; i < stranded_count && i < MOST; i++) must(free_of_resource(&stranded[i]), "giving back the memory of a pool whose context is gone");
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
    if (status == KEEPS && tokens[at].kind == FUZZ_buffer) status = CUSHIM_SUCCESS;
    if (tokens[at].kind == FUZZ_buffer && is_lost(tokens[at].object)) status = CUSHIM_SUCCESS;
    if (status != CUSHIM_SUCCESS) fail("destroying a %s at the end answers %d: %s", fuzz_kind_names[tokens[at].kind], (int)status, cushim_last_error_message());
    end_claim(at);
  }
  for (i = 0; i < token_count; i += 7) {
    if (tokens[i].state != ENDED_CLAIM) continue;
    if (fuzz_destroy(tokens[i].kind, tokens[i].value) != CUSHIM_ERROR_ALREADY_DESTROYED) fail("a %s is destroyed twice", fuzz_kind_names[tokens[i].kind]);
  }
}

static void drain_all(void) {
  cushim_drain_item items[4];
  size_t count = 0, i;
  do {
    must(cushim_drain(items, sizeof *items, 4, &count), "cushim_drain");
    for (i = 0; i < count; i++) owners_drained += items[i].kind == CUSHIM_DRAIN_RELEASE;
  } while (count > 0);
}

/*
 * Every owner is released or drained, soon: one whose function runs while its context is reset, when that
 * returns. Under softcuda's lazy schedule what nobody waits for runs after a second.
 */
static void settle_owners(void) {
  int32_t done = 0;
  int milliseconds;
  must(cushim_flush_callbacks(10000000000ull, &done), "cushim_flush_callbacks");
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

static int count_files(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  if (folder == NULL) fail("/proc/self/fd cannot be read");
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

/* No file stays open, but for those that the process has once: the code's, the queue's, the driver's own. */
static void check_files(void) {
  enum { ONCE = 8 };
  static int first;
  const int now = count_files();
  if (first == 0) first = now;
  if (now > first + ONCE) fail("%d files are open, and after the first episode it were %d", now, first);
}

/* What resources of the program's own have given out has come back, once. */
static void check_arena(void) {
  int i;
  if (arena_misused) fail("a free function is called for what is not allocated");
  for (i = 0; i < PIECES; i++) {
    if (arena_states[i] == IN_USE) fail("a free function is not called for what was allocated");
  }
}

/* Devices have no resources of the episode any more. */
static void reset_device_resources(void) {
  int i;
  for (i = 0; i < token_count; i++) {
    if (tokens[i].kind != FUZZ_device || tokens[i].state != BORROWED) continue;
    must(cushim_device_set_resource((cushim_device)(uintptr_t)tokens[i].value, NULL), "cushim_device_set_resource");
    set_device_resource(tokens[i].object, NOTHING);
  }
}

/* A context may have no handle any more, and its streams some. What frees a pool's memory outside of its stream waits for nothing. */
static void synchronize_streams(void) {
  int i;
  for (i = 0; i < object_count; i++) {
    const int token = objects[i].kind == FUZZ_stream ? living_token_of(i) : NOTHING;
    if (token == NOTHING || is_lost(i)) continue;
    must(cushim_stream_synchronize((cushim_stream)(uintptr_t)tokens[token].value), "cushim_stream_synchronize");
  }
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
  synchronize_streams();
  while (memory_count > 0) free_memory(&memories[--memory_count]);
  reset_device_resources();
  while (tensor_count > 0) delete_given_out(0);
  destroy_claims();
  settle_owners();
  free_stranded();
  check_arena();
  forget_own_exports();
  if (lent_memory != 0 && !is_lost(2)) must(cushim_context_free(root_context, lent_memory), "cushim_context_free");
  free_gl_memory(is_lost(2));
  if (settings.safe) return; /* a primary context is slow to come up again */
  must(cushim_context_destroy(root_context), "cushim_context_destroy");
  must(cushim_driver_destroy(root_driver), "cushim_driver_destroy");
  close_gl();
  root_context = NULL;
  root_driver = NULL;
  check_nothing_lives();
  check_files();
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
