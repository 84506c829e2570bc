/* Arguments: most of them good, some not, and what the call must answer to those that are not. */
#ifndef FUZZ_DRAW_H
#define FUZZ_DRAW_H

#include "model.h"

enum { PAGES = 8, PAGE = 4096, ROOM = 8192 };

/* The program's own memory. */
static unsigned char pages[PAGES][PAGE] __attribute__((aligned(4096)));
/* And what of it is registered: nothing is copied there, as nobody may unregister what a copy still uses. */
static unsigned char registered[PAGES][PAGE] __attribute__((aligned(4096)));
/* Where what comes out of a call is put, a place for each parameter. */
static union {
  uint64_t aligned;
  unsigned char bytes[ROOM];
} rooms[PARAMETERS];

/* A call to be made. */
struct plan {
  const struct fuzz_function *function;
  uint64_t arguments[PARAMETERS];
  int objects[PARAMETERS]; /* those that handles name, or NOTHING */
  unsigned demanded;       /* statuses one of which must come, as bits; 0 if no argument is bad */
  int doubtful;            /* some argument may be refused */
  int unsure;              /* some handle may be of an object that is gone */
};

static unsigned bit(cushim_status status) { return status <= 0 && status > -32 ? 1u << -status : 0; }

static uint64_t address_of(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

static int is_named(const struct plan *plan, const char *name) { return strcmp(plan->function->name, name) == 0; }

static int mentions(const struct plan *plan, const char *part) { return strstr(plan->function->name, part) != NULL; }

/* Handles. */

enum handle_choice { ANY_TOKEN, LIVING, ENDED_ONE };

/* A token that the model has. */
static uint64_t a_token(enum fuzz_kind kind, enum handle_choice choice) {
  const int start = token_count > 0 ? (int)below((uint64_t)token_count) : 0;
  int i;
  for (i = 0; i < token_count; i++) {
    const struct token *it = &tokens[(start + i) % token_count];
    if (kind != FUZZ_any && it->kind != kind) continue;
    if (choice == LIVING && (it->state == ENDED_CLAIM || !lives(it->object))) continue;
    if (choice == ENDED_ONE && it->state != ENDED_CLAIM) continue;
    return it->value;
  }
  return 0;
}

/* Held by the episode besides what its calls hold; the model knows nothing of them. */
static cushim_driver root_driver;
static cushim_context root_context;

static uint64_t garbage(void) {
  static int local;
  uint64_t value;
  switch (below(6)) {
  case 0: return 1 + below(32);
  case 1: return UINT64_MAX;
  case 2: return address_of(&local);
  case 3: return drawn();
  default:
    value = a_token(FUZZ_any, ANY_TOKEN) ^ (uint64_t)1 << below(64);
    return value == address_of(root_driver) || value == address_of(root_context) ? 1 : value;
  }
}

static uint64_t draw_handle(enum fuzz_kind kind) {
  const uint64_t luck = below(100);
  if (luck < 78) return a_token(kind, LIVING);
  if (luck < 82) return a_token(kind, ENDED_ONE);
  if (luck < 86) return a_token(kind, ANY_TOKEN);
  if (luck < 90) return a_token(FUZZ_any, ANY_TOKEN);
  if (luck < 92) return a_token(kind, LIVING) ^ (uint64_t)1 << 60; /* as another copy of the library would make it */
  if (luck < 95) return 0;
  if (luck < 97 && kind == FUZZ_stream) return address_of(cushim_stream_current());
  return garbage();
}

static void demand(struct plan *plan, cushim_status status) { plan->demanded |= bit(status); }

/* What follows from the handle that stands for the thread's current stream. */
static void judge_current_stream(struct plan *plan, int at) {
  const struct fuzz_parameter *parameter = &plan->function->parameters[at];
  if (parameter->role == ENDED || (parameter->kind != FUZZ_stream && parameter->kind != FUZZ_any)) {
    demand(plan, CUSHIM_ERROR_INVALID_HANDLE);
  } else if (parameter->kind == FUZZ_any) {
    plan->demanded |= parameter->nullable ? 0 : bit(CUSHIM_ERROR_INVALID_HANDLE);
    plan->unsure = 1;
  } else if (current_stream_count == 0) {
    demand(plan, CUSHIM_ERROR_STREAM_REQUIRED);
  } else {
    plan->objects[at] = current_streams[current_stream_count - 1];
    plan->unsure |= !lives(plan->objects[at]);
  }
}

/* What follows from the handle in this place. */
static void judge_handle(struct plan *plan, int at) {
  const struct fuzz_parameter *parameter = &plan->function->parameters[at];
  const uint64_t value = plan->arguments[at];
  const int known = token_with(value), ends = parameter->role == ENDED;
  const struct token *token = &tokens[known == NOTHING ? 0 : known];
  const int fits = known != NOTHING && (parameter->kind == FUZZ_any || (int)token->kind == parameter->kind);
  if (value == address_of(cushim_stream_current())) {
    judge_current_stream(plan, at);
  } else if (value == 0) {
    if (!parameter->nullable) demand(plan, parameter->kind == FUZZ_stream ? CUSHIM_ERROR_STREAM_REQUIRED : CUSHIM_ERROR_INVALID_HANDLE);
  } else if (parameter->kind == FUZZ_any && parameter->nullable) {
    /* Anything will do. */
  } else if (known == NOTHING) {
    /* One that a call made of which the model was not told may have been destroyed. */
    demand(plan, CUSHIM_ERROR_INVALID_HANDLE);
    if (ends) demand(plan, CUSHIM_ERROR_ALREADY_DESTROYED);
  } else if (!fits || (ends && token->state == BORROWED)) {
    demand(plan, CUSHIM_ERROR_INVALID_HANDLE);
  } else if (token->state == ENDED_CLAIM) {
    demand(plan, ends ? CUSHIM_ERROR_ALREADY_DESTROYED : CUSHIM_ERROR_INVALID_HANDLE);
  } else {
    plan->objects[at] = token->object;
    plan->unsure |= !lives(token->object);
  }
}

/* Memory. */

/* The object of the first handle: what memory has to belong to. */
static int subject(const struct plan *plan) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    if (plan->objects[i] != NOTHING) return plan->objects[i];
  }
  return NOTHING;
}

