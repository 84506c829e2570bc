/* Virtual memory: a resource of it, buffers that grow, and buffers that sleep. */
#include "busy.h"
#include "graphs.h"
#include "resources.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define MANY ((uint64_t)1 << 46)

static cushim_resource virtual_memory;
static cushim_stream stream;

static cushim_virtual_options zero_options(void) {
  cushim_virtual_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  return options;
}

static cushim_resource with(const cushim_virtual_options *options) {
  cushim_resource resource = NULL;
  CHECK_OK(cushim_resource_create_virtual(all.device, options, &resource));
  return resource;
}

static void refused(cushim_status status, const cushim_virtual_options *options, const char *why) {
  cushim_resource resource = (cushim_resource)NOT_NULL;
  CHECK_STATUS(status, cushim_resource_create_virtual(all.device, options, &resource));
  CHECK(resource == NULL);
  CHECK_CONTAINS(last_message(), why);
}

static cushim_buffer new_buffer(size_t bytes) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(virtual_memory, stream, bytes, &buffer));
  return buffer;
}

static uint64_t pointer_of(cushim_buffer buffer) { return cushim_buffer_pointer(buffer); }

/* Sets every byte, and knows that all were set. */
static void fill_all(cushim_buffer buffer, uint32_t value) {
  CHECK_OK(fill_buffer(stream, buffer, 0, value, cushim_buffer_size(buffer)));
}

static unsigned byte_at(cushim_buffer buffer, size_t offset) {
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from = cushim_endpoint_buffer(buffer, offset);
  CHECK_OK(cushim_stream_copy(stream, &to, &from, 1));
  CHECK_OK(cushim_stream_synchronize(stream));
  return byte;
}

static size_t free_memory(void) {
  size_t free_bytes = 0, total = 0;
  CHECK_OK(cushim_context_get_memory_info(all.context, &free_bytes, &total));
  return free_bytes;
}

/* Whether all memory is free again; a real driver keeps some for itself. */
static int is_back(size_t before) { return !is_software(all.driver) || free_memory() == before; }

/* A GPU may say that it has a fabric where the machine has none: then memory is refused. (`softcuda/fabric` has a driver that does so.) */
static void without_fabric(void) {
  cushim_virtual_options options = zero_options();
  cushim_allocation allocation = (cushim_allocation)NOT_NULL;
  cushim_status status;
  options.shareable = CUSHIM_SHAREABLE_FABRIC;
  status = cushim_allocation_create(all.device, MIB, &options, &allocation);
  printf("  memory for a fabric: status %d\n", (int)status);
  if (status == CUSHIM_SUCCESS) {
    CHECK_OK(cushim_allocation_destroy(allocation));
    return;
  }
  CHECK(allocation == NULL && (status == CUSHIM_ERROR_UNSUPPORTED || status == CUDA_ERROR_NOT_PERMITTED || status == CUDA_ERROR_NOT_SUPPORTED));
  if (status == CUDA_ERROR_NOT_PERMITTED) CHECK_CONTAINS(last_message(), "IMEX");
}

