/* Graphs are built node by node: every type of node that runs by itself, joins, orders, and what is refused without a trace. */
#include "graphs.h"

#include <pthread.h>

static const uint32_t pattern = 0x11223344;
static const uint32_t one = 1;

static cushim_endpoint kept_bytes(const void *bytes) {
  cushim_endpoint place = cushim_endpoint_host(bytes);
  place.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  return place;
}

static cushim_endpoint caller_keeps(void *bytes) {
  cushim_endpoint place = cushim_endpoint_host(bytes);
  place.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  return place;
}

/* An empty graph is a graph, and so is its one instance. */
static void nothing(void) {
  cushim_graph graph = new_graph(), ref = NULL;
  cushim_context context = NULL;
  cushim_node parent = (cushim_node)NOT_NULL;
  CUgraph native = NULL;
  CHECK(node_count(graph) == 0 && edge_count(graph) == 0);
  CHECK_OK(cushim_graph_get_context(graph, &context));
  CHECK(is_same(context, all.context));
  CHECK_OK(cushim_graph_get_parent(graph, &parent));
  CHECK(parent == NULL);
  CHECK_OK(cushim_graph_native(graph, &native));
  CHECK(native != NULL);
  CHECK(result_of(graph) == 0);
  CHECK_OK(cushim_graph_ref(graph, &ref));
  CHECK(ref != graph && is_same(ref, graph));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_graph_destroy(graph));
  CHECK(node_count(ref) == 0);
  CHECK_OK(cushim_graph_destroy(ref));
}

static void options(void) {
  cushim_graph_options options = CUSHIM_OPTIONS(cushim_graph_options);
  cushim_graph graph = NULL;
  CHECK_OK(cushim_graph_create(all.context, &options, &graph));
  CHECK_OK(cushim_graph_destroy(graph));
  options.flags = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_create(all.context, &options, &graph));
  CHECK(graph == NULL);
  options.flags = 0;
  options.struct_size = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_create(all.context, &options, &graph));
}

/* The node is listed where it was added, and a second question has the same answer. */
static void is_listed(cushim_graph graph, cushim_node node, int type) {
  cushim_node nodes[64] = {NULL};
  cushim_graph of = NULL;
  CUgraphNode native = NULL;
  size_t count = 0, i, found = 0;
  CHECK(type_of(node) == type);
  CHECK_OK(cushim_node_get_graph(node, &of));
  CHECK(is_same(of, graph));
  CHECK_OK(cushim_node_native(node, &native));
  CHECK(native != NULL);
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 64, &count));
  for (i = 0; i < count && i < 64; i++) found += nodes[i] == node;
  CHECK(found == 1);
}

static int called;

static void call(void *data) {
  __atomic_add_fetch(&called, data == NULL ? 1 : *(const int *)data, __ATOMIC_SEQ_CST);
}

