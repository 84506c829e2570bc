/*
 * Owner slots: every type of node has its own number of them, whoever made the node: this library, somebody else in the driver, or a
 * capture. And a driver that cannot keep owners refuses them before there is a node.
 */
#include "graphs.h"

/* How many slots a node of each type has. */
static size_t slots_of(int type) {
  switch (type) {
  case CUSHIM_NODE_KERNEL:
  case CUSHIM_NODE_COPY:
  case CUSHIM_NODE_HOST_FUNCTION: return 2;
  case CUSHIM_NODE_FILL:
  case CUSHIM_NODE_EVENT_RECORD:
  case CUSHIM_NODE_EVENT_WAIT:
  case CUSHIM_NODE_MEMORY_OPERATIONS: return 1;
  default: return 0;
  }
}

static void no_op(void *data) { (void)data; }

/* A node of every type that this driver has. */
static cushim_graph every_type(void) {
  cushim_graph graph = new_graph(), child = new_graph();
  cushim_endpoint to = cushim_endpoint_device(slot(4)), from = cushim_endpoint_device(slot(8));
  cushim_node node = add_append(graph, NULL, 0, 1);
  CHECK_OK(cushim_graph_add_copy(graph, &node, 1, &to, &from, 16, &node));
  CHECK_OK(cushim_graph_add_fill(graph, &node, 1, &to, CUSHIM_VALUE_32(1), 1, &node));
  CHECK_OK(cushim_graph_add_event_record(graph, &node, 1, all.event, &node));
  CHECK_OK(cushim_graph_add_event_wait(graph, &node, 1, all.event, &node));
  CHECK_OK(cushim_graph_add_host_function(graph, &node, 1, no_op, NULL, NULL, &node));
  CHECK_OK(cushim_graph_add_child(graph, &node, 1, child, CUSHIM_CHILD_CLONE, &node, NULL));
  if (version >= 11070) {
    cushim_memory_operation operation;
    memset(&operation, 0, sizeof operation);
    operation.action = CUSHIM_MEMORY_WRITE_32;
    operation.at = to;
    CHECK_OK(cushim_graph_add_memory_operations(graph, &node, 1, &operation, 1, &node));
  }
  add_empty(graph, node);
  CHECK_OK(cushim_graph_destroy(child));
  return graph;
}

/* A copy that the library does not know of. */
static cushim_graph foreign(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_graph graph = every_type(), wrapped = NULL;
  CUgraph native = NULL, copy = NULL;
  CHECK_OK(cushim_graph_native(graph, &native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphClone_10000(&copy, native));
  CHECK_OK(cushim_graph_wrap(all.context, copy, CUSHIM_OWNED, &wrapped));
  CHECK_OK(cushim_graph_destroy(graph));
  return wrapped;
}

/* What a builder captures: through this library, and by others who have the native stream. */
static cushim_graph captured(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_builder builder = NULL;
  cushim_graph graph = NULL;
  cushim_stream stream;
  cushim_endpoint to = cushim_endpoint_device(slot(4)), from = cushim_endpoint_device(slot(8));
  CUstream native = NULL;
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  stream = cushim_builder_stream(builder);
  CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(1), 1));
  CHECK_OK(cushim_stream_copy(stream, &to, &from, 16));
  CHECK_OK(cushim_stream_launch_host_function(stream, no_op, NULL, NULL));
  CHECK_OK(cushim_stream_native(stream, &native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemsetD32Async_3020(slot(4), 1, 1, native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuMemcpyDtoDAsync_3020(slot(4), slot(8), 16, native));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuLaunchHostFunc_10000(native, no_op, NULL));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return graph;
}

/* Each slot of the node: set, read, set again, and nothing happens for NULL. One slot more is refused. */
static void every_slot(cushim_node node, int *first, int *second) {
  const size_t slots = slots_of(type_of(node));
  cushim_owner before = counted(first), owner = counted(second), stranger = counted(first);
  void *data = NOT_NULL;
  char said[32];
  size_t i;
  for (i = 0; i < slots; i++) {
    const int was_released = released(first);
    CHECK_OK(cushim_node_get_owner(node, i, &data));
    CHECK(data == NULL);
    CHECK_OK(cushim_node_set_owner(node, i, &before));
    CHECK_OK(cushim_node_set_owner(node, i, NULL));
    CHECK_OK(cushim_node_get_owner(node, i, &data));
    CHECK(data == first && released(first) == was_released);
    CHECK_OK(cushim_node_set_owner(node, i, &owner));
    CHECK_OK(cushim_node_get_owner(node, i, &data));
    CHECK(data == second && released_soon(first, was_released + 1) == was_released + 1);
  }
  snprintf(said, sizeof said, slots == 0 ? "no owner slots" : "%d owner slot", (int)slots);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(node, slots, &stranger));
  CHECK_CONTAINS(last_message(), said);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(node, slots, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(node, (size_t)-1, &stranger));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_owner(node, slots, &data));
  CHECK_CONTAINS(last_message(), said);
  CHECK(data == NULL);
}

