/*
 * What the library does by itself, on a thread of its own, disturbs nobody's capture: others capture in the mode GLOBAL, in which any
 * question or free of another thread would invalidate that, and of which the library knows nothing. Beside each kind of retirement:
 * before its launch is done, and while it is released.
 */
#include "graphs.h"

static const cushim_driver_table *cu;
static CUstream foreign;
static cushim_stream stream; /* in which execs are launched */
static cushim_resource pool;
static int count, gate;

/* Longer than the pause between two questions about a launch that was just retired. */
static void let_it_ask(void) {
  const struct timespec pause = {0, 45000000};
  nanosleep(&pause, NULL);
}

static void wait_for_gate(void *data) {
  (void)data;
  while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) usleep(100);
}

static void open_gate(int is_open) { __atomic_store_n(&gate, is_open, __ATOMIC_RELEASE); }

/* What failed keeps nothing, and to free the device's memory would wait for the gate. */
static void open_gate_if_failed(void) {
  if (check_failures != 0) open_gate(1);
}

static void no_op(void *data) { (void)data; }

static cushim_buffer new_buffer(cushim_resource resource) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(resource, stream, 64, &buffer));
  return buffer;
}

/* An exec whose one node has an owner, or uses a buffer, and the graph and the node of it. */
struct scene {
  cushim_graph graph, other;
  cushim_node node;
  cushim_exec exec;
  cushim_buffer from, to;
  cushim_resource resource;
  cushim_library library;
  cushim_kernel kernel;
  cushim_stream stream;
  cushim_event event;
};

static cushim_node add_owned_function(cushim_graph graph) {
  cushim_owner owner = counted(&count);
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, &node));
  return node;
}

static void owned(struct scene *scene) {
  scene->graph = new_graph();
  scene->node = add_owned_function(scene->graph);
}

static void of_buffer(struct scene *scene, cushim_resource resource) {
  cushim_endpoint to;
  scene->graph = new_graph();
  scene->from = new_buffer(resource);
  scene->to = new_buffer(resource);
  to = cushim_endpoint_buffer(scene->from, 0);
  CHECK_OK(cushim_graph_add_fill(scene->graph, NULL, 0, &to, CUSHIM_VALUE_32(7), 16, &scene->node));
}

static void of_pool(struct scene *scene) { of_buffer(scene, pool); }

static void of_device(struct scene *scene) {
  CHECK_OK(cushim_resource_create_device(all.context, &scene->resource));
  of_buffer(scene, scene->resource);
}

/* A free of such memory waits for all work, so nothing is freed but what the exec keeps. */
static void of_used_device(struct scene *scene) {
  of_device(scene);
  CHECK_OK(cushim_buffer_destroy(scene->to));
  scene->to = NULL;
}

static void of_pinned(struct scene *scene) {
  cushim_pinned_options options = PINNED_OPTIONS;
  CHECK_OK(cushim_resource_create_pinned(all.context, &options, &scene->resource));
  of_buffer(scene, scene->resource);
}

static void of_library(struct scene *scene) {
  scene->graph = new_graph();
  CHECK_OK(cushim_library_load(all.context, trace_code, sizeof trace_code, NULL, &scene->library));
  scene->kernel = kernel_of(scene->library, "append");
  CHECK_OK(add_numbered(scene->graph, NULL, 0, scene->kernel, slot(3), 1, &scene->node));
  CHECK_OK(cushim_kernel_destroy(scene->kernel));
  CHECK_OK(cushim_library_destroy(scene->library));
}

static void of_child(struct scene *scene) {
  cushim_graph child = new_graph();
  scene->graph = new_graph();
  add_owned_function(child);
  CHECK_OK(cushim_graph_add_child(scene->graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &scene->node, NULL));
  CHECK_OK(cushim_graph_destroy(child));
  scene->other = new_graph();
  CHECK_OK(cushim_graph_add_host_function(scene->other, NULL, 0, no_op, NULL, NULL, NULL));
}

static void of_update(struct scene *scene) {
  owned(scene);
  scene->other = new_graph();
  CHECK_OK(cushim_graph_add_host_function(scene->other, NULL, 0, no_op, NULL, NULL, NULL));
}

static void of_two(struct scene *scene) {
  owned(scene);
  scene->stream = new_stream(all.context);
  scene->event = new_event(all.context, 0);
  CHECK_OK(cushim_event_record(scene->event, scene->stream));
}

static void of_own_pool(struct scene *scene) {
  cushim_device_pool_options options = DEVICE_POOL_OPTIONS;
  CHECK_OK(cushim_resource_create_device_pool(all.device, &options, &scene->resource));
  of_buffer(scene, scene->resource);
}

