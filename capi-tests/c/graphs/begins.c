/*
 * While a capture begins in a given stream, what other threads enqueue there waits until it has begun: it is part of the graph then, with
 * all that it uses. The driver is one that takes its time to begin.
 */
#include "graphs.h"

#include <pthread.h>

static const cushim_driver_table *real;
static int is_beginning;

static CUresult CUSHIM_CUDAAPI begin_slowly(CUstream stream, CUstreamCaptureMode mode) {
  CUresult result;
  __atomic_store_n(&is_beginning, 1, __ATOMIC_SEQ_CST);
  pause_shortly();
  result = real->cuStreamBeginCapture_10010(stream, mode);
  pause_shortly();
  return result;
}

/* Hands out the real driver's functions, but for that one. */
static int get(void *user, const char *symbol, void **address, int of, uint64_t flags, int *found) {
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result;
  (void)user;
  if (CUSHIM_HAS(real, cuGetProcAddress_12000)) {
    result = real->cuGetProcAddress_12000(symbol, address, of, flags, &query);
  } else {
    result = real->cuGetProcAddress_11030(symbol, address, of, flags);
    if (result == CUDA_ERROR_NOT_FOUND) query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, result = CUDA_SUCCESS;
  }
  if (result == CUDA_SUCCESS && *address != NULL && strcmp(symbol, "cuStreamBeginCapture") == 0) {
    CUresult(CUSHIM_CUDAAPI * slow)(CUstream, CUstreamCaptureMode) = begin_slowly;
    memcpy(address, &slow, sizeof slow);
  }
  *found = (int)query;
  return (int)result;
}

/* The other thread's work. */
static struct {
  cushim_stream stream;
  uint64_t pointer;
  int count; /* how often its owner was released */
} work;

static void *fill(void *data) {
  const cushim_owner owner = counted(&work.count);
  cushim_endpoint to = cushim_endpoint_device(work.pointer);
  to.owner = &owner;
  while (!__atomic_load_n(&is_beginning, __ATOMIC_SEQ_CST)) {}
  CHECK_OK(cushim_stream_fill(work.stream, &to, CUSHIM_VALUE_32(7), 1));
  return data;
}

static uint32_t number_of(cushim_context context) {
  uint32_t number = 0;
  cushim_endpoint to = cushim_endpoint_host(&number), from = cushim_endpoint_device(work.pointer);
  CHECK_OK(cushim_context_copy(context, &to, &from, sizeof number));
  return number;
}

/* One capture, and the other thread's work beside its begin. */
static void round_of(cushim_context context) {
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  cushim_exec exec;
  pthread_t thread;
  is_beginning = work.count = 0;
  CHECK_OK(set_bytes(context, work.pointer, 0, 4));
  CHECK_OK(cushim_builder_create_on(work.stream, NULL, &builder));
  if (!CHECK(pthread_create(&thread, NULL, fill, NULL) == 0)) return;
  if (!CHECK_OK(cushim_builder_begin(builder))) __atomic_store_n(&is_beginning, 1, __ATOMIC_SEQ_CST);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(node_count(graph) == 1 && released(&work.count) == 0 && number_of(context) == 0);
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_launch(exec, work.stream));
  CHECK_OK(cushim_stream_synchronize(work.stream));
  CHECK(number_of(context) == 7 && released(&work.count) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&work.count, 1) == 1);
}

int main(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver = NULL;
  cushim_context context;
  int round;
  if (!open_graphs()) return close_graphs();
  real = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  options.getter = get;
  if (CHECK_OK(cushim_driver_open(&options, &driver))) {
    context = primary_context(first_device(driver));
    work.stream = new_stream(context);
    CHECK_OK(cushim_context_allocate(context, 64, &work.pointer));
    for (round = 0; round < 8; round++) round_of(context);
    CHECK_OK(cushim_context_free(context, work.pointer));
    CHECK_OK(cushim_stream_destroy(work.stream));
    CHECK_OK(cushim_context_destroy(context));
    CHECK_OK(cushim_driver_destroy(driver));
  }
  return close_graphs();
}
