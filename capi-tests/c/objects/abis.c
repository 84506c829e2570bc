/*
 * One program, every ABI: three ways to create a context, two to tell a device's number; advice and prefetch in both forms,
 * batches of copies in both forms and in none.
 *
 * The driver is opened again and again as one of an older version: a getter of the program's own hands out the functions
 * of the driver, tells an older version, and has each call of a function that matters here counted on its way. So what a
 * driver of 11.3, 12.0, 12.4, 12.8 or 13.0 is asked is seen on any driver that is at least as new.
 */
#include "managed.h"

#include <stddef.h>

/* The calls that are counted: each ABI is one of its own. */
enum trace {
  CREATE_3020,
  CREATE_11040,
  CREATE_12050,
  ELAPSED_2000,
  ELAPSED_12080,
  UUID_9020,
  UUID_11040,
  ADVISE_8000,
  ADVISE_12020,
  PREFETCH_8000,
  PREFETCH_12020,
  PREFETCH_BATCH_13000,
  DISCARD_BATCH_13000,
  DISCARD_PREFETCH_BATCH_13000,
  COPY_TO_DEVICE_3020,
  COPY_FROM_DEVICE_3020,
  COPY_BATCH_12080,
  COPY_BATCH_13000,
  COPY_WITH_ATTRIBUTES_13020,
  TRACES
};

#define TRACED(name, abi) {#name, abi, offsetof(cushim_driver_table, name##_##abi)}

static const struct {
  const char *name;
  int abi;
  size_t offset; /* in the table */
} traced[TRACES] = {
    TRACED(cuCtxCreate, 3020),
    TRACED(cuCtxCreate, 11040),
    TRACED(cuCtxCreate, 12050),
    TRACED(cuEventElapsedTime, 2000),
    TRACED(cuEventElapsedTime, 12080),
    TRACED(cuDeviceGetUuid, 9020),
    TRACED(cuDeviceGetUuid, 11040),
    TRACED(cuMemAdvise, 8000),
    TRACED(cuMemAdvise, 12020),
    TRACED(cuMemPrefetchAsync, 8000),
    TRACED(cuMemPrefetchAsync, 12020),
    TRACED(cuMemPrefetchBatchAsync, 13000),
    TRACED(cuMemDiscardBatchAsync, 13000),
    TRACED(cuMemDiscardAndPrefetchBatchAsync, 13000),
    TRACED(cuMemcpyHtoDAsync, 3020),
    TRACED(cuMemcpyDtoHAsync, 3020),
    TRACED(cuMemcpyBatchAsync, 12080),
    TRACED(cuMemcpyBatchAsync, 13000),
    TRACED(cuMemcpyWithAttributesAsync, 13020),
};

static const cushim_driver_table *real; /* the driver's own functions */
static int calls[TRACES];
static int told_version;

