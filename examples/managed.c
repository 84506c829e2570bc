/*
 * Managed memory: moved to the device before work there needs it, and back before the host does. It prints the same with
 * every driver that lets host and device use such memory at the same time; CUSHIM_DRIVER=software needs no GPU.
 */
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4, BYTES = 1 << 20 };

/* Whatever went wrong, the library has a sentence for it. */
static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

/* How many bytes of the block have this value, as the host sees it. */
static int count(uint64_t block, unsigned char value) {
  const unsigned char *bytes = (const unsigned char *)(uintptr_t)block;
  int found = 0;
  for (int i = 0; i < BYTES; i++) found += bytes[i] == value;
  return found;
}

/* What the driver says: where the block was moved to last. */
static const char *whereabouts(cushim_context context, const cushim_range *block) {
  cushim_range_attributes known = {.struct_size = sizeof known};
  check(cushim_context_get_range_attributes(context, block, &known));
  switch (known.last_prefetch_location.kind) {
  case CUSHIM_LOCATION_DEVICE: return "to the device";
  case CUSHIM_LOCATION_HOST: return "to the host";
  default: return "nowhere";
  }
}

int main(void) {
  const cushim_location host = {CUSHIM_LOCATION_HOST, 0}, first = {CUSHIM_LOCATION_DEVICE, 0};
  cushim_range blocks[BLOCKS];
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_resource resource;
  cushim_buffer buffer;
  uint64_t memory;
  int32_t can;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_device_supports(device, "concurrent-managed-access", &can));
  if (!can) {
    printf("this device moves managed memory as it likes\n");
    return 0;
  }
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream)); /* no stream is ever chosen by default */

  check(cushim_resource_create_managed(context, NULL, &resource));
  check(cushim_buffer_create(resource, NULL, BLOCKS * BYTES, &buffer));
  check(cushim_buffer_get_pointer(buffer, &memory));
  for (int i = 0; i < BLOCKS; i++) {
    /* A part of a buffer; memory of any other allocator is CUSHIM_RANGE_POINTER. */
    blocks[i] = cushim_range_buffer(buffer, (size_t)i * BYTES, BYTES);
  }

  /* The last block is a table that everybody reads; the others stay on the device, where the host reaches them. */
  check(cushim_context_advise(context, &blocks[BLOCKS - 1], CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  check(cushim_context_advise_batch(context, blocks, BLOCKS - 1, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, &first, 1));
  check(cushim_context_set_accessed_by(context, &blocks[0], &host, 1));

  /* One call on a driver of CUDA 13, a loop on older ones. */
  check(cushim_stream_prefetch_batch(stream, blocks, BLOCKS, &first, 1, NULL));
  for (int i = 0; i < BLOCKS; i++) {
    cushim_endpoint block = cushim_endpoint_buffer(buffer, (size_t)i * BYTES);
    check(cushim_stream_fill(stream, &block, CUSHIM_VALUE_8(10 + (uint32_t)i), BYTES));
  }
  check(cushim_stream_synchronize(stream));
  printf("block 0 was moved %s\n", whereabouts(context, &blocks[0]));
  check(cushim_stream_prefetch(stream, &blocks[0], &host));
  check(cushim_stream_synchronize(stream));
  printf("block 0 was moved %s\n", whereabouts(context, &blocks[0]));
  for (int i = 0; i < BLOCKS; i++) {
    printf("%d bytes of block %d are %d\n", count(memory + (uint64_t)i * BYTES, (unsigned char)(10 + i)), i, 10 + i);
  }

  /* A mistake is a status with a sentence, not a crash. */
  blocks[1].offset = BLOCKS * BYTES;
  if (cushim_stream_prefetch_batch(stream, blocks, BLOCKS, &host, 1, NULL) == CUSHIM_ERROR_INVALID_ARGUMENT) {
    printf("block 1 past the end: refused, the others stay where they were moved: %s\n", whereabouts(context, &blocks[2]));
  }

  check(cushim_buffer_destroy(buffer));
  check(cushim_resource_destroy(resource));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return 0;
}
