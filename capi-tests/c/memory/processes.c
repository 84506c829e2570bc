/*
 * Events, pools and memory in two processes: what one exports the other imports, waits for, reads and writes; imported twice it is the same;
 * each may end first; what comes from elsewhere is looked at before the driver sees it, and no file descriptor is lost.
 */
#include "objects.h"
#include "resources.h"
#include "two_processes.h"

#include <pthread.h>

enum { WHOLE = 1 << 20, SMALL = 200, SIZE = CUSHIM_DESCRIPTOR_BYTES, FILES = 1, THREADS = 6, ROUNDS = 40 };

typedef struct {
  uint8_t bytes[SIZE];
} descriptor;

static struct objects all;

#define REFUSED(call) CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, call)

static uint64_t address_of(cushim_buffer buffer) {
  uint64_t pointer = 0;
  CHECK_OK(cushim_buffer_get_pointer(buffer, &pointer));
  return pointer;
}

static unsigned byte_of(cushim_buffer buffer, size_t at) { return last_byte(all.stream, address_of(buffer), at + 1); }

static void send_descriptor(const descriptor *what, int file) { send_message(what, sizeof *what, file); }

static int receive_descriptor(descriptor *what) { return receive_message(what, sizeof *what); }

static cushim_status import_pool(const descriptor *what, int file, cushim_resource *pool) {
  *pool = (cushim_resource)(uintptr_t)1;
  return cushim_resource_import(all.device, what->bytes, SIZE, file, pool);
}

static cushim_status import_buffer(cushim_resource pool, const descriptor *what, cushim_buffer *buffer) {
  *buffer = (cushim_buffer)(uintptr_t)1;
  return cushim_buffer_import(pool, all.stream, what->bytes, SIZE, buffer);
}

/* One that was changed on the way, at any byte, is none. */
static void changed_ones_are_refused(const descriptor *good, cushim_status (*import)(const descriptor *)) {
  size_t i;
  for (i = 0; i < SIZE; i++) {
    descriptor bad = *good;
    bad.bytes[i] ^= (uint8_t)(1u << (i % 8));
    REFUSED(import(&bad));
  }
}

/* Events. */

static cushim_status import_any_event(const descriptor *what) {
  cushim_event event = (cushim_event)(uintptr_t)1;
  const cushim_status status = cushim_event_import(all.context, what->bytes, SIZE, &event);
  CHECK(event == NULL);
  return status;
}

static int gate;
static void hold(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) usleep(500);
}

static void close_gate(void) {
  __atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
  CHECK_OK(cushim_stream_launch_host_function(all.stream, hold, NULL, NULL));
}