/* Functions that count and pass on. */
static CUresult CUSHIM_CUDAAPI create_3020(CUcontext *context, unsigned flags, CUdevice device) {
  calls[CREATE_3020]++;
  return real->cuCtxCreate_3020(context, flags, device);
}
static CUresult CUSHIM_CUDAAPI create_11040(CUcontext *context, CUexecAffinityParam *parameters, int count, unsigned flags,
                                            CUdevice device) {
  calls[CREATE_11040]++;
  return real->cuCtxCreate_11040(context, parameters, count, flags, device);
}
static CUresult CUSHIM_CUDAAPI create_12050(CUcontext *context, CUctxCreateParams *parameters, unsigned flags, CUdevice device) {
  calls[CREATE_12050]++;
  return real->cuCtxCreate_12050(context, parameters, flags, device);
}
static CUresult CUSHIM_CUDAAPI elapsed_2000(float *milliseconds, CUevent start, CUevent end) {
  calls[ELAPSED_2000]++;
  return real->cuEventElapsedTime_2000(milliseconds, start, end);
}
static CUresult CUSHIM_CUDAAPI elapsed_12080(float *milliseconds, CUevent start, CUevent end) {
  calls[ELAPSED_12080]++;
  return real->cuEventElapsedTime_12080(milliseconds, start, end);
}
static CUresult CUSHIM_CUDAAPI uuid_9020(CUuuid *uuid, CUdevice device) {
  calls[UUID_9020]++;
  return real->cuDeviceGetUuid_9020(uuid, device);
}
static CUresult CUSHIM_CUDAAPI uuid_11040(CUuuid *uuid, CUdevice device) {
  calls[UUID_11040]++;
  return real->cuDeviceGetUuid_11040(uuid, device);
}
static CUresult CUSHIM_CUDAAPI advise_8000(CUdeviceptr at, size_t size, CUmem_advise advice, CUdevice device) {
  calls[ADVISE_8000]++;
  return real->cuMemAdvise_8000(at, size, advice, device);
}
static CUresult CUSHIM_CUDAAPI advise_12020(CUdeviceptr at, size_t size, CUmem_advise advice, CUmemLocation where) {
  calls[ADVISE_12020]++;
  return real->cuMemAdvise_12020(at, size, advice, where);
}
static CUresult CUSHIM_CUDAAPI prefetch_8000(CUdeviceptr at, size_t size, CUdevice device, CUstream stream) {
  calls[PREFETCH_8000]++;
  return real->cuMemPrefetchAsync_8000(at, size, device, stream);
}
static CUresult CUSHIM_CUDAAPI prefetch_12020(CUdeviceptr at, size_t size, CUmemLocation where, unsigned flags, CUstream stream) {
  calls[PREFETCH_12020]++;
  return real->cuMemPrefetchAsync_12020(at, size, where, flags, stream);
}
static CUresult CUSHIM_CUDAAPI prefetch_batch(CUdeviceptr *at, size_t *sizes, size_t count, CUmemLocation *where, size_t *starts,
                                       size_t runs, unsigned long long flags, CUstream stream) {
  calls[PREFETCH_BATCH_13000]++;
  return real->cuMemPrefetchBatchAsync_13000(at, sizes, count, where, starts, runs, flags, stream);
}
static CUresult CUSHIM_CUDAAPI discard_batch(CUdeviceptr *at, size_t *sizes, size_t count, unsigned long long flags, CUstream stream) {
  calls[DISCARD_BATCH_13000]++;
  return real->cuMemDiscardBatchAsync_13000(at, sizes, count, flags, stream);
}
static CUresult CUSHIM_CUDAAPI discard_prefetch_batch(CUdeviceptr *at, size_t *sizes, size_t count, CUmemLocation *where,
                                               size_t *starts, size_t runs, unsigned long long flags, CUstream stream) {
  calls[DISCARD_PREFETCH_BATCH_13000]++;
  return real->cuMemDiscardAndPrefetchBatchAsync_13000(at, sizes, count, where, starts, runs, flags, stream);
}
static CUresult CUSHIM_CUDAAPI copy_to_device(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  calls[COPY_TO_DEVICE_3020]++;
  return real->cuMemcpyHtoDAsync_3020(to, from, size, stream);
}
static CUresult CUSHIM_CUDAAPI copy_from_device(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  calls[COPY_FROM_DEVICE_3020]++;
  return real->cuMemcpyDtoHAsync_3020(to, from, size, stream);
}
static CUresult CUSHIM_CUDAAPI copy_batch_12080(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                                         CUmemcpyAttributes *attributes, size_t *starts, size_t runs, size_t *item,
                                         CUstream stream) {
  calls[COPY_BATCH_12080]++;
  return real->cuMemcpyBatchAsync_12080(to, from, sizes, count, attributes, starts, runs, item, stream);
}
static CUresult CUSHIM_CUDAAPI copy_batch_13000(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                                         CUmemcpyAttributes *attributes, size_t *starts, size_t runs, CUstream stream) {
  calls[COPY_BATCH_13000]++;
  return real->cuMemcpyBatchAsync_13000(to, from, sizes, count, attributes, starts, runs, stream);
}
static CUresult CUSHIM_CUDAAPI copy_with_attributes(CUdeviceptr to, CUdeviceptr from, size_t size, CUmemcpyAttributes *attributes,
                                             CUstream stream) {
  calls[COPY_WITH_ATTRIBUTES_13020]++;
  return real->cuMemcpyWithAttributesAsync_13020(to, from, size, attributes, stream);
}
static CUresult CUSHIM_CUDAAPI tell_version(int *version) {
  *version = told_version;
  return CUDA_SUCCESS;
}

/* The functions above, where a table has the driver's. */
static cushim_driver_table counting;

