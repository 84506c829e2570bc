/*
 * What a graph keeps alive, and when it lets go of it: releases are counted. Handles are dropped in every order before the launch;
 * execs, clones, child graphs and launches in flight keep what they use; an owner is released exactly once, and not before the last
 * of them is done.
 */
#include "graphs.h"

#include <pthread.h>

static const uint32_t one = 1;

static cushim_resource pool;

static cushim_buffer new_buffer(size_t bytes) {
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_create(pool, all.stream, bytes, &buffer));
  return buffer;
}

/* A kernel node that appends a digit, and has an owner for its memory. */
static cushim_node add_owned(cushim_graph graph, cushim_node after, uint32_t digit, int *count) {
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  cushim_node node = NULL;
  args[0] = owned_arg(&pointer, memory, count);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_add_kernel(graph, &after, after != NULL, all.kernel, NULL, args, 2, &node));
  return node;
}

static cushim_graph clone_of(cushim_graph graph) {
  cushim_graph clone = NULL;
  CHECK_OK(cushim_graph_clone(graph, &clone));
  return clone;
}

static void no_op(void *data) { (void)data; }

/* Every way to give an owner: each is released once, when the graph goes. */
static void owners_of_every_node(void) {
  enum { OWNERS = 8 };
  int counts[OWNERS] = {0}, i;
  cushim_owner owner[OWNERS];
  static uint32_t host[4];
  cushim_graph graph = new_graph();
  cushim_endpoint to, from;
  cushim_region rows, columns;
  const cushim_extent extent = {4, 2, 1};
  for (i = 0; i < OWNERS; i++) owner[i] = counted(&counts[i]);
  add_owned(graph, NULL, 1, &counts[0]);
  to = owned_slot(0, &owner[1]);
  from = cushim_endpoint_host(host);
  from.owner = &owner[2];
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, sizeof host, NULL));
  rows = cushim_region_at(owned_slot(8, &owner[3]), 8);
  columns = cushim_region_at(owned_slot(16, &owner[4]), 8);
  CHECK_OK(cushim_graph_add_copy_3d(graph, NULL, 0, &rows, &columns, &extent, NULL));
  to = owned_slot(32, &owner[5]);
  CHECK_OK(cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL));
  to = owned_slot(40, &owner[6]);
  CHECK_OK(cushim_graph_add_fill_2d(graph, NULL, 0, &to, 8, CUSHIM_VALUE_32(1), 1, 2, NULL));
  CHECK_OK(cushim_graph_add_host_function(graph, NULL, 0, no_op, NULL, &owner[7], NULL));
  CHECK_OK(cushim_exec_destroy(new_exec(graph)));
  for (i = 0; i < OWNERS; i++) CHECK(released(&counts[i]) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  for (i = 0; i < OWNERS; i++) CHECK(released_soon(&counts[i], 1) == 1);
}

