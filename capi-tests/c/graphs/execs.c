/* Execs: instantiated with flags or refused with a reason, launched in streams, uploaded, updated as a whole, nodes switched off. */
#include "graphs.h"

#include <pthread.h>

static cushim_exec_result empty_result(void) {
  cushim_exec_result result = CUSHIM_OPTIONS(cushim_exec_result);
  return result;
}

static cushim_status create(cushim_graph graph, uint32_t flags, cushim_stream upload, cushim_exec *exec) {
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  options.flags = flags;
  options.upload_stream = upload;
  return cushim_exec_create(graph, &options, exec, NULL);
}

static void flags(void) {
  static const uint32_t each[] = {0, CUSHIM_EXEC_AUTO_FREE, CUSHIM_EXEC_NODE_PRIORITY, CUSHIM_EXEC_NATIVE_LAUNCHES};
  static const int since[] = {0, 11040, 11070, 0};
  cushim_graph graph = new_graph();
  cushim_exec exec;
  uint32_t told;
  size_t i;
  add_append(graph, NULL, 0, 1);
  for (i = 0; i < sizeof each / sizeof *each; i++) {
    exec = (cushim_exec)NOT_NULL;
    told = 99;
    if (version < since[i]) {
      CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, create(graph, each[i], NULL, &exec));
      CHECK(exec == NULL);
      continue;
    }
    CHECK_OK(create(graph, each[i], i == 0 ? NULL : all.stream, &exec)); /* with and without an upload */
    CHECK_OK(cushim_exec_get_flags(exec, &told));
    CHECK(told == each[i] && result_of_exec(exec) == 1);
    CHECK_OK(cushim_exec_destroy(exec));
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, create(graph, 64, NULL, &exec));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, create(graph, 0, (cushim_stream)(void *)all.event, &exec));
  CHECK(exec == NULL);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void objects(void) {
  cushim_graph graph = new_graph(), of = NULL, child = new_graph(), inner = NULL;
  cushim_exec exec, other = NULL, none = (cushim_exec)NOT_NULL;
  cushim_exec_result result = empty_result();
  CUgraphExec native = NULL;
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, &inner));
  result.reason = 99;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_create(inner, NULL, &none, &result));
  CHECK_CONTAINS(last_message(), "part of");
  CHECK(none == NULL && result.reason == 1 && result.node == NULL);
  result = empty_result();
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_create((cushim_graph)(void *)all.event, NULL, &none, &result));
  CHECK(result.reason == 1 && result.struct_size == sizeof result);
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, &result));
  CHECK(result.reason == 0 && result.node == NULL && result.other == NULL && result.struct_size == sizeof result);
  CHECK_OK(cushim_set_label(exec, "mine"));
  CHECK_CONTAINS(description(exec), "mine");
  native = (CUgraphExec)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_native(exec, &native));
  CHECK_CONTAINS(last_message(), "exec \"mine\"");
  CHECK_CONTAINS(last_message(), "CUSHIM_EXEC_NATIVE_LAUNCHES");
  CHECK(native == NULL);
  other = new_exec_with(graph, CUSHIM_EXEC_NATIVE_LAUNCHES);
  CHECK_OK(cushim_exec_native(other, &native));
  CHECK(native != NULL);
  CHECK_OK(cushim_exec_destroy(other));
  CHECK_OK(cushim_exec_get_graph(exec, &of));
  CHECK(is_same(of, graph));
  CHECK_OK(cushim_exec_ref(exec, &other));
  CHECK(is_same(exec, other) && exec != other);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_exec_destroy(exec));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_launch(exec, all.stream));
  CHECK_CONTAINS(last_message(), "destroyed");
  run(other);
  CHECK_OK(cushim_exec_destroy(other));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* What the driver refuses is told with its reason, from CUDA 12.0 on. */
