/* What stands in structs: places, launches, arguments, operations. No memory but what is there for the whole episode. */
#ifndef FUZZ_GRAPHS_STRUCTS_H
#define FUZZ_GRAPHS_STRUCTS_H

#include "roots.h"

enum { ROOM = 8192, MOST_ITEMS = 6 };

/* A call to be made. */
struct call {
  const struct fuzz_function *function;
  uint64_t arguments[PARAMETERS];
  int is_bad;      /* some handle or pointer is certainly wrong */
  uint64_t owners; /* that are lent in structs */
  int uses_buffer; /* in a struct */
};

static union {
  uint64_t aligned;
  unsigned char bytes[ROOM];
} rooms[PARAMETERS];

static int mentions(const struct call *call, const char *part) { return strstr(call->function->name, part) != NULL; }

static int is_named(const struct call *call, const char *name) { return strcmp(call->function->name, name) == 0; }

static uint64_t garbage(void) {
  switch (below(5)) {
  case 0: return 1 + below(32);
  case 1: return UINT64_MAX;
  case 2: return address_of(pages);
  default: return token_count == 0 ? 7 : tokens[below((uint64_t)token_count)].value ^ (uint64_t)1 << below(64);
  }
}

static const cushim_owner *lend(struct call *call) {
  call->owners++;
  return draw_owner();
}

/* A buffer of which 64 bytes can be used, or something else. */
static uint64_t draw_buffer(struct call *call) {
  uint64_t buffer = once_in(16) ? garbage() : any_of(FUZZ_buffer);
  const int known = token_with(buffer);
  call->uses_buffer |= known != NOTHING;
  return known != NOTHING && tokens[known].is_unfit ? 0 : buffer;
}

static cushim_endpoint draw_place(struct call *call) {
  cushim_endpoint place = cushim_endpoint_device(device_memory);
  const uint64_t buffer = once_in(3) ? draw_buffer(call) : 0;
  if (buffer != 0) place = cushim_endpoint_buffer((cushim_buffer)(uintptr_t)buffer, 0);
  else if (once_in(3)) place = cushim_endpoint_host(pages[below(PAGES)]);
  if (once_in(8) && buffer == 0) place.kind = CUSHIM_ENDPOINT_AUTO;
  if (once_in(32)) place.kind = (int32_t)ONE_OF(0, CUSHIM_ENDPOINT_ARRAY, 99, UINT64_MAX);
  place.offset = ONE_OF(0, 0, 4, 64);
  if (once_in(32)) place.offset = UINT64_MAX - below(64);
  place.flags = (uint32_t)ONE_OF(CUSHIM_ENDPOINT_CALLER_KEEPS, CUSHIM_ENDPOINT_CALLER_KEEPS, CUSHIM_ENDPOINT_CALLER_KEEPS, CUSHIM_ENDPOINT_KEEP_BYTES, 0);
  if (once_in(32)) place.flags = (uint32_t)below(8);
  if (once_in(8)) {
    place.flags = 0;
    place.owner = lend(call);
  }
  if (once_in(16)) place.context = (cushim_context)(uintptr_t)(once_in(4) ? garbage() : any_of(FUZZ_context));
  return place;
}

static cushim_region draw_region(struct call *call) {
  cushim_region region;
  memset(&region, 0, sizeof region);
  region.endpoint = draw_place(call);
  region.x = (size_t)ONE_OF(0, 0, 4);
  region.y = (size_t)below(2);
  region.z = (size_t)below(2);
  region.pitch = (size_t)ONE_OF(0, 16, 64);
  region.rows = (size_t)ONE_OF(0, 2);
  if (once_in(32)) region.pitch = SIZE_MAX;
  return region;
}

static cushim_extent draw_extent(void) {
  cushim_extent extent;
  extent.width = (size_t)ONE_OF(0, 4, 8);
  extent.height = (size_t)ONE_OF(1, 1, 2, 0);
  extent.depth = (size_t)ONE_OF(1, 1, 2);
  if (once_in(32)) extent.height = SIZE_MAX;
  return extent;
}

/* Nothing here waits for a value: who would write it? */
static void draw_operations(struct call *call, cushim_memory_operation *operations) {
  int i;
  for (i = 0; i < MOST_ITEMS; i++) {
    memset(&operations[i], 0, sizeof operations[i]);
    operations[i].action = (int32_t)ONE_OF(CUSHIM_MEMORY_WRITE_32, CUSHIM_MEMORY_WRITE_32, CUSHIM_MEMORY_WRITE_64, CUSHIM_MEMORY_BARRIER, CUSHIM_MEMORY_FLUSH_REMOTE_WRITES);
    if (once_in(16)) operations[i].action = (int32_t)ONE_OF(0, 99, UINT64_MAX);
    operations[i].value = below(100);
    if (operations[i].action == CUSHIM_MEMORY_WRITE_32 || operations[i].action == CUSHIM_MEMORY_WRITE_64) {
      const uint64_t owners = call->owners;
      operations[i].at = draw_place(call);
      operations[i].at.owner = NULL; /* how many there are is drawn later */
      call->owners = owners;
    }
  }
}