static void open_gate(void) {
  __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static int is_done(cushim_event event) {
  int32_t done = -1;
  CHECK_OK(cushim_event_query(event, &done));
  return done;
}

static void exports_events(void) {
  cushim_event event, plain;
  descriptor handle, again;
  all = open_objects();
  event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  plain = new_event(all.context, 0);
  CHECK_OK(cushim_set_label(plain, "mine"));
  REFUSED(cushim_event_export(plain, again.bytes, SIZE));
  CHECK_CONTAINS(last_message(), "\"mine\"");
  CHECK_CONTAINS(last_message(), "CUSHIM_EVENT_INTERPROCESS");
  CHECK(again.bytes[0] == 0 && again.bytes[SIZE - 1] == 0);
  REFUSED(cushim_event_export(event, NULL, SIZE));
  REFUSED(cushim_event_export(event, again.bytes, SIZE - 1));
  CHECK_CONTAINS(last_message(), "159 bytes");
  CHECK_OK(cushim_event_export(event, handle.bytes, SIZE));
  REFUSED(import_any_event(&handle));
  CHECK_CONTAINS(last_message(), "by this process");
  send_descriptor(&handle, -1);
  my_turn();
  close_gate();
  CHECK_OK(cushim_event_record(event, all.stream));
  your_turn();
  my_turn();
  CHECK(!is_done(event));
  open_gate();
  CHECK(is_done(event));
  your_turn();
  CHECK_OK(cushim_event_destroy(event));
  my_turn();
  CHECK_OK(cushim_event_destroy(plain));
  close_objects(&all);
}

static void imports_events(void) {
  cushim_event event = NULL, again = NULL;
  descriptor handle, other;
  uint32_t flags = 0;
  float time = 0;
  all = open_objects();
  receive_descriptor(&handle);
  changed_ones_are_refused(&handle, import_any_event);
  REFUSED(cushim_event_import(all.context, handle.bytes, SIZE - 1, &event));
  CHECK_CONTAINS(last_message(), "159 bytes");
  REFUSED(cushim_event_import(all.context, NULL, SIZE, &event));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_import(NULL, handle.bytes, SIZE, &event));
  CHECK_OK(cushim_event_import(all.context, handle.bytes, SIZE, &event));
  CHECK_OK(cushim_event_import(all.context, handle.bytes, SIZE, &again));
  CHECK(!is_same(event, again));
  CHECK_OK(cushim_event_get_flags(event, &flags));
  CHECK(flags == CUSHIM_EVENT_INTERPROCESS);
  REFUSED(cushim_event_export(event, other.bytes, SIZE));
  CHECK_CONTAINS(last_message(), "imported event");
  CHECK_STATUS(CUSHIM_ERROR_TIMING_DISABLED, cushim_event_elapsed(event, again, &time));
  CHECK_CONTAINS(last_message(), "is for several processes");
  CHECK(is_done(event) && is_done(again));
  your_turn();
  my_turn();
  CHECK(!is_done(event) && !is_done(again));
  CHECK_OK(cushim_stream_wait_event(all.stream, event));
  your_turn();
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(is_done(event) && is_done(again));
  my_turn();
  CHECK_OK(cushim_event_record(again, all.stream));
  CHECK_OK(cushim_event_synchronize(again));
  CHECK(is_done(event));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_event_destroy(again));
  close_objects(&all);
  your_turn();
}

/* Pools and their buffers. */

static cushim_status import_any_pool(const descriptor *what) {
  cushim_resource pool = NULL;
  const cushim_status status = import_pool(what, 0, &pool);
  CHECK(pool == NULL);
  return status;
}

/* The device's own pool is not for others. */
static void of_default_pool(void) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL;
  descriptor unused;
  int32_t file = 7;
  options.choice = CUSHIM_POOL_DEFAULT;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &pool));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_resource_export(pool, unused.bytes, SIZE, &file));
  CHECK_CONTAINS(last_message(), "CUSHIM_POOL_OWN");
  CHECK(file == 0);
  buffer = filled_buffer(pool, all.stream, SMALL, 1);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_buffer_export(buffer, unused.bytes, SIZE));
  CHECK_CONTAINS(last_message(), "CUSHIM_POOL_OWN");
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_resource_destroy(pool));
}

static void exports_pools(void) {
  cushim_resource pool, plain, again = NULL, other;
  cushim_buffer buffer, small, mine, nothing = NULL, ours = NULL;
  descriptor handle, second, contents, contents_small, unused;
  int32_t file = -1, file2 = -1, none = 5;
  all = open_objects();
  pool = pool_for(all.device, FILES);
  other = pool_for(all.device, FILES);
  plain = pool_for(all.device, 0);
  of_default_pool();
  CHECK_OK(cushim_set_label(plain, "mine"));
  REFUSED(cushim_resource_export(plain, unused.bytes, SIZE, &none));
  CHECK_CONTAINS(last_message(), "\"mine\"");
  CHECK_CONTAINS(last_message(), "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
  CHECK(none == 0);
  CHECK_OK(cushim_resource_export(pool, handle.bytes, SIZE, &file));
  CHECK_OK(cushim_resource_export(other, second.bytes, SIZE, &file2));
  CHECK_OK(import_pool(&handle, file, &again)); /* of this process it is itself */
  CHECK(is_same(again, pool));
  CHECK_OK(cushim_resource_destroy(again));
  buffer = filled_buffer(pool, all.stream, WHOLE, 42);
  small = filled_buffer(pool, all.stream, SMALL, 43);
  mine = filled_buffer(plain, all.stream, SMALL, 44);
  REFUSED(cushim_buffer_export(mine, unused.bytes, SIZE));
  CHECK_CONTAINS(last_message(), "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
  CHECK_OK(cushim_buffer_create(pool, all.stream, 0, &nothing));
  REFUSED(cushim_buffer_export(nothing, unused.bytes, SIZE));
  CHECK_OK(cushim_buffer_export(buffer, contents.bytes, SIZE));
  CHECK_OK(cushim_buffer_export(small, contents_small.bytes, SIZE));
  REFUSED(import_buffer(pool, &contents, &ours));
  CHECK_CONTAINS(last_message(), "use the buffer itself");
  send_descriptor(&handle, file);
  send_descriptor(&second, file2);
  send_descriptor(&contents, -1);
  send_descriptor(&contents_small, -1);
  CHECK(close(file) == 0 && close(file2) == 0);
  my_turn();
  CHECK(byte_of(buffer, 0) == 78 && byte_of(buffer, WHOLE - 1) == 42);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_buffer_destroy(small));
  CHECK_OK(cushim_buffer_destroy(mine));
  CHECK_OK(cushim_buffer_destroy(nothing));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_resource_destroy(other));
  CHECK_OK(cushim_resource_destroy(plain));
  close_objects(&all);
}

