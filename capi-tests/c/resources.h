/* What the programs on resources and buffers share. Include it first. */
#ifndef RESOURCES_H
#define RESOURCES_H

#include "objects.h"

enum { BYTES = 4096 };

/* Options that ask for nothing. */
static const cushim_device_pool_options DEVICE_POOL_OPTIONS = {sizeof(cushim_device_pool_options), 0, 0, 0};
static const cushim_pinned_options PINNED_OPTIONS = {sizeof(cushim_pinned_options), 0, 0, 0, 0, 0, 0, 0};
static const cushim_managed_options MANAGED_OPTIONS = {sizeof(cushim_managed_options), 0, 0, {0, 0}};

/* The last of so many bytes at an address of any kind, when the stream has passed its work. */
static inline unsigned last_byte(cushim_stream stream, uint64_t pointer, size_t bytes) {
  unsigned char byte = 0;
  cushim_place to, from;
  memset(&to, 0, sizeof to);
  to.kind = CUSHIM_PLACE_HOST;
  to.address = (uint64_t)(uintptr_t)&byte;
  from = to;
  from.kind = CUSHIM_PLACE_AUTO;
  from.address = pointer;
  from.offset = bytes - 1;
  CHECK_OK(cushim_stream_copy(stream, &to, &from, 1));
  CHECK_OK(cushim_stream_synchronize(stream));
  return byte;
}

/* Waits until what is due for release is released. */
static inline void flush_callbacks(void) {
  int32_t done = 0;
  CHECK_OK(cushim_flush_callbacks(10000, &done));
  CHECK(done == 1);
}

#endif
