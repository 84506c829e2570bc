/*
 * Descriptors that were cut, changed and put together from others, many of them (CHECK_MUTATIONS, 20,000 by default): all are refused before
 * the driver sees them. Those that are made to fit their checksum reach the driver, where softcuda, unlike driver 580, survives whatever they
 * say; what is imported of them then is no larger than the memory, and no file descriptor is lost.
 */
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

/* What is imported: the last two kinds are of virtual memory, by itself and as the parts of a buffer. */
enum { EVENT, POOL, BUFFER, MEMORY, ALLOCATION, PARTS, KINDS };
enum { SIZE = CUSHIM_DESCRIPTOR_BYTES, MOST = 2, LENGTH = 3000, GRANULARITY = 2 << 20 };

/* As many descriptors as each kind has, one behind the other, and how many bytes an import of it may give. */
static const int counts[KINDS] = {1, 1, 1, 1, 1, MOST};
static const size_t lengths[KINDS] = {0, 0, LENGTH, LENGTH, GRANULARITY, 3 * (size_t)GRANULARITY};

static struct objects all;
static unsigned char good[KINDS][MOST * SIZE];
static int32_t files[KINDS][MOST]; /* -1 where none goes with the bytes */
static cushim_resource pool, space;
static uint64_t state = 88172645463325252ull;

static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % below;
}

static long mutations(void) {
  const char *text = getenv("CHECK_MUTATIONS");
  return text != NULL ? atol(text) : 20000;
}

/* FNV-1a, as the library has it. */
static void make_it_fit(unsigned char *bytes) {
  uint64_t sum = 0xcbf29ce484222325ull;
  int i;
  for (i = 0; i < SIZE - 8; i++) sum = (sum ^ bytes[i]) * 0x100000001b3ull;
  for (i = 0; i < 8; i++) bytes[SIZE - 8 + i] = (unsigned char)(sum >> (8 * i));
}

static size_t size_of(int kind) { return (size_t)counts[kind] * SIZE; }

static cushim_status import_with(int kind, const unsigned char *bytes, size_t size, const int32_t *with) {
  cushim_event event = NULL;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_allocation allocation = NULL;
  cushim_status status = CUSHIM_SUCCESS;
  size_t imported = 0;
  switch (kind) {
    case EVENT: status = cushim_event_import(all.context, bytes, size, &event); break;
    case POOL: status = cushim_resource_import(all.device, bytes, size, with[0], &resource); break;
    case BUFFER: status = cushim_buffer_import(pool, all.stream, bytes, size, &buffer); break;
    case MEMORY: status = cushim_buffer_open(all.context, NULL, bytes, size, &buffer); break;
    case ALLOCATION: status = cushim_allocation_import(all.device, NULL, bytes, size, with[0], &allocation); break;
    default: status = cushim_buffer_import_parts(space, NULL, bytes, size, with, MOST, &buffer); break;
  }
  CHECK((status == CUSHIM_SUCCESS) == (event != NULL || resource != NULL || buffer != NULL || allocation != NULL));
  if (buffer != NULL) imported = cushim_buffer_size(buffer);
  if (allocation != NULL) CHECK_OK(cushim_allocation_get_size(allocation, &imported));
  CHECK(imported <= lengths[kind] && (imported > 0) == (buffer != NULL || allocation != NULL));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  return status;
}

static cushim_status import(int kind, const unsigned char *bytes, size_t size) {
  return import_with(kind, bytes, size, files[kind]);
}

/* Virtual memory: an allocation by itself, and a buffer of two parts. */
static void export_virtual(void) {
  cushim_virtual_options options = CUSHIM_OPTIONS(cushim_virtual_options);
  cushim_allocation allocation = NULL;
  cushim_buffer first = NULL, whole = NULL;
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  CHECK_OK(cushim_allocation_create(all.device, GRANULARITY, &options, &allocation));
  CHECK_OK(cushim_allocation_export(allocation, good[ALLOCATION], SIZE, files[ALLOCATION]));
  CHECK_OK(cushim_resource_create_virtual(all.device, &options, &space));
  CHECK_OK(cushim_buffer_create(space, NULL, GRANULARITY, &first));
  CHECK_OK(cushim_buffer_grow(first, lengths[PARTS], NULL, &whole));
  CHECK_OK(cushim_buffer_export_parts(whole, good[PARTS], sizeof good[PARTS], files[PARTS], MOST));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(whole));
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_resource_destroy(space));
}

static void send_all(void) {
  int kind, part;
  for (kind = 0; kind < KINDS; kind++) {
    for (part = 0; part < counts[kind]; part++) send_message(good[kind] + part * SIZE, SIZE, files[kind][part]);
  }
}

static void receive_all(void) {
  int kind, part;
  memset(files, -1, sizeof files);
  for (kind = 0; kind < KINDS; kind++) {
    for (part = 0; part < counts[kind]; part++) files[kind][part] = receive_message(good[kind] + part * SIZE, SIZE);
  }
}

