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

static cushim_place draw_place(struct plan *plan) {
  cushim_place place;
  memset(&place, 0, sizeof place);
  place.kind = (int32_t)ONE_OF(CUSHIM_PLACE_HOST, CUSHIM_PLACE_DEVICE, CUSHIM_PLACE_AUTO);
  if (once_in(32)) place.kind = (int32_t)ONE_OF(0, 99, UINT64_MAX);
  else if (once_in(64)) place.kind = CUSHIM_PLACE_ARRAY;
  if (once_in(5)) {
    place.kind = CUSHIM_PLACE_BUFFER;
    place.address = draw_inner(plan, FUZZ_buffer);
  } else if (place.kind == CUSHIM_PLACE_HOST || (place.kind == CUSHIM_PLACE_AUTO && once_in(2))) place.address = host_memory(plan);
  else if (place.kind != CUSHIM_PLACE_ARRAY) place.address = device_memory(plan);
  place.offset = once_in(64) ? UINT64_MAX - below(64) : ONE_OF(0, 0, 4, 64);
  if (once_in(64)) place.reserved = 1;
  return place;
}

static cushim_region draw_region(struct plan *plan) {
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

#endif
