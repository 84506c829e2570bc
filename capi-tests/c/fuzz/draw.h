/* Arguments: most of them good, some not. */
#ifndef FUZZ_DRAW_H
#define FUZZ_DRAW_H

#include "code.h"
#include "graphics.h"

/* Callbacks. */

static void nothing_to_do(void *data) { (void)data; }

static void nothing_to_say(void *user, int32_t level, const char *target, const char *message) {
  (void)user, (void)level, (void)target, (void)message;
}

static size_t shared_by_threads(void *data, uint32_t threads) {
  (void)data;
  return threads;
}

/* Everything else. */

static uint64_t draw_text(const struct plan *plan, const char *name) {
  static const char *const variables[] = {"counter", "everywhere", "store", ""};
  static const char *const files[] = {"/no/such.ptx", "/", ""};
  static const char *const labels[] = {"", "copy", "\xff\xfe", "a label that is longer than most labels are, and then some more of it"};
  static const char *const features[] = {"memory-pools", "green-contexts", "", "no-feature"};
  static const char *const names[] = {"cuInit", "cuMemAlloc", "cuNothing", ""};
  if (strcmp(name, "source") == 0) return address_of(once_in(8) ? "#error" : ""); /* of which the compiler makes something */
  if (strcmp(name, "feature") == 0) return address_of(features[below(4)]);
  if (strcmp(name, "path") == 0) return address_of(once_in(8) ? files[below(3)] : code_file());
  if (strcmp(name, "name") == 0 && mentions(plan, "kernel")) return address_of(once_in(8) ? variables[below(4)] : kernel_names[below(5)]);
  if (strcmp(name, "name") == 0 && mentions(plan, "library")) return address_of(variables[below(4)]);
  if (strcmp(name, "name") == 0) return address_of(names[below(4)]);
  return address_of(labels[below(4)]);
}

/* The driver's own handle of something that lives, and that no reset has taken: keeping it alive is the lender's duty. */
static uint64_t native_of_any(enum fuzz_kind kind) {
  const int start = object_count > 0 ? (int)below((uint64_t)object_count) : 0;
  int i;
  for (i = 0; i < object_count; i++) {
    const int at = (start + i) % object_count;
    if (objects[at].kind != kind || objects[at].native == 0 || !lives(at) || is_lost(at)) continue;
    if (kind != FUZZ_resource || objects[at].lends_pool) return objects[at].native;
  }
  return 0;
}

static uint64_t function_of_any(void) {
  int i;
  for (i = object_count - 1; i >= 0; i--) {
    if (objects[i].function != 0 && lives(i) && !is_lost(i)) return objects[i].function;
  }
  return 0;
}

static uint64_t draw_native(const char *type) {
  if (strcmp(type, "CUcontext") == 0) return native_of_any(FUZZ_context);
  if (strcmp(type, "CUevent") == 0) return native_of_any(FUZZ_event);
  if (strcmp(type, "CUkernel") == 0) return native_of_any(FUZZ_kernel);
  if (strcmp(type, "CUfunction") == 0) return function_of_any();
  if (strcmp(type, "CUmemoryPool") == 0) return native_of_any(FUZZ_resource);
  if (strcmp(type, "CUstream") != 0) return 0;
  return once_in(4) ? below(3) : native_of_any(FUZZ_stream);
}

static uint64_t draw_passed(const struct plan *plan, const struct fuzz_parameter *parameter) {
  const char *name = parameter->name;
  if (strncmp(parameter->type, "CU", 2) == 0) return draw_native(parameter->type);
  if (strcmp(name, "function") == 0) return once_in(4) ? 0 : (uint64_t)(uintptr_t)&nothing_to_do;
  if (strcmp(name, "shared_memory") == 0) return once_in(2) ? 0 : (uint64_t)(uintptr_t)&shared_by_threads;
  if (strcmp(name, "callback") == 0) return once_in(2) ? 0 : (uint64_t)(uintptr_t)&nothing_to_say;
  if (strcmp(name, "address") != 0) return below(2);
  if (parameter->lends == REGISTERED || parameter->frees == REGISTERED) return address_of(registered[below(PAGES)]);
  if (parameter->frees != NO_MEMORY) return a_memory(plan, parameter->frees, parameter->frees);
  return once_in(16) ? 0 : host_memory(plan);
}

