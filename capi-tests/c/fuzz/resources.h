/* Resources of the program's own, and tensors: what they do, and what is wrong with some. */
#ifndef FUZZ_RESOURCES_H
#define FUZZ_RESOURCES_H

#include "memory.h"

#include "dlpack.h"

/* The program's own memory for resources: each piece is used once in an episode, as work may still be on it. */

enum { PIECES = 64 };
enum piece_state { FREE, IN_USE, FREED };

static unsigned char arena[PIECES][LARGEST] __attribute__((aligned(4096)));
static int arena_states[PIECES];
static int arena_used, arena_misused;

static int piece_at(uint64_t address) {
  const uint64_t offset = address - address_of(arena);
  return offset < sizeof arena ? (int)(offset / LARGEST) : NOTHING;
}

/* What they answer when they do not do it: no status of anybody else. */
enum { DECLINES = 100001, KEEPS, HAS_NO_PROPERTIES };

/* What a resource of the program's own does. */
enum custom {
  OF_HOST,      /* takes pieces of the arena */
  IN_ORDER,     /* asks the library for memory in the stream's order */
  DECLINING,    /* allocates nothing */
  FORGETFUL,    /* says that it has allocated, and not where */
  KEEPING,      /* frees nothing */
  SECRETIVE,    /* does not tell what it is */
  UNREACHABLE,  /* has memory that nobody reaches */
  ELSEWHERE,    /* has memory of a device that there is not */
  CUSTOMS
};
static int customs[CUSTOMS];

static cushim_status custom_allocate(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer) {
  const int custom = *(const int *)user;
  int piece;
  if (custom == IN_ORDER) return cushim_stream_allocate(stream, bytes, pointer);
  if (custom == FORGETFUL) return CUSHIM_SUCCESS;
  if (custom == DECLINING || bytes > LARGEST) return DECLINES;
  piece = __atomic_fetch_add(&arena_used, 1, __ATOMIC_RELAXED);
  if (piece >= PIECES) return DECLINES;
  __atomic_store_n(&arena_states[piece], IN_USE, __ATOMIC_RELAXED);
  *pointer = address_of(arena[piece]);
  return CUSHIM_SUCCESS;
}

/* Where the context of the stream is gone, what came in its order is not freed in it. */
static cushim_status free_in_order(cushim_stream stream, uint64_t pointer) {
  const struct memory memory = {OF_STREAM, pointer, NOTHING, NOTHING, 0};
  const cushim_status status = cushim_stream_free(stream, pointer);
  if (status != CUDA_ERROR_CONTEXT_IS_DESTROYED) return status;
  strand(&memory);
  return CUSHIM_SUCCESS;
}

static cushim_status custom_deallocate(void *user, cushim_stream stream, uint64_t pointer, size_t bytes) {
  const int custom = *(const int *)user, piece = piece_at(pointer);
  (void)bytes;
  if (custom == IN_ORDER) return free_in_order(stream, pointer);
  if (piece == NOTHING || __atomic_exchange_n(&arena_states[piece], FREED, __ATOMIC_RELAXED) != IN_USE) arena_misused = 1;
  return custom == KEEPING ? KEEPS : CUSHIM_SUCCESS;
}

static cushim_status custom_properties(void *user, cushim_memory_properties *properties) {
  switch (*(const int *)user) {
  case IN_ORDER:
    properties->device_accessible = 1;
    properties->host_accessible = 0;
    properties->stream_ordered = 1;
    break;
  case UNREACHABLE: properties->host_accessible = 0; break;
  case ELSEWHERE: properties->device = 99; break;
  case SECRETIVE: return HAS_NO_PROPERTIES;
  default: break;
  }
  return CUSHIM_SUCCESS;
}

static void draw_functions(cushim_resource_functions *functions) {
  const int custom = (int)(once_in(4) ? below(CUSTOMS) : ONE_OF(OF_HOST, IN_ORDER));
  customs[custom] = custom;
  functions->user = &customs[custom];
  functions->allocate = custom != IN_ORDER && once_in(16) ? NULL : custom_allocate;
  functions->free = custom_deallocate;
  functions->destroy = once_in(3) ? NULL : release_owner;
  functions->properties = custom == OF_HOST && once_in(4) ? NULL : custom_properties;
}

/* Options. */

static void draw_pool_options(cushim_device_pool_options *options) {
  options->choice = (int32_t)ONE_OF(0, 1, 2, 2, 2, 3);
  options->handle_types = once_in(3) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : once_in(8) ? (int32_t)below(10) : 0;
  options->max_size = once_in(8) ? (size_t)ONE_OF(1, PAGE, 1 << 25, SIZE_MAX) : 0;
}

static void draw_pinned_options(cushim_pinned_options *options) {
  options->form = (int32_t)below(4);
  options->flags = once_in(4) ? (uint32_t)below(9) : 0;
  options->own_pool = once_in(4) ? (int32_t)below(3) : 0;
  options->numa_node = once_in(16) ? (int32_t)ONE_OF(1, 99, UINT64_MAX) : 0;
  options->max_size = once_in(16) ? (size_t)ONE_OF(1, 1 << 25, SIZE_MAX) : 0;
  options->handle_types = once_in(8) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : once_in(16) ? (int32_t)below(10) : 0;
  options->reserved = once_in(32);
}