/* Slots of any node, found again by enumeration: set, set again, read, and refused. */
static void slots(void) {
  int counts[6] = {0};
  cushim_owner first = counted(&counts[0]), second = counted(&counts[1]), third = counted(&counts[2]);
  cushim_graph graph = new_graph();
  cushim_buffer buffer = new_buffer(64);
  cushim_endpoint to = cushim_endpoint_buffer(buffer, 0), from = cushim_endpoint_device(memory);
  cushim_node kernel = add_owned(graph, NULL, 1, &counts[3]), empty = add_empty(graph, NULL), copy = NULL, record = NULL, found[4];
  void *data = NOT_NULL;
  size_t count = 0;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 64, &copy));
  CHECK_OK(cushim_graph_add_event_record(graph, NULL, 0, all.event, &record));
  CHECK_OK(cushim_graph_get_nodes(graph, found, 4, &count));
  CHECK(count == 4 && found[0] == kernel && found[2] == copy);

  CHECK_OK(cushim_node_get_owner(kernel, 0, &data));
  CHECK(data == NULL);
  CHECK_OK(cushim_node_set_owner(kernel, 0, &first));
  CHECK_OK(cushim_node_get_owner(found[0], 0, &data));
  CHECK(data == &counts[0]);
  CHECK_OK(cushim_node_set_owner(kernel, 0, NULL)); /* nothing happens */
  CHECK(released(&counts[0]) == 0);
  CHECK_OK(cushim_node_set_owner(kernel, 0, &second));
  CHECK(released_soon(&counts[0], 1) == 1 && counts[1] == 0 && counts[3] == 0);
  CHECK_OK(cushim_node_get_owner(kernel, 0, &data));
  CHECK(data == &counts[1]);
  CHECK_OK(cushim_node_set_owner(record, 0, &third));

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(kernel, 2, &first));
  CHECK_CONTAINS(last_message(), "2 owner slots");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(kernel, 2, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(record, 1, &first));
  CHECK_CONTAINS(last_message(), "1 owner slot");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(empty, 0, &first));
  CHECK_CONTAINS(last_message(), "no owner slots");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_owner(empty, 0, &data));
  CHECK(data == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_owner(copy, 0, &first));
  CHECK_CONTAINS(last_message(), "keeps by itself");
  CHECK_OK(cushim_node_set_owner(copy, 1, &first)); /* the source is an address */
  CHECK(released(&counts[0]) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&counts[0], 2) == 2 && released_soon(&counts[1], 1) == 1);
  CHECK(released_soon(&counts[2], 1) == 1 && released_soon(&counts[3], 1) == 1);
  CHECK_OK(cushim_buffer_destroy(buffer));
}

/* A failure leaves the owner with the caller. */
static void failures_release_nothing(void) {
  int count = 0;
  cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph();
  cushim_node foreign;
  cushim_graph other = new_graph();
  cushim_endpoint to = owned_slot(0, &owner), from = owned_slot(4, &owner);
  cushim_buffer closed = new_buffer(64);
  cushim_endpoint stale = cushim_endpoint_buffer(closed, 0), whose = cushim_endpoint_buffer(all.buffer, 0);
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  const uint32_t digit = 1;
  foreign = add_empty(other, NULL);
  args[0] = owned_arg(&pointer, memory, &count);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_buffer_destroy(closed));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_kernel(graph, &foreign, 1, all.kernel, NULL, args, 2, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_copy(graph, &foreign, 1, &to, &from, 16, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_copy(graph, NULL, 0, &to, &stale, 16, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &to, &one, 3, 1, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_host_function(graph, &foreign, 1, no_op, NULL, &owner, NULL));
  whose.owner = &owner; /* an owner beside a buffer */
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_fill(graph, NULL, 0, &whose, CUSHIM_VALUE_32(1), 1, NULL));
  args[1] = cushim_arg_buffer(closed);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 2, NULL));
  CHECK(last_detail()->item == 1);
  CHECK(node_count(graph) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK(released(&count) == 0);
}

/* Source, clone, embedded copy and exec each keep it on their own account: whichever goes last lets go of it. */
static void whoever_goes_last(void) {
  static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
  size_t k;
  int i;
  for (k = 0; k < sizeof orders / sizeof *orders; k++) {
    int count = 0;
    cushim_graph graph = new_graph(), parent = new_graph(), clone;
    cushim_exec exec;
    add_owned(graph, NULL, 1, &count);
    clone = clone_of(graph);
    CHECK_OK(cushim_graph_add_child(parent, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
    exec = new_exec(graph);
    CHECK(result_of(clone) == 1 && result_of(parent) == 1 && result_of_exec(exec) == 1);
    for (i = 0; i < 4; i++) {
      CHECK(released(&count) == 0);
      switch (orders[k][i]) {
      case 0: CHECK_OK(cushim_graph_destroy(graph)); break;
      case 1: CHECK_OK(cushim_graph_destroy(clone)); break;
      case 2: CHECK_OK(cushim_graph_destroy(parent)); break;
      default:
        CHECK(result_of_exec(exec) == 1);
        CHECK_OK(cushim_exec_destroy(exec));
      }
    }
    CHECK(released_soon(&count, 1) == 1);
  }
}

/* What is in flight keeps its memory when exec and graph are destroyed. */
static void in_flight(void) {
  int count = 0;
  cushim_graph graph = new_graph();
  cushim_exec exec;
  struct busy busy;
  add_owned(graph, NULL, 7, &count);
  exec = new_exec(graph);
  clear_memory();
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released(&count) == 0);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(all.stream));
  CHECK(released_soon(&count, 1) == 1);
  CHECK(number_at(memory) == 7);
}