/* Whether the call may touch the memory: it is not before the allocation's turn, nor after the end of its context. */
static int is_usable(const struct plan *plan, const struct memory *memory) {
  const int object = subject(plan);
  if (object == NOTHING || memory->kind == REGISTERED) return 0;
  if (memory->kind == OF_STREAM) return memory->object == object;
  return ancestor(object, FUZZ_context) == memory->object;
}

static uint64_t a_memory(const struct plan *plan, enum memory_kind one, enum memory_kind other) {
  const int start = memory_count > 0 ? (int)below((uint64_t)memory_count) : 0;
  int i;
  for (i = 0; i < memory_count; i++) {
    const struct memory *it = &memories[(start + i) % memory_count];
    if ((it->kind == one || it->kind == other) && is_usable(plan, it)) return it->address;
  }
  return 0;
}

static uint64_t device_memory(const struct plan *plan) {
  if (is_named(plan, "cushim_stream_free")) return a_memory(plan, OF_STREAM, OF_STREAM);
  if (is_named(plan, "cushim_context_free")) return a_memory(plan, PLAIN, PLAIN);
  return a_memory(plan, PLAIN, OF_STREAM);
}

static uint64_t host_memory(const struct plan *plan) {
  const uint64_t pinned = once_in(2) ? a_memory(plan, PINNED, PINNED) : 0;
  return pinned != 0 ? pinned : address_of(pages[below(PAGES - 1)]);
}

/* Sizes that overflow must be found out. */
static uint64_t size_of_copy(void) { return once_in(32) ? UINT64_MAX - below(64) : ONE_OF(0, 1, 4, 64, 1000); }

static cushim_place draw_place(const struct plan *plan) {
  cushim_place place;
  memset(&place, 0, sizeof place);
  place.kind = (int32_t)ONE_OF(CUSHIM_PLACE_HOST, CUSHIM_PLACE_DEVICE, CUSHIM_PLACE_AUTO);
  if (once_in(32)) place.kind = (int32_t)ONE_OF(0, 99, UINT64_MAX);
  else if (once_in(64)) place.kind = CUSHIM_PLACE_ARRAY;
  if (place.kind == CUSHIM_PLACE_HOST || (place.kind == CUSHIM_PLACE_AUTO && once_in(2))) place.address = host_memory(plan);
  else if (place.kind != CUSHIM_PLACE_ARRAY) place.address = device_memory(plan);
  place.offset = once_in(64) ? UINT64_MAX - below(64) : ONE_OF(0, 0, 4, 64);
  if (once_in(64)) place.reserved = 1;
  return place;
}

