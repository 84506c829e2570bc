/*
 * Two devices: copies, memsets, events, kernels and managed memory of both, each in the streams of both, whichever context is
 * current on the thread; what needs access, and what is refused without. softcuda shows two devices here.
 */
#include "busy.h"
#include "resources.h"

/* One device, and what is made on it. */
struct side {
  cushim_device device; /* borrowed */
  cushim_context context;
  cushim_stream stream;
  cushim_resource pool;
  cushim_buffer buffer; /* of the pool */
  uint64_t pooled;      /* its memory */
  uint64_t plain;       /* memory of the context */
};

static cushim_driver driver;
static int version;         /* of the driver */
static int reach;           /* whether each device reaches the other's memory */
static struct side sides[2];
static unsigned char page[BYTES], another_page[BYTES];
static unsigned char *host = another_page; /* page-locked, if there is such memory */

static const cushim_extent all_rows = {64, BYTES / 64, 1};

static void synchronize(cushim_stream stream) { CHECK_OK(cushim_stream_synchronize(stream)); }

/* Sets each byte of memory of the side, and waits. */
static void set(const struct side *side, uint64_t pointer, int value) {
  CHECK_OK(set_bytes(side->context, pointer, (uint32_t)value, BYTES));
  CHECK_OK(cushim_context_synchronize(side->context));
}

/* Whether each byte of memory of the side has the value. */
static int has(const struct side *side, uint64_t pointer, int value) {
  unsigned char bytes[BYTES];
  cushim_endpoint to = cushim_endpoint_host(bytes), from = cushim_endpoint_device(pointer);
  int i;
  memset(bytes, ~value, sizeof bytes);
  CHECK_OK(cushim_context_copy(side->context, &to, &from, BYTES));
  for (i = 0; i < BYTES && bytes[i] == (unsigned char)value; i++) {
  }
  return i == BYTES;
}

/* Which context is current, for the messages. */
static const char *current;

/* Does it with the context of each device current, and with none. */
static void whichever_is_current(void (*body)(void)) {
  static const char *const names[] = {"the first is current", "the second is current", "none is current"};
  int i;
  for (i = 0; i < 3; i++) {
    CUcontext native = NULL, before = NULL;
    cushim_context found;
    current = names[i];
    if (i < 2) CHECK_OK(cushim_context_push(sides[i].context));
    CHECK_OK(cushim_context_get_current(driver, &found, &before));
    body();
    CHECK_OK(cushim_context_get_current(driver, &found, &native));
    if (!CHECK(native == before)) check_more("where ", current);
    if (i < 2) CHECK_OK(cushim_context_pop(driver, &found, NULL));
  }
  current = NULL;
}

/* The call succeeds, with a word on what it was. */
static int worked(cushim_status status, const char *what) {
  if (check_status(CUSHIM_SUCCESS, status, __FILE__, __LINE__, what)) return 1;
  return current == NULL ? 0 : check_more("where ", current);
}

static int arrived(const struct side *side, uint64_t pointer, int value, const char *what) {
  if (check_that(has(side, pointer, value), __FILE__, __LINE__, what)) return 1;
  return current == NULL ? 0 : check_more("where ", current);
}

/* From host memory to the device's and back, of one sort each. */
static void there_and_back(const struct side *side, uint64_t pointer, unsigned char *bytes, int value) {
  cushim_endpoint memory = cushim_endpoint_device(pointer), either = cushim_endpoint_auto(pointer), here = cushim_endpoint_host(bytes);
  cushim_region from = cushim_region_at(here, 64), to = cushim_region_at(memory, 64);
  memset(bytes, value, BYTES);
  worked(cushim_stream_copy(side->stream, &memory, &here, BYTES), "to the device");
  synchronize(side->stream);
  arrived(side, pointer, value, "to the device");
  memset(bytes, 0, BYTES);
  worked(cushim_stream_copy(side->stream, &here, &memory, BYTES), "from the device");
  synchronize(side->stream);
  CHECK(bytes[0] == value && bytes[BYTES - 1] == value);
  memset(bytes, value + 1, BYTES);
  worked(cushim_stream_copy(side->stream, &either, &here, BYTES), "to either");
  synchronize(side->stream);
  arrived(side, pointer, value + 1, "to either");
  memset(bytes, value + 2, BYTES);
  worked(cushim_stream_copy_3d(side->stream, &to, &from, &all_rows), "rows to the device");
  synchronize(side->stream);
  arrived(side, pointer, value + 2, "rows to the device");
  memset(bytes, 0, BYTES);
  worked(cushim_stream_copy_3d(side->stream, &from, &to, &all_rows), "rows from the device");
  synchronize(side->stream);
  CHECK(bytes[0] == value + 2 && bytes[BYTES - 1] == value + 2);
  memset(bytes, value + 3, BYTES);
  worked(cushim_stream_copy_with_attributes(side->stream, &memory, &here, BYTES, NULL), "with attributes");
  synchronize(side->stream);
  arrived(side, pointer, value + 3, "with attributes");
}