static void options_are_checked(void) {
  cushim_virtual_options options = zero_options();
  const int32_t own = 0, nobody = 99;
  cushim_resource resource;
  options.shareable = (cushim_shareable)3;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "shareable is 3");
  options = zero_options();
  options.access = (cushim_virtual_access)7;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "access is 7");
  options.access = CUSHIM_VIRTUAL_READ_WRITE;
  options.peer_access = (cushim_virtual_access)3;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "peer_access is 3");
  options = zero_options();
  options.flags = 4;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "flags is 0x4");
  options = zero_options();
  options.alignment = 3 * MIB;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "the alignment is 3145728");
  options.alignment = (size_t)1 << 63;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "the alignment is 0x8000000000000000");
  options.alignment = (size_t)1 << 47;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "the alignment is 0x800000000000");
  options = zero_options();
  options.address_hint = 4096;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "the address hint is 0x1000");
  options = zero_options();
  options.location = cushim_location_device(99);
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "99");
  options.location = cushim_location_host_numa(9999);
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "NUMA node 9999");
  options.location.kind = CUSHIM_LOCATION_HOST_NUMA_CURRENT;
  options.location.id = 0;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "is no place for virtual memory");
  options = zero_options();
  options.peers = &own;
  options.peer_count = 1;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "owns the memory and is no peer");
  options.peers = &nobody;
  refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "99");
  CHECK(last_detail()->item == 0);
  if (is_software(all.driver)) {
    options = zero_options();
    options.shareable = CUSHIM_SHAREABLE_FABRIC;
    refused(CUSHIM_ERROR_UNSUPPORTED, &options, "by fabric handle");
    options = zero_options();
    options.flags = CUSHIM_VIRTUAL_GPU_DIRECT_RDMA;
    refused(CUSHIM_ERROR_UNSUPPORTED, &options, "GPUDirect RDMA");
  } else {
    without_fabric();
  }
  options = zero_options();
  options.location = cushim_location_host();
  if (version < 13000) {
    refused(CUSHIM_ERROR_UNSUPPORTED, &options, "needs CUDA 13.0");
  } else {
    options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
    refused(CUSHIM_ERROR_INVALID_ARGUMENT, &options, "name one of its NUMA nodes");
  }
  options = zero_options();
  options.location = cushim_location_host_numa(0);
  options.flags = CUSHIM_VIRTUAL_GPU_DIRECT_RDMA;
  refused(version < 12020 ? CUSHIM_ERROR_UNSUPPORTED : CUSHIM_ERROR_INVALID_ARGUMENT, &options, "");
  options = zero_options();
  options.alignment = 64 * MIB;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  resource = with(&options);
  {
    uint64_t pointer = 0;
    CHECK_OK(cushim_resource_allocate(resource, NULL, 1, &pointer));
    CHECK(pointer % (64 * MIB) == 0);
    CHECK_OK(cushim_resource_free(resource, stream, pointer, 1));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_free(resource, stream, pointer, 1));
    CHECK_CONTAINS(last_message(), "came from here, or they are freed");
  }
  CHECK_OK(cushim_resource_destroy(resource));
}

/* It allocates buffers like any resource, in whole units, and is not stream-ordered. */
static void buffers(void) {
  cushim_memory_properties properties;
  cushim_buffer buffer = (cushim_buffer)NOT_NULL, copy = NULL;
  cushim_stream recorded = NULL;
  const size_t before = free_memory();
  int32_t kind = 0;
  CHECK_OK(cushim_resource_get_kind(virtual_memory, &kind));
  CHECK(kind == CUSHIM_RESOURCE_VIRTUAL);
  CHECK_CONTAINS(description(virtual_memory), "virtual resource");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create(virtual_memory, NULL, 0, &buffer));
  CHECK(buffer == NULL);
  CHECK_CONTAINS(last_message(), "0 bytes are no virtual memory");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create(virtual_memory, NULL, SIZE_MAX - 5, &buffer));
  CHECK_CONTAINS(last_message(), "more than what a process can address");
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create(virtual_memory, NULL, (size_t)1 << 42, &buffer));
  CHECK_OK(cushim_buffer_create(virtual_memory, NULL, 5, &buffer));
  CHECK(cushim_buffer_size(buffer) == 2 * MIB); /* mapped, not asked for */
  CHECK_OK(cushim_buffer_get_stream(buffer, &recorded));
  CHECK(recorded == NULL);
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.device == 0 && properties.device_accessible == 1 && properties.stream_ordered == 0);
  fill_all(buffer, 3);
  CHECK(byte_at(buffer, 2 * MIB - 1) == 3);
  CHECK_OK(cushim_buffer_create_copy(buffer, stream, &copy));
  CHECK(byte_at(copy, 2 * MIB - 1) == 3);
  if (is_software(all.driver)) CHECK(before - free_memory() == 4 * MIB);
  CHECK_OK(cushim_buffer_destroy(copy));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(is_back(before));
  /* A scratch buffer has the size of its array: what is copied back would reach past it. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_create_scratch(virtual_memory, stream, NULL, 64, &buffer));
  CHECK_CONTAINS(last_message(), "an array of 64 bytes needs a buffer of its own size");
  /* The stream that is given is the one to wait for. */
  buffer = new_buffer(1);
  CHECK_OK(cushim_buffer_get_stream(buffer, &recorded));
  CHECK(is_same(recorded, stream));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