/* A node of an exec, with an owner for its memory from now on. */
struct set {
  cushim_node node;
  cushim_exec exec;
  int *count;
};

static void *set_owned(void *data) {
  const struct set *set = (const struct set *)data;
  const uint32_t digit = 4;
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  args[0] = owned_arg(&pointer, memory, set->count);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_exec_set_kernel(set->exec, set->node, NULL, NULL, args, 2));
  return NULL;
}

/* What a launch in this thread's own default stream uses stays, though another thread's own has nothing to do. */
static void in_flight_in_a_stream_of_the_thread(void) {
  int counts[3] = {0, 0, 0};
  cushim_graph graph = new_graph();
  const cushim_node node = add_owned(graph, NULL, 7, &counts[0]);
  const cushim_exec exec = new_exec(graph);
  struct set first = {node, exec, &counts[1]}, second = {node, exec, &counts[2]};
  cushim_stream own = NULL;
  struct busy busy;
  pthread_t thread;
  cushim_buffer holds_stream = NULL;
  CHECK_OK(cushim_context_get_per_thread_stream(all.context, &own));
  CHECK_OK(cushim_buffer_create(pool, own, 64, &holds_stream));
  set_owned(&first);
  busy_prepare(&busy, 10000);
  CHECK_OK(cushim_stream_launch_host_function(own, busy_function, &busy, NULL));
  CHECK_OK(cushim_exec_launch(exec, own));
  if (CHECK(pthread_create(&thread, NULL, set_owned, &second) == 0)) pthread_join(thread, NULL);
  usleep(200000);
  CHECK(released(&counts[1]) == 0);
  busy_end(&busy);
  CHECK_OK(cushim_stream_synchronize(own));
  CHECK_OK(cushim_buffer_destroy(holds_stream));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&counts[0], 1) == 1 && released_soon(&counts[1], 1) == 1 && released_soon(&counts[2], 1) == 1);
}

/* Handles are dropped in every order, half of them before the graph is instantiated; what was named is there at the launch. */
enum { HANDLES = 5 };

struct named {
  cushim_graph graph;
  cushim_library library;
  cushim_kernel kernel;
  cushim_buffer buffer;
  cushim_event event;
};

static void drop(struct named *named, int which) {
  switch (which) {
  case 0: CHECK_OK(cushim_graph_destroy(named->graph)); break;
  case 1: CHECK_OK(cushim_library_destroy(named->library)); break;
  case 2: CHECK_OK(cushim_kernel_destroy(named->kernel)); break;
  case 3: CHECK_OK(cushim_buffer_destroy(named->buffer)); break;
  default: CHECK_OK(cushim_event_destroy(named->event));
  }
}