/* What is done within one device's memory, in its stream. */
static void within(const struct side *side, uint64_t pointer) {
  const size_t half = BYTES / 2;
  cushim_copy copies[2];
  cushim_batch_options options;
  int i;
  memset(copies, 0, sizeof copies);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  there_and_back(side, pointer, page, 10);
  there_and_back(side, pointer, host, 20);
  worked(fill_bytes(side->stream, pointer, 30, half), "a memset");
  copies[0].destination = cushim_endpoint_device(pointer + half);
  copies[0].source = cushim_endpoint_device(pointer);
  worked(cushim_stream_copy(side->stream, &copies[0].destination, &copies[0].source, half), "a half to the other");
  synchronize(side->stream);
  arrived(side, pointer, 30, "a half to the other");
  worked(cushim_stream_fill_2d(side->stream, &copies[0].source, 64, CUSHIM_VALUE_8(31), 64, BYTES / 128), "a 2D memset");
  copies[0].destination.context = copies[0].source.context = side->context;
  worked(cushim_stream_copy(side->stream, &copies[0].destination, &copies[0].source, half), "with their contexts");
  synchronize(side->stream);
  arrived(side, pointer, 31, "with their contexts");
  memset(host, 32, BYTES);
  for (i = 0; i < 2; i++) {
    copies[i].destination = cushim_endpoint_device(pointer + (size_t)i * half);
    copies[i].source = cushim_endpoint_host(host + (size_t)i * half);
    copies[i].bytes = half;
  }
  worked(cushim_stream_copy_batch(side->stream, copies, 2, NULL, 0, &options), "a batch");
  synchronize(side->stream);
  arrived(side, pointer, 32, "a batch");
}

static void scratch(const struct side *side) {
  cushim_buffer buffer = NULL, copy = NULL;
  uint64_t pointer = 0;
  memset(page, 40, BYTES);
  if (!worked(cushim_buffer_create_scratch(side->pool, side->stream, page, BYTES, &buffer), "scratch")) return;
  CHECK_OK(fill_buffer(side->stream, buffer, 0, 41, 1));
  worked(cushim_buffer_create_copy(buffer, side->stream, &copy), "a new buffer");
  worked(cushim_buffer_destroy_scratch(buffer, side->stream, page), "scratch back");
  synchronize(side->stream);
  CHECK(page[0] == 41 && page[1] == 40 && page[BYTES - 1] == 40);
  if (copy == NULL) return;
  CHECK_OK(cushim_buffer_get_pointer(copy, &pointer));
  CHECK(last_byte(side->stream, pointer, 1) == 41 && last_byte(side->stream, pointer, BYTES) == 40);
  CHECK_OK(cushim_buffer_destroy(copy));
}

static void each_for_itself(void) {
  int i;
  for (i = 0; i < 2; i++) {
    within(&sides[i], sides[i].plain);
    within(&sides[i], sides[i].pooled);
    scratch(&sides[i]);
  }
}