/* Work that is in the deallocation stream is done before the memory goes: otherwise it would be an illegal access. */
static void destroy_waits_for_the_stream(void) {
  struct busy busy;
  cushim_buffer buffer = new_buffer(1);
  if (!can_be_busy(all.driver)) return;
  busy_within(&busy, all.driver, stream, 100);
  fill_all(buffer, 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(stream));
  busy_end(&busy);
}

/* The deallocation stream is being captured: the memory goes when that is over, and the capture stays valid. */
static void destroyed_in_a_capture(void) {
  const size_t before = free_memory();
  cushim_buffer buffer = new_buffer(1), other = new_buffer(1);
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_buffer_destroy_on(other, stream));
  if (is_software(all.driver)) CHECK(before - free_memory() == 4 * MIB);
  CHECK_OK(cushim_builder_end(builder, &graph));
  flush_callbacks();
  CHECK(is_back(before));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
}

/* A new buffer begins with the old one's memory; the old one stays. */
static void growth_in_place(void) {
  const size_t before = free_memory();
  cushim_buffer small = new_buffer(2 * MIB), large = NULL, same = NULL;
  fill_all(small, 5);
  CHECK_OK(cushim_buffer_grow(small, 2 * MIB + 1, NULL, &large));
  CHECK(cushim_buffer_size(small) == 2 * MIB && cushim_buffer_size(large) == 4 * MIB);
  CHECK(byte_at(large, 2 * MIB - 1) == 5);
  if (is_software(all.driver)) CHECK(pointer_of(large) == pointer_of(small));
  fill_all(large, 6);
  CHECK(byte_at(small, 0) == 6); /* the same memory */
  CHECK(byte_at(large, 4 * MIB - 1) == 6);
  if (is_software(all.driver)) CHECK(before - free_memory() == 4 * MIB);
  /* What is there already needs nothing. */
  CHECK_OK(cushim_buffer_grow(large, 3 * MIB, NULL, &same));
  CHECK(pointer_of(same) == pointer_of(large) && cushim_buffer_size(same) == 4 * MIB);
  CHECK_OK(cushim_buffer_destroy(small));
  CHECK(byte_at(large, 0) == 6);
  CHECK_OK(cushim_buffer_destroy(large));
  CHECK(byte_at(same, 4 * MIB - 1) == 6);
  CHECK_OK(cushim_buffer_destroy(same));
  CHECK(is_back(before));
}

/* Where the next addresses are somebody's, all is mapped elsewhere, too, and nothing is copied. */
static void growth_elsewhere(void) {
  const size_t before = free_memory();
  cushim_virtual_options options = zero_options();
  cushim_resource at = NULL;
  cushim_buffer small = new_buffer(2 * MIB), next = NULL, large = NULL, larger = NULL;
  if (!is_software(all.driver)) { /* which does what it is asked to */
    CHECK_OK(cushim_buffer_destroy(small));
    return;
  }
  options.address_hint = pointer_of(small) + 2 * MIB;
  at = with(&options);
  CHECK_OK(cushim_buffer_create(at, stream, 2 * MIB, &next));
  CHECK(pointer_of(next) == options.address_hint);
  fill_all(small, 7);
  fill_all(next, 8);
  CHECK_OK(cushim_buffer_grow(small, 6 * MIB, NULL, &large));
  CHECK(pointer_of(large) != pointer_of(small) && cushim_buffer_size(large) == 6 * MIB);
  CHECK(byte_at(large, 0) == 7 && byte_at(large, 2 * MIB - 1) == 7);
  fill_all(large, 9);
  CHECK(byte_at(small, 17) == 9 && byte_at(next, 0) == 8);
  CHECK_OK(cushim_buffer_grow(large, 8 * MIB, NULL, &larger));
  CHECK_OK(cushim_buffer_destroy(large));
  CHECK(byte_at(larger, 6 * MIB - 1) == 9 && byte_at(small, 0) == 9);
  CHECK_OK(cushim_buffer_destroy(small));
  CHECK(byte_at(larger, 0) == 9);
  CHECK_OK(cushim_buffer_destroy(larger));
  CHECK_OK(cushim_buffer_destroy(next));
  CHECK_OK(cushim_resource_destroy(at));
  CHECK(is_back(before));
}

