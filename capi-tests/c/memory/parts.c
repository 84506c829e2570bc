/*
 * Virtual memory in two processes: a buffer is exported in its parts and imported again, in whole or by single allocations; what comes from
 * elsewhere is looked at before the driver sees it; each process may end first; no file descriptor is lost.
 */
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

#define MIB ((size_t)1 << 20)

enum { SIZE = CUSHIM_DESCRIPTOR_BYTES, PARTS = 3, ALL = PARTS * SIZE };

static struct objects all;

#define REFUSED(call) CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call)

struct parts {
  uint8_t bytes[ALL];
  int32_t files[PARTS];
};

static cushim_virtual_options shareable(void) {
  cushim_virtual_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  return options;
}

static cushim_resource space_of(const cushim_virtual_options *options) {
  cushim_resource space = NULL;
  CHECK_OK(cushim_resource_create_virtual(all.device, options, &space));
  return space;
}

static void fill(cushim_buffer buffer, size_t offset, unsigned value, size_t bytes) {
  CHECK_OK(fill_buffer(all.stream, buffer, offset, value, bytes));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static unsigned byte_of(cushim_buffer buffer, size_t at) { return last_byte(all.stream, cushim_buffer_pointer(buffer), at + 1); }

static void close_all(const int32_t *files) {
  int i;
  for (i = 0; i < PARTS; i++) CHECK(close(files[i]) == 0);
}

static void send_parts(const struct parts *parts) {
  int i;
  for (i = 0; i < PARTS; i++) send_message(parts->bytes + i * SIZE, SIZE, parts->files[i]);
}

static void receive_parts(struct parts *parts) {
  int i;
  for (i = 0; i < PARTS; i++) parts->files[i] = receive_message(parts->bytes + i * SIZE, SIZE);
}

/* A buffer of 2, 4 and 2 MiB, which were created one after the other. */
static cushim_buffer grown(cushim_resource space) {
  cushim_buffer first = NULL, second = NULL, third = NULL;
  CHECK_OK(cushim_buffer_create(space, all.stream, 1, &first));
  CHECK_OK(cushim_buffer_grow(first, 6 * MIB, NULL, &second));
  CHECK_OK(cushim_buffer_grow(second, 8 * MIB, NULL, &third));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  fill(third, 0, 1, 2 * MIB);
  fill(third, 2 * MIB, 2, 4 * MIB);
  fill(third, 6 * MIB, 3, 2 * MIB);
  return third;
}

static cushim_status import_all(cushim_resource space, const struct parts *parts, cushim_buffer *buffer) {
  *buffer = (cushim_buffer)(uintptr_t)1;
  return cushim_buffer_import_parts(space, all.stream, parts->bytes, ALL, parts->files, PARTS, buffer);
}

static void export_is_refused(cushim_buffer buffer) {
  cushim_resource private_space = space_of(NULL);
  cushim_buffer own = NULL, pooled = NULL;
  cushim_allocation allocation = NULL;
  struct parts parts;
  size_t count = 9;
  const int before = descriptors_open();
  memset(&parts, 7, sizeof parts);
  REFUSED(cushim_buffer_export_parts(buffer, parts.bytes, ALL, parts.files, PARTS - 1));
  CHECK_CONTAINS(last_message(), "has 3 parts");
  CHECK(parts.bytes[0] == 0 && parts.files[0] == 0 && parts.files[PARTS - 2] == 0);
  REFUSED(cushim_buffer_export_parts(buffer, parts.bytes, ALL - 1, parts.files, PARTS));
  CHECK_CONTAINS(last_message(), "479 bytes");
  REFUSED(cushim_buffer_export_parts(buffer, NULL, ALL, parts.files, PARTS));
  REFUSED(cushim_buffer_export_parts(buffer, parts.bytes, ALL, NULL, PARTS));
  REFUSED(cushim_buffer_export(buffer, parts.bytes, SIZE));
  CHECK_CONTAINS(last_message(), "cushim_buffer_export_parts");
  CHECK_OK(cushim_buffer_create(private_space, all.stream, 1, &own));
  CHECK_OK(cushim_set_label(own, "mine"));
  REFUSED(cushim_buffer_export_parts(own, parts.bytes, SIZE, parts.files, 1));
  CHECK_CONTAINS(last_message(), "CUSHIM_SHAREABLE_POSIX_FD");
  CHECK_CONTAINS(last_message(), "\"mine\"");
  CHECK(last_detail()->item == 0);
  CHECK_OK(cushim_buffer_sleep(own, all.stream, 0));
  REFUSED(cushim_buffer_export_parts(own, parts.bytes, SIZE, parts.files, 1));
  CHECK_CONTAINS(last_message(), "\"mine\" sleeps");
  CHECK_OK(cushim_buffer_get_part_count(own, &count));
  CHECK(count == 1);
  CHECK_OK(cushim_buffer_destroy(own));
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 0, 0, private_space, NULL, &own));
  REFUSED(cushim_buffer_get_part_count(own, &count));
  CHECK_CONTAINS(last_message(), "came from here");
  CHECK_OK(cushim_buffer_destroy(own));
  CHECK_OK(cushim_buffer_create(all.resource, all.stream, 64, &pooled));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_get_part_count(pooled, &count));
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_export_parts(pooled, parts.bytes, SIZE, parts.files, 1));
  CHECK_OK(cushim_buffer_destroy(pooled));
  CHECK_OK(cushim_allocation_create(all.device, 1, NULL, &allocation));
  parts.files[0] = 7;
  REFUSED(cushim_allocation_export(allocation, parts.bytes, SIZE, parts.files));
  CHECK_CONTAINS(last_message(), "CUSHIM_SHAREABLE_POSIX_FD");
  CHECK(parts.files[0] == 0);
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_resource_destroy(private_space));
  CHECK(descriptors_open() == before);
}

