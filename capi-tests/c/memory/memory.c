/* Memory: allocated, copied, filled, page-locked, and asked about. */
#include "busy.h"

static const uint32_t one = 1;

static struct objects all;
static int version; /* of the driver; 0 for "none" */

enum { BYTES = 4096 };

static uint64_t allocate(size_t bytes) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_context_allocate(all.context, bytes, &pointer));
  CHECK(pointer != 0);
  return pointer;
}

static void deallocate(uint64_t pointer) { CHECK_OK(cushim_context_free(all.context, pointer)); }

/* What lies at the start of device memory. */
static unsigned byte_at(uint64_t pointer, size_t offset) {
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from = cushim_endpoint_device(pointer);
  from.offset = offset;
  CHECK_OK(cushim_context_copy(all.context, &to, &from, 1));
  return byte;
}

static void allocation(void) {
  uint64_t pointer = 1;
  size_t free_bytes = 0, total = 0;
  CHECK_OK(cushim_context_allocate(all.context, 0, &pointer));
  CHECK(pointer == 0);
  CHECK_OK(cushim_context_free(all.context, 0));
  pointer = allocate(BYTES);
  CHECK(pointer % 256 == 0);
  CHECK_OK(cushim_context_get_memory_info(all.context, &free_bytes, &total));
  CHECK(free_bytes > 0 && free_bytes < total);
  deallocate(pointer);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_free(all.context, pointer + 64));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_context_allocate(all.context, (size_t)1 << 50, &pointer));
  CHECK(pointer == 0);
  CHECK_CONTAINS(last_message(), "1125899906842624 bytes were asked for");
}

static void in_stream_order(void) {
  uint64_t pointer = 1;
  CHECK_OK(cushim_stream_allocate(all.stream, BYTES, &pointer));
  CHECK(pointer != 0);
  CHECK_OK(fill_bytes(all.stream, pointer, 0x11, BYTES));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(pointer, BYTES - 1) == 0x11);
  CHECK_OK(cushim_stream_free(all.stream, pointer));
  CHECK_OK(cushim_stream_allocate(all.stream, 0, &pointer));
  CHECK(pointer == 0);
  CHECK_OK(cushim_stream_free(all.stream, 0));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_stream_allocate(all.stream, (size_t)1 << 50, &pointer));
  CHECK(pointer == 0);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_free(all.stream, 0x1230));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static void copies(void) {
  static unsigned char source[BYTES], result[BYTES];
  uint64_t first = allocate(BYTES), second = allocate(BYTES);
  cushim_endpoint from = cushim_endpoint_host(source), to = cushim_endpoint_device(first), other = cushim_endpoint_device(second);
  cushim_endpoint back = cushim_endpoint_host(result), any = cushim_endpoint_auto(second);
  size_t i;
  for (i = 0; i < BYTES; i++) source[i] = (unsigned char)(i * 7);
  CHECK_OK(cushim_context_copy(all.context, &to, &from, BYTES));
  CHECK_OK(cushim_stream_copy(all.stream, &other, &to, BYTES));
  CHECK_OK(cushim_stream_copy(all.stream, &back, &other, BYTES));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(memcmp(source, result, BYTES) == 0);
  memset(result, 0, sizeof result);
  any.offset = 100;
  CHECK_OK(cushim_context_copy(all.context, &back, &any, 10));
  CHECK(memcmp(source + 100, result, 10) == 0 && result[10] == 0);
  CHECK_OK(cushim_context_copy(all.context, &back, &any, 0));
  deallocate(first);
  deallocate(second);
}

