/* Arguments that depend on each other: pointers with their sizes, memory with who may free it, launches with their kernels. */
#ifndef FUZZ_FIT_H
#define FUZZ_FIT_H

#include "draw.h"
#include "exports.h"

static int object_at(const struct plan *plan, const char *name) {
  const int at = parameter_named(plan, name);
  return at == NOTHING ? NOTHING : plan->objects[at];
}

/* Host memory as large as any buffer that is not of virtual memory, or none. */
static void fit_host_memory(struct plan *plan, const char *name) { set_argument(plan, name, once_in(8) ? 0 : address_of(pages)); }

/* Virtual memory is larger than what there is for it to be copied to. */
static void fit_scratch_end(struct plan *plan) {
  fit_host_memory(plan, "destination");
  if (plan->objects[0] != NOTHING && objects[plan->objects[0]].bytes > sizeof pages) set_argument(plan, "destination", 0);
}

/* What was allocated from a resource goes back to it, in the stream in which it came. */
static const struct memory *memory_of_resource(const struct plan *plan) {
  const int resource = object_at(plan, "resource"), stream = object_at(plan, "stream");
  int i;
  for (i = 0; i < memory_count; i++) {
    const struct memory *it = &memories[i];
    if (it->kind != OF_RESOURCE || it->object != resource || resource == NOTHING) continue;
    if (it->stream == NOTHING || it->stream == stream) return it;
  }
  return NULL;
}

static void fit_free(struct plan *plan) {
  const struct memory *memory = memory_of_resource(plan);
  set_argument(plan, "pointer", memory == NULL ? 0 : memory->address);
  set_argument(plan, "bytes", memory == NULL ? 0 : memory->bytes);
}

/* Memory to wrap: that of the resource which frees it, or memory that stays until the end of the episode. */
static void fit_wrap(struct plan *plan) {
  const struct memory *memory = memory_of_resource(plan);
  const int frees = argument(plan, "resource") != 0;
  uint64_t pointer = once_in(3) ? address_of(pages) : lent_memory, bytes = ONE_OF(0, 64, PAGE);
  if (frees && memory != NULL && !once_in(8)) {
    pointer = memory->address;
    bytes = memory->bytes;
  } else if (frees && (plan->demanded == 0 || once_in(2))) {
    pointer = bytes = 0;
  } else if (once_in(16)) {
    pointer = once_in(2) ? 0 : UINT64_MAX;
  }
  set_argument(plan, "pointer", pointer);
  set_argument(plan, "bytes", bytes);
}

static void fit_load(struct plan *plan) {
  if (argument(plan, "image") == 0) return;
  draw_image(&plan->arguments[parameter_named(plan, "image")], &plan->arguments[parameter_named(plan, "size")]);
}

static enum kernel_shape shape_of(const struct plan *plan) {
  return plan->objects[0] == NOTHING ? NO_KERNEL : (enum kernel_shape)objects[plan->objects[0]].shape;
}

static void fit_launch(struct plan *plan) {
  uint64_t count = 0;
  draw_args(plan, shape_of(plan), (cushim_arg *)room_of(plan, "args"), &count);
  set_argument(plan, "arg_count", count);
}

static void fit_launch_packed(struct plan *plan) {
  const enum kernel_shape shape = shape_of(plan);
  struct target target = draw_target(plan);
  if (target.handle != 0) target.address = target.numbers == 0 ? 0 : objects[plan->used[plan->used_count - 1]].pointer;
  *(struct block *)room_of(plan, "block") = draw_block(&target, shape);
  set_argument(plan, "size", block_sizes[shape]);
  if (shape == NO_KERNEL || argument(plan, "block") == 0 || !tells_parameters() || !once_in(8)) return;
  set_argument(plan, "size", ONE_OF(0, 1, block_sizes[shape] + 8, block_sizes[shape] + 16, block_sizes[shape] - 1));
}

/* What the tensor is is said of it, mostly: what the flags say the library believes. */
static void fit_import(struct plan *plan) {
  int unversioned = once_in(3);
  if (once_in(16)) {
    set_argument(plan, "tensor", 0);
    demand(plan, CUSHIM_ERROR_INVALID_ARGUMENT);
  } else if (tensor_count > 0 && once_in(2)) {
    const struct tensor *it = &tensors[below((uint64_t)tensor_count)];
    unversioned = it->unversioned;
    set_argument(plan, "tensor", address_of(it->tensor));
  } else {
    set_argument(plan, "tensor", address_of(draw_tensor(plan, unversioned)));
  }
  set_argument(plan, "flags", unversioned ? CUSHIM_DLPACK_UNVERSIONED : 0);
  if (!once_in(32)) return;
  set_argument(plan, "flags", ONE_OF(CUSHIM_DLPACK_READ_ONLY, 8, UINT32_MAX));
  demand(plan, CUSHIM_ERROR_INVALID_ARGUMENT);
}

