/*
 * What a node of an exec used until it was set to something else is released when the launches made before are done, also what the
 * exec was instantiated with: once the definition, and every other exec, needs it no more either.
 */
#include "graphs.h"

/* A buffer whose end is counted. */
static cushim_buffer counted_buffer(int index, int *count) {
  cushim_owner owner = counted(count);
  cushim_buffer buffer = NULL;
  CHECK_OK(cushim_buffer_wrap(all.driver, NULL, slot(index), 64, NULL, &owner, &buffer));
  return buffer;
}

static cushim_status add_owned_fill(cushim_graph graph, int index, int *count, cushim_node *node) {
  const cushim_owner owner = counted(count);
  const cushim_endpoint to = owned_slot(index, &owner);
  return cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(7), 1, node);
}

static cushim_status set_owned_fill(cushim_node node, cushim_exec exec, int index, int *count) {
  const cushim_owner owner = counted(count);
  const cushim_endpoint to = owned_slot(index, &owner);
  return cushim_exec_set_fill(exec, node, &to, CUSHIM_VALUE_32(7), 1);
}

/* Each is released as soon as nobody uses it: not the definition, not this exec, nor another one. */
static void one_node(void) {
  int first = 0, second = 0, third = 0;
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  cushim_exec exec, other;
  CHECK_OK(add_owned_fill(graph, 0, &first, &node));
  exec = new_exec(graph);
  other = new_exec(graph);
  run(exec);
  CHECK_OK(set_owned_fill(node, exec, 1, &second));
  CHECK(released(&first) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  run(exec);
  CHECK(released(&first) == 0); /* the other exec */
  CHECK_OK(set_owned_fill(node, other, 1, &third));
  CHECK(released_soon(&first, 1) == 1 && released(&second) == 0 && released(&third) == 0);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(0)) == 0 && number_at(slot(1)) == 7);
  CHECK_OK(cushim_exec_destroy(other));
  CHECK(released_soon(&third, 1) == 1 && released(&second) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&second, 1) == 1 && released(&first) == 1 && released(&third) == 1);
}

/* A launch in flight goes on using it. */
static void in_flight(void) {
  struct busy busy;
  int first = 0, second = 0;
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  cushim_exec exec;
  CHECK_OK(add_owned_fill(graph, 0, &first, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  busy_begin(&busy, all.driver, all.stream);
  CHECK_OK(cushim_exec_launch(exec, all.stream));
  CHECK_OK(set_owned_fill(node, exec, 1, &second));
  CHECK(released(&first) == 0);
  busy_end(&busy);
  CHECK(released_soon(&first, 1) == 1);
  CHECK_OK(cushim_exec_set_fill(exec, node, NULL, CUSHIM_VALUE_32(8), 0)); /* another value, at the same place */
  CHECK(released(&second) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&second, 1) == 1);
}

/* A change that is refused releases nothing, and one of a part only what it replaces. */
static void parts(void) {
  int to = 0, from = 0, other = 0, refused = 0;
  cushim_graph graph = new_graph();
  cushim_kernel sum = kernel_of(all.library, "sum");
  cushim_owned_pointer pointers[2], pointer;
  cushim_arg args[2], arg;
  const uint64_t plain = slot(5);
  const uint32_t narrow = 5;
  cushim_node node = NULL;
  cushim_exec exec;
  args[0] = owned_arg(&pointers[0], slot(0), &to);
  args[1] = owned_arg(&pointers[1], slot(1), &from);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, sum, NULL, args, 2, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_kernel_destroy(sum));
  run(exec);
  arg = owned_arg(&pointer, slot(2), &refused);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_argument(exec, node, 2, &arg));
  arg = CUSHIM_ARG(narrow);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK(released(&to) == 0 && released(&from) == 0 && released(&refused) == 0);
  arg = owned_arg(&pointer, slot(2), &other);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK(released_soon(&from, 1) == 1 && released(&to) == 0 && released(&other) == 0);
  arg = CUSHIM_ARG(plain); /* which nobody keeps */
  CHECK_OK(cushim_exec_set_argument(exec, node, 0, &arg));
  CHECK(released_soon(&to, 1) == 1 && released(&other) == 0);
  clear_memory();
  CHECK_OK(set_bytes(all.context, slot(2), 1, 4));
  run(exec);
  CHECK(number_at(slot(5)) == 0x01010101);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&other, 1) == 1 && released(&to) == 1 && released(&from) == 1 && released(&refused) == 0);
}

