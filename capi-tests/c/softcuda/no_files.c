/*
 * Exports and imports of a process that can open no more files. The error says so, whatever the driver says; nothing is left, and all works
 * again when there are files.
 */
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

#include <sys/resource.h>

enum { SIZE = CUSHIM_DESCRIPTOR_BYTES, PARTS = 2, MIB = 1 << 20 };

static struct objects all;

/* How many more files the process can open: all of them if it is negative. */
static void leave_files(int count) {
  static struct rlimit before;
  struct rlimit limit;
  int next;
  if (count < 0) {
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    return;
  }
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  next = fcntl(STDERR_FILENO, F_DUPFD, 0);
  CHECK(next >= 0 && close(next) == 0);
  limit = before;
  limit.rlim_cur = (rlim_t)(next + count);
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void says_so(cushim_status status) {
  CHECK(status != CUSHIM_SUCCESS);
  CHECK_CONTAINS(last_message(), "no file descriptor left");
}

static void pools(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource pool = NULL;
  unsigned char bytes[SIZE];
  int32_t file = 7;
  options.choice = CUSHIM_POOL_OWN;
  options.handle_types = 1;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  leave_files(0);
  says_so(cushim_resource_export(pool, bytes, SIZE, &file));
  CHECK(file == 0);
  leave_files(-1);
  CHECK_OK(cushim_resource_export(pool, bytes, SIZE, &file));
  CHECK(close(file) == 0);
  CHECK_OK(cushim_resource_destroy(pool));
}

/* A buffer of two parts, of which only the first can be exported. */
static void parts(void) {
  cushim_virtual_options options = CUSHIM_OPTIONS(cushim_virtual_options);
  cushim_resource space = NULL;
  cushim_buffer first = NULL, both = NULL, again = NULL;
  cushim_allocation one = NULL;
  unsigned char bytes[PARTS * SIZE];
  int32_t files[PARTS];
  int before, i;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  CHECK_OK(cushim_resource_create_virtual(all.device, &options, &space));
  CHECK_OK(cushim_buffer_create(space, NULL, 2 * MIB, &first));
  CHECK_OK(cushim_buffer_grow(first, 4 * MIB, NULL, &both));
  before = descriptors_open();
  leave_files(1);
  says_so(cushim_buffer_export_parts(both, bytes, sizeof bytes, files, PARTS));
  CHECK(last_detail()->item == 1 && files[0] == 0 && bytes[0] == 0);
  leave_files(-1);
  CHECK(descriptors_open() == before);
  CHECK_OK(cushim_buffer_export_parts(both, bytes, sizeof bytes, files, PARTS));
  leave_files(0);
  says_so(cushim_buffer_import_parts(space, NULL, bytes, sizeof bytes, files, PARTS, &again));
  says_so(cushim_allocation_import(all.device, NULL, bytes, SIZE, files[0], &one));
  leave_files(-1);
  CHECK(descriptors_open() == before + PARTS);
  CHECK_OK(cushim_buffer_import_parts(space, NULL, bytes, sizeof bytes, files, PARTS, &again));
  for (i = 0; i < PARTS; i++) CHECK(close(files[i]) == 0);
  CHECK_OK(cushim_buffer_destroy(again));
  CHECK(descriptors_open() == before);
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(both));
  CHECK_OK(cushim_resource_destroy(space));
}

int main(void) {
  check_begin();
  all = open_objects();
  pools();
  parts();
  close_objects(&all);
  return check_done();
}