/* Those that have its address alone, as tensors do, must not use it while it sleeps: so one that was lent is not put to sleep. */
static void fit_sleep(struct plan *plan) {
  const int buffer = plan->objects[0];
  if (buffer != NOTHING && (objects[buffer].children > 0 || objects[buffer].holds > 0)) set_argument(plan, "flags", 2);
}

/* The resource from which the call allocates, if that is known. */
static int allocates_from(const struct plan *plan) {
  const int resource = object_at(plan, "resource");
  if (resource != NOTHING) return resource;
  if (!is_named(plan, "cushim_buffer_create_default")) return NOTHING;
  return plan->objects[0] == NOTHING ? NOTHING : objects[plan->objects[0]].resource;
}

/* Of a resource that is stream-ordered a stream is required, and of others it is not. */
static void fit_stream(struct plan *plan) {
  const int at = parameter_named(plan, "stream"), resource = allocates_from(plan);
  if (at == NOTHING || plan->function->parameters[at].role != HANDLE || !plan->function->parameters[at].nullable) return;
  if (plan->arguments[at] != 0) return;
  if (resource == NOTHING) plan->allowed |= bit(CUSHIM_ERROR_STREAM_REQUIRED);
  else if (objects[resource].ordered) demand(plan, CUSHIM_ERROR_STREAM_REQUIRED);
}

/* A pool of the host's has no device of its own, and all its users share it: no device may lose access. */
static void fit_peers(struct plan *plan) {
  int i;
  if (plan->objects[0] == NOTHING || objects[plan->objects[0]].ordinal >= 0) return;
  for (i = 0; i < FUNCTIONS; i++) {
    if (strcmp(fuzz_functions[i].name, "cushim_resource_add_peers") == 0) plan->function = &fuzz_functions[i];
  }
}

/*
 * Whether the call may refuse objects that are good, for what they are: sizes that differ, streams of two contexts, memory that no device
 * reaches, buffers that sleep or do not, or have no bytes, before driver 12.0 a kernel of another context than the stream's, programs that
 * have the same function.
 */
static int refuses_objects(const struct plan *plan) {
  static const char *const names[] = {"cushim_buffer_create_copy", "cushim_buffer_sleep", "cushim_buffer_wake",
                                      "cushim_buffer_get_sync_memops", "cushim_device_set_resource",
                                      "cushim_kernel_get_largest_cluster", "cushim_kernel_get_active_clusters",
                                      "cushim_stream_copy_attributes", "cushim_buffer_get_part_count", "cushim_buffer_export_parts",
                                      "cushim_buffer_export_dlpack", "cushim_program_link"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    if (is_named(plan, names[i])) return 1;
  }
  return 0;
}

/* What was mapped from OpenGL is refused once it is unmapped. */
static int may_be_unmapped(const struct plan *plan) {
  int i;
  for (i = 0; i < PARAMETERS; i++) {
    const int object = plan->objects[i];
    if (object != NOTHING && objects[object].kind == FUZZ_buffer && ancestor(object, FUZZ_graphics) != NOTHING) return 1;
  }
  return 0;
}

static void fit(struct plan *plan) {
  if (is_named(plan, "cushim_resource_free")) fit_free(plan);
  else if (is_named(plan, "cushim_buffer_wrap")) fit_wrap(plan);
  else if (is_named(plan, "cushim_buffer_create_scratch")) fit_host_memory(plan, "source");
  else if (is_named(plan, "cushim_buffer_destroy_scratch")) fit_scratch_end(plan);
  else if (is_named(plan, "cushim_library_load")) fit_load(plan);
  else if (is_named(plan, "cushim_kernel_launch")) fit_launch(plan);
  else if (is_named(plan, "cushim_kernel_launch_packed")) fit_launch_packed(plan);
  else if (is_named(plan, "cushim_buffer_import_dlpack")) fit_import(plan);
  else if (is_named(plan, "cushim_resource_set_peers") || is_named(plan, "cushim_resource_remove_peers")) fit_peers(plan);
  else if (is_named(plan, "cushim_buffer_sleep")) fit_sleep(plan);
  else if (imported_by(plan) != EXPORTED_KINDS) fit_exported(plan);
  plan->doubtful |= refuses_objects(plan) || may_be_unmapped(plan) || mentions(plan, "cushim_graphics");
  fit_stream(plan);
}

#endif
