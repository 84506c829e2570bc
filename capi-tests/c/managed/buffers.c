/* Ranges that are buffers of managed memory, or parts of them. */
#include "managed.h"

static struct objects all;

static cushim_range of(cushim_buffer buffer, uint64_t offset, size_t bytes) {
  cushim_range range;
  memset(&range, 0, sizeof range);
  range.kind = CUSHIM_RANGE_BUFFER;
  range.address = (uint64_t)(uintptr_t)buffer;
  range.offset = offset;
  range.bytes = bytes;
  return range;
}

static cushim_range_attributes attributes_of(cushim_range part) {
  cushim_range_attributes attributes;
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_context_get_range_attributes(all.context, &part, &attributes));
  return attributes;
}

static void refused(cushim_range bad, cushim_status status, const char *why) {
  CHECK_STATUS(status, cushim_stream_prefetch(all.stream, &bad, &host));
  CHECK_CONTAINS(last_message(), why);
  CHECK_STATUS(status, cushim_context_advise(all.context, &bad, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
}

static void parts(cushim_buffer buffer) {
  cushim_range two[2];
  cushim_location found;
  size_t count = 0;
  two[0] = of(buffer, 0, HALF);
  two[1] = of(buffer, HALF, 0); /* the rest */
  CHECK_OK(cushim_context_advise(all.context, &two[1], CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  CHECK(attributes_of(two[0]).read_mostly == 0 && attributes_of(two[1]).read_mostly == 1);
  CHECK_OK(cushim_stream_prefetch_batch(all.stream, two, 2, &first, 1, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(attributes_of(of(buffer, 0, 0)).last_prefetch_location, first));
  CHECK_OK(cushim_stream_prefetch(all.stream, &two[0], &host));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(attributes_of(two[0]).last_prefetch_location, host));
  CHECK(is_at(attributes_of(two[1]).last_prefetch_location, first));
  CHECK_OK(cushim_context_set_accessed_by(all.context, &two[0], &host, 1));
  CHECK_OK(cushim_context_get_accessed_by(all.context, &two[0], &found, 1, &count));
  CHECK(count == 1 && is_at(found, host));
}

static void refusals(cushim_buffer buffer) {
  cushim_range bad = of(buffer, 0, 0);
  cushim_range two[2];
  refused(of(buffer, 0, WHOLE + 1), CUSHIM_ERROR_INVALID_ARGUMENT, "not all within");
  refused(of(buffer, WHOLE, 1), CUSHIM_ERROR_INVALID_ARGUMENT, "not all within");
  refused(of(buffer, UINT64_MAX, 2), CUSHIM_ERROR_INVALID_ARGUMENT, "not all within");
  refused(of(buffer, WHOLE, 0), CUSHIM_ERROR_INVALID_ARGUMENT, "no bytes");
  bad.reserved = 1;
  refused(bad, CUSHIM_ERROR_INVALID_ARGUMENT, "reserved");
  refused(of(NULL, 0, 0), CUSHIM_ERROR_INVALID_HANDLE, "buffer");
  bad = of(buffer, 0, 0);
  bad.address = (uint64_t)(uintptr_t)all.stream;
  refused(bad, CUSHIM_ERROR_INVALID_HANDLE, "a buffer is needed");
  two[0] = of(buffer, 0, 0);
  two[1] = bad;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_prefetch_batch(all.stream, two, 2, &host, 1, NULL));
  CHECK(last_detail()->item == 1);
}

int main(void) {
  int32_t concurrent = 0;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  check_begin();
  all = open_objects();
  CHECK_OK(cushim_device_supports(all.device, "concurrent-managed-access", &concurrent));
  if (concurrent) {
    CHECK_OK(cushim_resource_create_managed(all.context, NULL, &resource));
    CHECK_OK(cushim_buffer_create(resource, NULL, WHOLE, &buffer));
    parts(buffer);
    refusals(buffer);
    CHECK_OK(cushim_buffer_destroy(buffer));
    refused(of(buffer, 0, 0), CUSHIM_ERROR_INVALID_HANDLE, "destroyed");
    CHECK_OK(cushim_resource_destroy(resource));
  }
  close_objects(&all);
  return check_done();
}
