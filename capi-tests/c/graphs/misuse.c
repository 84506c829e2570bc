/* Arguments that overlap, lie, or are of elsewhere; and use while others destroy. Each is an error, or does what it says. */
#include "conditions.h"

#include <pthread.h>
#include <sys/wait.h>

static const size_t far_too_many = (size_t)1 << 60;

/* The new node's place may be that of a node before it: each call adds the next of a chain. */
static void shared_places(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_endpoint to = cushim_endpoint_device(slot(0));
  cushim_node nodes[2], node = add_append(graph, NULL, 0, 1), first = node;
  CHECK_OK(cushim_graph_add_empty(graph, &node, 1, &node));
  CHECK_OK(add_numbered(graph, &node, 1, all.kernel, slot(0), 2, &node));
  CHECK_OK(cushim_graph_add_child(graph, &node, 1, child, CUSHIM_CHILD_CLONE, &node, &inner));
  nodes[0] = first;
  nodes[1] = node;
  CHECK_OK(cushim_graph_add_fill(graph, nodes, 2, &to, CUSHIM_VALUE_32(9), 1, &nodes[1]));
  CHECK(nodes[0] == first && nodes[1] != NULL && nodes[1] != node);
  CHECK(node_count(graph) == 5 && edge_count(graph) == 5 && result_of(graph) == 9);
  /* What fails clears it all the same. */
  node = nodes[1];
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(child, &node, 1, &node));
  CHECK(node == NULL && node_count(child) == 0);
  if (version >= 12030) {
    cushim_graph body = NULL;
    const cushim_condition condition = new_condition(graph, 0);
    CHECK_OK(cushim_graph_add_conditional(graph, &first, 1, condition, CUSHIM_CONDITIONAL_IF, 1, &first, &body));
    CHECK(type_of(first) == CUSHIM_NODE_CONDITIONAL && edge_count(graph) == 6);
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
}

/* A count that no array has is refused before an element is read. */
static void counts_that_lie(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_empty(graph, NULL), nodes[4], kernel, added = (cushim_node)NOT_NULL;
  cushim_edge edges[4];
  cushim_arg args[4];
  char text[256];
  size_t count = 1;
  cushim_launch_attribute attribute;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  memset(&attribute, 0, sizeof attribute);
  config.attributes = &attribute;
  config.attribute_count = SIZE_MAX;
  memset(nodes, 0, sizeof nodes);
  memset(edges, 0, sizeof edges);
  memset(args, 0, sizeof args);
  nodes[0] = node;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(graph, nodes, far_too_many, &added));
  CHECK(added == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(graph, NULL, far_too_many, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependencies(node, nodes + 1, far_too_many));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_dependents(node, nodes + 1, far_too_many));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, edges, far_too_many));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_remove_edges(graph, edges, far_too_many));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, NULL, far_too_many));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_get_nodes(graph, NULL, far_too_many, &count));
  CHECK(count == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, far_too_many, NULL));
  CHECK_CONTAINS(last_message(), "args has a count of");
  args[0] = cushim_arg_make(CUSHIM_ARG_BYTES, &count);
  args[0].size = UINT32_MAX;
  kernel = add_append(graph, NULL, 0, 1);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_argument(kernel, 1, args));
  CHECK_CONTAINS(last_message(), "takes 4 bytes, and 4294967295 are given");
  CHECK_OK(cushim_node_remove(kernel));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, &config, NULL, 0, NULL));
  CHECK_CONTAINS(last_message(), "attributes has a count of");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(all.kernel, all.stream, NULL, args, far_too_many));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel_packed(graph, NULL, 0, all.kernel, NULL, args, SIZE_MAX, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch_packed(all.kernel, all.stream, NULL, args, SIZE_MAX));
  CHECK(node_count(graph) == 1 && edge_count(graph) == 0);
  CHECK_OK(cushim_describe(node, text, SIZE_MAX, NULL));
  CHECK(strstr(text, "node") != NULL);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Nodes of another graph, of the graph around, of a child that was removed; edges with NULL at an end. */
