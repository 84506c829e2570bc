/*
 * A context that is reset while objects of it are held: every call on them is refused with a sentence, none reaches the
 * context that the driver makes next, at the same address, and destroying them releases nothing of that one.
 */
#include "objects.h"

enum { BYTES = 4096 };

/* What there was when the context was reset. */
struct old {
  cushim_context context;
  cushim_context lent; /* the same context, wrapped */
  cushim_stream stream, default_stream, threads_stream;
  cushim_event event;
  uint64_t memory;
  void *host;
};

static cushim_device device;
static char bytes[BYTES];

/* The call is refused, and the sentence says what happened and what to do. */
#define GONE(call)                                                                                                     \
  (CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, call), CHECK_CONTAINS(last_message(), "was destroyed or reset"),      \
   CHECK_CONTAINS(last_message(), "retain or create a context"))

static void nothing(void *data) { (void)data; }

static struct old make(void) {
  struct old old;
  CUcontext native = NULL;
  memset(&old, 0, sizeof old);
  old.context = primary_context(device);
  CHECK_OK(cushim_context_native(old.context, &native));
  CHECK_OK(cushim_context_destroy(old.context));
  /* Wrapped while nobody here holds it, and retained afterwards: one object all the same. */
  CHECK_OK(cushim_context_wrap(device, native, CUSHIM_BORROWED, &old.lent));
  old.context = primary_context(device);
  CHECK(old.context != old.lent && is_same(old.context, old.lent));
  old.stream = new_stream(old.context);
  CHECK_OK(cushim_context_get_legacy_stream(old.context, &old.default_stream));
  CHECK_OK(cushim_context_get_per_thread_stream(old.context, &old.threads_stream));
  old.event = new_event(old.context, CUSHIM_EVENT_TIMING);
  CHECK_OK(cushim_event_record(old.event, old.stream));
  CHECK_OK(cushim_context_allocate(old.context, BYTES, &old.memory));
  CHECK_OK(cushim_context_allocate_host(old.context, BYTES, 0, &old.host));
  return old;
}

