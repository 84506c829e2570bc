/*
 * An exec keeps by itself what its nodes use: until nothing names it and the launches that use it are done, whatever becomes of streams,
 * threads, graphs and the exec meanwhile. Releases are counted; in each sort of stream; and the driver is asked for nothing besides.
 */
#include "builders.h"

#include <pthread.h>
#include <sys/wait.h>

static const cushim_driver_table *cu;
static struct control control;
static int has_control;
static int count, gates[4];

static void wait_for_gate(void *data) {
  while (!__atomic_load_n((int *)data, __ATOMIC_ACQUIRE)) usleep(100);
}

static void close_gates(void) { memset(gates, 0, sizeof gates); }

static void open_gate(int which) { __atomic_store_n(&gates[which], 1, __ATOMIC_RELEASE); }

static void hold(cushim_stream stream, int which) { CHECK_OK(cushim_stream_launch_host_function(stream, wait_for_gate, &gates[which], NULL)); }

static void no_op(void *data) { (void)data; }

static cushim_node add_owned(cushim_graph graph) {
  cushim_owner owner = counted(&count);
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, &node));
  return node;
}

static void set_owned(cushim_node node, cushim_exec exec) {
  cushim_owner owner = counted(&count);
  CHECK_OK(cushim_exec_set_host_function(exec, node, no_op, NULL, &owner));
}

static void set_plain(cushim_node node, cushim_exec exec) { CHECK_OK(cushim_exec_set_host_function(exec, node, no_op, NULL, NULL)); }

/* Long enough for a question that is asked too early to be answered. */
static int stays(int before) {
  const struct timespec pause = {0, 30000000};
  int i;
  for (i = 0; i < 2; i++) {
    nanosleep(&pause, NULL);
    if (released(&count) != before) return 0;
  }
  return 1;
}

/* The sorts of streams. */
enum sort { CREATED, HANDED_OUT, BORROWED, LEGACY, PER_THREAD, SORTS };

struct lane {
  enum sort sort;
  cushim_stream stream;
  CUstream native;
};

static struct lane lane_of(enum sort sort) {
  struct lane lane = {sort, NULL, NULL};
  switch (sort) {
  case CREATED: lane.stream = new_stream(all.context); break;
  case HANDED_OUT:
    lane.stream = new_stream(all.context);
    CHECK_OK(cushim_stream_native(lane.stream, &lane.native));
    break;
  case BORROWED:
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&lane.native, CU_STREAM_NON_BLOCKING));
    CHECK_OK(cushim_stream_wrap(all.context, lane.native, CUSHIM_BORROWED, &lane.stream));
    break;
  case LEGACY: CHECK_OK(cushim_context_get_legacy_stream(all.context, &lane.stream)); break;
  default: CHECK_OK(cushim_context_get_per_thread_stream(all.context, &lane.stream));
  }
  return lane;
}

/* Also while work is pending there. */
static void end_lane(struct lane *lane) {
  if (lane->sort <= BORROWED) CHECK_OK(cushim_stream_destroy(lane->stream));
  if (lane->sort == BORROWED) CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamDestroy_4000(lane->native));
}

static void settle(void) { CHECK_OK(cushim_context_synchronize(all.context)); }

/* An exec destroyed in flight keeps what its launch uses; and a stream that is destroyed under it tells all the same. */
static void destroyed_in_flight(enum sort sort, int is_stream_destroyed) {
  struct lane lane = lane_of(sort);
  cushim_graph graph = new_graph();
  cushim_exec exec;
  const int before = released(&count);
  close_gates();
  add_owned(graph);
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&count) == before);
  hold(lane.stream, 0);
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  if (is_stream_destroyed) end_lane(&lane);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(stays(before));
  open_gate(0);
  settle();
  flush_callbacks(); /* asks at once */
  CHECK(__atomic_load_n(&count, __ATOMIC_SEQ_CST) == before + 1);
  if (!is_stream_destroyed) end_lane(&lane);
}

