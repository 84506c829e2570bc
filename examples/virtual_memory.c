/* A list that grows without being copied, and sleeps while somebody else needs the memory. */
#include <cushim.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", cushim_status_name(status), cushim_last_error_message());
  exit(1);
}

int main(void) {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_resource space;
  cushim_buffer list, grown;
  cushim_endpoint place, target;
  size_t free_before, free_asleep, free_after, total, half;
  uint32_t first = 0, last = 0;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));

  /* Sizes are rounded up to what the device maps at once. */
  check(cushim_resource_create_virtual(device, NULL, &space));
  check(cushim_buffer_create(space, stream, 1, &list));
  half = cushim_buffer_size(list);
  place = cushim_endpoint_buffer(list, 0);
  check(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(1), half / 4));

  /* The new buffer begins with the memory of the old one. */
  check(cushim_buffer_grow(list, 2 * half, NULL, &grown));
  check(cushim_buffer_destroy(list));
  place = cushim_endpoint_buffer(grown, half);
  check(cushim_stream_fill(stream, &place, CUSHIM_VALUE_32(2), half / 4));

  /* Asleep it has its addresses, and no memory. */
  check(cushim_context_get_memory_info(context, &free_before, &total));
  check(cushim_buffer_sleep(grown, stream, CUSHIM_SLEEP_KEEP_CONTENTS));
  check(cushim_context_get_memory_info(context, &free_asleep, &total));
  check(cushim_buffer_wake(grown, stream));
  check(cushim_context_get_memory_info(context, &free_after, &total));

  target = cushim_endpoint_host(&first);
  place = cushim_endpoint_buffer(grown, 0);
  check(cushim_stream_copy(stream, &target, &place, sizeof first));
  target = cushim_endpoint_host(&last);
  place = cushim_endpoint_buffer(grown, 2 * half - sizeof last);
  check(cushim_stream_copy(stream, &target, &place, sizeof last));
  check(cushim_stream_synchronize(stream));
  printf("first %" PRIu32 ", last %" PRIu32 "\n", first, last);
  printf("asleep: %s\n", free_asleep > free_before ? "the memory was given back" : "nothing was given back");
  printf("awake: %s\n", free_after < free_asleep ? "it has memory again" : "it has none");

  check(cushim_buffer_destroy(grown));
  check(cushim_resource_destroy(space));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return 0;
}
