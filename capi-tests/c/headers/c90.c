/* A program in the C of 1990, where there are no compound literals: structs are filled member by member. */
#include <cushim.h>
#include <stdio.h>
#include <string.h>

static cushim_endpoint device_place(uint64_t address) {
  cushim_endpoint place;
  memset(&place, 0, sizeof place);
  place.kind = CUSHIM_ENDPOINT_DEVICE;
  place.address = address;
  return place;
}

static cushim_endpoint host_place(void *address) {
  cushim_endpoint place;
  memset(&place, 0, sizeof place);
  place.kind = CUSHIM_ENDPOINT_HOST;
  place.address = (uint64_t)(uintptr_t)address;
  return place;
}

static int fails(cushim_status status) {
  if (status != CUSHIM_SUCCESS) fprintf(stderr, "%s\n", cushim_last_error_message());
  return status != CUSHIM_SUCCESS;
}

int main(void) {
  cushim_stream_options options;
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_endpoint there, here;
  uint64_t memory;
  unsigned char values[16];
  const uint8_t seven = 7;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  if (fails(cushim_driver_open(NULL, &driver)) || fails(cushim_driver_get_device(driver, 0, &device))) return 1;
  if (fails(cushim_context_retain_primary(device, &context))) return 2;
  if (fails(cushim_stream_create(context, &options, &stream))) return 3;
  if (fails(cushim_context_allocate(context, sizeof values, &memory))) return 4;
  there = device_place(memory);
  here = host_place(values);
  if (fails(cushim_stream_fill(stream, &there, &seven, sizeof seven, sizeof values))) return 5;
  if (fails(cushim_stream_copy(stream, &here, &there, sizeof values))) return 6;
  if (fails(cushim_stream_synchronize(stream)) || values[0] != 7 || values[15] != 7) return 7;
  if (fails(cushim_context_free(context, memory)) || fails(cushim_stream_destroy(stream))) return 8;
  printf("done\n");
  return 0;
}