/* What a node had before it was set goes when the launches until then are done, though later ones are in flight: in a loop of launches, too. */
static void set_in_flight(enum sort sort) {
  struct lane lane = lane_of(sort);
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec exec = new_exec(graph);
  int i;
  close_gates();
  hold(lane.stream, 0);
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  set_owned(node, exec); /* the graph has the first owner, too */
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  CHECK(stays(before));
  hold(lane.stream, 1);
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  for (i = 0; i < 3; i++) CHECK_OK(cushim_exec_launch(exec, lane.stream));
  open_gate(0);
  CHECK(released_soon(&count, before + 1) == before + 1); /* the later ones wait */
  set_plain(node, exec);
  CHECK(stays(before + 1));
  open_gate(1);
  settle();
  CHECK(released_soon(&count, before + 2) == before + 2);
  CHECK_OK(cushim_exec_destroy(exec));
  end_lane(&lane);
}

/* Of launches in several streams the last one counts, for they run one after the other. */
static void in_several_streams(enum sort first, enum sort second) {
  struct lane lanes[2] = {lane_of(first), lane_of(second)};
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  close_gates();
  hold(lanes[0].stream, 0);
  CHECK_OK(cushim_exec_launch(exec, lanes[0].stream));
  CHECK_OK(cushim_exec_launch(exec, lanes[1].stream));
  set_plain(node, exec);
  CHECK(stays(before));
  open_gate(0);
  settle();
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(exec));
  end_lane(&lanes[0]);
  end_lane(&lanes[1]);
}

/* An upload counts as a launch, and one in another stream does not hide a launch. */
static void uploaded(enum sort sort) {
  struct lane lane = lane_of(sort);
  cushim_stream other = new_stream(all.context);
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  close_gates();
  hold(lane.stream, 0);
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  CHECK_OK(cushim_exec_upload(exec, other)); /* which waits for the launch */
  set_plain(node, exec);
  CHECK(stays(before));
  open_gate(0);
  settle();
  CHECK(released_soon(&count, before + 1) == before + 1);
  set_owned(node, exec);
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  settle();
  hold(other, 1);
  CHECK_OK(cushim_exec_upload(exec, other));
  set_plain(node, exec);
  CHECK(stays(before + 1));
  open_gate(1);
  settle();
  CHECK(released_soon(&count, before + 2) == before + 2);
  CHECK_OK(cushim_exec_destroy(exec)); /* the driver waits there for an upload */
  end_lane(&lane);
  CHECK_OK(cushim_stream_destroy(other));
}

static cushim_exec launched_there;

static void *launch_there(void *data) {
  cushim_stream own = NULL;
  (void)data;
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &own));
  hold(own, 0);
  CHECK_OK(cushim_exec_launch(launched_there, own));
  return NULL;
}

/* A thread that has ended had a stream of its own, of which another thread's own tells nothing. */
static void on_another_thread(void) {
  pthread_t thread;
  cushim_graph graph = new_graph();
  const int before = released(&count);
  close_gates();
  add_owned(graph);
  launched_there = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  if (CHECK(pthread_create(&thread, NULL, launch_there, NULL) == 0)) pthread_join(thread, NULL);
  CHECK_OK(cushim_exec_destroy(launched_there));
  CHECK(stays(before));
  open_gate(0);
  settle();
  CHECK(released_soon(&count, before + 1) == before + 1);
}

static cushim_stream shared_streams[4];

static void *launch_often(void *data) {
  const int own = (int)(intptr_t)data;
  int i;
  for (i = 0; i < 200; i++) CHECK_OK(cushim_exec_launch(launched_there, shared_streams[(own + i) % 4]));
  return NULL;
}

/* Several threads launch one exec in several streams while it is changed: all that was retired goes, and once. */
static void by_several_threads(void) {
  enum { THREADS = 3, TIMES = 100 };
  pthread_t threads[THREADS];
  struct lane lanes[4] = {lane_of(CREATED), lane_of(HANDED_OUT), lane_of(BORROWED), lane_of(CREATED)};
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  int i;
  launched_there = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  for (i = 0; i < 4; i++) shared_streams[i] = lanes[i].stream;
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, launch_often, (void *)(intptr_t)i) == 0);
  for (i = 0; i < TIMES; i++) set_owned(node, launched_there);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  settle();
  CHECK(released_soon(&count, before + TIMES) == before + TIMES); /* all but the last */
  CHECK_OK(cushim_exec_destroy(launched_there));
  CHECK(released_soon(&count, before + TIMES + 1) == before + TIMES + 1);
  for (i = 0; i < 4; i++) end_lane(&lanes[i]);
}

