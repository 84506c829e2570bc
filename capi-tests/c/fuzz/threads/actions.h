/* What a thread does: one function for each thing, on whatever handles it finds. */
#ifndef THREADS_ACTIONS_H
#define THREADS_ACTIONS_H

#include "shared.h"

typedef cushim_status (*action)(struct drawer *drawer);

#define GRAPH (cushim_graph) any_of(drawer, GRAPHS)
#define NODE (cushim_node) any_of(drawer, NODES)
#define EXEC (cushim_exec) any_of(drawer, EXECS)
#define BUILDER (cushim_builder) any_of(drawer, BUILDERS)
#define EVENT (cushim_event) any_of(drawer, EVENTS)
#define BUFFER (cushim_buffer) any_of(drawer, BUFFERS)
#define CONDITION (cushim_condition) any_of(drawer, CONDITIONS)

static cushim_resource graph_memory, arena, pool;

static void nothing(void *data) { (void)data; }

/* Up to two nodes to come after; mostly they are of another graph. */
struct after {
  cushim_node nodes[2];
  size_t count;
};

static struct after some_after(struct drawer *drawer) {
  struct after after;
  after.nodes[0] = NODE;
  after.nodes[1] = NODE;
  after.count = once_in(drawer, 3) ? 1 + below(drawer, 2) : 0;
  return after;
}

static cushim_status shown(struct drawer *drawer, enum kind kind, void *handle, cushim_status status) {
  CHECK(status == CUSHIM_SUCCESS || handle == NULL);
  show(drawer, kind, handle);
  return status;
}

/* Graphs. */

