/* Managed memory: advice, prefetch, what the driver says of a range, and the set of those that access it. */
#include "managed.h"

static struct objects all;
static const cushim_driver_table *cu;
static int version;

static void advise(cushim_range part, int32_t advice, cushim_location at) {
  CHECK_OK(cushim_context_advise(all.context, &part, advice, &at));
}

static cushim_range_attributes attributes_of(cushim_range part) {
  cushim_range_attributes attributes;
  memset(&attributes, 0xee, sizeof attributes);
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_context_get_range_attributes(all.context, &part, &attributes));
  CHECK(attributes.struct_size == sizeof attributes && attributes.reserved == 0);
  return attributes;
}

/* The driver's own words for what a range prefers, whatever the library says. */
static int preferred_ordinal(cushim_range part) {
  int ordinal = -3;
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemRangeGetAttribute_8000(&ordinal, sizeof ordinal, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                                                             part.address, part.bytes));
  return ordinal;
}

static void advice(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  cushim_range_attributes found = attributes_of(whole);
  CHECK(found.read_mostly == 0 && is_at(found.preferred_location, nowhere) && is_at(found.last_prefetch_location, nowhere));
  CHECK_OK(cushim_context_advise(all.context, &whole, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  CHECK(attributes_of(whole).read_mostly == 1);
  /* A location is not looked at where none is meant. */
  advise(whole, CU_MEM_ADVISE_UNSET_READ_MOSTLY, location(99, 99));
  CHECK(attributes_of(whole).read_mostly == 0);
  advise(whole, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, first);
  CHECK(is_at(attributes_of(whole).preferred_location, first) && preferred_ordinal(whole) == 0);
  advise(whole, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
  CHECK(is_at(attributes_of(whole).preferred_location, host) && preferred_ordinal(whole) == -1);
  CHECK_OK(cushim_context_advise(all.context, &whole, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, NULL));
  CHECK(is_at(attributes_of(whole).preferred_location, nowhere));
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

/* What holds for a part does not hold for the whole. */
static void parts(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  cushim_range half = whole;
  half.offset = HALF;
  half.bytes = HALF;
  advise(half, CU_MEM_ADVISE_SET_READ_MOSTLY, host);
  advise(half, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, first);
  CHECK(attributes_of(half).read_mostly == 1 && is_at(attributes_of(half).preferred_location, first));
  CHECK(attributes_of(whole).read_mostly == 0 && is_at(attributes_of(whole).preferred_location, nowhere));
  half.offset = 0;
  CHECK(attributes_of(half).read_mostly == 0);
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

static void several_ranges(void) {
  const uint64_t pointer = managed(cu, WHOLE);
  const cushim_location each[2] = {{CUSHIM_LOCATION_DEVICE, 0}, {CUSHIM_LOCATION_HOST, 0}};
  cushim_range halves[2];
  halves[0] = range(pointer, HALF);
  halves[1] = range(pointer + HALF, HALF);
  CHECK_OK(cushim_context_advise_batch(all.context, halves, 2, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL, 0));
  CHECK(attributes_of(range(pointer, WHOLE)).read_mostly == 1);
  CHECK_OK(cushim_context_advise_batch(all.context, halves, 2, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, each, 2));
  CHECK(is_at(attributes_of(halves[0]).preferred_location, first));
  CHECK(is_at(attributes_of(halves[1]).preferred_location, host));
  CHECK_OK(cushim_context_advise_batch(all.context, halves, 2, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, each, 1));
  CHECK(is_at(attributes_of(range(pointer, WHOLE)).preferred_location, first));

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_context_advise_batch(all.context, halves, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_context_advise_batch(all.context, halves, 1, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, each, 2));
  CHECK_CONTAINS(last_message(), "for 1 ranges");
  /* The second is no range; the first does not get the advice either. */
  halves[1].bytes = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_context_advise_batch(all.context, halves, 2, CU_MEM_ADVISE_UNSET_READ_MOSTLY, NULL, 0));
  CHECK(last_detail()->item == 1);
  CHECK(attributes_of(halves[0]).read_mostly == 1);
  CHECK_OK(cushim_context_free(all.context, pointer));
}

static void prefetches(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  cushim_range part = whole;
  cushim_stream legacy;
  memset(bytes_at(whole.address), 0x51, WHOLE);
  CHECK_OK(cushim_stream_prefetch(all.stream, &whole, &first));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(attributes_of(whole).last_prefetch_location, first));
  CHECK(bytes_at(whole.address)[WHOLE - 1] == 0x51);
  CHECK_OK(cushim_stream_prefetch(all.stream, &whole, &host));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(attributes_of(whole).last_prefetch_location, host));
  /* A part that begins in the middle of a page. */
  part.offset = 100;
  part.bytes = 1000;
  CHECK_OK(cushim_stream_prefetch(all.stream, &part, &first));
  /* For one range any stream will do. */
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_stream_prefetch(legacy, &whole, &first));
  CHECK_OK(cushim_stream_synchronize(legacy));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

/* Nodes of the host are known since driver 12.2; on older ones the sentence says that. */
static void nodes(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  cushim_location found;
  if (version < 12020) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_prefetch(all.stream, &whole, &node));
    CHECK_CONTAINS(last_message(), "12.2");
    CHECK_CONTAINS(last_message(), "NUMA node 0");
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_prefetch(all.stream, &whole, &current_node));
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED,
                 cushim_context_advise(all.context, &whole, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, &node));
    CHECK(last_detail()->abi == 12020);
    CHECK(is_at(attributes_of(whole).preferred_location, nowhere));
  } else {
    CHECK_OK(cushim_stream_prefetch(all.stream, &whole, &node));
    CHECK_OK(cushim_stream_synchronize(all.stream));
    CHECK(is_at(attributes_of(whole).last_prefetch_location, node));
    CHECK_OK(cushim_stream_prefetch(all.stream, &whole, &current_node));
    CHECK_OK(cushim_stream_synchronize(all.stream));
    CHECK(is_at(attributes_of(whole).last_prefetch_location, current_node));
    /* Driver 13.0 accepts a node as a preference and, where there is only one, keeps what there was. */
    advise(whole, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
    advise(whole, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node);
    found = attributes_of(whole).preferred_location;
    CHECK(is_at(found, host) || is_at(found, node));
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_advise(all.context, &whole, CU_MEM_ADVISE_SET_ACCESSED_BY, &node));
  CHECK_CONTAINS(last_message(), "not by NUMA node 0");
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

/* How many access the range; the first two of them come out, too. */
static size_t accessors(cushim_range part, cushim_location *found) {
  size_t count = 99;
  memset(found, 0xee, 2 * sizeof *found);
  CHECK_OK(cushim_context_get_accessed_by(all.context, &part, found, 2, &count));
  return count;
}

static void accessed_by(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  const cushim_location both[3] = {{CUSHIM_LOCATION_HOST, 0}, {CUSHIM_LOCATION_DEVICE, 0}, {CUSHIM_LOCATION_HOST, 0}};
  cushim_location found[2], bad[2];
  size_t count = 99;
  CHECK(accessors(whole, found) == 0 && is_at(found[0], nowhere) && is_at(found[1], nowhere));
  CHECK_OK(cushim_context_add_accessed_by(all.context, &whole, both, 3));
  CHECK(accessors(whole, found) == 2 && is_at(found[0], first) && is_at(found[1], host));
  CHECK_OK(cushim_context_get_accessed_by(all.context, &whole, found, 1, &count));
  CHECK(count == 2 && is_at(found[0], first));
  CHECK_OK(cushim_context_get_accessed_by(all.context, &whole, NULL, 0, &count));
  CHECK(count == 2);
  CHECK_OK(cushim_context_remove_accessed_by(all.context, &whole, &host, 1));
  CHECK(accessors(whole, found) == 1 && is_at(found[0], first) && is_at(found[1], nowhere));
  CHECK_OK(cushim_context_set_accessed_by(all.context, &whole, &host, 1));
  CHECK(accessors(whole, found) == 1 && is_at(found[0], host));
  advise(whole, CU_MEM_ADVISE_SET_ACCESSED_BY, first);
  CHECK(accessors(whole, found) == 2);
  advise(whole, CU_MEM_ADVISE_UNSET_ACCESSED_BY, first);
  /* All are checked before anything changes. */
  bad[0] = first;
  bad[1] = node;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_add_accessed_by(all.context, &whole, bad, 2));
  CHECK(last_detail()->item == 1);
  bad[1] = location(CUSHIM_LOCATION_DEVICE, 99);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_set_accessed_by(all.context, &whole, bad, 2));
  CHECK_CONTAINS(last_message(), "no device 99");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_remove_accessed_by(all.context, &whole, bad, 2));
  CHECK(accessors(whole, found) == 1 && is_at(found[0], host));
  CHECK_OK(cushim_context_set_accessed_by(all.context, &whole, NULL, 0));
  CHECK(accessors(whole, found) == 0);
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

