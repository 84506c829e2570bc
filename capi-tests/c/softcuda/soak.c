/*
 * Nothing grows: `soak [SECONDS]`. Threads make, use and destroy everything there is, and make calls that fail; every second they
 * end, and others take their place. In between, the process must have as many descriptors and threads as before, and no more
 * memory, and nothing may live in the driver.
 */
#include "graphs.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

enum {
  THREADS = 8,
  WARM_UP = 3,           /* rounds, until most caches and lists are as large as they get */
  SLACK = 1024 * 1024,   /* bytes in use, for the rest of them */
  SPARE_THREADS = 4      /* threads of softcuda's that it keeps once it has needed them at a time */
};

/* What a process may have too much of. */
struct measure {
  size_t in_use;   /* bytes that malloc has given out */
  size_t resident; /* bytes in memory */
  int descriptors, threads;
};

static int count_in(const char *folder) {
  DIR *const open = opendir(folder);
  int count = 0;
  if (!CHECK(open != NULL)) exit(1);
  while (readdir(open) != NULL) count++;
  closedir(open);
  return count;
}

static struct measure measured(void) {
  const long page = sysconf(_SC_PAGESIZE);
  struct measure now;
  unsigned long pages = 0;
  FILE *const file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%*u %lu", &pages) == 1);
  if (file != NULL) fclose(file);
  now.resident = pages * (size_t)page;
  now.in_use = mallinfo2().uordblks;
  now.descriptors = count_in("/proc/self/fd");
  now.threads = count_in("/proc/self/task");
  return now;
}

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void use_streams(cushim_context context) {
  cushim_stream stream = new_stream(context), other = new_stream(context), again;
  cushim_event begun = new_event(context, CUSHIM_EVENT_TIMING), ended = new_event(context, CUSHIM_EVENT_TIMING);
  int32_t done;
  float took;
  CHECK_OK(cushim_set_label(stream, "soaked"));
  CHECK_OK(cushim_event_record(begun, stream));
  CHECK_OK(cushim_stream_wait_event(other, begun));
  CHECK_OK(cushim_event_record(ended, other));
  CHECK_OK(cushim_stream_wait_stream(stream, other));
  CHECK_OK(cushim_event_synchronize(ended));
  CHECK_OK(cushim_event_query(begun, &done));
  CHECK_OK(cushim_event_elapsed(begun, ended, &took));
  CHECK_OK(cushim_stream_ref(stream, &again));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_stream_synchronize(again));
  CHECK_OK(cushim_stream_destroy(again));
  CHECK_OK(cushim_stream_destroy(other));
  CHECK_OK(cushim_event_destroy(begun));
  CHECK_OK(cushim_event_destroy(ended));
}

static void use_memory(cushim_context context, cushim_device device) {
  cushim_stream stream = new_stream(context);
  cushim_resource pool, pinned, managed;
  cushim_buffer of_device, of_pool, of_pinned, of_managed;
  uint64_t pointer;
  void *host;
  CHECK_OK(cushim_resource_create_device_pool(device, &DEVICE_POOL_OPTIONS, &pool));
  CHECK_OK(cushim_resource_create_pinned(context, &PINNED_OPTIONS, &pinned));
  CHECK_OK(cushim_resource_create_managed(context, &MANAGED_OPTIONS, &managed));
  CHECK_OK(cushim_buffer_create_default(device, stream, BYTES, &of_device));
  CHECK_OK(cushim_buffer_create(pool, stream, BYTES, &of_pool));
  CHECK_OK(cushim_buffer_create(pinned, stream, BYTES, &of_pinned));
  CHECK_OK(cushim_buffer_create(managed, stream, BYTES, &of_managed));
  CHECK_OK(cushim_context_allocate(context, BYTES, &pointer));
  CHECK_OK(cushim_context_allocate_host(context, BYTES, 0, &host));
  CHECK_OK(fill_buffer(stream, of_device, 0, 1, BYTES));
  CHECK_OK(copy_buffer(stream, of_pool, of_device));
  CHECK_OK(copy_buffer(stream, of_pinned, of_pool));
  CHECK_OK(copy_buffer(stream, of_managed, of_pinned));
  CHECK(last_byte(stream, cushim_buffer_pointer(of_managed), BYTES) == 1);
  CHECK_OK(set_bytes(context, pointer, 2, BYTES));
  CHECK_OK(cushim_buffer_destroy(of_device));
  CHECK_OK(cushim_buffer_destroy(of_pool));
  CHECK_OK(cushim_buffer_destroy(of_pinned));
  CHECK_OK(cushim_buffer_destroy(of_managed));
  CHECK_OK(cushim_resource_destroy(pool));
  CHECK_OK(cushim_resource_destroy(pinned));
  CHECK_OK(cushim_resource_destroy(managed));
  CHECK_OK(cushim_context_free(context, pointer));
  CHECK_OK(cushim_context_free_host(context, host));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
}

