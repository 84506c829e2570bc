/*
 * Conditional nodes: if, if-else, while and switch by values that kernels set; nested, updated, removed; what bodies hold; and which
 * driver has what.
 */
#include "conditions.h"

/* Too old a driver is named with what it lacks, and nothing is left. */
static void too_old(void) {
  cushim_graph graph = new_graph();
  cushim_condition condition = (cushim_condition)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_condition_create(graph, NULL, &condition));
  CHECK_CONTAINS(last_message(), "12.3");
  CHECK(condition == NULL && node_count(graph) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The graph has a node that may be added, or else is refused before CUDA 12.8. */
static int has_else(cushim_graph graph, cushim_condition condition, cushim_conditional_kind kind, size_t bodies) {
  cushim_graph made[4] = {NULL};
  cushim_node node = (cushim_node)NOT_NULL;
  if (version >= 12080) return 1;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_add_conditional(graph, NULL, 0, condition, kind, bodies, &node, made));
  CHECK_CONTAINS(last_message(), "12.8");
  CHECK(node == NULL && made[0] == NULL && node_count(graph) == 0);
  return 0;
}

static void ifs(void) {
  cushim_graph graph = new_graph(), body = NULL;
  cushim_condition condition = new_condition(graph, 1);
  cushim_node setter = add_setter(graph, NULL, conditions.choose, condition, 8);
  cushim_node node = add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  cushim_exec exec;
  uint32_t value;
  add_append(body, NULL, 0, 1);
  add_append(graph, node, 0, 9);
  exec = new_exec(graph);
  for (value = 0; value < 3; value++) {
    clear_memory();
    CHECK_OK(set_bytes(all.context, slot(8), value, 1));
    run(exec);
    CHECK(number_at(memory) == (value == 0 ? 9 : 19));
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void else_branches(void) {
  cushim_graph graph = new_graph(), bodies[2] = {NULL};
  cushim_condition condition = new_condition(graph, 0);
  cushim_node node;
  if (has_else(graph, condition, CUSHIM_CONDITIONAL_IF_ELSE, 2)) {
    cushim_node setter = add_setter(graph, NULL, conditions.choose, condition, 8);
    cushim_exec exec;
    node = add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_IF_ELSE, 2, bodies);
    add_append(bodies[0], NULL, 0, 1);
    add_append(bodies[1], NULL, 0, 2);
    add_append(graph, node, 0, 3);
    exec = new_exec(graph);
    CHECK(result_of_exec(exec) == 23);
    clear_memory();
    CHECK_OK(set_bytes(all.context, slot(8), 7, 1));
    run(exec);
    CHECK(number_at(memory) == 13);
    CHECK_OK(cushim_exec_destroy(exec));
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Not once, once, and often. */
static void loops(void) {
  cushim_graph graph = new_graph(), body = NULL;
  cushim_condition condition = new_condition(graph, 0);
  cushim_kernel add = kernel_of(all.library, "add");
  cushim_node setter = add_setter(graph, NULL, conditions.choose, condition, 8);
  cushim_node first = NULL;
  cushim_exec exec;
  uint32_t times;
  add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_WHILE, 1, &body);
  CHECK_OK(add_numbered(body, NULL, 0, add, memory, 1, &first));
  add_setter(body, first, conditions.countdown, condition, 8);
  exec = new_exec(graph);
  for (times = 0; times < 200; times += 66) {
    clear_memory();
    CHECK_OK(set_bytes(all.context, slot(8), times, 1));
    run(exec);
    CHECK(number_at(memory) == times && number_at(slot(8)) == 0);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(add));
}

/* The value chooses; where there is no such body, none runs. */
static void switches(void) {
  enum { BODIES = 3 };
  static const uint32_t values[] = {0, 1, 2, 3, 200};
  static const uint32_t results[] = {19, 29, 39, 9, 9};
  cushim_graph graph = new_graph(), bodies[BODIES] = {NULL};
  cushim_condition condition = new_condition(graph, 0);
  if (has_else(graph, condition, CUSHIM_CONDITIONAL_SWITCH, BODIES)) {
    cushim_node setter = add_setter(graph, NULL, conditions.choose, condition, 8);
    cushim_node node = add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_SWITCH, BODIES, bodies);
    cushim_exec exec;
    size_t i;
    for (i = 0; i < BODIES; i++) add_append(bodies[i], NULL, 0, (uint32_t)i + 1);
    add_append(graph, node, 0, 9);
    exec = new_exec(graph);
    for (i = 0; i < sizeof values / sizeof *values; i++) {
      clear_memory();
      CHECK_OK(set_bytes(all.context, slot(8), values[i], 1));
      run(exec);
      CHECK(number_at(memory) == results[i]);
    }
    CHECK_OK(cushim_exec_destroy(exec));
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A switch that nobody sets runs its default. */
static cushim_graph default_switch(uint32_t value) {
  cushim_graph graph = new_graph(), bodies[3] = {NULL};
  cushim_condition condition = new_condition(graph, value);
  size_t i;
  add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_SWITCH, 3, bodies);
  for (i = 0; i < 3; i++) add_append(bodies[i], NULL, 0, (uint32_t)i + 1);
  return graph;
}

/* One exec is updated from graphs with other defaults. */
static void updated_switches(void) {
  cushim_graph graphs[3];
  cushim_exec exec;
  int i;
  if (version < 12080) return;
  for (i = 0; i < 3; i++) graphs[i] = default_switch((uint32_t)i);
  exec = new_exec(graphs[0]);
  for (i = 0; i < 6; i++) {
    CHECK_OK(cushim_exec_update(exec, graphs[i % 3], NULL));
    CHECK((int)result_of_exec(exec) == i % 3 + 1);
  }
  CHECK_OK(cushim_exec_destroy(exec));
  for (i = 0; i < 3; i++) CHECK_OK(cushim_graph_destroy(graphs[i]));
}

/* Without a reset each launch begins with what the one before left. */
static void remembered_values(void) {
  cushim_graph graph = new_graph(), body = NULL;
  cushim_condition condition = NULL;
  cushim_node setter;
  CHECK_OK(cushim_condition_create(graph, NULL, &condition));
  setter = add_set(graph, NULL, condition, 1);
  add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 0, 4);
  CHECK(result_of(graph) == 4);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A loop around an if: the condition of the outer graph is looked at inside, and one is made for a body. */
static void nested(void) {
  cushim_graph graph = new_graph(), loop = NULL, branch = NULL, last = NULL;
  cushim_condition counting = new_condition(graph, 1), odd = new_condition(graph, 0), inner;
  cushim_node first, node, parent = NULL;
  cushim_graph of = NULL;
  node = add_conditional(graph, NULL, counting, CUSHIM_CONDITIONAL_WHILE, 1, &loop);
  first = add_setter(loop, NULL, conditions.countdown, counting, 8);
  first = add_setter(loop, first, conditions.choose, odd, 8);
  add_conditional(loop, first, odd, CUSHIM_CONDITIONAL_IF, 1, &branch);
  add_append(branch, NULL, 0, 1);
  inner = new_condition(branch, 1);
  add_conditional(branch, NULL, inner, CUSHIM_CONDITIONAL_IF, 1, &last);
  add_append(last, NULL, 1, 2);
  CHECK_OK(cushim_graph_get_parent(loop, &parent));
  CHECK(parent == node);
  CHECK_OK(cushim_node_get_graph(parent, &of));
  CHECK(is_same(of, graph));
  clear_memory();
  CHECK_OK(set_bytes(all.context, slot(8), 4, 1));
  {
    cushim_exec exec = new_exec(graph);
    run(exec);
    CHECK(number_at(memory) == 111 && number_at(slot(1)) == 222); /* 3, 2, 1, and not 0 */
    CHECK_OK(cushim_exec_destroy(exec));
  }
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A child graph stands in a body, with what a body can hold. */
static void children_in_bodies(void) {
  cushim_graph graph = new_graph(), body = NULL, child = new_graph();
  cushim_condition condition = new_condition(graph, 1);
  add_append(child, add_append(child, NULL, 0, 1), 0, 2);
  add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  CHECK_OK(cushim_graph_add_child(body, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK(result_of(graph) == 12);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void reading_back(void) {
  cushim_graph graph = new_graph(), body = NULL, bodies[2] = {NULL};
  cushim_condition condition = new_condition(graph, 1), told = NULL;
  cushim_node node = add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_WHILE, 1, &body), found = NULL;
  cushim_graph wrapped = NULL;
  CUgraph native = NULL;
  uint64_t number = 0;
  cushim_conditional_kind kind = CUSHIM_CONDITIONAL_SWITCH;
  size_t count = 0;
  CHECK(type_of(node) == CUSHIM_NODE_CONDITIONAL);
  CHECK_OK(cushim_node_get_condition(node, &told, &kind));
  CHECK(told == condition && kind == CUSHIM_CONDITIONAL_WHILE);
  CHECK_OK(cushim_node_get_graphs(node, bodies, 2, &count));
  CHECK(count == 1 && bodies[0] == body);
  CHECK_OK(cushim_condition_native(condition, &number));
  CHECK(number != 0);
  CHECK_OK(cushim_set_label(condition, "more"));
  CHECK_CONTAINS(description(condition), "more");
  /* One native graph is one graph, however often it is wrapped. */
  CHECK_OK(cushim_graph_native(graph, &native));
  CHECK_OK(cushim_graph_wrap(all.context, native, CUSHIM_BORROWED, &wrapped));
  CHECK_OK(cushim_graph_get_nodes(wrapped, &found, 1, &count));
  CHECK(count == 1 && found == node && is_same(wrapped, graph));
  CHECK_OK(cushim_graph_destroy(wrapped));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_condition_native(condition, &number));
  CHECK(number == 0);
}

static void refused_conditions(void) {
  cushim_graph graph = new_graph(), other = new_graph(), body = NULL, bodies[3] = {NULL};
  cushim_condition condition = new_condition(graph, 1), foreign = new_condition(other, 1), unused = new_condition(graph, 1);
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  cushim_node node = (cushim_node)NOT_NULL;
  const uint32_t value = 1;
  cushim_arg args[2];
  CHECK_OK(cushim_set_label(condition, "taken"));
  CHECK_OK(cushim_set_label(add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &body), "taker"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, condition, CUSHIM_CONDITIONAL_IF, 1, &node, bodies));
  CHECK_CONTAINS(last_message(), "taken");
  CHECK_CONTAINS(last_message(), "taker");
  CHECK_CONTAINS(last_message(), "already");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, foreign, CUSHIM_CONDITIONAL_IF, 1, &node, bodies));
  CHECK_CONTAINS(last_message(), "another graph");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, unused, CUSHIM_CONDITIONAL_IF, 0, &node, bodies));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, unused, CUSHIM_CONDITIONAL_IF, 2, &node, bodies));
  CHECK_CONTAINS(last_message(), "of kind IF has 1 body");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, unused, CUSHIM_CONDITIONAL_WHILE, 2, &node, bodies));
  if (version >= 12080) {
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, unused, CUSHIM_CONDITIONAL_IF_ELSE, 1, &node, bodies));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, unused, CUSHIM_CONDITIONAL_SWITCH, 0, &node, NULL));
    CHECK_CONTAINS(last_message(), "at least 1 body");
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_graph_add_conditional(graph, NULL, 0, unused, (cushim_conditional_kind)9, 1, &node, bodies));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_conditional(graph, NULL, 0, NULL, CUSHIM_CONDITIONAL_IF, 1, &node, bodies));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_conditional(graph, NULL, 0, (cushim_condition)(void *)all.event,
                                                                         CUSHIM_CONDITIONAL_IF, 1, &node, bodies));
  CHECK(node == NULL && bodies[0] == NULL && node_count(graph) == 1);

  args[0] = condition_arg(foreign);
  args[1] = CUSHIM_ARG(value);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, NULL, 0, conditions.set, NULL, args, 2, &node));
  CHECK_CONTAINS(last_message(), "argument 0");
  CHECK(last_detail()->item == 0);
  args[0] = condition_arg(unused);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_kernel_launch(conditions.set, all.stream, NULL, args, 2));
  CHECK_CONTAINS(last_message(), "add the kernel to the graph");
  options.flags = 2;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_condition_create(graph, &options, &foreign));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_destroy(body));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_create(body, NULL, NULL, NULL));
  CHECK(node_count(graph) == 1 && result_of(graph) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

static void no_op(void *data) { (void)data; }

/* A body refuses at once what the driver would refuse when the whole is instantiated. */
static void refused_in_bodies(void) {
  int count = 0;
  cushim_node function = NULL;
  cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph(), body = NULL, child = new_graph();
  cushim_condition condition = new_condition(graph, 1);
  cushim_graph_allocation allocation = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_memory_operation operation;
  cushim_context other = NULL;
  static uint32_t host[4];
  void *pinned = NULL;
  uint64_t pointer = 7;
  const uint64_t to_memory = memory;
  const uint32_t digit = 1;
  cushim_arg args[2];
  cushim_endpoint to = cushim_endpoint_device(memory), from = cushim_endpoint_host(host);
  args[0] = CUSHIM_ARG(to_memory);
  args[1] = CUSHIM_ARG(digit);
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = to;
  allocation.bytes = 64;
  add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_host_function(body, NULL, 0, no_op, NULL, &owner, NULL));
  CHECK_CONTAINS(last_message(), "host function");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_event_record(body, NULL, 0, all.event, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_event_wait(body, NULL, 0, all.event, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_allocation(body, NULL, 0, &allocation, NULL, &pointer));
  CHECK(pointer == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_memory_operations(body, NULL, 0, &operation, 1, NULL));
  from.owner = &owner;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(body, NULL, 0, &to, &from, 16, NULL));
  CHECK_CONTAINS(last_message(), "page-locked");
  CHECK_OK(cushim_context_create(all.device, NULL, &other));
  config.grid.x = config.block.x = 1;
  config.context = other;
  CHECK(cushim_graph_add_kernel(body, NULL, 0, all.kernel, &config, args, 2, NULL) != CUSHIM_SUCCESS);
  CHECK_OK(cushim_graph_add_host_function(child, NULL, 0, no_op, NULL, NULL, &function));
  CHECK_OK(cushim_set_label(function, "the guest"));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(body, NULL, 0, child, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_CONTAINS(last_message(), "the guest");
  CHECK(node_count(body) == 0 && released(&count) == 0);
  if (!CHECK_OK(cushim_context_allocate_host(all.context, 16, 0, &pinned))) exit(1);
  memset(pinned, 0, 16);
  *(uint32_t *)pinned = 5;
  from = cushim_endpoint_host(pinned);
  from.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  CHECK_OK(cushim_graph_add_copy(body, NULL, 0, &to, &from, 16, NULL));
  CHECK(result_of(graph) == 5);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_context_destroy(other));
  CHECK_OK(cushim_context_free_host(all.context, pinned));
}

