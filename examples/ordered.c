/*
 * Fills device memory in one stream, and copies it to the host in another as soon as it is full. It prints the same with
 * every driver; CUSHIM_DRIVER=software needs no GPU.
 */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 20, BYTES = COUNT * 4, VALUE = 42 };

/* Whatever went wrong, the library has a sentence for it. */
static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

static cushim_stream new_stream(cushim_context context, const char *label) {
  cushim_stream stream;
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_set_label(stream, label)); /* messages say it */
  return stream;
}

static cushim_event new_event(cushim_context context) {
  cushim_event_options options = {.struct_size = sizeof options, .flags = CUSHIM_EVENT_TIMING};
  cushim_event event;
  check(cushim_event_create(context, &options, &event));
  return event;
}

/* The values that are as they should be. */
static int right(const uint32_t *values) {
  int count = 0;
  for (int i = 0; i < COUNT; i++) count += values[i] == VALUE;
  return count;
}

int main(void) {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  uint64_t memory;
  void *host;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_context_allocate(context, BYTES, &memory));
  check(cushim_context_allocate_host(context, BYTES, 0, &host));

  cushim_stream filling = new_stream(context, "filling"), copying = new_stream(context, "copying");
  cushim_event begun = new_event(context), filled = new_event(context), copied = new_event(context);
  cushim_endpoint on_device = cushim_endpoint_device(memory), on_host = cushim_endpoint_host(host);

  /* Nothing here waits; the second stream does, for the first. */
  check(cushim_event_record(begun, filling));
  check(cushim_stream_fill(filling, &on_device, CUSHIM_VALUE_32(VALUE), COUNT));
  check(cushim_event_record(filled, filling));
  check(cushim_stream_wait_event(copying, filled));
  check(cushim_stream_copy(copying, &on_host, &on_device, BYTES));
  check(cushim_event_record(copied, copying));

  check(cushim_event_synchronize(copied));
  printf("%d of %d values are %d\n", right(host), COUNT, VALUE);

  float filling_took, copying_took; /* milliseconds */
  check(cushim_event_elapsed(begun, filled, &filling_took));
  check(cushim_event_elapsed(filled, copied, &copying_took));
  printf("filled, then copied: %s\n", filling_took >= 0 && copying_took >= 0 ? "yes" : "no");

  /* In any order; what is still needed stays. */
  check(cushim_context_free_host(context, host));
  check(cushim_context_free(context, memory));
  check(cushim_context_destroy(context));
  check(cushim_stream_destroy(filling));
  check(cushim_stream_destroy(copying));
  check(cushim_event_destroy(begun));
  check(cushim_event_destroy(filled));
  check(cushim_event_destroy(copied));
  check(cushim_driver_destroy(driver));

  /* A mistake is a status with a sentence, not a crash. */
  if (cushim_stream_synchronize(filling) != CUSHIM_SUCCESS) printf("%s\n", cushim_last_error_message());
  return 0;
}
