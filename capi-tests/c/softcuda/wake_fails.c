/* The copy by which contents come back fails: the buffer sleeps as before, with its contents, and has no memory; and wakes the next time. The
 * driver is told to refuse the first such copy. */
#include "graphs.h"

enum { MIB = 1 << 20 };

static int is_asleep(cushim_buffer buffer) {
  int32_t asleep = 7;
  CHECK_OK(cushim_buffer_get_asleep(buffer, &asleep));
  return asleep;
}

static size_t free_memory(void) {
  size_t free_bytes = 0, total = 0;
  CHECK_OK(cushim_context_get_memory_info(all.context, &free_bytes, &total));
  return free_bytes;
}

int main(void) {
  cushim_virtual_options options;
  cushim_resource resource;
  cushim_buffer buffer;
  cushim_endpoint start;
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from;
  size_t asleep;
  check_begin();
  if (!open_graphs()) return close_graphs();
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  CHECK_OK(cushim_resource_create_virtual(all.device, &options, &resource));
  CHECK_OK(cushim_buffer_create(resource, all.stream, 2 * MIB, &buffer));
  start = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_stream_fill(all.stream, &start, CUSHIM_VALUE_8(8), 2 * MIB));
  CHECK_OK(cushim_buffer_sleep(buffer, all.stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  asleep = free_memory();
  CHECK_STATUS(CUDA_ERROR_UNKNOWN, cushim_buffer_wake(buffer, all.stream));
  CHECK(is_asleep(buffer) == 1 && free_memory() == asleep);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &start, CUSHIM_VALUE_8(1), 1));
  CHECK_OK(cushim_buffer_wake(buffer, all.stream));
  CHECK(is_asleep(buffer) == 0 && asleep - free_memory() == 2 * MIB);
  from = cushim_endpoint_buffer(buffer, 2 * MIB - 1);
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte == 8);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  return close_graphs();
}