/* A condition that kernels set and no node looks at costs a limit, not the graph; a node may still take it. */
static void without_a_node(void) {
  cushim_graph graph = new_graph(), body = NULL, clone = NULL;
  cushim_condition condition = new_condition(graph, 0), never_used = new_condition(graph, 0);
  cushim_node setter;
  cushim_exec exec, second = (cushim_exec)NOT_NULL;
  add_append(graph, NULL, 0, 2);
  CHECK(never_used != condition);
  CHECK_OK(cushim_graph_clone(graph, &clone)); /* unused, both cost nothing */
  CHECK_OK(cushim_graph_destroy(clone));
  setter = add_set(graph, NULL, condition, 1);
  exec = new_exec(graph);
  CHECK(node_count(graph) == 2 && result_of_exec(exec) == 2);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_create(graph, NULL, &second, NULL));
  CHECK_CONTAINS(last_message(), "one exec at a time");
  CHECK(second == NULL);
  CHECK_OK(cushim_exec_destroy(exec));
  add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 1, 3);
  CHECK(node_count(graph) == 3 && result_of(graph) == 2 && number_at(slot(1)) == 3);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The driver neither copies such a graph nor has two execs of it: the refusal says which graph and why. */
static void limits(void) {
  cushim_graph graph = new_graph(), parent = new_graph(), body = NULL, clone = (cushim_graph)NOT_NULL;
  cushim_condition condition = new_condition(graph, 1);
  cushim_exec exec, second = NULL;
  cushim_node removed;
  add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 0, 6);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_clone(graph, &clone));
  CHECK_CONTAINS(last_message(), "has conditional nodes");
  CHECK(clone == NULL);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_add_child(parent, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_CONTAINS(last_message(), "has conditional nodes");
  CHECK(node_count(parent) == 0);
  exec = new_exec(graph);
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_create(graph, NULL, &second, NULL));
  CHECK_CONTAINS(last_message(), "one exec at a time");
  CHECK(result_of_exec(exec) == 6);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(result_of(graph) == 6);
  removed = add_empty(graph, NULL);
  CHECK_OK(cushim_node_remove(removed));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(parent));
}