static cushim_resource imported;
static descriptor shared_contents;

static cushim_status import_any_buffer(const descriptor *what) {
  cushim_buffer buffer = NULL;
  const cushim_status status = import_buffer(imported, what, &buffer);
  CHECK(buffer == NULL);
  return status;
}

/* Many threads import and let go of the same memory: nobody ever has it when it is gone. */
static void *imports_often(void *unused) {
  cushim_stream stream = new_stream(all.context);
  int i;
  (void)unused;
  for (i = 0; i < ROUNDS; i++) {
    cushim_buffer buffer = NULL;
    CHECK_OK(cushim_buffer_import(imported, stream, shared_contents.bytes, SIZE, &buffer));
    CHECK(last_byte(stream, address_of(buffer), WHOLE) == 42);
    CHECK_OK(cushim_buffer_destroy(buffer));
  }
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  return NULL;
}

static void imports_pools(void) {
  cushim_resource pool, twice, other, own;
  cushim_buffer buffer, again, small, none = NULL;
  descriptor handle, second, contents_small, wrong;
  cushim_stream another;
  pthread_t threads[THREADS];
  uint64_t pointer = 0, value = 0;
  size_t bytes = 0;
  int file, file2, regular, ends[2], before, i;
  all = open_objects();
  another = new_stream(all.context);
  own = pool_for(all.device, FILES);
  file = receive_descriptor(&handle);
  file2 = receive_descriptor(&second);
  receive_descriptor(&shared_contents);
  receive_descriptor(&contents_small);
  CHECK(file >= 0 && file2 >= 0 && pipe(ends) == 0);
  regular = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  before = descriptors_open();
  changed_ones_are_refused(&handle, import_any_pool);
  REFUSED(import_pool(&shared_contents, file, &pool));
  CHECK_CONTAINS(last_message(), "cushim_buffer_import");
  REFUSED(import_pool(&handle, -1, &pool));
  CHECK_CONTAINS(last_message(), "-1");
  REFUSED(import_pool(&handle, 1000, &pool));
  CHECK_CONTAINS(last_message(), "not open");
  REFUSED(import_pool(&handle, regular, &pool));
  CHECK_CONTAINS(last_message(), "regular file");
  REFUSED(import_pool(&handle, ends[0], &pool));
  CHECK_CONTAINS(last_message(), "pipe");
  REFUSED(import_pool(&handle, peer_socket, &pool));
  CHECK_CONTAINS(last_message(), "socket");
  CHECK(descriptors_open() == before && fcntl(regular, F_GETFD) >= 0);

  CHECK_OK(import_pool(&handle, file, &pool));
  CHECK_OK(import_pool(&handle, file, &twice));
  REFUSED(import_pool(&second, file, &other));
  CHECK_CONTAINS(last_message(), "of another pool");
  CHECK_OK(import_pool(&second, file2, &other));
  CHECK(close(file) == 0 && close(file2) == 0 && close(regular) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_allocate(pool, all.stream, SMALL, &pointer));
  CHECK_CONTAINS(last_message(), "another process");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_buffer_create(pool, all.stream, SMALL, &none));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_get_attribute(pool, CUSHIM_POOL_RELEASE_THRESHOLD, &value));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_trim(pool, 0));
  REFUSED(cushim_device_set_resource(all.device, pool));
  CHECK_CONTAINS(last_message(), "allocates none");
  REFUSED(cushim_resource_export(pool, wrong.bytes, SIZE, &ends[0]));

  imported = pool;
  changed_ones_are_refused(&shared_contents, import_any_buffer);
  REFUSED(import_buffer(pool, &handle, &none));
  CHECK_CONTAINS(last_message(), "cushim_resource_import");
  REFUSED(import_buffer(other, &shared_contents, &none));
  CHECK_CONTAINS(last_message(), "is pool");
  REFUSED(import_buffer(own, &shared_contents, &none));
  CHECK_CONTAINS(last_message(), "cushim_resource_import");
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_buffer_import(pool, NULL, shared_contents.bytes, SIZE, &none));
  REFUSED(cushim_buffer_open(all.context, NULL, shared_contents.bytes, SIZE, &none));

  CHECK_OK(import_buffer(pool, &shared_contents, &buffer));
  CHECK_OK(cushim_buffer_import(twice, another, shared_contents.bytes, SIZE, &again));
  CHECK_OK(import_buffer(pool, &contents_small, &small));
  CHECK(address_of(buffer) == address_of(again) && address_of(small) != address_of(buffer));
  CHECK_OK(cushim_buffer_get_size(small, &bytes));
  CHECK(bytes == SMALL);
  REFUSED(cushim_buffer_export(buffer, wrong.bytes, SIZE));
  CHECK(byte_of(buffer, 0) == 42 && byte_of(again, WHOLE - 1) == 42 && byte_of(small, SMALL - 1) == 43);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(byte_of(again, 1) == 42); /* it is still the other's */
  CHECK_OK(import_buffer(twice, &shared_contents, &buffer));
  CHECK_OK(cushim_buffer_destroy(again));
  CHECK_OK(cushim_resource_destroy(twice));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 78, 16));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, imports_often, NULL) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_buffer_destroy(small));
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, imports_often, NULL) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_stream_synchronize(another));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_resource_destroy(other));
  CHECK_OK(cushim_resource_destroy(own));
  CHECK_OK(cushim_stream_destroy(another));
  close_objects(&all);
  your_turn();
}

