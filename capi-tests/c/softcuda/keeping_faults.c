/*
 * An event after a launch that the driver does not record: the launch succeeds all the same, and what the exec keeps stays until a later one
 * is recorded. In a stream that was created here the worker records that; in one that was wrapped it is leaked and counted if no later launch
 * tells. After a launch that failed, nothing is assumed to be done.
 */
#include "graphs.h"

static struct control control;
static int count, gate;

static void wait_for_gate(void *data) {
  (void)data;
  while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) usleep(100);
}

static void no_op(void *data) { (void)data; }

static uint64_t unreported(void) {
  uint64_t number = 0;
  CHECK_OK(cushim_driver_get_unreported_errors(all.driver, &number));
  return number;
}

static int stays(int before) {
  const struct timespec pause = {0, 60000000};
  nanosleep(&pause, NULL);
  return released(&count) == before;
}

/* A stream that others made with the driver's own function, and may destroy. */
struct lent {
  CUstream native;
  cushim_stream stream;
};

static struct lent lend(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  struct lent lent = {NULL, NULL};
  cushim_context popped = NULL;
  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&lent.native, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cushim_context_pop(all.driver, &popped, NULL));
  CHECK_OK(cushim_stream_wrap(all.context, lent.native, CUSHIM_BORROWED, &lent.stream));
  return lent;
}

static void give_back(const struct lent *lent) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_stream_destroy(lent->stream));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(lent->native));
}

struct scene {
  cushim_stream stream;
  CUstream native;
  cushim_node node;
  cushim_exec exec;
};

/* An exec whose one node has an owner, and a stream that others have, too. */
static struct scene build(void) {
  struct scene scene;
  cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph();
  memset(&scene, 0, sizeof scene);
  scene.stream = new_stream(all.context);
  CHECK_OK(cushim_stream_native(scene.stream, &scene.native));
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, &scene.node));
  scene.exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  return scene;
}

static void set_plain(const struct scene *scene) { CHECK_OK(cushim_exec_set_host_function(scene->exec, scene->node, no_op, NULL, NULL)); }

static void a_later_event_tells(void) {
  struct scene scene = build();
  const struct lent lent = lend();
  const int before = released(&count);
  CHECK(control.fault_set("cuEventRecord#1=999") == 0);
  CHECK_OK(cushim_exec_launch(scene.exec, lent.stream));
  CHECK(control.fault_hits() == 1);
  control.fault_clear();
  CHECK_OK(cushim_stream_synchronize(lent.stream));
  set_plain(&scene);
  CHECK(stays(before));
  CHECK_OK(cushim_exec_launch(scene.exec, lent.stream));
  CHECK_OK(cushim_stream_synchronize(lent.stream));
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK_OK(cushim_stream_destroy(scene.stream));
  give_back(&lent);
}

static void no_event_tells(void) {
  struct scene scene = build();
  const struct lent lent = lend();
  const int before = released(&count);
  const uint64_t quiet = unreported();
  CHECK(control.fault_set("cuEventRecord#1=999") == 0);
  CHECK_OK(cushim_exec_launch(scene.exec, lent.stream));
  control.fault_clear();
  CHECK_OK(cushim_stream_synchronize(lent.stream));
  CHECK(unreported() == quiet);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(unreported() == quiet + 1 && stays(before));
  give_back(&lent);
  CHECK_OK(cushim_stream_destroy(scene.stream));
}

/* The stream is the library's own, though others have it, too: the worker records an event there when the exec ends. */
static void a_stream_of_ours_is_asked_again(void) {
  struct scene scene = build();
  const int before = released(&count);
  const uint64_t quiet = unreported();
  CHECK(control.fault_set("cuEventRecord#1=999") == 0);
  CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  CHECK(control.fault_hits() == 1);
  control.fault_clear();
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK_OK(cushim_stream_destroy(scene.stream)); /* which keeps it */
  CHECK(released_soon(&count, before + 1) == before + 1 && unreported() == quiet);
}

/* The same where an event was recorded after the launch before. */
static void the_second_event_fails(void) {
  struct scene scene = build();
  const int before = released(&count);
  const uint64_t quiet = unreported();
  CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  CHECK(control.fault_set("cuEventRecord#1=999") == 0);
  CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  CHECK(control.fault_hits() == 1);
  control.fault_clear();
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(released_soon(&count, before + 1) == before + 1 && unreported() == quiet);
  CHECK_OK(cushim_stream_destroy(scene.stream));
}

/* In a stream of the library's own, the worker tries again. */
static void an_event_at_need_fails(void) {
  struct scene scene = build();
  cushim_stream own = new_stream(all.context);
  const int before = released(&count);
  CHECK_OK(cushim_exec_launch(scene.exec, own));
  CHECK_OK(cushim_stream_synchronize(own));
  CHECK(control.fault_set("cuEventRecord#1=999") == 0);
  set_plain(&scene);
  CHECK(control.fault_hits() == 1);
  control.fault_clear();
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK_OK(cushim_stream_destroy(own));
  CHECK_OK(cushim_stream_destroy(scene.stream));
}

static void a_launch_fails(int is_own) {
  struct scene scene = build();
  cushim_stream own = new_stream(all.context), second = is_own ? own : scene.stream;
  const int before = released(&count);
  __atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
  CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  CHECK_OK(cushim_stream_launch_host_function(second, wait_for_gate, NULL, NULL));
  CHECK(control.fault_set("cuGraphLaunch#1=999") == 0);
  CHECK_STATUS(CUDA_ERROR_UNKNOWN, cushim_exec_launch(scene.exec, second));
  control.fault_clear();
  set_plain(&scene);
  CHECK(stays(before)); /* some of it may run */
  __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
  CHECK_OK(cushim_stream_synchronize(second));
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK_OK(cushim_stream_destroy(own));
  CHECK_OK(cushim_stream_destroy(scene.stream));
}

int main(void) {
  check_begin();
  if (!open_graphs() || !CHECK(find_control(&control))) return close_graphs();
  a_later_event_tells();
  no_event_tells();
  a_stream_of_ours_is_asked_again();
  the_second_event_fails();
  an_event_at_need_fails();
  a_launch_fails(0);
  a_launch_fails(1);
  return close_graphs();
}
