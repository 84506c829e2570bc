/*
 * What a release function asks of the driver, through cushim or by itself, disturbs no capture of another thread's, in whatever mode: the thread
 * that makes releases is in the relaxed mode.
 */
#include "graphs.h"

static const cushim_driver_table *cu;
static cushim_event event;
static CUevent native_event;
static CUstream capturing;
static int asked;

/* Each of these would invalidate a capture in the mode GLOBAL. */
static void ask(void *data) {
  int32_t done = 0;
  uint64_t pointer = 0;
  (void)data;
  CHECK_OK(cushim_event_query(event, &done));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuEventQuery_2000(native_event));
  CHECK_OK(cushim_context_allocate(all.context, 64, &pointer));
  CHECK_OK(cushim_context_free(all.context, pointer));
  __atomic_store_n(&asked, 1, __ATOMIC_SEQ_CST);
}

static void no_op(void *data) { (void)data; }

static void release_while_capturing(CUstreamCaptureMode mode) {
  const cushim_owner owner = {NULL, ask};
  CUgraph captured = NULL;
  cushim_graph graph = new_graph();
  __atomic_store_n(&asked, 0, __ATOMIC_SEQ_CST);
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, NULL));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(capturing, mode));
  CHECK_OK(cushim_graph_destroy(graph));
  flush_callbacks();
  CHECK(__atomic_load_n(&asked, __ATOMIC_SEQ_CST) == 1);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(capturing, &captured));
  if (CHECK(captured != NULL)) CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(captured));
}

int main(void) {
  if (!open_graphs()) return check_done();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  event = new_event(all.context, 0);
  CHECK_OK(cushim_event_native(event, &native_event));
  CHECK_OK(cushim_event_record(event, all.stream));
  CHECK_OK(cushim_event_synchronize(event));
  CHECK_OK(cushim_context_set_current(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&capturing, CU_STREAM_NON_BLOCKING));
  PROGRAMS_OWN(capturing);
  release_while_capturing(CU_STREAM_CAPTURE_MODE_GLOBAL);
  release_while_capturing(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  release_while_capturing(CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(capturing));
  CHECK_OK(cushim_context_clear_current(all.driver));
  CHECK_OK(cushim_event_destroy(event));
  return close_graphs();
}