/* The first change may be of a value that came with an owner. */
static void values(void) {
  int to = 0;
  cushim_graph graph = new_graph();
  cushim_owned_pointer pointer;
  cushim_arg args[2], arg;
  const uint64_t plain = slot(1);
  const uint32_t digit = 3;
  cushim_node node = NULL;
  cushim_exec exec;
  args[0] = owned_arg(&pointer, slot(0), &to);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, all.kernel, NULL, args, 2, &node));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  arg = CUSHIM_ARG(digit);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK(released(&to) == 0);
  arg = CUSHIM_ARG(plain);
  CHECK_OK(cushim_exec_set_argument(exec, node, 0, &arg));
  CHECK(released_soon(&to, 1) == 1);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(1)) == 3);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released(&to) == 1);
}

/* A buffer that several nodes use goes with the last of them; rebinding reaches all. */
static void buffers(void) {
  int ends[3] = {0, 0, 0}, i;
  cushim_buffer buffer[3];
  cushim_graph graph = new_graph();
  cushim_node nodes[2] = {NULL, NULL};
  cushim_endpoint to;
  cushim_exec exec;
  size_t count = 0;
  for (i = 0; i < 3; i++) buffer[i] = counted_buffer(16 * i, &ends[i]);
  to = cushim_endpoint_buffer(buffer[0], 0);
  for (i = 0; i < 2; i++) CHECK_OK(cushim_graph_add_fill(graph, nodes, (size_t)i, &to, CUSHIM_VALUE_32(7), 1, &nodes[i]));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  to = cushim_endpoint_buffer(buffer[1], 0);
  CHECK_OK(cushim_exec_set_fill(exec, nodes[0], &to, CUSHIM_VALUE_32(7), 1));
  run(exec);
  CHECK_OK(cushim_exec_rebind(exec, buffer[1], buffer[2], &count));
  CHECK(count == 1);
  CHECK_OK(cushim_buffer_destroy(buffer[1]));
  CHECK(released_soon(&ends[1], 1) == 1);
  CHECK_OK(cushim_exec_rebind(exec, buffer[0], buffer[2], &count));
  CHECK(count == 1 && ends[0] == 0);
  CHECK_OK(cushim_buffer_destroy(buffer[0]));
  CHECK_OK(cushim_buffer_destroy(buffer[2]));
  CHECK(released_soon(&ends[0], 1) == 1 && released(&ends[2]) == 0);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(0)) == 0 && number_at(slot(16)) == 0 && number_at(slot(32)) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&ends[2], 1) == 1);
}

/* What a whole graph brought is exchanged node by node, too. */
static void updated(void) {
  int own = 0, brought = 0, set = 0;
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node node = NULL;
  cushim_exec exec;
  CHECK_OK(add_owned_fill(graph, 0, &own, &node));
  CHECK_OK(add_owned_fill(other, 1, &brought, NULL));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_update(exec, other, NULL));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  run(exec);
  CHECK(released_soon(&own, 1) == 1 && released(&brought) == 0);
  CHECK_OK(set_owned_fill(node, exec, 2, &set));
  CHECK(released_soon(&brought, 1) == 1 && released(&set) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&set, 1) == 1);
}

/* Of a child graph as well. */
static void of_a_child(void) {
  int own = 0, brought = 0, set = 0;
  cushim_graph graph = new_graph(), child = new_graph(), other = new_graph(), inner = NULL;
  cushim_node parent = NULL, node = NULL;
  cushim_exec exec;
  size_t count = 0;
  CHECK_OK(add_owned_fill(child, 0, &own, NULL));
  CHECK_OK(add_owned_fill(other, 1, &brought, NULL));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &parent, &inner));
  CHECK_OK(cushim_graph_get_nodes(inner, &node, 1, &count));
  exec = new_exec(graph);
  run(exec);
  CHECK_OK(cushim_exec_set_child(exec, parent, other));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK(released_soon(&own, 1) == 1 && released(&brought) == 0);
  CHECK_OK(set_owned_fill(node, exec, 2, &set));
  CHECK(released_soon(&brought, 1) == 1 && released(&set) == 0);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(0)) == 0 && number_at(slot(1)) == 0 && number_at(slot(2)) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&set, 1) == 1);
}

