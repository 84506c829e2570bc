/* Buffers: who holds them, in which stream they go, and what is wrapped. */
#include "resources.h"

#include "busy.h"

#include <pthread.h>

static const uint32_t one = 1;

static struct objects all;
static cushim_resource pool, plain;

static cushim_buffer create(cushim_resource resource, cushim_stream stream) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(resource, stream, BYTES, &buffer));
  return buffer;
}

static uint64_t pointer_of(cushim_buffer buffer) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  return pointer;
}

static cushim_stream stream_of(cushim_buffer buffer) {
  cushim_stream stream = (cushim_stream)NOT_NULL;
  CHECK_OK(cushim_buffer_get_stream(buffer, &stream));
  return stream;
}

static uint64_t used(void) {
  uint64_t bytes = 0;
  CHECK_OK(cushim_resource_get_attribute(pool, CUSHIM_POOL_USED_CURRENT, &bytes));
  return bytes;
}

static cushim_resource new_pool(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource resource = NULL;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &resource));
  return resource;
}

static void what_it_is(void) {
  cushim_buffer buffer = create(pool, all.stream);
  cushim_memory_properties properties;
  cushim_resource resource;
  cushim_context context;
  size_t bytes = 0;
  int32_t owned = -1;
  void *data = NOT_NULL;
  CHECK(pointer_of(buffer) != 0);
  CHECK_OK(cushim_buffer_get_size(buffer, &bytes));
  CHECK(bytes == BYTES);
  CHECK_OK(cushim_buffer_get_resource(buffer, &resource));
  CHECK(is_same(resource, pool));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_resource_destroy(resource));
  CHECK_OK(cushim_buffer_get_context(buffer, &context));
  CHECK(is_same(context, all.context));
  CHECK_OK(cushim_buffer_get_owner(buffer, &owned, &data));
  CHECK(owned == 0 && data == NULL);
  CHECK(is_same(stream_of(buffer), all.stream));
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.device == 0 && properties.device_accessible == 1 && properties.host_accessible == 0);
  CHECK(properties.managed == 0 && properties.stream_ordered == 1);
  CHECK_OK(cushim_set_label(buffer, "weights"));
  CHECK_CONTAINS(description(buffer), "weights");
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_buffer_destroy(buffer));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_buffer_destroy_on(buffer, all.stream));
  CHECK_OK(cushim_buffer_destroy(NULL));
}

static void without_bytes(void) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(pool, all.stream, 0, &buffer));
  CHECK(pointer_of(buffer) == 0);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_create(pool, NULL, 0, &buffer));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create(pool, all.stream, (size_t)1 << 50, &buffer));
  CHECK(buffer == NULL);
}

/* Of two holds the last one frees, in the stream that was named by the first destroy. */
static void holds(void) {
  struct busy busy;
  cushim_stream other = new_stream(all.context);
  cushim_buffer buffer = create(pool, all.stream), more = NULL;
  CHECK_OK(cushim_buffer_ref(buffer, &more));
  CHECK_OK(cushim_buffer_destroy_on(buffer, other));
  CHECK(is_same(stream_of(more), other));
  CHECK_OK(cushim_stream_destroy(other)); /* the buffer keeps it */
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(used() == BYTES);
  CHECK_OK(fill_bytes(all.stream, pointer_of(more), 3, BYTES));
  CHECK(last_byte(all.stream, pointer_of(more), BYTES) == 3);
  CHECK_OK(cushim_buffer_destroy(more));
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK(used() == 0);
  /* What is set last counts. */
  other = new_stream(all.context);
  buffer = create(pool, all.stream);
  CHECK_OK(cushim_stream_synchronize(all.stream)); /* it is there before the other stream frees it */
  CHECK_OK(cushim_buffer_set_stream(buffer, other));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(other));
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(used() == 0);
  CHECK_OK(cushim_stream_destroy(other));
}

