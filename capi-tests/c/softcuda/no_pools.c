/*
 * A device without memory pools: the capability query says so, memory without stream order stands in where a program
 * asks for nothing that only a pool has, and what cannot be had is refused with a sentence.
 */
#include "resources.h"

static struct objects all;

static int is_supported(const char *feature) {
  int32_t supported = -1;
  CHECK_OK(cushim_device_supports(all.device, feature, &supported));
  return supported;
}

static void is(cushim_resource resource, int32_t kind) {
  cushim_memory_properties properties;
  int32_t found = 0;
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  CHECK_OK(cushim_resource_get_kind(resource, &found));
  CHECK(found == kind);
  CHECK_OK(cushim_resource_get_properties(resource, &properties));
  CHECK(properties.stream_ordered == 0);
}

/* As a program uses it that was written for pools: it names a stream everywhere. */
static void is_used(cushim_resource resource) {
  cushim_stream other = new_stream(all.context);
  cushim_buffer buffer = NULL, copy = NULL;
  uint64_t pointer = 0;
  CHECK_OK(cushim_resource_allocate(resource, all.stream, BYTES, &pointer));
  CHECK_OK(fill_bytes(all.stream, pointer, 0x21, BYTES));
  CHECK(last_byte(all.stream, pointer, BYTES) == 0x21);
  CHECK_OK(cushim_resource_free(resource, all.stream, pointer, BYTES));
  CHECK_OK(cushim_buffer_create(resource, all.stream, BYTES, &buffer));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 0x22, BYTES));
  CHECK_OK(cushim_buffer_create_copy(buffer, all.stream, &copy));
  CHECK_OK(cushim_buffer_get_pointer(copy, &pointer));
  CHECK(last_byte(all.stream, pointer, BYTES) == 0x22);
  CHECK_OK(cushim_stream_wait_stream(other, all.stream));
  CHECK_OK(cushim_buffer_destroy_on(buffer, other));
  CHECK_OK(cushim_buffer_destroy(copy));
  CHECK_OK(cushim_stream_destroy(other));
}

static void device_pools(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource resource;
  uint64_t value = 7;
  size_t count = 7;
  for (options.choice = CUSHIM_POOL_CURRENT; options.choice <= CUSHIM_POOL_OWN; options.choice++) {
    CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &resource));
    is(resource, CUSHIM_RESOURCE_DEVICE);
    is_used(resource);
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_get_attribute(resource, CUSHIM_POOL_USED_CURRENT, &value));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_trim(resource, 0));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_get_peers(resource, NULL, 0, &count));
    CHECK(value == 0 && count == 0);
    CHECK_OK(cushim_resource_destroy(resource));
  }
  options.choice = CUSHIM_POOL_OWN;
  options.max_size = 1 << 20;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK_CONTAINS(last_message(), "has no memory pools");
  CHECK(resource == NULL);
  options.max_size = 0;
  options.handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_device_pool(all.device, &options, &resource));
  CHECK_CONTAINS(last_message(), "has no memory pools");
}

/* The device's own resource, scratch memory and buffers without a stream. */
static void of_the_device(void) {
  static unsigned char bytes[BYTES];
  cushim_resource resource;
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_device_get_resource(all.device, &resource));
  is(resource, CUSHIM_RESOURCE_DEVICE);
  CHECK_OK(cushim_buffer_create_default(all.device, NULL, BYTES, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  memset(bytes, 0x31, sizeof bytes);
  CHECK_OK(cushim_buffer_create_scratch(NULL, all.stream, bytes, BYTES, &buffer));
  CHECK_OK(fill_buffer(all.stream, buffer, 1, 0x32, 1));
  CHECK_OK(cushim_buffer_destroy_scratch(buffer, all.stream, bytes));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(bytes[0] == 0x31 && bytes[1] == 0x32 && bytes[BYTES - 1] == 0x31);
}

static void pinned(void) {
  cushim_pinned_options options = PINNED_OPTIONS;
  cushim_resource resource;
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &resource));
  is(resource, CUSHIM_RESOURCE_PINNED);
  is_used(resource);
  CHECK_OK(cushim_resource_destroy(resource));
  options.form = CUSHIM_PINNED_POOL;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_pinned(all.context, &options, &resource));
  CHECK_CONTAINS(last_message(), "pool");
  CHECK(resource == NULL);
}

static void managed_memory(void) {
  cushim_managed_options options = MANAGED_OPTIONS;
  cushim_resource resource;
  CHECK_OK(cushim_resource_create_managed(all.context, NULL, &resource));
  is(resource, CUSHIM_RESOURCE_MANAGED);
  is_used(resource);
  CHECK_OK(cushim_resource_destroy(resource));
  options.pool_location.kind = CUSHIM_LOCATION_DEVICE;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_create_managed(all.context, &options, &resource));
  CHECK_CONTAINS(last_message(), "pool");
  CHECK(resource == NULL);
}

/* Nothing stands in where a call is for stream order itself. */
static void in_stream_order(void) {
  uint64_t pointer = 7;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_allocate(all.stream, BYTES, &pointer));
  CHECK_CONTAINS(last_message(), "has no memory pools");
  CHECK(pointer == 0);
  CHECK_OK(cushim_context_allocate(all.context, BYTES, &pointer));
  CHECK_OK(fill_bytes(all.stream, pointer, 0x41, BYTES));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_free(all.stream, pointer));
  CHECK_CONTAINS(last_message(), "has no memory pools");
  CHECK(last_byte(all.stream, pointer, BYTES) == 0x41);
  CHECK_OK(cushim_context_free(all.context, pointer));
}

int main(void) {
  check_begin();
  all = open_objects();
  CHECK(!is_supported("memory-pools") && !is_supported("graph-memory-nodes"));
  CHECK(!is_supported("host-memory-pools") && !is_supported("managed-memory-pools"));
  device_pools();
  of_the_device();
  pinned();
  managed_memory();
  in_stream_order();
  close_objects(&all);
  return check_done();
}
