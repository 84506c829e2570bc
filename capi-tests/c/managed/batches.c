/* Batches of ranges: prefetch, discard, and both at once. All refuse the same, whatever the driver has for them. */
#include "managed.h"

static struct objects all;
static const cushim_driver_table *cu;
static int version;

/* The three of them, with the same arguments. */
enum operation { PREFETCH, DISCARD, DISCARD_PREFETCH, OPERATIONS };

struct arguments {
  cushim_stream stream;
  const cushim_range *ranges;
  size_t range_count;
  const cushim_location *locations;
  size_t location_count;
  const cushim_batch_options *options;
};

static cushim_status make(enum operation operation, const struct arguments *a) {
  switch (operation) {
  case PREFETCH:
    return cushim_stream_prefetch_batch(a->stream, a->ranges, a->range_count, a->locations, a->location_count, a->options);
  case DISCARD: return cushim_stream_discard_batch(a->stream, a->ranges, a->range_count, a->options);
  default:
    return cushim_stream_discard_prefetch_batch(a->stream, a->ranges, a->range_count, a->locations, a->location_count,
                                                a->options);
  }
}

static cushim_range ranges[4];

/* Two ranges, to the first device. */
static struct arguments good(void) {
  struct arguments arguments = {NULL, ranges, 2, &first, 1, NULL};
  arguments.stream = all.stream;
  return arguments;
}

static int has_location(enum operation operation) { return operation != DISCARD; }

/* All refuse it so, or those with locations do; the item at fault is named. */
static void all_refuse(const struct arguments *arguments, int with_location, int64_t item, const char *why) {
  int operation;
  for (operation = PREFETCH; operation < OPERATIONS; operation++) {
    if (with_location && !has_location((enum operation)operation)) continue;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, make((enum operation)operation, arguments));
    CHECK_CONTAINS(last_message(), why);
    CHECK(last_detail()->item == item && last_detail()->driver_code == 0);
  }
}

static void refusals(void) {
  struct arguments bad = good();
  cushim_range wrong[2];
  cushim_location places[2];
  cushim_batch_options options;
  uint64_t device = 0;
  int operation;
  bad.range_count = 0;
  all_refuse(&bad, 0, -1, "there are no ranges");
  bad = good();
  bad.location_count = 0;
  all_refuse(&bad, 1, -1, "0 locations for 2 ranges");
  bad.range_count = 4;
  bad.locations = places;
  places[0] = host;
  places[1] = location(CUSHIM_LOCATION_DEVICE, 99);
  bad.location_count = 2;
  all_refuse(&bad, 1, -1, "2 locations for 4 ranges");
  bad.range_count = 2;
  all_refuse(&bad, 1, 1, "no device 99");
  bad = good();
  bad.ranges = wrong;
  wrong[0] = wrong[1] = ranges[0];
  wrong[1].kind = 9;
  all_refuse(&bad, 0, 1, "item 1: ");
  CHECK_OK(cushim_context_allocate(all.context, 4096, &device));
  wrong[1] = range(device, 4096);
  all_refuse(&bad, 0, 1, "needs managed memory");
  CHECK_OK(cushim_context_free(all.context, device));

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = 2;
  bad = good();
  bad.options = &options;
  all_refuse(&bad, 0, -1, "flags");
  bad = good();
  bad.stream = NULL;
  for (operation = PREFETCH; operation < OPERATIONS; operation++) {
    CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, make((enum operation)operation, &bad));
  }
}

static void streams(void) {
  struct arguments arguments = good();
  cushim_stream own;
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &arguments.stream));
  all_refuse(&arguments, 0, -1, "legacy default stream");
  arguments.range_count = 1;
  all_refuse(&arguments, 0, -1, "legacy default stream");
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &own));
  arguments = good();
  arguments.stream = own;
  CHECK_OK(make(PREFETCH, &arguments));
  CHECK_OK(cushim_stream_synchronize(own));

  begin_capture(cu, all.stream);
  arguments = good();
  all_refuse(&arguments, 0, -1, "is being captured");
  end_capture(cu, all.stream);
}

static cushim_location prefetched(cushim_range part) {
  cushim_range_attributes attributes;
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_context_get_range_attributes(all.context, &part, &attributes));
  return attributes.last_prefetch_location;
}