static void set_up_counting(void) {
  counting.cuCtxCreate_3020 = create_3020;
  counting.cuCtxCreate_11040 = create_11040;
  counting.cuCtxCreate_12050 = create_12050;
  counting.cuEventElapsedTime_2000 = elapsed_2000;
  counting.cuEventElapsedTime_12080 = elapsed_12080;
  counting.cuDeviceGetUuid_9020 = uuid_9020;
  counting.cuDeviceGetUuid_11040 = uuid_11040;
  counting.cuMemAdvise_8000 = advise_8000;
  counting.cuMemAdvise_12020 = advise_12020;
  counting.cuMemPrefetchAsync_8000 = prefetch_8000;
  counting.cuMemPrefetchAsync_12020 = prefetch_12020;
  counting.cuMemPrefetchBatchAsync_13000 = prefetch_batch;
  counting.cuMemDiscardBatchAsync_13000 = discard_batch;
  counting.cuMemDiscardAndPrefetchBatchAsync_13000 = discard_prefetch_batch;
  counting.cuMemcpyHtoDAsync_3020 = copy_to_device;
  counting.cuMemcpyDtoHAsync_3020 = copy_from_device;
  counting.cuMemcpyBatchAsync_12080 = copy_batch_12080;
  counting.cuMemcpyBatchAsync_13000 = copy_batch_13000;
  counting.cuMemcpyWithAttributesAsync_13020 = copy_with_attributes;
  counting.cuDriverGetVersion_2020 = tell_version;
}

/* What cuGetProcAddress of the older driver answers. */
static int older(void *user, const char *name, void **address, int version, uint64_t flags, int *found) {
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult result;
  int which;
  (void)user;
  if (CUSHIM_HAS(real, cuGetProcAddress_12000)) {
    result = real->cuGetProcAddress_12000(name, address, version, flags, &query);
  } else {
    result = real->cuGetProcAddress_11030(name, address, version, flags);
    query = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    result = CUDA_SUCCESS;
  }
  *found = (int)query;
  if (result != CUDA_SUCCESS || query != CU_GET_PROC_ADDRESS_SUCCESS) return (int)result;
  if (strcmp(name, "cuDriverGetVersion") == 0) {
    *address = address_at(&counting, offsetof(cushim_driver_table, cuDriverGetVersion_2020));
  }
  for (which = 0; which < TRACES; which++) {
    if (traced[which].abi != version || strcmp(traced[which].name, name) != 0) continue;
    *address = address_at(&counting, traced[which].offset);
  }
  return (int)result;
}

/* Since the last time, this was called so often, and nothing else. */
static void was_called(const char *what, enum trace which, int times) {
  char line[160];
  int other;
  for (other = 0; other < TRACES; other++) {
    const int expected = other == (int)which ? times : 0;
    snprintf(line, sizeof line, "%s on %d: %s@%d called %d times, not %d", what, told_version, traced[other].name,
             traced[other].abi, calls[other], expected);
    check_that(calls[other] == expected, __FILE__, __LINE__, line);
  }
  memset(calls, 0, sizeof calls);
}

static cushim_range_attributes attributes_of(cushim_context context, cushim_range part) {
  cushim_range_attributes attributes;
  attributes.struct_size = sizeof attributes;
  CHECK_OK(cushim_context_get_range_attributes(context, &part, &attributes));
  return attributes;
}

/* More than the driver is given in one call, which is 4096. */
enum { MANY = 5000 };

static void many_prefetches(cushim_stream stream, uint64_t pointer) {
  static cushim_range parts[MANY];
  int i;
  for (i = 0; i < MANY; i++) parts[i] = range(pointer + (uint64_t)(i % 64) * 4096, 4096);
  CHECK_OK(cushim_stream_prefetch_batch(stream, parts, MANY, &first, 1, NULL));
  was_called("many prefetches", PREFETCH_BATCH_13000, 2);
  CHECK_OK(cushim_stream_synchronize(stream));
}

static void many_copies(cushim_stream stream, cushim_copy one) {
  static cushim_copy copies[MANY];
  int i;
  one.bytes = 64;
  for (i = 0; i < MANY; i++) copies[i] = one;
  CHECK_OK(cushim_stream_copy_batch(stream, copies, MANY, NULL, 0, NULL));
  was_called("many copies", told_version >= 13000 ? COPY_BATCH_13000 : COPY_BATCH_12080, 2);
  CHECK_OK(cushim_stream_synchronize(stream));
}