static void refused_graphs(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_graph graph = new_graph();
  cushim_node nodes[2];
  cushim_exec exec = (cushim_exec)NOT_NULL;
  cushim_exec_result result = empty_result();
  CUgraph native = NULL;
  CUgraphNode from = NULL, to = NULL;
  nodes[0] = add_empty(graph, NULL);
  nodes[1] = add_empty(graph, nodes[0]);
  CHECK_OK(cushim_graph_native(graph, &native));
  CHECK_OK(cushim_node_native(nodes[1], &from));
  CHECK_OK(cushim_node_native(nodes[0], &to));
  if (cu->cuGraphAddDependencies_12030 != NULL) {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphAddDependencies_12030(native, &from, &to, NULL, 1));
  } else {
    CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphAddDependencies_10000(native, &from, &to, 1));
  }
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_create(graph, NULL, &exec, &result));
  CHECK(exec == NULL && result.reason == (version >= 12000 ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE : 1));
  if (version >= 12000) CHECK_CONTAINS(last_message(), "cycle");
  CHECK_OK(cushim_graph_destroy(graph));
}

static void no_op(void *data) { (void)data; }

/* Refused for launches by kernels, with what such a graph may have. */
static void is_not_for_kernels(cushim_graph graph, uint32_t flags, cushim_node node) {
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  cushim_exec_result result = empty_result();
  cushim_exec exec = (cushim_exec)NOT_NULL;
  options.flags = CUSHIM_EXEC_DEVICE_LAUNCH | flags;
  if (version < 12000) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_create(graph, &options, &exec, &result));
    CHECK_CONTAINS(last_message(), "12.0");
    CHECK(result.reason == 1 && result.node == NULL);
  } else {
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_create(graph, &options, &exec, &result));
    CHECK_CONTAINS(last_message(), "A graph that kernels launch");
    CHECK(result.reason == (node == NULL ? 1 : CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED) && result.node == node);
  }
  CHECK(exec == NULL);
}

/* Kernels may launch kernels and memsets; not a host function, which is named; nor what frees memory at its launch, nor nothing. */
static void device_launch(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node node = NULL;
  cushim_exec exec = NULL;
  uint32_t told = 0;
  is_not_for_kernels(graph, 0, NULL);
  add_append(graph, add_number(graph, NULL, 0, 1), 0, 2);
  is_not_for_kernels(graph, CUSHIM_EXEC_AUTO_FREE, NULL);
  CHECK_OK(cushim_graph_add_host_function(other, NULL, 0, no_op, NULL, NULL, &node));
  is_not_for_kernels(other, 0, node);
  if (version >= 12000) {
    CHECK_OK(create(graph, CUSHIM_EXEC_DEVICE_LAUNCH, all.stream, &exec));
    CHECK_OK(cushim_exec_get_flags(exec, &told));
    CHECK(told == CUSHIM_EXEC_DEVICE_LAUNCH && result_of_exec(exec) == 12); /* the host may launch it as ever */
    CHECK_OK(cushim_exec_destroy(exec));
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

static void streams(void) {
  cushim_graph graph = new_graph();
  cushim_stream other = new_stream(all.context), legacy = NULL, own = NULL;
  cushim_exec exec;
  struct busy busy;
  int i;
  add_append(graph, add_append(graph, NULL, 0, 1), 0, 2);
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_upload(exec, all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_exec_launch(exec, NULL));
  CHECK_STATUS(CUSHIM_ERROR_STREAM_REQUIRED, cushim_exec_upload(exec, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_launch(exec, (cushim_stream)(void *)all.event));
  clear_memory();
  for (i = 0; i < 2; i++) { /* launches of one exec run one after the other, in whatever streams */
    CHECK_OK(cushim_exec_launch(exec, all.stream));
    CHECK_OK(cushim_exec_launch(exec, other));
  }
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK(number_at(memory) == 12121212);
  CHECK_OK(cushim_context_get_legacy_stream(all.context, &legacy));
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &own));
  clear_memory();
  CHECK_OK(cushim_exec_launch(exec, legacy));
  CHECK_OK(cushim_stream_synchronize(legacy));
  CHECK_OK(cushim_exec_launch(exec, own));
  CHECK_OK(cushim_stream_synchronize(own));
  CHECK(number_at(memory) == 1212);
  /* After what is in the stream, and before what comes later. */
  clear_memory();
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(fill_bytes(all.stream, slot(1), 1, 4));
  CHECK_OK(cushim_stream_synchronize(other));
  CHECK(number_at(memory) == 0);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(memory) == 12 && number_at(slot(1)) == 0x01010101);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_destroy(other));
}