/* The pool goes when the last of its buffers does. */
static void outlives_its_pool(void) {
  cushim_resource short_lived = new_pool(), still;
  cushim_buffer buffer = create(short_lived, all.stream);
  CHECK_OK(cushim_resource_destroy(short_lived));
  CHECK_OK(cushim_buffer_get_resource(buffer, &still));
  CHECK(still != NULL);
  CHECK_OK(fill_bytes(all.stream, pointer_of(buffer), 9, BYTES));
  CHECK(last_byte(all.stream, pointer_of(buffer), BYTES) == 9);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* Memory that is not stream-ordered goes at once, after the stream that is named. */
/*
 * Memory that came in one context is freed in the order of another's stream, when everything else of its own context is gone:
 * the buffer keeps that.
 */
static void outlives_its_context(void) {
  cushim_context context;
  cushim_stream stream;
  cushim_buffer buffer;
  CHECK_OK(cushim_context_create(all.device, NULL, &context));
  CHECK_OK(cushim_stream_create(context, NULL, &stream));
  buffer = create(pool, stream);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_buffer_set_stream(buffer, all.stream));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static void at_once(void) {
  cushim_buffer buffer = create(plain, NULL);
  int32_t done = -1;
  CHECK(stream_of(buffer) == NULL);
  CHECK_OK(fill_bytes(all.stream, pointer_of(buffer), 1, BYTES));
  CHECK_OK(cushim_buffer_destroy_on(buffer, all.stream));
  CHECK_OK(cushim_stream_query(all.stream, &done));
  CHECK(done == 1);
  buffer = create(plain, all.stream);
  CHECK(stream_of(buffer) == NULL);
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_destroy_on(buffer, NULL));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_set_stream(buffer, NULL));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static int released;

static void count_release(void *data) {
  (void)data;
  __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
}

static void wrapped(void) {
  cushim_owner owner = {NOT_NULL, count_release};
  cushim_memory_properties properties;
  cushim_resource resource = (cushim_resource)NOT_NULL;
  cushim_buffer buffer;
  uint64_t pointer = 0;
  int32_t owned = 0;
  void *data = NULL;
  CHECK_OK(cushim_resource_allocate(plain, NULL, BYTES, &pointer));
  /* By nobody: the lender frees it. */
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, pointer, BYTES, NULL, NULL, &buffer));
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.device == 0 && properties.device_accessible == 1 && properties.host_accessible == 0);
  CHECK_OK(cushim_buffer_get_resource(buffer, &resource));
  CHECK(resource == NULL);
  CHECK_OK(cushim_buffer_destroy(buffer));
  /* By an owner. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_wrap(all.driver, NULL, pointer, BYTES, plain, &owner, &buffer));
  CHECK_CONTAINS(last_message(), "owner");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_wrap(all.driver, NULL, 0, BYTES, NULL, &owner, &buffer));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_wrap(all.driver, NULL, UINT64_MAX - 8, BYTES, NULL, NULL, &buffer));
  flush_callbacks();
  CHECK(released == 0);
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, pointer, BYTES, NULL, &owner, &buffer));
  CHECK_OK(cushim_buffer_get_owner(buffer, &owned, &data));
  CHECK(owned == 1 && data == NOT_NULL);
  CHECK_OK(cushim_buffer_destroy(buffer));
  flush_callbacks();
  CHECK(__atomic_load_n(&released, __ATOMIC_SEQ_CST) == 1);
  /* By a resource, which frees it. */
  CHECK_OK(cushim_buffer_wrap(all.driver, all.stream, pointer, BYTES, plain, NULL, &buffer));
  CHECK(stream_of(buffer) == NULL);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_allocate(pool, all.stream, BYTES, &pointer));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_wrap(all.driver, NULL, pointer, BYTES, pool, NULL, &buffer));
  CHECK(buffer == NULL);
  CHECK_OK(cushim_buffer_wrap(all.driver, all.stream, pointer, BYTES, pool, NULL, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(used() == 0);
}

static void *destroy_it(void *buffer) {
  CHECK_OK(cushim_buffer_destroy((cushim_buffer)buffer));
  return NULL;
}

static void in_another_thread(cushim_buffer buffer) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, destroy_it, buffer) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* The per-thread stream of this thread, freed by another: with a mark at the destroy here, and without. */
static void per_thread(void) {
  cushim_stream mine;
  cushim_buffer buffer, more = NULL;
  cushim_context current;
  struct busy busy;
  int marked;
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &mine));
  buffer = create(pool, mine);
  CHECK_OK(cushim_buffer_ref(buffer, &more));
  CHECK_OK(cushim_context_push(all.context));
  busy_begin(&busy, all.driver, mine);
  CHECK_OK(cushim_context_pop(all.driver, &current, NULL));
  marked = CHECK_OK(cushim_buffer_destroy(buffer));
  if (!marked) busy_end(&busy); /* all work is waited for */
  in_another_thread(more);
  if (marked) busy_end(&busy); /* so this did not wait */
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK(used() == 0);
  buffer = create(pool, mine);
  in_another_thread(buffer);
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK(used() == 0);
}