static void managed_memory(cushim_context context, cushim_stream stream) {
  const int is_new = told_version >= 12020, has_batch = told_version >= 13000;
  const uint64_t pointer = managed(real, WHOLE);
  cushim_range halves[2];
  halves[0] = range(pointer, HALF);
  halves[1] = range(pointer + HALF, HALF);

  CHECK_OK(cushim_context_advise(context, &halves[0], CU_MEM_ADVISE_SET_READ_MOSTLY, NULL));
  CHECK_OK(cushim_context_advise(context, &halves[0], CU_MEM_ADVISE_SET_PREFERRED_LOCATION, &first));
  was_called("advice", is_new ? ADVISE_12020 : ADVISE_8000, 2);
  CHECK(attributes_of(context, halves[0]).read_mostly == 1);
  CHECK(is_at(attributes_of(context, halves[0]).preferred_location, first));
  CHECK_OK(cushim_context_set_accessed_by(context, &halves[0], &host, 1));
  was_called("accessed by", is_new ? ADVISE_12020 : ADVISE_8000, 1);

  CHECK_OK(cushim_stream_prefetch(stream, &halves[1], &host));
  was_called("prefetch", is_new ? PREFETCH_12020 : PREFETCH_8000, 1);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(is_at(attributes_of(context, halves[1]).last_prefetch_location, host));
  CHECK_OK(cushim_stream_prefetch_batch(stream, halves, 1, &first, 1, NULL));
  was_called("a batch of one prefetch", is_new ? PREFETCH_12020 : PREFETCH_8000, 1);
  CHECK_OK(cushim_stream_prefetch_batch(stream, halves, 2, &first, 1, NULL));
  if (has_batch) was_called("batch of prefetches", PREFETCH_BATCH_13000, 1);
  else was_called("batch of prefetches", is_new ? PREFETCH_12020 : PREFETCH_8000, 2);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(is_at(attributes_of(context, halves[1]).last_prefetch_location, first));

  if (has_batch) {
    CHECK_OK(cushim_stream_discard(stream, &halves[0]));
    was_called("discard", DISCARD_BATCH_13000, 1);
    CHECK_OK(cushim_stream_discard_prefetch_batch(stream, halves, 2, &host, 1, NULL));
    was_called("discard and prefetch", DISCARD_PREFETCH_BATCH_13000, 1);
  } else {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_discard(stream, &halves[0]));
    CHECK_CONTAINS(last_message(), "13.0");
    was_called("discard", TRACES, 0);
  }
  if (!is_new) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_prefetch(stream, &halves[0], &node));
    CHECK_CONTAINS(last_message(), "12.2");
    was_called("prefetch to a node", TRACES, 0);
  }
  if (has_batch) many_prefetches(stream, pointer);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_STATUS(CUDA_SUCCESS, real->cuMemFree_3020(pointer));
}

/* Two copies; a driver without batches is told of each what its endpoints are. */
static void batch(cushim_stream stream, const cushim_copy *copies, enum trace each) {
  CHECK_OK(cushim_stream_copy_batch(stream, copies, 2, NULL, 0, NULL));
  if (told_version >= 13000) was_called("batch of copies", COPY_BATCH_13000, 1);
  else if (told_version >= 12080) was_called("batch of copies", COPY_BATCH_12080, 1);
  else was_called("batch of copies", each, 2);
}