static void copies_are_checked(void) {
  unsigned char bytes[4];
  cushim_endpoint good = cushim_endpoint_host(bytes), bad = good;
  bad.kind = (cushim_endpoint_kind)0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy(all.context, &good, &bad, 4));
  CHECK_CONTAINS(last_message(), "source: kind is 0");
  bad = good;
  bad.flags = 4;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &bad, &good, 4));
  CHECK_CONTAINS(last_message(), "destination: flags is 0x4");
  bad = good;
  bad.address = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &bad, &good, 4));
  CHECK_CONTAINS(last_message(), "destination");
  bad = good;
  bad.offset = UINT64_MAX;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy(all.context, &bad, &good, 4));
  bad = good;
  bad.kind = CUSHIM_ENDPOINT_ARRAY;
  bad.offset = 4;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy(all.context, &bad, &good, 4));
  CHECK_CONTAINS(last_message(), "array");
}

/* 3 rows and 2 slices out of host memory, and back. */
static void copies_3d(void) {
  static unsigned char source[2 * 4 * 16], result[sizeof source];
  const cushim_extent extent = {8, 3, 2}, empty = {8, 0, 2};
  uint64_t pointer = allocate(BYTES);
  cushim_region from = cushim_region_at(cushim_endpoint_host(source), 16), to = cushim_region_at(cushim_endpoint_device(pointer), 32);
  cushim_region back = cushim_region_at(cushim_endpoint_host(result), 16), nowhere = cushim_region_at(cushim_endpoint_device(0), 0);
  size_t i, slice, row;
  for (i = 0; i < sizeof source; i++) source[i] = (unsigned char)i;
  from.rows = back.rows = 4;
  from.x = 4;
  from.y = 1;
  CHECK_OK(cushim_context_copy_3d(all.context, &to, &from, &extent));
  CHECK_OK(cushim_stream_copy_3d(all.stream, &back, &to, &extent));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  for (slice = 0; slice < 2; slice++) {
    for (row = 0; row < 3; row++) {
      CHECK(memcmp(result + slice * 64 + row * 16, source + slice * 64 + (row + 1) * 16 + 4, 8) == 0);
    }
  }
  from.pitch = 11;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy_3d(all.context, &to, &from, &extent));
  CHECK_CONTAINS(last_message(), "too few");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_3d(all.stream, &to, &from, &extent));
  CHECK_OK(cushim_stream_copy_3d(all.stream, &nowhere, &nowhere, &empty));
  CHECK_OK(cushim_context_copy_3d(all.context, &nowhere, &nowhere, &empty));
  deallocate(pointer);
}

/* Both endpoints name their context, which is one. */
static void contexts_of_endpoints(void) {
  const cushim_extent extent = {16, 2, 1};
  uint64_t first = allocate(BYTES), second = allocate(BYTES);
  cushim_endpoint to = cushim_endpoint_device(second), from = cushim_endpoint_device(first), nowhere = cushim_endpoint_device(0);
  cushim_region rows, columns;
  to.context = from.context = nowhere.context = all.context;
  rows = cushim_region_at(to, 64);
  columns = cushim_region_at(from, 32);
  CHECK_OK(set_bytes(all.context, first, 0x21, BYTES));
  CHECK_OK(cushim_context_copy(all.context, &to, &from, BYTES));
  CHECK(byte_at(second, BYTES - 1) == 0x21);
  CHECK_OK(set_bytes(all.context, first, 0x22, BYTES));
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, BYTES));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(second, BYTES - 1) == 0x22);
  CHECK_OK(set_bytes(all.context, first, 0x23, BYTES));
  CHECK_OK(cushim_context_copy_3d(all.context, &rows, &columns, &extent));
  CHECK(byte_at(second, 79) == 0x23 && byte_at(second, 80) == 0x22);
  CHECK_OK(set_bytes(all.context, first, 0x24, BYTES));
  CHECK_OK(cushim_stream_copy_3d(all.stream, &rows, &columns, &extent));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(second, 0) == 0x24 && byte_at(second, 16) == 0x22);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy(all.context, &nowhere, &from, BYTES));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &nowhere, &from, BYTES));
  rows.pitch = 8;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_copy_3d(all.context, &rows, &columns, &extent));
  to.context = (cushim_context)(void *)all.stream;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_copy(all.stream, &to, &from, BYTES));
  CHECK_CONTAINS(last_message(), "a context is needed");
  deallocate(first);
  deallocate(second);
}