/* A failed call leaves everything as it was. */
static void growth_refused(void) {
  const size_t before = free_memory();
  cushim_virtual_options options = zero_options();
  cushim_buffer buffer = new_buffer(1), other = NULL, grown = (cushim_buffer)NOT_NULL;
  fill_all(buffer, 4);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_grow(buffer, (size_t)1 << 42, NULL, &grown));
  CHECK(grown == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, 0, NULL, &grown));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, MANY * 4, NULL, &grown));
  options.alignment = 5;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, 4 * MIB, &options, &grown));
  CHECK_CONTAINS(last_message(), "the alignment is 5");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, 4 * MIB, NULL, NULL));
  if (version >= 12020) {
    options = zero_options();
    options.location = cushim_location_host_numa(0);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, 4 * MIB, &options, &grown));
    CHECK_CONTAINS(last_message(), "do not make one buffer");
  }
  CHECK(byte_at(buffer, 2 * MIB - 1) == 4 && cushim_buffer_size(buffer) == 2 * MIB);
  CHECK_OK(cushim_buffer_create(all.resource, stream, 64, &other));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_grow(other, 128, NULL, &grown));
  CHECK_CONTAINS(last_message(), "only a buffer of a virtual resource grows");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_sleep(other, stream, 0));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_wake(other, stream));
  CHECK_OK(cushim_buffer_destroy(other));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(is_back(before));
}

static int is_asleep(cushim_buffer buffer) {
  int32_t asleep = 7;
  CHECK_OK(cushim_buffer_get_asleep(buffer, &asleep));
  return asleep;
}

/* The physical memory is given back, the address and the contents stay, and so does the exec. */
static void sleep_and_wake(void) {
  const size_t before = free_memory();
  cushim_buffer buffer = new_buffer(4 * MIB), grown = NULL;
  const uint64_t address = pointer_of(buffer);
  cushim_endpoint to = cushim_endpoint_buffer(buffer, 3 * MIB);
  cushim_graph graph = new_graph();
  cushim_exec exec;
  CHECK_OK(cushim_set_label(buffer, "weights"));
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_8(9), MIB, NULL));
  exec = new_exec(graph);
  fill_all(buffer, 2);
  CHECK(is_asleep(buffer) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_wake(buffer, stream));
  CHECK_CONTAINS(last_message(), "buffer \"weights\": it does not sleep");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_sleep(buffer, stream, 2));
  CHECK_OK(cushim_buffer_sleep(buffer, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  CHECK(is_asleep(buffer) == 1 && pointer_of(buffer) == address && cushim_buffer_size(buffer) == 4 * MIB);
  CHECK(is_back(before));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_sleep(buffer, stream, 0));
  CHECK_CONTAINS(last_message(), "buffer \"weights\": it sleeps");
  CHECK_CONTAINS(last_message(), "wake it first");
  /* What would use it is refused by name. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, fill_buffer(stream, buffer, 0, 1, 1));
  CHECK_CONTAINS(last_message(), "buffer \"weights\" sleeps");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_launch(exec, stream));
  CHECK_CONTAINS(last_message(), "uses buffer \"weights\", which sleeps");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_8(9), 1, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, 8 * MIB, NULL, &grown));
  CHECK_OK(cushim_buffer_wake(buffer, stream));
  CHECK(is_asleep(buffer) == 0);
  CHECK(byte_at(buffer, 0) == 2 && byte_at(buffer, 4 * MIB - 1) == 2);
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK(byte_at(buffer, 3 * MIB - 1) == 2 && byte_at(buffer, 4 * MIB - 1) == 9);
  CHECK_OK(cushim_buffer_sleep(buffer, stream, 0));
  CHECK_OK(cushim_buffer_wake(buffer, stream));
  fill_all(buffer, 1);
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK(byte_at(buffer, 4 * MIB - 1) == 9);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_sleep(buffer, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  CHECK_OK(cushim_buffer_destroy(buffer)); /* it may end while it sleeps */
  flush_callbacks();
  CHECK(is_back(before));
  buffer = new_buffer(1);
  CHECK(byte_at(buffer, 0) < 256); /* nothing sleeps any more */
  CHECK_OK(cushim_buffer_destroy(buffer));
}

