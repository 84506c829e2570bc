/* Reservations and allocations: addresses and memory, each for itself, for programs that manage addresses. */
#include "graphs.h"
#include "resources.h"

#define UNIT ((size_t)2 << 20)

static cushim_stream stream;

static cushim_virtual_options zero_options(void) {
  cushim_virtual_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  return options;
}

static cushim_allocation allocated(size_t bytes) {
  cushim_allocation allocation = NULL;
  CHECK_OK(cushim_allocation_create(all.device, bytes, NULL, &allocation));
  return allocation;
}

static cushim_reservation reserved(size_t bytes) {
  cushim_reservation reservation = NULL;
  CHECK_OK(cushim_reservation_create(all.device, bytes, NULL, &reservation));
  return reservation;
}

static uint64_t pointer_of(cushim_reservation reservation) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_reservation_get_pointer(reservation, &pointer));
  return pointer;
}

static size_t free_memory(void) {
  size_t free_bytes = 0, total = 0;
  CHECK_OK(cushim_context_get_memory_info(all.context, &free_bytes, &total));
  return free_bytes;
}

/* Whether all memory is free again; a real driver keeps some for itself. */
static int is_back(size_t before) { return !is_software(all.driver) || free_memory() == before; }

static int access_at(cushim_reservation reservation, size_t offset) {
  const cushim_location device = cushim_location_device(0);
  int32_t access = 77;
  CHECK_OK(cushim_reservation_get_access(reservation, offset, &device, &access));
  return access;
}

static void parts(void) {
  const size_t before = free_memory();
  cushim_allocation allocation = (cushim_allocation)NOT_NULL, more = NULL;
  cushim_reservation reservation = (cushim_reservation)NOT_NULL;
  cushim_virtual_options options = zero_options();
  cushim_location location;
  uint64_t native = 0;
  size_t bytes = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_allocation_create(all.device, 0, NULL, &allocation));
  CHECK(allocation == NULL);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_allocation_create(all.device, (size_t)1 << 42, NULL, &allocation));
  CHECK_CONTAINS(last_message(), "4398046511104 bytes were asked for");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_create(all.device, 0, NULL, &reservation));
  CHECK(reservation == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_create(all.device, SIZE_MAX, NULL, &reservation));
  if (is_software(all.driver)) {
    CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_reservation_create(all.device, (size_t)1 << 46, NULL, &reservation));
    CHECK_CONTAINS(last_message(), "70368744177664 addresses in a row were asked for");
    options.shareable = CUSHIM_SHAREABLE_FABRIC;
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_allocation_create(all.device, 1, &options, &allocation));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_reservation_create(all.device, 1, &options, &reservation));
  }
  allocation = allocated(1);
  CHECK_OK(cushim_allocation_get_size(allocation, &bytes));
  CHECK(bytes == UNIT);
  memset(&location, 0xee, sizeof location);
  CHECK_OK(cushim_allocation_get_location(allocation, &location));
  CHECK(location.kind == CUSHIM_LOCATION_DEVICE && location.id == 0);
  CHECK_OK(cushim_allocation_native(allocation, &native));
  CHECK(native != 0);
  CHECK_CONTAINS(description(allocation), "allocation: 2097152 bytes on device 0");
  CHECK_OK(cushim_allocation_ref(allocation, &more));
  CHECK_OK(cushim_allocation_destroy(allocation));
  if (is_software(all.driver)) CHECK(before - free_memory() == UNIT);
  CHECK_OK(cushim_allocation_destroy(more));
  CHECK(is_back(before));
  options = zero_options();
  options.alignment = 64 * UNIT;
  CHECK_OK(cushim_reservation_create(all.device, 3 * UNIT - 1, &options, &reservation));
  CHECK_OK(cushim_reservation_get_size(reservation, &bytes));
  CHECK(bytes == 3 * UNIT && pointer_of(reservation) % (64 * UNIT) == 0);
  CHECK_CONTAINS(description(reservation), "reservation: 6291456 bytes at 0x");
  CHECK_OK(cushim_reservation_destroy(reservation));
  CHECK_OK(cushim_reservation_destroy(NULL));
  CHECK_OK(cushim_allocation_destroy(NULL));
}