/* Owners in bodies live with them; a removed conditional node lets go of all, and its condition can be taken again. */
static void removed_nodes(void) {
  int counts[2] = {0}, i;
  cushim_graph graph = new_graph(), body = NULL, inner = NULL, again = NULL;
  cushim_condition condition = new_condition(graph, 1), nested_one = new_condition(graph, 1);
  cushim_node node, node_in_body;
  cushim_owner owner;
  cushim_endpoint to;
  cushim_exec exec;
  node = add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_conditional(body, NULL, nested_one, CUSHIM_CONDITIONAL_IF, 1, &inner);
  for (i = 0; i < 2; i++) {
    owner = counted(&counts[i]);
    to = owned_slot(i, &owner);
    CHECK_OK(cushim_graph_add_fill(i == 0 ? body : inner, NULL, 0, &to, CUSHIM_VALUE_32(3), 1, &node_in_body));
  }
  exec = new_exec(graph);
  CHECK_OK(cushim_set_label(node_in_body, "deep"));
  CHECK_OK(cushim_node_remove(node));
  CHECK(released(&counts[0]) == 0 && released(&counts[1]) == 0);
  CHECK(result_of_exec(exec) == 3 && number_at(slot(1)) == 3);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(inner, NULL, 0, NULL));
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_node_remove(node_in_body));
  CHECK_CONTAINS(last_message(), "deep");
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&counts[0], 1) == 1 && released_soon(&counts[1], 1) == 1);
  add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &again);
  add_append(again, NULL, 0, 4);
  CHECK(result_of(graph) == 4);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(counts[0] == 1 && counts[1] == 1);
}

