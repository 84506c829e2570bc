/* What follows from a call that succeeded. */
#ifndef FUZZ_EFFECTS_H
#define FUZZ_EFFECTS_H

#include "notes.h"

/* A default stream of a context: the same each time. Unless there is a claim on it, it keeps nothing alive. */
static int default_stream_of(int context, int which) {
  int i;
  for (i = 0; i < object_count; i++) {
    if (objects[i].is_default == which && objects[i].parent == context) return i;
  }
  i = add_object(FUZZ_stream, context);
  objects[i].is_default = which;
  leave(i);
  return i;
}

/* Which default stream the call is about, or 0. */
static int default_stream_in(const struct plan *plan) {
  if (is_named(plan, "cushim_context_get_legacy_stream")) return 1;
  if (is_named(plan, "cushim_context_get_per_thread_stream")) return 2;
  if (!is_named(plan, "cushim_stream_wrap") || argument(plan, "native") > 2) return 0;
  return argument(plan, "native") == 2 ? 2 : 1;
}

/* What a new claim is on. */
static int object_of_claim(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  const uint64_t native = native_of(kind, handle);
  int object = NOTHING, other;
  if (kind == FUZZ_driver) object = 0;
  else if (is_named(plan, "cushim_resource_import") && plan->exported != NULL && plan->exported->object != NOTHING) object = plan->exported->object;
  else if (mentions(plan, "_ref")) object = subject(plan);
  else if (default_stream_in(plan)) object = default_stream_of(subject(plan), default_stream_in(plan));
  else object = object_with(kind, native);
  if (object == NOTHING) {
    object = add_object(kind, parent_of(plan, kind, handle));
    /* What was wrapped and is nobody's here is another object each time. */
    objects[object].native = mentions(plan, "_wrap") ? 0 : native;
    objects[object].primary = is_named(plan, "cushim_context_retain_primary");
  } else if ((other = living_token_of(object)) != NOTHING && !is_same(handle, tokens[other].value)) {
    fail("this is not the object that it should be");
  }
  return object;
}

static void take_claim(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  const int count = object_count;
  int object;
  if (handle == 0) {
    if (!is_named(plan, "cushim_error_take")) fail("success without a handle");
    return;
  }
  if (token_with(handle) != NOTHING) fail("the handle was given out before");
  object = kind == FUZZ_error && !mentions(plan, "_ref") ? add_object(kind, NOTHING) : object_of_claim(plan, kind, handle);
  add_token(handle, kind, CLAIM, object);
  if (object >= count) note(plan, object, handle);
}

/* The object that a getter answers with, if it is known. */
static int borrowed_from(const struct plan *plan, enum fuzz_kind kind) {
  const int from = subject(plan);
  int parent;
  if (kind == FUZZ_device && is_named(plan, "cushim_driver_get_device")) return add_object(kind, 0);
  if (from == NOTHING) return NOTHING;
  if (default_stream_in(plan)) return default_stream_of(from, default_stream_in(plan));
  if (objects[from].kind == FUZZ_device && kind == FUZZ_resource) return objects[from].resource != NOTHING ? objects[from].resource : add_object(kind, from);
  if (objects[from].kind != FUZZ_buffer || kind == FUZZ_resource) return ancestor(from, kind);
  if (kind == FUZZ_stream) return objects[from].stream;
  parent = objects[from].parent;
  if (parent != NOTHING && objects[parent].kind == FUZZ_context) return parent; /* it was opened there */
  if (parent != NOTHING && objects[parent].kind == FUZZ_graphics) return ancestor(parent, kind);
  /* Where no resource says in which context the memory is, its stream does. */
  if (!objects[from].ordered && parent != NOTHING && objects[parent].kind == FUZZ_resource && !objects[parent].is_virtual) return ancestor(parent, FUZZ_context);
  return objects[from].stream == NOTHING ? NOTHING : ancestor(objects[from].stream, kind);
}

static void take_borrowed(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  const int known = handle == 0 ? NOTHING : token_with(handle), count = object_count;
  const int object = handle == 0 ? NOTHING : known != NOTHING ? tokens[known].object : borrowed_from(plan, kind);
  if (handle == 0 || object == NOTHING) return;
  if (known != NOTHING && tokens[known].state != BORROWED) fail("a claim as a borrowed handle");
  if (objects[object].borrowed != 0 && objects[object].borrowed != handle && lives(object)) fail("another borrowed handle of the same object");
  objects[object].borrowed = handle;
  if (known == NOTHING) add_token(handle, kind, BORROWED, object);
  if (object < count) return;
  note(plan, object, handle);
  if (kind == FUZZ_resource) hold(objects[subject(plan)].resource = object);
}