static int is_softcuda(void) {
  char name[64] = "";
  CHECK_OK(cushim_device_get_name(all.device, name, sizeof name, NULL));
  return strstr(name, "softcuda") != NULL;
}

/*
 * What frees for another thread's stream comes after the point in it that the destroy has marked: who gets the memory next,
 * in whatever stream, waits for the work before that point, be it held up or just not begun. (A driver may give other memory. softcuda gives this.)
 */
static void in_the_order_of_another_thread(int held_up) {
  cushim_resource own = new_pool();
  cushim_stream mine, other = new_stream(all.context);
  cushim_buffer buffer, more = NULL, next;
  cushim_context current;
  uint64_t pointer;
  int32_t done = -1;
  int has_it, marked;
  struct busy busy;
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &mine));
  buffer = create(own, mine);
  pointer = pointer_of(buffer);
  CHECK_OK(cushim_buffer_ref(buffer, &more));
  CHECK_OK(cushim_context_push(all.context));
  if (held_up) busy_begin(&busy, all.driver, mine);
  CHECK_OK(cushim_context_pop(all.driver, &current, NULL));
  CHECK_OK(fill_buffer(mine, buffer, 0, 5, BYTES));
  CHECK_OK(cushim_event_record(all.event, mine));
  marked = CHECK_OK(cushim_buffer_destroy(buffer));
  if (held_up && !marked) busy_end(&busy); /* all work is waited for */
  in_another_thread(more);
  next = create(own, other);
  has_it = pointer_of(next) == pointer;
  CHECK(has_it || !is_softcuda());
  if (held_up && marked) {
    CHECK_OK(cushim_stream_query(other, &done));
    CHECK(done == 0 || !has_it);
    busy_end(&busy);
  }
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK_OK(cushim_event_query(all.event, &done));
  CHECK(done == 1 || !has_it);
  CHECK_OK(cushim_buffer_destroy(next));
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK_OK(cushim_stream_destroy(other));
  CHECK_OK(cushim_resource_destroy(own));
}

/* Memory on a stream that is being captured is refused, and the capture goes on. */
static void while_capturing(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_buffer buffer = create(pool, all.stream), more = NULL;
  cushim_stream other = new_stream(all.context);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUstream native = NULL;
  CUgraph graph = NULL;
  cushim_context current;
  uint64_t pointer = 7;
  CHECK_OK(cushim_stream_synchronize(all.stream)); /* it is there before the other stream frees it */
  CHECK_OK(cushim_stream_native(all.stream, &native));
  CHECK_OK(cushim_context_push(all.context));
  if (cu->cuStreamBeginCapture_10010(native, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create(pool, all.stream, BYTES, &more));
    CHECK_CONTAINS(last_message(), "being captured");
    CHECK(more == NULL);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_allocate(pool, all.stream, BYTES, &pointer));
    CHECK(pointer == 0);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_free(pool, all.stream, 64, BYTES));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create_default(all.device, all.stream, BYTES, &more));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_on(buffer, all.stream));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_destroy_scratch(buffer, all.stream, NULL));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create_scratch(pool, all.stream, NULL, BYTES, &more));
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamIsCapturing_10000(native, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    /* All that follows would be captured too. */
    if (!CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(native, &graph))) exit(1);
    if (graph != NULL && cu->cuGraphDestroy_10000 != NULL) (void)cu->cuGraphDestroy_10000(graph);
  }
  CHECK_OK(cushim_context_pop(all.driver, &current, NULL));
  CHECK_OK(cushim_buffer_destroy_on(buffer, other));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK(used() == 0);
  CHECK_OK(cushim_stream_destroy(other));
}