/* The stream is captured by the time that somebody has to know: it is asked when that is over. */
static void captured_meanwhile(enum sort sort, int by_others) {
  struct lane lane = lane_of(sort);
  cushim_builder builder = NULL;
  CUgraph captured = NULL;
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  CHECK_OK(cushim_stream_synchronize(lane.stream));
  if (by_others) {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamBeginCapture_10010(lane.native, CU_STREAM_CAPTURE_MODE_GLOBAL));
  } else {
    CHECK_OK(cushim_builder_create_on(lane.stream, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
  }
  set_plain(node, exec);
  if (sort == CREATED) CHECK(stays(before));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_launch(exec, lane.stream));
  if (by_others) {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamEndCapture_10000(lane.native, &captured));
    CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(captured));
  } else {
    cushim_graph ended = NULL;
    CHECK_OK(cushim_builder_end(builder, &ended));
    CHECK_OK(cushim_graph_destroy(ended));
    CHECK_OK(cushim_builder_destroy(builder));
  }
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(exec));
  end_lane(&lane);
}

/* Edits, clones, children and updates: each exec keeps what it was made of, or updated from; a failed update changes nothing. */
static void edits(void) {
  cushim_graph graph = new_graph(), clone = NULL, parent = new_graph(), other = new_graph(), two = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec execs[3];
  CHECK_OK(cushim_graph_clone(graph, &clone));
  CHECK_OK(cushim_graph_add_child(parent, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
  execs[0] = new_exec(graph);
  execs[1] = new_exec(clone);
  execs[2] = new_exec(parent);
  CHECK_OK(cushim_node_remove(node));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(parent));
  CHECK(released(&count) == before);
  run(execs[0]);
  CHECK_OK(cushim_exec_destroy(execs[0]));
  CHECK_OK(cushim_exec_destroy(execs[2]));
  CHECK(stays(before));
  add_owned(two);
  add_owned(two);
  CHECK(cushim_exec_update(execs[1], two, NULL) != CUSHIM_SUCCESS);
  CHECK_OK(cushim_graph_destroy(two));
  CHECK(released_soon(&count, before + 2) == before + 2 && stays(before + 2)); /* those two */
  add_owned(other);
  CHECK_OK(cushim_exec_update(execs[1], other, NULL));
  CHECK(released_soon(&count, before + 3) == before + 3);
  CHECK_OK(cushim_graph_destroy(other));
  run(execs[1]);
  CHECK(stays(before + 3));
  CHECK_OK(cushim_exec_destroy(execs[1]));
  CHECK(released_soon(&count, before + 4) == before + 4);
}

/* An update in flight: what the launch uses stays until it is done. */
static void updated_in_flight(enum sort sort) {
  struct lane lane = lane_of(sort);
  cushim_graph graph = new_graph(), other = new_graph();
  const int before = released(&count);
  cushim_exec exec;
  add_owned(graph);
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_add_host_function(other, NULL, 0, no_op, NULL, NULL, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
  close_gates();
  hold(lane.stream, 0);
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  CHECK_OK(cushim_exec_update(exec, other, NULL));
  CHECK_OK(cushim_exec_launch(exec, lane.stream));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK(stays(before));
  open_gate(0);
  settle();
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(exec));
  end_lane(&lane);
}

/* Others launch it by its native handle: the driver keeps what it uses, and what nodes had before goes after an update, or with the exec. */
static void launched_by_others(void) {
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec exec = new_exec_with(graph, CUSHIM_EXEC_NATIVE_LAUNCHES);
  struct lane lane = lane_of(BORROWED);
  CUgraphExec native = NULL;
  CHECK_OK(cushim_exec_native(exec, &native));
  close_gates();
  hold(lane.stream, 0);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphLaunch_10000(native, lane.native));
  set_owned(node, exec);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(stays(before));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphLaunch_10000(native, lane.native));
  set_plain(node, exec);
  CHECK(stays(before));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(stays(before));
  open_gate(0);
  settle();
  CHECK(released_soon(&count, before + 2) == before + 2);
  end_lane(&lane);
}