/* The device lets go of the resource that it had, and holds another, or none until it is asked for one. */
static void set_device_resource(int device, int resource) {
  const int before = device == NOTHING ? NOTHING : objects[device].resource;
  if (device == NOTHING) return;
  objects[device].resource = resource;
  if (resource != NOTHING) hold(resource);
  if (before != NOTHING) let_go(before);
}

/* Who takes it in does not know in which stream its memory comes. */
static void give_out(void *tensor, int unversioned, int buffer) {
  settle(buffer);
  tensors[tensor_count].tensor = tensor;
  tensors[tensor_count].unversioned = unversioned;
  tensors[tensor_count++].buffer = buffer;
  hold(buffer);
}

/* The tensor is the library's now. What it holds is held by what was made of it. */
static void take_in(struct plan *plan) {
  int i;
  owners_taken += plan->given != NULL;
  plan->given = NULL;
  for (i = 0; i < tensor_count; i++) {
    if (address_of(tensors[i].tensor) != argument(plan, "tensor")) continue;
    let_go(tensors[i].buffer);
    tensors[i] = tensors[--tensor_count];
    return;
  }
}

static void forget_at(uint64_t address, enum memory_kind kind) {
  const int at = memory_at(address, kind);
  if (at != NOTHING) forget_memory(at);
}

static void note_memory(const struct plan *plan, enum memory_kind kind, uint64_t address) {
  struct memory *memory = objects[subject(plan)].is_virtual ? NULL : add_memory(kind, address, subject(plan));
  if (memory == NULL || kind != OF_RESOURCE) return;
  memory->bytes = argument(plan, "bytes");
  memory->stream = objects[subject(plan)].ordered ? object_at(plan, "stream") : NOTHING;
}

/* Memory that the call lends, and memory that it frees. */
static void apply_memory(const struct plan *plan) {
  int i;
  for (i = 0; i < plan->function->parameter_count; i++) {
    const struct fuzz_parameter *parameter = &plan->function->parameters[i];
    uint64_t address = plan->arguments[i];
    if (parameter->frees != NO_MEMORY) forget_at(address, parameter->frees);
    if (parameter->lends == NO_MEMORY) continue;
    if (parameter->role == PLACE) memcpy(&address, rooms[i].bytes, sizeof address);
    note_memory(plan, parameter->lends, address);
  }
}

static void apply_buffer(struct plan *plan) {
  const cushim_dlpack_options *options;
  void *tensor;
  if (is_named(plan, "cushim_buffer_wrap") && argument(plan, "resource") != 0) forget_at(argument(plan, "pointer"), OF_RESOURCE);
  if (is_named(plan, "cushim_buffer_set_stream")) set_order(plan->objects[0], plan->objects[1]);
  if (is_named(plan, "cushim_buffer_sleep") || is_named(plan, "cushim_buffer_wake")) objects[plan->objects[0]].asleep = is_named(plan, "cushim_buffer_sleep");
  if (is_named(plan, "cushim_buffer_import_dlpack")) take_in(plan);
  if (!is_named(plan, "cushim_buffer_export_dlpack")) return;
  memcpy(&tensor, room_of(plan, "tensor"), sizeof tensor);
  options = (const cushim_dlpack_options *)room_of(plan, "options");
  give_out(tensor, argument(plan, "options") != 0 && (options->flags & CUSHIM_DLPACK_UNVERSIONED) != 0, plan->objects[0]);
}

/* Files that the call has opened are the program's to close, once nothing is imported from there any more. */
static void apply_export(const struct plan *plan) {
  const int is_parts = is_named(plan, "cushim_buffer_export_parts");
  const int bytes = parameter_named(plan, is_parts ? "descriptors" : "descriptor"), file = parameter_named(plan, is_parts ? "files" : "file");
  const size_t count = is_parts ? (size_t)argument(plan, "count") : 1;
  int32_t files[ROOM / sizeof(int32_t)];
  enum exported_kind kind = OF_POOL;
  if (file != NOTHING) memcpy(files, rooms[file].bytes, sizeof files);
  if (is_named(plan, "cushim_event_export")) kind = AN_EVENT;
  else if (is_named(plan, "cushim_resource_export")) kind = A_POOL;
  else if (is_named(plan, "cushim_allocation_export")) kind = AN_ALLOCATION;
  else if (is_parts) kind = PARTS;
  else if (is_named(plan, "cushim_buffer_export_dma_buf")) close_file(files[0]);
  if (bytes == NOTHING) return;
  keep_export(kind, rooms[bytes].bytes, count, files, file == NOTHING ? 0 : count, kind == A_POOL ? plan->objects[0] : NOTHING);
}