/* Whole buffers and parts of them, of all kinds, and never past an end. */
static void copies_and_fills(void) {
  static unsigned char bytes[BYTES], ordinary[BYTES];
  cushim_buffer source = create(pool, all.stream), other = NULL, host = NULL, small = NULL, more = NULL;
  cushim_endpoint to = cushim_endpoint_buffer(source, 16), from = cushim_endpoint_auto((uint64_t)(uintptr_t)ordinary);
  cushim_endpoint end = cushim_endpoint_buffer(source, BYTES - 8), start = cushim_endpoint_buffer(source, 0);
  cushim_resource pinned;
  struct busy busy;
  size_t i;
  for (i = 0; i < BYTES; i++) ordinary[i] = (unsigned char)(i * 3);
  CHECK_OK(fill_buffer(all.stream, source, 0, 0x07, BYTES));
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 100));
  CHECK_OK(cushim_buffer_create_copy(source, all.stream, &other));
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &pinned));
  host = create(pinned, all.stream);
  CHECK_OK(copy_buffer(all.stream, host, other));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  if (!CHECK(pointer_of(host) != 0)) return;
  memcpy(bytes, (void *)(uintptr_t)pointer_of(host), BYTES);
  CHECK(bytes[15] == 7 && memcmp(bytes + 16, ordinary, 100) == 0 && bytes[116] == 7);
  /* A part at the very end, and one byte more. */
  to = cushim_endpoint_buffer(source, BYTES - 100);
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 100));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &to, &from, 101));
  CHECK_CONTAINS(last_message(), "100 bytes left");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy(all.context, &from, &to, 101));
  to.offset = BYTES + 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &to, &from, 0));
  CHECK_CONTAINS(last_message(), "past the end");
  /* A handle is no address, whatever sort of place it is said to be. */
  to = start;
  for (i = 0; i < 3; i++) {
    to.kind = (const cushim_endpoint_kind[]){CUSHIM_ENDPOINT_HOST, CUSHIM_ENDPOINT_DEVICE, CUSHIM_ENDPOINT_AUTO}[i];
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &to, &from, 1));
    CHECK_CONTAINS(last_message(), "is a handle, not an address");
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_wrap(all.driver, NULL, to.address, 1, NULL, NULL, &more));
  CHECK_OK(cushim_stream_fill(all.stream, &end, CUSHIM_VALUE_32(0x01020304), 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &end, CUSHIM_VALUE_32(1), 3));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &start, &one, 3, 3));
  CHECK(last_byte(all.stream, pointer_of(source), BYTES) == 1);
  CHECK_OK(cushim_buffer_create(pool, all.stream, BYTES - 1, &small));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, copy_buffer(all.stream, small, source));
  CHECK_CONTAINS(last_message(), "4095");
  CHECK_OK(cushim_buffer_destroy(small));
  /* Ordinary memory is read before the call returns, however late the copy is. */
  to = start;
  ordinary[0] = 0x55;
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 1));
  ordinary[0] = 0x66;
  busy_end(&busy);
  CHECK(last_byte(all.stream, pointer_of(source), 1) == 0x55);
  /* Without a resource there is none for a copy. */
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, pointer_of(source), BYTES, NULL, NULL, &small));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create_copy(small, all.stream, &more));
  CHECK(more == NULL);
  CHECK_OK(cushim_buffer_destroy(small));
  CHECK_OK(cushim_buffer_destroy(host));
  CHECK_OK(cushim_buffer_destroy(other));
  CHECK_OK(cushim_buffer_destroy(source));
  CHECK_OK(cushim_resource_destroy(pinned));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* Buffers of two devices, each from the other, and of the host twice. */
static void between_places(void) {
  cushim_resource host = NULL, second = NULL;
  cushim_buffer here, there = NULL, on_host, also_on_host, back;
  cushim_device device;
  int32_t count = 0, reaches = 0;
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &host));
  here = create(pool, all.stream);
  back = create(pool, all.stream);
  on_host = create(host, all.stream);
  also_on_host = create(host, all.stream);
  CHECK_OK(fill_buffer(all.stream, here, 0, 0x11, BYTES));
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  if (count > 1) {
    CHECK_OK(cushim_driver_get_device(all.driver, 1, &device));
    CHECK_OK(cushim_device_can_access_peer(all.device, device, &reaches));
  }
  if (reaches) {
    cushim_context context = primary_context(device);
    cushim_stream stream = new_stream(context);
    cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
    options.choice = CUSHIM_POOL_OWN;
    CHECK_OK(cushim_resource_create_device_pool(device, &options, &second));
    CHECK_OK(cushim_resource_add_peers(second, &all.device, 1));
    there = create(second, stream);
    CHECK_OK(cushim_stream_wait_stream(all.stream, stream));
    CHECK_OK(copy_buffer(all.stream, there, here));
    CHECK_OK(copy_buffer(all.stream, back, there));
    CHECK_OK(cushim_stream_wait_stream(stream, all.stream));
    CHECK_OK(cushim_buffer_destroy(there));
    CHECK_OK(cushim_resource_destroy(second));
    CHECK_OK(cushim_stream_destroy(stream));
    CHECK_OK(cushim_context_destroy(context));
  } else {
    CHECK_OK(copy_buffer(all.stream, back, here));
  }
  CHECK_OK(copy_buffer(all.stream, on_host, back));
  CHECK_OK(copy_buffer(all.stream, also_on_host, on_host));
  CHECK(last_byte(all.stream, pointer_of(also_on_host), BYTES) == 0x11);
  CHECK_OK(cushim_buffer_destroy(here));
  CHECK_OK(cushim_buffer_destroy(back));
  CHECK_OK(cushim_buffer_destroy(on_host));
  CHECK_OK(cushim_buffer_destroy(also_on_host));
  CHECK_OK(cushim_resource_destroy(host));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