static void contexts(cushim_context gone) {
  cushim_stream stream;
  cushim_event event;
  uint64_t id;
  uint32_t flags;
  int32_t least, greatest;
  size_t size, total;
  cushim_status lost = 0;
  CHECK_OK(cushim_context_get_lost(gone, &lost));
  CHECK(lost == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  GONE(cushim_context_get_id(gone, &id));
  GONE(cushim_context_get_flags(gone, &flags));
  GONE(cushim_context_get_stream_priorities(gone, &least, &greatest));
  GONE(cushim_context_get_limit(gone, CU_LIMIT_STACK_SIZE, &size));
  GONE(cushim_context_set_limit(gone, CU_LIMIT_STACK_SIZE, 1024));
  GONE(cushim_context_synchronize(gone));
  GONE(cushim_context_set_current(gone));
  GONE(cushim_context_push(gone));
  GONE(cushim_stream_create(gone, NULL, &stream));
  GONE(cushim_event_create(gone, NULL, &event));
  GONE(cushim_context_get_memory_info(gone, &size, &total));
}

static void memory(const struct old *old, cushim_context gone) {
  uint64_t pointer = 1, start;
  size_t size;
  void *address = NOT_NULL;
  cushim_pointer_attributes attributes;
  cushim_endpoint here = cushim_endpoint_host(bytes), there = cushim_endpoint_device(old->memory);
  cushim_region from = cushim_region_at(here, 0), to = cushim_region_at(there, 0);
  cushim_extent extent = {16, 2, 1};
  memset(&attributes, 0, sizeof attributes);
  attributes.struct_size = sizeof attributes;
  GONE(cushim_context_allocate(gone, BYTES, &pointer));
  CHECK(pointer == 0);
  GONE(cushim_context_allocate_host(gone, BYTES, 0, &address));
  CHECK(address == NULL);
  GONE(cushim_context_register_host(gone, bytes, sizeof bytes, 0));
  GONE(cushim_context_get_device_pointer(gone, old->host, &pointer));
  GONE(cushim_context_get_pointer_attributes(gone, old->memory, &attributes));
  GONE(cushim_context_get_address_range(gone, old->memory, &start, &size));
  GONE(cushim_context_copy(gone, &there, &here, BYTES));
  GONE(cushim_context_copy_3d(gone, &to, &from, &extent));
  GONE(cushim_context_fill(gone, &there, CUSHIM_VALUE_8(0), BYTES));
  GONE(cushim_context_fill_2d(gone, &there, 64, CUSHIM_VALUE_8(0), 16, 2));
}

static cushim_range old_range(const struct old *old) {
  return cushim_range_pointer(old->memory, BYTES);
}

static const cushim_location host = {CUSHIM_LOCATION_HOST, 0};

static void managed_memory(const struct old *old, cushim_context gone) {
  const cushim_range range = old_range(old);
  cushim_range_attributes attributes;
  size_t count;
  attributes.struct_size = sizeof attributes;
  GONE(cushim_context_advise(gone, &range, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  GONE(cushim_context_advise_batch(gone, &range, 1, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, &host, 1));
  GONE(cushim_context_get_range_attributes(gone, &range, &attributes));
  GONE(cushim_context_get_accessed_by(gone, &range, NULL, 0, &count));
  GONE(cushim_context_add_accessed_by(gone, &range, &host, 1));
  GONE(cushim_context_remove_accessed_by(gone, &range, &host, 1));
  GONE(cushim_context_set_accessed_by(gone, &range, &host, 1));
}

static void batches(const struct old *old, cushim_stream gone) {
  const cushim_range range = old_range(old);
  cushim_copy copy;
  copy.source = cushim_endpoint_host(bytes);
  copy.destination = cushim_endpoint_device(old->memory);
  copy.bytes = BYTES;
  GONE(cushim_stream_prefetch(gone, &range, &host));
  GONE(cushim_stream_prefetch_batch(gone, &range, 1, &host, 1, NULL));
  GONE(cushim_stream_discard(gone, &range));
  GONE(cushim_stream_discard_batch(gone, &range, 1, NULL));
  GONE(cushim_stream_discard_prefetch(gone, &range, &host));
  GONE(cushim_stream_discard_prefetch_batch(gone, &range, 1, &host, 1, NULL));
  GONE(cushim_stream_copy_batch(gone, &copy, 1, NULL, 0, NULL));
  GONE(cushim_stream_copy_with_attributes(gone, &copy.destination, &copy.source, BYTES, NULL));
}

static void streams(const struct old *old, cushim_stream gone) {
  uint32_t flags;
  int32_t number;
  uint64_t id, pointer;
  cushim_endpoint here = cushim_endpoint_host(bytes), there = cushim_endpoint_device(old->memory);
  cushim_region from = cushim_region_at(here, 0), to = cushim_region_at(there, 0);
  cushim_extent extent = {16, 2, 1};
  cushim_memory_operation write;
  memset(&write, 0, sizeof write);
  write.action = CUSHIM_MEMORY_WRITE_32;
  write.at = there;
  GONE(cushim_stream_query(gone, &number));
  CHECK(number == 0);
  GONE(cushim_stream_synchronize(gone));
  GONE(cushim_stream_synchronize_within(gone, 1000, &number));
  GONE(cushim_stream_get_flags(gone, &flags));
  GONE(cushim_stream_get_priority(gone, &number));
  GONE(cushim_stream_get_id(gone, &id));
  GONE(cushim_stream_wait_event(gone, old->event));
  GONE(cushim_stream_wait_stream(gone, old->stream));
  GONE(cushim_stream_launch_host_function(gone, nothing, NULL, NULL));
  GONE(cushim_stream_launch_host_function_bytes(gone, nothing, "four", 4));
  GONE(cushim_stream_memory_operations(gone, &write, 1));
  GONE(cushim_event_record(old->event, gone));
  GONE(cushim_stream_allocate(gone, BYTES, &pointer));
  GONE(cushim_stream_copy(gone, &there, &here, BYTES));
  GONE(cushim_stream_copy_3d(gone, &to, &from, &extent));
  GONE(cushim_stream_fill(gone, &there, CUSHIM_VALUE_8(0), BYTES));
  GONE(cushim_stream_fill_2d(gone, &there, 64, CUSHIM_VALUE_8(0), 16, 2));
}

static void events(const struct old *old) {
  int32_t done;
  float milliseconds;
  GONE(cushim_event_query(old->event, &done));
  GONE(cushim_event_synchronize(old->event));
  GONE(cushim_event_synchronize_within(old->event, 1000, &done));
  GONE(cushim_event_elapsed(old->event, old->event, &milliseconds));
}

/* Objects of the new context refuse what belonged to the old one, and go on. */
static void with_the_new_one(const struct old *old, cushim_context context) {
  cushim_stream stream = new_stream(context);
  cushim_event event = new_event(context, CUSHIM_EVENT_TIMING);
  cushim_endpoint memory = cushim_endpoint_device(old->memory), named = memory;
  float milliseconds;
  int32_t done = 0;
  GONE(cushim_stream_wait_event(stream, old->event));
  GONE(cushim_stream_wait_stream(stream, old->stream));
  GONE(cushim_event_record(event, old->stream));
  GONE(cushim_event_record(old->event, stream));
  GONE(cushim_event_elapsed(old->event, event, &milliseconds));
  GONE(cushim_event_elapsed(event, old->event, &milliseconds));
  named.context = old->context;
  GONE(cushim_stream_copy(stream, &named, &memory, 64));
  GONE(cushim_stream_copy(stream, &memory, &named, 64));
  GONE(cushim_context_copy(context, &named, &memory, 64));
  GONE(cushim_stream_fill(stream, &named, CUSHIM_VALUE_8(0), 64));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_query(stream, &done));
  CHECK(done == 1);
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(stream));
}

/* The driver may give a stream of the new context the handle that one of the old context had. */
static void wrapping(cushim_driver driver, cushim_context context) {
  const cushim_driver_table *cu = table_of(driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_context popped, of;
  cushim_stream stream;
  CUstream native = NULL;
  int32_t done = 0;
  CHECK_OK(cushim_context_push(context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&native, 0));
  CHECK_OK(cushim_context_pop(driver, &popped, NULL));
  CHECK_OK(cushim_stream_wrap(context, native, CUSHIM_OWNED, &stream));
  CHECK_OK(cushim_stream_get_context(stream, &of));
  CHECK(is_same(of, context));
  CHECK_OK(cushim_stream_query(stream, &done));
  CHECK(done == 1);
  CHECK_OK(cushim_stream_destroy(stream));
}

/* Whatever the old objects release is none of the new context's. */
static void release(struct old *old, cushim_context context) {
  static char back[BYTES];
  uint64_t fresh = 0;
  cushim_stream stream = new_stream(context);
  cushim_event event = new_event(context, 0);
  cushim_endpoint from, to = cushim_endpoint_host(back);
  CHECK_OK(cushim_context_allocate(context, BYTES, &fresh)); /* perhaps where the old memory was */
  CHECK_OK(set_bytes(context, fresh, 7, BYTES));
  CHECK_OK(cushim_context_free(old->context, old->memory));
  CHECK_OK(cushim_context_free_host(old->context, old->host));
  CHECK_OK(cushim_event_destroy(old->event));
  CHECK_OK(cushim_stream_destroy(old->stream));
  CHECK_OK(cushim_context_destroy(old->lent));
  CHECK_OK(cushim_context_destroy(old->context));
  from = cushim_endpoint_device(fresh);
  CHECK_OK(cushim_context_copy(context, &to, &from, BYTES));
  CHECK(back[0] == 7 && back[BYTES - 1] == 7);
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_context_free(context, fresh));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_stream_destroy(stream));
}

