/*
 * An event after a launch that the driver does not record: the launch succeeds all the same, and a second event is tried. If that fails, too,
 * what the exec keeps stays until a later one is recorded, in the same stream if nobody else can destroy it. Where none ever is, it is leaked
 * and counted. After a launch that failed, nothing is assumed to be done.
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

struct scene {
  cushim_stream stream;
  CUstream native;
  cushim_node node;
  cushim_exec exec;
};

static const cushim_driver_table *cu;

/* An exec whose one node has an owner, and a stream that others have, too; made by them, or by the library. */
static struct scene build_in(int is_foreign) {
  struct scene scene;
  cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph();
  memset(&scene, 0, sizeof scene);
  if (is_foreign) {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&scene.native, CU_STREAM_NON_BLOCKING));
    CHECK_OK(cushim_stream_wrap(all.context, scene.native, CUSHIM_BORROWED, &scene.stream));
  } else {
    scene.stream = new_stream(all.context);
    CHECK_OK(cushim_stream_native(scene.stream, &scene.native));
  }
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, &scene.node));
  scene.exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  return scene;
}

static struct scene build(void) { return build_in(0); }

static void set_plain(const struct scene *scene) { CHECK_OK(cushim_exec_set_host_function(scene->exec, scene->node, no_op, NULL, NULL)); }

/* Launches with such a fault, of which so many calls are hit. */
static void launch_failing(const struct scene *scene, const char *fault, size_t hits) {
  CHECK(control.fault_set(fault) == 0);
  CHECK_OK(cushim_exec_launch(scene->exec, scene->stream));
  CHECK(control.fault_hits() == hits);
}

static void end(const struct scene *scene, int is_foreign) {
  CHECK_OK(cushim_stream_destroy(scene->stream));
  if (is_foreign) CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(scene->native));
}

/* One event that fails, as the first after a launch or as one that was recorded before, is replaced by another at once. */
static void a_second_event_tells(int is_foreign, const char *fault, int is_first) {
  struct scene scene = build_in(is_foreign);
  const int before = released(&count);
  const uint64_t quiet = unreported();
  if (!is_first) CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  launch_failing(&scene, fault, 1);
  control.fault_clear();
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK(unreported() == quiet);
  end(&scene, is_foreign);
}

/* In a stream that the library has made the worker goes on trying, also when the exec and the stream's handle are gone. */
static void an_event_tells_in_the_end(int is_destroyed) {
  struct scene scene = build();
  const int before = released(&count);
  const uint64_t quiet = unreported();
  launch_failing(&scene, "cuEventRecord=999", 2);
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  if (is_destroyed) CHECK_OK(cushim_exec_destroy(scene.exec));
  else set_plain(&scene);
  end(&scene, 0);
  CHECK(stays(before));
  control.fault_clear();
  CHECK(released_soon(&count, before + 1) == before + 1);
  if (!is_destroyed) CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(unreported() == quiet);
}

static void a_later_event_tells(void) {
  struct scene scene = build_in(1);
  const int before = released(&count);
  launch_failing(&scene, "cuEventRecord=999", 2);
  control.fault_clear();
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  set_plain(&scene);
  CHECK(stays(before));
  CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  end(&scene, 1);
}

static void no_event_tells(void) {
  struct scene scene = build_in(1);
  const int before = released(&count);
  const uint64_t quiet = unreported();
  launch_failing(&scene, "cuEventRecord=999", 2);
  control.fault_clear();
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  CHECK(unreported() == quiet);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(unreported() == quiet + 1 && stays(before));
  end(&scene, 1);
}

/* Whether an event went into a capture of others is asked again, if the driver fails to answer; if it never does, nothing is known. */
static void nobody_says_what_an_event_tells(int is_answered) {
  struct scene scene = build_in(1);
  const int before = released(&count);
  const uint64_t quiet = unreported();
  CHECK_OK(cushim_exec_launch(scene.exec, scene.stream));
  CHECK_OK(cushim_stream_synchronize(scene.stream));
  CHECK(control.fault_set(is_answered ? "cuEventElapsedTime#1=2" : "cuEventElapsedTime=2") == 0);
  CHECK_OK(cushim_exec_destroy(scene.exec));
  CHECK(control.fault_hits() == (is_answered ? 1 : 2));
  control.fault_clear();
  if (is_answered) CHECK(released_soon(&count, before + 1) == before + 1);
  else CHECK(stays(before));
  CHECK(unreported() == quiet + !is_answered);
  end(&scene, 1);
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
  cushim_context popped = NULL;
  int is_foreign;
  check_begin();
  if (!open_graphs() || !CHECK(find_control(&control))) return close_graphs();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_context_push(all.context));
  for (is_foreign = 0; is_foreign < 2; is_foreign++) {
    a_second_event_tells(is_foreign, "cuEventCreate#1=999", 1);
    a_second_event_tells(is_foreign, "cuEventRecord#1=999", 1);
    a_second_event_tells(is_foreign, "cuEventRecord#1=999", 0);
  }
  an_event_tells_in_the_end(0);
  an_event_tells_in_the_end(1);
  a_later_event_tells();
  no_event_tells();
  nobody_says_what_an_event_tells(1);
  nobody_says_what_an_event_tells(0);
  an_event_at_need_fails();
  a_launch_fails(0);
  a_launch_fails(1);
  CHECK_OK(cushim_context_pop(all.driver, &popped, NULL));
  return close_graphs();
}
