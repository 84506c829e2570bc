/*
 * Every call of the driver that a change of a graph or an exec makes fails once: graph, exec and owners are as they were, nothing is
 * left in the driver, and the same call then succeeds. A change of many nodes that fails half-way is undone; where even that fails, the
 * exec refuses launches and changes until it is updated as a whole.
 */
#include "../common/conditions.h"

static struct control control;
static int counts[2]; /* releases of the two owners that a call lends */
static cushim_resource pool;
static cushim_buffer first, second;

/* What a call works on: made anew for each. */
static struct {
  cushim_graph graph, other, clone, body;
  cushim_node node, fill, copy, record, wait, function, child, operations, conditional;
  cushim_condition condition;
  cushim_exec exec, made;
} at;

static void no_op(void *data) { (void)data; }

static void build(void) {
  static int kept;
  const cushim_owner owner = counted(&kept);
  cushim_endpoint to = owned_slot(0, &owner), from;
  cushim_memory_operation write;
  const uint32_t digit = 1;
  cushim_arg args[2];
  cushim_parameter parameter;
  memset(&at, 0, sizeof at);
  memset(counts, 0, sizeof counts);
  memset(&parameter, 0, sizeof parameter);
  parameter.name = "digit";
  parameter.value = &digit;
  parameter.size = sizeof digit;
  at.graph = new_graph();
  at.other = new_graph();
  args[0] = cushim_arg_buffer(first);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter);
  CHECK_OK(cushim_graph_add_kernel(at.graph, NULL, 0, all.kernel, NULL, args, 2, &at.node));
  CHECK_OK(cushim_graph_add_kernel(at.graph, &at.node, 1, all.kernel, NULL, args, 2, NULL));
  CHECK_OK(cushim_graph_add_fill(at.graph, &at.node, 1, &to, CUSHIM_VALUE_32(5), 1, &at.fill));
  CHECK_OK(cushim_graph_add_kernel(at.other, NULL, 0, all.kernel, NULL, args, 2, NULL));
  to = cushim_endpoint_device(slot(32)), from = cushim_endpoint_device(slot(40));
  CHECK_OK(cushim_graph_add_copy(at.graph, NULL, 0, &to, &from, 4, &at.copy));
  CHECK_OK(cushim_graph_add_event_record(at.graph, NULL, 0, all.event, &at.record));
  CHECK_OK(cushim_graph_add_event_wait(at.graph, &at.record, 1, all.event, &at.wait));
  CHECK_OK(cushim_graph_add_host_function(at.graph, NULL, 0, no_op, NULL, NULL, &at.function));
  if (version >= 12020) CHECK_OK(cushim_graph_add_child(at.graph, NULL, 0, at.other, CUSHIM_CHILD_CLONE, &at.child, NULL));
  if (version >= 11070) {
    memset(&write, 0, sizeof write);
    write.action = CUSHIM_MEMORY_WRITE_32;
    write.at = to;
    CHECK_OK(cushim_graph_add_memory_operations(at.graph, &at.copy, 1, &write, 1, &at.operations));
  }
  at.exec = new_exec(at.graph);
}

static void tear_down(void) {
  if (at.made != NULL) CHECK_OK(cushim_exec_destroy(at.made));
  if (at.clone != NULL) CHECK_OK(cushim_graph_destroy(at.clone));
  CHECK_OK(cushim_exec_destroy(at.exec));
  CHECK_OK(cushim_graph_destroy(at.graph));
  CHECK_OK(cushim_graph_destroy(at.other));
  flush_callbacks();
}

static cushim_status add_kernel(void) {
  cushim_owned_pointer pointer;
  const uint32_t digit = 2;
  cushim_arg args[2];
  args[0] = owned_arg(&pointer, memory, &counts[0]);
  args[1] = CUSHIM_ARG(digit);
  return cushim_graph_add_kernel(at.graph, &at.fill, 1, all.kernel, NULL, args, 2, NULL);
}

static cushim_status add_copy(void) {
  const cushim_owner owners[2] = {counted(&counts[0]), counted(&counts[1])};
  cushim_endpoint to = owned_slot(8, &owners[0]), from = owned_slot(16, &owners[1]);
  return cushim_graph_add_copy(at.graph, &at.fill, 1, &to, &from, 16, NULL);
}