/* A node that the definition has no more goes on using what it was set to, though a child graph became another, and nobody knows its nodes. */
static void of_a_removed_node(void) {
  int first = 0, second = 0;
  cushim_graph graph = new_graph(), child = new_graph(), other = new_graph(), inner = NULL;
  cushim_node parent = NULL, node = NULL, inside[2] = {NULL, NULL};
  cushim_edge edge;
  cushim_exec exec;
  size_t count = 0;
  int i;
  for (i = 0; i < 2; i++) {
    const cushim_endpoint to = cushim_endpoint_device(slot(8 + i));
    CHECK_OK(cushim_graph_add_fill(child, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, NULL));
    CHECK_OK(cushim_graph_add_fill(other, NULL, 0, &to, CUSHIM_VALUE_32(2), 1, NULL));
  }
  CHECK_OK(add_owned_fill(graph, 0, &first, &node));
  CHECK_OK(cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, &parent, &inner));
  exec = new_exec(graph);
  CHECK_OK(set_owned_fill(node, exec, 1, &second));
  CHECK_OK(cushim_node_remove(node));
  CHECK(released_soon(&first, 1) == 1);
  /* An edge that comes and goes in the definition: which nodes are which in the exec is not known any more. */
  CHECK_OK(cushim_graph_get_nodes(inner, inside, 2, &count));
  memset(&edge, 0, sizeof edge);
  edge.from_node = inside[0];
  edge.to_node = inside[1];
  CHECK_OK(cushim_graph_add_edges(inner, &edge, 1));
  CHECK_OK(cushim_graph_remove_edges(inner, &edge, 1));
  CHECK_OK(cushim_exec_set_child(exec, parent, other));
  run(exec);
  CHECK(released(&second) == 0);
  clear_memory();
  run(exec);
  CHECK(number_at(slot(1)) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&second, 1) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(child));
  CHECK_OK(cushim_graph_destroy(other));
}

/* What a node of the definition keeps since the exec was made is not the exec's, also where others have the driver's graph. */
static void younger_owners(int is_shared) {
  int since = 0, set = 0;
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1);
  cushim_owner owner = counted(&since);
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  const uint32_t digit = 2;
  CUgraph native = NULL;
  cushim_exec exec;
  if (is_shared) CHECK_OK(cushim_graph_native(graph, &native));
  exec = new_exec(graph);
  CHECK_OK(cushim_node_set_owner(node, 1, &owner));
  args[0] = owned_arg(&pointer, slot(1), &set);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_exec_set_argument(exec, node, 0, &args[0]));
  CHECK(released(&since) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK(released_soon(&since, 1) == 1 && released(&set) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(released_soon(&set, 1) == 1);
}

/* Where others may launch it, or copy the graph, nobody knows when it is not used any more: it goes with the exec. */
static void with_others(void) {
  int of_graph = 0, of_exec = 0, set = 0;
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node node = NULL, second = NULL;
  cushim_exec exec, lent;
  CUgraph native = NULL;
  CUgraphExec native_exec = NULL;
  CHECK_OK(add_owned_fill(graph, 0, &of_graph, &node));
  CHECK_OK(cushim_graph_native(graph, &native));
  exec = new_exec(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(set_owned_fill(node, exec, 1, &set));
  run(exec);
  CHECK(released(&of_graph) == 0);
  CHECK_OK(add_owned_fill(other, 0, &of_exec, &second));
  lent = new_exec_with(other, CUSHIM_EXEC_NATIVE_LAUNCHES);
  CHECK_OK(cushim_exec_native(lent, &native_exec));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(set_owned_fill(second, lent, 1, &set));
  run(lent);
  CHECK(released(&of_exec) == 0 && released(&set) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_exec_destroy(lent));
  CHECK(released_soon(&of_graph, 1) == 1 && released_soon(&of_exec, 1) == 1 && released_soon(&set, 2) == 2);
}

int main(void) {
  if (!open_graphs()) return close_graphs();
  one_node();
  in_flight();
  parts();
  values();
  buffers();
  updated();
  if (version >= 12020) { /* from then on an exec's child graph is set */
    of_a_child();
    of_a_removed_node();
  }
  younger_owners(0);
  younger_owners(1);
  with_others();
  return close_graphs();
}