/* Nodes in bodies are changed in an exec like others. */
static void changes(void) {
  cushim_graph graph = new_graph(), body = NULL;
  cushim_condition condition = new_condition(graph, 1), other = new_condition(graph, 0);
  cushim_node fill, setter = add_set(graph, NULL, condition, 1), in_body;
  cushim_graph second = NULL;
  const uint32_t zero = 0, digit = 8;
  cushim_arg arg = CUSHIM_ARG(zero);
  cushim_exec exec;
  add_conditional(graph, setter, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_conditional(graph, setter, other, CUSHIM_CONDITIONAL_IF, 1, &second);
  fill = add_number(body, NULL, 1, 2);
  in_body = add_append(body, fill, 0, 1);
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_fill(exec, fill, NULL, CUSHIM_VALUE_32(5), 0));
  arg = CUSHIM_ARG(digit);
  CHECK_OK(cushim_exec_set_argument(exec, in_body, 1, &arg));
  CHECK(result_of_exec(exec) == 8 && number_at(slot(1)) == 5);
  CHECK_OK(cushim_exec_set_enabled(exec, in_body, 0));
  CHECK(result_of_exec(exec) == 0 && number_at(slot(1)) == 5);
  arg = CUSHIM_ARG(zero);
  CHECK_OK(cushim_exec_set_argument(exec, setter, 1, &arg));
  CHECK(result_of_exec(exec) == 0 && number_at(slot(1)) == 0);
  arg = condition_arg(other);
  CHECK_OK(cushim_exec_set_argument(exec, setter, 0, &arg));
  /* The exec has no condition that nothing used when it was made. */
  arg = condition_arg(new_condition(graph, 0));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_argument(exec, setter, 0, &arg));
  CHECK_CONTAINS(last_message(), "instantiate the graph again");
  CHECK(result_of_exec(exec) == 0 && number_at(slot(1)) == 5);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The handle of a body alone keeps the whole. */