/* One buffer goes before a reset and the other after it: the memory is freed all the same, though the stream of the first is gone. */

static void exports_once(void) {
  cushim_resource pool;
  cushim_buffer buffer;
  descriptor handle, contents;
  int32_t file = -1;
  all = open_objects();
  pool = pool_for(all.device, FILES);
  buffer = filled_buffer(pool, all.stream, WHOLE, 9);
  CHECK_OK(cushim_resource_export(pool, handle.bytes, SIZE, &file));
  CHECK_OK(cushim_buffer_export(buffer, contents.bytes, SIZE));
  send_descriptor(&handle, file);
  send_descriptor(&contents, -1);
  CHECK(close(file) == 0);
  my_turn();
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(pool));
  close_objects(&all);
}

static void imports_and_resets(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL, again = NULL;
  descriptor handle, contents;
  uint64_t unreported = 7;
  int file;
  all = open_objects();
  file = receive_descriptor(&handle);
  receive_descriptor(&contents);
  CHECK_OK(import_pool(&handle, file, &pool));
  CHECK_OK(import_buffer(pool, &contents, &buffer));
  CHECK_OK(import_buffer(pool, &contents, &again));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_device_reset_primary_context(all.device));
  CHECK_OK(cushim_buffer_destroy(again));
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &unreported));
  CHECK(unreported == 0);
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK(close(file) == 0);
  close_objects(&all);
  your_turn();
}

/* Memory of cuMemAlloc. */

static cushim_status open_any(const descriptor *what) {
  cushim_buffer buffer = (cushim_buffer)(uintptr_t)1;
  const cushim_status status = cushim_buffer_open(all.context, all.stream, what->bytes, SIZE, &buffer);
  CHECK(buffer == NULL);
  return status;
}

