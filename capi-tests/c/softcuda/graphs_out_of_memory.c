/* What builds, captures, changes and runs graphs, with memory running short. */
#include "short_memory.h"

#include "builders.h"

#include <pthread.h>

/* Graphs as the calls find them: each call is undone before the next. */
static cushim_graph definition, small, copied_graph, bodies[2];
static cushim_node kernel_node, copy_node, fill_node, function_node, child_node, event_node, values_node, made;
static cushim_exec exec, made_exec;
static cushim_buffer first, second;
static cushim_event other_event;
static uint64_t pointer;
static int releases;

static void CUSHIM_CUDA_CB nothing_to_do(void *data) { (void)data; }

static cushim_status add_buffer_kernel(cushim_graph graph, cushim_node *node) {
  static const uint32_t one = 1;
  static const cushim_parameter parameter = {"number", &one, sizeof one, 0};
  cushim_arg args[2];
  args[0] = cushim_arg_make(CUSHIM_ARG_BUFFER, first);
  args[1] = cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter);
  return cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 2, node);
}

static cushim_status add_owned_copy(cushim_node *node) {
  const cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(1, &owner), from = owned_slot(0, &owner);
  return cushim_graph_add_copy(definition, NULL, 0, &to, &from, 4, node);
}
static cushim_status add_copy(void) { return add_owned_copy(&made); }

static cushim_status add_box(void) {
  const cushim_owner owner = counted(&releases);
  const cushim_extent extent = {4, 2, 1};
  cushim_region to, from;
  memset(&to, 0, sizeof to), memset(&from, 0, sizeof from);
  to.endpoint = owned_slot(8, &owner), from.endpoint = owned_slot(0, &owner);
  return cushim_graph_add_copy_3d(definition, NULL, 0, &to, &from, &extent, &made);
}

static cushim_status add_kernel(void) { return add_buffer_kernel(definition, &made); }
static cushim_status add_bytes(void) { return cushim_graph_add_host_function_bytes(definition, NULL, 0, nothing_to_do, "bytes", 6, &made); }
static cushim_status add_child(void) { return cushim_graph_add_child(definition, NULL, 0, small, CUSHIM_CHILD_CLONE, &made, NULL); }
static cushim_status add_record(void) { return cushim_graph_add_event_record(definition, NULL, 0, all.event, &made); }
static cushim_status add_wait(void) { return cushim_graph_add_event_wait(definition, NULL, 0, all.event, &made); }
static cushim_status add_operations(cushim_node *node) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = cushim_endpoint_device(slot(3));
  return cushim_graph_add_memory_operations(definition, NULL, 0, &operation, 1, node);
}
static cushim_status add_values(void) { return add_operations(&made); }
static cushim_status add_nameless(void) { return add_buffer_kernel(definition, NULL); }
static void remove_last(void) {
  cushim_node nodes[8];
  size_t count = 0;
  CHECK_OK(cushim_graph_get_nodes(definition, nodes, 8, &count));
  if (CHECK(count == 8)) CHECK_OK(cushim_node_remove(nodes[7]));
}
static void remove_made(void) { CHECK_OK(cushim_node_remove(made)); }

/* A graph of their own: what allocates cannot be removed, and a condition stays. */
static cushim_status add_allocation(void) {
  cushim_graph_allocation options = CUSHIM_OPTIONS(cushim_graph_allocation);
  cushim_status status = cushim_graph_create(all.context, NULL, &copied_graph);
  options.bytes = 64;
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_graph_add_allocation(copied_graph, NULL, 0, &options, &made, &pointer);
  if (status == CUSHIM_SUCCESS) status = cushim_graph_add_free(copied_graph, &made, 1, pointer, NULL);
  if (status != CUSHIM_SUCCESS) cushim_graph_destroy(copied_graph);
  return status;
}
static cushim_status add_bodies(void) {
  cushim_condition created;
  cushim_status status = cushim_graph_create(all.context, NULL, &copied_graph);
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_condition_create(copied_graph, NULL, &created);
  if (status == CUSHIM_SUCCESS) {
    status = cushim_graph_add_conditional(copied_graph, NULL, 0, created, CUSHIM_CONDITIONAL_IF_ELSE, 2, &made, bodies);
  }
  if (status == CUSHIM_SUCCESS) status = cushim_graph_add_empty(bodies[1], NULL, 0, NULL);
  if (status != CUSHIM_SUCCESS) cushim_graph_destroy(copied_graph);
  return status;
}
static cushim_status move_in(void) {
  cushim_graph moved, inner;
  cushim_status status = cushim_graph_create(all.context, NULL, &moved);
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_graph_add_empty(moved, NULL, 0, NULL);
  if (status == CUSHIM_SUCCESS) status = cushim_graph_add_child(definition, NULL, 0, moved, CUSHIM_CHILD_MOVE, &made, &inner);
  cushim_graph_destroy(moved);
  return status;
}
static cushim_status clone_graph(void) { return cushim_graph_clone(small, &copied_graph); }
static void destroy_graph(void) { CHECK_OK(cushim_graph_destroy(copied_graph)); }

