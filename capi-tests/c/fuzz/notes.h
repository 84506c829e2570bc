/* What is to be known of a new object: which one it is, what it keeps alive, and what its memory or its code allows. */
#ifndef FUZZ_NOTES_H
#define FUZZ_NOTES_H

#include "judge.h"

static uint64_t native_of(enum fuzz_kind kind, uint64_t handle) {
  CUcontext context = NULL;
  CUstream stream = NULL;
  CUevent event = NULL;
  CUlibrary library = NULL;
  CUkernel kernel = NULL;
  if (kind == FUZZ_context) cushim_context_native((cushim_context)(uintptr_t)handle, &context);
  if (kind == FUZZ_stream) cushim_stream_native((cushim_stream)(uintptr_t)handle, &stream);
  if (kind == FUZZ_event) cushim_event_native((cushim_event)(uintptr_t)handle, &event);
  if (kind == FUZZ_library) cushim_library_native((cushim_library)(uintptr_t)handle, &library);
  if (kind == FUZZ_kernel) cushim_kernel_native((cushim_kernel)(uintptr_t)handle, &kernel);
  /* Before driver 12.0 a kernel is a function of its context only. */
  if (kind == FUZZ_kernel && driver_info()->version < 12000) cushim_kernel_native_function((cushim_kernel)(uintptr_t)handle, (CUfunction *)(void *)&kernel);
  return address_of(context) + address_of(stream) + address_of(event) + address_of(library) + address_of(kernel);
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

static void note_device(int object, uint64_t handle) {
  int32_t ordinal = -1;
  must(cushim_device_get_ordinal((cushim_device)(uintptr_t)handle, &ordinal), "cushim_device_get_ordinal");
  objects[object].ordinal = ordinal;
}

static void note_resource(const struct plan *plan, int object, uint64_t handle) {
  const cushim_resource resource = (cushim_resource)(uintptr_t)handle;
  cushim_memory_properties properties;
  CUmemoryPool pool = NULL;
  int32_t kind = 0;
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  must(cushim_resource_get_properties(resource, &properties), "cushim_resource_get_properties");
  must(cushim_resource_native(resource, &pool), "cushim_resource_native");
  must(cushim_resource_get_kind(resource, &kind), "cushim_resource_get_kind");
  objects[object].ordered = properties.stream_ordered;
  objects[object].is_virtual = kind == CUSHIM_RESOURCE_VIRTUAL;
  objects[object].imported = is_named(plan, "cushim_resource_import");
  objects[object].ordinal = properties.device;
  objects[object].native = address_of(pool);
  /* A pool is no context's. */
  if (pool != NULL && objects[objects[object].parent].kind == FUZZ_context) pass_over_parent(object);
  if (!mentions(plan, "cushim_resource")) objects[object].lends_pool = pool != NULL; /* a device's */
  if (!is_named(plan, "cushim_resource_create_device_pool")) return;
  objects[object].lends_pool = argument(plan, "options") == 0 || ((const cushim_device_pool_options *)room_of(plan, "options"))->choice != CUSHIM_POOL_OWN;
}

/* The resource that a device has, as a buffer of it tells. */
static int resource_behind(const struct plan *plan, uint64_t handle) {
  const int device = ancestor(subject(plan), FUZZ_device);
  cushim_resource resource = NULL;
  int known, object;
  must(cushim_buffer_get_resource((cushim_buffer)(uintptr_t)handle, &resource), "cushim_buffer_get_resource");
  known = token_with(address_of(resource));
  if (known != NOTHING) return tokens[known].object;
  object = objects[device].resource != NOTHING ? objects[device].resource : add_object(FUZZ_resource, device);
  objects[object].borrowed = address_of(resource);
  add_token(address_of(resource), FUZZ_resource, BORROWED, object);
  if (object == objects[device].resource) return object;
  hold(objects[device].resource = object);
  note_resource(plan, object, address_of(resource));
  return object;
}

/* What a new object keeps alive. */
static int parent_of(const struct plan *plan, enum fuzz_kind kind, uint64_t handle) {
  const int first = subject(plan), library = object_at(plan, "library"), resource = object_at(plan, "resource");
  int i;
  if (kind == FUZZ_kernel && library != NOTHING) return library;
  if (kind != FUZZ_buffer) return first;
  if (resource != NOTHING) return resource;
  if (first != NOTHING && objects[first].kind == FUZZ_buffer) return ancestor(first, FUZZ_resource);
  if (is_named(plan, "cushim_buffer_create_default") || is_named(plan, "cushim_buffer_create_scratch")) return resource_behind(plan, handle);
  if (!is_named(plan, "cushim_buffer_import_dlpack")) return first;
  for (i = 0; i < tensor_count; i++) {
    if (address_of(tensors[i].tensor) == argument(plan, "tensor") && tensors[i].buffer != NOTHING) return tensors[i].buffer;
  }
  return first;
}

/* The context in which a new buffer's memory is. */
static int source_of(const struct plan *plan, int object) {
  const int parent = objects[object].parent, stream = object_at(plan, "stream");
  if (parent != NOTHING && objects[parent].kind == FUZZ_buffer) return objects[parent].source;
  if (is_named(plan, "cushim_buffer_open")) return parent;
  if (is_of_gl(objects[object].pointer)) return 2;
  if (objects[object].pointer - lent_memory < PAGE) return 2;
  if (parent != NOTHING && objects[parent].kind == FUZZ_resource && !objects[parent].ordered) return ancestor(parent, FUZZ_context);
  return objects[object].ordered && stream != NOTHING ? ancestor(stream, FUZZ_context) : NOTHING;
}

static void note_buffer(const struct plan *plan, int object, uint64_t handle) {
  const cushim_buffer buffer = (cushim_buffer)(uintptr_t)handle;
  struct object *it = &objects[object];
  cushim_memory_properties properties;
  cushim_stream stream = NULL;
  const int given = object_at(plan, "stream"), resource = ancestor(object, FUZZ_resource);
  size_t bytes = 0;
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  must(cushim_buffer_get_size(buffer, &bytes), "cushim_buffer_get_size");
  must(cushim_buffer_get_pointer(buffer, &it->pointer), "cushim_buffer_get_pointer");
  must(cushim_buffer_get_stream(buffer, &stream), "cushim_buffer_get_stream");
  it->bytes = bytes;
  it->imported = imported_by(plan) != EXPORTED_KINDS;
  it->ordered = it->parent == resource && resource != NOTHING && objects[resource].ordered;
  it->source = source_of(plan, object);
  if (stream != NULL && given != NOTHING) set_order(object, given);
  if (stream != NULL && is_named(plan, "cushim_buffer_grow")) set_order(object, objects[subject(plan)].stream);
  if (is_lost(object) || cushim_buffer_get_properties(buffer, &properties) != CUSHIM_SUCCESS) return;
  it->on_device = properties.device_accessible;
  it->managed = properties.managed;
  it->ordinal = properties.host_accessible ? -1 : properties.device;
  if (!properties.host_accessible && properties.device < 0) it->ordinal = it->source == NOTHING ? 99 : objects[ancestor(it->source, FUZZ_device)].ordinal;
  if (it->ordered && once_in(2)) settle(object);
}

static void note_kernel(int object, uint64_t handle) {
  const cushim_kernel kernel = (cushim_kernel)(uintptr_t)handle;
  CUfunction function = NULL;
  char name[16];
  must(cushim_kernel_get_name(kernel, name, sizeof name, NULL), "cushim_kernel_get_name");
  objects[object].shape = shape_named(name);
  if (once_in(4) && cushim_kernel_native_function(kernel, &function) == CUSHIM_SUCCESS) objects[object].function = address_of(function);
}

/* What is to be known of a new object. */
static void note(const struct plan *plan, int object, uint64_t handle) {
  switch (objects[object].kind) {
  case FUZZ_device: note_device(object, handle); break;
  case FUZZ_resource: note_resource(plan, object, handle); break;
  case FUZZ_buffer: note_buffer(plan, object, handle); break;
  case FUZZ_kernel: note_kernel(object, handle); break;
  case FUZZ_program:
    /* Linked for the device of a context: code, and nothing of that context. */
    if (objects[objects[object].parent].kind == FUZZ_context) pass_over_parent(object);
    break;
  default: break;
  }
}

#endif
