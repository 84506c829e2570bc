/* Copies with attributes, one and many. */
#include "busy.h"
#include "managed.h"

static struct objects all;
static const cushim_driver_table *cu;
static int version;

enum { COUNT = 8, BYTES = 4096 };

/* Page-locked, and in device memory. */
static unsigned char *source, *result;
static uint64_t there;

/* The nth block goes to the device, or comes back. */
static cushim_copy to_device(int n) {
  cushim_copy copy;
  copy.destination = cushim_endpoint_device(there + (uint64_t)n * BYTES);
  copy.source = cushim_endpoint_host(source + n * BYTES);
  copy.bytes = BYTES;
  return copy;
}

static cushim_copy from_device(int n) {
  cushim_copy copy;
  copy.destination = cushim_endpoint_host(result + n * BYTES);
  copy.source = cushim_endpoint_auto(there + (uint64_t)n * BYTES);
  copy.bytes = BYTES;
  return copy;
}

static cushim_copy_attributes attributes(int32_t access) {
  cushim_copy_attributes attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.source_access = access;
  return attributes;
}

static void fill_source(unsigned seed) {
  int i;
  for (i = 0; i < COUNT * BYTES; i++) source[i] = (unsigned char)(seed + (unsigned)i * 7 + (unsigned)i / 251);
  memset(result, 0, COUNT * BYTES);
}

/* All blocks go to the device with these attributes, and come back. */
static void around(const cushim_copy_attributes *how, size_t how_many, int count) {
  cushim_copy copies[COUNT];
  int i;
  fill_source((unsigned)count * 3 + (unsigned)how_many);
  for (i = 0; i < count; i++) copies[i] = to_device(i);
  CHECK_OK(cushim_stream_copy_batch(all.stream, copies, (size_t)count, how, how_many, NULL));
  for (i = 0; i < count; i++) copies[i] = from_device(i);
  CHECK_OK(cushim_stream_copy_batch(all.stream, copies, (size_t)count, NULL, 0, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(memcmp(source, result, (size_t)count * BYTES) == 0);
}

static void copies(void) {
  cushim_copy_attributes each[COUNT];
  int i;
  for (i = 0; i < COUNT; i++) each[i] = attributes(i % 3 == 0 ? CUSHIM_SOURCE_ANY_TIME : CUSHIM_SOURCE_IN_STREAM_ORDER);
  each[1].flags = CUSHIM_COPY_OVERLAP_WITH_COMPUTE;
  each[2].source_hint = host;
  each[2].destination_hint = first;
  around(NULL, 0, COUNT);
  around(each, 1, COUNT);
  around(each, COUNT, COUNT);
  around(each, 1, 1);
}

static void one_copy(void) {
  cushim_copy_attributes how = attributes(0);
  cushim_copy there_and = to_device(0), back = from_device(0);
  how.destination_hint = first;
  fill_source(11);
  CHECK_OK(cushim_stream_copy_with_attributes(all.stream, &there_and.destination, &there_and.source, BYTES, &how));
  CHECK_OK(cushim_stream_copy_with_attributes(all.stream, &back.destination, &back.source, BYTES, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(memcmp(source, result, BYTES) == 0);
}

/* The source is read before the call returns, or the call is refused. */
static void during_the_call(void) {
  const cushim_copy_attributes how = attributes(CUSHIM_SOURCE_DURING_CALL);
  unsigned char brief[2][64];
  cushim_copy copies[2];
  int i;
  for (i = 0; i < 2; i++) {
    memset(brief[i], 0x31 + i, sizeof brief[i]);
    copies[i] = to_device(i);
    copies[i].source = cushim_endpoint_host(brief[i]);
    copies[i].bytes = sizeof brief[i];
  }
  if (version < 12080) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_copy_batch(all.stream, copies, 2, &how, 1, NULL));
    CHECK_CONTAINS(last_message(), "12.8");
    CHECK_CONTAINS(last_message(), "can read a source during the call");
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED,
                 cushim_stream_copy_with_attributes(all.stream, &copies[0].destination, &copies[0].source, 64, &how));
    return;
  }
  {
    struct busy busy;
    busy_begin(&busy, all.driver, all.stream);
    CHECK_OK(cushim_stream_copy_batch(all.stream, copies, 2, &how, 1, NULL));
    memset(brief, 0, sizeof brief);
    busy_end(&busy);
  }
  for (i = 0; i < 2; i++) copies[i] = from_device(i);
  CHECK_OK(cushim_stream_copy_batch(all.stream, copies, 2, NULL, 0, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(result[0] == 0x31 && result[63] == 0x31 && result[BYTES] == 0x32 && result[BYTES + 63] == 0x32);
}

static void refused(const cushim_copy *copies, size_t count, const cushim_copy_attributes *how, size_t how_many,
                    int64_t item, const char *why) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_batch(all.stream, copies, count, how, how_many, NULL));
  CHECK_CONTAINS(last_message(), why);
  CHECK(last_detail()->item == item && last_detail()->driver_code == 0);
}

static void refusals(void) {
  cushim_copy two[2];
  cushim_copy_attributes how[3];
  cushim_batch_options options;
  cushim_status status;
  int i;
  for (i = 0; i < 3; i++) how[i] = attributes(0);
  two[0] = to_device(0);
  two[1] = to_device(1);
  refused(two, 0, NULL, 0, -1, "there are no copies");
  refused(two, 2, how, 3, -1, "3 attributes for 2 copies");
  two[1].bytes = 0;
  refused(two, 2, NULL, 0, 1, "the copy has zero bytes");
  two[1] = to_device(1);
  two[1].source.address = 0;
  refused(two, 2, NULL, 0, 1, "the source is NULL");
  two[1] = to_device(1);
  two[1].destination.kind = CUSHIM_ENDPOINT_ARRAY;
  refused(two, 2, NULL, 0, 1, "is an array");
  two[1] = to_device(1);
  two[1].destination.kind = (cushim_endpoint_kind)77;
  refused(two, 2, NULL, 0, 1, "kind is 77");
  two[1] = to_device(1);
  how[1].source_access = 9;
  refused(two, 2, how, 2, 1, "source_access is 9");
  how[1] = attributes(0);
  how[1].flags = 4;
  refused(two, 2, how, 2, 1, "flags");
  how[1] = attributes(0);
  how[1].source_hint = location(CUSHIM_LOCATION_DEVICE, 99);
  refused(two, 2, how, 2, 1, "no device 99");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_stream_copy_with_attributes(all.stream, &two[0].destination, &two[0].source, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_copy_batch(NULL, two, 2, NULL, 0, NULL));

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = CUSHIM_BATCH_REFUSE_LOOP;
  status = cushim_stream_copy_batch(all.stream, two, 2, NULL, 0, &options);
  CHECK(status == (version < 12080 ? CUSHIM_ERROR_UNSUPPORTED : CUSHIM_SUCCESS));
  if (status != CUSHIM_SUCCESS) CHECK_CONTAINS(last_message(), "12.8");
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static void streams(void) {
  cushim_copy two[2];
  cushim_stream other;
  two[0] = to_device(0);
  two[1] = to_device(1);
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &other));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_batch(other, two, 2, NULL, 0, NULL));
  CHECK_CONTAINS(last_message(), "legacy default stream");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_stream_copy_with_attributes(other, &two[0].destination, &two[0].source, BYTES, NULL));
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &other));
  CHECK_OK(cushim_stream_copy_batch(other, two, 2, NULL, 0, NULL));
  CHECK_OK(cushim_stream_copy_with_attributes(other, &two[0].destination, &two[0].source, BYTES, NULL));
  CHECK_OK(cushim_stream_synchronize(other));

  begin_capture(cu, all.stream);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_copy_batch(all.stream, two, 2, NULL, 0, NULL));
  CHECK_CONTAINS(last_message(), "is being captured");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_stream_copy_with_attributes(all.stream, &two[0].destination, &two[0].source, BYTES, NULL));
  end_capture(cu, all.stream);
}