static void several_execs(void) {
  enum { EXECS = 8 };
  cushim_graph graph = new_graph();
  cushim_kernel add = kernel_of(all.library, "add");
  cushim_exec execs[EXECS];
  int i;
  CHECK_OK(add_numbered(graph, NULL, 0, add, memory, 1, NULL));
  for (i = 0; i < EXECS; i++) {
    execs[i] = new_exec(graph);
    CHECK_OK(add_numbered(graph, NULL, 0, add, memory, 1, NULL)); /* later changes do not reach it */
  }
  clear_memory();
  for (i = 0; i < EXECS; i++) CHECK_OK(cushim_exec_launch(execs[i], all.stream));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(memory) == EXECS * (EXECS + 1) / 2);
  for (i = 0; i < EXECS; i++) CHECK_OK(cushim_exec_destroy(execs[i]));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(add));
}

static void enabled(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node kernel = add_append(graph, NULL, 0, 1), fill = add_number(graph, kernel, 1, 5), after = add_append(graph, fill, 0, 2);
  cushim_node empty = add_empty(graph, NULL), foreign = add_empty(other, NULL), copy = NULL, later;
  cushim_endpoint to = cushim_endpoint_device(slot(2)), from = cushim_endpoint_device(slot(1));
  cushim_exec exec, second;
  int32_t is_enabled = 9;
  CHECK_OK(cushim_graph_add_copy(graph, &fill, 1, &to, &from, 4, &copy));
  exec = new_exec(graph);
  second = new_exec(graph);
  if (version < 11060) {
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_get_enabled(exec, kernel, &is_enabled));
    CHECK(is_enabled == 0);
    CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_set_enabled(exec, kernel, 0));
    CHECK_CONTAINS(last_message(), "11.6");
  } else {
    CHECK_OK(cushim_exec_get_enabled(exec, kernel, &is_enabled));
    CHECK(is_enabled == 1);
    CHECK_OK(cushim_exec_set_enabled(exec, kernel, 0));
    CHECK_OK(cushim_exec_set_enabled(exec, kernel, 0));
    CHECK_OK(cushim_exec_set_enabled(exec, fill, 0));
    CHECK_OK(cushim_exec_get_enabled(exec, kernel, &is_enabled));
    CHECK(is_enabled == 0);
    CHECK(result_of_exec(exec) == 2 && number_at(slot(1)) == 0 && number_at(slot(2)) == 0);
    CHECK(result_of_exec(second) == 12 && number_at(slot(1)) == 5 && number_at(slot(2)) == 5);
    CHECK_OK(cushim_exec_set_enabled(exec, fill, 1));
    CHECK_OK(cushim_exec_set_enabled(exec, copy, 0));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_enabled(exec, copy, 2));
    CHECK_CONTAINS(last_message(), "enabled is 2");
    CHECK(result_of_exec(exec) == 2 && number_at(slot(1)) == 5 && number_at(slot(2)) == 0);
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_enabled(exec, empty, 0));
    CHECK_CONTAINS(last_message(), "Only kernel, copy and memset nodes");
    CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_get_enabled(exec, empty, &is_enabled));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_enabled(exec, foreign, 0));
    CHECK_CONTAINS(last_message(), "no node of the graph");
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_get_enabled(exec, foreign, &is_enabled));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_enabled(NULL, kernel, 0));
    later = add_append(graph, NULL, 0, 3);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_enabled(exec, later, 0));
    CHECK_OK(cushim_node_remove(after));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_enabled(exec, after, 0));
    CHECK(result_of_exec(exec) == 2);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_exec_destroy(second));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* A graph of two nodes, the first a memset of that value with an owner. */
static cushim_graph pair(uint32_t value, int *count) {
  cushim_graph graph = new_graph();
  cushim_owner owner = counted(count);
  cushim_endpoint to = owned_slot(0, &owner);
  cushim_node first = NULL;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(value), 1, &first));
  add_append(graph, first, 0, 9);
  return graph;
}