static void exports_memory(void) {
  cushim_resource resource = NULL, pinned = NULL;
  cushim_buffer buffer, host = NULL;
  descriptor handle, unused;
  int32_t file = 0;
  all = open_objects();
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_export(resource, unused.bytes, SIZE, &file));
  buffer = filled_buffer(resource, all.stream, WHOLE, 7);
  CHECK_OK(cushim_resource_create_pinned(all.context, NULL, &pinned));
  CHECK_OK(cushim_buffer_create(pinned, all.stream, SMALL, &host));
  REFUSED(cushim_buffer_export(host, unused.bytes, SIZE));
  CHECK_OK(cushim_buffer_export(buffer, handle.bytes, SIZE));
  REFUSED(open_any(&handle));
  CHECK_CONTAINS(last_message(), "by this process");
  send_descriptor(&handle, -1);
  my_turn();
  CHECK(byte_of(buffer, 0) == 77 && byte_of(buffer, 1) == 7);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_buffer_destroy(host));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_resource_destroy(pinned));
  close_objects(&all);
}

static void imports_memory(void) {
  cushim_buffer buffer = NULL, again = NULL;
  cushim_resource resource = NULL;
  descriptor handle;
  uint64_t pointer = 0;
  all = open_objects();
  receive_descriptor(&handle);
  changed_ones_are_refused(&handle, open_any);
  CHECK_OK(cushim_buffer_open(all.context, all.stream, handle.bytes, SIZE, &buffer));
  CHECK_OK(cushim_buffer_open(all.context, NULL, handle.bytes, SIZE, &again));
  CHECK(address_of(buffer) == address_of(again));
  CHECK(byte_of(buffer, WHOLE - 1) == 7);
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 77, 1));
  CHECK_OK(cushim_buffer_get_resource(buffer, &resource));
  REFUSED(cushim_device_set_resource(all.device, resource));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_resource_allocate(resource, NULL, SMALL, &pointer));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(byte_of(again, 0) == 77);
  CHECK_OK(cushim_buffer_destroy(again));
  close_objects(&all);
  your_turn();
}

/* The exporter ends first, in the middle of its work. */

static int is_killed;

static void exports_and_ends(void) {
  cushim_resource pool;
  cushim_buffer buffer;
  cushim_event event;
  descriptor handle, contents, mark;
  int32_t file = -1;
  all = open_objects();
  pool = pool_for(all.device, FILES);
  buffer = filled_buffer(pool, all.stream, SMALL, 5);
  event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  CHECK_OK(cushim_buffer_export(buffer, contents.bytes, SIZE)); /* before its pool, of which the driver wants a descriptor first */
  CHECK_OK(cushim_resource_export(pool, handle.bytes, SIZE, &file));
  CHECK_OK(cushim_event_export(event, mark.bytes, SIZE));
  close_gate();
  CHECK_OK(cushim_event_record(event, all.stream));
  send_descriptor(&handle, file);
  send_descriptor(&contents, -1);
  send_descriptor(&mark, -1);
  my_turn();
  if (is_killed) raise(SIGKILL);
  open_gate();
}

static void imports_and_stays(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL;
  cushim_event event = NULL;
  descriptor handle, contents, mark;
  int file;
  all = open_objects();
  file = receive_descriptor(&handle);
  receive_descriptor(&contents);
  receive_descriptor(&mark);
  CHECK_OK(import_pool(&handle, file, &pool));
  CHECK_OK(import_buffer(pool, &contents, &buffer));
  CHECK_OK(cushim_event_import(all.context, mark.bytes, SIZE, &event));
  CHECK(!is_done(event));
  your_turn();
  CHECK(receive_message(NULL, 0) == -2);
  CHECK(byte_of(buffer, 0) == 5); /* what was imported stays */
  CHECK(is_done(event) == !is_killed);
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK(close(file) == 0);
  close_objects(&all);
}

/* The importer is killed with an event, memory of a pool and memory of a device; the exporter goes on with all three. */

