/*
 * Functions of the program that end the thread on which they are called (pthread_exit), as those of an interpreter do that has ended:
 * they count as done, nobody waits for them, and the process ends as it would. Each kind of function in a process of its own.
 */
#include "graphs.h"
#include "dlpack.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

static int ended, came_back, logged;

static int read_now(const int *count) { return __atomic_load_n(count, __ATOMIC_SEQ_CST); }

static void add_one(int *count) { __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST); }

static int comes_to(const int *count, int value) {
  int i;
  for (i = 0; i < 10000 && read_now(count) < value; i++) poll(NULL, 0, 1);
  return read_now(count) == value;
}

static void ends_the_thread(void *data) {
  CHECK(data == &ended);
  add_one(&ended);
  pthread_exit(NULL);
}

static void counts(void *data) {
  CHECK(data == &came_back);
  add_one(&came_back);
}

static const cushim_owner ends = {&ended, ends_the_thread}, comes_back = {&came_back, counts};

static void flush(void) {
  int32_t done = 0;
  CHECK_OK(cushim_flush_callbacks(10000000000ull, &done));
  CHECK(done == 1);
}

static uint64_t leaked(void) {
  uint64_t count = 77;
  CHECK_OK(cushim_get_leaked_releases(&count));
  return count;
}

static void release(const cushim_owner *owner) {
  cushim_buffer buffer;
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, 4096, 4096, NULL, owner, &buffer));
  CHECK_OK(cushim_buffer_destroy(buffer));
}

/* The thread that releases has a successor; what was queued behind is came_back. */
static void in_a_release(void) {
  int i;
  release(&ends);
  for (i = 0; i < 100; i++) release(&comes_back);
  flush();
  CHECK(read_now(&ended) == 1 && read_now(&came_back) == 100);
  release(&ends);
  flush();
  CHECK(read_now(&ended) == 2 && leaked() == 0);
}

/* Eight successors, and no more: the rest is leaked and counted, and nobody waits for it. What is drained goes on. */
static void in_each_release(void) {
  const cushim_owner drained = {&logged, NULL};
  cushim_drain_item item;
  size_t count = 0;
  int i;
  CHECK_LEAKS_BEGIN(); /* to the end of the process */
  for (i = 1; i <= 9; i++) {
    release(&ends);
    flush();
    CHECK(read_now(&ended) == i && leaked() == 0);
  }
  for (i = 0; i < 20; i++) release(&comes_back);
  flush();
  CHECK(read_now(&ended) == 9 && read_now(&came_back) == 0 && leaked() == 20);
  release(&drained);
  CHECK_OK(cushim_drain(&item, sizeof item, 1, &count));
  CHECK(count == 1 && item.kind == CUSHIM_DRAIN_RELEASE && item.data == &logged);
}

/* All at once. */
static void in_many_releases(void) {
  int i;
  CHECK_LEAKS_BEGIN(); /* to the end of the process */
  for (i = 0; i < 50; i++) release(&ends);
  flush();
  CHECK(read_now(&ended) == 9 && leaked() == 41);
}

static void allows_it_and_is_cancelled(void *data) {
  CHECK(data == &ended);
  add_one(&ended);
  CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
  CHECK(pthread_cancel(pthread_self()) == 0);
  pthread_testcancel();
  CHECK(!"it came back");
}

static void in_a_release_that_is_cancelled(void) {
  const cushim_owner cancelled = {&ended, allows_it_and_is_cancelled};
  release(&cancelled);
  release(&comes_back);
  flush();
  CHECK(read_now(&ended) == 1 && read_now(&came_back) == 1);
}

static void logs(void *user, int32_t level, const char *target, const char *message) {
  (void)level, (void)target, (void)message;
  CHECK(user == &logged);
  add_one(&logged);
  pthread_exit(NULL);
}

/* The callback is lost with its thread, and neither its owner nor other releases are. */
static void in_the_log(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver;
  CHECK_OK(cushim_log_set_callback(logs, &logged, &comes_back, CUSHIM_LOG_DEBUG));
  options.driver = "/dev/null"; /* which is logged */
  CHECK(cushim_driver_open(&options, &driver) != CUSHIM_SUCCESS);
  flush();
  CHECK(read_now(&logged) > 0 && read_now(&logged) <= 9);
}

