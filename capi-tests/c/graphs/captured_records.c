/*
 * Somebody begins to capture a stream between a launch of an exec and the event that follows it: the event then stands for a place in that
 * capture, and tells of no launch. The capture stays valid, and what the exec keeps stays until a later event tells.
 *
 * The program's own getter hands out a function for launches that begins a capture right after one.
 */
#include "graphs.h"

static const cushim_driver_table *real; /* the driver's own functions */
static int count, begins;

static CUresult CUSHIM_CUDAAPI launch_and_begin(CUgraphExec exec, CUstream stream) {
  CUresult result = real->cuGraphLaunch_10000(exec, stream);
  if (result == CUDA_SUCCESS && begins) result = real->cuStreamBeginCapture_10010(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  return result;
}

static int get(void *user, const char *name, void **address, int number, uint64_t flags, int *found) {
  CUresult (CUSHIM_CUDAAPI *const launch)(CUgraphExec, CUstream) = launch_and_begin;
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult result;
  (void)user;
  if (CUSHIM_HAS(real, cuGetProcAddress_12000)) {
    result = real->cuGetProcAddress_12000(name, address, number, flags, &query);
  } else {
    result = real->cuGetProcAddress_11030(name, address, number, flags);
    query = result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    result = CUDA_SUCCESS;
  }
  *found = (int)query;
  /* A pointer to a function is not cast to one to an object. */
  if (query == CU_GET_PROC_ADDRESS_SUCCESS && strcmp(name, "cuGraphLaunch") == 0) memcpy(address, &launch, sizeof launch);
  return (int)result;
}

static void no_op(void *data) { (void)data; }

static int stays(int before) {
  const struct timespec pause = {0, 60000000};
  flush_callbacks(); /* asks at once */
  nanosleep(&pause, NULL);
  return released(&count) == before;
}

struct scene {
  cushim_stream stream;
  CUstream native;
  cushim_node node;
  cushim_exec exec;
};

/* A conditional node, whose body is never run. */
static void add_never(cushim_graph graph) {
  cushim_condition condition = NULL;
  cushim_node node = NULL;
  cushim_graph body = NULL;
  CHECK_OK(cushim_condition_create(graph, NULL, &condition));
  CHECK_OK(cushim_graph_add_conditional(graph, NULL, 0, condition, CUSHIM_CONDITIONAL_IF, 1, &node, &body));
}

/* An exec one of whose nodes has an owner, and a stream that others have, too. */
static struct scene build(cushim_context context, cushim_stream stream, int is_conditional) {
  struct scene scene = {NULL, NULL, NULL, NULL};
  const cushim_owner owner = counted(&count);
  cushim_graph graph = NULL;
  scene.stream = stream;
  CHECK_OK(cushim_stream_native(scene.stream, &scene.native));
  CHECK_OK(cushim_graph_create(context, NULL, &graph));
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, &scene.node));
  if (is_conditional) add_never(graph);
  scene.exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  return scene;
}

static void launch(const struct scene *scene, int and_begin) {
  begins = and_begin;
  CHECK_OK(cushim_exec_launch(scene->exec, scene->stream));
  begins = 0;
}

static void set_plain(const struct scene *scene) { CHECK_OK(cushim_exec_set_host_function(scene->exec, scene->node, no_op, NULL, NULL)); }

static void end_capture(const struct scene *scene) {
  CUgraph captured = NULL;
  CHECK_STATUS(CUDA_SUCCESS, real->cuStreamEndCapture_10000(scene->native, &captured));
  if (CHECK(captured != NULL)) CHECK_STATUS(CUDA_SUCCESS, real->cuGraphDestroy_10000(captured));
}

/* What is let go of before the capture has ended, or afterwards, stays until an event of a later launch tells. */
static void set_meanwhile(cushim_context context, cushim_stream stream, int is_second_launch, int is_ended_first) {
  struct scene scene = build(context, stream, 0);
  const int before = released(&count);
  if (is_second_launch) launch(&scene, 0);
  launch(&scene, 1);
  if (is_ended_first) end_capture(&scene);
  set_plain(&scene);
  CHECK(stays(before));
  if (!is_ended_first) end_capture(&scene);
  CHECK(stays(before));
  launch(&scene, 0);
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(scene.exec));
}

/* Nobody can tell when the launch of an exec is done that is destroyed then: what it kept is leaked, and counted. */
static void destroy_meanwhile(cushim_driver driver, cushim_context context, cushim_stream stream, int is_conditional) {
  struct scene scene = build(context, stream, is_conditional);
  const int before = released(&count);
  uint64_t errors = 0, more = 0;
  CHECK_OK(cushim_driver_get_unreported_errors(driver, &errors));
  launch(&scene, 1);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(stays(before));
  end_capture(&scene);
  CHECK_OK(cushim_driver_get_unreported_errors(driver, &more));
  CHECK(more == errors + 1);
}

int main(void) {
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver = NULL;
  cushim_device device = NULL;
  cushim_context context = NULL;
  cushim_stream stream = NULL;
  int is_second, is_ended;
  if (!open_graphs()) return check_done();
  real = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  options.getter = get;
  CHECK_OK(cushim_driver_open(&options, &driver));
  CHECK_OK(cushim_driver_get_device(driver, 0, &device));
  CHECK_OK(cushim_context_retain_primary(device, &context));
  stream = new_stream(context);
  for (is_second = 0; is_second < 2; is_second++) {
    for (is_ended = 0; is_ended < 2; is_ended++) set_meanwhile(context, stream, is_second, is_ended);
  }
  CHECK_LEAKS_BEGIN();
  destroy_meanwhile(driver, context, stream, 0);
  if (version >= 12030) destroy_meanwhile(driver, context, stream, 1);
  CHECK_LEAKS_END();
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_driver_destroy(driver));
  return close_graphs();
}
