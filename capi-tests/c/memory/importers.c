/*
 * Many threads that import at the same time what one other process has exported: events, pools, memory and virtual memory, all of them by one
 * function, and each by another. Nobody waits for ever, what counts its imports counts all of them, and no file descriptor is lost.
 */
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

#include <pthread.h>

#define MIB ((size_t)1 << 20)

enum { SIZE = CUSHIM_DESCRIPTOR_BYTES, PARTS = 2, FILES = 1, WHOLE = 3000, THREADS = 6, ROUNDS = 25 };

static struct objects all;

/* What was exported, and the file descriptors that go with some of it. */
static struct {
  uint8_t event[SIZE], pool[SIZE], pooled[SIZE], memory[SIZE], alone[SIZE], parts[PARTS * SIZE];
  int32_t pool_file, alone_file, part_files[PARTS];
} shared;

static cushim_virtual_options to_share(void) {
  cushim_virtual_options options = CUSHIM_OPTIONS(cushim_virtual_options);
  options.shareable = CUSHIM_SHAREABLE_POSIX_FD;
  return options;
}

static cushim_buffer in_two_parts(cushim_resource space) {
  cushim_buffer first = filled_buffer(space, all.stream, 2 * MIB, 5), both = NULL;
  CHECK_OK(cushim_buffer_grow(first, 4 * MIB, NULL, &both));
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(fill_buffer(all.stream, both, 2 * MIB, 6, 2 * MIB));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  return both;
}

static void send_all(void) {
  int i;
  send_message(shared.event, SIZE, -1);
  send_message(shared.pool, SIZE, shared.pool_file);
  send_message(shared.pooled, SIZE, -1);
  send_message(shared.memory, SIZE, -1);
  send_message(shared.alone, SIZE, shared.alone_file);
  for (i = 0; i < PARTS; i++) send_message(shared.parts + i * SIZE, SIZE, shared.part_files[i]);
}

static void receive_all(void) {
  int i;
  receive_message(shared.event, SIZE);
  shared.pool_file = receive_message(shared.pool, SIZE);
  receive_message(shared.pooled, SIZE);
  receive_message(shared.memory, SIZE);
  shared.alone_file = receive_message(shared.alone, SIZE);
  for (i = 0; i < PARTS; i++) shared.part_files[i] = receive_message(shared.parts + i * SIZE, SIZE);
}

static void close_files(void) {
  int i;
  CHECK(close(shared.pool_file) == 0 && close(shared.alone_file) == 0);
  for (i = 0; i < PARTS; i++) CHECK(close(shared.part_files[i]) == 0);
}

/* Exports it all, and changes nothing until the other process is done. */
static void exports(void) {
  const cushim_virtual_options options = to_share();
  cushim_resource pool, plain = NULL, space = NULL;
  cushim_buffer pooled, memory, parts;
  cushim_allocation alone = NULL;
  cushim_event event;
  all = open_objects();
  event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  pool = pool_for(all.device, FILES);
  pooled = filled_buffer(pool, all.stream, WHOLE, 3);
  CHECK_OK(cushim_resource_create_device(all.context, &plain));
  memory = filled_buffer(plain, all.stream, WHOLE, 4);
  CHECK_OK(cushim_resource_create_virtual(all.device, &options, &space));
  parts = in_two_parts(space);
  CHECK_OK(cushim_allocation_create(all.device, 2 * MIB, &options, &alone));
  CHECK_OK(cushim_event_record(event, all.stream));
  CHECK_OK(cushim_event_export(event, shared.event, SIZE));
  CHECK_OK(cushim_resource_export(pool, shared.pool, SIZE, &shared.pool_file));
  CHECK_OK(cushim_buffer_export(pooled, shared.pooled, SIZE));
  CHECK_OK(cushim_buffer_export(memory, shared.memory, SIZE));
  CHECK_OK(cushim_allocation_export(alone, shared.alone, SIZE, &shared.alone_file));
  CHECK_OK(cushim_buffer_export_parts(parts, shared.parts, sizeof shared.parts, shared.part_files, PARTS));
  send_all();
  close_files();
  my_turn();
  CHECK(last_byte(all.stream, cushim_buffer_pointer(parts), 1) == 77); /* which each importer wrote */
  CHECK(last_byte(all.stream, cushim_buffer_pointer(pooled), WHOLE) == 3);
  CHECK_OK(cushim_allocation_destroy(alone));
  CHECK_OK(cushim_buffer_destroy(parts));
  CHECK_OK(cushim_buffer_destroy(memory));
  CHECK_OK(cushim_buffer_destroy(pooled));
  CHECK_OK(cushim_resource_destroy(space));
  CHECK_OK(cushim_resource_destroy(plain));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_event_destroy(event));
  close_objects(&all);
}

/* Each import, used and given up. */