/* Every way from one device to the other, stream-ordered or synchronous; the endpoints are of the same kind. */
static void every_way(const struct side *from, const struct side *to, cushim_endpoint source, cushim_endpoint target, uint64_t pointer,
                      uint64_t into) {
  cushim_region columns = cushim_region_at(source, 64), rows = cushim_region_at(target, 64);
  int i, value = 1;
  for (i = 0; i < 2; i++) {
    cushim_stream stream = sides[i].stream;
    set(from, pointer, ++value);
    worked(cushim_stream_copy(stream, &target, &source, BYTES), "cushim_stream_copy");
    synchronize(stream);
    arrived(to, into, value, "cushim_stream_copy");
    set(from, pointer, ++value);
    worked(cushim_stream_copy_3d(stream, &rows, &columns, &all_rows), "cushim_stream_copy_3d");
    synchronize(stream);
    arrived(to, into, value, "cushim_stream_copy_3d");
    set(from, pointer, ++value);
    worked(cushim_context_copy(sides[i].context, &target, &source, BYTES), "cushim_context_copy");
    arrived(to, into, value, "cushim_context_copy");
    set(from, pointer, ++value);
    worked(cushim_context_copy_3d(sides[i].context, &rows, &columns, &all_rows), "cushim_context_copy_3d");
    arrived(to, into, value, "cushim_context_copy_3d");
  }
}

/* The same with endpoints that name their contexts: it makes no difference then where memory comes from. */
static void as_peers(const struct side *from, const struct side *to, uint64_t pointer, uint64_t into) {
  cushim_endpoint source = cushim_endpoint_device(pointer), target = cushim_endpoint_device(into);
  source.context = from->context;
  target.context = to->context;
  every_way(from, to, source, target, pointer, into);
}

/* Whole buffers, and halves of them. */
static void buffers(const struct side *from, const struct side *to) {
  cushim_endpoint source = cushim_endpoint_buffer(from->buffer, 0), target = cushim_endpoint_buffer(to->buffer, 0);
  int i;
  for (i = 0; i < 2; i++) {
    cushim_stream stream = sides[i].stream;
    cushim_buffer copy = NULL;
    uint64_t pointer = 0;
    set(from, from->pooled, 70 + i);
    source.offset = target.offset = 0;
    worked(cushim_stream_copy(stream, &target, &source, BYTES), "a whole buffer");
    synchronize(stream);
    arrived(to, to->pooled, 70 + i, "a whole buffer");
    set(to, to->pooled, 0);
    for (source.offset = 0; source.offset < BYTES; source.offset += BYTES / 2) {
      target.offset = source.offset;
      worked(cushim_stream_copy(stream, &target, &source, BYTES / 2), "half of a buffer");
    }
    synchronize(stream);
    arrived(to, to->pooled, 70 + i, "halves of a buffer");
    if (!worked(cushim_buffer_create_copy(from->buffer, stream, &copy), "a new buffer")) continue;
    synchronize(stream);
    CHECK_OK(cushim_buffer_get_pointer(copy, &pointer));
    arrived(from, pointer, 70 + i, "a new buffer");
    CHECK_OK(cushim_buffer_destroy(copy));
  }
}

static void from_one_to_the_other(void) {
  int i;
  for (i = 0; i < 2; i++) {
    const struct side *from = &sides[i], *to = &sides[!i];
    every_way(from, to, cushim_endpoint_device(from->plain), cushim_endpoint_device(to->plain), from->plain, to->plain);
    every_way(from, to, cushim_endpoint_auto(from->plain), cushim_endpoint_auto(to->plain), from->plain, to->plain);
    every_way(from, to, cushim_endpoint_buffer(from->buffer, 0), cushim_endpoint_buffer(to->buffer, 0), from->pooled, to->pooled);
    as_peers(from, to, from->plain, to->plain);
    as_peers(from, to, from->pooled, to->plain);
    as_peers(from, to, from->plain, to->pooled);
    as_peers(from, to, from->pooled, to->pooled);
    buffers(from, to);
  }
}

/* It is refused, with a sentence that has this in it. */
static void refused(cushim_status expected, cushim_status status, const char *words) {
  if (!check_status(expected, status, __FILE__, __LINE__, words)) {
    if (current != NULL) check_more("where ", current);
    return;
  }
  CHECK_CONTAINS(last_message(), words);
}

