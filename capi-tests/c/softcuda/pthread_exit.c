/*
 * Functions that a program gave the driver itself, and that end the thread on which they are called (pthread_exit): softcuda takes them
 * for done, goes on with what comes after them, and ends with the process. Each kind in a process of its own.
 */
#include "objects.h"

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>

static struct objects all;
static const cushim_driver_table *table;
static CUstream stream;
static int ended, called;

static int read_now(const int *count) { return __atomic_load_n(count, __ATOMIC_SEQ_CST); }

static int comes_to(const int *count, int value) {
  int i;
  for (i = 0; i < 10000 && read_now(count) < value; i++) poll(NULL, 0, 1);
  return read_now(count) == value;
}

static void CUSHIM_CUDA_CB ends(void *data) {
  CHECK(data == &ended);
  __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
  pthread_exit(NULL);
}

static void CUSHIM_CUDA_CB counts(void *data) {
  CHECK(data == &called);
  __atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

static void CUSHIM_CUDA_CB ends_in_a_callback(CUstream in, CUresult status, void *data) {
  CHECK(in == stream && status == CUDA_SUCCESS);
  ends(data);
}

static void in_host_functions(void) {
  int i;
  for (i = 1; i <= 20; i++) {
    CHECK_STATUS(CUDA_SUCCESS, table->cuLaunchHostFunc_10000(stream, ends, &ended));
    CHECK_STATUS(CUDA_SUCCESS, table->cuLaunchHostFunc_10000(stream, counts, &called));
    CHECK_STATUS(CUDA_SUCCESS, table->cuStreamSynchronize_2000(stream));
    CHECK(read_now(&ended) == i && read_now(&called) == i);
  }
}

static void in_a_callback(void) {
  CHECK_STATUS(CUDA_SUCCESS, table->cuStreamAddCallback_5000(stream, ends_in_a_callback, &ended, 0));
  CHECK_STATUS(CUDA_SUCCESS, table->cuLaunchHostFunc_10000(stream, counts, &called));
  CHECK_STATUS(CUDA_SUCCESS, table->cuStreamSynchronize_2000(stream));
  CHECK(read_now(&ended) == 1 && read_now(&called) == 1);
}

/* An object that only a launch still keeps, of which a thread of the driver lets go. */
static void launch_with(CUhostFn destructor, void *data) {
  CUuserObject object = NULL;
  cushim_graph graph = NULL;
  cushim_exec exec = NULL;
  cushim_node node = NULL;
  CUgraph native = NULL;
  CHECK_OK(cushim_graph_create(all.context, NULL, &graph));
  CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, &node));
  CHECK_OK(cushim_graph_native(graph, &native));
  CHECK_STATUS(CUDA_SUCCESS, table->cuUserObjectCreate_11030(&object, data, destructor, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CHECK_STATUS(CUDA_SUCCESS, table->cuGraphRetainUserObject_11030(native, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_synchronize(all.stream));
}

static void in_destructors(void) {
  int i;
  for (i = 1; i <= 5; i++) {
    launch_with(ends, &ended);
    CHECK(comes_to(&ended, i));
    launch_with(counts, &called);
    CHECK(comes_to(&called, i));
  }
}

static void *releases(void *nothing) {
  CUuserObject object = NULL;
  CHECK_STATUS(CUDA_SUCCESS, table->cuUserObjectCreate_11030(&object, &ended, ends, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  table->cuUserObjectRelease_11030(object, 1);
  CHECK(!"it came back");
  return nothing;
}

static void begin_thread(void *(*body)(void *)) {
  pthread_t thread;
  if (!CHECK(pthread_create(&thread, NULL, body, NULL) == 0)) exit(1);
  CHECK(comes_to(&ended, 1));
}

/* A thread of the program's is parked in its call. */
static void in_a_release(void) {
  begin_thread(releases);
  CHECK_STATUS(CUDA_SUCCESS, table->cuStreamSynchronize_2000(stream));
}

static void CUSHIM_CUDA_CB logs(void *data, CUlogLevel level, char *message, size_t length) {
  (void)level, (void)message, (void)length;
  ends(data);
}

static void *fails(void *nothing) {
  table->cuStreamQuery_2000((CUstream)0x10);
  table->cuStreamCreate_2000(NULL, 0);
  return nothing;
}

/* Who takes the listener away waits for no thread that is parked in it. */
static void in_the_log(void) {
  CUlogsCallbackHandle handle = NULL;
  if (table->cuLogsRegisterCallback_12090 == NULL) return;
  CHECK_STATUS(CUDA_SUCCESS, table->cuLogsRegisterCallback_12090(logs, &ended, &handle));
  begin_thread(fails);
  CHECK_STATUS(CUDA_SUCCESS, table->cuLogsUnregisterCallback_12090(handle));
}

static const struct {
  const char *name;
  void (*run)(void);
} kinds[] = {
    {"host functions", in_host_functions}, {"a callback", in_a_callback}, {"destructors", in_destructors},
    {"a release", in_a_release},           {"the log", in_the_log},
};

static void in_a_child(size_t kind) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    check_begin();
    all = open_objects();
    table = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
    CHECK_OK(cushim_stream_native(all.stream, &stream));
    CHECK_OK(cushim_context_push(all.context));
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