static void draw_virtual_options(cushim_virtual_options *options) {
  options->shareable = (cushim_shareable)(once_in(2) ? CUSHIM_SHAREABLE_POSIX_FD : once_in(16) ? below(4) : 0);
  options->flags = once_in(16) ? (uint32_t)below(5) : 0;
  options->alignment = once_in(16) ? (size_t)ONE_OF(PAGE, 1 << 21, 3 << 20) : 0;
}

static void draw_managed_options(cushim_managed_options *options) {
  options->flags = (uint32_t)ONE_OF(0, 0, 0, 1, 2);
  options->reserved = once_in(32);
  if (once_in(3)) draw_location(&options->pool_location);
}

static void draw_tensor_options(cushim_dlpack_options *options) {
  static int64_t shape[4];
  int i;
  options->code = (int32_t)ONE_OF(0, 1, 2, 300);
  options->bits = (int32_t)ONE_OF(0, 8, 32, 64, 7, UINT64_MAX);
  options->lanes = (int32_t)ONE_OF(0, 1, 2, UINT64_MAX);
  options->flags = (uint32_t)ONE_OF(0, 0, CUSHIM_DLPACK_READ_ONLY, CUSHIM_DLPACK_UNVERSIONED, 3, 4);
  for (i = 0; i < 4; i++) shape[i] = (int64_t)ONE_OF(0, 1, 4, 8, (uint64_t)1 << 62, UINT64_MAX);
  options->shape = once_in(2) ? NULL : shape;
  options->dimensions = options->shape != NULL ? (size_t)ONE_OF(0, 1, 2, 4, 65) : below(16) / 15;
  options->offset = ONE_OF(0, 0, 8, PAGE, UINT64_MAX);
}

/* Tensors. */

/* What lies in device memory from the beginning of an episode to its end, so that others may be lent it. */
static uint64_t lent_memory;

struct own_tensor {
  DLManagedTensorVersioned managed;
  DLManagedTensor unversioned;
  int64_t shape[3], strides[3];
};

static void delete_tensor(DLManagedTensorVersioned *tensor) {
  free(tensor->manager_ctx);
  release_owner(NULL);
}

static void delete_unversioned(DLManagedTensor *tensor) {
  free(tensor->manager_ctx);
  release_owner(NULL);
}

/* A tensor of the program's own, of memory that is larger than it says; or not quite a tensor. */
static void *draw_tensor(struct plan *plan, int unversioned) {
  struct own_tensor *it = (struct own_tensor *)calloc(1, sizeof *it);
  DLTensor *tensor = &it->managed.dl_tensor;
  int i;
  plan->given = it;
  it->managed.version.major = once_in(16) ? (uint32_t)ONE_OF(0, 2) : 1;
  it->managed.manager_ctx = it;
  it->managed.deleter = &delete_tensor;
  it->managed.flags = below(4);
  tensor->device.device_type = (int32_t)ONE_OF(kDLCPU, kDLCUDA, kDLCUDA, kDLCUDAHost, kDLCUDAManaged, 99);
  tensor->device.device_id = once_in(16) ? (int32_t)ONE_OF(UINT64_MAX, 99) : 0;
  tensor->data = tensor->device.device_type == kDLCPU ? (void *)pages : (void *)(uintptr_t)lent_memory;
  tensor->ndim = once_in(16) ? (int32_t)ONE_OF(UINT64_MAX, 65) : (int32_t)below(4);
  tensor->dtype.code = kDLUInt;
  tensor->dtype.bits = (uint8_t)ONE_OF(8, 32, 64, 4, 0);
  tensor->dtype.lanes = (uint16_t)ONE_OF(1, 1, 2);
  for (i = 2; i >= 0; i--) {
    it->shape[i] = (int64_t)ONE_OF(0, 1, 4, 4);
    it->strides[i] = i == 2 ? 1 : it->strides[i + 1] * it->shape[i + 1];
  }
  /* A size beyond all memory is refused; a large one would be believed. */
  if (once_in(16)) it->shape[0] = it->shape[1] = it->shape[2] = INT64_MAX;
  if (once_in(16)) it->shape[below(3)] = -1;
  if (once_in(16)) it->strides[below(3)] = 5;
  tensor->shape = once_in(32) ? NULL : it->shape;
  tensor->strides = once_in(2) ? NULL : it->strides;
  tensor->byte_offset = once_in(32) ? UINT64_MAX : ONE_OF(0, 0, 8);
  /* What has one extent, and a large one, has to be refused for another reason. */
  if (it->shape[0] == INT64_MAX && tensor->ndim < 2) tensor->ndim = 2;
  if (!unversioned) return it;
  it->unversioned.dl_tensor = *tensor;
  it->unversioned.manager_ctx = it;
  it->unversioned.deleter = &delete_unversioned;
  return &it->unversioned;
}

static void delete_given_out(int at) {
  const struct tensor it = tensors[at];
  const int buffer = it.buffer;
  tensors[at] = tensors[--tensor_count];
  if (it.unversioned) ((DLManagedTensor *)it.tensor)->deleter((DLManagedTensor *)it.tensor);
  else ((DLManagedTensorVersioned *)it.tensor)->deleter((DLManagedTensorVersioned *)it.tensor);
  if (buffer != NOTHING) let_go(buffer);
}

#endif