static void mappings(void) {
  const size_t before = free_memory();
  cushim_reservation space = reserved(8 * UNIT), twice = reserved(UNIT);
  cushim_allocation one = allocated(UNIT), two = allocated(2 * UNIT);
  const uint64_t first = pointer_of(space);
  CHECK_OK(cushim_set_label(space, "cache"));
  CHECK_OK(cushim_reservation_map(space, 0, one));
  CHECK_OK(cushim_reservation_map(space, UNIT, two));
  CHECK_OK(cushim_reservation_map(twice, 0, one)); /* at two addresses */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_map(space, 2 * UNIT, one));
  CHECK_CONTAINS(last_message(), "overlap the 4194304 bytes that are mapped at offset 2097152");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_map(space, 4096, one));
  CHECK_CONTAINS(last_message(), "is not in whole units");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_map(space, 7 * UNIT, two));
  CHECK_CONTAINS(last_message(), "reach past the end of reservation \"cache\"");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_map(space, SIZE_MAX - UNIT + 1, two));
  CHECK_OK(fill_bytes(stream, first, 6, 3 * UNIT)); /* over both */
  CHECK(last_byte(stream, first, 3 * UNIT) == 6 && last_byte(stream, pointer_of(twice), UNIT) == 6);
  CHECK_OK(fill_bytes(stream, pointer_of(twice), 7, UNIT));
  CHECK(last_byte(stream, first, UNIT) == 7);
  /* What is mapped stays when its handles are gone. */
  CHECK_OK(cushim_allocation_destroy(one));
  CHECK_OK(cushim_allocation_destroy(two));
  CHECK(last_byte(stream, first, 2 * UNIT) == 6);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_unmap(space, NULL, UNIT, UNIT));
  CHECK_CONTAINS(last_message(), "are only partly in the range");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_unmap(space, NULL, 4 * UNIT, UNIT));
  CHECK_CONTAINS(last_message(), "nothing is mapped in the 2097152 bytes at offset 8388608");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_unmap(space, NULL, 0, 0));
  CHECK_OK(fill_bytes(stream, first, 8, 3 * UNIT));
  CHECK_OK(cushim_reservation_unmap(space, stream, UNIT, 4 * UNIT)); /* after the stream */
  CHECK(last_byte(stream, first, UNIT) == 8);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_reservation_destroy(space)); /* with what is mapped there */
  CHECK(last_byte(stream, pointer_of(twice), UNIT) == 8);
  if (is_software(all.driver)) CHECK(before - free_memory() == UNIT);
  CHECK_OK(cushim_reservation_destroy(twice));
  CHECK(is_back(before));
}

static void access_is_set_and_read(void) {
  const cushim_location device = cushim_location_device(0), host = cushim_location_host(), nowhere = cushim_location_device(99);
  const cushim_location no_node = cushim_location_host_numa(9999);
  const cushim_location current = {CUSHIM_LOCATION_HOST_NUMA_CURRENT, 0};
  cushim_virtual_options options = zero_options();
  cushim_reservation space = reserved(4 * UNIT);
  cushim_allocation one = allocated(UNIT), closed = NULL;
  int32_t access = 7;
  options.access = CUSHIM_VIRTUAL_NO_ACCESS;
  CHECK_OK(cushim_allocation_create(all.device, UNIT, &options, &closed));
  CHECK_OK(cushim_reservation_map(space, 0, one));
  CHECK_OK(cushim_reservation_map(space, UNIT, closed));
  CHECK(access_at(space, 0) == CUSHIM_VIRTUAL_READ_WRITE && access_at(space, UNIT) == CUSHIM_VIRTUAL_NO_ACCESS);
  CHECK_OK(cushim_reservation_set_access(space, 0, 2 * UNIT, &device, CUSHIM_VIRTUAL_READ));
  CHECK(access_at(space, 0) == CUSHIM_VIRTUAL_READ && access_at(space, UNIT) == CUSHIM_VIRTUAL_READ);
  CHECK(fill_bytes(stream, pointer_of(space), 1, 4) != CUSHIM_SUCCESS);
  CHECK_OK(cushim_reservation_set_access(space, UNIT, UNIT, &device, CUSHIM_VIRTUAL_READ_WRITE));
  CHECK(access_at(space, 0) == CUSHIM_VIRTUAL_READ && access_at(space, UNIT) == CUSHIM_VIRTUAL_READ_WRITE);
  CHECK_OK(fill_bytes(stream, pointer_of(space) + UNIT, 1, UNIT));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_set_access(space, 0, 2 * UNIT, &device, 3));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_set_access(space, 2 * UNIT, UNIT, &device, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_set_access(space, 0, UNIT, &nowhere, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_set_access(space, 0, UNIT, &host, 0));
  CHECK_CONTAINS(last_message(), "cannot use the memory of device 0");
  CHECK_CONTAINS(last_message(), "name a device, or map memory of the host there");
  /* Whatever number of a node is the host to the driver, which does not look whether there is one. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_set_access(space, 0, UNIT, &no_node, 0));
  CHECK_CONTAINS(last_message(), "this machine has no NUMA node 9999");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_get_access(space, 0, &no_node, &access));
  CHECK_OK(cushim_reservation_get_access(space, 0, &host, &access));
  CHECK(access == CUSHIM_VIRTUAL_NO_ACCESS); /* whatever the device may do */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_set_access(space, 0, UNIT, &current, 0));
  CHECK_CONTAINS(last_message(), "name the host, or a node by its number");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_get_access(space, 0, &current, &access));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_get_access(space, 3 * UNIT, &device, &access));
  CHECK_CONTAINS(last_message(), "nothing is mapped at offset 6291456");
  CHECK(access == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_get_access(space, 0, &nowhere, &access));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_allocation_destroy(one));
  CHECK_OK(cushim_allocation_destroy(closed));
  CHECK_OK(cushim_reservation_destroy(space));
}