static cushim_status add_host_function(void) {
  const cushim_owner owner = counted(&counts[0]);
  return cushim_graph_add_host_function(at.graph, NULL, 0, no_op, NULL, &owner, NULL);
}

static cushim_status add_event(void) { return cushim_graph_add_event_record(at.graph, NULL, 0, all.event, NULL); }
static cushim_status add_child(void) { return cushim_graph_add_child(at.graph, NULL, 0, at.other, CUSHIM_CHILD_CLONE, NULL, NULL); }
static cushim_status move(void) { return cushim_graph_add_child(at.graph, NULL, 0, at.other, CUSHIM_CHILD_MOVE, NULL, NULL); }
static cushim_status clone(void) { return cushim_graph_clone(at.graph, &at.clone); }
static cushim_status instantiate(void) { return cushim_exec_create(at.graph, NULL, &at.made, NULL); }
static cushim_status instantiate_for_others(void) {
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  options.flags = CUSHIM_EXEC_NATIVE_LAUNCHES;
  return cushim_exec_create(at.graph, &options, &at.made, NULL);
}

static cushim_status update(void) { return cushim_exec_update(at.exec, at.graph, NULL); }
static cushim_status remove_node(void) { return cushim_node_remove(at.fill); }

static cushim_status native(void) {
  CUgraph graph = NULL;
  return cushim_graph_native(at.graph, &graph);
}

static cushim_status set_dependencies(void) { return cushim_node_set_dependencies(at.fill, NULL, 0); }

static cushim_status set_owner(void) {
  const cushim_owner owner = counted(&counts[0]);
  return cushim_node_set_owner(at.node, 0, &owner);
}

static cushim_status set_fill(void) {
  const cushim_owner owner = counted(&counts[0]);
  cushim_endpoint to = owned_slot(2, &owner);
  return cushim_node_set_fill(at.fill, &to, CUSHIM_VALUE_32(6), 1);
}

static cushim_status set_fill_in_exec(void) {
  const cushim_owner owner = counted(&counts[0]);
  cushim_endpoint to = owned_slot(2, &owner);
  return cushim_exec_set_fill(at.exec, at.fill, &to, CUSHIM_VALUE_32(6), 1);
}

/* Setters of every type, in the graph and in the exec. */
static cushim_status set_kernel_at(cushim_exec exec) {
  cushim_owned_pointer pointer;
  const uint32_t digit = 2;
  cushim_arg args[2];
  args[0] = owned_arg(&pointer, slot(3), &counts[0]);
  args[1] = CUSHIM_ARG(digit);
  return IN_GRAPH_OR_EXEC(exec, set_kernel, at.node, all.kernel, NULL, args, 2);
}

static cushim_status set_argument_at(cushim_exec exec) {
  cushim_owned_pointer pointer;
  const cushim_arg arg = owned_arg(&pointer, slot(3), &counts[0]);
  return IN_GRAPH_OR_EXEC(exec, set_argument, at.node, 0, &arg);
}

static cushim_status set_copy_at(cushim_exec exec) {
  const cushim_owner owners[2] = {counted(&counts[0]), counted(&counts[1])};
  cushim_endpoint to = owned_slot(8, &owners[0]), from = owned_slot(16, &owners[1]);
  return IN_GRAPH_OR_EXEC(exec, set_copy, at.copy, &to, &from, 8);
}

static cushim_status set_host_function_at(cushim_exec exec) {
  const cushim_owner owner = counted(&counts[0]);
  return IN_GRAPH_OR_EXEC(exec, set_host_function, at.function, no_op, NULL, &owner);
}

static cushim_status set_operations_at(cushim_exec exec) {
  const cushim_owner owner = counted(&counts[0]);
  cushim_memory_operation write;
  memset(&write, 0, sizeof write);
  write.action = CUSHIM_MEMORY_WRITE_32;
  write.at = owned_slot(24, &owner);
  write.value = 2;
  return IN_GRAPH_OR_EXEC(exec, set_memory_operations, at.operations, &write, 1);
}