static void nodes_of_elsewhere(void) {
  cushim_graph graph = new_graph(), other = new_graph(), inner = NULL;
  cushim_node own = add_empty(graph, NULL), foreign = add_empty(other, NULL), child = NULL, below, node = NULL;
  cushim_edge edges[2];
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, other, CUSHIM_CHILD_CLONE, &child, &inner));
  below = add_empty(inner, NULL);
  edges[0] = edge_between(own, child);
  edges[1] = edge_between(own, foreign);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, edges, 2));
  edges[1] = edge_between(own, below);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_edges(graph, edges, 2));
  edges[1] = edge_between(NULL, own);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_edges(graph, edges, 2));
  edges[1] = edge_between(own, NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_edges(graph, edges, 2));
  CHECK(edge_count(graph) == 0); /* also not the first of them */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(inner, &own, 1, &node));
  CHECK_OK(cushim_node_remove(child));
  edges[1] = edge_between(own, child);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_edges(graph, edges + 1, 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(inner, NULL, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_dependencies(below, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(graph, &below, 1, &node));
  CHECK(node == NULL && node_count(graph) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* Graphs in graphs as deep as can be, from below and from above; what goes through them goes through all. */
static void as_deep_as_can_be(void) {
  const int most = 256;
  cushim_graph graph = new_graph(), single = new_graph(), lowest = graph, inner = NULL, copy;
  cushim_exec exec;
  cushim_condition condition;
  int level;
  for (level = 0; level < most; level++) {
    if (!CHECK_OK(cushim_graph_add_child(lowest, NULL, 0, single, CUSHIM_CHILD_CLONE, NULL, &inner))) return;
    lowest = inner;
  }
  add_append(lowest, NULL, 0, 7);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(lowest, NULL, 0, single, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_CONTAINS(last_message(), "257 graphs would stand around the innermost one, and 256 can");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(single, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK(node_count(lowest) == 1 && node_count(single) == 0);
  if (version >= 12090) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(lowest, NULL, 0, single, CUSHIM_CHILD_MOVE, NULL, &inner));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(single, NULL, 0, graph, CUSHIM_CHILD_MOVE, NULL, &inner));
  }
  CHECK_OK(cushim_graph_clone(graph, &copy));
  exec = new_exec(copy);
  CHECK_OK(cushim_exec_update(exec, graph, NULL));
  CHECK(result_of_exec(exec) == 7);
  CHECK_OK(cushim_graph_write_json(graph, "/dev/null", 0));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(copy));
  if (version >= 12030) {
    condition = new_condition(graph, 0);
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
                 cushim_graph_add_conditional(lowest, NULL, 0, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &inner));
    CHECK_CONTAINS(last_message(), "257 graphs");
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(single));
}

