/*
 * Descriptors that were cut, changed and put together from others, many of them (CHECK_MUTATIONS, 20,000 by default): all are refused before
 * the driver sees them. Those that are made to fit their checksum reach the driver, where softcuda, unlike driver 580, survives whatever they
 * say; what is imported of them then is no larger than the memory, and no file descriptor is lost.
 */
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

enum { SIZE = CUSHIM_DESCRIPTOR_BYTES, KINDS = 4, EVENT = 0, POOL = 1, BUFFER = 2, MEMORY = 3, LENGTH = 3000 };

static struct objects all;
static unsigned char good[KINDS][SIZE];
static int file = -1;
static cushim_resource pool;
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

static cushim_status import(int kind, const unsigned char *bytes, size_t size) {
  cushim_event event = NULL;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_status status = CUSHIM_SUCCESS;
  switch (kind) {
    case EVENT: status = cushim_event_import(all.context, bytes, size, &event); break;
    case POOL: status = cushim_resource_import(all.device, bytes, size, file, &resource); break;
    case BUFFER: status = cushim_buffer_import(pool, all.stream, bytes, size, &buffer); break;
    default: status = cushim_buffer_open(all.context, NULL, bytes, size, &buffer); break;
  }
  CHECK((status == CUSHIM_SUCCESS) == (event != NULL || resource != NULL || buffer != NULL));
  if (buffer != NULL) CHECK(cushim_buffer_size(buffer) <= LENGTH && cushim_buffer_size(buffer) > 0);
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  return status;
}

static void exports(void) {
  static const cushim_device_pool_options options = {sizeof options, CUSHIM_POOL_OWN, 1, 0};
  cushim_resource own = NULL, plain = NULL;
  cushim_buffer pooled = NULL, memory = NULL;
  cushim_event event;
  int i;
  all = open_objects();
  event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &own));
  CHECK_OK(cushim_resource_create_device(all.context, &plain));
  CHECK_OK(cushim_buffer_create(own, all.stream, LENGTH, &pooled));
  CHECK_OK(cushim_buffer_create(plain, NULL, LENGTH, &memory));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_event_export(event, good[EVENT], SIZE));
  CHECK_OK(cushim_resource_export(own, good[POOL], SIZE, &file));
  CHECK_OK(cushim_buffer_export(pooled, good[BUFFER], SIZE));
  CHECK_OK(cushim_buffer_export(memory, good[MEMORY], SIZE));
  for (i = 0; i < KINDS; i++) send_message(good[i], SIZE, i == POOL ? file : -1);
  my_turn();
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_buffer_destroy(pooled));
  CHECK_OK(cushim_buffer_destroy(memory));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  your_turn();
  my_turn();
}

static void change(unsigned char *bytes) {
  const uint64_t many = 1 + draw(4);
  uint64_t i;
  if (draw(4) == 0) memcpy(bytes + draw(SIZE / 2), good[draw(KINDS)] + draw(SIZE / 2), 1 + draw(SIZE / 2));
  for (i = 0; i < many; i++) {
    unsigned char *byte = bytes + draw(SIZE);
    switch (draw(4)) {
      case 0: *byte ^= (unsigned char)(1u << draw(8)); break;
      case 1: *byte = 0xff; break;
      case 2: *byte = 0; break;
      default: *byte = (unsigned char)draw(256); break;
    }
  }
}

static void imports(void) {
  const long count = mutations();
  long i;
  int kind, before;
  all = open_objects();
  for (kind = 0; kind < KINDS; kind++) {
    const int received = receive_message(good[kind], SIZE);
    if (kind == POOL) file = received;
  }
  CHECK_OK(cushim_resource_import(all.device, good[POOL], SIZE, file, &pool));
  for (kind = 0; kind < KINDS; kind++) CHECK_OK(import(kind, good[kind], SIZE));
  before = descriptors_open();
  for (i = 0; i < count; i++) {
    unsigned char bytes[SIZE];
    kind = (int)draw(KINDS);
    memcpy(bytes, good[kind], SIZE);
    if (draw(8) == 0) {
      CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, import(kind, bytes, draw(SIZE)));
      continue;
    }
    change(bytes);
    if (memcmp(bytes, good[kind], SIZE) == 0) continue;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, import(kind, bytes, SIZE));
    if (i % 8 != 0) continue;
    make_it_fit(bytes);
    (void)import(kind, bytes, SIZE); /* a status, whichever */
    if (i % 1024 == 0) {
      /* What was refused has changed nothing. */
      alarm(CHECK_HANGS_AFTER);
      for (kind = 0; kind < KINDS; kind++) CHECK_OK(import(kind, good[kind], SIZE));
    }
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(descriptors_open() <= before + 1);
  your_turn();
  my_turn(); /* what was exported is gone */
  CHECK_STATUS(CUDA_ERROR_MAP_FAILED, import(EVENT, good[EVENT], SIZE));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, import(BUFFER, good[BUFFER], SIZE));
  CHECK_CONTAINS(last_message(), "freed there");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, import(MEMORY, good[MEMORY], SIZE));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK(close(file) == 0);
  close_objects(&all);
  your_turn();
}

int main(void) {
  check_begin();
  in_two_processes(exports, imports, NOBODY);
  return check_done();
}