/* One of the enumerators, mostly. */
static uint64_t draw_enumerator(const struct plan *plan, const struct fuzz_parameter *parameter) {
  const struct fuzz_values *values = parameter->values;
  if (strcmp(parameter->type, "cushim_ownership") == 0) {
    /* The pool is another's, who destroys it. */
    return mentions(plan, "pool") ? ONE_OF(CUSHIM_BORROWED, CUSHIM_BORROWED, 7)
                                  : ONE_OF(CUSHIM_BORROWED, CUSHIM_BORROWED, CUSHIM_BORROWED, CUSHIM_OWNED, 7);
  }
  if (settings.safe && strcmp(parameter->type, "CUlimit") == 0) return CU_LIMIT_STACK_SIZE;
  return once_in(8) ? drawn() : (uint64_t)values->values[below((uint64_t)values->count)];
}

static uint64_t draw_bytes(const struct plan *plan) {
  if (mentions(plan, "_allocate")) return ONE_OF(0, PAGE, PAGE, PAGE, 16 * PAGE, (uint64_t)1 << 60);
  if (mentions(plan, "_create")) return ONE_OF(0, 1, 64, PAGE, LARGEST, (uint64_t)1 << 60);
  return mentions(plan, "register") ? ONE_OF(0, PAGE, PAGE) : size_of_copy();
}

static uint64_t draw_value(const struct plan *plan, const struct fuzz_parameter *parameter) {
  const char *name = parameter->name;
  if (parameter->values != NULL) return draw_enumerator(plan, parameter);
  if (parameter->is_flags && mentions(plan, "_register_gl_") && !once_in(8)) return ONE_OF(0, CUSHIM_GRAPHICS_READ_ONLY, CUSHIM_GRAPHICS_WRITE_DISCARD);
  if (parameter->is_flags && is_named(plan, "cushim_buffer_sleep")) return ONE_OF(0, 0, CUSHIM_SLEEP_KEEP_CONTENTS, CUSHIM_SLEEP_KEEP_CONTENTS, 2);
  if (parameter->is_flags) return settings.safe ? below(4) : below(20);
  if (parameter->frees != NO_MEMORY) return a_memory(plan, parameter->frees, parameter->frees);
  if (parameter->is_address && strcmp(name, "address") != 0) return device_memory(plan);
  if (parameter->is_address) return once_in(2) ? device_memory(plan) : once_in(4) ? drawn() : host_memory(plan);
  if (mentions(plan, "_register_gl_") && strcmp(name, "name") == 0) return draw_gl_name(plan);
  if (mentions(plan, "_register_gl_") && strcmp(name, "target") == 0) return once_in(8) ? below(8) : (uint64_t)GL_TEXTURE_2D;
  if (strcmp(name, "bytes") == 0) return draw_bytes(plan);
  if (strcmp(name, "size") == 0 && (mentions(plan, "_export") || mentions(plan, "_import")) && !once_in(4)) return CUSHIM_DESCRIPTOR_BYTES;
  if (strcmp(name, "size") == 0) return ONE_OF(0, 1, 8, 256);
  if (strcmp(name, "count") == 0 && mentions(plan, "_parts") && !once_in(4)) return 1;
  if (strcmp(name, "stride") == 0) return ONE_OF(sizeof(cushim_drain_item), sizeof(cushim_drain_item), 16, 15, 0);
  if (strcmp(name, "count") == 0 || strcmp(name, "width") == 0) return mentions(plan, "_fill") && once_in(32) ? UINT64_MAX : ONE_OF(0, 1, 8, 16);
  if (strcmp(name, "height") == 0) return once_in(32) ? UINT64_MAX : below(5);
  if (strcmp(name, "pitch") == 0) return ONE_OF(0, 7, 64, 128);
  if (strcmp(name, "value_size") == 0) return ONE_OF(1, 2, 4, 4, 3, 0);
  if (strcmp(name, "ordinal") == 0) return ONE_OF(0, 0, 0, settings.safe ? 0 : 1, UINT64_MAX, 99);
  if (strcmp(name, "shared_bytes") == 0) return ONE_OF(0, 0, 1024, 49152, 1 << 20, UINT64_MAX);
  if (strcmp(name, "threads") == 0) return ONE_OF(0, 1, 32, 64, 1024, 1025, UINT32_MAX);
  if (strcmp(name, "blocks") == 0) return ONE_OF(0, 1, 2, 64, UINT32_MAX);
  if (strcmp(name, "offset") == 0) return once_in(16) ? UINT64_MAX - below(64) : ONE_OF(0, 0, 4, 64, PAGE);
  if (strcmp(name, "limit") == 0) return ONE_OF(0, 0, 64, 1024, UINT32_MAX);
  if (strcmp(name, "value") == 0) return ONE_OF(0, 1024, 4096);
  if (strcmp(name, "abi") == 0) return ONE_OF(2000, 3020, 11040, 0);
  if (strcmp(name, "index") == 0) return ONE_OF(0, 1, 100, 100000);
  if (strcmp(name, "nanoseconds") == 0 && is_named(plan, "cushim_flush_callbacks")) return 0;
  if (strcmp(name, "nanoseconds") == 0) return ONE_OF(0, 0, 1000);
  return once_in(4) ? parameter->example : below(5);
}