static void close_files(void) {
  int kind, part;
  for (kind = 0; kind < KINDS; kind++) {
    for (part = 0; part < counts[kind]; part++) CHECK((files[kind][part] < 0) == (kind == EVENT || kind == BUFFER || kind == MEMORY));
    for (part = 0; part < counts[kind]; part++) CHECK(files[kind][part] < 0 || close(files[kind][part]) == 0);
  }
}

static void exports(void) {
  static const cushim_device_pool_options options = {sizeof options, CUSHIM_POOL_OWN, 1, 0};
  cushim_resource own = NULL, plain = NULL;
  cushim_buffer pooled = NULL, memory = NULL;
  cushim_event event;
  all = open_objects();
  memset(files, -1, sizeof files);
  event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &own));
  CHECK_OK(cushim_resource_create_device(all.context, &plain));
  CHECK_OK(cushim_buffer_create(own, all.stream, LENGTH, &pooled));
  CHECK_OK(cushim_buffer_create(plain, NULL, LENGTH, &memory));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_event_export(event, good[EVENT], SIZE));
  CHECK_OK(cushim_resource_export(own, good[POOL], SIZE, files[POOL]));
  CHECK_OK(cushim_buffer_export(pooled, good[BUFFER], SIZE));
  CHECK_OK(cushim_buffer_export(memory, good[MEMORY], SIZE));
  export_virtual();
  send_all();
  close_files();
  alarm(0); /* the importer has an alarm of its own, and is heard of when that ends it */
  my_turn();
  alarm(CHECK_HANGS_AFTER);
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_buffer_destroy(pooled));
  CHECK_OK(cushim_buffer_destroy(memory));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  your_turn();
  my_turn();
}

static void change(unsigned char *bytes, size_t size) {
  const uint64_t many = 1 + draw(4);
  uint64_t i;
  if (draw(4) == 0) memcpy(bytes + draw(size - SIZE / 2), good[draw(KINDS)] + draw(SIZE / 2), 1 + draw(SIZE / 2));
  for (i = 0; i < many; i++) {
    unsigned char *byte = bytes + draw(size);
    switch (draw(4)) {
      case 0: *byte ^= (unsigned char)(1u << draw(8)); break;
      case 1: *byte = 0xff; break;
      case 2: *byte = 0; break;
      default: *byte = (unsigned char)draw(256); break;
    }
  }
}

/* Made to fit, and perhaps with a file of another kind or part: a status, whichever. */
static void import_forged(int kind, unsigned char *bytes) {
  int32_t with[MOST];
  int part;
  memcpy(with, files[kind], sizeof with);
  for (part = 0; part < counts[kind]; part++) make_it_fit(bytes + part * SIZE);
  if (draw(4) == 0) with[draw(MOST)] = files[draw(KINDS)][draw(MOST)];
  (void)import_with(kind, bytes, size_of(kind), with);
}

/* What was refused has changed nothing. */
static void import_good(void) {
  int kind;
  alarm(CHECK_HANGS_AFTER);
  for (kind = 0; kind < KINDS; kind++) CHECK_OK(import(kind, good[kind], size_of(kind)));
}

static void import_changed(long i) {
  const int kind = (int)draw(KINDS);
  const size_t size = size_of(kind);
  unsigned char bytes[MOST * SIZE];
  memcpy(bytes, good[kind], size);
  if (draw(8) == 0) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, import(kind, bytes, draw(size)));
    return;
  }
  change(bytes, size);
  if (memcmp(bytes, good[kind], size) == 0) return;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, import(kind, bytes, size));
  if (i % 8 == 0) import_forged(kind, bytes);
}

static void imports(void) {
  const long count = mutations();
  long i;
  int before;
  all = open_objects();
  receive_all();
  CHECK_OK(cushim_resource_import(all.device, good[POOL], SIZE, *files[POOL], &pool));
  CHECK_OK(cushim_resource_create_virtual(all.device, NULL, &space));
  import_good();
  before = descriptors_open();
  for (i = 0; i < count; i++) {
    import_changed(i);
    if (i % 1024 == 0) import_good();
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(descriptors_open() == before);
  your_turn();
  my_turn(); /* what was exported is gone, but for virtual memory, which its files keep */
  CHECK_STATUS(CUDA_ERROR_MAP_FAILED, import(EVENT, good[EVENT], SIZE));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, import(BUFFER, good[BUFFER], SIZE));
  CHECK_CONTAINS(last_message(), "freed there");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, import(MEMORY, good[MEMORY], SIZE));
  CHECK_OK(import(ALLOCATION, good[ALLOCATION], SIZE));
  CHECK_OK(import(PARTS, good[PARTS], size_of(PARTS)));
  CHECK_OK(cushim_resource_destroy(space));
  CHECK_OK(cushim_resource_destroy(pool));
  close_files();
  close_objects(&all);
  your_turn();
}

int main(void) {
  check_begin();
  alarm(0); /* each process has one of its own */
  in_two_processes(exports, imports, NOBODY);
  return check_done();
}