static void deletes(DLManagedTensorVersioned *tensor) { ends_the_thread(tensor->manager_ctx); }

static DLManagedTensorVersioned *tensor(void) {
  static int64_t shape = 16, stride = 1;
  static uint8_t bytes[16];
  static DLManagedTensorVersioned made;
  made.version.major = 1;
  made.manager_ctx = &ended;
  made.deleter = deletes;
  made.dl_tensor.data = bytes;
  made.dl_tensor.device.device_type = kDLCPU;
  made.dl_tensor.ndim = 1;
  made.dl_tensor.dtype.code = kDLUInt;
  made.dl_tensor.dtype.bits = 8;
  made.dl_tensor.dtype.lanes = 1;
  made.dl_tensor.shape = &shape;
  made.dl_tensor.strides = &stride;
  return &made;
}

static void in_a_deleter(void) {
  cushim_buffer buffer;
  CHECK_OK(cushim_buffer_import_dlpack(all.driver, tensor(), 0, &buffer, NULL));
  CHECK_OK(cushim_buffer_destroy(buffer));
  release(&comes_back);
  flush();
  CHECK(read_now(&ended) == 1 && read_now(&came_back) == 1);
}

/* Who must not be called is not. */
static void in_no_deleter(void) {
  cushim_buffer buffer;
  cushim_drain_item item;
  size_t count = 0;
  CHECK_OK(cushim_buffer_import_dlpack(all.driver, tensor(), CUSHIM_DLPACK_PULL, &buffer, NULL));
  CHECK_OK(cushim_drain(&item, sizeof item, 1, &count));
  CHECK(count == 0);
  CHECK_OK(cushim_buffer_destroy(buffer));
  flush();
  CHECK_OK(cushim_drain(&item, sizeof item, 1, &count));
  CHECK(count == 1 && item.kind == CUSHIM_DRAIN_RELEASE && item.data == tensor() && read_now(&ended) == 0);
}

static cushim_status allocates(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer) {
  (void)stream, (void)bytes, (void)pointer;
  ends_the_thread(user);
  return 1;
}

static cushim_status gives_an_address(void *user, cushim_stream stream, size_t bytes, uint64_t *pointer) {
  (void)user, (void)stream, (void)bytes;
  *pointer = 4096;
  return 0;
}

static cushim_status frees(void *user, cushim_stream stream, uint64_t pointer, size_t bytes) {
  (void)stream, (void)pointer, (void)bytes;
  ends_the_thread(user);
  return 1;
}

static cushim_status describes(void *user, cushim_memory_properties *properties) {
  (void)properties;
  ends_the_thread(user);
  return 1;
}

static cushim_resource_functions functions(void) {
  cushim_resource_functions functions;
  memset(&functions, 0, sizeof functions);
  functions.struct_size = sizeof functions;
  functions.user = &ended;
  return functions;
}

/* A thread of the program's that ends in a call: it is parked there, and hinders nobody. */
static void in_a_thread(void *(*body)(void *)) {
  pthread_t thread;
  if (!CHECK(pthread_create(&thread, NULL, body, NULL) == 0)) exit(1);
  CHECK(comes_to(&ended, 1));
  release(&comes_back); /* perhaps while it is still in its call, which others wait for */
  CHECK(comes_to(&came_back, 1));
  flush();
  CHECK(leaked() == 0);
}

static void *calls_allocate(void *nothing) {
  cushim_resource_functions of = functions();
  cushim_resource resource;
  cushim_buffer buffer;
  (void)nothing;
  of.allocate = allocates;
  CHECK_OK(cushim_resource_create_custom(all.driver, &of, &resource));
  cushim_buffer_create(resource, NULL, 64, &buffer);
  CHECK(!"it came back");
  return NULL;
}

static void *calls_deallocate(void *nothing) {
  cushim_resource_functions of = functions();
  cushim_resource resource;
  cushim_buffer buffer;
  (void)nothing;
  of.allocate = gives_an_address;
  of.free = frees;
  CHECK_OK(cushim_resource_create_custom(all.driver, &of, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, 64, &buffer));
  cushim_buffer_destroy(buffer);
  CHECK(!"it came back");
  return NULL;
}