static void rebind(struct scene *scene) {
  size_t changed = 0;
  CHECK_OK(cushim_exec_rebind(scene->exec, scene->from, scene->to, &changed));
  CHECK(changed == 1);
  open_gate_if_failed();
  CHECK_OK(cushim_buffer_destroy(scene->from));
  CHECK_OK(cushim_buffer_destroy(scene->to));
  scene->from = scene->to = NULL;
}

static void set(struct scene *scene) { CHECK_OK(cushim_exec_set_host_function(scene->exec, scene->node, no_op, NULL, NULL)); }

static void set_twice(struct scene *scene) {
  cushim_owner owner = counted(&count);
  CHECK_OK(cushim_exec_set_host_function(scene->exec, scene->node, no_op, NULL, &owner));
  CHECK_OK(cushim_exec_launch(scene->exec, stream));
  set(scene);
}

static void destroy_graph(struct scene *scene) {
  if (scene->graph != NULL) CHECK_OK(cushim_graph_destroy(scene->graph));
  if (scene->other != NULL) CHECK_OK(cushim_graph_destroy(scene->other));
  scene->graph = scene->other = NULL;
}

static void destroy(struct scene *scene) {
  destroy_graph(scene);
  CHECK_OK(cushim_exec_destroy(scene->exec));
  scene->exec = NULL;
  open_gate_if_failed();
  if (scene->from != NULL) CHECK_OK(cushim_buffer_destroy(scene->from));
  if (scene->to != NULL) CHECK_OK(cushim_buffer_destroy(scene->to));
  if (scene->stream != NULL) CHECK_OK(cushim_stream_destroy(scene->stream));
  if (scene->event != NULL) CHECK_OK(cushim_event_destroy(scene->event));
  if (scene->resource != NULL) CHECK_OK(cushim_resource_destroy(scene->resource));
  memset(scene, 0, sizeof *scene);
}

static void update(struct scene *scene) {
  CHECK_OK(cushim_exec_update(scene->exec, scene->other, NULL));
  destroy_graph(scene);
}

static void set_child(struct scene *scene) { CHECK_OK(cushim_exec_set_child(scene->exec, scene->node, scene->other)); }

static const struct kind {
  const char *name;
  void (*make)(struct scene *);
  void (*retire)(struct scene *);
  int owners; /* that are released by then */
} kinds[] = {
    {"a buffer of a pool is rebound", of_pool, rebind, 0},
    {"a buffer of the device is rebound", of_device, rebind, 0},
    {"a buffer of the host is rebound", of_pinned, rebind, 0},
    {"a node is set", owned, set, 0},
    {"a node is set twice", owned, set_twice, 1},
    {"an exec is updated", of_update, update, 1},
    {"a child graph is set", of_child, set_child, 0},
    {"an exec is destroyed, and its graph", owned, destroy, 1},
    {"an exec is the last to use a library", of_library, destroy, 0},
    {"an exec is the last to use a buffer of the device", of_used_device, destroy, 0},
    {"an exec is the last to use a pool", of_own_pool, destroy, 0},
    {"an exec, a stream and an event are destroyed", of_two, destroy, 1},
};

/* The capture begins before something is retired, or after it. */
static void beside(const struct kind *kind, int is_begun_first) {
  struct scene scene;
  CUgraph graph = NULL;
  const int before = released(&count);
  memset(&scene, 0, sizeof scene);
  open_gate(0);
  kind->make(&scene);
  scene.exec = new_exec(scene.graph);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_launch_host_function(stream, wait_for_gate, NULL, NULL));
  CHECK_OK(cushim_exec_launch(scene.exec, stream));
  if (!is_begun_first) kind->retire(&scene);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(foreign, CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (is_begun_first) kind->retire(&scene);
  let_it_ask();
  CHECK(released(&count) == before);
  open_gate(1);
  let_it_ask();
  CHECK_OK(cushim_stream_synchronize(stream));
  released_soon(&count, before + kind->owners);
  let_it_ask();
  if (!CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(foreign, &graph))) {
    fprintf(stderr, "  %s, %s\n", kind->name, is_begun_first ? "while others capture" : "before others capture");
  }
  if (graph != NULL) CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(graph));
  if (scene.exec != NULL) destroy(&scene);
  flush_callbacks();
}

int main(void) {
  cushim_context popped = NULL;
  size_t i;
  int round;
  check_begin();
  if (!open_graphs()) return close_graphs();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&foreign, CU_STREAM_NON_BLOCKING));
  PROGRAMS_OWN(foreign);
  /* In a stream of the library's own, and in one that others have, too. */
  for (round = 0; round < 2; round++) {
    CUstream native = NULL;
    stream = new_stream(all.context);
    if (round == 1) CHECK_OK(cushim_stream_native(stream, &native));
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
      beside(&kinds[i], 0);
      beside(&kinds[i], 1);
    }
    CHECK_OK(cushim_stream_destroy(stream));
  }
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(foreign));
  CHECK_OK(cushim_context_pop(all.driver, &popped, NULL));
  return close_graphs();
}