static void exports(void) {
  const cushim_virtual_options options = shareable();
  cushim_resource space;
  cushim_buffer buffer, mine = NULL;
  cushim_allocation allocation = NULL, same = NULL;
  struct parts parts;
  uint8_t alone[SIZE];
  int32_t file = -1;
  size_t count = 0;
  all = open_objects();
  space = space_of(&options);
  buffer = grown(space);
  export_is_refused(buffer);
  CHECK_OK(cushim_buffer_get_part_count(buffer, &count));
  CHECK(count == PARTS);
  CHECK_OK(cushim_buffer_export_parts(buffer, parts.bytes, ALL, parts.files, PARTS));
  /* In the same process it is the same memory at another address. */
  CHECK_OK(import_all(space, &parts, &mine));
  CHECK(cushim_buffer_pointer(mine) != cushim_buffer_pointer(buffer) && cushim_buffer_size(mine) == 8 * MIB);
  fill(mine, 0, 11, 1);
  CHECK(byte_of(buffer, 0) == 11);
  CHECK_OK(cushim_buffer_destroy(mine));
  send_parts(&parts);
  close_all(parts.files);
  CHECK_OK(cushim_allocation_create(all.device, 4 * MIB, &options, &allocation));
  CHECK_OK(cushim_allocation_export(allocation, alone, SIZE, &file));
  CHECK_OK(cushim_allocation_import(all.device, NULL, alone, SIZE, file, &same));
  CHECK(!is_same(same, allocation));
  CHECK_OK(cushim_allocation_destroy(same));
  send_message(alone, SIZE, file);
  CHECK(close(file) == 0);
  my_turn();
  CHECK(byte_of(buffer, 0) == 77 && byte_of(buffer, 8 * MIB - 1) == 78 && byte_of(buffer, 4 * MIB) == 2);
  CHECK_OK(cushim_buffer_sleep(buffer, all.stream, CUSHIM_SLEEP_KEEP_CONTENTS)); /* the importer keeps what it had */
  CHECK_OK(cushim_buffer_wake(buffer, all.stream));
  fill(buffer, 0, 99, 1);
  your_turn();
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(space));
  close_objects(&all);
}

