/* Virtual memory that cannot sleep or wake, because the host or the device has no memory left. softcuda's device has 1 GiB. */
#include "graphs.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MIB = 1 << 20, BLOCK = 128 * MIB, BLOCKS = 16 };

static int is_asleep(cushim_buffer buffer) {
  int32_t asleep = 7;
  CHECK_OK(cushim_buffer_get_asleep(buffer, &asleep));
  return asleep;
}

/* Bytes of address space that the process uses. */
static rlim_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* The contents do not fit: the buffer keeps its memory. */
static void no_room_on_the_host(cushim_buffer buffer) {
  struct rlimit before, limit;
  cushim_status status;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  limit = before;
  limit.rlim_cur = address_space() + BLOCK / 2;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  status = cushim_buffer_sleep(buffer, all.stream, CUSHIM_SLEEP_KEEP_CONTENTS);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, status);
  CHECK_CONTAINS(last_message(), "134217728 bytes");
  CHECK(is_asleep(buffer) == 0);
}

/* Others took the memory meanwhile: the buffer sleeps on, and wakes when they have freed it. */
static void no_room_on_the_device(cushim_buffer buffer) {
  uint64_t taken[BLOCKS];
  int count = 0;
  CHECK_OK(cushim_buffer_sleep(buffer, all.stream, 0));
  while (count < BLOCKS && cushim_context_allocate(all.context, BLOCK, &taken[count]) == CUSHIM_SUCCESS) count++;
  CHECK(count > 0 && count < BLOCKS);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_wake(buffer, all.stream));
  CHECK(is_asleep(buffer) == 1);
  while (count > 0) CHECK_OK(cushim_context_free(all.context, taken[--count]));
  CHECK_OK(cushim_buffer_wake(buffer, all.stream));
  CHECK(is_asleep(buffer) == 0);
}

int main(void) {
  cushim_resource resource;
  cushim_buffer buffer;
  check_begin();
  if (!open_graphs()) return close_graphs();
  CHECK_OK(cushim_resource_create_virtual(all.device, NULL, &resource));
  CHECK_OK(cushim_buffer_create(resource, all.stream, BLOCK, &buffer));
  no_room_on_the_host(buffer);
  no_room_on_the_device(buffer);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  return close_graphs();
}