static void fills(void) {
  uint64_t pointer = allocate(BYTES);
  cushim_endpoint to = cushim_endpoint_device(pointer), odd = cushim_endpoint_device(pointer + 2), nowhere = cushim_endpoint_device(0);
  cushim_endpoint array = cushim_endpoint_array((CUarray)(uintptr_t)pointer);
  CHECK_OK(cushim_context_fill(all.context, &to, CUSHIM_VALUE_32(0x04030201), BYTES / 4));
  CHECK(byte_at(pointer, 0) == 1 && byte_at(pointer, BYTES - 1) == 4);
  CHECK_OK(cushim_stream_fill(all.stream, &to, CUSHIM_VALUE_16(0x0605), 2));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(pointer, 3) == 6 && byte_at(pointer, 4) == 1);
  CHECK_OK(cushim_context_fill_2d(all.context, &to, 64, CUSHIM_VALUE_8(9), 8, 2));
  CHECK(byte_at(pointer, 7) == 9 && byte_at(pointer, 8) == 1 && byte_at(pointer, 71) == 9);
  CHECK_OK(cushim_stream_fill_2d(all.stream, &to, 64, CUSHIM_VALUE_8(8), 4, 2));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(pointer, 67) == 8 && byte_at(pointer, 68) == 9);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_fill(all.context, &to, &one, 3, 1));
  CHECK_CONTAINS(last_message(), "1, 2 or 4");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &odd, CUSHIM_VALUE_32(1), 1));
  CHECK_CONTAINS(last_message(), "not a multiple");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_fill_2d(all.context, &to, 2, CUSHIM_VALUE_8(1), 4, 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill_2d(all.stream, &nowhere, 64, CUSHIM_VALUE_8(1), 4, 2));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_fill(all.stream, &array, CUSHIM_VALUE_8(1), 1));
  CHECK_CONTAINS(last_message(), "an array cannot be set");
  CHECK_OK(cushim_context_fill(all.context, &nowhere, CUSHIM_VALUE_8(1), 0));
  deallocate(pointer);
}

/* What another stream finds there at once, though it waits for nobody. */
static unsigned found_by_another_stream(uint64_t pointer) {
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  return byte;
}

/* The driver's own synchronous memsets and copies within device memory return before they are done. */
static void done_when_it_returns(void) {
  const uint64_t first = allocate(BYTES), second = allocate(BYTES);
  const cushim_endpoint a = cushim_endpoint_device(first), b = cushim_endpoint_device(second);
  const cushim_region rows = cushim_region_at(a, 64), columns = cushim_region_at(b, 64);
  const cushim_extent extent = {64, 8, 1};
  CHECK_OK(cushim_context_fill(all.context, &a, CUSHIM_VALUE_8(0x31), BYTES));
  CHECK(found_by_another_stream(first + BYTES - 1) == 0x31);
  CHECK_OK(cushim_context_copy(all.context, &b, &a, BYTES));
  CHECK(found_by_another_stream(second + BYTES - 1) == 0x31);
  CHECK_OK(cushim_context_fill_2d(all.context, &b, 64, CUSHIM_VALUE_8(0x32), 64, 8));
  CHECK(found_by_another_stream(second + 511) == 0x32);
  CHECK_OK(cushim_context_copy_3d(all.context, &rows, &columns, &extent));
  CHECK(found_by_another_stream(first + 511) == 0x32);
  deallocate(first);
  deallocate(second);
}