static void import_is_refused(cushim_resource space, const struct parts *good) {
  cushim_virtual_options on_host = shareable();
  cushim_resource other = NULL, pool = all.resource;
  cushim_buffer buffer = NULL;
  cushim_allocation allocation = (cushim_allocation)(uintptr_t)1;
  struct parts bad = *good;
  int ends[2], regular, i, before;
  CHECK_OK(cushim_buffer_create(space, all.stream, 1, &buffer)); /* drivers open files of their own for the first memory */
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(pipe(ends) == 0);
  regular = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  before = descriptors_open();
  /* One that was changed on the way is none, whichever byte it was. */
  for (i = 0; i < ALL; i += 3) {
    bad.bytes[i] ^= (uint8_t)(1u << (i % 8));
    REFUSED(import_all(space, &bad, &buffer));
    CHECK(buffer == NULL && last_detail()->item == i / SIZE);
    bad.bytes[i] ^= (uint8_t)(1u << (i % 8));
  }
  REFUSED(cushim_allocation_import(all.device, NULL, bad.bytes, SIZE - 1, bad.files[0], &allocation));
  CHECK(allocation == NULL);
  CHECK_CONTAINS(last_message(), "159 bytes");
  /* Parts are missing, in another order, twice there. */
  REFUSED(cushim_buffer_import_parts(space, NULL, bad.bytes, 2 * SIZE, bad.files, 2, &buffer));
  CHECK_CONTAINS(last_message(), "in 3 parts, and 2 are passed");
  REFUSED(cushim_buffer_import_parts(space, NULL, bad.bytes + SIZE, 2 * SIZE, bad.files + 1, 2, &buffer));
  CHECK_CONTAINS(last_message(), "the buffer's part 1");
  memcpy(bad.bytes + SIZE, bad.bytes, SIZE);
  REFUSED(import_all(space, &bad, &buffer));
  CHECK(last_detail()->item == 1);
  bad = *good;
  REFUSED(cushim_buffer_import_parts(space, NULL, bad.bytes, ALL - 1, bad.files, PARTS, &buffer));
  CHECK_CONTAINS(last_message(), "479 bytes");
  REFUSED(cushim_buffer_import_parts(space, NULL, bad.bytes, 0, bad.files, 0, &buffer));
  CHECK_CONTAINS(last_message(), "at least one part");
  REFUSED(cushim_buffer_import_parts(space, NULL, NULL, ALL, bad.files, PARTS, &buffer));
  REFUSED(cushim_buffer_import_parts(space, NULL, bad.bytes, ALL, NULL, PARTS, &buffer));
  REFUSED(cushim_buffer_import_parts(space, NULL, bad.bytes, ALL, bad.files, PARTS, NULL));
  /* Files that are none, and that of another part, whose memory has another size. */
  bad.files[1] = -1;
  REFUSED(import_all(space, &bad, &buffer));
  CHECK_CONTAINS(last_message(), "-1 is none");
  CHECK(last_detail()->item == 1);
  bad.files[1] = 1000;
  REFUSED(import_all(space, &bad, &buffer));
  CHECK_CONTAINS(last_message(), "not open");
  bad.files[1] = regular;
  REFUSED(import_all(space, &bad, &buffer));
  CHECK_CONTAINS(last_message(), "regular file");
  bad.files[1] = ends[1];
  REFUSED(import_all(space, &bad, &buffer));
  CHECK_CONTAINS(last_message(), "pipe");
  bad.files[1] = good->files[0];
  REFUSED(import_all(space, &bad, &buffer));
  CHECK_CONTAINS(last_message(), "claims 4194304 bytes");
  CHECK(last_detail()->item == 1 && buffer == NULL);
  REFUSED(cushim_allocation_import(all.device, NULL, good->bytes + SIZE, SIZE, good->files[0], &allocation));
  CHECK_CONTAINS(last_message(), "claims 4194304 bytes");
  REFUSED(cushim_allocation_import(all.device, NULL, good->bytes, SIZE, good->files[1], &allocation));
  CHECK_CONTAINS(last_message(), "claims 2097152 bytes");
  CHECK(allocation == NULL);
  /* Resources that do not fit. */
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, import_all(pool, good, &buffer));
  on_host.location = cushim_location_host_numa(0);
  if (cushim_resource_create_virtual(all.device, &on_host, &other) == CUSHIM_SUCCESS) {
    REFUSED(import_all(other, good, &buffer));
    CHECK_CONTAINS(last_message(), "is on device 0, and it is imported for NUMA node 0");
    REFUSED(cushim_allocation_import(all.device, &on_host, good->bytes, SIZE, good->files[0], &allocation));
    CHECK_OK(cushim_resource_destroy(other));
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, import_all(NULL, good, &buffer));
  CHECK(descriptors_open() == before);
  CHECK(close(regular) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void imports(void) {
  cushim_virtual_options read_only = shareable();
  cushim_resource space, reading;
  cushim_buffer buffer = NULL, again = NULL, longer = NULL, joined = NULL;
  cushim_allocation allocation = NULL;
  cushim_reservation range = NULL;
  cushim_stream recorded = NULL;
  struct parts parts, unused;
  uint8_t alone[2 * SIZE];
  int32_t file, twice[2];
  uint64_t address = 0;
  size_t bytes = 0;
  all = open_objects();
  space = space_of(NULL);
  receive_parts(&parts);
  file = receive_message(alone, SIZE);
  import_is_refused(space, &parts);
  CHECK_OK(import_all(space, &parts, &buffer));
  CHECK(cushim_buffer_size(buffer) == 8 * MIB);
  CHECK_OK(cushim_buffer_get_stream(buffer, &recorded));
  CHECK(is_same(recorded, all.stream));
  CHECK(byte_of(buffer, 0) == 11 && byte_of(buffer, 2 * MIB) == 2 && byte_of(buffer, 8 * MIB - 1) == 3);
  /* What may be done here is this process's affair. */
  read_only.access = CUSHIM_VIRTUAL_READ;
  reading = space_of(&read_only);
  CHECK_OK(import_all(reading, &parts, &again));
  CHECK(byte_of(again, 6 * MIB) == 3);
  CHECK(fill_buffer(all.stream, again, 0, 5, 1) != CUSHIM_SUCCESS);
  CHECK_OK(cushim_buffer_destroy(again));
  /* It grows, and only the process that created it has it sleep. */
  CHECK_OK(cushim_buffer_grow(buffer, 9 * MIB, NULL, &longer));
  CHECK(cushim_buffer_size(longer) == 10 * MIB && byte_of(longer, 8 * MIB - 1) == 3);
  REFUSED(cushim_buffer_export_parts(buffer, unused.bytes, ALL, unused.files, PARTS));
  CHECK_CONTAINS(last_message(), "another process");
  REFUSED(cushim_buffer_sleep(buffer, all.stream, 0));
  CHECK_CONTAINS(last_message(), "another process");
  CHECK_OK(cushim_buffer_destroy(buffer));
  /* Single allocations, one of which is a part of a buffer. */
  CHECK_OK(cushim_allocation_import(all.device, NULL, parts.bytes + SIZE, SIZE, parts.files[1], &allocation));
  CHECK_OK(cushim_allocation_get_size(allocation, &bytes));
  CHECK(bytes == 4 * MIB);
  REFUSED(cushim_allocation_export(allocation, unused.bytes, SIZE, unused.files));
  CHECK_OK(cushim_reservation_create(all.device, 4 * MIB, NULL, &range));
  CHECK_OK(cushim_reservation_map(range, 0, allocation));
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_reservation_get_pointer(range, &address));
  CHECK(last_byte(all.stream, address, 4 * MIB) == 2);
  CHECK_OK(cushim_reservation_destroy(range));
  /* What was exported by itself makes a buffer, as often as it is named. */
  memcpy(alone + SIZE, alone, SIZE);
  twice[0] = twice[1] = file;
  CHECK_OK(cushim_buffer_import_parts(space, NULL, alone, 2 * SIZE, twice, 2, &joined));
  fill(joined, 0, 8, 1);
  CHECK(byte_of(joined, 4 * MIB) == 8);
  CHECK_OK(cushim_buffer_destroy(joined));
  fill(longer, 0, 77, 1);
  fill(longer, 8 * MIB - 1, 78, 1);
  close_all(parts.files);
  CHECK(close(file) == 0);
  your_turn();
  my_turn();
  CHECK(byte_of(longer, 0) == 77); /* not what was written after the exporter slept */
  CHECK(receive_message(NULL, 0) == -2);
  CHECK(byte_of(longer, 2 * MIB) == 2); /* the exporter is gone */
  CHECK_OK(cushim_buffer_destroy(longer));
  CHECK_OK(cushim_resource_destroy(reading));
  CHECK_OK(cushim_resource_destroy(space));
  close_objects(&all);
}