/* A node over memory with which the device may not do it is refused when it is added, and says what a stream says. */
static void nodes_say_why(uint64_t closed, const char *why) {
  const unsigned char value = 1;
  cushim_endpoint to = cushim_endpoint_device(closed);
  cushim_graph graph = NULL;
  CHECK_OK(cushim_graph_create(all.context, NULL, &graph));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graph_add_fill(graph, NULL, 0, &to, &value, 1, 64, NULL));
  CHECK_CONTAINS(last_message(), "The memory to set, 0x");
  CHECK_CONTAINS(last_message(), why);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A value is refused where the device has no access; where it may only read, the driver takes it and loses the context. */
static void values_say_why(uint64_t closed) {
  cushim_memory_operation write;
  if (info_of(all.driver).version < 11070) return; /* an administrator has to allow values there */
  memset(&write, 0, sizeof write);
  write.action = CUSHIM_MEMORY_WRITE_32;
  write.at = cushim_endpoint_device(closed);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_memory_operations(stream, &write, 1));
  CHECK_CONTAINS(last_message(), "The place of the value, 0x");
  CHECK_CONTAINS(last_message(), "is virtual memory that device 0 has no access to");
}

/* Copies, fills, nodes and values with what the device may not do, and past what is mapped, say so. */
static void what_is_refused_says_why(void) {
  const cushim_location device = cushim_location_device(0);
  cushim_reservation space = reserved(4 * UNIT);
  cushim_allocation both = allocated(UNIT), closed = allocated(UNIT);
  const uint64_t first = pointer_of(space);
  cushim_endpoint to = cushim_endpoint_device(first), from = cushim_endpoint_device(first + UNIT);
  unsigned char host[64] = {0};
  cushim_endpoint own = cushim_endpoint_host(host);
  CHECK_OK(cushim_reservation_map(space, 0, both));
  CHECK_OK(cushim_reservation_map(space, UNIT, closed));
  CHECK_OK(fill_bytes(stream, first, 1, 2 * UNIT));
  CHECK_OK(cushim_stream_synchronize(stream)); /* what follows is for nothing that runs */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, fill_bytes(stream, first + UNIT, 1, 2 * UNIT));
  CHECK_CONTAINS(last_message(), "has 2097152 bytes left in what is mapped there, too few for 4194304");
  CHECK_OK(cushim_reservation_set_access(space, UNIT, UNIT, &device, CUSHIM_VIRTUAL_READ));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, fill_bytes(stream, first, 1, 2 * UNIT));
  CHECK_CONTAINS(last_message(), "is virtual memory that device 0 may only read");
  CHECK_CONTAINS(last_message(), "cushim_reservation_set_access");
  nodes_say_why(first + UNIT, "is virtual memory that device 0 may only read");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_copy(stream, &from, &own, sizeof host));
  CHECK_CONTAINS(last_message(), "The destination, 0x");
  CHECK_CONTAINS(last_message(), "may only read");
  CHECK_OK(cushim_stream_copy(stream, &own, &from, sizeof host));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_reservation_set_access(space, UNIT, UNIT, &device, CUSHIM_VIRTUAL_NO_ACCESS));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_copy(stream, &to, &from, 64));
  CHECK_CONTAINS(last_message(), "The source, 0x");
  CHECK_CONTAINS(last_message(), "is virtual memory that device 0 has no access to");
  nodes_say_why(first + UNIT, "is virtual memory that device 0 has no access to");
  values_say_why(first + UNIT);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_allocation_destroy(both));
  CHECK_OK(cushim_allocation_destroy(closed));
  CHECK_OK(cushim_reservation_destroy(space));
}

/* A stream under capture is not waited for, and its capture stays valid. */
static void in_a_capture(void) {
  cushim_reservation space = reserved(UNIT);
  cushim_allocation one = allocated(UNIT);
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_reservation_map(space, 0, one));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_reservation_unmap(space, stream, 0, UNIT));
  CHECK_CONTAINS(last_message(), "captured");
  CHECK_OK(cushim_reservation_unmap(space, NULL, 0, UNIT));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_allocation_destroy(one));
  CHECK_OK(cushim_reservation_destroy(space));
}

int main(void) {
  check_begin();
  if (!open_graphs()) return check_done();
  stream = all.stream;
  parts();
  mappings();
  access_is_set_and_read();
  what_is_refused_says_why();
  in_a_capture();
  return close_graphs();
}