/* The range is refused by all that takes one. */
static void refused_range(cushim_range bad, const char *why) {
  cushim_range_attributes attributes;
  cushim_location found[2];
  size_t count = 99;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_advise(all.context, &bad, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  CHECK_CONTAINS(last_message(), why);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_prefetch(all.stream, &bad, &host));
  CHECK_CONTAINS(last_message(), why);
  attributes.struct_size = sizeof attributes;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_get_range_attributes(all.context, &bad, &attributes));
  CHECK_CONTAINS(last_message(), why);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_get_accessed_by(all.context, &bad, found, 2, &count));
  CHECK(count == 0 && is_at(found[0], nowhere));
}

static void refused_location(cushim_range good, cushim_location bad, const char *why) {
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_prefetch(all.stream, &good, &bad));
  CHECK_CONTAINS(last_message(), why);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_context_advise(all.context, &good, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, &bad));
  CHECK_CONTAINS(last_message(), why);
}

static void refusals(void) {
  const cushim_range good = range(managed(cu, WHOLE), WHOLE);
  cushim_range bad = good;
  uint64_t device = 0;
  int32_t pageable = 0;
  bad.bytes = 0;
  refused_range(bad, "no bytes");
  bad = good;
  bad.kind = 0;
  refused_range(bad, "CUSHIM_RANGE_POINTER");
  bad = good;
  bad.reserved = 1;
  refused_range(bad, "reserved");
  bad = good;
  bad.offset = UINT64_MAX;
  refused_range(bad, "past the end of all addresses");
  bad = range(0, 64);
  bad.offset = good.address;
  refused_range(bad, "NULL");
  bad = good;
  bad.bytes = (size_t)1 << 40;
  refused_range(bad, "ends in memory that is not");
  CHECK_OK(cushim_context_allocate(all.context, 4096, &device));
  refused_range(range(device, 4096), "needs managed memory");
  CHECK_OK(cushim_context_free(all.context, device));
  CHECK_OK(cushim_device_supports(all.device, "pageable-memory-access", &pageable));
  if (!pageable) refused_range(range((uint64_t)(uintptr_t)&bad, sizeof bad), "pageable-memory-access");

  refused_location(good, nowhere, "no location is named");
  refused_location(good, location(CUSHIM_LOCATION_DEVICE, 99), "no device 99");
  refused_location(good, location(CUSHIM_LOCATION_DEVICE, -1), "no device -1");
  refused_location(good, location(CUSHIM_LOCATION_HOST, -1), "make it 0");
  refused_location(good, location(CUSHIM_LOCATION_HOST_NUMA, -1), "no NUMA node -1");
  refused_location(good, location(CUSHIM_LOCATION_HOST_NUMA_CURRENT, 1), "make it 0");
  refused_location(good, location(7, 0), "no kind 7");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_advise(all.context, &good, 7, &host));
  CHECK_CONTAINS(last_message(), "no advice 7");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_context_advise(all.context, &good, CU_MEM_ADVISE_SET_ACCESSED_BY, NULL));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_stream_prefetch(NULL, &good, &host));
  CHECK_OK(cushim_context_free(all.context, good.address));
}