/* All slots of all nodes, found by listing them; an exec keeps what the graph had when it was made. */
static void every_node(cushim_graph graph) {
  int first = 0, second = 0, slots = 0;
  cushim_node nodes[16];
  cushim_exec exec;
  size_t count = 0, i;
  CHECK_OK(cushim_graph_get_nodes(graph, nodes, 16, &count));
  CHECK(count >= 6 && count <= 16);
  for (i = 0; i < count; i++) {
    every_slot(nodes[i], &first, &second);
    slots += (int)slots_of(type_of(nodes[i]));
  }
  CHECK(released(&first) == slots && released(&second) == 0);
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  run(exec);
  CHECK(released(&second) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&second, slots) == slots && first == slots);
}

/* A driver that hands out everything but user objects. */
static int without_user_objects(void *user, const char *symbol, void **address, int of, uint64_t flags, int *found) {
  const cushim_driver_table *real = (const cushim_driver_table *)user;
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result;
  if (strncmp(symbol, "cuUserObject", 12) == 0) {
    *address = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
  }
  if (CUSHIM_HAS(real, cuGetProcAddress_12000)) {
    result = real->cuGetProcAddress_12000(symbol, address, of, flags, &query);
  } else {
    result = real->cuGetProcAddress_11030(symbol, address, of, flags);
    if (result == CUDA_ERROR_NOT_FOUND) query = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, result = CUDA_SUCCESS;
  }
  *found = (int)query;
  return (int)result;
}

/* Graphs and execs keep what they use all the same; it refuses only what others could use without a word of it here. */
static void a_driver_that_keeps_nothing(void) {
  union { /* the getter takes a pointer that it may write to */
    const cushim_driver_table *table;
    void *user;
  } real;
  cushim_driver_options options = CUSHIM_OPTIONS(cushim_driver_options);
  cushim_driver driver = NULL;
  cushim_context context;
  cushim_graph graph = NULL;
  cushim_node node = (cushim_node)NOT_NULL;
  cushim_endpoint to;
  cushim_exec exec = NULL;
  cushim_exec_options options_of_exec = CUSHIM_OPTIONS(cushim_exec_options);
  CUgraph native = NULL;
  cushim_stream stream;
  int count = 0;
  cushim_owner owner = counted(&count);
  uint64_t pointer = 0;
  real.table = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  options.getter = without_user_objects;
  options.getter_user = real.user;
  if (!CHECK_OK(cushim_driver_open(&options, &driver))) return;
  context = primary_context(first_device(driver));
  stream = new_stream(context);
  CHECK_OK(cushim_context_allocate(context, 64, &pointer));
  to = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_graph_create(context, NULL, &graph));
  to.owner = &owner;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, &node));
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner, NULL));
  CHECK_OK(cushim_node_set_owner(node, 0, &owner));
  CHECK(released_soon(&count, 1) == 1);
  /* Nobody keeps what others may use. */
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_native(graph, &native));
  CHECK_CONTAINS(last_message(), "cuUserObjectCreate");
  options_of_exec.flags = CUSHIM_EXEC_NATIVE_LAUNCHES;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_create(graph, &options_of_exec, &exec, NULL));
  CHECK_CONTAINS(last_message(), "cuUserObjectCreate");
  CHECK(native == NULL && exec == NULL);
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK(released(&count) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&count, 3) == 3);
  CHECK_OK(cushim_context_free(context, pointer));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_driver_destroy(driver));
}

static int is_open;

static void wait_until_open(void *data) {
  (void)data;
  while (!__atomic_load_n(&is_open, __ATOMIC_SEQ_CST)) pause_shortly();
}

/*
 * What a node of an exec was set to is kept by the library, and not by the driver: as long as a launch may use it, also where exec and
 * stream are destroyed meanwhile, or the stream is being captured, so that nobody can ask it.
 */