static void prefetch(void) {
  const cushim_location each[2] = {{CUSHIM_LOCATION_HOST, 0}, {CUSHIM_LOCATION_DEVICE, 0}};
  struct arguments arguments = good();
  memset(bytes_at(ranges[0].address), 0x61, WHOLE);
  CHECK_OK(make(PREFETCH, &arguments));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(prefetched(ranges[0]), first) && is_at(prefetched(ranges[1]), first));
  arguments.locations = each;
  arguments.location_count = 2;
  CHECK_OK(make(PREFETCH, &arguments));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(prefetched(ranges[0]), host) && is_at(prefetched(ranges[1]), first));
  arguments.range_count = arguments.location_count = 1;
  CHECK_OK(make(PREFETCH, &arguments));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(bytes_at(ranges[0].address)[WHOLE - 1] == 0x61);
}

/* More than the driver is given at a time. */
static void many(void) {
  enum { MANY = 5000 };
  static cushim_range parts[MANY];
  struct arguments arguments = good();
  int i;
  for (i = 0; i < MANY; i++) parts[i] = range(ranges[0].address + (uint64_t)i * 512, 512);
  arguments.ranges = parts;
  arguments.range_count = MANY;
  CHECK_OK(make(PREFETCH, &arguments));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(prefetched(parts[MANY - 1]), first));
}

/* A loop stands in for a batch of prefetches unless that is refused. */
static void refused_loop(void) {
  struct arguments arguments = good();
  cushim_batch_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = CUSHIM_BATCH_REFUSE_LOOP;
  arguments.options = &options;
  if (version >= 13000) {
    CHECK_OK(make(PREFETCH, &arguments));
  } else {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, make(PREFETCH, &arguments));
    CHECK_CONTAINS(last_message(), "13.0");
    CHECK(last_detail()->abi == 13000 && strcmp(last_detail()->driver_function, "cuMemPrefetchBatchAsync") == 0);
  }
}

static void discard(void) {
  struct arguments arguments = good();
  CHECK_OK(make(DISCARD, &arguments));
  CHECK_OK(make(DISCARD_PREFETCH, &arguments));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(prefetched(ranges[0]), first) && is_at(prefetched(ranges[1]), first));
  CHECK_OK(cushim_stream_discard(all.stream, &ranges[0]));
  CHECK_OK(cushim_stream_discard_prefetch(all.stream, &ranges[0], &host));
  /* What is written afterwards is there. */
  CHECK_OK(fill_bytes(all.stream, ranges[0].address, 0x71, HALF));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(bytes_at(ranges[0].address)[0] == 0x71 && bytes_at(ranges[0].address)[HALF - 1] == 0x71);
}

/* Nothing stands in for a discard: what the memory holds would have to be kept. */
static void no_discard(void) {
  struct arguments arguments = good();
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, make(DISCARD, &arguments));
  CHECK_CONTAINS(last_message(), "13.0");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, make(DISCARD_PREFETCH, &arguments));
  CHECK_CONTAINS(last_message(), "cuMemDiscardAndPrefetchBatchAsync");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_discard(all.stream, &ranges[0]));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_discard_prefetch(all.stream, &ranges[0], &host));
}

static void on_none(void) {
  const struct arguments arguments = good();
  int operation;
  for (operation = PREFETCH; operation < OPERATIONS; operation++) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, make((enum operation)operation, &arguments));
    CHECK_CONTAINS(last_message(), "none is open");
  }
}

/* Refused whatever else the driver has. */
static void without_concurrent_access(void) {
  const struct arguments arguments = good();
  int operation;
  for (operation = PREFETCH; operation < OPERATIONS; operation++) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, make((enum operation)operation, &arguments));
    CHECK_CONTAINS(last_message(), "concurrent-managed-access");
  }
}

int main(void) {
  int32_t concurrent = 0;
  uint64_t pointer;
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_context_push(all.context));
  CHECK_OK(cushim_device_supports(all.device, "concurrent-managed-access", &concurrent));
  if (concurrent) {
    pointer = managed(cu, WHOLE);
    ranges[0] = range(pointer, HALF);
    ranges[1] = range(pointer + HALF, HALF);
    ranges[2] = ranges[3] = ranges[0];
    refusals();
    prefetch();
    many();
    refused_loop();
    if (version >= 13000) discard();
    else no_discard();
    streams();
    CHECK_OK(cushim_context_free(all.context, pointer));
  } else if (version == 0) {
    ranges[0] = ranges[1] = range(4096, 4096);
    on_none();
  } else {
    pointer = managed(cu, WHOLE);
    ranges[0] = ranges[1] = range(pointer, HALF);
    without_concurrent_access();
    CHECK_OK(cushim_context_free(all.context, pointer));
  }
  close_objects(&all);
  return check_done();
}