/* Refused before the driver sees it, so the capture goes on. */
static void capturing(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  begin_capture(cu, all.stream);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_stream_prefetch(all.stream, &whole, &host));
  CHECK_CONTAINS(last_message(), "is being captured");
  end_capture(cu, all.stream);
  CHECK_OK(cushim_stream_prefetch(all.stream, &whole, &host));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

/* A variable of a program's code, which no allocator knows. */
static void of_a_variable(void) {
  static const char ptx[] =
      ".version 7.0\n"
      ".target sm_70\n"
      ".address_size 64\n"
      ".visible .global .attribute(.managed) .align 4 .u32 everywhere[2] = {5, 6};\n"
      ".visible .entry nothing() { ret; }\n";
  cushim_library library = NULL;
  cushim_range part;
  uint64_t pointer = 0;
  size_t size = 0;
  CHECK_OK(cushim_library_load(all.context, ptx, sizeof ptx, NULL, &library));
  CHECK_OK(cushim_library_get_managed(library, "everywhere", &pointer, &size));
  part = range(pointer, size);
  advise(part, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, first);
  CHECK(is_at(attributes_of(part).preferred_location, first));
  CHECK_OK(cushim_stream_prefetch(all.stream, &part, &first));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_at(attributes_of(part).last_prefetch_location, first));
  if (CHECK(pointer != 0)) CHECK(((uint32_t *)(uintptr_t)pointer)[1] == 6);
  CHECK_OK(cushim_library_destroy(library));
}