static void kernels(void) {
  cushim_graph graph = new_graph();
  cushim_kernel add = kernel_of(all.library, "add"), empty = kernel_of(all.library, "nothing");
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  struct {
    uint64_t to;
    uint32_t number;
  } block = {memory, 1000};
  const uint64_t to = memory;
  const uint32_t number = 5;
  cushim_arg args[2];
  cushim_node node = NULL;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(number);
  config.grid.x = 2;
  config.block.x = 32;
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, &config, args, 2, &node));
  is_listed(graph, node, CUSHIM_NODE_KERNEL);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, empty, NULL, NULL, 0, &node));
  is_listed(graph, node, CUSHIM_NODE_KERNEL);
  CHECK_OK(cushim_graph_add_kernel_packed(graph, NULL, 0, add, NULL, &block, 12, &node));
  is_listed(graph, node, CUSHIM_NODE_KERNEL);
  block.number = 9; /* the values are those of the call */
  CHECK(result_of(graph) == 1320);
  CHECK_OK(cushim_kernel_destroy(add));
  CHECK_OK(cushim_kernel_destroy(empty));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void copies(void) {
  cushim_graph graph = new_graph();
  uint32_t values[4] = {1, 20, 300, 4000}, out[8] = {0};
  const cushim_extent extent = {4, 2, 1};
  cushim_endpoint to = cushim_endpoint_device(memory), from = kept_bytes(values);
  cushim_region rows = cushim_region_at(cushim_endpoint_device(slot(8)), 8), source = cushim_region_at(cushim_endpoint_device(slot(0)), 8);
  cushim_exec exec;
  cushim_node node = NULL, box = NULL, back = NULL;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, sizeof values, &node));
  is_listed(graph, node, CUSHIM_NODE_COPY);
  memset(values, 0xee, sizeof values); /* the graph has its own */
  CHECK_OK(cushim_graph_add_copy_3d(graph, &node, 1, &rows, &source, &extent, &box));
  is_listed(graph, box, CUSHIM_NODE_COPY);
  to = caller_keeps(out);
  from = cushim_endpoint_device(slot(4));
  CHECK_OK(cushim_graph_add_copy(graph, &box, 1, &to, &from, sizeof out, &back));
  exec = new_exec(graph);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(3)) == 4000);
  CHECK(out[4] == 1 && out[5] == 0 && out[6] == 300 && out[7] == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void memsets(void) {
  cushim_graph graph = new_graph();
  cushim_endpoint to;
  cushim_node nodes[4] = {NULL};
  int i;
  for (i = 0; i < 3; i++) {
    const int32_t bytes = 1 << i;
    to = cushim_endpoint_device(slot(i));
    CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, &pattern, bytes, (size_t)(4 / bytes), &nodes[i]));
  }
  to = cushim_endpoint_device(slot(4));
  CHECK_OK(cushim_graph_add_fill_2d(graph, NULL, 0, &to, 8, CUSHIM_VALUE_32(7), 1, 3, &nodes[3]));
  for (i = 0; i < 4; i++) is_listed(graph, nodes[i], CUSHIM_NODE_FILL);
  CHECK(result_of(graph) == 0x44444444);
  CHECK(number_at(slot(1)) == 0x33443344 && number_at(slot(2)) == 0x11223344);
  CHECK(number_at(slot(4)) == 7 && number_at(slot(5)) == 0 && number_at(slot(6)) == 7 && number_at(slot(8)) == 7);
  CHECK(number_at(slot(9)) == 0 && number_at(slot(10)) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void host_functions(void) {
  cushim_graph graph = new_graph();
  int add = 10;
  cushim_node nodes[3] = {NULL};
  cushim_exec exec;
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, call, NULL, NULL, &nodes[0]));
  CHECK_OK(cushim_graph_add_host_function_bytes(graph, NULL, 0, call, &add, sizeof add, &nodes[1]));
  add = 1000; /* the copy is what it was */
  CHECK_OK(cushim_graph_add_host_function_bytes(graph, NULL, 0, call, NULL, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_host_function_bytes(graph, NULL, 0, NULL, &add, 4, &nodes[2]));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_host_function_bytes(graph, NULL, 0, call, NULL, 4, &nodes[2]));
  CHECK(nodes[2] == NULL && node_count(graph) == 3);
  is_listed(graph, nodes[0], CUSHIM_NODE_HOST_FUNCTION);
  is_listed(graph, nodes[1], CUSHIM_NODE_HOST_FUNCTION);
  called = 0;
  exec = new_exec(graph);
  run(exec);
  run(exec);
  CHECK(called == 24);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Without a function the data comes out of the queue, at each launch. */
static void pulled_functions(void) {
  cushim_graph graph = new_graph();
  static int first, second;
  cushim_drain_item items[4];
  size_t count = 0;
  int tries;
  cushim_exec exec;
  const cushim_owner pulled = {&second, NULL}, pushed = {&second, count_release};
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, NULL, &first, &pulled, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_host_function(graph, NULL, 0, NULL, &first, &pushed, NULL));
  exec = new_exec(graph);
  run(exec);
  run(exec);
  CHECK_OK(cushim_drain(items, sizeof *items, 4, &count));
  CHECK(count == 2 && items[0].kind == CUSHIM_DRAIN_HOST_FUNCTION && items[0].data == &first && items[1].data == &first);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  for (count = 0, tries = 0; count == 0 && tries < 2000; tries++) {
    pause_shortly();
    flush_callbacks();
    CHECK_OK(cushim_drain(items, sizeof *items, 4, &count));
  }
  CHECK(count == 1 && items[0].kind == CUSHIM_DRAIN_RELEASE && items[0].data == &second);
}

