/* The helpers of the header, and the getters that give their value: in every standard of C and C++. */
#include "objects.h"

static struct objects all;

static void options(void) {
  cushim_stream stream = NULL;
  uint32_t flags = 99;
  cushim_stream_options blocking = CUSHIM_OPTIONS(cushim_stream_options);
  cushim_memory_properties properties = CUSHIM_OPTIONS(cushim_memory_properties);
  CHECK(blocking.struct_size == sizeof blocking && blocking.priority == 0 && blocking.flags == 0);
  blocking.flags = CUSHIM_STREAM_BLOCKING;
  CHECK_OK(cushim_stream_create(all.context, &blocking, &stream));
  CHECK_OK(cushim_stream_get_flags(stream, &flags));
  CHECK(is_none(all.driver) || flags == CUSHIM_STREAM_BLOCKING);
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_buffer_get_properties(all.buffer, &properties));
  CHECK(properties.struct_size == sizeof properties);
#ifndef __cplusplus
  CHECK_OK(cushim_stream_create(all.context, &CUSHIM_OPTIONS(cushim_stream_options, .flags = CUSHIM_STREAM_BLOCKING), &stream));
  CHECK_OK(cushim_stream_destroy(stream));
  blocking = CUSHIM_OPTIONS(cushim_stream_options, .priority = -1, .flags = 1);
  CHECK(blocking.struct_size == sizeof blocking && blocking.priority == -1 && blocking.flags == 1);
#endif
}

static void arguments(void) {
  const double number = 2.5;
  const int32_t numbers[3] = {1, 2, 3};
  const cushim_arg args[2] = {CUSHIM_ARG(number), CUSHIM_ARG(numbers)};
  CHECK(args[0].kind == CUSHIM_ARG_BYTES && args[0].size == sizeof number && args[0].value == &number);
  CHECK(args[1].size == sizeof numbers && args[1].value == (const void *)numbers);
}

static void locations_and_ranges(void) {
  const cushim_location host = cushim_location_host(), device = cushim_location_device(2), node = cushim_location_host_numa(1);
  const cushim_range memory = cushim_range_pointer(4096, 100), whole = cushim_range_buffer(all.buffer, 0, 0);
  const cushim_range part = cushim_range_buffer(all.buffer, 8, 16);
  CHECK(host.kind == CUSHIM_LOCATION_HOST && host.id == 0);
  CHECK(device.kind == CUSHIM_LOCATION_DEVICE && device.id == 2);
  CHECK(node.kind == CUSHIM_LOCATION_HOST_NUMA && node.id == 1);
  CHECK(memory.kind == CUSHIM_RANGE_POINTER && memory.address == 4096 && memory.offset == 0 && memory.bytes == 100);
  CHECK(whole.kind == CUSHIM_RANGE_BUFFER && whole.address == (uint64_t)(uintptr_t)all.buffer && whole.bytes == 0);
  CHECK(part.offset == 8 && part.bytes == 16 && part.address == whole.address && part.reserved == 0);
}

/* They say what the checked getters say; of a bad handle 0, and the last error says why. */
static void values(void) {
  uint64_t pointer = 0, id = 0;
  size_t bytes = 0;
  CHECK_OK(cushim_buffer_get_pointer(all.buffer, &pointer));
  CHECK_OK(cushim_buffer_get_size(all.buffer, &bytes));
  CHECK(pointer != 0 && cushim_buffer_pointer(all.buffer) == pointer);
  CHECK(bytes != 0 && cushim_buffer_size(all.buffer) == bytes);
  if (cushim_stream_get_id(all.stream, &id) == CUSHIM_SUCCESS) {
    CHECK(cushim_stream_id(all.stream) == id);
  } else {
    CHECK(cushim_stream_id(all.stream) == 0);
    CHECK(last_detail()->status == CUSHIM_ERROR_UNSUPPORTED);
  }
  CHECK(cushim_buffer_pointer(NULL) == 0);
  CHECK(last_detail()->status == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK(cushim_buffer_size((cushim_buffer)(void *)all.stream) == 0);
  CHECK(last_detail()->status == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK_CONTAINS(last_message(), "stream");
  CHECK(cushim_stream_id(NULL) == 0);
  CHECK(last_detail()->status == CUSHIM_ERROR_STREAM_REQUIRED);
}

int main(void) {
  check_begin();
  all = open_objects();
  options();
  arguments();
  locations_and_ranges();
  values();
  close_objects(&all);
  return check_done();
}