static void kept_by_a_body(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_endpoint to = owned_slot(0, &owner);
  cushim_graph graph = new_graph(), body = NULL, kept = NULL;
  cushim_node parent = NULL;
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL));
  add_conditional(graph, NULL, new_condition(graph, 1), CUSHIM_CONDITIONAL_IF, 1, &body);
  CHECK_OK(cushim_graph_ref(body, &kept));
  CHECK_OK(cushim_graph_destroy(graph));
  add_append(kept, NULL, 1, 1);
  CHECK_OK(cushim_graph_get_parent(kept, &parent));
  CHECK(type_of(parent) == CUSHIM_NODE_CONDITIONAL && node_count(body) == 1 && released(&count) == 0);
  CHECK_OK(cushim_node_remove(parent)); /* there is nothing to keep any more */
  graph = (cushim_graph)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_ref(body, &graph));
  CHECK_CONTAINS(last_message(), "was removed");
  CHECK(graph == NULL);
  CHECK_OK(cushim_graph_destroy(kept));
  CHECK(released_soon(&count, 1) == 1);
}

/* What cannot be done leaves no handle behind. */
static void unknown_kinds(void) {
  cushim_graph graph = new_graph(), body = (cushim_graph)NOT_NULL, two[2] = {(cushim_graph)NOT_NULL, (cushim_graph)NOT_NULL};
  cushim_condition condition = new_condition(graph, 0);
  cushim_node node = (cushim_node)NOT_NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_conditional(graph, NULL, 0, condition, (cushim_conditional_kind)77, 1, &node, &body));
  CHECK(node == NULL && body == NULL && node_count(graph) == 0);
  /* Whoever gives a wrong number may have room for the right one only. */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_graph_add_conditional(graph, NULL, 0, condition, CUSHIM_CONDITIONAL_IF, 2, &node, two));
  CHECK(node == NULL && two[0] == (cushim_graph)NOT_NULL && two[1] == (cushim_graph)NOT_NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT,
               cushim_graph_add_conditional(graph, NULL, 0, condition, CUSHIM_CONDITIONAL_SWITCH, 0, &node, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void refused_alone(cushim_graph bound) {
  cushim_graph other = new_graph(), clone = (cushim_graph)NOT_NULL, inner = (cushim_graph)NOT_NULL;
  cushim_node node = (cushim_node)NOT_NULL;
  cushim_exec exec = (cushim_exec)NOT_NULL;
  cushim_builder builder = NULL;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_clone(bound, &clone));
  CHECK_CONTAINS(last_message(), "cannot be cloned: kernel ");
  CHECK_CONTAINS(last_message(), "sets condition \"outer\", which belongs to a graph around it");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(other, NULL, 0, bound, CUSHIM_CHILD_CLONE, &node, &inner));
  CHECK_CONTAINS(last_message(), "cannot be embedded: kernel ");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_create(bound, NULL, &exec, NULL));
  CHECK_CONTAINS(last_message(), "instantiate the graph that it is part of; one of its kernels sets a condition from there");
  CHECK(clone == NULL && node == NULL && inner == NULL && exec == NULL && node_count(other) == 0);
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_builder_add_child(builder, bound, CUSHIM_CHILD_CLONE, &node));
  CHECK_CONTAINS(last_message(), "cannot be embedded: kernel ");
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(other));
}

