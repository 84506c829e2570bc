/* What the programs on resources and buffers share. Include it first. */
#ifndef RESOURCES_H
#define RESOURCES_H

#include "objects.h"

enum { BYTES = 4096 };

/* Options that ask for nothing. */
static const cushim_device_pool_options DEVICE_POOL_OPTIONS = {sizeof(cushim_device_pool_options), (cushim_pool_choice)0, 0, 0};
static const cushim_pinned_options PINNED_OPTIONS = {sizeof(cushim_pinned_options), (cushim_pinned_form)0, 0, 0, 0, 0, 0, 0};
static const cushim_managed_options MANAGED_OPTIONS = {sizeof(cushim_managed_options), 0, 0, {(cushim_location_kind)0, 0}};

/* The last of so many bytes at an address of any kind, when the stream has passed its work. */
static inline unsigned last_byte(cushim_stream stream, uint64_t pointer, size_t bytes) {
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from = cushim_endpoint_auto(pointer);
  from.offset = bytes - 1;
  CHECK_OK(cushim_stream_copy(stream, &to, &from, 1));
  CHECK_OK(cushim_stream_synchronize(stream));
  return byte;
}

/* Sets bytes of a buffer, in stream order. */
static inline cushim_status fill_buffer(cushim_stream stream, cushim_buffer buffer, uint64_t offset, uint32_t value,
                                        size_t count) {
  cushim_endpoint to = cushim_endpoint_buffer(buffer, offset);
  return cushim_stream_fill(stream, &to, CUSHIM_VALUE_8(value), count);
}

/* A buffer of the resource whose bytes all have this value. */
static inline cushim_buffer filled_buffer(cushim_resource resource, cushim_stream stream, size_t bytes, uint32_t value) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(resource, stream, bytes, &buffer));
  CHECK_OK(fill_buffer(stream, buffer, 0, value, bytes));
  CHECK_OK(cushim_stream_synchronize(stream));
  return buffer;
}

/* A pool of its own, whose memory other processes can import by handles of these types. */
static inline cushim_resource pool_for(cushim_device device, int32_t handle_types) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource pool = NULL;
  options.choice = CUSHIM_POOL_OWN;
  options.handle_types = handle_types;
  CHECK_OK(cushim_resource_create_device_pool(device, &options, &pool));
  return pool;
}

/* Copies a whole buffer to the start of another, in stream order. */
static inline cushim_status copy_buffer(cushim_stream stream, cushim_buffer to, cushim_buffer from) {
  cushim_endpoint target = cushim_endpoint_buffer(to, 0), source = cushim_endpoint_buffer(from, 0);
  return cushim_stream_copy(stream, &target, &source, cushim_buffer_size(from));
}

/* Waits until what is due for release is released. */
static inline void flush_callbacks(void) {
  int32_t done = 0;
  CHECK_OK(cushim_flush_callbacks(10000000000ull, &done));
  CHECK(done == 1);
}

#endif