/* Filled while the device may write: by a buffer of the same memory, imported with other access. Sleeps and wakes with what the resource
 * allows, and is left as it allows. */
static void sleep_without_access(cushim_virtual_access access, unsigned value) {
  const size_t before = free_memory();
  cushim_virtual_options options = zero_options();
  cushim_resource limited, open;
  cushim_buffer buffer = NULL, alias = NULL, read = NULL;
  unsigned char bytes[CUSHIM_DESCRIPTOR_BYTES];
  int32_t file = -1, part;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  open = with(&options);
  options.access = access;
  limited = with(&options);
  if (!CHECK_OK(cushim_buffer_create(limited, stream, 2 * MIB, &buffer))) return;
  for (part = 0; part < 2; part++) {
    CHECK_OK(cushim_buffer_export_parts(buffer, bytes, sizeof bytes, &file, 1));
    CHECK_OK(cushim_buffer_import_parts(open, stream, bytes, sizeof bytes, &file, 1, part == 0 ? &alias : &read));
    CHECK(close(file) == 0);
    if (part == 0) {
      fill_all(alias, value);
      CHECK_OK(cushim_stream_synchronize(stream));
      CHECK_OK(cushim_buffer_destroy(alias));
      CHECK_OK(cushim_buffer_sleep(buffer, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
      CHECK(is_asleep(buffer) == 1 && is_back(before));
      CHECK_OK(cushim_buffer_wake(buffer, stream));
      CHECK(is_asleep(buffer) == 0);
    }
  }
  CHECK(byte_at(read, 0) == value && byte_at(read, 2 * MIB - 1) == value);
  if (is_software(all.driver)) CHECK(fill_buffer(stream, buffer, 0, 1, 1) != CUSHIM_SUCCESS); /* it still may not write */
  CHECK_OK(cushim_buffer_destroy(read));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(limited));
  CHECK_OK(cushim_resource_destroy(open));
  CHECK(is_back(before));
}

/* A buffer that the device may write to, grown by a part that it may only read. */
static void sleep_of_mixed_access(void) {
  cushim_virtual_options options = zero_options();
  cushim_buffer small = new_buffer(2 * MIB), mixed = NULL;
  fill_all(small, 6);
  options.access = CUSHIM_VIRTUAL_READ;
  CHECK_OK(cushim_buffer_grow(small, 4 * MIB, &options, &mixed));
  CHECK_OK(cushim_buffer_destroy(small));
  CHECK_OK(cushim_buffer_sleep(mixed, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  CHECK_OK(cushim_buffer_wake(mixed, stream));
  CHECK(byte_at(mixed, 0) == 6 && byte_at(mixed, 2 * MIB - 1) == 6);
  CHECK_OK(fill_buffer(stream, mixed, 0, 7, 2 * MIB));
  if (is_software(all.driver)) {
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, fill_buffer(stream, mixed, 2 * MIB, 1, 1));
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, fill_buffer(stream, mixed, 0, 1, 4 * MIB)); /* which is not too long */
    CHECK_CONTAINS(last_message(), "may only read");
  }
  CHECK_OK(cushim_buffer_destroy(mixed));
}

static void *wakes(void *buffer) {
  CHECK_OK(cushim_buffer_wake((cushim_buffer)buffer, stream));
  return NULL;
}

/* While a thread brings the contents back, the buffer sleeps for the others. */
static void asleep_until_its_contents_are_back(void) {
  struct busy busy;
  pthread_t thread;
  cushim_stream other;
  cushim_buffer buffer, grown = NULL;
  size_t before;
  if (!is_software(all.driver)) return; /* whose free memory says that there is memory again */
  other = new_stream(all.context);
  buffer = new_buffer(2 * MIB);
  fill_all(buffer, 5);
  CHECK_OK(cushim_buffer_sleep(buffer, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  before = free_memory();
  busy_within(&busy, all.driver, stream, 20000);
  if (!CHECK(pthread_create(&thread, NULL, wakes, buffer) == 0)) return;
  while (check_failures == 0 && free_memory() == before) sched_yield();
  CHECK(is_asleep(buffer) == 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, fill_buffer(other, buffer, 0, 1, 1));
  CHECK_CONTAINS(last_message(), "sleeps");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_grow(buffer, 4 * MIB, NULL, &grown));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_wake(buffer, other));
  CHECK_CONTAINS(last_message(), "another thread wakes it");
  busy_end(&busy);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(is_asleep(buffer) == 0 && byte_at(buffer, 2 * MIB - 1) == 5);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_destroy(other));
}