/* More than the driver is given at a time. */
static void many(void) {
  enum { MANY = 5000 };
  static cushim_copy copies[MANY];
  int i;
  fill_source(5);
  for (i = 0; i < MANY; i++) {
    const uint64_t offset = (uint64_t)(i % 512) * 64;
    copies[i].destination = cushim_endpoint_device(there + offset);
    copies[i].source = cushim_endpoint_host(source + offset);
    copies[i].bytes = 64;
  }
  CHECK_OK(cushim_stream_copy_batch(all.stream, copies, MANY, NULL, 0, NULL));
  for (i = 0; i < COUNT; i++) copies[i] = from_device(i);
  CHECK_OK(cushim_stream_copy_batch(all.stream, copies, COUNT, NULL, 0, NULL));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(memcmp(source, result, 512 * 64) == 0);
}

static void on_none(void) {
  cushim_copy copy;
  static unsigned char bytes[64];
  copy.destination = copy.source = cushim_endpoint_host(bytes);
  copy.bytes = 64;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_copy_batch(all.stream, &copy, 1, NULL, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_copy_with_attributes(all.stream, &copy.destination, &copy.source, 64, NULL));
}

int main(void) {
  void *pinned[2] = {NULL, NULL};
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  if (version == 0) {
    on_none();
  } else {
    CHECK_OK(cushim_context_allocate_host(all.context, COUNT * BYTES, 0, &pinned[0]));
    CHECK_OK(cushim_context_allocate_host(all.context, COUNT * BYTES, 0, &pinned[1]));
    CHECK_OK(cushim_context_allocate(all.context, COUNT * BYTES, &there));
    source = (unsigned char *)pinned[0];
    result = (unsigned char *)pinned[1];
    if (source == NULL || result == NULL || there == 0) return check_done();
    copies();
    one_copy();
    refusals();
    many();
    streams();
    during_the_call();
    CHECK_OK(cushim_context_free(all.context, there));
    CHECK_OK(cushim_context_free_host(all.context, source));
    CHECK_OK(cushim_context_free_host(all.context, result));
  }
  close_objects(&all);
  return check_done();
}