static void exports_and_stays(void) {
  cushim_resource pool, device_memory = NULL;
  cushim_buffer buffer, plain;
  cushim_event event;
  descriptor handle, contents, memory, mark;
  int32_t file = -1;
  all = open_objects();
  pool = pool_for(all.device, FILES);
  buffer = filled_buffer(pool, all.stream, SMALL, 5);
  CHECK_OK(cushim_resource_create_device(all.context, &device_memory));
  plain = filled_buffer(device_memory, all.stream, WHOLE, 6);
  event = new_event(all.context, CUSHIM_EVENT_INTERPROCESS);
  CHECK_OK(cushim_resource_export(pool, handle.bytes, SIZE, &file));
  CHECK_OK(cushim_buffer_export(buffer, contents.bytes, SIZE));
  CHECK_OK(cushim_buffer_export(plain, memory.bytes, SIZE));
  CHECK_OK(cushim_event_export(event, mark.bytes, SIZE));
  close_gate();
  CHECK_OK(cushim_event_record(event, all.stream));
  send_descriptor(&handle, file);
  send_descriptor(&contents, -1);
  send_descriptor(&memory, -1);
  send_descriptor(&mark, -1);
  CHECK(receive_message(NULL, 0) == -2);
  CHECK(!is_done(event));
  open_gate();
  CHECK_OK(cushim_event_synchronize(event));
  CHECK(byte_of(buffer, 0) == 77 && byte_of(buffer, 1) == 5);
  CHECK(byte_of(plain, 0) == 78 && byte_of(plain, 1) == 6);
  CHECK_OK(cushim_event_record(event, all.stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_buffer_destroy(plain));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_resource_destroy(device_memory));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK(close(file) == 0);
  close_objects(&all);
}

static void imports_and_is_killed(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL, plain = NULL;
  cushim_event event = NULL;
  descriptor handle, contents, memory, mark;
  int file;
  all = open_objects();
  file = receive_descriptor(&handle);
  receive_descriptor(&contents);
  receive_descriptor(&memory);
  receive_descriptor(&mark);
  CHECK_OK(import_pool(&handle, file, &pool));
  CHECK_OK(import_buffer(pool, &contents, &buffer));
  CHECK_OK(cushim_buffer_open(all.context, all.stream, memory.bytes, SIZE, &plain));
  CHECK_OK(cushim_event_import(all.context, mark.bytes, SIZE, &event));
  CHECK_OK(fill_buffer(all.stream, buffer, 0, 77, 1));
  CHECK_OK(fill_buffer(all.stream, plain, 0, 78, 1));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_stream_wait_event(all.stream, event)); /* in the middle of a wait */
  fflush(NULL);
  if (check_failures == 0) raise(SIGKILL);
}

/* The driver is asked for before a descriptor is read. */
static void without_driver(void) {
  unsigned char bytes[SIZE] = {0};
  int32_t file = 7;
  cushim_event_options options = CUSHIM_OPTIONS(cushim_event_options);
  cushim_event event = NULL, other = NULL;
  cushim_resource resource = NULL, imported = NULL;
  cushim_buffer buffer = NULL, found = NULL;
  all = open_objects();
  options.flags = CUSHIM_EVENT_INTERPROCESS;
  CHECK_OK(cushim_event_create(all.context, &options, &event));
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 0, 0, NULL, NULL, &buffer));
#define WITHOUT_DRIVER(call) \
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, call); \
  CHECK_CONTAINS(last_message(), "none is open")
  WITHOUT_DRIVER(cushim_event_export(event, bytes, SIZE));
  WITHOUT_DRIVER(cushim_event_import(all.context, bytes, SIZE, &other));
  WITHOUT_DRIVER(cushim_resource_export(resource, bytes, SIZE, &file));
  WITHOUT_DRIVER(cushim_resource_import(all.device, bytes, SIZE, -1, &imported));
  WITHOUT_DRIVER(cushim_buffer_export(buffer, bytes, SIZE));
  WITHOUT_DRIVER(cushim_buffer_import(resource, all.stream, bytes, SIZE, &found));
  WITHOUT_DRIVER(cushim_buffer_open(all.context, NULL, bytes, SIZE, &found));
  CHECK(other == NULL && imported == NULL && found == NULL && file == 0);
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_event_destroy(event));
  close_objects(&all);
}

int main(void) {
  check_begin();
  if (answers(is_none)) {
    without_driver();
    return check_done();
  }
  in_two_processes(exports_events, imports_events, NOBODY);
  in_two_processes(exports_pools, imports_pools, NOBODY);
  if (answers(is_software)) in_two_processes(exports_once, imports_and_resets, NOBODY);
  in_two_processes(exports_memory, imports_memory, NOBODY);
  in_two_processes(exports_and_ends, imports_and_stays, NOBODY);
  in_two_processes(exports_and_stays, imports_and_is_killed, THE_IMPORTER);
  is_killed = 1;
  in_two_processes(exports_and_ends, imports_and_stays, THE_EXPORTER);
  return check_done();
}