static void set_and_launched(int is_captured, cushim_stream stream) {
  cushim_graph graph = new_graph();
  cushim_builder builder = NULL;
  cushim_node node = NULL;
  cushim_exec exec;
  static int counts[3][2], round; /* a release may come later than this waits for it, where a call of the driver fails */
  int *const before = &counts[round][0], *const now = &counts[round][1], i;
  cushim_owner first = counted(before), second = counted(now);
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, before, &first, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_host_function(exec, node, no_op, now, &second));
  __atomic_store_n(&is_open, 0, __ATOMIC_SEQ_CST);
  CHECK_OK(cushim_stream_launch_host_function(stream, wait_until_open, NULL, NULL));
  CHECK_OK(cushim_exec_launch(exec, stream));
  if (is_captured) {
    CHECK_OK(cushim_builder_create_on(stream, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
  }
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_exec_destroy(exec));
  for (i = 0; i < 50; i++) pause_shortly();
  CHECK(released(now) == 0);
  __atomic_store_n(&is_open, 1, __ATOMIC_SEQ_CST);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK(released_soon(now, 1) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(before, 1) == 1);
  round++;
}

/* A stream of others that the library is given. */
static cushim_stream given_stream(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  cushim_stream stream = NULL;
  CUstream native = NULL;
  cushim_context popped = NULL;
  CHECK_OK(cushim_context_push(all.context));
  CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamCreate_2000(&native, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cushim_context_pop(all.driver, &popped, NULL));
  CHECK_OK(cushim_stream_wrap(all.context, native, CUSHIM_OWNED, &stream));
  return stream;
}

static uint32_t seen;

static void look(void *data) { memcpy(&seen, data, sizeof seen); }

/* Bytes that the graph has a copy of are its own to keep: no owner takes their place. */
static void copies_of_bytes(void) {
  cushim_graph graph = new_graph();
  cushim_node copy = NULL, call = NULL;
  uint32_t number = 1234;
  cushim_endpoint to = cushim_endpoint_device(memory), from = cushim_endpoint_host(&number);
  int count = 0, expected = 0;
  const cushim_owner owner = counted(&count);
  void *data = NOT_NULL;
  cushim_exec exec;
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, sizeof number, &copy));
  CHECK_OK(cushim_graph_add_host_function_bytes(graph, NULL, 0, look, &number, sizeof number, &call));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(copy, 1, &owner));
  CHECK_CONTAINS(last_message(), "slot 1 of copy node");
  CHECK_CONTAINS(last_message(), "a copy of bytes");
  CHECK_OK(cushim_node_get_owner(copy, 1, &data));
  CHECK(data == NULL);
  CHECK_OK(cushim_node_set_owner(copy, 0, &owner));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(call, 1, &owner));
  CHECK_CONTAINS(last_message(), "slot 1 of host function node");
  CHECK_OK(cushim_node_set_owner(call, 0, &owner));
  flush_callbacks();
  number = 0;
  exec = new_exec(graph);
  run(exec);
  CHECK(number_at(memory) == 1234 && seen == 1234);
  /* Another source takes their place, and has an owner. */
  from = owned_slot(1, &owner);
  CHECK_OK(cushim_node_set_copy(copy, NULL, &from, sizeof number));
  CHECK_OK(cushim_node_set_owner(copy, 1, &owner));
  expected++;
  CHECK(released_soon(&count, expected) == expected);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_destroy(exec));
  expected += 3;
  CHECK(released_soon(&count, expected) == expected);
}

/* What takes the place of a kernel, and of its arguments, takes that of their owners, too. */
static void kernels(void) {
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1);
  const uint64_t to = slot(1);
  const uint32_t digit = 2;
  cushim_arg args[2];
  int of_kernel = 0, of_arguments = 0;
  cushim_owner owner = counted(&of_kernel);
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_node_set_owner(node, 0, &owner));
  owner = counted(&of_arguments);
  CHECK_OK(cushim_node_set_owner(node, 1, &owner));
  CHECK_OK(cushim_node_set_argument(node, 1, &args[1]));
  CHECK(released(&of_kernel) == 0 && released(&of_arguments) == 0);
  CHECK_OK(cushim_node_set_kernel(node, NULL, NULL, args, 2));
  CHECK(released_soon(&of_arguments, 1) == 1 && released(&of_kernel) == 0);
  CHECK_OK(cushim_node_set_kernel(node, all.kernel, NULL, args, 2));
  CHECK(released_soon(&of_kernel, 1) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&of_kernel) == 1 && released(&of_arguments) == 1);
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    copies_of_bytes();
    kernels();
    every_node(every_type());
    every_node(foreign());
    every_node(captured());
    set_and_launched(0, new_stream(all.context));
    set_and_launched(1, new_stream(all.context));
    set_and_launched(0, given_stream());
    a_driver_that_keeps_nothing();
  }
  return close_graphs();
}