/* Memory of the second's pool, by its address: without access not in the first's stream, whichever is current. */
static void pool_without_access(void) {
  cushim_endpoint here = cushim_endpoint_host(page), there = cushim_endpoint_device(sides[1].pooled);
  cushim_endpoint plain = cushim_endpoint_device(sides[0].plain);
  cushim_region rows = cushim_region_at(here, 64), columns = cushim_region_at(there, 64);
  cushim_stream stream = sides[0].stream;
  static const char of[] = "is memory of a pool of device 1, to which device 0 of this copy has no access";
  refused(CUDA_ERROR_INVALID_VALUE, cushim_context_copy(sides[0].context, &here, &there, BYTES), of);
  refused(CUDA_ERROR_INVALID_VALUE, cushim_stream_copy(stream, &here, &there, BYTES), of);
  CHECK_CONTAINS(last_message(), "The source, ");
  CHECK(strstr(last_message(), "context of both") == NULL); /* which does not help a copy to the host */
  refused(CUDA_ERROR_INVALID_VALUE, cushim_stream_copy(stream, &there, &plain, BYTES), of);
  CHECK_CONTAINS(last_message(), "The destination, ");
  CHECK_CONTAINS(last_message(), "name the context of both endpoints");
  CHECK_CONTAINS(last_message(), "cushim_resource_add_peers");
  refused(CUDA_ERROR_INVALID_VALUE, cushim_stream_copy_3d(stream, &rows, &columns, &all_rows), of);
  refused(CUDA_ERROR_INVALID_VALUE, fill_bytes(stream, sides[1].pooled, 1, BYTES),
          "is memory of a pool of device 1, to which device 0 of this memset has no access");
  CHECK_CONTAINS(last_message(), "cushim_resource_add_peers");
  refused(CUDA_ERROR_INVALID_VALUE, fill_buffer(stream, sides[1].buffer, 0, 1, BYTES), "a stream of device 1");
}

static void pool_with_access(void) {
  cushim_endpoint here = cushim_endpoint_host(page), there = cushim_endpoint_device(sides[1].pooled);
  cushim_stream stream = sides[0].stream;
  worked(fill_bytes(stream, sides[1].pooled, 80, BYTES), "a memset with access");
  memset(page, 0, BYTES);
  worked(cushim_stream_copy(stream, &here, &there, BYTES), "a copy with access");
  synchronize(stream);
  CHECK(page[0] == 80 && page[BYTES - 1] == 80);
}

static size_t peer_count(cushim_resource pool) {
  cushim_device devices[8];
  size_t count = 0;
  CHECK_OK(cushim_resource_get_peers(pool, devices, 8, &count));
  return count;
}

static void peers_of_pools(void) {
  cushim_resource pool = sides[1].pool;
  cushim_device both[2];
  both[0] = sides[1].device;
  both[1] = sides[0].device;
  CHECK(peer_count(pool) == 0);
  whichever_is_current(pool_without_access);
  if (!reach) {
    refused(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_resource_add_peers(pool, both, 2), "cannot be reached");
    CHECK(last_detail()->item == 1);
    return;
  }
  CHECK_OK(cushim_resource_add_peers(pool, &sides[0].device, 1));
  CHECK(peer_count(pool) == 1 && peer_count(sides[0].pool) == 0);
  whichever_is_current(pool_with_access);
  CHECK_OK(cushim_resource_remove_peers(pool, &sides[0].device, 1));
  CHECK(peer_count(pool) == 0);
  whichever_is_current(pool_without_access);
}

/* Memory of the second's context: what only access lets the first do. */
static void plain_without_access(void) {
  cushim_context first = sides[0].context;
  static const char of[] = "is memory of device 1, to which device 0 of this memset has no access";
  cushim_endpoint plain = cushim_endpoint_device(sides[1].plain);
  uint64_t start = 1;
  size_t bytes = 1;
  refused(CUDA_ERROR_INVALID_VALUE, fill_bytes(sides[0].stream, sides[1].plain, 1, BYTES), of);
  CHECK_CONTAINS(last_message(), "cushim_context_enable_peer_access");
  refused(CUDA_ERROR_INVALID_VALUE, cushim_stream_fill_2d(sides[0].stream, &plain, 64, CUSHIM_VALUE_8(1), 32, 2), of);
  refused(CUDA_ERROR_INVALID_VALUE, set_bytes(first, sides[1].plain, 1, BYTES), of);
  CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cushim_context_get_address_range(first, sides[1].plain, &start, &bytes));
  CHECK(start == 0 && bytes == 0);
}

static void plain_with_access(void) {
  uint64_t start = 0;
  size_t bytes = 0;
  worked(fill_bytes(sides[0].stream, sides[1].plain, 90, BYTES), "a memset with access");
  synchronize(sides[0].stream);
  arrived(&sides[1], sides[1].plain, 90, "a memset with access");
  worked(cushim_context_get_address_range(sides[0].context, sides[1].plain + 100, &start, &bytes), "the range");
  CHECK(start == sides[1].plain && bytes == BYTES);
}