/* Launches. */

static void draw_config(cushim_launch_config *config) {
  static cushim_launch_attribute attributes[2];
  config->grid.x = (uint32_t)ONE_OF(1, 1, 2);
  config->grid.y = config->grid.z = 1;
  config->block.x = (uint32_t)ONE_OF(1, 1, 32);
  config->block.y = config->block.z = 1;
  if (once_in(16)) config->grid.x = (uint32_t)ONE_OF(0, UINT32_MAX);
  if (once_in(16)) config->block.x = (uint32_t)ONE_OF(0, 1025, UINT32_MAX);
  if (once_in(16)) config->cluster.x = (uint32_t)ONE_OF(1, 2, 64);
  config->shared_bytes = once_in(16) ? (uint32_t)ONE_OF(64, UINT32_MAX) : 0;
  config->flags = once_in(8) ? (uint32_t)ONE_OF(1, 2, 4, 8, 64) : 0;
  config->priority = once_in(16) ? (int32_t)ONE_OF(UINT64_MAX, 100) : 0;
  config->memory_sync_domain = once_in(16) ? (int32_t)below(4) : 0;
  if (once_in(16)) config->programmatic_event = (cushim_event)(uintptr_t)(once_in(4) ? garbage() : any_of(FUZZ_event));
  if (once_in(8)) config->context = (cushim_context)(uintptr_t)(once_in(8) ? garbage() : any_of(FUZZ_context));
  if (!once_in(32)) return;
  memset(attributes, 0, sizeof attributes);
  attributes[0].id = (int32_t)below(20);
  config->attributes = once_in(8) ? NULL : attributes;
  config->attribute_count = (size_t)ONE_OF(1, 2, SIZE_MAX);
  config->attribute_stride = (size_t)ONE_OF(0, sizeof *attributes, 7);
}

static cushim_arg arg_of(int32_t kind, uint32_t size, const void *value) {
  cushim_arg arg;
  arg.kind = kind;
  arg.size = size;
  arg.value = value;
  return arg;
}

/* The address that a kernel writes to: as a number, a buffer, a place, with an owner, with a name. */
static cushim_arg draw_address(struct call *call) {
  static cushim_owned_pointer owned;
  static cushim_parameter named;
  static cushim_endpoint place;
  const uint64_t buffer = draw_buffer(call);
  switch (below(5)) {
  case 0:
    owned.pointer = device_memory;
    owned.owner = *lend(call);
    return arg_of(CUSHIM_ARG_OWNED, 0, &owned);
  case 1:
    memset(&named, 0, sizeof named);
    named.name = "to";
    named.value = &device_memory;
    named.size = 8;
    return arg_of(CUSHIM_ARG_PARAMETER, 0, &named);
  case 2:
    if (buffer == 0) break;
    place = cushim_endpoint_buffer((cushim_buffer)(uintptr_t)buffer, 0);
    return arg_of(CUSHIM_ARG_ENDPOINT, 0, &place);
  case 3: return buffer == 0 ? arg_of(CUSHIM_ARG_BYTES, 8, &device_memory) : arg_of(CUSHIM_ARG_BUFFER, 0, (const void *)(uintptr_t)buffer);
  default: break;
  }
  return arg_of(CUSHIM_ARG_BYTES, 8, &device_memory);
}

static cushim_arg draw_number(void) {
  static uint32_t number;
  static cushim_parameter named;
  number = (uint32_t)below(100);
  if (!once_in(4)) return arg_of(CUSHIM_ARG_BYTES, 4, &number);
  memset(&named, 0, sizeof named);
  named.name = "number";
  named.value = &number;
  named.size = 4;
  return arg_of(CUSHIM_ARG_PARAMETER, 0, &named);
}

/* A number is no condition: it would be the program that vouches for it. */
static cushim_arg draw_condition(uint64_t graph) {
  const struct wish wish = {FUZZ_condition, once_in(8) ? 0 : graph, NULL, 0};
  return arg_of(CUSHIM_ARG_CONDITION, 0, (const void *)(uintptr_t)(once_in(16) ? garbage() : a_token(&wish)));
}

/* What is in one place of the arguments. */
static cushim_arg draw_arg_at(struct call *call, uint64_t index, uint64_t graph) {
  cushim_arg arg = index == 0 ? draw_address(call) : index == 1 ? draw_number() : draw_condition(graph);
  if (!tells_parameters() || !once_in(16)) return arg;
  switch (below(4)) {
  case 0: arg.kind = (int32_t)ONE_OF(0, 9, UINT64_MAX); break;
  case 1: arg.size = arg.size == 0 ? 3 : (uint32_t)ONE_OF(0, 3, 4096, UINT32_MAX); break;
  case 2: arg.value = NULL; break;
  default: arg = arg_of(CUSHIM_ARG_BUFFER, 0, (const void *)(uintptr_t)garbage());
  }
  return arg;
}

#endif