static void CUSHIM_CUDA_CB nothing_to_do(void *data) { (void)data; }

/* Work of one thread's in a stream that may be captured. */
static void enqueue(cushim_stream stream, cushim_kernel kernel, uint64_t number, int *releases) {
  const cushim_owner owner = counted(releases);
  cushim_endpoint to = cushim_endpoint_device(number);
  uint32_t digit = 1;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(number);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(4), 1));
  CHECK_OK(cushim_kernel_launch(kernel, stream, NULL, args, 2));
  CHECK_OK(cushim_stream_launch_host_function(stream, nothing_to_do, releases, &owner));
}

static void use_graphs(cushim_context context, cushim_kernel kernel, uint64_t number, int *releases) {
  const cushim_graph_allocation some = {sizeof some, BYTES, {(cushim_location_kind)0, 0}, 0, 0, NULL, 0};
  const cushim_owner owner = counted(releases);
  cushim_stream stream = new_stream(context);
  cushim_endpoint to = cushim_endpoint_device(number);
  cushim_graph graph, clone, captured;
  cushim_builder builder;
  cushim_exec exec;
  cushim_node fill, launch, function, child, allocation;
  uint64_t allocated;
  CHECK_OK(cushim_graph_create(context, NULL, &graph));
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(3), 1, &fill));
  CHECK_OK(add_numbered(graph, &fill, 1, kernel, number, 5, &launch));
  CHECK_OK(cushim_graph_add_host_function(graph, &launch, 1, nothing_to_do, releases, &owner, &function));
  CHECK_OK(cushim_builder_create(context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  enqueue(cushim_builder_stream(builder), kernel, number, releases);
  CHECK_OK(cushim_builder_end(builder, &captured));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_add_child(graph, &function, 1, captured, CUSHIM_CHILD_CLONE, &child, NULL));
  CHECK_OK(cushim_graph_destroy(captured));
  CHECK_OK(cushim_graph_clone(graph, &clone));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_exec_set_fill(exec, fill, &to, CUSHIM_VALUE_32(4), 1));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_exec_update(exec, clone, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_node_remove(child));
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_add_allocation(graph, NULL, 0, &some, &allocation, &allocated));
  CHECK_OK(cushim_graph_add_free(graph, &allocation, 1, allocated, NULL));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
}

/* Calls that fail. */
static void fail(cushim_context context) {
  cushim_stream stream = new_stream(context), none = stream;
  cushim_library library;
  cushim_error error;
  uint64_t pointer;
  int i;
  CHECK_OK(cushim_set_label(stream, "failing"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_event_record((cushim_event)(void *)stream, stream));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_context_allocate(context, (size_t)1 << 50, &pointer));
  CHECK_STATUS(CUDA_ERROR_INVALID_IMAGE, cushim_library_load(context, "nonsense", 9, NULL, &library));
  CHECK_OK(cushim_stream_destroy(stream));
  for (i = 0; i < 4; i++) CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_stream_destroy(none));
  CHECK_OK(cushim_error_take(&error));
  CHECK_OK(cushim_error_destroy(error));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_stream_synchronize(none));
  CHECK_CONTAINS(cushim_last_error_message(), "failing");
}