static void events(void) {
  cushim_graph graph = new_graph();
  cushim_event other = new_event(all.context, 0);
  cushim_node record = NULL, wait = NULL;
  cushim_exec exec;
  struct busy busy;
  cushim_stream beside = new_stream(all.context);
  int32_t done = -1;
  CHECK_OK(cushim_graph_add_event_wait(graph, NULL, 0, other, &wait));
  CHECK_OK(cushim_graph_add_event_record(graph, &wait, 1, all.event, &record));
  is_listed(graph, wait, CUSHIM_NODE_EVENT_WAIT);
  is_listed(graph, record, CUSHIM_NODE_EVENT_RECORD);
  add_number(graph, wait, 0, 3);
  exec = new_exec(graph);
  clear_memory();
  busy_begin(&busy, all.driver, beside);
  CHECK_OK(cushim_event_record(other, beside)); /* what was recorded last when the node runs */
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_stream_query(all.stream, &done));
  CHECK(done == 0);
  busy_end(&busy);
  CHECK_OK(cushim_event_synchronize(all.event));
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(number_at(memory) == 3);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_destroy(beside));
  CHECK_OK(cushim_event_destroy(other));
}

/* The copy in the node is a graph of its own: what becomes of the original does not matter. */
static void child_graphs(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_node node = NULL, first = add_append(graph, NULL, 0, 1), parent = NULL;
  cushim_node in_child = add_append(child, NULL, 0, 2);
  add_append(child, in_child, 0, 3);
  CHECK_OK(cushim_graph_add_child(graph, &first, 1, child, CUSHIM_CHILD_CLONE, &node, &inner));
  is_listed(graph, node, CUSHIM_NODE_CHILD);
  CHECK(is_same(inner_of(node), inner) && !is_same(inner, child));
  CHECK_OK(cushim_graph_get_parent(inner, &parent));
  CHECK(parent == node);
  CHECK(node_count(inner) == 2 && edge_count(inner) == 1 && node_count(graph) == 2);
  add_append(child, NULL, 1, 9);
  CHECK_OK(cushim_graph_destroy(child));
  add_append(graph, node, 0, 4);
  CHECK(result_of(graph) == 1234);
  CHECK(number_at(slot(1)) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_destroy(inner)); /* borrowed */
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Work that is to be done before a node is done before it: any number of it. */
static void joins(void) {
  enum { MOST = 33 };
  cushim_node before[MOST], join = NULL;
  cushim_kernel add = kernel_of(all.library, "add"), sum = kernel_of(all.library, "sum");
  const uint64_t to = slot(1), from = slot(0);
  cushim_arg args[2];
  int count, i;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(from);
  for (count = 1; count <= MOST; count += 16) {
    cushim_graph graph = new_graph();
    cushim_edge edges[MOST];
    size_t found = 0;
    for (i = 0; i < count; i++) CHECK_OK(add_numbered(graph, NULL, 0, add, memory, 1, &before[i]));
    CHECK_OK(cushim_graph_add_empty(graph, before, (size_t)count, &join));
    is_listed(graph, join, CUSHIM_NODE_EMPTY);
    CHECK_OK(cushim_graph_add_kernel(graph, &join, 1, sum, NULL, args, 2, NULL));
    CHECK_OK(cushim_node_get_dependencies(join, edges, MOST, &found));
    CHECK((int)found == count);
    CHECK((int)result_of(graph) == count && (int)number_at(slot(1)) == count);
    CHECK_OK(cushim_graph_destroy(graph));
  }
  CHECK_OK(cushim_kernel_destroy(add));
  CHECK_OK(cushim_kernel_destroy(sum));
}

/* What a graph refuses leaves it as it was. */
static void refusals(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node node = add_empty(graph, NULL), foreign = add_empty(other, NULL), none = (cushim_node)NOT_NULL;
  cushim_node after[2];
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_endpoint to = cushim_endpoint_device(memory), nowhere = cushim_endpoint_device(0), odd = cushim_endpoint_device(memory + 2);
  uint32_t bytes[4] = {0};
  cushim_endpoint from = cushim_endpoint_host(bytes);
  const uint64_t address = memory;
  const uint32_t number = 1;
  cushim_arg args[3];
  args[0] = CUSHIM_ARG(address);
  args[1] = args[2] = CUSHIM_ARG(number);
  after[0] = node;
  after[1] = foreign;

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(graph, after, 2, &none));
  CHECK_CONTAINS(last_message(), "another graph");
  CHECK(last_detail()->item == 1 && none == NULL);
  after[1] = node;
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_graph_add_empty(graph, after, 2, &none));
  CHECK_CONTAINS(last_message(), "twice");
  CHECK(last_detail()->item == 1);
  after[1] = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(graph, after, 2, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_empty(graph, NULL, 2, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty((cushim_graph)(void *)all.stream, NULL, 0, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(NULL, NULL, 0, &none));

  config.grid.x = 1;
  config.block.x = 5000;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, &config, args, 2, &none));
  CHECK_CONTAINS(last_message(), "5000");
  config.block.x = 0;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, &config, args, 2, &none));
  if (version >= 12040) { /* before, the driver does not tell what the kernel takes */
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 3, &none));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel_packed(graph, NULL, 0, all.kernel, NULL, bytes, 4, &none));
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, NULL, 2, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_kernel(graph, NULL, 0, NULL, NULL, args, 2, &none));

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(graph, NULL, 0, &to, &from, 16, &none));
  CHECK_CONTAINS(last_message(), "CUSHIM_ENDPOINT_KEEP_BYTES");
  CHECK_CONTAINS(last_message(), "CUSHIM_ENDPOINT_CALLER_KEEPS");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(graph, NULL, 0, &from, &to, 16, &none));
  CHECK_CONTAINS(last_message(), "CUSHIM_ENDPOINT_CALLER_KEEPS");
  CHECK(strstr(last_message(), "CUSHIM_ENDPOINT_KEEP_BYTES") == NULL); /* which is for sources */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(graph, NULL, 0, &to, &nowhere, 16, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(graph, NULL, 0, &to, &to, 0, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(graph, NULL, 0, NULL, &to, 16, &none));

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &to, &one, 3, 1, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 0, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &nowhere, CUSHIM_VALUE_32(1), 1, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &odd, CUSHIM_VALUE_32(1), 1, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill_2d(graph, NULL, 0, &to, 8, CUSHIM_VALUE_32(1), 0, 2, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill_2d(graph, NULL, 0, &to, 8, CUSHIM_VALUE_32(1), 2, 0, &none));

  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_event_record(graph, NULL, 0, NULL, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_event_wait(graph, NULL, 0, (cushim_event)(void *)all.stream, &none));

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(graph, NULL, 0, graph, CUSHIM_CHILD_CLONE, &none, NULL));
  CHECK_CONTAINS(last_message(), "in itself");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(graph, NULL, 0, other, (cushim_child_ownership)7, &none, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(graph, after + 1, 0, other, (cushim_child_ownership)-1, &none, NULL));

  CHECK(none == NULL && node_count(graph) == 1 && edge_count(graph) == 0 && node_count(other) == 1);
  CHECK(result_of(graph) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* A graph in a graph in a graph cannot hold the one around it. */
static void ancestors(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL, innermost = NULL, clone = NULL;
  add_empty(child, NULL);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_OK(cushim_graph_add_child(inner, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, &innermost));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(innermost, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_CONTAINS(last_message(), "embed a clone");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(innermost, NULL, 0, inner, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK(node_count(innermost) == 1);
  /* The other way round the driver takes a clone (measured). */
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_add_child(graph, NULL, 0, innermost, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_CONTAINS(last_message(), "embed a clone");
  CHECK(node_count(graph) == 1);
  CHECK_OK(cushim_graph_clone(innermost, &clone));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, clone, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK(node_count(graph) == 2);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
}

/* Threads that add to one graph, and to others: nothing is lost or mixed up. */
enum { THREADS = 4, EACH = 100 };
static cushim_graph shared;

static void *add_many(void *data) {
  cushim_graph own = new_graph();
  cushim_node before = NULL;
  int i;
  for (i = 0; i < EACH; i++) {
    before = add_empty(own, before);
    add_empty(shared, NULL);
  }
  CHECK(node_count(own) == EACH && edge_count(own) == EACH - 1);
  CHECK_OK(cushim_graph_destroy(own));
  return data;
}

static void threads(void) {
  pthread_t made[THREADS];
  int i;
  shared = new_graph();
  for (i = 0; i < THREADS; i++) {
    if (!CHECK(pthread_create(&made[i], NULL, add_many, NULL) == 0)) exit(1);
  }
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(made[i], NULL) == 0);
  CHECK(node_count(shared) == THREADS * EACH);
  CHECK_OK(cushim_graph_destroy(shared));
}

/* A thread that embeds graphs, and another that removes whatever nodes it finds: what was added has its handles. */
static int embedding;

static void *remove_all(void *data) {
  cushim_node nodes[16];
  size_t count, i;
  while (__atomic_load_n(&embedding, __ATOMIC_ACQUIRE)) {
    if (cushim_graph_get_nodes(shared, nodes, 16, &count) != CUSHIM_SUCCESS) continue; /* one went meanwhile */
    for (i = 0; i < count && i < 16; i++) cushim_node_remove(nodes[i]);
  }
  return data;
}

static void removed_while_embedding(void) {
  cushim_graph child = new_graph(), inner;
  cushim_node node;
  pthread_t remover;
  int i;
  add_empty(child, NULL);
  shared = new_graph();
  embedding = 1;
  if (!CHECK(pthread_create(&remover, NULL, remove_all, NULL) == 0)) exit(1);
  for (i = 0; i < 40 * EACH; i++) {
    if (!CHECK_OK(cushim_graph_add_child(shared, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner))) break;
  }
  __atomic_store_n(&embedding, 0, __ATOMIC_RELEASE);
  CHECK(pthread_join(remover, NULL) == 0);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(shared));
}

static void no_op(void *data) { (void)data; }

/* More bytes than there is memory cannot be kept: nothing is added, and no node changes. */
static void too_much_to_keep(void) {
  const size_t bytes = (size_t)1 << 60;
  static uint32_t host[4];
  cushim_graph graph = new_graph();
  cushim_node copy = NULL, box = NULL, function = NULL, node = (cushim_node)NOT_NULL;
  cushim_exec exec;
  cushim_endpoint to = cushim_endpoint_device(memory), from = cushim_endpoint_host(host);
  cushim_region target, source;
  const cushim_extent tall = {16, (size_t)1 << 55, 1}, small = {4, 1, 1};
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  target = cushim_region_at(to, 16);
  source = cushim_region_at(from, 16);
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_graph_add_copy(graph, NULL, 0, &to, &from, bytes, &node));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_graph_add_copy_3d(graph, NULL, 0, &target, &source, &tall, &node));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_graph_add_host_function_bytes(graph, NULL, 0, no_op, host, bytes, &node));
  CHECK(node == NULL && node_count(graph) == 0);
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 16, &copy));
  CHECK_OK(cushim_graph_add_copy_3d(graph, &copy, 1, &target, &source, &small, &box));
  CHECK_OK(cushim_graph_add_host_function_bytes(graph, NULL, 0, no_op, host, 16, &function));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_node_set_copy(copy, &to, &from, bytes));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_node_set_copy_3d(box, &target, &source, &tall));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_node_set_host_function_bytes(function, no_op, host, bytes));
  CHECK_CONTAINS(last_message(), "cannot be kept");
  exec = new_exec(graph);
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_exec_set_copy(exec, copy, &to, &from, bytes));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_exec_set_copy_3d(exec, box, &target, &source, &tall));
  CHECK_STATUS(CUSHIM_ERROR_OUT_OF_MEMORY, cushim_exec_set_host_function_bytes(exec, function, no_op, host, bytes));
  CHECK_CONTAINS(last_message(), "cannot be kept");
  CHECK(result_of_exec(exec) == 0 && result_of(graph) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    nothing();
    options();
    kernels();
    copies();
    memsets();
    host_functions();
    pulled_functions();
    events();
    child_graphs();
    joins();
    too_much_to_keep();
    refusals();
    ancestors();
    threads();
    removed_while_embedding();
  }
  return close_graphs();
}