static void refused(const struct old *old) {
  contexts(old->context);
  memory(old, old->context);
  managed_memory(old, old->context);
  streams(old, old->stream);
  streams(old, old->default_stream);
  streams(old, old->threads_stream);
  batches(old, old->stream);
  batches(old, old->default_stream);
  batches(old, old->threads_stream);
  events(old);
}

/* Somebody else holds the primary context, and here it is only wrapped: the reset is known all the same. */
static void wrapped_only(const cushim_driver_table *cu) {
  cushim_context lent;
  cushim_stream stream;
  CUcontext native = NULL;
  int32_t done;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuDevicePrimaryCtxRetain_7000(&native, 0));
  CHECK_OK(cushim_context_wrap(device, native, CUSHIM_BORROWED, &lent));
  stream = new_stream(lent);
  CHECK_OK(cushim_device_reset_primary_context(device));
  contexts(lent);
  GONE(cushim_stream_query(stream, &done));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(lent));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuDevicePrimaryCtxRelease_11000(0));
}

/* Wrapped as borrowed and as owned, it is one object, which destroys the context when its last handle is destroyed. */
static void destroyed_by_its_last_handle(cushim_driver driver, const cushim_driver_table *cu) {
  cushim_context lent, owned, popped;
  cushim_stream stream;
  CUcontext native = NULL;
  unsigned version = 0;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxCreate_3020(&native, 0, 0));
  CHECK_OK(cushim_context_pop(driver, &popped, NULL));
  CHECK_OK(cushim_context_wrap(device, native, CUSHIM_BORROWED, &lent));
  CHECK_OK(cushim_context_wrap(device, native, CUSHIM_OWNED, &owned));
  CHECK(lent != owned && is_same(lent, owned));
  stream = new_stream(lent);
  CHECK_OK(cushim_context_destroy(owned));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_context_destroy(lent));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxGetApiVersion_3020(native, &version));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK(cu->cuCtxGetApiVersion_3020(native, &version) != CUDA_SUCCESS);
}

int main(void) {
  cushim_driver driver;
  cushim_context context;
  struct old old;
  check_begin();
  driver = open_driver();
  device = first_device(driver);
  if (is_none(driver)) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_device_reset_primary_context(device));
  } else {
    wrapped_only(table_of(driver, CUSHIM_TABLE_LEGACY_STREAM));
    destroyed_by_its_last_handle(driver, table_of(driver, CUSHIM_TABLE_LEGACY_STREAM));
    old = make();
    CHECK_OK(cushim_device_reset_primary_context(device));
    refused(&old);
    context = primary_context(device);
    CHECK(!is_same(context, old.context));
    refused(&old);
    with_the_new_one(&old, context);
    wrapping(driver, context);
    release(&old, context);
    CHECK_OK(cushim_context_destroy(context));
  }
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