static cushim_status set_kernel(void) { return set_kernel_at(NULL); }
static cushim_status set_kernel_in_exec(void) { return set_kernel_at(at.exec); }
static cushim_status set_argument(void) { return set_argument_at(NULL); }
static cushim_status set_argument_in_exec(void) { return set_argument_at(at.exec); }
static cushim_status set_copy(void) { return set_copy_at(NULL); }
static cushim_status set_copy_in_exec(void) { return set_copy_at(at.exec); }
static cushim_status set_record(void) { return cushim_node_set_event(at.record, all.event); }
static cushim_status set_record_in_exec(void) { return cushim_exec_set_event(at.exec, at.record, all.event); }
static cushim_status set_wait(void) { return cushim_node_set_event(at.wait, all.event); }
static cushim_status set_wait_in_exec(void) { return cushim_exec_set_event(at.exec, at.wait, all.event); }
static cushim_status set_host_function(void) { return set_host_function_at(NULL); }
static cushim_status set_host_function_in_exec(void) { return set_host_function_at(at.exec); }
static cushim_status set_operations(void) { return set_operations_at(NULL); }
static cushim_status set_operations_in_exec(void) { return set_operations_at(at.exec); }
static cushim_status set_child(void) { return cushim_exec_set_child(at.exec, at.child, at.other); }
static cushim_status set_enabled(void) { return cushim_exec_set_enabled(at.exec, at.copy, 0); }

static cushim_status rebind(void) { return cushim_exec_rebind(at.exec, first, second, NULL); }

static cushim_status set_parameter(void) {
  const uint32_t digit = 9;
  return cushim_exec_set_parameter(at.exec, "digit", &digit, sizeof digit, NULL);
}

static cushim_status add_conditional_node(void) {
  cushim_graph body = NULL;
  if (at.condition == NULL) at.condition = new_condition(at.other, 1);
  return cushim_graph_add_conditional(at.other, NULL, 0, at.condition, CUSHIM_CONDITIONAL_IF, 1, &at.conditional, &body);
}

/* A whole capture, with a fork that is joined; it is given up where something fails. */
static cushim_status capture(void) {
  cushim_builder builder = NULL, fork = NULL;
  cushim_graph graph = NULL;
  cushim_endpoint to = cushim_endpoint_device(slot(0));
  cushim_status status = cushim_builder_create(all.context, NULL, &builder);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_begin(builder);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_fork(builder, &fork, 1);
  if (status == CUSHIM_SUCCESS) status = cushim_stream_fill(cushim_builder_stream(fork), &to, CUSHIM_VALUE_32(7), 1);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_join(builder, &fork, 1);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_add_child(builder, at.other, CUSHIM_CHILD_CLONE, NULL);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_end(builder, &graph);
  /* What is refused here is said and left to the driver. */
  (void)cushim_builder_destroy(fork);
  (void)cushim_builder_destroy(builder);
  (void)cushim_graph_destroy(graph);
  return status;
}

/* The same with a condition and its body. */
static cushim_status capture_body(void) {
  cushim_builder builder = NULL, body = NULL;
  cushim_condition condition = NULL;
  cushim_graph graph = NULL;
  cushim_endpoint to = cushim_endpoint_device(slot(0));
  cushim_status status = cushim_builder_create(all.context, NULL, &builder);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_begin(builder);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_create_condition(builder, NULL, &condition);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_IF, 1, NULL, &body);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_begin(body);
  if (status == CUSHIM_SUCCESS) status = cushim_stream_fill(cushim_builder_stream(body), &to, CUSHIM_VALUE_32(7), 1);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_end(body, NULL);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_end(builder, &graph);
  (void)cushim_builder_destroy(body);
  (void)cushim_builder_destroy(builder);
  (void)cushim_graph_destroy(graph);
  return status;
}

/* One that allocates of an arena. */
static cushim_status capture_allocation(void) {
  cushim_builder builder = NULL;
  cushim_resource arena = NULL;
  cushim_buffer buffer = NULL;
  cushim_graph graph = NULL;
  cushim_endpoint to;
  cushim_status status = cushim_resource_create_arena(all.context, 4096, &arena);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_create(all.context, NULL, &builder);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_begin(builder);
  if (status == CUSHIM_SUCCESS) status = cushim_buffer_create(arena, cushim_builder_stream(builder), 64, &buffer);
  if (status == CUSHIM_SUCCESS) {
    to = cushim_endpoint_buffer(buffer, 0);
    status = cushim_stream_fill(cushim_builder_stream(builder), &to, CUSHIM_VALUE_32(7), 1);
  }
  if (status == CUSHIM_SUCCESS) status = cushim_builder_end(builder, &graph);
  (void)cushim_buffer_destroy(buffer);
  (void)cushim_builder_destroy(builder);
  (void)cushim_graph_destroy(graph);
  (void)cushim_resource_destroy(arena);
  return status;
}