static cushim_status read_nodes(void) {
  cushim_node nodes[32];
  size_t count;
  return cushim_graph_get_nodes(definition, nodes, 32, &count);
}
static cushim_status read_edges(void) {
  cushim_edge edges[32];
  size_t count;
  return cushim_graph_get_edges(definition, edges, 32, &count);
}
static cushim_status read_arguments(void) {
  cushim_arg args[4];
  uint64_t values[8];
  size_t count, needed;
  return cushim_node_get_arguments(kernel_node, args, 4, &count, values, sizeof values, &needed);
}
static cushim_status write_json(void) { return cushim_graph_write_json(definition, "/dev/null", 0); }

static cushim_status add_edge(void) {
  const cushim_edge edge = edge_between(kernel_node, copy_node);
  return cushim_graph_add_edges(definition, &edge, 1);
}
static void remove_edge(void) {
  const cushim_edge edge = edge_between(kernel_node, copy_node);
  CHECK_OK(cushim_graph_remove_edges(definition, &edge, 1));
}
static cushim_status set_dependencies(void) { return cushim_node_set_dependencies(copy_node, &fill_node, 1); }
static void clear_dependencies(void) { CHECK_OK(cushim_node_set_dependencies(copy_node, NULL, 0)); }

/* Changes, of the definition and of the exec. */
static cushim_status set_owned_argument(cushim_exec where) {
  cushim_owned_pointer owned;
  const cushim_arg arg = owned_arg(&owned, memory, &releases);
  return IN_GRAPH_OR_EXEC(where, set_argument, kernel_node, 0, &arg);
}
static cushim_status set_argument(void) { return set_owned_argument(NULL); }
static cushim_status set_argument_in_exec(void) { return set_owned_argument(exec); }
static cushim_status set_args(cushim_exec where) {
  static const uint32_t one = 1;
  cushim_owned_pointer owned;
  cushim_arg args[2];
  args[0] = owned_arg(&owned, memory, &releases);
  args[1] = CUSHIM_ARG(one);
  return IN_GRAPH_OR_EXEC(where, set_kernel, kernel_node, NULL, NULL, args, 2);
}
static cushim_status set_kernel(void) { return set_args(NULL); }
static cushim_status set_kernel_in_exec(void) { return set_args(exec); }
static cushim_status set_ends(cushim_exec where) {
  const cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(2, &owner);
  return IN_GRAPH_OR_EXEC(where, set_copy, copy_node, &to, NULL, 4);
}
static cushim_status set_copy(void) { return set_ends(NULL); }
static cushim_status set_copy_in_exec(void) { return set_ends(exec); }
static cushim_status set_filled(cushim_exec where) {
  const cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(2, &owner);
  return IN_GRAPH_OR_EXEC(where, set_fill, fill_node, &to, CUSHIM_VALUE_32(7), 1);
}
static cushim_status set_fill(void) { return set_filled(NULL); }
static cushim_status set_fill_in_exec(void) { return set_filled(exec); }
static cushim_status set_function_of(cushim_exec where) {
  const cushim_owner owner = counted(&releases);
  return IN_GRAPH_OR_EXEC(where, set_host_function, function_node, nothing_to_do, NULL, &owner);
}
static cushim_status set_function(void) { return set_function_of(NULL); }
static cushim_status set_function_in_exec(void) { return set_function_of(exec); }
static cushim_status set_event(void) { return cushim_node_set_event(event_node, other_event); }
static cushim_status set_event_in_exec(void) { return cushim_exec_set_event(exec, event_node, other_event); }
static cushim_status set_child_in_exec(void) { return cushim_exec_set_child(exec, child_node, small); }
static cushim_status set_owner(void) {
  const cushim_owner owner = counted(&releases);
  return cushim_node_set_owner(kernel_node, 0, &owner);
}
static cushim_status set_parameter(void) {
  static uint32_t value;
  size_t nodes;
  value++;
  return cushim_exec_set_parameter(exec, "number", &value, sizeof value, &nodes);
}
static cushim_status rebind(void) {
  size_t nodes;
  return cushim_exec_rebind(exec, first, second, &nodes);
}
static void rebind_back(void) {
  size_t nodes;
  CHECK_OK(cushim_exec_rebind(exec, second, first, &nodes));
}
static cushim_status disable(void) { return cushim_exec_set_enabled(exec, fill_node, 0); }