/* A graph with one kernel, as the child of another. */
static cushim_graph child_with(cushim_graph graph, cushim_condition condition, uint32_t value, cushim_node *setter) {
  cushim_graph empty = new_graph(), inner = NULL;
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, empty, CUSHIM_CHILD_CLONE, NULL, &inner));
  CHECK_OK(cushim_graph_destroy(empty));
  *setter = add_set(inner, NULL, condition, value);
  return inner;
}

/* A kernel that sets a condition of a graph around its own means nothing without that: a copy would lose the context. */
static void bound_to_what_is_around(void) {
  cushim_graph graph = new_graph(), other = new_graph(), body = NULL, in_body = NULL, clone = NULL;
  cushim_condition outer = new_condition(graph, 0), its_own;
  cushim_node setter = NULL, after = NULL, its_setter = NULL, taking = NULL;
  cushim_graph bound = child_with(graph, outer, 1, &setter), deeper;
  cushim_exec exec = NULL;
  cushim_arg arg;
  const uint64_t number = 0;
  size_t count = 0;
  CHECK_OK(cushim_set_label(outer, "outer"));
  CHECK_OK(cushim_graph_get_parent(bound, &after));
  add_conditional(graph, after, outer, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 0, 1);
  in_body = child_with(body, outer, 0, &its_setter);
  deeper = child_with(bound, outer, 1, &its_setter);
  refused_alone(bound);
  refused_alone(body);
  refused_alone(in_body);
  refused_alone(deeper);
  CHECK(result_of(graph) == 1);
  /* Nor can an exec of another graph take it over. */
  its_own = new_condition(other, 0);
  CHECK_OK(cushim_graph_get_parent(child_with(other, its_own, 1, &its_setter), &taking));
  CHECK_OK(cushim_exec_create(other, NULL, &exec, NULL));
  if (is_software(all.driver)) { /* 580 numbers the conditions of each graph from 1, so that there the exec has one of that number */
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_child(exec, taking, in_body));
    CHECK_CONTAINS(last_message(), "cannot be taken over: kernel ");
  }
  CHECK_OK(cushim_exec_destroy(exec));
  /* Once it sets nothing there, the driver is asked; and again not. */
  arg = CUSHIM_ARG(number);
  CHECK_OK(cushim_node_set_argument(setter, 0, &arg));
  CHECK_OK(cushim_graph_get_nodes(deeper, &its_setter, 1, &count));
  CHECK_OK(cushim_node_set_argument(its_setter, 0, &arg));
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_clone(bound, &clone)); /* that is the driver's word: there is a condition around it */
  arg = condition_arg(outer);
  CHECK_OK(cushim_node_set_argument(its_setter, 0, &arg));
  refused_alone(bound);
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_graph_destroy(graph));
}

