/*
 * A driver that refuses something in the middle of many. The driver has to fail: in a loop the second prefetch and the second
 * copy, in a call for many the first of its prefetches and the second of its copies.
 */
#include "busy.h"
#include "managed.h"

static struct objects all;
static const cushim_driver_table *cu;
static int version;

enum { PART = 64 << 10, PARTS = 3, MANY = 5000 };

static int is_there(cushim_range part) {
  cushim_range_attributes attributes;
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_context_get_range_attributes(all.context, &part, &attributes));
  return is_at(attributes.last_prefetch_location, first);
}

/* In a loop it is known which one it was, and what came before is enqueued; of a call for many neither is. */
static void prefetches(void) {
  const uint64_t pointer = managed(cu, PARTS * PART);
  cushim_range parts[PARTS];
  int i;
  for (i = 0; i < PARTS; i++) parts[i] = range(pointer + (uint64_t)i * PART, PART);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_prefetch_batch(all.stream, parts, PARTS, &first, 1, NULL));
  if (version < 13000) {
    CHECK(last_detail()->item == 1);
    CHECK_CONTAINS(last_message(), "This was item 1 of 3; those before it are enqueued");
  } else {
    CHECK(last_detail()->item == -1);
    CHECK_CONTAINS(last_message(), "Which of items 0 to 2 that was, and what of them is enqueued, the driver does not say");
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_there(parts[0]) == (version < 13000) && !is_there(parts[1]) && !is_there(parts[2]));
  /* The next one is not refused. */
  CHECK_OK(cushim_stream_prefetch_batch(all.stream, parts, PARTS, &first, 1, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_there(parts[0]) && is_there(parts[1]) && is_there(parts[2]));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemFree_3020(pointer));
}

static cushim_copy copy(uint64_t to, void *from) {
  cushim_copy copy;
  copy.destination = cushim_endpoint_device(to);
  copy.source = cushim_endpoint_host(from);
  copy.bytes = 64;
  return copy;
}

static unsigned first_byte(uint64_t pointer) {
  unsigned char byte = 0;
  cushim_endpoint to = cushim_endpoint_host(&byte), from = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_stream_copy(all.stream, &to, &from, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  return byte;
}

static void copies(void) {
  static cushim_copy many[MANY];
  uint64_t there = 0;
  void *memory = NULL;
  struct busy busy;
  int i;
  CHECK_OK(cushim_context_allocate(all.context, 64, &there));
  CHECK_OK(cushim_context_allocate_host(all.context, 65, 0, &memory));
  memset(memory, 0x55, 65);
  for (i = 0; i < MANY; i++) {
    many[i] = copy(there, memory);
    many[i].source.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  }
  busy_begin(&busy, all.driver, all.stream);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_stream_copy_batch(all.stream, many, MANY, NULL, 0, NULL));
  if (version < 12080) {
    CHECK(last_detail()->item == 1);
    CHECK_CONTAINS(last_message(), "This was item 1 of 5000; those before it are enqueued");
  } else {
    CHECK(last_detail()->item == -1);
    CHECK_CONTAINS(last_message(), "items 4096 to 4999");
    CHECK_CONTAINS(last_message(), "those before item 4096 are enqueued");
  }
  /* What is enqueued has its bytes still. */
  memset(memory, 0x66, 65);
  busy_end(&busy);
  CHECK(first_byte(there) == 0x55);
  CHECK_OK(cushim_stream_copy_batch(all.stream, many, PARTS, NULL, 0, NULL));
  CHECK(first_byte(there) == 0x66);
  /* What is wrong with an item has the status that a single copy has for it; only the first form of the driver's call can number it. */
  many[1].bytes = 65;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy(all.stream, &many[1].destination, &many[1].source, many[1].bytes));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_batch(all.stream, many, PARTS, NULL, 0, NULL));
  CHECK(last_detail()->item == (version < 13000 ? 1 : -1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_context_free(all.context, there));
  CHECK_OK(cushim_context_free_host(all.context, memory));
}

int main(void) {
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_context_push(all.context));
  prefetches();
  copies();
  close_objects(&all);
  return check_done();
}