static void dropped_in(const int *order, int instantiate_at) {
  struct named named;
  cushim_node nodes[3];
  cushim_exec exec = NULL;
  cushim_endpoint to, from;
  const uint32_t digit = 3;
  cushim_arg args[2];
  int i;
  CHECK_OK(cushim_library_load(all.context, trace_code, sizeof trace_code, NULL, &named.library));
  named.kernel = kernel_of(named.library, "append");
  named.buffer = new_buffer(64);
  named.event = new_event(all.context, 0);
  named.graph = new_graph();
  to = cushim_endpoint_buffer(named.buffer, 0);
  CHECK_OK(cushim_graph_add_fill(named.graph, NULL, 0, &to, CUSHIM_VALUE_32(4), 1, &nodes[0]));
  args[0] = cushim_arg_buffer(named.buffer);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_add_kernel(named.graph, nodes, 1, named.kernel, NULL, args, 2, &nodes[1]));
  from = to;
  to = cushim_endpoint_device(memory);
  CHECK_OK(cushim_graph_add_copy(named.graph, nodes + 1, 1, &to, &from, 4, &nodes[2]));
  CHECK_OK(cushim_graph_add_event_record(named.graph, nodes + 2, 1, named.event, NULL));
  for (i = 0; i < HANDLES; i++) {
    if (exec == NULL && (i == instantiate_at || order[i] == 0)) exec = new_exec(named.graph);
    drop(&named, order[i]);
  }
  CHECK(result_of_exec(exec) == 43);
  CHECK_OK(cushim_exec_destroy(exec));
}

/* Each order of the numbers from `fixed` on. */
static void permute(int *order, int fixed) {
  int i;
  if (fixed == HANDLES) dropped_in(order, HANDLES / 2);
  for (i = fixed; i < HANDLES; i++) {
    int number = order[fixed];
    order[fixed] = order[i], order[i] = number;
    permute(order, fixed + 1);
    number = order[fixed];
    order[fixed] = order[i], order[i] = number;
  }
}

static void dropped_in_every_order(void) {
  int order[HANDLES] = {0, 1, 2, 3, 4};
  permute(order, 0);
}

/* A node that is removed lets go at once of what nobody else uses; execs and clones launch what they were made of. */
static void removed_nodes(void) {
  int first = 0, second = 0;
  cushim_graph graph = new_graph(), clone;
  cushim_node node = add_owned(graph, NULL, 1, &first), later, of_clone = NULL;
  cushim_exec exec = new_exec(graph);
  clone = clone_of(graph);
  CHECK_OK(cushim_node_find_in(node, clone, &of_clone));
  CHECK_OK(cushim_node_remove(node));
  CHECK(node_count(graph) == 0 && result_of(graph) == 0);
  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_node_remove(node));
  CHECK(released(&first) == 0 && result_of(clone) == 1 && result_of_exec(exec) == 1);
  /* A new node, perhaps at the same address, is none of the exec's. */
  later = add_owned(graph, NULL, 2, &second);
  CHECK(later != node && result_of_exec(exec) == 1 && result_of(graph) == 2);
  CHECK_OK(cushim_node_remove(later));
  CHECK(released_soon(&second, 1) == 1 && result_of_exec(exec) == 1);
  CHECK_OK(cushim_node_remove(of_clone));
  CHECK(released(&first) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&first, 1) == 1);
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Handles of what was removed still tell what it was; everything else is an error. */
static void handles_of_removed_nodes(void) {
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL, of = (cushim_graph)NOT_NULL;
  cushim_node kernel, below, node = NULL, children[2];
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_arg args[2];
  uint64_t values[4];
  char label[16];
  void *data;
  size_t count = 0, needed = 0;
  CUgraphNode native;
  cushim_owner owner = {NULL, NULL};
  add_append(child, NULL, 0, 8);
  kernel = add_append(graph, NULL, 1, 5);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner));
  CHECK_OK(cushim_graph_get_nodes(inner, &below, 1, &count));
  CHECK_OK(cushim_set_label(kernel, "five"));
  CHECK_OK(cushim_set_label(below, "eight"));
  CHECK_OK(cushim_node_remove(kernel));
  CHECK_OK(cushim_node_remove(node));

  CHECK(type_of(kernel) == CUSHIM_NODE_KERNEL && type_of(node) == CUSHIM_NODE_CHILD && type_of(below) == CUSHIM_NODE_KERNEL);
  CHECK_OK(cushim_get_label(kernel, label, sizeof label, NULL));
  CHECK(strcmp(label, "five") == 0);
  CHECK_OK(cushim_get_label(below, label, sizeof label, NULL));
  CHECK(strcmp(label, "eight") == 0);
  CHECK_CONTAINS(description(below), "eight");
  CHECK_OK(cushim_node_get_kernel(kernel, &told));
  CHECK(is_same(told.kernel, all.kernel) && told.config.grid.x == 1 && told.arg_count == 2);
  CHECK_OK(cushim_node_get_arguments(below, args, 2, &count, values, sizeof values, &needed));
  CHECK(count == 2 && *(const uint64_t *)args[0].value == slot(0) && *(const uint32_t *)args[1].value == 8);

  CHECK_STATUS(CUSHIM_ERROR_ALREADY_DESTROYED, cushim_node_remove(below));
  CHECK_CONTAINS(last_message(), "eight");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_graph(kernel, &of));
  CHECK(of == NULL);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_native(kernel, &native));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_graphs(node, &of, 1, &count));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_set_owner(kernel, 0, &owner));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_owner(kernel, 0, &data));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(graph, &kernel, 1, NULL));
  CHECK_CONTAINS(last_message(), "five");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(inner, NULL, 0, NULL));
  CHECK_CONTAINS(last_message(), "removed");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_get_nodes(inner, children, 2, &count));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Three levels deep: a node removed through any view releases once; removing the topmost releases all below. */