/* A launch is one call of the driver; where others have the stream, too, the driver is asked first whether they capture, and an event follows. */
static void calls(void) {
  struct lane created = lane_of(CREATED), borrowed = lane_of(BORROWED);
  cushim_graph graph = new_graph();
  cushim_exec exec;
  if (!has_control) return;
  add_append(graph, NULL, 0, 1);
  control.calls_reset();
  exec = new_exec(graph);
  CHECK(control.call_count("cuUserObjectCreate") == 0);
  CHECK_OK(cushim_exec_launch(exec, created.stream));
  flush_callbacks();
  control.calls_reset();
  CHECK_OK(cushim_exec_launch(exec, created.stream));
  CHECK_OK(cushim_exec_launch(exec, created.stream));
  CHECK(control.call_count("*") == 2 && control.call_count("cuGraphLaunch") == 2);
  CHECK_OK(cushim_exec_launch(exec, borrowed.stream)); /* takes an event */
  control.calls_reset();
  CHECK_OK(cushim_exec_launch(exec, borrowed.stream));
  CHECK(control.call_count("cuGraphLaunch") == 1 && control.call_count("cuEventRecord") == 1);
  CHECK(control.call_count("cuStreamIsCapturing") == 1 && control.call_count("*") == 3);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  settle();
  end_lane(&created);
  end_lane(&borrowed);
}

/*
 * Nodes that keep memory of a context that was destroyed. A launch is refused, until a kernel uses other memory; a memset is bound to the
 * context of its memory (580 crashes if the exec is changed or destroyed then), so its exec can only be destroyed.
 */
static void of_a_destroyed_context(void) {
  const cushim_context here = all.context;
  cushim_context there = NULL;
  cushim_resource resource = NULL;
  cushim_buffer buffer = NULL;
  cushim_graph kernels = new_graph(), memsets = new_graph();
  cushim_exec of_kernel, of_memset, another = NULL;
  cushim_node node = NULL, memset_node = NULL;
  cushim_endpoint to;
  cushim_arg args[2];
  const uint32_t digit = 9;
  CUcontext native = NULL;
  CHECK_OK(cushim_context_create(all.device, 0, &there));
  CHECK_OK(cushim_resource_create_device(there, &resource));
  CHECK_OK(cushim_buffer_create(resource, NULL, 64, &buffer));
  to = cushim_endpoint_buffer(buffer, 0);
  args[0] = cushim_arg_buffer(buffer);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_add_kernel(kernels, NULL, 0, all.kernel, NULL, args, 2, &node));
  CHECK_OK(cushim_graph_add_fill(memsets, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &memset_node));
  of_kernel = new_exec(kernels);
  of_memset = new_exec(memsets);
  CHECK_OK(cushim_context_native(there, &native));
  if (version >= 12000) { /* before, nobody can tell */
    CHECK_STATUS(CUDA_SUCCESS, cu->cuCtxDestroy_4000(native));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_launch(of_kernel, all.stream));
    CHECK_CONTAINS(last_message(), "was destroyed or reset");
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_upload(of_kernel, all.stream));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_create(kernels, NULL, &another, NULL));
    CHECK_CONTAINS(last_message(), "a node of");
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_create(memsets, NULL, &another, NULL));
    CHECK_CONTAINS(last_message(), "a node of");
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_update(of_kernel, kernels, NULL));
    args[0] = CUSHIM_ARG(memory);
    CHECK_OK(cushim_exec_set_argument(of_kernel, node, 0, &args[0]));
    CHECK(result_of_exec(of_kernel) == 9);
    CHECK_OK(cushim_node_set_argument(node, 0, &args[0]));
    CHECK_OK(cushim_exec_update(of_kernel, kernels, NULL));
    CHECK(result_of_exec(of_kernel) == 9);
    to = cushim_endpoint_device(memory);
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_launch(of_memset, all.stream));
    CHECK_STATUS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cushim_exec_set_fill(of_memset, memset_node, &to, CUSHIM_VALUE_32(9), 1));
    CHECK_CONTAINS(last_message(), "was destroyed or reset");
  }
  CHECK_OK(cushim_exec_destroy(of_kernel));
  CHECK_OK(cushim_exec_destroy(of_memset));
  CHECK_OK(cushim_graph_destroy(kernels));
  CHECK_OK(cushim_graph_destroy(memsets));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK_OK(cushim_resource_destroy(resource));
  CHECK_OK(cushim_context_destroy(there));
  CHECK(all.context == here);
}