static void import_event(cushim_stream stream) {
  cushim_event event = NULL;
  CHECK_OK(cushim_event_import(all.context, shared.event, SIZE, &event));
  CHECK_OK(cushim_stream_wait_event(stream, event));
  CHECK_OK(cushim_event_record(event, stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_destroy(event));
}

static void import_pool(cushim_stream stream) {
  cushim_resource pool = NULL, again = NULL;
  cushim_buffer buffer = NULL;
  CUmemoryPool native = NULL, same = NULL;
  CHECK_OK(cushim_resource_import(all.device, shared.pool, SIZE, shared.pool_file, &pool));
  CHECK_OK(cushim_resource_import(all.device, shared.pool, SIZE, shared.pool_file, &again));
  CHECK_OK(cushim_resource_native(pool, &native));
  CHECK_OK(cushim_resource_native(again, &same));
  CHECK(native == same && native != NULL);
  CHECK_OK(cushim_buffer_import(pool, stream, shared.pooled, SIZE, &buffer));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_resource_destroy(again));
  CHECK(last_byte(stream, cushim_buffer_pointer(buffer), WHOLE) == 3);
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static void open_memory(cushim_stream stream) {
  cushim_buffer buffer = NULL, again = NULL;
  unsigned char descriptor[CUSHIM_DESCRIPTOR_BYTES];
  CHECK_OK(cushim_buffer_open(all.context, stream, shared.memory, SIZE, &buffer));
  CHECK_OK(cushim_buffer_open(all.context, NULL, shared.memory, SIZE, &again));
  CHECK(cushim_buffer_pointer(buffer) == cushim_buffer_pointer(again));
  CHECK_OK(cushim_buffer_destroy(again));
  CHECK(last_byte(stream, cushim_buffer_pointer(buffer), WHOLE) == 4);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_buffer_export(buffer, descriptor, sizeof descriptor));
  CHECK_CONTAINS(last_message(), "was opened, and only the process that allocated it can export it");
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static cushim_resource space;

static void import_parts(cushim_stream stream) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_import_parts(space, stream, shared.parts, sizeof shared.parts, shared.part_files, PARTS, &buffer));
  CHECK(last_byte(stream, cushim_buffer_pointer(buffer), 2 * MIB) == 5 && last_byte(stream, cushim_buffer_pointer(buffer), 4 * MIB) == 6);
  CHECK_OK(fill_buffer(stream, buffer, 0, 77, 1));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

static void import_alone(cushim_stream stream) {
  cushim_allocation allocation = NULL;
  cushim_reservation range = NULL;
  (void)stream;
  CHECK_OK(cushim_allocation_import(all.device, NULL, shared.alone, SIZE, shared.alone_file, &allocation));
  CHECK_OK(cushim_reservation_create(all.device, 2 * MIB, NULL, &range));
  CHECK_OK(cushim_reservation_map(range, 0, allocation));
  CHECK_OK(cushim_allocation_destroy(allocation));
  CHECK_OK(cushim_reservation_destroy(range));
}

static void (*const imports_of[])(cushim_stream stream) = {import_event, import_pool, open_memory, import_parts, import_alone};
enum { KINDS = sizeof imports_of / sizeof *imports_of };

/* One function for all threads, or KINDS: each thread begins with another. */
static int wanted;
static pthread_barrier_t together;

static void *imports_often(void *number) {
  const int first = (int)(intptr_t)number;
  cushim_stream stream = new_stream(all.context);
  int i;
  pthread_barrier_wait(&together);
  for (i = 0; i < ROUNDS; i++) imports_of[wanted < KINDS ? wanted : (first + i) % KINDS](stream);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  return NULL;
}

static void by_many_threads(void) {
  pthread_t threads[THREADS];
  int i;
  CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, imports_often, (void *)(intptr_t)i) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&together) == 0);
  flush_callbacks(); /* pools that were in use go later */
}

/* While one more has it, it is at the same address for all threads. */
static void beside_another(void) {
  cushim_buffer buffer = NULL, pooled = NULL;
  cushim_resource pool = NULL;
  CHECK_OK(cushim_buffer_open(all.context, all.stream, shared.memory, SIZE, &buffer));
  CHECK_OK(cushim_resource_import(all.device, shared.pool, SIZE, shared.pool_file, &pool));
  CHECK_OK(cushim_buffer_import(pool, all.stream, shared.pooled, SIZE, &pooled));
  by_many_threads();
  CHECK(last_byte(all.stream, cushim_buffer_pointer(buffer), WHOLE) == 4);
  CHECK(last_byte(all.stream, cushim_buffer_pointer(pooled), WHOLE) == 3);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_buffer_destroy(pooled));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  flush_callbacks();
}

static void imports(void) {
  uint64_t unreported = 7;
  int before;
  all = open_objects();
  receive_all();
  CHECK_OK(cushim_resource_create_virtual(all.device, NULL, &space));
  wanted = KINDS;
  by_many_threads(); /* drivers open files of their own for the first of each */
  before = descriptors_open();
  for (wanted = 0; wanted <= KINDS; wanted++) by_many_threads();
  wanted = KINDS;
  beside_another();
  CHECK(descriptors_open() == before);
  close_files();
  CHECK(descriptors_open() == before - 2 - PARTS);
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &unreported));
  CHECK(unreported == 0);
  CHECK_OK(cushim_resource_destroy(space));
  close_objects(&all);
  your_turn();
}

int main(void) {
  check_begin();
  if (answers(is_none)) return check_done();
  in_two_processes(exports, imports, NOBODY);
  return check_done();
}