static void attributes(void) {
  cushim_pointer_attributes known;
  uint64_t pointers[2];
  int i;
  pointers[0] = sides[1].plain;
  pointers[1] = sides[1].pooled;
  for (i = 0; i < 2; i++) {
    memset(&known, 0, sizeof known);
    known.struct_size = sizeof known;
    CHECK_OK(cushim_context_get_pointer_attributes(sides[0].context, pointers[i] + 100, &known));
    CHECK(known.device == 1 && known.memory_type == CU_MEMORYTYPE_DEVICE && known.mapped == 1);
    CHECK(known.range_start == pointers[i] && known.range_bytes == BYTES);
    CHECK((known.pool != NULL) == (i == 1));
  }
}

/* Between contexts of one device, and of two drivers. */
static void access_to_itself(void) {
  cushim_driver_options options;
  cushim_driver none;
  cushim_context created, first = sides[0].context;
  CHECK_OK(cushim_context_create(sides[0].device, NULL, &created));
  refused(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cushim_context_enable_peer_access(first, first), "reach each other's memory without");
  refused(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cushim_context_enable_peer_access(first, created), "of device 0");
  refused(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cushim_context_disable_peer_access(first, created), "without");
  CHECK_OK(cushim_context_destroy(created));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_enable_peer_access(first, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_disable_peer_access(NULL, first));
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.driver = "none";
  CHECK_OK(cushim_driver_open(&options, &none));
  created = primary_context(first_device(none));
  refused(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_enable_peer_access(first, created), "different drivers");
  refused(CUSHIM_ERROR_INVALID_HANDLE, cushim_context_disable_peer_access(first, created), "different drivers");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_context_enable_peer_access(created, created));
  CHECK_OK(cushim_context_destroy(created));
  CHECK_OK(cushim_driver_destroy(none));
}

static void access_of_contexts(void) {
  cushim_context first = sides[0].context, second = sides[1].context, created;
  refused(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cushim_context_disable_peer_access(first, second), "was given no access");
  whichever_is_current(plain_without_access);
  if (!reach) {
    refused(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cushim_context_enable_peer_access(first, second), "No link lets device 0 reach");
    return;
  }
  CHECK_OK(cushim_context_enable_peer_access(first, second));
  refused(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cushim_context_enable_peer_access(first, second), "keeps it");
  /* One way only, and not for pools. */
  refused(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cushim_context_disable_peer_access(second, first), "the other way");
  refused(CUDA_ERROR_INVALID_VALUE, fill_bytes(sides[1].stream, sides[0].plain, 1, BYTES), "a stream of device 0");
  whichever_is_current(plain_with_access);
  whichever_is_current(pool_without_access);
  whichever_is_current(from_one_to_the_other);
  CHECK_OK(cushim_context_synchronize(first));
  CHECK_OK(cushim_context_disable_peer_access(first, second));
  refused(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cushim_context_disable_peer_access(first, second), "was given no access");
  whichever_is_current(plain_without_access);
  /* It ends with either context. */
  CHECK_OK(cushim_context_create(sides[1].device, NULL, &created));
  CHECK_OK(cushim_context_enable_peer_access(first, created));
  CHECK_OK(cushim_context_enable_peer_access(created, first));
  CHECK_OK(cushim_context_destroy(created));
}