static void deep_children(void) {
  int count = 0, other = 0;
  cushim_graph lowest = new_graph(), middle = new_graph(), graph = new_graph(), inner = NULL, innermost = NULL;
  cushim_node top = NULL, bottom = NULL, nodes[2];
  size_t found = 0;
  add_owned(lowest, NULL, 1, &count);
  add_owned(lowest, NULL, 2, &other);
  CHECK_OK(cushim_graph_add_child(middle, NULL, 0, lowest, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, middle, CUSHIM_CHILD_CLONE, &top, &inner));
  CHECK_OK(cushim_graph_destroy(lowest));
  CHECK_OK(cushim_graph_destroy(middle));
  CHECK_OK(cushim_graph_get_nodes(inner, &bottom, 1, &found));
  CHECK(found == 1);
  innermost = inner_of(bottom);
  CHECK_OK(cushim_graph_get_nodes(innermost, nodes, 2, &found));
  CHECK(found == 2 && released(&count) == 0);
  CHECK_OK(cushim_node_remove(nodes[0]));
  CHECK(released_soon(&count, 1) == 1 && other == 0);
  CHECK(result_of(graph) == 2);
  CHECK_OK(cushim_node_remove(top));
  CHECK(released_soon(&other, 1) == 1 && count == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&count) == 1 && released(&other) == 1);
}

/* The handle of a child graph alone keeps the whole, which can be listed, edited and instantiated. */
static void kept_by_a_child(void) {
  int count = 0;
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL, kept = NULL, root = NULL;
  cushim_node parent = NULL, node = NULL;
  cushim_exec exec;
  add_owned(graph, NULL, 1, &count);
  add_empty(child, NULL);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_ref(inner, &kept));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&count) == 0 && node_count(kept) == 1);
  add_empty(kept, NULL);
  CHECK(node_count(inner) == 2);
  CHECK_OK(cushim_graph_get_parent(kept, &parent));
  CHECK(parent == node);
  CHECK_OK(cushim_exec_get_graph(exec, &root));
  CHECK(node_count(root) == 2 && result_of(root) == 1);
  CHECK_OK(cushim_graph_destroy(kept));
  CHECK_OK(cushim_exec_get_graph(exec, &root));
  CHECK(root == NULL);
  CHECK(result_of_exec(exec) == 1 && released(&count) == 0);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_graph_add_empty(inner, NULL, 0, NULL));
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&count, 1) == 1);
}