/*
 * A kernel that gets the number as bytes or in a block sets the condition like any other. What is known of conditions as arguments, nobody
 * knows of it: the driver alone says what becomes of its graph.
 */
static void as_a_number(void) {
  int packed;
  for (packed = 0; packed < 2; packed++) {
    cushim_graph graph = new_graph(), empty = new_graph(), inner = NULL, body = NULL, clone = (cushim_graph)NOT_NULL;
    cushim_condition condition = new_condition(graph, 0);
    cushim_node child = NULL, told = NULL;
    cushim_exec exec = (cushim_exec)NOT_NULL;
    struct {
      uint64_t condition;
      uint32_t value;
    } block = {0, 1};
    cushim_arg args[2], known[2];
    uint64_t room[2];
    size_t count = 0;
    CHECK_OK(cushim_graph_add_child(graph, NULL, 0, empty, CUSHIM_CHILD_CLONE, &child, &inner));
    CHECK_OK(cushim_condition_native(condition, &block.condition));
    args[0] = CUSHIM_ARG(block.condition);
    args[1] = CUSHIM_ARG(block.value);
    if (packed) CHECK_OK(cushim_graph_add_kernel_packed(inner, NULL, 0, conditions.set, NULL, &block, 12, &told));
    else CHECK_OK(cushim_graph_add_kernel(inner, NULL, 0, conditions.set, NULL, args, 2, &told));
    add_conditional(graph, child, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
    add_append(body, NULL, 0, 1);
    CHECK(result_of(graph) == 1);
    if (!packed || version >= 12040) { /* before, nobody knows where a block has which argument */
      CHECK_OK(cushim_node_get_arguments(told, known, 2, &count, room, sizeof room, NULL));
      CHECK(count == 2 && known[0].kind == CUSHIM_ARG_BYTES && *(const uint64_t *)known[0].value == block.condition);
    }
    CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_clone(inner, &clone));
    CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_add_child(empty, NULL, 0, inner, CUSHIM_CHILD_CLONE, NULL, NULL));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_create(inner, NULL, &exec, NULL));
    CHECK(clone == NULL && exec == NULL);
    CHECK(result_of(graph) == 1);
    CHECK_OK(cushim_graph_destroy(empty));
    CHECK_OK(cushim_graph_destroy(graph));
  }
}