/* An event is recorded in streams of its context; every stream waits for it. */
static void events(void) {
  cushim_event own = new_event(sides[0].context, CUSHIM_EVENT_TIMING), other = new_event(sides[1].context, CUSHIM_EVENT_TIMING);
  struct busy busy;
  float took = 0;
  int32_t done = -1;
  refused(CUDA_ERROR_INVALID_HANDLE, cushim_event_record(own, sides[1].stream), "belongs to primary context of device 0, but stream");
  refused(CUDA_ERROR_INVALID_HANDLE, cushim_event_record(other, sides[0].stream), "any stream may wait for it");
  CHECK_OK(cushim_event_record(own, sides[0].stream));
  busy_begin(&busy, driver, sides[1].stream);
  CHECK_OK(cushim_event_record(other, sides[1].stream));
  CHECK_OK(cushim_stream_wait_event(sides[0].stream, other));
  CHECK_OK(cushim_stream_query(sides[0].stream, &done));
  CHECK(done == 0);
  busy_end(&busy);
  synchronize(sides[0].stream);
  CHECK_OK(cushim_event_query(other, &done));
  CHECK(done == 1);
  CHECK_OK(cushim_event_synchronize(own));
  refused(CUDA_ERROR_INVALID_HANDLE, cushim_event_elapsed(own, other, &took), "time is measured within one context");
  CHECK_OK(cushim_stream_wait_event(sides[1].stream, own));
  CHECK_OK(cushim_stream_wait_stream(sides[1].stream, sides[0].stream));
  CHECK_OK(cushim_stream_wait_stream(sides[0].stream, sides[1].stream));
  synchronize(sides[0].stream);
  CHECK_OK(cushim_event_destroy(own));
  CHECK_OK(cushim_event_destroy(other));
}

/* A default stream is that of its context, whichever is current. */
static void default_streams(void) {
  cushim_stream streams[2];
  int i, k;
  for (i = 0; i < 2; i++) {
    CHECK_OK(cushim_context_get_legacy_stream(sides[i].context, &streams[0]));
    CHECK_OK(cushim_context_get_per_thread_stream(sides[i].context, &streams[1]));
    for (k = 0; k < 2; k++) {
      cushim_endpoint to = cushim_endpoint_device(sides[i].pooled), from = cushim_endpoint_host(page);
      worked(fill_bytes(streams[k], sides[i].plain, (uint32_t)(60 + k), BYTES), "a memset in a default stream");
      memset(page, 62 + k, BYTES);
      worked(cushim_stream_copy(streams[k], &to, &from, BYTES), "a copy in a default stream");
      synchronize(streams[k]);
      arrived(&sides[i], sides[i].plain, 60 + k, "a memset in a default stream");
      arrived(&sides[i], sides[i].pooled, 62 + k, "a copy in a default stream");
    }
  }
}

/* Memory of one device in the order of the other's stream. */
static void orders(void) {
  cushim_buffer buffer;
  uint64_t pointer = 0;
  int i;
  for (i = 0; i < 2; i++) {
    const struct side *own = &sides[i], *other = &sides[!i];
    CHECK_OK(cushim_stream_allocate(own->stream, BYTES, &pointer));
    worked(fill_bytes(own->stream, pointer, 1, BYTES), "a memset");
    CHECK_OK(cushim_stream_wait_stream(other->stream, own->stream));
    worked(cushim_stream_free(other->stream, pointer), "a free in the other's stream");
    CHECK_OK(cushim_context_allocate(own->context, BYTES, &pointer));
    worked(cushim_stream_free(other->stream, pointer), "a free of plain memory in the other's stream");
    worked(cushim_resource_allocate(own->pool, other->stream, BYTES, &pointer), "an allocation in the other's stream");
    worked(cushim_resource_free(own->pool, other->stream, pointer, BYTES), "and its end");
    worked(cushim_buffer_create(own->pool, other->stream, BYTES, &buffer), "a buffer in the other's stream");
    synchronize(other->stream);
    CHECK_OK(cushim_buffer_set_stream(buffer, own->stream));
    worked(cushim_buffer_destroy(buffer), "and its end in the own");
    synchronize(own->stream);
    synchronize(other->stream);
  }
}

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    /* to[i] = a * x[i] + to[i], in one block */
    ".visible .entry saxpy(.param .u64 to, .param .u64 x, .param .f32 a) {\n"
    "  .reg .u64 %to, %x, %offset;\n"
    "  .reg .f32 %a, %value, %sum;\n"
    "  .reg .u32 %i;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u64 %x, [x];\n"
    "  ld.param.f32 %a, [a];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %to, %to, %offset;\n"
    "  add.u64 %x, %x, %offset;\n"
    "  ld.global.f32 %value, [%x];\n"
    "  ld.global.f32 %sum, [%to];\n"
    "  fma.rn.f32 %sum, %a, %value, %sum;\n"
    "  st.global.f32 [%to], %sum;\n"
    "  ret;\n"
    "}\n";

enum { THREADS = 64 };