/* What only the definition would keep alive goes with it, though an exec keeps the driver's graph. */
static void only_the_definition(void) {
  int before = 0, after = 0;
  cushim_graph graph = new_graph();
  cushim_exec exec;
  add_owned(graph, NULL, 1, &before);
  exec = new_exec(graph);
  add_owned(graph, NULL, 2, &after);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&after, 1) == 1 && before == 0);
  CHECK(result_of_exec(exec) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&before, 1) == 1 && after == 1);
}

/* An event is told of a node also when its last handle is gone. */
static void events(void) {
  cushim_graph graph = new_graph();
  cushim_event event = new_event(all.context, CUSHIM_EVENT_TIMING | CUSHIM_EVENT_BLOCKING_SYNC), found = NULL;
  cushim_node node = NULL;
  CUevent native = NULL, told = NULL;
  uint32_t flags = 0;
  CHECK_OK(cushim_event_native(event, &native));
  CHECK_OK(cushim_set_label(event, "kept"));
  CHECK_OK(cushim_graph_add_event_record(graph, NULL, 0, event, &node));
  CHECK_OK(cushim_event_destroy(event));
  CHECK_OK(cushim_node_get_event(node, &found, &told));
  CHECK(told == native);
  CHECK_OK(cushim_event_get_flags(found, &flags));
  CHECK(flags == (CUSHIM_EVENT_TIMING | CUSHIM_EVENT_BLOCKING_SYNC));
  CHECK_CONTAINS(description(found), "kept");
  CHECK(result_of(graph) == 0);
  CHECK_OK(cushim_event_synchronize(found));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A graph that is copied behind the library's back keeps what the original keeps. */
static void foreign_clones(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  int count = 0;
  cushim_graph graph = new_graph();
  CUgraph native = NULL, copy = NULL;
  add_owned(graph, NULL, 1, &count);
  CHECK_OK(cushim_graph_native(graph, &native));
  copy = copied_by_others(native);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&count) == 0);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(copy));
  CHECK(released_soon(&count, 1) == 1);
}

/* The same of copies that others make of what such a graph is part of, or was made of: in every order. */
static void foreign_clones_of_parts(void) {
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  int count = 0, early = 0, late = 0;
  cushim_graph graph = new_graph(), child = new_graph(), inner = NULL;
  cushim_node node = NULL;
  CUgraph native = NULL, copies[3] = {NULL, NULL, NULL};
  size_t i;
  CHECK_OK(cushim_graph_native(graph, &native));
  add_owned(child, NULL, 1, &count);
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &node, &inner));
  add_owned(inner, NULL, 2, &early);
  copies[0] = copied_by_others(native);
  CHECK_OK(cushim_graph_native(inner, &native));
  copies[1] = copied_by_others(native);
  add_owned(inner, NULL, 3, &late);
  CHECK_OK(cushim_graph_native(child, &native));
  copies[2] = copied_by_others(native);
  CHECK_OK(cushim_node_remove(node));
  CHECK(released_soon(&late, 1) == 1);
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&count) == 0 && released(&early) == 0);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(copies[1]));
  CHECK(released(&early) == 0);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(copies[0]));
  CHECK(released_soon(&early, 1) == 1 && released(&count) == 0);
  CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(copies[2]));
  CHECK(released_soon(&count, 1) == 1);
  for (i = 0; i < 3; i++) CHECK(copies[i] != NULL);
}

/* An exec keeps what its graph's nodes used when it was made; the graph, and its copies, what they use now. */
static void each_for_itself(void) {
  int counts[4] = {0};
  cushim_owner other = counted(&counts[2]);
  cushim_graph graph = new_graph(), copy;
  cushim_node first = add_owned(graph, NULL, 1, &counts[0]), second = add_owned(graph, first, 2, &counts[1]);
  cushim_exec exec = new_exec(graph), later;
  copy = clone_of(graph);
  CHECK_OK(cushim_node_remove(second));
  CHECK_OK(cushim_node_set_owner(first, 1, &other));
  add_owned(graph, first, 4, &counts[3]);
  later = new_exec(graph);
  CHECK(result_of_exec(exec) == 12 && result_of_exec(later) == 14 && result_of(copy) == 12);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&counts[0]) == 0 && counts[1] == 0 && counts[2] == 0 && counts[3] == 0);
  CHECK_OK(cushim_exec_destroy(later));
  CHECK(released_soon(&counts[2], 1) == 1 && released_soon(&counts[3], 1) == 1 && counts[0] == 0);
  CHECK_OK(cushim_exec_update(exec, copy, NULL));
  CHECK_OK(cushim_graph_destroy(copy));
  CHECK(result_of_exec(exec) == 12 && released(&counts[0]) == 0 && counts[1] == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&counts[0], 1) == 1 && released_soon(&counts[1], 1) == 1);
}