/* The exporter is killed while both have the memory. */
static void exports_and_is_killed(void) {
  const cushim_virtual_options options = shareable();
  cushim_buffer buffer;
  struct parts parts;
  all = open_objects();
  buffer = grown(space_of(&options));
  CHECK_OK(cushim_buffer_export_parts(buffer, parts.bytes, ALL, parts.files, PARTS));
  send_parts(&parts);
  my_turn();
  raise(SIGKILL);
}

static void imports_and_stays(void) {
  cushim_buffer buffer = NULL;
  cushim_resource space;
  struct parts parts;
  all = open_objects();
  space = space_of(NULL);
  receive_parts(&parts);
  CHECK_OK(import_all(space, &parts, &buffer));
  close_all(parts.files);
  your_turn();
  CHECK(receive_message(NULL, 0) == -2);
  CHECK(byte_of(buffer, 0) == 1 && byte_of(buffer, 8 * MIB - 1) == 3);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(space));
  close_objects(&all);
}

/* The importer is killed, and the exporter goes on. */
static void exports_and_stays(void) {
  const cushim_virtual_options options = shareable();
  cushim_resource space;
  cushim_buffer buffer;
  struct parts parts;
  all = open_objects();
  space = space_of(&options);
  buffer = grown(space);
  CHECK_OK(cushim_buffer_export_parts(buffer, parts.bytes, ALL, parts.files, PARTS));
  send_parts(&parts);
  close_all(parts.files);
  CHECK(receive_message(NULL, 0) == -2);
  CHECK(byte_of(buffer, 0) == 77 && byte_of(buffer, 1) == 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(space));
  close_objects(&all);
}