/* Owners of a call that fails for its handles are the caller's, as of any that fails. */
static void owners_of_failures(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_number(graph, NULL, 0, 1);
  cushim_exec stale = new_exec(graph);
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint place = owned_slot(0, &owner);
  cushim_region region;
  const cushim_extent extent = {4, 1, 1};
  cushim_owned_pointer pointer;
  cushim_arg arg = owned_arg(&pointer, slot(0), &count);
  memset(&region, 0, sizeof region);
  region.endpoint = place;
  CHECK_OK(cushim_exec_destroy(stale));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_fill(NULL, &place, CUSHIM_VALUE_32(1), 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_fill(stale, node, &place, CUSHIM_VALUE_32(1), 1));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_exec_set_copy(stale, node, &place, &place, 4));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_copy_3d(NULL, &region, &region, &extent));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_argument(NULL, 0, &arg));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_host_function(NULL, count_release, &count, &owner));
  CHECK(released(&count) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Inside a host function of the graph that runs, and inside a release. */

struct inside {
  cushim_graph graph;
  cushim_exec exec;
  cushim_builder builder;
  cushim_node node;
  cushim_status statuses[8];
  int32_t type;
};

static void CUSHIM_CUDA_CB use_inside(void *data) {
  struct inside *it = (struct inside *)data;
  CUgraph graph = NULL;
  CUgraphNode node = NULL;
  size_t count = 0;
  it->statuses[0] = cushim_graph_destroy(it->graph);
  it->statuses[1] = cushim_exec_destroy(it->exec);
  it->statuses[2] = cushim_builder_destroy(it->builder);
  it->statuses[3] = cushim_graph_add_empty(it->graph, NULL, 0, NULL);
  it->statuses[4] = cushim_exec_launch(it->exec, all.stream);
  it->statuses[5] = cushim_graph_get_nodes(it->graph, NULL, 0, &count);
  it->statuses[6] = cushim_graph_native(it->graph, &graph);
  it->statuses[7] = cushim_node_native(it->node, &node);
}

static void inside_host_functions(void) {
  struct inside it;
  cushim_node node = NULL;
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  const uint32_t digit = 1;
  int i, kept = 0;
  memset(&it, 0, sizeof it);
  it.graph = new_graph();
  /* What it keeps is the driver's to keep once the native handle is known: a call of the driver. */
  args[0] = owned_arg(&pointer, slot(0), &kept);
  args[1] = CUSHIM_ARG(digit);
  if (!CHECK_OK(cushim_graph_add_kernel(it.graph, NULL, 0, all.kernel, NULL, args, 2, &it.node))) {
    CHECK_OK(cushim_graph_destroy(it.graph));
    return;
  }
  CHECK_OK(cushim_builder_create(all.context, NULL, &it.builder));
  CHECK_OK(cushim_graph_add_host_function(it.graph, NULL, 0, use_inside, &it, NULL, &node));
  it.exec = new_exec(it.graph);
  run(it.exec);
  for (i = 0; i < 8; i++) CHECK_STATUS(CUSHIM_ERROR_IN_CALLBACK, it.statuses[i]);
  /* All of them are as they were. */
  CHECK(type_of(node) == CUSHIM_NODE_HOST_FUNCTION && node_count(it.graph) == 2);
  run(it.exec);
  CHECK_OK(cushim_graph_destroy(it.graph));
  CHECK_OK(cushim_exec_destroy(it.exec));
  CHECK(released_soon(&kept, 1) == 1);
  CHECK_OK(cushim_builder_destroy(it.builder));
}

/* A release may use the library: it is no callback of the driver's. */
static void release_and_use(void *data) {
  struct inside *it = (struct inside *)data;
  cushim_node node = NULL;
  it->statuses[0] = cushim_graph_add_empty(it->graph, NULL, 0, &node);
  it->statuses[1] = cushim_exec_launch(it->exec, all.stream);
  it->statuses[2] = cushim_node_remove(node);
  it->statuses[3] = cushim_exec_destroy(it->exec);
  it->statuses[4] = cushim_graph_destroy(it->graph);
  __atomic_store_n(&it->type, 1, __ATOMIC_SEQ_CST);
}

static void inside_releases(void) {
  struct inside it;
  cushim_owner owner;
  cushim_endpoint to = cushim_endpoint_device(slot(0));
  cushim_graph lent = new_graph();
  int i;
  memset(&it, 0, sizeof it);
  it.graph = new_graph();
  add_number(it.graph, NULL, 1, 3);
  it.exec = new_exec(it.graph);
  owner.data = &it;
  owner.release = release_and_use;
  to.owner = &owner;
  CHECK_OK(cushim_graph_add_fill(lent, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL));
  CHECK_OK(cushim_graph_destroy(lent));
  for (i = 0; i < 2000 && __atomic_load_n(&it.type, __ATOMIC_SEQ_CST) == 0; i++) {
    flush_callbacks();
    pause_shortly();
  }
  CHECK(it.type == 1);
  for (i = 0; i < 5; i++) CHECK_OK(it.statuses[i]);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(slot(1)) == 3);
}

/* Eight threads use what another destroys. */

enum { USERS = 8, ROUNDS = 40 };

static struct {
  cushim_graph graph;
  cushim_node node;
  cushim_exec exec;
  cushim_builder builder;
  int is_over, strange;
} shared_handles;

#define NOW(member) __atomic_load_n(&shared_handles.member, __ATOMIC_SEQ_CST)
#define SET(member, value) __atomic_store_n(&shared_handles.member, value, __ATOMIC_SEQ_CST)

static void expect_either(cushim_status status) {
  if (status != CUSHIM_SUCCESS && status != CUSHIM_ERROR_INVALID_HANDLE && status != CUSHIM_ERROR_INVALID_ARGUMENT && status != CUSHIM_ERROR_ALREADY_DESTROYED) SET(strange, status);
}

static void *use_them(void *data) {
  const int which = *(const int *)data;
  cushim_stream stream = NULL;
  CHECK_OK(cushim_stream_create(all.context, NULL, &stream));
  while (!NOW(is_over)) {
    cushim_endpoint to = cushim_endpoint_device(slot(which));
    cushim_node node = NULL;
    cushim_graph clone = NULL;
    size_t count = 0;
    expect_either(cushim_graph_add_fill(NOW(graph), NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &node));
    if (node != NULL) expect_either(cushim_node_remove(node));
    expect_either(cushim_node_set_fill(NOW(node), &to, CUSHIM_VALUE_32(2), 1));
    expect_either(cushim_exec_set_fill(NOW(exec), NOW(node), &to, CUSHIM_VALUE_32(3), 1));
    expect_either(cushim_graph_get_nodes(NOW(graph), NULL, 0, &count));
    expect_either(cushim_exec_launch(NOW(exec), stream));
    expect_either(cushim_graph_clone(NOW(graph), &clone));
    expect_either(cushim_graph_destroy(clone));
    expect_either(cushim_builder_begin(NOW(builder)));
    expect_either(cushim_builder_end(NOW(builder), NULL));
  }
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  return NULL;
}

