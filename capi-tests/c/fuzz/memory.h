/* Memory that a call works on, and the structs that say where it is. */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include "handles.h"

/* The object of the first handle: what memory has to belong to. */
static int subject(const struct plan *plan) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    if (plan->objects[i] != NOTHING) return plan->objects[i];
  }
  return NOTHING;
}

/* What memory must be there for: the stream in which the call enqueues, or else its first object. */
static int user_of_memory(const struct plan *plan) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    if (plan->objects[i] != NOTHING && objects[plan->objects[i]].kind == FUZZ_stream) return plan->objects[i];
  }
  return subject(plan);
}

/* Whether the call may touch the memory: it is not before the allocation's turn, nor after the end of its context. */
static int is_usable(const struct plan *plan, const struct memory *memory) {
  const int object = user_of_memory(plan);
  if (object == NOTHING || memory->kind == REGISTERED) return 0;
  if (memory->kind == OF_STREAM) return memory->object == object;
  if (memory->kind == OF_RESOURCE && memory->stream != NOTHING) return memory->stream == object;
  return ancestor(object, FUZZ_context) == ancestor(memory->object, FUZZ_context);
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

static uint64_t device_memory(const struct plan *plan) { return a_memory(plan, PLAIN, OF_STREAM); }

static uint64_t host_memory(const struct plan *plan) {
  const uint64_t pinned = once_in(2) ? a_memory(plan, PINNED, PINNED) : 0;
  return pinned != 0 ? pinned : address_of(pages[below(PAGES - 1)]);
}

/* Sizes that overflow must be found out. */
static uint64_t size_of_copy(void) { return once_in(32) ? UINT64_MAX - below(64) : ONE_OF(0, 1, 4, 64, 1000); }

/* Owners, and whatever else is let go of once: resources and tensors of the program's. */

static uint64_t owners_taken, owners_released, owners_drained;

static void release_owner(void *data) {
  (void)data;
  __atomic_add_fetch(&owners_released, 1, __ATOMIC_RELAXED);
}

/* An owner for an endpoint. */
static const cushim_owner *draw_owner(void) {
  static const cushim_owner called = {pages, release_owner}, drained = {pages, NULL};
  return once_in(3) ? &drained : &called;
}

/*
 * Where there is no memory of the driver's: said to be a device's, it is the driver that finds out. A real one was asked about
 * low addresses; it may reach memory of the host's.
 */
static uint64_t bad_address(void) { return settings.safe ? ONE_OF(0x1000, 0x1001) : ONE_OF(0x1000, address_of(pages), (uint64_t)1 << 46, drawn()); }

/* What is to be kept, and by whom; whose memory it is. */
static void draw_keeping(struct plan *plan, cushim_endpoint *place) {
  if (once_in(8)) place->flags = (uint32_t)ONE_OF(CUSHIM_ENDPOINT_KEEP_BYTES, CUSHIM_ENDPOINT_CALLER_KEEPS, 3, 4);
  if (place->flags & CUSHIM_ENDPOINT_KEEP_BYTES) plan->allowed |= bit(CUSHIM_ERROR_OUT_OF_MEMORY);
  if (once_in(8)) place->owner = draw_owner();
  if (once_in(16)) place->context = (cushim_context)(uintptr_t)draw_inner(plan, FUZZ_context);
}

static cushim_endpoint draw_place(struct plan *plan) {
  cushim_endpoint place = cushim_endpoint_device(0);
  place.kind = (int32_t)ONE_OF(CUSHIM_ENDPOINT_HOST, CUSHIM_ENDPOINT_DEVICE, CUSHIM_ENDPOINT_AUTO);
  if (once_in(32)) place.kind = (int32_t)ONE_OF(0, 99, UINT64_MAX);
  else if (once_in(64)) place.kind = CUSHIM_ENDPOINT_ARRAY;
  if (once_in(5)) {
    place = cushim_endpoint_buffer((cushim_buffer)(uintptr_t)draw_inner(plan, FUZZ_buffer), 0);
  } else if (place.kind == CUSHIM_ENDPOINT_HOST || (place.kind == CUSHIM_ENDPOINT_AUTO && once_in(2))) place.address = host_memory(plan);
  else if (place.kind == CUSHIM_ENDPOINT_DEVICE && once_in(16)) place.address = bad_address();
  else if (place.kind != CUSHIM_ENDPOINT_ARRAY) place.address = device_memory(plan);
  place.offset = once_in(64) ? UINT64_MAX - below(64) : ONE_OF(0, 0, 4, 64);
  draw_keeping(plan, &place);
  return place;
}

/* What is set is a device's. */
static cushim_endpoint draw_place_to_set(struct plan *plan) {
  cushim_endpoint place = draw_place(plan);
  if (place.kind == CUSHIM_ENDPOINT_BUFFER || (!settings.safe && once_in(8))) return place;
  place.kind = CUSHIM_ENDPOINT_DEVICE;
  place.address = once_in(16) ? bad_address() : device_memory(plan);
  return place;
}

static cushim_region draw_region(struct plan *plan) {
  cushim_region region;
  memset(&region, 0, sizeof region);
  region.endpoint = draw_place(plan);
  if (region.endpoint.offset == 64) region.endpoint.offset = 0;
  if (settings.safe && region.endpoint.kind == CUSHIM_ENDPOINT_DEVICE) region.endpoint.address = device_memory(plan);
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

static void draw_location(cushim_location *location) {
  location->kind = (int32_t)ONE_OF(1, 1, 2, 2, 3, 4);
  location->id = location->kind == CUSHIM_LOCATION_DEVICE && once_in(8) ? 1 : 0;
  if (once_in(32)) location->kind = (int32_t)drawn();
}

static void draw_locations(cushim_location *locations) {
  int i;
  for (i = 0; i < ITEMS; i++) draw_location(&locations[i]);
}

/* A buffer of managed memory, if there is one. */
static uint64_t managed_buffer(struct plan *plan) {
  int i;
  for (i = 0; i < 8 && token_count > 0; i++) {
    const struct token *it = &tokens[below((uint64_t)token_count)];
    if (it->kind != FUZZ_buffer || it->state == ENDED_CLAIM || !objects[it->object].managed || !lives(it->object)) continue;
    if (plan->used_count < USED) plan->used[plan->used_count++] = it->object;
    return it->value;
  }
  return draw_inner(plan, FUZZ_buffer);
}

static void draw_ranges(struct plan *plan, cushim_range *ranges) {
  int i;
  for (i = 0; i < ITEMS; i++) {
    ranges[i].kind = once_in(2) ? CUSHIM_RANGE_BUFFER : CUSHIM_RANGE_POINTER;
    if (ranges[i].kind == CUSHIM_RANGE_BUFFER) ranges[i].address = once_in(3) ? draw_inner(plan, FUZZ_buffer) : managed_buffer(plan);
    else ranges[i].address = once_in(8) ? host_memory(plan) : once_in(2) ? a_memory(plan, OF_RESOURCE, OF_RESOURCE) : device_memory(plan);
    ranges[i].bytes = once_in(2) ? 0 : size_of_copy();
    ranges[i].offset = once_in(32) ? drawn() : 0;
  }
}

/* What a copy of an odd pair of places answers is the driver's own. */
static void draw_copies(struct plan *plan, cushim_copy *copies) {
  int i;
  for (i = 0; i < ITEMS; i++) {
    copies[i].destination = draw_place(plan);
    copies[i].source = draw_place(plan);
    copies[i].bytes = settings.safe ? 0 : size_of_copy();
  }
}

/* Nobody writes what a wait would wait for. What a real driver makes of odd addresses here is its own. */
static void draw_memory_operations(struct plan *plan, cushim_memory_operation *operations) {
  int i;
  if (settings.safe) return;
  for (i = 0; i < ITEMS; i++) {
    operations[i].action = (cushim_memory_action)ONE_OF(CUSHIM_MEMORY_WRITE_32, CUSHIM_MEMORY_WRITE_64, CUSHIM_MEMORY_FLUSH_REMOTE_WRITES, CUSHIM_MEMORY_BARRIER);
    if (once_in(32)) operations[i].action = (cushim_memory_action)ONE_OF(0, 7, UINT64_MAX);
    operations[i].flags = once_in(8) ? (uint32_t)below(4) : 0;
    operations[i].at = draw_place_to_set(plan);
    operations[i].value = drawn();
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

#endif