/* A host array for the time of some work, of memory of each sort; freed in its own stream, and in another one. */
static void scratch(void) {
  static unsigned char bytes[BYTES];
  cushim_stream other = new_stream(all.context);
  cushim_resource resources[2];
  cushim_buffer buffer = NULL;
  struct busy busy;
  void *host = NULL;
  int32_t done = -1;
  int i;
  resources[0] = pool;
  resources[1] = plain;
  for (i = 0; i < 2; i++) {
    memset(bytes, 0x11, sizeof bytes);
    CHECK_OK(cushim_buffer_create_scratch(resources[i], all.stream, bytes, BYTES, &buffer));
    CHECK(is_same(stream_of(buffer), all.stream));
    memset(bytes, 0, sizeof bytes);
    CHECK(last_byte(all.stream, pointer_of(buffer), BYTES) == 0x11);
    CHECK_OK(fill_buffer(all.stream, buffer, 1, 0x22, 1));
    CHECK_OK(cushim_buffer_destroy_scratch(buffer, all.stream, bytes));
    CHECK_OK(cushim_stream_synchronize(all.stream));
    CHECK(bytes[0] == 0x11 && bytes[1] == 0x22 && bytes[BYTES - 1] == 0x11);
    CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_buffer_destroy_scratch(buffer, all.stream, bytes));
  }
  /* The other stream waits for the first. */
  CHECK_OK(cushim_context_allocate_host(all.context, BYTES, 0, &host));
  if (!CHECK(host != NULL)) return;
  memset(host, 0, BYTES);
  CHECK_OK(cushim_buffer_create_scratch(pool, all.stream, NULL, BYTES, &buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 0x33, BYTES));
  CHECK_OK(cushim_buffer_destroy_scratch(buffer, other, host));
  CHECK_OK(cushim_stream_query(other, &done));
  CHECK(done == 0);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK(((unsigned char *)host)[BYTES - 1] == 0x33);
  CHECK_OK(cushim_context_free_host(all.context, host));
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK(used() == 0);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create_scratch(pool, all.stream, NULL, (size_t)1 << 50, &buffer));
  CHECK(buffer == NULL);
  CHECK_OK(cushim_stream_destroy(other));
}

/* With no driver there is memory of the program's own, and that is all. */
static void on_none(void) {
  cushim_resource resource;
  cushim_buffer buffer = all.buffer;
  cushim_memory_properties properties;
  uint64_t pointer = 7;
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.device == -1 && properties.host_accessible == 1);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_create_default(all.device, all.stream, BYTES, &buffer));
  CHECK(buffer == NULL);
  CHECK_OK(cushim_resource_create_device_pool(all.device, NULL, &resource));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_create(resource, all.stream, BYTES, &buffer));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_allocate(resource, all.stream, BYTES, &pointer));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_create_scratch(resource, all.stream, NULL, BYTES, &buffer));
  CHECK(pointer == 0);
  CHECK_OK(cushim_resource_destroy(resource));
  {
    cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
    options.choice = CUSHIM_POOL_OWN;
    options.max_size = 1 << 20;
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_device_pool(all.device, &options, &resource));
    CHECK_CONTAINS(last_message(), "no memory pools");
  }
}

int main(void) {
  check_begin();
  all = open_objects();
  if (is_none(all.driver)) {
    on_none();
  } else {
    pool = new_pool();
    CHECK_OK(cushim_resource_create_device(all.context, &plain));
    what_it_is();
    without_bytes();
    holds();
    outlives_its_pool();
    outlives_its_context();
    at_once();
    wrapped();
    per_thread();
    in_the_order_of_another_thread(0);
    in_the_order_of_another_thread(1);
    while_capturing();
    copies_and_fills();
    between_places();
    scratch();
    CHECK_OK(cushim_resource_destroy(plain));
    CHECK_OK(cushim_resource_destroy(pool));
  }
  close_objects(&all);
  return check_done();
}