/* Memory of a managed pool moves, and takes no advice on driver 13.0; the sentence says that it is the pool. */
static void of_a_pool(void) {
  CUmemPoolProps properties;
  CUmemoryPool pool = NULL;
  CUdeviceptr pointer = 0;
  CUstream native = NULL;
  cushim_range part;
  cushim_status status;
  memset(&properties, 0, sizeof properties);
  properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (version < 13000 || cu->cuMemPoolCreate_11020(&pool, &properties) != CUDA_SUCCESS) return;
  CHECK_OK(cushim_stream_native(all.stream, &native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemAllocFromPoolAsync_11020(&pointer, 4096, pool, native));
  part = range(pointer, 4096);
  status = cushim_context_advise(all.context, &part, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL);
  CHECK(status == CUDA_SUCCESS || status == CUDA_ERROR_NOT_SUPPORTED);
  if (status != CUDA_SUCCESS) CHECK_CONTAINS(last_message(), "comes from a memory pool");
  CHECK_OK(cushim_stream_prefetch(all.stream, &part, &first));
  CHECK_OK(cushim_stream_free(all.stream, pointer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemPoolDestroy_11020(pool));
}

static int lines_of_the_log;

static void hear(void *user, int32_t level, const char *target, const char *message) {
  (void)user;
  if (level == CUSHIM_LOG_WARN && strcmp(target, "cushim") == 0 && strstr(message, "concurrent managed access") != NULL) {
    lines_of_the_log++;
  }
}

/* Host and device may not use it at the same time: there is nothing to advise or to move, and the sentence says so. The log
   says it once. */
static void without_concurrent_access(void) {
  const cushim_range whole = range(managed(cu, WHOLE), WHOLE);
  int32_t done = 0;
  CHECK_OK(cushim_log_set_callback(hear, NULL, NULL, CUSHIM_LOG_WARN));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_prefetch(all.stream, &whole, &host));
  CHECK_CONTAINS(last_message(), "concurrent-managed-access");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_advise(all.context, &whole, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_add_accessed_by(all.context, &whole, &host, 1));
  CHECK_OK(cushim_flush_callbacks(10000000000ull, &done));
  CHECK(done == 1 && lines_of_the_log == 1);
  CHECK_OK(cushim_log_set_callback(NULL, NULL, NULL, 0));
  CHECK_OK(cushim_context_free(all.context, whole.address));
}

static void on_none(void) {
  const cushim_range part = range(4096, 4096);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_prefetch(all.stream, &part, &host));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_advise(all.context, &part, CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
}

static void with_concurrent_access(void) {
  advice();
  parts();
  several_ranges();
  prefetches();
  nodes();
  accessed_by();
  refusals();
  capturing();
  of_a_variable();
  of_a_pool();
}

int main(void) {
  int32_t concurrent = 0;
  check_begin();
  all = open_objects();
  version = info_of(all.driver).version;
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_context_push(all.context));
  CHECK_OK(cushim_device_supports(all.device, "concurrent-managed-access", &concurrent));
  if (version == 0) on_none();
  else if (concurrent) with_concurrent_access();
  else without_concurrent_access();
  close_objects(&all);
  return check_done();
}