static cushim_region draw_region(const struct plan *plan) {
  cushim_region region;
  memset(&region, 0, sizeof region);
  region.place = draw_place(plan);
  if (region.place.offset == 64) region.place.offset = 0;
  region.x = ONE_OF(0, 0, 16);
  region.y = ONE_OF(0, 0, 1);
  region.z = ONE_OF(0, 0, 1);
  region.pitch = ONE_OF(0, 128, 128, 7);
  region.rows = ONE_OF(0, 4, 8);
  if (once_in(32)) *(size_t *)ONE_OF(address_of(&region.x), address_of(&region.z), address_of(&region.pitch)) = SIZE_MAX;
  return region;
}

static cushim_extent draw_extent(void) {
  cushim_extent extent;
  extent.width = ONE_OF(0, 1, 64);
  extent.height = ONE_OF(0, 1, 3);
  extent.depth = ONE_OF(0, 1, 1, 2);
  if (once_in(32)) *(size_t *)ONE_OF(address_of(&extent.width), address_of(&extent.height)) = SIZE_MAX;
  return extent;
}

/* Batches: arrays of as many as their counts may say. */

enum { ITEMS = 4 };

static void draw_locations(cushim_location *locations) {
  int i;
  for (i = 0; i < ITEMS; i++) {
    locations[i].kind = (int32_t)ONE_OF(1, 1, 2, 2, 3, 4);
    locations[i].id = locations[i].kind == CUSHIM_LOCATION_DEVICE && once_in(8) ? 1 : 0;
    if (once_in(32)) locations[i].kind = (int32_t)drawn();
  }
}

static void draw_ranges(const struct plan *plan, cushim_range *ranges) {
  int i;
  for (i = 0; i < ITEMS; i++) {
    ranges[i].kind = CUSHIM_RANGE_POINTER;
    ranges[i].address = once_in(8) ? host_memory(plan) : device_memory(plan);
    ranges[i].bytes = size_of_copy();
    ranges[i].offset = once_in(32) ? drawn() : 0;
  }
}

/* What a copy of an odd pair of places answers is the driver's own. */
static void draw_copies(const struct plan *plan, cushim_copy *copies) {
  int i;
  for (i = 0; i < ITEMS; i++) {
    copies[i].to = draw_place(plan);
    copies[i].from = draw_place(plan);
    copies[i].bytes = settings.safe ? 0 : size_of_copy();
  }
}

static void draw_copy_attributes(cushim_copy_attributes *attributes) {
  int i;
  for (i = 0; i < ITEMS; i++) {
    attributes[i].source_access = (int32_t)ONE_OF(0, 1, 2, 3, 3, 4);
    attributes[i].flags = (uint32_t)ONE_OF(0, 0, 1, 2);
    attributes[i].destination_hint.kind = (int32_t)below(3);
  }
}

/* Owners and callbacks. */

static uint64_t owners_taken, owners_released, owners_drained;

static void release_owner(void *data) {
  (void)data;
  __atomic_add_fetch(&owners_released, 1, __ATOMIC_RELAXED);
}

static void nothing_to_do(void *data) { (void)data; }

static void nothing_to_say(void *user, int32_t level, const char *target, const char *message) {
  (void)user, (void)level, (void)target, (void)message;
}

/* Everything else. */

static uint64_t draw_text(const char *name) {
  static const char *const labels[] = {"", "copy", "\xff\xfe", "a label that is longer than most labels are, and then some more of it"};
  static const char *const features[] = {"memory-pools", "green-contexts", "", "no-feature"};
  static const char *const names[] = {"cuInit", "cuMemAlloc", "cuNothing", ""};
  if (strcmp(name, "feature") == 0) return address_of(features[below(4)]);
  if (strcmp(name, "name") == 0) return address_of(names[below(4)]);
  return address_of(labels[below(4)]);
}