static cushim_status instantiate(void) { return cushim_exec_create(definition, NULL, &made_exec, NULL); }
static void destroy_exec(void) { CHECK_OK(cushim_exec_destroy(made_exec)); }
static cushim_status update(void) { return cushim_exec_update(exec, definition, NULL); }
static cushim_status upload(void) { return cushim_exec_upload(exec, all.stream); }
static cushim_status launch(void) { return cushim_exec_launch(exec, all.stream); }
static cushim_status launch_and_destroy(void) {
  cushim_exec once;
  cushim_status status = cushim_exec_create(small, NULL, &once, NULL);
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_exec_launch(once, all.stream);
  CHECK_OK(cushim_exec_destroy(once));
  return status;
}

/* Captures, which are ended whatever happened. */
static cushim_status ended(cushim_builder builder, cushim_status status) {
  cushim_graph graph = NULL;
  const cushim_status end = cushim_builder_end(builder, &graph);
  if (graph != NULL) CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  return status != CUSHIM_SUCCESS ? status : end;
}
static cushim_status opened(cushim_builder *builder) {
  cushim_status status = cushim_builder_create(all.context, NULL, builder);
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_builder_begin(*builder);
  if (status != CUSHIM_SUCCESS) CHECK_OK(cushim_builder_destroy(*builder));
  return status;
}
/* A stream is a handle, which is not given where memory is short. */
static cushim_status captured_work(cushim_stream stream) {
  const cushim_owner owner = counted(&releases);
  cushim_endpoint to = owned_slot(1, &owner), from = owned_slot(0, &owner);
  cushim_owned_pointer owned;
  static const uint32_t one = 1;
  cushim_arg args[2];
  cushim_status status = stream == NULL ? CUSHIM_ERROR_OUT_OF_MEMORY : cushim_stream_copy(stream, &to, &from, 4);
  args[0] = owned_arg(&owned, memory, &releases);
  args[1] = CUSHIM_ARG(one);
  if (status == CUSHIM_SUCCESS) status = cushim_kernel_launch(all.kernel, stream, NULL, args, 2);
  if (status == CUSHIM_SUCCESS) status = cushim_stream_launch_host_function(stream, nothing_to_do, NULL, &owner);
  return status;
}
static cushim_status captured_fill(cushim_stream stream) {
  return stream == NULL ? CUSHIM_ERROR_OUT_OF_MEMORY : fill_bytes(stream, memory, 0, 4);
}
static cushim_status capture(void) {
  cushim_builder builder;
  const cushim_status status = opened(&builder);
  return status != CUSHIM_SUCCESS ? status : ended(builder, captured_work(cushim_builder_stream(builder)));
}
/* The same on a thread that has called nothing yet. */
struct elsewhere {
  int allocations, fails_at, fails_on, watched;
  cushim_status status;
};
static void *capture_there(void *data) {
  struct elsewhere *elsewhere = data;
  allocations = elsewhere->allocations, fails_at = elsewhere->fails_at, fails_on = elsewhere->fails_on;
  watched = elsewhere->watched;
  elsewhere->status = capture();
  watched = 0;
  elsewhere->allocations = allocations;
  return NULL;
}
static cushim_status capture_elsewhere(void) {
  struct elsewhere elsewhere;
  pthread_t thread;
  elsewhere.allocations = allocations, elsewhere.fails_at = fails_at, elsewhere.fails_on = fails_on;
  elsewhere.watched = watched;
  if (!CHECK(pthread_create(&thread, NULL, capture_there, &elsewhere) == 0)) exit(1);
  CHECK(pthread_join(thread, NULL) == 0);
  allocations = elsewhere.allocations;
  return elsewhere.status;
}
static cushim_status capture_forked(void) {
  cushim_builder builder, forks[2];
  cushim_status status = opened(&builder);
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_builder_fork(builder, forks, 2);
  if (status == CUSHIM_SUCCESS) {
    status = captured_work(cushim_builder_stream(forks[0]));
    if (status == CUSHIM_SUCCESS) status = cushim_builder_join(builder, forks, 2);
    CHECK_OK(cushim_builder_destroy(forks[0]));
    CHECK_OK(cushim_builder_destroy(forks[1]));
  }
  return ended(builder, status);
}
static cushim_status capture_bodies(void) {
  cushim_builder builder, body;
  cushim_condition decided;
  cushim_status status = opened(&builder), end;
  if (status != CUSHIM_SUCCESS) return status;
  status = cushim_builder_create_condition(builder, NULL, &decided);
  if (status == CUSHIM_SUCCESS) status = cushim_builder_add_conditional(builder, decided, CUSHIM_CONDITIONAL_IF, 1, NULL, &body);
  if (status == CUSHIM_SUCCESS) {
    status = cushim_builder_begin(body);
    if (status == CUSHIM_SUCCESS) {
      status = captured_fill(cushim_builder_stream(body));
      end = cushim_builder_end(body, NULL);
      if (status == CUSHIM_SUCCESS) status = end;
    }
    CHECK_OK(cushim_builder_destroy(body));
  }
  return ended(builder, status);
}
static cushim_status capture_child(void) {
  cushim_builder builder;
  const cushim_status status = opened(&builder);
  return status != CUSHIM_SUCCESS ? status : ended(builder, cushim_builder_add_child(builder, small, CUSHIM_CHILD_CLONE, NULL));
}

