/* A stream reads what another one has filled. With ORDERED it waits for that before. */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 4096 };

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

int main(void) {
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream filling, reading;
  uint64_t frame, shown;
  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &filling));
  check(cushim_stream_create(context, NULL, &reading));
  check(cushim_context_allocate(context, BYTES, &frame));
  check(cushim_context_allocate(context, BYTES, &shown));
  {
    const cushim_endpoint source = cushim_endpoint_device(frame), target = cushim_endpoint_device(shown);
    const uint8_t white = 255;
    check(cushim_stream_fill(filling, &source, &white, sizeof white, BYTES));
#ifdef ORDERED
    check(cushim_stream_wait_stream(reading, filling));
#endif
    check(cushim_stream_copy(reading, &target, &source, BYTES));
  }
  check(cushim_context_synchronize(context));
  return 0;
}