static void count_drained(const struct plan *plan) {
  const size_t stride = (size_t)argument(plan, "stride");
  size_t i, count;
  memcpy(&count, room_of(plan, "count"), sizeof count);
  for (i = 0; i < count; i++) {
    int32_t kind;
    memcpy(&kind, (unsigned char *)room_of(plan, "items") + i * stride, sizeof kind);
    owners_drained += kind == CUSHIM_DRAIN_RELEASE;
  }
}

/*
 * A destroy that says in which stream the memory goes says so for what else holds the buffer, too. Nothing comes after the work of
 * a stream that went with its context.
 */
static void end_argument(const struct plan *plan, int at) {
  const int object = plan->objects[at], stream = object_at(plan, "stream");
  if (objects[object].kind == FUZZ_buffer && stream != NOTHING && !is_lost(stream)) set_order(object, stream);
  end_claim(token_with(plan->arguments[at]));
}

/* A flush and a barrier write nothing there; their owner is taken all the same. */
static uint64_t owners_of_operations(const struct plan *plan, const cushim_memory_operation *operations) {
  uint64_t count = 0, i;
  for (i = 0; i < argument(plan, "operation_count"); i++) count += operations[i].at.owner != NULL;
  return count;
}

/* Owners that the call has taken with what it read there. */
static uint64_t owners_in(const struct plan *plan, const struct fuzz_parameter *parameter, const void *room) {
  uint64_t count = 0, i;
  if (is_of(parameter, "cushim_owner")) return 1;
  if (is_of(parameter, "cushim_endpoint")) return ((const cushim_endpoint *)room)->owner != NULL;
  if (is_of(parameter, "cushim_region")) return ((const cushim_region *)room)->endpoint.owner != NULL;
  if (is_of(parameter, "cushim_memory_operation")) return owners_of_operations(plan, (const cushim_memory_operation *)room);
  if (!is_of(parameter, "cushim_copy")) return 0;
  for (i = 0; i < argument(plan, "copy_count"); i++) {
    const cushim_copy *copy = (const cushim_copy *)room + i;
    count += (copy->destination.owner != NULL) + (copy->source.owner != NULL);
  }
  return count;
}

static void apply(struct plan *plan) {
  int i;
  for (i = 0; i < plan->function->parameter_count; i++) {
    const struct fuzz_parameter *parameter = &plan->function->parameters[i];
    const enum fuzz_kind kind = (enum fuzz_kind)parameter->kind;
    uint64_t handle;
    memcpy(&handle, rooms[i].bytes, sizeof handle);
    if (parameter->role == ENDED && plan->arguments[i] != 0) end_argument(plan, i);
    if (plan->arguments[i] == 0) continue;
    if (parameter->role == CLAIMED) take_claim(plan, kind, handle);
    if (parameter->role == LENT) take_borrowed(plan, kind, handle);
    if (parameter->role == READ) owners_taken += owners_in(plan, parameter, rooms[i].bytes);
    if (strcmp(parameter->type, "cushim_resource_functions") == 0) owners_taken += ((const cushim_resource_functions *)(const void *)rooms[i].bytes)->destroy != NULL;
  }
  owners_taken += plan->owners;
  if (mentions(plan, "cushim_buffer")) apply_buffer(plan);
  if (mentions(plan, "_export") && !mentions(plan, "_dlpack")) apply_export(plan);
  apply_memory(plan);
  if (is_named(plan, "cushim_stream_push_current")) current_streams[current_stream_count++] = subject(plan);
  else if (is_named(plan, "cushim_stream_pop_current")) current_stream_count--;
  else if (is_named(plan, "cushim_context_push") || is_named(plan, "cushim_context_set_current")) objects[subject(plan)].was_current = 1;
  else if (is_named(plan, "cushim_device_reset_primary_context")) lose_primary(subject(plan));
  else if (is_named(plan, "cushim_device_set_resource")) set_device_resource(subject(plan), plan->objects[1]);
  else if (is_named(plan, "cushim_drain")) count_drained(plan);
}

/* What a failure does: nothing, but that a claim may have ended, and that what a function of the program's did not free is leaked. */
static void apply_failure(const struct plan *plan, cushim_status status) {
  check_cleared(plan);
  if (is_named(plan, "cushim_resource_free") && status == KEEPS) forget_at(argument(plan, "pointer"), OF_RESOURCE);
  if (is_ended(plan)) end_claim(token_with(plan->arguments[0]));
}

#endif