static void *calls_properties(void *nothing) {
  cushim_resource_functions of = functions();
  cushim_resource resource;
  (void)nothing;
  of.properties = describes;
  cushim_resource_create_custom(all.driver, &of, &resource);
  CHECK(!"it came back");
  return NULL;
}

static int get(void *user, const char *symbol, void **address, int version, uint64_t flags, int *found) {
  (void)symbol, (void)address, (void)version, (void)flags, (void)found;
  ends_the_thread(user);
  return 1;
}

static void *calls_a_getter(void *nothing) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver;
  (void)nothing;
  options.getter = get;
  options.getter_user = &ended;
  cushim_driver_open(&options, &driver);
  CHECK(!"it came back");
  return NULL;
}

static void in_allocate(void) { in_a_thread(calls_allocate); }
static void in_deallocate(void) { in_a_thread(calls_deallocate); }
static void in_properties(void) { in_a_thread(calls_properties); }

static void in_a_getter(void) {
  cushim_driver another;
  in_a_thread(calls_a_getter);
  another = open_driver(); /* nothing is locked */
  CHECK_OK(cushim_driver_destroy(another));
}

/* When the last user of a resource of the program's is gone, its memory is freed by the thread that lets go of it. */
static void in_the_destroy_of_a_resource(void) {
  cushim_resource_functions of = functions();
  cushim_resource resource;
  of.destroy = ends_the_thread;
  CHECK_OK(cushim_resource_create_custom(all.driver, &of, &resource));
  CHECK_OK(cushim_resource_destroy(resource));
  release(&comes_back);
  flush();
  CHECK(read_now(&ended) == 1 && read_now(&came_back) == 1);
}

/* The owner of what it used is came_back. On "none" the function is called by this thread. */
static void in_a_host_function(void) {
  cushim_stream other = new_stream(all.context);
  if (is_none(all.driver)) return;
  if (!is_software(all.driver)) { /* 580 calls no other host function afterwards, and does not end the stream: only the exit is tried */
    CHECK_OK(cushim_stream_launch_host_function(all.stream, ends_the_thread, &ended, &comes_back));
    CHECK(comes_to(&ended, 1));
    return;
  }
  CHECK_OK(cushim_stream_launch_host_function(all.stream, ends_the_thread, &ended, &comes_back));
  CHECK(comes_to(&came_back, 1));
  flush();
  CHECK(read_now(&ended) == 1);
  /* Other streams go on. */
  CHECK_OK(cushim_stream_launch_host_function(other, counts, &came_back, NULL));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK(read_now(&came_back) == 2);
}

static void in_a_node(void) {
  cushim_graph graph;
  cushim_exec exec;
  if (is_none(all.driver)) return;
  graph = new_graph();
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, ends_the_thread, &ended, NULL, NULL));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK(comes_to(&ended, 1));
  if (!is_software(all.driver)) return;
  release(&comes_back);
  flush();
  CHECK(read_now(&came_back) == 1);
}

static const struct {
  const char *name;
  void (*run)(void);
} kinds[] = {
    {"a release", in_a_release},
    {"each release", in_each_release},
    {"many releases", in_many_releases},
    {"a release that is cancelled", in_a_release_that_is_cancelled},
    {"the log", in_the_log},
    {"a deleter", in_a_deleter},
    {"no deleter", in_no_deleter},
    {"allocate", in_allocate},
    {"deallocate", in_deallocate},
    {"properties", in_properties},
    {"destroy", in_the_destroy_of_a_resource},
    {"a getter", in_a_getter},
    {"a host function", in_a_host_function},
    {"a node", in_a_node},
};

/* The process ends although threads are parked in it. */
static void in_a_child(size_t kind) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    check_begin();
    check_failures = 0;
    open_graphs();
    kinds[kind].run();
    exit(check_failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) fprintf(stderr, "  in %s: %#x\n", kinds[kind].name, status);
}

int main(void) {
  size_t kind;
  check_begin();
  for (kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) in_a_child(kind);
  return check_done();
}