/* The driver's own handle of something that lives, and that no reset has taken: keeping it alive is the lender's duty. */
static uint64_t native_of_any(enum fuzz_kind kind) {
  const int start = object_count > 0 ? (int)below((uint64_t)object_count) : 0;
  int i;
  for (i = 0; i < object_count; i++) {
    const int at = (start + i) % object_count;
    if (objects[at].kind == kind && objects[at].native != 0 && lives(at) && !is_lost(at)) return objects[at].native;
  }
  return 0;
}

static uint64_t draw_native(const char *type) {
  if (strcmp(type, "CUcontext") == 0) return native_of_any(FUZZ_context);
  if (strcmp(type, "CUevent") == 0) return native_of_any(FUZZ_event);
  if (strcmp(type, "CUstream") != 0) return 0;
  return once_in(4) ? below(3) : native_of_any(FUZZ_stream);
}

static uint64_t draw_passed(const struct plan *plan, const struct fuzz_parameter *parameter) {
  const char *name = parameter->name;
  if (strncmp(parameter->type, "CU", 2) == 0) return draw_native(parameter->type);
  if (strcmp(name, "function") == 0) return once_in(4) ? 0 : (uint64_t)(uintptr_t)&nothing_to_do;
  if (strcmp(name, "callback") == 0) return once_in(2) ? 0 : (uint64_t)(uintptr_t)&nothing_to_say;
  if (strcmp(name, "address") != 0) return below(2);
  if (mentions(plan, "register")) return address_of(registered[below(PAGES)]);
  if (mentions(plan, "free_host")) return a_memory(plan, PINNED, PINNED);
  return once_in(16) ? 0 : host_memory(plan);
}

static uint64_t draw_value(const struct plan *plan, const char *name) {
  if (strcmp(name, "bytes") == 0) {
    if (mentions(plan, "_allocate")) return ONE_OF(0, PAGE, PAGE, PAGE, 16 * PAGE, (uint64_t)1 << 60);
    return mentions(plan, "register") ? ONE_OF(0, PAGE, PAGE) : size_of_copy();
  }
  if (strcmp(name, "pointer") == 0 || strcmp(name, "from") == 0 || strcmp(name, "to") == 0) return device_memory(plan);
  if (strcmp(name, "address") == 0) return once_in(2) ? device_memory(plan) : once_in(4) ? drawn() : host_memory(plan);
  if (strcmp(name, "size") == 0) return ONE_OF(0, 1, 8, 256);
  if (strcmp(name, "capacity") == 0) return below(5);
  if (strcmp(name, "stride") == 0) return ONE_OF(sizeof(cushim_item), sizeof(cushim_item), 16, 15, 0);
  if (strcmp(name, "count") == 0 || strcmp(name, "width") == 0) return mentions(plan, "_fill") && once_in(32) ? UINT64_MAX : ONE_OF(0, 1, 8, 16);
  if (strcmp(name, "height") == 0) return once_in(32) ? UINT64_MAX : below(5);
  if (strcmp(name, "pitch") == 0) return ONE_OF(0, 7, 64, 128);
  if (strcmp(name, "value_bytes") == 0) return ONE_OF(1, 2, 4, 4, 3, 0);
  if (strcmp(name, "ordinal") == 0) return ONE_OF(0, 0, 0, settings.safe ? 0 : 1, UINT64_MAX, 99);
  if (strcmp(name, "ownership") == 0) return ONE_OF(CUSHIM_BORROWED, CUSHIM_BORROWED, CUSHIM_BORROWED, CUSHIM_OWNED, 7);
  if (strcmp(name, "attribute") == 0) return once_in(8) ? drawn() : below(150);
  if (strcmp(name, "limit") == 0) return settings.safe ? 0 : below(10);
  if (strcmp(name, "value") == 0) return ONE_OF(0, 1024, 4096);
  if (strcmp(name, "flags") == 0) return settings.safe ? below(4) : below(20);
  if (strcmp(name, "abi") == 0) return ONE_OF(2000, 3020, 11040, 0);
  if (strcmp(name, "index") == 0) return ONE_OF(0, 1, 100, 100000);
  if (strcmp(name, "kind") == 0) return ONE_OF(0, 0, 1, 2, UINT64_MAX);
  if (strcmp(name, "advice") == 0) return below(8);
  if (strcmp(name, "level") == 0) return once_in(8) ? drawn() : below(4);
  if (strcmp(name, "timeout_ms") == 0) return 0;
  if (strcmp(name, "nanoseconds") == 0) return ONE_OF(0, 0, 1000);
  return below(4);
}