static cushim_status saxpy(cushim_kernel kernel, cushim_stream stream, uint64_t to, uint64_t x, float a) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  const cushim_arg args[3] = {CUSHIM_ARG(to), CUSHIM_ARG(x), CUSHIM_ARG(a)};
  config.grid.x = 1;
  config.block.x = THREADS;
  return cushim_kernel_launch(kernel, stream, &config, args, 3);
}

/* The last of the numbers that the kernel works on. */
static float number_at(const struct side *side, uint64_t pointer) {
  float numbers[THREADS] = {0};
  cushim_endpoint to = cushim_endpoint_host(numbers), from = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_context_copy(side->context, &to, &from, sizeof numbers));
  return numbers[THREADS - 1];
}

static void set_numbers(const struct side *side, uint64_t pointer, float value) {
  cushim_endpoint to = cushim_endpoint_device(pointer);
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  CHECK_OK(cushim_context_fill(side->context, &to, CUSHIM_VALUE_32(bits), THREADS));
}

static cushim_kernel kernels[2]; /* for the streams of each device */

static void each_device_computes(void) {
  int i;
  for (i = 0; i < 2; i++) {
    const struct side *side = &sides[i];
    set_numbers(side, side->plain, 1.0f);
    set_numbers(side, side->pooled, 2.0f);
    worked(saxpy(kernels[i], side->stream, side->plain, side->pooled, 3.0f), "a kernel");
    synchronize(side->stream);
    CHECK(number_at(side, side->plain) == 7.0f);
  }
}

/* A kernel of the first device adds to what is the second's. */
static void one_reaches_the_other(void) {
  const struct side *first = &sides[0], *second = &sides[1];
  set_numbers(first, first->plain, 2.0f);
  set_numbers(second, second->plain, 1.0f);
  set_numbers(second, second->pooled, 1.0f);
  worked(saxpy(kernels[0], first->stream, second->plain, first->plain, 2.0f), "a kernel that stores to the other's memory");
  worked(saxpy(kernels[0], first->stream, second->pooled, second->plain, 2.0f), "a kernel that stores to the other's pool");
  synchronize(first->stream);
  CHECK(number_at(second, second->plain) == 5.0f && number_at(second, second->pooled) == 11.0f);
}

static void compute(void) {
  cushim_library libraries[2] = {NULL, NULL};
  int own = version < 12000, i; /* then each context has a library of its own */
  for (i = 0; i < 2; i++) {
    if (own || i == 0) CHECK_OK(cushim_library_load(sides[i].context, ptx, sizeof ptx, NULL, &libraries[i]));
    CHECK_OK(cushim_kernel_create(libraries[own ? i : 0], "saxpy", &kernels[i]));
  }
  for (i = 0; i < 2; i++) CHECK_OK(cushim_library_destroy(libraries[i])); /* the kernels keep them */
  whichever_is_current(each_device_computes);
  if (own) {
    refused(CUSHIM_ERROR_INVALID_ARGUMENT, saxpy(kernels[0], sides[1].stream, sides[1].plain, sides[1].plain, 1.0f),
            "name its own context");
  }
  if (reach) {
    CHECK_OK(cushim_context_enable_peer_access(sides[0].context, sides[1].context));
    CHECK_OK(cushim_resource_add_peers(sides[1].pool, &sides[0].device, 1));
    whichever_is_current(one_reaches_the_other);
    CHECK_OK(cushim_resource_set_peers(sides[1].pool, NULL, 0));
    CHECK_OK(cushim_context_disable_peer_access(sides[0].context, sides[1].context));
  }
}

/* Managed memory goes to the device that wants it, in either stream. */
static cushim_buffer managed;

static void managed_memory_moves(void) {
  cushim_location locations[2] = {cushim_location_device(0), cushim_location_device(1)};
  cushim_range range = cushim_range_buffer(managed, 0, 0);
  uint64_t pointer = 0;
  int i, k;
  CHECK_OK(cushim_buffer_get_pointer(managed, &pointer));
  for (i = 0; i < 2; i++) {
    for (k = 0; k < 2; k++) {
      float before = number_at(&sides[i], pointer);
      worked(cushim_stream_prefetch(sides[k].stream, &range, &locations[i]), "a prefetch");
      CHECK_OK(cushim_stream_wait_stream(sides[i].stream, sides[k].stream));
      set_numbers(&sides[i], sides[i].plain, 1.0f);
      worked(saxpy(kernels[i], sides[i].stream, pointer, sides[i].plain, 1.0f), "a kernel on managed memory");
      synchronize(sides[i].stream);
      CHECK(number_at(&sides[!i], pointer) == before + 1.0f);
    }
  }
}