static int is_of(const struct fuzz_parameter *parameter, const char *type) { return strcmp(parameter->type, type) == 0; }

/* Two members of four bytes each, as several types have them at the beginning. */
static void draw_pair(const struct fuzz_parameter *parameter, unsigned char *room) {
  uint32_t pair[2] = {0, 0};
  if (is_of(parameter, "cushim_stream_options")) {
    pair[0] = (uint32_t)ONE_OF(0, 0, 0, UINT64_MAX, 100);
    pair[1] = (uint32_t)ONE_OF(0, 0, 1, 2);
  } else if (is_of(parameter, "cushim_event_options")) {
    pair[0] = (uint32_t)below(9);
  } else if (is_of(parameter, "cushim_context_options")) {
    pair[0] = (uint32_t)ONE_OF(0, 0, 1, 2, 4, 7);
  } else if (is_of(parameter, "cushim_batch_options")) {
    pair[0] = (uint32_t)ONE_OF(0, 0, 1, 2);
  }
  memcpy(room + 8, pair, sizeof pair);
}

static void draw_options(struct plan *plan, const struct fuzz_parameter *parameter, unsigned char *room) {
  uint64_t size = once_in(16) ? ONE_OF(0, 7, 8, PAGE) : parameter->size;
  void *options = room;
  if (is_of(parameter, "cushim_launch_config")) draw_config(plan, (cushim_launch_config *)options);
  else if (is_of(parameter, "cushim_library_options")) draw_library_options((cushim_library_options *)options);
  else if (is_of(parameter, "cushim_resource_functions")) draw_functions((cushim_resource_functions *)options);
  else if (is_of(parameter, "cushim_device_pool_options")) draw_pool_options((cushim_device_pool_options *)options);
  else if (is_of(parameter, "cushim_pinned_options")) draw_pinned_options((cushim_pinned_options *)options);
  else if (is_of(parameter, "cushim_virtual_options")) draw_virtual_options((cushim_virtual_options *)options);
  else if (is_of(parameter, "cushim_managed_options")) draw_managed_options((cushim_managed_options *)options);
  else if (is_of(parameter, "cushim_dlpack_options")) draw_tensor_options((cushim_dlpack_options *)options);
  else draw_pair(parameter, room);
  /* The struct of an older program ends sooner. */
  if (size < parameter->size) memset(room + sizeof size, 0, parameter->size - sizeof size);
  memcpy(room, &size, sizeof size);
}

static void draw_handles(struct plan *plan, uint64_t *handles, enum fuzz_kind kind) {
  int i;
  for (i = 0; i < ITEMS; i++) handles[i] = draw_inner(plan, kind);
}

static void draw_read(struct plan *plan, const struct fuzz_parameter *parameter, void *room) {
  if (is_of(parameter, "cushim_endpoint")) {
    *(cushim_endpoint *)room = mentions(plan, "_fill") ? draw_place_to_set(plan) : draw_place(plan);
  } else if (is_of(parameter, "cushim_region")) {
    *(cushim_region *)room = draw_region(plan);
  } else if (is_of(parameter, "cushim_extent")) {
    *(cushim_extent *)room = draw_extent();
  } else if (is_of(parameter, "cushim_location")) {
    draw_locations((cushim_location *)room);
  } else if (is_of(parameter, "cushim_range")) {
    draw_ranges(plan, (cushim_range *)room);
  } else if (is_of(parameter, "cushim_copy")) {
    draw_copies(plan, (cushim_copy *)room);
  } else if (is_of(parameter, "cushim_memory_operation")) {
    draw_memory_operations(plan, (cushim_memory_operation *)room);
  } else if (is_of(parameter, "cushim_copy_attributes")) {
    draw_copy_attributes((cushim_copy_attributes *)room);
  } else if (is_of(parameter, "cushim_device")) {
    draw_handles(plan, (uint64_t *)room, FUZZ_device);
  } else if (is_of(parameter, "cushim_program")) {
    draw_handles(plan, (uint64_t *)room, FUZZ_program);
  } else if (is_of(parameter, "cushim_owner")) {
    cushim_owner *owner = (cushim_owner *)room;
    owner->data = pages;
    owner->release = once_in(3) ? NULL : &release_owner;
  } else if (strcmp(parameter->name, "value") == 0) {
    *(uint32_t *)room = (uint32_t)drawn();
  }
}