static const struct {
  const char *name;
  cushim_status (*call)(void);
  int since;
} calls[] = {
    {"add_kernel", add_kernel, 0},
    {"add_copy", add_copy, 0},
    {"add_host_function", add_host_function, 0},
    {"add_event", add_event, 0},
    {"add_child", add_child, 0},
    {"move", move, 12090},
    {"clone", clone, 0},
    {"instantiate", instantiate, 0},
    {"native", native, 0},
    {"update", update, 0},
    {"remove_node", remove_node, 0},
    {"set_dependencies", set_dependencies, 0},
    {"set_owner", set_owner, 0},
    {"set_fill", set_fill, 0},
    {"set_fill_in_exec", set_fill_in_exec, 0},
    {"set_kernel", set_kernel, 0},
    {"set_kernel_in_exec", set_kernel_in_exec, 0},
    {"set_argument", set_argument, 0},
    {"set_argument_in_exec", set_argument_in_exec, 0},
    {"set_copy", set_copy, 0},
    {"set_copy_in_exec", set_copy_in_exec, 0},
    {"set_record", set_record, 0},
    {"set_record_in_exec", set_record_in_exec, 0},
    {"set_wait", set_wait, 0},
    {"set_wait_in_exec", set_wait_in_exec, 0},
    {"set_host_function", set_host_function, 0},
    {"set_host_function_in_exec", set_host_function_in_exec, 0},
    {"set_operations", set_operations, 11070},
    {"set_operations_in_exec", set_operations_in_exec, 11070},
    {"set_child", set_child, 12020},
    {"set_enabled", set_enabled, 11060},
    {"rebind", rebind, 0},
    {"set_parameter", set_parameter, 0},
    {"add_conditional", add_conditional_node, 12030},
    {"capture", capture, 0},
    {"capture_body", capture_body, 12030},
    {"capture_allocation", capture_allocation, 0},
};

static int holds(int passed, const char *name, int ordinal, const char *what) {
  char line[160];
  snprintf(line, sizeof line, "%s, call %d fails: %s", name, ordinal, what);
  return check_that(passed, __FILE__, __LINE__, line);
}

struct figures {
  size_t nodes, edges, others, live;
};

static struct figures figures(void) {
  struct figures told;
  flush_callbacks();
  told.nodes = node_count(at.graph);
  told.edges = edge_count(at.graph);
  told.others = node_count(at.other);
  told.live = control.live_objects();
  return told;
}

/* What the exec's first kernel is told to append. */
static uint32_t argument_in_exec(void) {
  cushim_arg args[2];
  uint64_t values[2];
  size_t count = 0;
  CHECK_OK(cushim_exec_get_arguments(at.exec, at.node, args, 2, &count, values, sizeof values, NULL));
  return count == 2 ? *(const uint32_t *)args[1].value : 0;
}

/* One call, with one call of the driver after the other failing. Says how many there were. */
static int each_fails(int index) {
  const char *name = calls[index].name;
  int ordinal;
  for (ordinal = 1; ordinal < 80; ordinal++) {
    struct figures before, after;
    cushim_status status;
    uint64_t hits;
    char fault[32];
    build();
    if (at.condition == NULL && calls[index].call == add_conditional_node) at.condition = new_condition(at.other, 1);
    before = figures();
    control.calls_reset();
    snprintf(fault, sizeof fault, "*#%d=2", ordinal);
    CHECK(control.fault_set(fault) == 0);
    status = calls[index].call();
    hits = control.fault_hits(); /* since the fault was set */
    control.fault_clear();
    if (hits != 0 && status != CUSHIM_SUCCESS) {
      after = figures();
      holds(status == CUDA_ERROR_OUT_OF_MEMORY, name, ordinal, "the status is the driver's");
      holds(after.nodes == before.nodes && after.edges == before.edges && after.others == before.others, name, ordinal, "nodes and edges are as they were");
      /* The number of a condition exists from its first use on; it ends with its graph. */
      holds(after.live <= before.live + (calls[index].call == add_conditional_node), name, ordinal, "nothing is left in the driver");
      holds(counts[0] == 0 && counts[1] == 0, name, ordinal, "owners are not released");
      holds(argument_in_exec() == 1, name, ordinal, "the exec's node has its argument");
      CHECK(result_of_exec(at.exec) == 5);
      holds(calls[index].call() == CUSHIM_SUCCESS, name, ordinal, "the same call succeeds");
    } else {
      holds(status == CUSHIM_SUCCESS, name, ordinal, "without a fault it succeeds");
    }
    tear_down();
    holds(released_soon(&counts[0], 0) <= 1 && counts[1] <= 1, name, ordinal, "owners are released once");
    if (hits == 0) return ordinal - 1;
  }
  holds(0, name, ordinal, "it makes fewer calls than that");
  return ordinal;
}