/* What is retired is in nobody's way: an allocation that finds no memory has it released first. */
static void short_of_memory(void) {
  cushim_resource resource = NULL;
  cushim_buffer large = NULL, next = NULL;
  cushim_stream stream = new_stream(all.context);
  cushim_graph graph = new_graph();
  cushim_endpoint to;
  cushim_exec exec;
  size_t available = 0, total = 0;
  if (!has_control) return; /* a device's memory is not for a test to fill */
  CHECK_OK(cushim_resource_create_device(all.context, &resource));
  CHECK_OK(cushim_context_get_memory_info(all.context, &available, &total));
  available -= available % 4096;
  CHECK_OK(cushim_buffer_create(resource, NULL, available / 8 * 5, &large));
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_buffer_create(resource, NULL, available / 8 * 5, &next));
  to = cushim_endpoint_buffer(large, 0);
  /* Without the node nothing keeps the memory, and to free it would wait for the gate. */
  if (!CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL))) exit(1);
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  close_gates();
  hold(stream, 0);
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_buffer_destroy(large));
  pause_shortly();
  open_gate(0);
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_buffer_create(resource, NULL, available / 8 * 5, &next));
  CHECK_OK(cushim_buffer_destroy(next));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_resource_destroy(resource));
}

/* In the child of a fork nothing is released, and nothing waits; the parent goes on. */
static void forked(void) {
  cushim_graph graph = new_graph();
  const int before = released(&count);
  cushim_node node = add_owned(graph);
  cushim_exec exec = new_exec(graph);
  pid_t child;
  int status = 0;
  CHECK_OK(cushim_graph_destroy(graph));
  close_gates();
  hold(all.stream, 0);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  set_plain(node, exec);
  fflush(NULL);
  child = fork();
  if (child == 0) _exit(cushim_exec_destroy(exec) == CUSHIM_ERROR_FORKED && __atomic_load_n(&count, __ATOMIC_SEQ_CST) == before ? 0 : 1);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(stays(before));
  open_gate(0);
  settle();
  CHECK(released_soon(&count, before + 1) == before + 1);
  CHECK_OK(cushim_exec_destroy(exec));
}

int main(void) {
  cushim_context popped = NULL;
  int sort, second;
  check_begin();
  if (!open_graphs()) return close_graphs();
  cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  has_control = find_control(&control);
  CHECK_OK(cushim_context_push(all.context));
  for (sort = 0; sort < SORTS; sort++) {
    destroyed_in_flight((enum sort)sort, 0);
    destroyed_in_flight((enum sort)sort, 1);
    set_in_flight((enum sort)sort);
    updated_in_flight((enum sort)sort);
    uploaded((enum sort)sort);
    for (second = 0; second < SORTS; second++) {
      if (sort != second || sort <= BORROWED) in_several_streams((enum sort)sort, (enum sort)second);
    }
  }
  on_another_thread();
  by_several_threads();
  captured_meanwhile(CREATED, 0);
  captured_meanwhile(HANDED_OUT, 0);
  captured_meanwhile(HANDED_OUT, 1);
  captured_meanwhile(BORROWED, 1);
  edits();
  launched_by_others();
  calls();
  of_a_destroyed_context();
  short_of_memory();
  forked();
  CHECK_OK(cushim_context_pop(all.driver, &popped, NULL));
  return close_graphs();
}