/* Who gets a native handle of a capture that is under way can ask the driver for its graph, and copy that. */
static void foreign_clones_of_captures(void) {
  enum { BEFORE, STREAM, EVENT, FORK, WAYS };
  const cushim_driver_table *cu = table_of(all.driver, CUSHIM_TABLE_LEGACY_STREAM);
  int way;
  for (way = BEFORE; way < WAYS; way++) {
    int early = 0, late = 0;
    cushim_owner first = counted(&early), second = counted(&late);
    cushim_builder builder = NULL, fork = NULL;
    cushim_event event = new_event(all.context, 0);
    cushim_stream stream, other = NULL;
    cushim_endpoint to = owned_slot(0, &first);
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream native = NULL;
    CUevent place = NULL;
    CUgraph graph = NULL, copy = NULL;
    cuuint64_t id = 0;
    CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
    CHECK_OK(cushim_builder_begin(builder));
    stream = cushim_builder_stream(builder);
    if (way == BEFORE) CHECK_OK(cushim_stream_native(stream, &native));
    CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(1), 1));
    CHECK_OK(cushim_event_record(event, stream));
    if (way == STREAM) CHECK_OK(cushim_stream_native(stream, &native));
    if (way == EVENT) {
      /* Another stream waits for the event, and so becomes part of the capture. */
      CHECK_OK(cushim_event_native(event, &place));
      other = new_stream(all.context);
      CHECK_OK(cushim_stream_native(other, &native));
      CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamWaitEvent_3020(native, place, 0));
    }
    if (way == FORK) {
      CHECK_OK(cushim_builder_fork(builder, &fork, 1));
      CHECK_OK(cushim_stream_native(cushim_builder_stream(fork), &native));
    }
    to = owned_slot(1, &second);
    CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(1), 1));
    if (cu->cuStreamGetCaptureInfo_12030 != NULL) {
      CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamGetCaptureInfo_12030(native, &state, &id, &graph, NULL, NULL, NULL));
    } else {
      CHECK_STATUS(CUDA_SUCCESS, cu->cuStreamGetCaptureInfo_11030(native, &state, &id, &graph, NULL, NULL));
    }
    if (CHECK(graph != NULL)) copy = copied_by_others(graph);
    if (way == FORK) CHECK_OK(cushim_builder_join(builder, &fork, 1));
    CHECK_OK(cushim_builder_close(builder)); /* the capture ends without a graph */
    CHECK_OK(cushim_builder_destroy(builder));
    CHECK_OK(cushim_builder_destroy(fork));
    if (way == EVENT) CHECK_OK(cushim_stream_destroy(other));
    CHECK_OK(cushim_event_destroy(event));
    flush_callbacks();
    CHECK(released(&early) == 0 && released(&late) == 0);
    CHECK_STATUS(CUDA_SUCCESS, cu->cuGraphDestroy_10000(copy));
    /* Where the capture could not end, they are released later. */
    if (!CHECK(released_soon(&early, 1) == 1 && released_soon(&late, 1) == 1)) exit(1);
  }
}