/* What an exec uses since it was changed counts, and no more what it used before. */
static void sleep_after_an_exchange(void) {
  cushim_buffer before = new_buffer(4 * MIB), now = new_buffer(4 * MIB);
  cushim_endpoint to = cushim_endpoint_buffer(before, 0);
  cushim_graph graph = new_graph();
  cushim_exec exec;
  size_t nodes = 0;
  CHECK_OK(cushim_set_label(now, "after"));
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_8(9), MIB, NULL));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_rebind(exec, before, now, &nodes));
  CHECK(nodes == 1);
  CHECK_OK(cushim_buffer_sleep(before, stream, 0));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK(byte_at(now, MIB - 1) == 9);
  CHECK_OK(cushim_buffer_wake(before, stream));
  CHECK_OK(cushim_buffer_sleep(now, stream, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_launch(exec, stream));
  CHECK_CONTAINS(last_message(), "uses buffer \"after\", which sleeps");
  CHECK_OK(cushim_buffer_wake(now, stream));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_buffer_destroy(now));
  CHECK_OK(cushim_buffer_destroy(before));
}

/* Memory that another buffer has, too, would not be given back. */
static void sleep_of_shared_memory(void) {
  cushim_buffer small = new_buffer(1), large = NULL;
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  const cushim_endpoint start = cushim_endpoint_buffer(small, 0);
  const unsigned char value = 4;
  CHECK_OK(cushim_buffer_grow(small, 4 * MIB, NULL, &large));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_sleep(small, stream, 0));
  CHECK_CONTAINS(last_message(), "is another buffer's, too");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_sleep(large, stream, 0));
  CHECK_OK(cushim_graph_create(all.context, NULL, &graph));
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &start, &value, 1, 64, NULL));
  CHECK_OK(cushim_buffer_destroy(small));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_sleep(large, stream, 0)); /* the node keeps it */
  CHECK_CONTAINS(last_message(), "destroy that buffer first, and the graphs and execs that keep it");
  CHECK_OK(cushim_graph_destroy(graph));
  flush_callbacks();
  fill_all(large, 5);
  CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_sleep(large, stream, 0));
  CHECK_CONTAINS(last_message(), "captured");
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_buffer_sleep(large, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  CHECK_OK(cushim_buffer_wake(large, stream));
  CHECK(byte_at(large, 0) == 5 && byte_at(large, 4 * MIB - 1) == 5);
  CHECK_OK(cushim_buffer_destroy(large));
}