/* Options with every member that some type has; each is where it is in all of them. */
static void draw_options(const struct plan *plan, const struct fuzz_parameter *parameter, unsigned char *room) {
  uint64_t size = once_in(16) ? ONE_OF(0, 7, 8, PAGE) : parameter->size;
  uint32_t first = 0, second = 0;
  if (strcmp(parameter->type, "cushim_stream_options") == 0) {
    first = (uint32_t)ONE_OF(0, 0, 0, UINT64_MAX, 100);
    second = (uint32_t)ONE_OF(0, 0, 1, 2);
  } else if (strcmp(parameter->type, "cushim_event_options") == 0) {
    first = (uint32_t)below(9);
  } else if (strcmp(parameter->type, "cushim_context_options") == 0) {
    first = (uint32_t)ONE_OF(0, 0, 1, 2, 4, 7);
  }
  if (strcmp(parameter->type, "cushim_batch_options") == 0) first = (uint32_t)ONE_OF(0, 0, 1, 2);
  (void)plan;
  memcpy(room, &size, sizeof size);
  memcpy(room + 8, &first, sizeof first);
  memcpy(room + 12, &second, sizeof second);
}

static void draw_read(const struct plan *plan, const struct fuzz_parameter *parameter, unsigned char *room) {
  if (strcmp(parameter->type, "cushim_place") == 0) {
    const cushim_place place = draw_place(plan);
    memcpy(room, &place, sizeof place);
  } else if (strcmp(parameter->type, "cushim_region") == 0) {
    const cushim_region region = draw_region(plan);
    memcpy(room, &region, sizeof region);
  } else if (strcmp(parameter->type, "cushim_extent") == 0) {
    const cushim_extent extent = draw_extent();
    memcpy(room, &extent, sizeof extent);
  } else if (strcmp(parameter->type, "cushim_location") == 0) {
    draw_locations((cushim_location *)(void *)room);
  } else if (strcmp(parameter->type, "cushim_range") == 0) {
    draw_ranges(plan, (cushim_range *)(void *)room);
  } else if (strcmp(parameter->type, "cushim_copy") == 0) {
    draw_copies(plan, (cushim_copy *)(void *)room);
  } else if (strcmp(parameter->type, "cushim_copy_attributes") == 0) {
    draw_copy_attributes((cushim_copy_attributes *)(void *)room);
  } else if (strcmp(parameter->type, "cushim_owner") == 0) {
    cushim_owner owner;
    owner.data = pages;
    owner.release = once_in(3) ? NULL : &release_owner;
    memcpy(room, &owner, sizeof owner);
  }
}

static void draw_argument(struct plan *plan, int at) {
  const struct fuzz_parameter *parameter = &plan->function->parameters[at];
  unsigned char *room = rooms[at].bytes;
  uint64_t *argument = &plan->arguments[at];
  uint64_t size;
  const int points = parameter->role >= TEXT;
  if (points && once_in(parameter->nullable ? 3 : 32)) {
    if (parameter->role == BUFFER || parameter->role == ARRAY) plan->doubtful = 1; /* it depends on the size */
    else if (!parameter->nullable) demand(plan, CUSHIM_ERROR_INVALID_ARGUMENT);
    return;
  }
  switch (parameter->role) {
  case VALUE:
    plan->doubtful = 1;
    *argument = draw_value(plan, parameter->name);
    return;
  case HANDLE:
  case ENDED:
    *argument = draw_handle((enum fuzz_kind)parameter->kind);
    judge_handle(plan, at);
    return;
  case PASSED:
    plan->doubtful = 1;
    *argument = draw_passed(plan, parameter);
    return;
  case TEXT:
    plan->doubtful |= strcmp(parameter->name, "label") != 0;
    *argument = draw_text(parameter->name);
    return;
  case READ:
  case OPTIONS:
    plan->doubtful = 1;
    memset(room, 0, ROOM);
    if (parameter->role == READ) draw_read(plan, parameter, room);
    else draw_options(plan, parameter, room);
    break;
  case FILLED:
    memset(room, 0, ROOM);
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