static void used_while_destroyed(void) {
  pthread_t threads[USERS];
  int numbers[USERS], round, i;
  for (i = 0; i < USERS; i++) {
    numbers[i] = i;
    CHECK(pthread_create(&threads[i], NULL, use_them, &numbers[i]) == 0);
  }
  for (round = 0; round < ROUNDS; round++) {
    cushim_graph graph = new_graph();
    cushim_node node = add_number(graph, NULL, 0, 1);
    cushim_exec exec = new_exec(graph);
    cushim_builder builder = NULL;
    CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
    SET(graph, graph);
    SET(node, node);
    SET(exec, exec);
    SET(builder, builder);
    pause_shortly();
    CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_builder_destroy(builder));
    CHECK_OK(cushim_exec_destroy(exec));
  }
  SET(is_over, 1);
  for (i = 0; i < USERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_STATUS(CUSHIM_SUCCESS, shared_handles.strange);
}

/* Threads that have functions called in what a builder captures, while that ends or is given up: each is a part of the graph, or called at
   once, and then kept until it was. */
enum { CAPTURERS = 2, CAPTURES = 2000, FUNCTIONS = 1 << 17 };

static int releases[FUNCTIONS], functions, called_too_late;

static void CUSHIM_CUDA_CB is_kept(void *data) {
  usleep(100);
  if (__atomic_load_n((int *)data, __ATOMIC_SEQ_CST) != 0) __atomic_add_fetch(&called_too_late, 1, __ATOMIC_SEQ_CST);
}

static void *capture_functions(void *data) {
  int i = 0;
  while (!NOW(is_over) && i < FUNCTIONS) {
    const cushim_stream stream = cushim_builder_stream(NOW(builder));
    if (stream == NULL || (i = __atomic_fetch_add(&functions, 1, __ATOMIC_SEQ_CST)) >= FUNCTIONS) continue;
    const cushim_owner owner = counted(&releases[i]);
    expect_either(cushim_stream_launch_host_function(stream, is_kept, &releases[i], &owner));
  }
  return data;
}

static void captured_while_ended(void) {
  pthread_t threads[CAPTURERS];
  int i;
  SET(is_over, 0);
  for (i = 0; i < CAPTURERS; i++) CHECK(pthread_create(&threads[i], NULL, capture_functions, NULL) == 0);
  for (i = 0; i < CAPTURES; i++) {
    cushim_builder builder = NULL;
    cushim_graph graph = NULL;
    CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
    SET(builder, builder);
    usleep((unsigned)i % 200);
    if (i % 4 == 0 && CHECK_OK(cushim_builder_end(builder, &graph))) CHECK_OK(cushim_graph_destroy(graph));
    CHECK_OK(cushim_builder_destroy(builder));
  }
  SET(is_over, 1);
  for (i = 0; i < CAPTURERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(cushim_context_synchronize(all.context));
  CHECK(called_too_late == 0);
  CHECK_STATUS(CUSHIM_SUCCESS, shared_handles.strange);
}

/* The child of a fork has none of it, and the parent goes on. */
static void forked(void) {
  cushim_graph graph = new_graph(), copy = (cushim_graph)NOT_NULL;
  cushim_node node = add_append(graph, NULL, 0, 4), added = node;
  cushim_exec exec = new_exec(graph);
  cushim_builder builder = NULL;
  int status = 0;
  pid_t child;
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  fflush(NULL);
  child = fork();
  if (child == 0) {
    alarm(30);
    check_failures = 0;
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_graph_add_empty(graph, &node, 1, &added));
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_graph_clone(graph, &copy));
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_exec_launch(exec, all.stream));
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_builder_end(builder, NULL));
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_builder_destroy(builder));
    CHECK_STATUS(CUSHIM_ERROR_FORKED, cushim_graph_destroy(graph));
    CHECK(added == NULL && copy == NULL);
    fflush(NULL);
    _exit(check_failures != 0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(cushim_builder_end(builder, NULL));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(result_of_exec(exec) == 4);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_destroy(exec));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    shared_places();
    counts_that_lie();
    nodes_of_elsewhere();
    as_deep_as_can_be();
    owners_of_failures();
    inside_host_functions();
    inside_releases();
    /* Which take long, and show nothing more once something has failed. */
    if (check_failures == 0) used_while_destroyed();
    if (check_failures == 0) captured_while_ended();
    forked();
  }
  return close_graphs();
}