/* The host reads and writes its own memory at the same addresses as the device. */
static void memory_of_the_host(void) {
  cushim_virtual_options options = zero_options();
  cushim_memory_properties properties;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  volatile unsigned char *bytes;
  options.location = cushim_location_host_numa(0);
  if (version < 12020) {
    refused(CUSHIM_ERROR_UNSUPPORTED, &options, "needs CUDA 12.2");
    return;
  }
  resource = with(&options);
  if (!CHECK_OK(cushim_buffer_create(resource, stream, 1, &buffer))) return;
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_buffer_get_properties(buffer, &properties));
  CHECK(properties.host_accessible == 1 && properties.device_accessible == 1);
  bytes = (volatile unsigned char *)(uintptr_t)pointer_of(buffer);
  fill_all(buffer, 3);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(bytes[0] == 3 && bytes[2 * MIB - 1] == 3);
  bytes[5] = 77;
  CHECK(byte_at(buffer, 5) == 77);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* Another device uses the memory as the options say. */
static void peers(void) {
  const int32_t other = 1;
  cushim_virtual_options options = zero_options();
  cushim_device device = NULL;
  cushim_context context;
  cushim_stream there;
  cushim_resource resource;
  cushim_buffer buffer = NULL;
  int32_t count = 0;
  CHECK_OK(cushim_driver_get_device_count(all.driver, &count));
  if (count < 2) return;
  CHECK_OK(cushim_driver_get_device(all.driver, 1, &device));
  context = primary_context(device);
  there = new_stream(context);
  options.peers = &other;
  options.peer_count = 1;
  options.peer_access = CUSHIM_VIRTUAL_READ;
  resource = with(&options);
  if (!CHECK_OK(cushim_buffer_create(resource, stream, 1, &buffer))) return;
  fill_all(buffer, 9);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(last_byte(there, pointer_of(buffer), 2 * MIB) == 9);
  CHECK(fill_bytes(there, pointer_of(buffer), 1, 4) != CUSHIM_SUCCESS); /* it may only read */
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  options.peer_access = CUSHIM_VIRTUAL_READ_WRITE;
  resource = with(&options);
  if (!CHECK_OK(cushim_buffer_create(resource, stream, 1, &buffer))) return;
  CHECK_OK(fill_bytes(there, pointer_of(buffer), 7, 2 * MIB));
  CHECK_OK(cushim_stream_synchronize(there));
  CHECK(byte_at(buffer, 2 * MIB - 1) == 7);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_stream_destroy(there));
  CHECK_OK(cushim_context_destroy(context));
}

/* What was allocated without a buffer goes with the resource. */
static void left_behind(void) {
  const size_t before = free_memory();
  cushim_resource resource = with(NULL);
  uint64_t pointer = 0;
  CHECK_OK(cushim_resource_allocate(resource, NULL, 1, &pointer));
  if (is_software(all.driver)) CHECK(before - free_memory() == 2 * MIB);
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK(is_back(before));
}

/* The memory is no context's: it stays when one is reset, and goes although its stream is gone. */
static void after_a_reset(void) {
  cushim_buffer buffer = new_buffer(1);
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from = cushim_endpoint_buffer(buffer, 7);
  cushim_context again = NULL;
  fill_all(buffer, 44);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_device_reset_primary_context(all.device));
  CHECK_OK(cushim_context_retain_primary(all.device, &again));
  CHECK_OK(cushim_context_copy(again, &to, &from, 1));
  CHECK(byte == 44);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_context_destroy(again));
  memory = 0; /* which went with the context */
}

int main(void) {
  check_begin();
  if (!open_graphs()) return check_done();
  stream = all.stream;
  virtual_memory = with(NULL);
  options_are_checked();
  buffers();
  destroy_waits_for_the_stream();
  destroyed_in_a_capture();
  growth_in_place();
  growth_elsewhere();
  growth_refused();
  sleep_and_wake();
  sleep_without_access(CUSHIM_VIRTUAL_READ, 12);
  sleep_without_access(CUSHIM_VIRTUAL_NO_ACCESS, 13);
  sleep_of_mixed_access();
  asleep_until_its_contents_are_back();
  sleep_after_an_exchange();
  sleep_of_shared_memory();
  memory_of_the_host();
  peers();
  left_behind();
  after_a_reset();
  CHECK_OK(cushim_resource_destroy(virtual_memory));
  return close_graphs();
}