/* The second of the nodes is refused: the first gets back what it had. */
static void half_way(void) {
  const uint32_t digit = 9;
  size_t nodes = 7;
  cushim_arg args[2];
  uint64_t values[2];
  build();
  CHECK(control.fault_set("cuGraphExec*SetParams#2=2") == 0);
  control.calls_reset();
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_exec_set_parameter(at.exec, "digit", &digit, sizeof digit, &nodes));
  CHECK(nodes == 0);
  CHECK_CONTAINS(last_message(), "kernel node 1");
  control.fault_clear();
  CHECK_OK(cushim_exec_get_arguments(at.exec, at.node, args, 2, &nodes, values, sizeof values, NULL));
  CHECK(*(const uint32_t *)args[1].value == 1);
  CHECK(result_of_exec(at.exec) == 5);
  CHECK_OK(cushim_exec_set_parameter(at.exec, "digit", &digit, sizeof digit, &nodes));
  CHECK(nodes == (version >= 12020 ? 3 : 2)); /* one is in a child graph */
  tear_down();
}

/* The same of a buffer: every node keeps the one that it had, and so does the exec. */
static void rebound_half_way(void) {
  cushim_arg args[2];
  uint64_t values[2];
  size_t nodes = 7;
  build();
  CHECK(control.fault_set("cuGraphExec*SetParams#2=2") == 0);
  control.calls_reset();
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, cushim_exec_rebind(at.exec, first, second, &nodes));
  control.fault_clear();
  CHECK(nodes == 0);
  CHECK_CONTAINS(last_message(), "kernel node 1");
  CHECK_OK(cushim_exec_get_arguments(at.exec, at.node, args, 2, &nodes, values, sizeof values, NULL));
  CHECK(is_same(args[0].value, first) && result_of_exec(at.exec) == 5);
  CHECK_OK(cushim_exec_rebind(at.exec, second, first, &nodes));
  CHECK(nodes == 0);
  CHECK_OK(cushim_exec_rebind(at.exec, first, second, &nodes));
  CHECK(nodes == (version >= 12020 ? 3 : 2)); /* one is in a child graph */
  tear_down();
}

/* A call is refused as a launch is. */
static void is_refused_as_broken(cushim_status status) {
  CHECK(status == CUSHIM_ERROR_INVALID_ARGUMENT);
  CHECK_CONTAINS(last_message(), "stuck");
  CHECK_CONTAINS(last_message(), "cushim_exec_update");
}

/* Even the way back fails: the exec refuses launches and changes of its nodes, and names the node that is stuck, until it is updated as a
 * whole. Others of the graph are launched, and new ones made. */