static void host_memory(void) {
  void *address = NULL, *registered = NULL;
  uint64_t pointer = 0;
  CHECK_OK(cushim_context_allocate_host(all.context, BYTES, CUSHIM_HOST_PORTABLE | CUSHIM_HOST_MAPPED, &address));
  if (!CHECK(address != NULL)) return;
  memset(address, 0x31, BYTES);
  CHECK_OK(cushim_context_get_device_pointer(all.context, (char *)address + 16, &pointer));
  CHECK(pointer != 0);
  CHECK_OK(cushim_context_free_host(all.context, address));
  CHECK_OK(cushim_context_free_host(all.context, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_allocate_host(all.context, BYTES, 8, &address));
  CHECK_CONTAINS(last_message(), "flags");
  CHECK(address == NULL);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_context_allocate_host(all.context, (size_t)1 << 50, 0, &address));

  if (!CHECK(posix_memalign(&registered, 4096, 2 * BYTES) == 0)) return;
  CHECK_OK(cushim_context_register_host(all.context, registered, BYTES, 0));
  CHECK_STATUS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
               cushim_context_register_host(all.context, registered, BYTES, 0));
  CHECK_OK(cushim_context_get_device_pointer(all.context, registered, &pointer));
  CHECK_OK(cushim_context_unregister_host(all.context, registered));
  CHECK_STATUS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cushim_context_unregister_host(all.context, registered));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_context_get_device_pointer(all.context, registered, &pointer));
  CHECK(pointer == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_register_host(all.context, registered, 0, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_register_host(all.context, registered, BYTES, 16));
  free(registered);
}

static cushim_pointer_attributes attributes_of(uint64_t address) {
  cushim_pointer_attributes attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_context_get_pointer_attributes(all.context, address, &attributes));
  return attributes;
}

static void addresses(void) {
  uint64_t pointer = allocate(BYTES), start = 0;
  size_t bytes = 0;
  int on_stack;
  cushim_pointer_attributes attributes = attributes_of(pointer + 100);
  CHECK(attributes.memory_type == CU_MEMORYTYPE_DEVICE && attributes.device == 0);
  CHECK(attributes.device_pointer == pointer + 100 && attributes.range_start == pointer);
  CHECK(attributes.range_bytes == BYTES && attributes.mapped == 1 && attributes.managed == 0);
  attributes = attributes_of((uint64_t)(uintptr_t)&on_stack);
  CHECK(attributes.memory_type == 0 && attributes.device == -1 && attributes.range_start == 0);
  attributes = attributes_of(0);
  CHECK(attributes.memory_type == 0);
  CHECK_OK(cushim_context_get_address_range(all.context, pointer + 100, &start, &bytes));
  CHECK(start == pointer && bytes == BYTES);
  deallocate(pointer);
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_context_get_address_range(all.context, 0x1000, &start, &bytes));
  CHECK(start == 0 && bytes == 0);
}

/* With no driver memory is refused, and the message says why. */
static void on_none(void) {
  uint64_t pointer = 1;
  void *address = &pointer;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_allocate(all.context, BYTES, &pointer));
  CHECK(pointer == 0);
  CHECK_CONTAINS(last_message(), "cuMemAlloc");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_allocate(all.stream, BYTES, &pointer));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_allocate_host(all.context, BYTES, 0, &address));
  CHECK(address == NULL);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_free_host(all.context, &pointer));
}

/* What a stream still has to do is done in its order. */
static void behind_other_work(void) {
  struct busy busy;
  unsigned char byte = 0;
  uint64_t pointer = allocate(BYTES);
  cushim_endpoint to = cushim_endpoint_device(pointer), from = cushim_endpoint_host(&byte);
  int32_t done = -1;
  CHECK_OK(cushim_context_copy(all.context, &to, &from, 1));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(fill_bytes(all.stream, pointer, 0x41, BYTES));
  CHECK_OK(cushim_stream_query(all.stream, &done));
  CHECK(done == 0);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(byte_at(pointer, 0) == 0x41);
  deallocate(pointer);
}

int main(void) {
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  if (version == 0) {
    on_none();
  } else {
    allocation();
    in_stream_order();
    copies();
    copies_are_checked();
    copies_3d();
    contexts_of_endpoints();
    fills();
    done_when_it_returns();
    host_memory();
    addresses();
    behind_other_work();
  }
  close_objects(&all);
  return check_done();
}