static long long end; /* of this round, in milliseconds */
static int releases[THREADS], expected[THREADS];

/* What one thread does over and over. */
static void use_all(int index) {
  const int in_own_context = expected[index] % 4 == 0;
  cushim_context context = all.context;
  cushim_library library;
  cushim_kernel kernel;
  cushim_stream stream;
  if (in_own_context) {
    CHECK_OK(cushim_context_create(all.device, NULL, &context));
    CHECK_OK(cushim_stream_create(context, NULL, &stream));
    CHECK_OK(cushim_stream_destroy(stream));
  }
  use_streams(context);
  use_memory(context, all.device);
  CHECK_OK(cushim_library_load(context, trace_code, sizeof trace_code, NULL, &library));
  kernel = kernel_of(library, "append");
  stream = new_stream(context);
  enqueue(stream, kernel, slot(index), &releases[index]);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  use_graphs(context, kernel, slot(index), &releases[index]);
  fail(context);
  CHECK_OK(cushim_kernel_destroy(kernel));
  CHECK_OK(cushim_library_destroy(library));
  if (in_own_context) CHECK_OK(cushim_context_destroy(context));
  expected[index] += 3; /* owners */
}

static void *work(void *index) {
  while (check_failures == 0 && now_ms() < end) use_all((int)(intptr_t)index);
  return NULL;
}

/* A round: threads that are not there afterwards. */
static void soak(long long milliseconds) {
  pthread_t threads[THREADS];
  int i;
  alarm(CHECK_HANGS_AFTER);
  end = now_ms() + milliseconds;
  for (i = 0; i < THREADS; i++) {
    if (!CHECK(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) == 0)) exit(1);
  }
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (i = 0; i < THREADS; i++) CHECK(released_soon(&releases[i], expected[i]) == expected[i]);
}

/* A thread that was joined is listed for a moment longer. */
static struct measure settled(int threads) {
  struct measure now = measured();
  int i;
  for (i = 0; i < 1000 && now.threads > threads; i++) {
    pause_shortly();
    now = measured();
  }
  return now;
}

static void check_same(const struct measure *before, const struct measure *now) {
  CHECK(now->in_use <= before->in_use + SLACK);
  CHECK(now->resident <= before->resident + 16 * SLACK); /* malloc keeps what is free between what is not */
  CHECK(now->descriptors == before->descriptors);
  CHECK(now->threads <= before->threads + SPARE_THREADS);
}

static void show(const char *when, const struct measure *it) {
  printf("%s: %zu KiB in use, %zu KiB resident, %d descriptors, %d threads\n", when, it->in_use / 1024, it->resident / 1024,
         it->descriptors - 2, it->threads - 2);
}

int main(int count, char **arguments) {
  const long long all_ms = count > 1 ? atoll(arguments[1]) * 1000 : 1000;
  const long long round_ms = all_ms < 10000 ? all_ms / 10 : 1000;
  struct control control;
  struct measure before, now;
  size_t live;
  long long left;
  int i, uses = 0;
  check_begin();
  if (!CHECK(open_graphs()) || !CHECK(find_control(&control))) return check_done();
  live = control.live_objects();
  for (i = 0; i < WARM_UP; i++) soak(round_ms);
  before = now = measured();
  show("at first", &before);
  for (left = all_ms; left > 0 && check_failures == 0; left -= round_ms) {
    soak(round_ms);
    now = settled(before.threads + SPARE_THREADS);
    CHECK(control.live_objects() == live);
    check_same(&before, &now);
  }
  show("at last", &now);
  for (i = 0; i < THREADS; i++) uses += expected[i] / 3;
  printf("%d uses of everything\n", uses);
  return close_graphs();
}