static void no_way_back(cushim_status (*change)(void)) {
  const uint32_t digit = 9;
  cushim_exec beside, again;
  size_t nodes = 0;
  build();
  beside = new_exec(at.graph);
  CHECK_OK(cushim_set_label(at.node, "stuck"));
  control.calls_reset();
  CHECK(control.fault_set("cuGraphExec*SetParams#2=2; cuGraphExec*SetParams#3=2") == 0);
  CHECK_STATUS(CUDA_ERROR_OUT_OF_MEMORY, change());
  control.fault_clear();
  CHECK_CONTAINS(last_message(), "cushim_exec_update");
  is_refused_as_broken(cushim_exec_launch(at.exec, all.stream));
  is_refused_as_broken(cushim_exec_launch(at.exec, all.stream));
  is_refused_as_broken(cushim_exec_upload(at.exec, all.stream));
  is_refused_as_broken(cushim_exec_rebind(at.exec, first, second, &nodes));
  is_refused_as_broken(cushim_exec_set_parameter(at.exec, "digit", &digit, sizeof digit, &nodes));
  is_refused_as_broken(cushim_exec_set_argument(at.exec, at.node, 1, &CUSHIM_ARG(digit)));
  if (at.child != NULL) is_refused_as_broken(cushim_exec_set_child(at.exec, at.child, at.other));
  CHECK(result_of_exec(beside) == 5);
  CHECK_OK(cushim_exec_destroy(beside));
  again = new_exec(at.graph);
  CHECK(result_of_exec(again) == 5);
  CHECK_OK(cushim_exec_destroy(again));
  CHECK_OK(cushim_exec_update(at.exec, at.graph, NULL));
  CHECK(result_of_exec(at.exec) == 5);
  CHECK_OK(cushim_exec_rebind(at.exec, second, first, &nodes));
  CHECK(nodes == 0);
  CHECK_OK(cushim_exec_rebind(at.exec, first, second, &nodes));
  CHECK(nodes != 0);
  tear_down();
}

/* A driver that cannot keep anything makes no exec that others launch, and hands out no graph that others copy; everything else goes on. */
static void without_user_objects(void) {
  CUgraph native = (CUgraph)NOT_NULL;
  build();
  CHECK_OK(add_kernel());
  CHECK(control.fault_set("cuUserObjectCreate#1+=801") == 0);
  control.calls_reset();
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, instantiate_for_others());
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_native(at.graph, &native));
  control.fault_clear();
  CHECK(at.made == NULL && native == NULL && counts[0] == 0);
  CHECK_OK(instantiate());
  CHECK_OK(cushim_graph_native(at.graph, &native));
  CHECK(native != NULL);
  tear_down();
  CHECK(released_soon(&counts[0], 1) == 1);
}

/* What the nodes of a graph keep is one user object for each exec that others launch, and one for each node once others have the driver's graph. */
static void user_objects(void) {
  CUgraph native = NULL;
  build();
  control.calls_reset();
  CHECK_OK(add_kernel());
  CHECK_OK(set_owner());
  CHECK_OK(clone());
  CHECK(control.call_count("cuUserObjectCreate") == 0);
  CHECK_OK(instantiate());
  CHECK_OK(cushim_exec_update(at.made, at.graph, NULL));
  CHECK(control.call_count("cuUserObjectCreate") == 0);
  CHECK_OK(cushim_exec_destroy(at.made));
  CHECK_OK(instantiate_for_others());
  CHECK_OK(cushim_exec_update(at.made, at.graph, NULL));
  CHECK(control.call_count("cuUserObjectCreate") == 2 && control.call_count("cuGraphReleaseUserObject") == 2);
  control.calls_reset();
  CHECK_OK(cushim_graph_native(at.graph, &native));
  CHECK(control.call_count("cuUserObjectCreate") > 2);
  control.calls_reset();
  CHECK_OK(cushim_graph_native(at.graph, &native));
  CHECK_OK(cushim_exec_destroy(at.made));
  CHECK_OK(instantiate());
  CHECK_OK(cushim_exec_update(at.made, at.graph, NULL));
  CHECK(control.call_count("cuUserObjectCreate") == 0);
  CHECK_OK(add_kernel());
  CHECK(control.call_count("cuUserObjectCreate") == 1);
  tear_down();
  CHECK(released_soon(&counts[0], 3) == 3);
}

int main(void) {
  size_t i;
  int tried = 0;
  check_begin();
  if (!open_graphs() || !CHECK(find_control(&control))) return close_graphs();
  CHECK_OK(cushim_device_get_resource(all.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &first));
  CHECK_OK(cushim_buffer_create(pool, all.stream, 64, &second));
  for (i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (version >= calls[i].since) tried += each_fails((int)i);
  }
  CHECK(tried > 30);
  printf("%d calls of the driver failed\n", tried);
  half_way();
  rebound_half_way();
  no_way_back(set_parameter);
  no_way_back(rebind);
  without_user_objects();
  user_objects();
  CHECK_OK(cushim_buffer_destroy(first));
  CHECK_OK(cushim_buffer_destroy(second));
  return close_graphs();
}