static void imports_and_is_killed(void) {
  cushim_buffer buffer = NULL;
  struct parts parts;
  all = open_objects();
  receive_parts(&parts);
  CHECK_OK(import_all(space_of(NULL), &parts, &buffer));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 77, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  fflush(NULL);
  if (check_failures == 0) raise(SIGKILL); /* with everything that it has */
}

/* The driver is asked for before a descriptor is read. */
static void without_driver(void) {
  struct parts parts;
  cushim_allocation allocation = (cushim_allocation)(uintptr_t)1;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL, found = (cushim_buffer)(uintptr_t)1;
  memset(&parts, 0, sizeof parts);
  all = open_objects();
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 0, 0, NULL, NULL, &buffer));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_allocation_import(all.device, NULL, parts.bytes, SIZE, -1, &allocation));
  CHECK_CONTAINS(last_message(), "none is open");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_export_parts(buffer, parts.bytes, SIZE, parts.files, 1));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_import_parts(resource, NULL, parts.bytes, SIZE, parts.files, 1, &found));
  CHECK_CONTAINS(last_message(), "none is open");
  CHECK(allocation == NULL && found == NULL);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  close_objects(&all);
}

int main(void) {
  check_begin();
  if (answers(is_none)) {
    without_driver();
    return check_done();
  }
  in_two_processes(exports, imports, NOBODY);
  in_two_processes(exports_and_is_killed, imports_and_stays, THE_EXPORTER);
  in_two_processes(exports_and_stays, imports_and_is_killed, THE_IMPORTER);
  return check_done();
}