/* Two copies there and two back, through pinned memory. */
static void copies(cushim_context context, cushim_stream stream) {
  enum { BYTES = 4096 };
  const cushim_batch_options refuse_loop = {sizeof(cushim_batch_options), CUSHIM_BATCH_REFUSE_LOOP, 0};
  cushim_copy there[2], back[2];
  void *memory = NULL;
  unsigned char *bytes;
  uint64_t device = 0;
  int i;
  CHECK_OK(cushim_context_allocate_host(context, 4 * BYTES, 0, &memory));
  CHECK_OK(cushim_context_allocate(context, 2 * BYTES, &device));
  if (memory == NULL) return;
  bytes = (unsigned char *)memory;
  for (i = 0; i < 2 * BYTES; i++) bytes[i] = (unsigned char)(i * 11 + i / 256);
  for (i = 0; i < 2; i++) {
    there[i].destination = back[i].source = cushim_endpoint_auto(device + (uint64_t)i * BYTES);
    there[i].source = cushim_endpoint_auto((uint64_t)(uintptr_t)(bytes + i * BYTES));
    back[i].destination = cushim_endpoint_auto((uint64_t)(uintptr_t)(bytes + (2 + i) * BYTES));
    there[i].bytes = back[i].bytes = BYTES;
  }
  batch(stream, there, COPY_TO_DEVICE_3020);
  batch(stream, back, COPY_FROM_DEVICE_3020);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(memcmp(bytes, bytes + 2 * BYTES, 2 * BYTES) == 0);

  CHECK_OK(cushim_stream_copy_with_attributes(stream, &there[0].destination, &there[0].source, BYTES, NULL));
  if (told_version >= 13020) was_called("one copy", COPY_WITH_ATTRIBUTES_13020, 1);
  else if (told_version >= 13000) was_called("one copy", COPY_BATCH_13000, 1);
  else if (told_version >= 12080) was_called("one copy", COPY_BATCH_12080, 1);
  else was_called("one copy", COPY_TO_DEVICE_3020, 1);
  if (told_version < 12080) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_stream_copy_batch(stream, there, 2, NULL, 0, &refuse_loop));
    was_called("batch of copies", TRACES, 0);
  }
  if (told_version >= 12080) many_copies(stream, there[0]);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_context_free(context, device));
  CHECK_OK(cushim_context_free_host(context, memory));
}

/* A context of one's own, with the flags that were asked for. */
static void contexts(cushim_device device) {
  cushim_context_options options;
  cushim_context context;
  uint32_t flags = 0;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.flags = CU_CTX_SCHED_YIELD;
  if (!CHECK_OK(cushim_context_create(device, &options, &context))) return;
  if (told_version >= 12050) was_called("create a context", CREATE_12050, 1);
  else was_called("create a context", told_version >= 11040 ? CREATE_11040 : CREATE_3020, 1);
  CHECK_OK(cushim_context_get_flags(context, &flags));
  CHECK((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_YIELD);
  CHECK_OK(cushim_context_destroy(context));
}

static void time_and_number(cushim_device device, cushim_context context, cushim_stream stream) {
  cushim_event event = new_event(context, CUSHIM_EVENT_TIMING);
  uint8_t uuid[16] = {0};
  float milliseconds = 1;
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_elapsed(event, event, &milliseconds));
  CHECK(milliseconds == 0);
  was_called("elapsed time", ELAPSED_2000, 1); /* the older one everywhere, which says more */
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_device_get_uuid(device, uuid));
  was_called("uuid", told_version >= 11040 ? UUID_11040 : UUID_9020, 1);
}

static void as_driver_of(int told) {
  cushim_driver_options options;
  cushim_driver driver;
  cushim_context context, context_before;
  cushim_stream stream;
  int32_t concurrent = 0;
  told_version = told;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.getter = older;
  if (!CHECK_OK(cushim_driver_open(&options, &driver))) return;
  CHECK(info_of(driver).version == told);
  context = primary_context(first_device(driver));
  stream = new_stream(context);
  CHECK_OK(cushim_context_push(context));
  memset(calls, 0, sizeof calls);
  CHECK_OK(cushim_device_supports(first_device(driver), "concurrent-managed-access", &concurrent));
  contexts(first_device(driver));
  time_and_number(first_device(driver), context, stream);
  if (concurrent) managed_memory(context, stream);
  copies(context, stream);
  CHECK_OK(cushim_context_pop(driver, &context_before, NULL));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_driver_destroy(driver));
}

int main(void) {
  static const int versions[] = {11030, 12000, 12040, 12080, 13000, 13020};
  cushim_driver original;
  int version, i;
  check_begin();
  original = open_driver();
  version = info_of(original).version;
  if (version != 0) {
    set_up_counting();
    real = table_of(original, CUSHIM_TABLE_LEGACY_STREAM);
    for (i = 0; i < (int)(sizeof versions / sizeof *versions); i++) {
      if (versions[i] < version) as_driver_of(versions[i]);
    }
    as_driver_of(version);
  }
  CHECK_OK(cushim_driver_destroy(original));
  return check_done();
}