/* The exec does what the other graph does from the next launch on, and keeps what that keeps, instead of its own. */
static void updates(void) {
  int first = 0, second = 0;
  cushim_graph graph = pair(3, &first), other = pair(4, &second);
  cushim_exec exec = new_exec(graph), untouched = new_exec(graph);
  cushim_exec_result result = empty_result();
  cushim_node nodes[2];
  size_t count = 0;
  result.reason = 99;
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 2, &count));
  CHECK_OK(cushim_exec_update(exec, other, &result));
  CHECK(result.reason == 0 && result.node == NULL && result.other == NULL);
  CHECK(result_of_exec(exec) == 49 && result_of_exec(untouched) == 39 && result_of(graph) == 39);
  CHECK_OK(cushim_graph_destroy(other));
  CHECK(released(&second) == 0);
  /* It still answers to its own nodes. */
  CHECK_OK(cushim_exec_set_fill(exec, nodes[0], NULL, CUSHIM_VALUE_32(6), 0));
  CHECK(result_of_exec(exec) == 69);
  /* Its own graph, changed. */
  CHECK_OK(cushim_node_set_fill(nodes[0], NULL, CUSHIM_VALUE_32(7), 0));
  CHECK(result_of_exec(exec) == 69 && result_of_exec(untouched) == 39);
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  CHECK(result_of_exec(exec) == 79);
  CHECK(released_soon(&second, 1) == 1);
  CHECK_OK(cushim_exec_destroy(untouched));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released(&first) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&first, 1) == 1 && second == 1);
}

/* A refusal names reason and node, leaves the exec whole, and takes nothing over. */
static void refused_updates(void) {
  int first = 0, second = 0;
  cushim_graph graph = pair(3, &first), other = pair(4, &second), types = new_graph();
  cushim_exec exec = new_exec(graph);
  cushim_exec_result result = empty_result();
  cushim_node nodes[2], changed;
  size_t count = 0;
  add_append(other, NULL, 0, 1);
  CHECK_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cushim_exec_update(exec, other, &result));
  CHECK(result.reason == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && result.node == NULL);
  CHECK_CONTAINS(last_message(), "other nodes or edges");
  changed = add_append(types, NULL, 0, 1);
  add_append(types, changed, 0, 9);
  CHECK_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cushim_exec_update(exec, types, &result));
  CHECK(result.reason == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && result.node == changed);
  CHECK_CONTAINS(last_message(), "another type");
  CHECK(result_of_exec(exec) == 39);
  CHECK_OK(cushim_graph_destroy(other));
  CHECK(released_soon(&second, 1) == 1);
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 2, &count));
  CHECK_OK(cushim_exec_set_fill(exec, nodes[0], NULL, CUSHIM_VALUE_32(5), 0));
  CHECK(result_of_exec(exec) == 59);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_update(exec, NULL, &result));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_update(exec, other, &result));
  result.struct_size = 3;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_update(exec, graph, &result));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(types));
  CHECK(released_soon(&first, 1) == 1);
}

/* Threads that launch, update and change one exec: each launch is a whole one. */
static cushim_exec shared;
static cushim_graph shared_graph;
static cushim_node shared_node;

static void *use(void *data) {
  cushim_stream stream = new_stream(all.context);
  int i;
  for (i = 0; i < 100; i++) {
    CHECK_OK(cushim_exec_launch(shared, stream));
    CHECK_OK(cushim_exec_set_fill(shared, shared_node, NULL, CUSHIM_VALUE_32((uint32_t)i), 0));
    CHECK_OK(cushim_exec_update(shared, shared_graph, NULL));
  }
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  return data;
}

static void threads(void) {
  pthread_t made[4];
  int i, count = 0;
  size_t found = 0;
  shared_graph = pair(1, &count);
  shared = new_exec(shared_graph);
  CHECK_OK(cushim_graph_get_nodes(shared_graph, &shared_node, 1, &found));
  for (i = 0; i < 4; i++) {
    if (!CHECK(pthread_create(&made[i], NULL, use, NULL) == 0)) exit(1);
  }
  for (i = 0; i < 4; i++) CHECK(pthread_join(made[i], NULL) == 0);
  CHECK(result_of_exec(shared) == 19);
  CHECK_OK(cushim_exec_destroy(shared));
  CHECK_OK(cushim_graph_destroy(shared_graph));
  CHECK(released_soon(&count, 1) == 1);
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    flags();
    objects();
    refused_graphs();
    device_launch();
    streams();
    several_execs();
    enabled();
    updates();
    refused_updates();
    threads();
  }
  return close_graphs();
}