static const struct tried_call calls[] = {
    CALL(add_nameless, remove_last), CALL(add_kernel, remove_made),         CALL(add_copy, remove_made),          CALL(add_box, remove_made),
    CALL(add_bytes, remove_made),          CALL(add_child, remove_made),         CALL(add_record, remove_made),
    CALL(add_wait, remove_made),           CALL(add_values, remove_made),        CALL(add_allocation, destroy_graph),
    CALL(add_bodies, destroy_graph),       CALL(move_in, remove_made),           CALL(clone_graph, destroy_graph),
    CALL(read_nodes, nothing),             CALL(read_edges, nothing),            CALL(read_arguments, nothing),
    CALL(write_json, nothing),             CALL(add_edge, remove_edge),          CALL(set_dependencies, clear_dependencies),
    CALL(set_argument, nothing),           CALL(set_argument_in_exec, nothing),  CALL(set_kernel, nothing),
    CALL(set_kernel_in_exec, nothing),     CALL(set_copy, nothing),              CALL(set_copy_in_exec, nothing),
    CALL(set_fill, nothing),               CALL(set_fill_in_exec, nothing),      CALL(set_function, nothing),
    CALL(set_function_in_exec, nothing),   CALL(set_event, nothing),             CALL(set_event_in_exec, nothing),
    CALL(set_child_in_exec, nothing),      CALL(set_owner, nothing),             CALL(set_parameter, nothing),
    CALL(rebind, rebind_back),             CALL(disable, nothing),               CALL(instantiate, destroy_exec),
    CALL(update, nothing),                 CALL(upload, nothing),                CALL(launch, nothing),
    CALL(launch_and_destroy, nothing),     CALL(capture, nothing),               CALL(capture_forked, nothing),
    CALL(capture_elsewhere, nothing),      CALL(capture_bodies, nothing),         CALL(capture_child, nothing),
};

static void prepare(void) {
  const cushim_owner owner = counted(&releases);
  cushim_endpoint to;
  if (!open_graphs()) exit(1);
  to = owned_slot(1, &owner);
  CHECK_OK(cushim_buffer_create_default(all.device, all.stream, 64, &first));
  CHECK_OK(cushim_buffer_create_default(all.device, all.stream, 64, &second));
  CHECK_OK(cushim_event_create(all.context, NULL, &other_event));
  small = new_graph();
  CHECK_OK(add_buffer_kernel(small, &made));
  CHECK_OK(cushim_graph_add_host_function(small, &made, 1, nothing_to_do, NULL, &owner, NULL));
  definition = new_graph();
  CHECK_OK(add_buffer_kernel(definition, &kernel_node));
  CHECK_OK(add_owned_copy(&copy_node));
  CHECK_OK(cushim_graph_add_fill(definition, NULL, 0, &to, CUSHIM_VALUE_32(0), 1, &fill_node));
  CHECK_OK(cushim_graph_add_host_function(definition, NULL, 0, nothing_to_do, NULL, &owner, &function_node));
  CHECK_OK(cushim_graph_add_child(definition, NULL, 0, small, CUSHIM_CHILD_CLONE, &child_node, NULL));
  CHECK_OK(cushim_graph_add_event_record(definition, NULL, 0, all.event, &event_node));
  CHECK_OK(add_operations(&values_node));
  exec = new_exec(definition);
}

static void check_unchanged(void) { CHECK(node_count(definition) == 7 && edge_count(definition) == 0); }

int main(void) { return try_all(calls, sizeof calls / sizeof *calls); }