static cushim_status create_graph(struct drawer *drawer) {
  cushim_graph graph = NULL;
  const cushim_status status = cushim_graph_create(all.context, NULL, &graph);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status clone_graph(struct drawer *drawer) {
  cushim_graph graph = NULL;
  const cushim_status status = cushim_graph_clone(GRAPH, &graph);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status refer_to_graph(struct drawer *drawer) {
  cushim_graph graph = NULL;
  const cushim_status status = cushim_graph_ref(GRAPH, &graph);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status add_one_empty(struct drawer *drawer) {
  const struct after after = some_after(drawer);
  cushim_node node = NULL;
  const cushim_status status = cushim_graph_add_empty(GRAPH, after.nodes, after.count, &node);
  return shown(drawer, NODES, node, status);
}

static cushim_status add_host_function(struct drawer *drawer) {
  const struct after after = some_after(drawer);
  const cushim_owner owner = lend();
  cushim_node node = NULL;
  const cushim_status status = cushim_graph_add_host_function(GRAPH, after.nodes, after.count, nothing, NULL, &owner, &node);
  return shown(drawer, NODES, node, settle(&owner, status));
}

static cushim_status add_fill(struct drawer *drawer) {
  const struct after after = some_after(drawer);
  const cushim_owner owner = lend();
  const cushim_endpoint to = owned_slot((int)below(drawer, NUMBERS), &owner);
  cushim_node node = NULL;
  const cushim_status status = cushim_graph_add_fill(GRAPH, after.nodes, after.count, &to, CUSHIM_VALUE_32(1), 1, &node);
  return shown(drawer, NODES, node, settle(&owner, status));
}

static cushim_status add_copy(struct drawer *drawer) {
  const cushim_owner owner = lend();
  const cushim_endpoint to = owned_slot(1, &owner), from = cushim_endpoint_device(slot(2));
  cushim_node node = NULL;
  const cushim_status status = cushim_graph_add_copy(GRAPH, NULL, 0, &to, &from, 4, &node);
  return shown(drawer, NODES, node, settle(&owner, status));
}

static cushim_status add_kernel(struct drawer *drawer) {
  const struct after after = some_after(drawer);
  cushim_owned_pointer pointer;
  const uint32_t digit = 1;
  cushim_arg args[2];
  cushim_node node = NULL;
  cushim_status status;
  pointer.pointer = slot(3);
  pointer.owner = lend();
  args[0] = cushim_arg_make(CUSHIM_ARG_OWNED, &pointer);
  args[1] = CUSHIM_ARG(digit);
  status = cushim_graph_add_kernel(GRAPH, after.nodes, after.count, all.kernel, NULL, args, 2, &node);
  return shown(drawer, NODES, node, settle(&pointer.owner, status));
}

static cushim_status add_child(struct drawer *drawer) {
  cushim_node node = NULL;
  cushim_graph inner = NULL;
  const cushim_child_ownership how = once_in(drawer, 3) ? CUSHIM_CHILD_MOVE : CUSHIM_CHILD_CLONE;
  const cushim_status status = cushim_graph_add_child(GRAPH, NULL, 0, GRAPH, how, &node, &inner);
  if (inner != NULL) show(drawer, GRAPHS, inner);
  return shown(drawer, NODES, node, status);
}

static cushim_status add_event(struct drawer *drawer) {
  cushim_node node = NULL;
  const cushim_status status = once_in(drawer, 2) ? cushim_graph_add_event_record(GRAPH, NULL, 0, EVENT, &node)
                                                  : cushim_graph_add_event_wait(GRAPH, NULL, 0, EVENT, &node);
  return shown(drawer, NODES, node, status);
}

static cushim_status create_condition(struct drawer *drawer) {
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  cushim_condition condition = NULL;
  cushim_status status;
  options.initial = below(drawer, 2);
  options.flags = CUSHIM_CONDITION_RESET;
  status = cushim_condition_create(GRAPH, &options, &condition);
  return shown(drawer, CONDITIONS, condition, status);
}

static cushim_status add_if(struct drawer *drawer) {
  cushim_node node = NULL;
  cushim_graph body = NULL;
  const cushim_status status = cushim_graph_add_conditional(GRAPH, NULL, 0, CONDITION, CUSHIM_CONDITIONAL_IF, 1, &node, &body);
  if (body != NULL) show(drawer, GRAPHS, body);
  return shown(drawer, NODES, node, status);
}

static cushim_status add_setter_of(struct drawer *drawer) {
  const uint32_t value = below(drawer, 2);
  cushim_arg args[2];
  cushim_node node = NULL;
  cushim_status status;
  if (version < 12030) return CUSHIM_SUCCESS;
  args[0] = condition_arg(CONDITION);
  args[1] = CUSHIM_ARG(value);
  status = cushim_graph_add_kernel(GRAPH, NULL, 0, conditions.set, NULL, args, 2, &node);
  return shown(drawer, NODES, node, status);
}

static cushim_status list_nodes(struct drawer *drawer) {
  cushim_node nodes[8] = {NULL};
  size_t count = 0;
  const cushim_status status = cushim_graph_get_nodes(GRAPH, nodes, 8, &count);
  if (status == CUSHIM_SUCCESS && count > 0) show(drawer, NODES, nodes[below(drawer, count < 8 ? (uint32_t)count : 8)]);
  return status;
}

static cushim_status list_edges(struct drawer *drawer) {
  size_t count = 0;
  return cushim_graph_get_edges(GRAPH, NULL, 0, &count);
}

static cushim_status change_edges(struct drawer *drawer) {
  const cushim_edge edge = edge_between(NODE, NODE);
  return once_in(drawer, 3) ? cushim_graph_remove_edges(GRAPH, &edge, 1) : cushim_graph_add_edges(GRAPH, &edge, 1);
}

/* Nodes. */

static cushim_status remove_node(struct drawer *drawer) { return cushim_node_remove(NODE); }

static cushim_status graph_of_node(struct drawer *drawer) {
  cushim_graph graph = NULL;
  const cushim_status status = cushim_node_get_graph(NODE, &graph);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status graph_in_node(struct drawer *drawer) {
  cushim_graph graph = NULL;
  size_t count = 0;
  const cushim_status status = cushim_node_get_graphs(NODE, &graph, 1, &count);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status find_in_clone(struct drawer *drawer) {
  cushim_node node = NULL;
  const cushim_status status = cushim_node_find_in(NODE, GRAPH, &node);
  return shown(drawer, NODES, node, status);
}

static cushim_status set_dependencies(struct drawer *drawer) {
  const struct after after = some_after(drawer);
  return once_in(drawer, 2) ? cushim_node_set_dependencies(NODE, after.nodes, after.count)
                            : cushim_node_set_dependents(NODE, after.nodes, after.count);
}

static cushim_status set_owner(struct drawer *drawer) {
  const cushim_owner owner = lend();
  return settle(&owner, cushim_node_set_owner(NODE, below(drawer, 3), &owner));
}

/* In the graph, or in one exec. */
static cushim_exec exec_or_none(struct drawer *drawer) { return once_in(drawer, 2) ? NULL : EXEC; }

static cushim_status set_host_function(struct drawer *drawer) {
  const cushim_owner owner = lend();
  const cushim_exec exec = exec_or_none(drawer);
  return settle(&owner, IN_GRAPH_OR_EXEC(exec, set_host_function, NODE, nothing, NULL, &owner));
}

static cushim_status set_fill(struct drawer *drawer) {
  const cushim_owner owner = lend();
  const cushim_endpoint to = owned_slot(4, &owner);
  const cushim_exec exec = exec_or_none(drawer);
  return settle(&owner, IN_GRAPH_OR_EXEC(exec, set_fill, NODE, &to, CUSHIM_VALUE_32(2), 1));
}

/* The second argument of each kernel here is a number; the first may be a condition, where an address would lose the context. */
static cushim_status set_argument(struct drawer *drawer) {
  const uint32_t number = 1;
  const cushim_arg arg = CUSHIM_ARG(number);
  const cushim_exec exec = exec_or_none(drawer);
  return IN_GRAPH_OR_EXEC(exec, set_argument, NODE, 1, &arg);
}

static cushim_status set_child(struct drawer *drawer) { return cushim_exec_set_child(EXEC, NODE, GRAPH); }

static cushim_status set_enabled(struct drawer *drawer) { return cushim_exec_set_enabled(EXEC, NODE, (int32_t)below(drawer, 2)); }

/* Execs. */

static cushim_status create_exec(struct drawer *drawer) {
  cushim_exec exec = NULL;
  const cushim_status status = cushim_exec_create(GRAPH, NULL, &exec, NULL);
  return shown(drawer, EXECS, exec, status);
}

static cushim_status launch_exec(struct drawer *drawer) { return cushim_exec_launch(EXEC, any_stream(drawer)); }

static cushim_status update_exec(struct drawer *drawer) { return cushim_exec_update(EXEC, GRAPH, NULL); }

static cushim_status rebind_exec(struct drawer *drawer) { return cushim_exec_rebind(EXEC, BUFFER, BUFFER, NULL); }

/* Builders. */

static cushim_status create_builder(struct drawer *drawer) {
  cushim_builder_options options = CUSHIM_OPTIONS(cushim_builder_options);
  cushim_builder builder = NULL;
  cushim_status status;
  options.mode = once_in(drawer, 4) ? (int32_t)below(drawer, 3) : CUSHIM_CAPTURE_RELAXED;
  status = once_in(drawer, 3) ? cushim_builder_create_on(stream_to_give(drawer), &options, &builder)
                              : cushim_builder_create(all.context, &options, &builder);
  if (builder != NULL && once_in(drawer, 2)) CHECK(cushim_builder_begin(builder) != CUSHIM_ERROR_INTERNAL);
  return shown(drawer, BUILDERS, builder, status);
}

static cushim_status begin(struct drawer *drawer) { return cushim_builder_begin(BUILDER); }

static cushim_status recapture(struct drawer *drawer) { return cushim_builder_recapture(BUILDER, GRAPH); }

static cushim_status end(struct drawer *drawer) {
  cushim_graph graph = NULL;
  const cushim_status status = cushim_builder_end(BUILDER, &graph);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status close_builder(struct drawer *drawer) { return cushim_builder_close(BUILDER); }

static cushim_status refer_to_builder(struct drawer *drawer) {
  cushim_builder builder = NULL;
  const cushim_status status = cushim_builder_ref(BUILDER, &builder);
  return shown(drawer, BUILDERS, builder, status);
}

static cushim_status stream_of_builder(struct drawer *drawer) {
  show(drawer, STREAMS, cushim_builder_stream(BUILDER));
  return CUSHIM_SUCCESS;
}

static cushim_status graph_of_builder(struct drawer *drawer) {
  cushim_graph graph = NULL;
  const cushim_status status = cushim_builder_get_graph(BUILDER, &graph);
  return shown(drawer, GRAPHS, graph, status);
}

static cushim_status tail_of_builder(struct drawer *drawer) {
  cushim_node node = NULL;
  size_t count = 0;
  const cushim_status status = cushim_builder_get_tail(BUILDER, &node, 1, &count);
  return shown(drawer, NODES, node, status);
}

static cushim_status fork_builder(struct drawer *drawer) {
  cushim_builder forks[2] = {NULL, NULL};
  const size_t count = 1 + below(drawer, 2);
  const cushim_status status = cushim_builder_fork(BUILDER, forks, count);
  if (forks[1] != NULL) show(drawer, BUILDERS, forks[1]);
  return shown(drawer, BUILDERS, forks[0], status);
}

static cushim_status join_builders(struct drawer *drawer) {
  cushim_builder others[2];
  others[0] = BUILDER;
  others[1] = BUILDER;
  return cushim_builder_join(BUILDER, others, 1 + below(drawer, 2));
}

static cushim_status embed(struct drawer *drawer) {
  cushim_node node = NULL;
  const cushim_child_ownership how = once_in(drawer, 4) ? CUSHIM_CHILD_MOVE : CUSHIM_CHILD_CLONE;
  const cushim_status status = cushim_builder_add_child(BUILDER, GRAPH, how, &node);
  return shown(drawer, NODES, node, status);
}

/* A condition of a capture, and a conditional node with a builder for its body. */
static cushim_status decide(struct drawer *drawer) {
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  const cushim_builder builder = BUILDER;
  cushim_builder body = NULL;
  cushim_condition condition = NULL;
  cushim_node node = NULL;
  cushim_status status;
  options.flags = CUSHIM_CONDITION_RESET;
  status = cushim_builder_create_condition(builder, &options, &condition);
  if (status != CUSHIM_SUCCESS) return status;
  show(drawer, CONDITIONS, condition);
  status = cushim_builder_add_conditional(builder, condition, CUSHIM_CONDITIONAL_IF, 1, &node, &body);
  if (node != NULL) show(drawer, NODES, node);
  if (body != NULL && once_in(drawer, 2)) CHECK(cushim_builder_begin(body) != CUSHIM_ERROR_INTERNAL);
  return shown(drawer, BUILDERS, body, status);
}

/* Streams, captured or not. */

static cushim_status fill(struct drawer *drawer) {
  const cushim_owner owner = lend();
  const cushim_endpoint to = owned_slot(6, &owner);
  return settle(&owner, cushim_stream_fill(any_stream(drawer), &to, CUSHIM_VALUE_32(1), 1));
}

static cushim_status call_function(struct drawer *drawer) {
  const cushim_owner owner = lend();
  return settle(&owner, cushim_stream_launch_host_function(any_stream(drawer), nothing, NULL, &owner));
}

static cushim_status launch_kernel(struct drawer *drawer) {
  cushim_owned_pointer pointer;
  const uint32_t digit = 1;
  cushim_arg args[2];
  pointer.pointer = slot(7);
  pointer.owner = lend();
  args[0] = cushim_arg_make(CUSHIM_ARG_OWNED, &pointer);
  args[1] = CUSHIM_ARG(digit);
  return settle(&pointer.owner, cushim_kernel_launch(all.kernel, any_stream(drawer), NULL, args, 2));
}

static cushim_status record(struct drawer *drawer) { return cushim_event_record(EVENT, any_stream(drawer)); }

static cushim_status wait_for_event(struct drawer *drawer) { return cushim_stream_wait_event(any_stream(drawer), EVENT); }

static cushim_status wait_for_stream(struct drawer *drawer) {
  return cushim_stream_wait_stream(any_stream(drawer), any_stream(drawer));
}

static cushim_status synchronize(struct drawer *drawer) { return cushim_stream_synchronize(any_stream(drawer)); }

static cushim_status synchronize_context(struct drawer *drawer) {
  (void)drawer;
  return cushim_context_synchronize(all.context);
}

static cushim_status create_event(struct drawer *drawer) {
  cushim_event event = NULL;
  const cushim_status status = cushim_event_create(all.context, NULL, &event);
  return shown(drawer, EVENTS, event, status);
}

static cushim_status create_buffer(struct drawer *drawer) {
  const cushim_resource resources[3] = {graph_memory, arena, pool};
  cushim_buffer buffer = NULL;
  const cushim_status status = cushim_buffer_create(resources[below(drawer, 3)], any_stream(drawer), 64, &buffer);
  return shown(drawer, BUFFERS, buffer, status);
}

static cushim_status destroy_something(struct drawer *drawer) {
  static const enum kind owned[] = {GRAPHS, EXECS, BUILDERS, BUILDERS, EVENTS, BUFFERS};
  return exchange(owned[below(drawer, sizeof owned / sizeof *owned)], below(drawer, PLACES), NULL);
}

static const struct {
  const char *name;
  action run;
} actions[] = {
#define ACTION(name) {#name, name}
    ACTION(create_graph),     ACTION(create_graph),     ACTION(clone_graph),        ACTION(refer_to_graph),    ACTION(add_one_empty),
    ACTION(add_host_function), ACTION(add_fill),        ACTION(add_copy),           ACTION(add_kernel),        ACTION(add_child),
    ACTION(add_event),        ACTION(create_condition), ACTION(add_if),             ACTION(add_setter_of),     ACTION(list_nodes),
    ACTION(list_edges),       ACTION(change_edges),     ACTION(remove_node),        ACTION(graph_of_node),     ACTION(graph_in_node),
    ACTION(find_in_clone),    ACTION(set_dependencies), ACTION(set_owner),          ACTION(set_host_function), ACTION(set_fill),
    ACTION(set_argument),     ACTION(set_child),        ACTION(set_enabled),        ACTION(create_exec),       ACTION(launch_exec),
    ACTION(update_exec),      ACTION(rebind_exec),      ACTION(destroy_something),  ACTION(destroy_something), ACTION(create_event),
    ACTION(create_builder),   ACTION(create_builder),   ACTION(begin),              ACTION(recapture),         ACTION(end),
    ACTION(end),              ACTION(close_builder),    ACTION(refer_to_builder),   ACTION(stream_of_builder), ACTION(stream_of_builder),
    ACTION(graph_of_builder), ACTION(tail_of_builder),  ACTION(fork_builder),       ACTION(join_builders),     ACTION(embed),
    ACTION(decide),           ACTION(decide),           ACTION(fill),               ACTION(call_function),     ACTION(launch_kernel),
    ACTION(record),           ACTION(wait_for_event),   ACTION(wait_for_stream),    ACTION(synchronize),       ACTION(synchronize_context),
    ACTION(create_buffer),    ACTION(destroy_something),
#undef ACTION
};
enum { ACTIONS = sizeof actions / sizeof *actions };

#endif