static void managed_memory(void) {
  cushim_resource resource;
  int32_t concurrent = 0;
  int i;
  for (i = 0; i < 2; i++) {
    CHECK_OK(cushim_device_get_attribute(sides[i].device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, &concurrent));
    if (!concurrent) return;
  }
  CHECK_OK(cushim_resource_create_managed(sides[0].context, &MANAGED_OPTIONS, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, BYTES, &managed));
  CHECK_OK(fill_buffer(sides[0].stream, managed, 0, 0, BYTES));
  synchronize(sides[0].stream);
  whichever_is_current(managed_memory_moves);
  CHECK_OK(cushim_buffer_destroy(managed));
  CHECK_OK(cushim_resource_destroy(resource));
}

static void open_side(struct side *side, int ordinal) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  options.choice = CUSHIM_POOL_OWN;
  CHECK_OK(cushim_driver_get_device(driver, ordinal, &side->device));
  side->context = primary_context(side->device);
  side->stream = new_stream(side->context);
  CHECK_OK(cushim_resource_create_device_pool(side->device, &options, &side->pool));
  CHECK_OK(cushim_buffer_create(side->pool, side->stream, BYTES, &side->buffer));
  CHECK_OK(cushim_buffer_get_pointer(side->buffer, &side->pooled));
  CHECK_OK(cushim_context_allocate(side->context, BYTES, &side->plain));
  synchronize(side->stream);
}

static void close_side(struct side *side) {
  CHECK_OK(cushim_context_free(side->context, side->plain));
  CHECK_OK(cushim_buffer_destroy(side->buffer));
  CHECK_OK(cushim_resource_destroy(side->pool));
  CHECK_OK(cushim_stream_destroy(side->stream));
}

/* A reset of either takes access back. */
static void reset(void) {
  cushim_context first = sides[0].context, second = sides[1].context, again;
  if (reach) CHECK_OK(cushim_context_enable_peer_access(first, second));
  CHECK_OK(cushim_device_reset_primary_context(sides[1].device));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_context_enable_peer_access(first, second));
  CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_context_disable_peer_access(second, first));
  again = primary_context(sides[1].device);
  CHECK_STATUS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cushim_context_disable_peer_access(first, again));
  if (reach) CHECK_OK(cushim_context_enable_peer_access(first, again));
  CHECK_OK(cushim_context_destroy(again));
}

static void with_two_devices(void) {
  int32_t there = 0, back = 0;
  void *memory = NULL;
  int i;
  for (i = 0; i < 2; i++) open_side(&sides[i], i);
  CHECK_OK(cushim_device_can_access_peer(sides[0].device, sides[1].device, &there));
  CHECK_OK(cushim_device_can_access_peer(sides[1].device, sides[0].device, &back));
  reach = there && back;
  if (CHECK_OK(cushim_context_allocate_host(sides[0].context, BYTES, 0, &memory))) host = (unsigned char *)memory;
  whichever_is_current(each_for_itself);
  whichever_is_current(from_one_to_the_other);
  whichever_is_current(default_streams);
  whichever_is_current(orders);
  whichever_is_current(attributes);
  whichever_is_current(events);
  peers_of_pools();
  access_to_itself();
  access_of_contexts();
  compute();
  managed_memory();
  for (i = 0; i < 2; i++) CHECK_OK(cushim_kernel_destroy(kernels[i]));
  if (memory != NULL) CHECK_OK(cushim_context_free_host(sides[0].context, memory));
  for (i = 0; i < 2; i++) close_side(&sides[i]);
  reset();
  for (i = 0; i < 2; i++) CHECK_OK(cushim_context_destroy(sides[i].context));
}

int main(void) {
  int32_t count = 0;
  check_begin();
  setenv("SOFTCUDA_DEVICES", "2", 0);
  driver = open_driver();
  CHECK_OK(cushim_driver_get_device_count(driver, &count));
  version = info_of(driver).version;
  if (count >= 2) with_two_devices();
  else printf("two devices are needed, and there is %d\n", (int)count);
  CHECK_OK(cushim_driver_destroy(driver));
  return check_done();
}