/*
 * Whether the object is of those that the function is for: pools of another process, and virtual memory, which must be this process's to
 * sleep, and asleep to wake.
 */
static int suits(const struct plan *plan, const struct object *it) {
  static const char *const of_virtual_memory[] = {"cushim_buffer_grow", "cushim_buffer_get_part_count", "cushim_buffer_export_parts"};
  size_t i;
  if (it->kind == FUZZ_resource) {
    if (is_named(plan, "cushim_buffer_import")) return it->imported;
    return it->is_virtual && (is_named(plan, "cushim_buffer_import_parts") || (is_named(plan, "cushim_buffer_create") && once_in(2)));
  }
  if (it->kind != FUZZ_buffer || it->parent == NOTHING || !objects[it->parent].is_virtual) return 0;
  if (is_named(plan, "cushim_buffer_sleep")) return !it->imported && !it->asleep;
  if (is_named(plan, "cushim_buffer_wake")) return it->asleep;
  for (i = 0; i < sizeof of_virtual_memory / sizeof *of_virtual_memory; i++) {
    if (is_named(plan, of_virtual_memory[i])) return 1;
  }
  return 0;
}

/* A handle for the function, of those that few objects have, if there is one. */
static uint64_t draw_suitable(const struct plan *plan, enum fuzz_kind kind) {
  const int start = token_count > 0 ? (int)below((uint64_t)token_count) : 0;
  int i;
  for (i = 0; i < token_count && !once_in(8); i++) {
    const struct token *it = &tokens[(start + i) % token_count];
    if (it->kind == kind && it->state != ENDED_CLAIM && lives(it->object) && suits(plan, &objects[it->object])) return it->value;
  }
  return draw_handle(kind);
}

static void draw_argument(struct plan *plan, int at) {
  const struct fuzz_parameter *parameter = &plan->function->parameters[at];
  unsigned char *room = rooms[at].bytes;
  uint64_t *argument = &plan->arguments[at];
  uint64_t size;
  const int points = parameter->role >= TEXT;
  if (points && once_in(parameter->nullable ? 3 : 32)) {
    /* What may be NULL where its size says that there is nothing is drawn together with that. */
    if (parameter->sized_by >= 0) plan->doubtful = 1;
    else if (!parameter->nullable) demand(plan, CUSHIM_ERROR_INVALID_ARGUMENT);
    return;
  }
  switch (parameter->role) {
  case VALUE:
    plan->doubtful = 1;
    *argument = draw_value(plan, parameter);
    return;
  case HANDLE:
  case ENDED:
    *argument = draw_suitable(plan, (enum fuzz_kind)parameter->kind);
    judge_handle(plan, at);
    return;
  case PASSED:
    plan->doubtful = 1;
    *argument = draw_passed(plan, parameter);
    return;
  case TEXT:
    plan->doubtful |= strcmp(parameter->name, "label") != 0;
    *argument = draw_text(plan, parameter->name);
    return;
  case READ:
  case OPTIONS:
    plan->doubtful = 1;
    memset(room, 0, ROOM);
    if (parameter->role == READ) draw_read(plan, parameter, room);
    else draw_options(plan, parameter, room);
    break;
  case FILLED:
    memset(room, 0xee, ROOM);
    size = once_in(16) ? ONE_OF(0, 7, 8, PAGE) : parameter->size;
    plan->doubtful |= size != parameter->size;
    memcpy(room, &size, sizeof size);
    break;
  case ARRAY:
    memset(room, 0, ROOM);
    break;
  case PLACE:
  case CLAIMED:
  case LENT:
  case BUFFER: memset(room, 0xee, 256); break;
  }
  *argument = address_of(room);
}

#endif