/* The objects that a graph needs outlive their handles: the driver's and the context's, too. */
static void context_and_driver(void) {
  cushim_driver driver = open_driver();
  cushim_context context = primary_context(first_device(driver));
  cushim_stream stream = new_stream(context);
  cushim_graph graph = NULL;
  cushim_exec exec = NULL;
  CHECK_OK(cushim_graph_create(context, NULL, &graph));
  CHECK_OK(cushim_driver_destroy(driver));
  CHECK_OK(cushim_context_destroy(context));
  CHECK_OK(cushim_graph_add_empty(graph, NULL, 0, NULL));
  CHECK_OK(cushim_exec_create(graph, NULL, &exec, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_exec_launch(exec, stream));
  CHECK_OK(cushim_stream_synchronize(stream));
  CHECK_OK(cushim_stream_destroy(stream));
  CHECK_OK(cushim_exec_destroy(exec));
}

/* Gives the first argument of a kernel node another owner for the same memory. */
static void give_other_owner(cushim_node node, int *count) {
  cushim_owned_pointer pointer;
  const cushim_arg arg = owned_arg(&pointer, memory, count);
  CHECK_OK(cushim_node_set_argument(node, 0, &arg));
}

enum { NODES = 70, EDITED = 40 };

/* A graph, its clone and execs of both are edited one by one, and each goes on with what it had: of many nodes, of which one is gone. */
static void versions(int gone) {
  int counts[NODES] = {0}, own[3] = {0}, i;
  cushim_graph graph = new_graph(), clone;
  cushim_node nodes[NODES], found = NULL;
  cushim_exec exec, of_clone;
  cushim_owned_pointer pointer;
  cushim_arg arg;
  for (i = 0; i < NODES; i++) nodes[i] = add_owned(graph, i == 0 ? NULL : nodes[i - 1], 0, &counts[i]);
  exec = new_exec(graph);
  CHECK_OK(cushim_node_remove(nodes[gone]));
  clone = clone_of(graph);
  CHECK(released(&counts[gone]) == 0); /* the exec runs it */
  CHECK_OK(cushim_node_find_in(nodes[EDITED], clone, &found));
  give_other_owner(nodes[EDITED], &own[0]);
  give_other_owner(found, &own[1]);
  of_clone = new_exec(clone);
  arg = owned_arg(&pointer, memory, &own[2]);
  CHECK_OK(cushim_exec_set_argument(exec, nodes[EDITED], 0, &arg));
  CHECK(released_soon(&counts[EDITED], 1) == 1); /* all three have another one now */
  CHECK(released(&own[0]) == 0 && released(&own[1]) == 0 && released(&own[2]) == 0);

  CHECK_OK(cushim_exec_update(of_clone, graph, NULL));
  CHECK(released(&own[1]) == 0); /* the clone has it still */
  CHECK_OK(cushim_graph_destroy(clone));
  CHECK(released_soon(&own[1], 1) == 1 && own[0] == 0);
  result_of_exec(of_clone);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released(&own[0]) == 0);
  CHECK_OK(cushim_exec_destroy(of_clone));
  CHECK(released_soon(&own[0], 1) == 1 && counts[gone] == 0 && counts[0] == 0);
  result_of_exec(exec);
  CHECK_OK(cushim_exec_destroy(exec));
  for (i = 0; i < NODES; i++) CHECK(released_soon(&counts[i], 1) == 1);
  CHECK(released_soon(&own[2], 1) == 1 && own[0] == 1 && own[1] == 1);
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    CHECK_OK(cushim_device_get_resource(all.device, &pool));
    owners_of_every_node();
    slots();
    failures_release_nothing();
    whoever_goes_last();
    in_flight();
    in_flight_in_a_stream_of_the_thread();
    dropped_in_every_order();
    removed_nodes();
    versions(5);
    versions(NODES - 1);
    handles_of_removed_nodes();
    deep_children();
    kept_by_a_child();
    only_the_definition();
    events();
    foreign_clones();
    foreign_clones_of_parts();
    foreign_clones_of_captures();
    each_for_itself();
    context_and_driver();
  }
  return close_graphs();
}