/*
 * An exec whose launch is in flight is destroyed at once, in a stream that only the library reaches and in one that others do, and what it
 * keeps goes when the launch is done. The driver's own waits for the launch: it is destroyed then, and the next exec of the graph made behind
 * that.
 */
static void destroyed_in_flight(int is_shared) {
  cushim_stream gate = new_stream(all.context), stream = is_shared ? gate : new_stream(all.context);
  cushim_event opened = new_event(all.context, 0);
  cushim_graph graph = new_graph(), body = NULL;
  cushim_condition condition = new_condition(graph, 1);
  cushim_exec exec = NULL;
  struct busy busy;
  int32_t ready = 1;
  add_conditional(graph, NULL, condition, CUSHIM_CONDITIONAL_IF, 1, &body);
  add_append(body, NULL, 0, 7);
  clear_memory();
  exec = new_exec(graph);
  busy_begin(&busy, all.driver, gate);
  if (!is_shared) {
    CHECK_OK(cushim_event_record(opened, gate));
    CHECK_OK(cushim_stream_wait_event(stream, opened));
  }
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_stream_query(stream, &ready));
  CHECK(!ready);
  busy_end(&busy);
  exec = new_exec(graph);
  CHECK_OK(cushim_stream_query(stream, &ready));
  CHECK(ready);
  CHECK(number_at(memory) == 7);
  CHECK(result_of_exec(exec) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  /* What it was made of is gone when it goes. */
  exec = new_exec(graph);
  busy_begin(&busy, all.driver, gate);
  CHECK_OK(cushim_exec_launch(exec, gate));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_stream_query(gate, &ready));
  CHECK(!ready);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(gate));
  CHECK_OK(cushim_event_destroy(opened));
  if (!is_shared) CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_stream_destroy(gate));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    if (version < 12030) {
      too_old();
    } else {
      open_conditions();
      ifs();
      else_branches();
      loops();
      switches();
      unknown_kinds();
      updated_switches();
      remembered_values();
      nested();
      children_in_bodies();
      reading_back();
      refused_conditions();
      refused_in_bodies();
      without_a_node();
      limits();
      removed_nodes();
      changes();
      kept_by_a_body();
      bound_to_what_is_around();
      as_a_number();
      destroyed_in_flight(0);
      destroyed_in_flight(1);
      close_conditions();
    }
  }
  return close_graphs();
}
