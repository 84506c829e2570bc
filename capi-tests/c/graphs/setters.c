/*
 * Every setter of every type of node, in the graph and in an exec. The table says what each does; all are tried in the same way: what
 * is set counts there and nowhere else, is read back, and survives the graph's handle; what is refused leaves no trace.
 */
#include "graphs.h"

static const uint32_t one = 1;

enum { SOURCES = 100, VALUES = 6 };

static uint32_t seen; /* by host functions */
static uint32_t values[VALUES] = {0, 1, 2, 3, 4, 5};
static cushim_event events[VALUES], begun;
static cushim_kernel add_kernel;
static cushim_node inner; /* of the child graph */

static void see(void *data) { seen = *(const uint32_t *)data; }

/* What a node of one type does is a number from 1 to 5; a node is added with 1. */
struct setter {
  const char *name;
  cushim_status (*add)(cushim_graph graph, const cushim_owner *owner, cushim_node *node);
  cushim_status (*set)(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner);
  cushim_status (*refused)(cushim_node node, cushim_exec exec, const cushim_owner *owner);
  /* Which value is read back; 0 if what was not named is not as it was. */
  int (*told)(cushim_node node, cushim_exec exec);
  /* Which value the last launch had; NULL where a launch does not show it. */
  int (*effect)(void);
  int since;
  const char *since_name;
  int is_fixed; /* no driver changes it in an exec */
  int owners;   /* which calls take one */
};

enum { NONE = 0, BY_ADD = 1, BY_SET = 2, BY_BOTH = 3 };

static int first_number(void) { return (int)number_at(memory); }

static cushim_arg owned_address(cushim_owned_pointer *pointer, uint64_t address, const cushim_owner *owner) {
  pointer->pointer = address;
  pointer->owner = *owner;
  return cushim_arg_make(CUSHIM_ARG_OWNED, pointer);
}

/* Kernels: all of one, its arguments as a block, one argument, its grid. */

static cushim_status kernel_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  args[0] = owned_address(&pointer, memory, owner);
  args[1] = CUSHIM_ARG(values[1]);
  return cushim_graph_add_kernel(graph, NULL, 0, add_kernel, NULL, args, 2, node);
}

static cushim_status kernel_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  args[0] = owned_address(&pointer, memory, owner);
  args[1] = CUSHIM_ARG(values[value]);
  /* An even number comes from another kernel, which does the same with zeros. */
  return IN_GRAPH_OR_EXEC(exec, set_kernel, node, value % 2 == 0 ? all.kernel : add_kernel, NULL, args, 2);
}

static cushim_status kernel_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_owned_pointer pointer;
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_arg args[2];
  config.grid.x = 1;
  config.block.x = 5000;
  args[0] = owned_address(&pointer, memory, owner);
  args[1] = CUSHIM_ARG(values[1]);
  return IN_GRAPH_OR_EXEC(exec, set_kernel, node, NULL, &config, args, 2);
}

/* A kernel of which nothing is known but its arguments is none. */
static cushim_status bare_kernel(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_kernel_node now = CUSHIM_OPTIONS(cushim_kernel_node);
  (void)owner;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_kernel, node, &now));
  return IN_GRAPH_OR_EXEC(exec, set_kernel, node, is_same(now.kernel, all.kernel) ? add_kernel : all.kernel, NULL, NULL, 0);
}

static int kernel_told(cushim_node node, cushim_exec exec) {
  cushim_kernel_node now = CUSHIM_OPTIONS(cushim_kernel_node);
  cushim_arg args[2];
  uint64_t room[2];
  size_t count = 0;
  int value;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_kernel, node, &now));
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_arguments, node, args, 2, &count, room, sizeof room, NULL));
  if (count != 2 || *(const uint64_t *)args[0].value != memory || now.config.grid.x != 1) return 0;
  value = (int)*(const uint32_t *)args[1].value;
  return is_same(now.kernel, value % 2 == 0 ? all.kernel : add_kernel) ? value : 0;
}

static cushim_status block_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  (void)owner;
  return add_numbered(graph, NULL, 0, add_kernel, memory, 1, node);
}

static cushim_status block_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  struct {
    uint64_t to;
    uint32_t number;
  } block;
  (void)owner;
  memset(&block, 0, sizeof block);
  block.to = memory;
  block.number = values[value];
  return IN_GRAPH_OR_EXEC(exec, set_kernel_packed, node, NULL, NULL, &block, 12);
}

static cushim_status block_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_kernel_packed, node, NULL, NULL, NULL, 12);
}

static cushim_status number_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  const cushim_arg arg = CUSHIM_ARG(values[value]);
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_argument, node, 1, &arg);
}

static cushim_status number_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_owned_pointer pointer;
  const cushim_arg arg = owned_address(&pointer, memory, owner); /* eight bytes for a parameter of four */
  return IN_GRAPH_OR_EXEC(exec, set_argument, node, 1, &arg);
}

static int number_told(cushim_node node, cushim_exec exec) {
  cushim_arg args[2];
  uint64_t room[2];
  size_t count = 0;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_arguments, node, args, 2, &count, room, sizeof room, NULL));
  if (count != 2 || *(const uint64_t *)args[0].value != memory) return 0;
  return (int)*(const uint32_t *)args[1].value;
}

/* The value is which number the kernel adds to. */
static cushim_status address_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_owned_pointer pointer;
  cushim_arg args[2];
  args[0] = owned_address(&pointer, slot(1), owner);
  args[1] = CUSHIM_ARG(values[5]);
  return cushim_graph_add_kernel(graph, NULL, 0, add_kernel, NULL, args, 2, node);
}

static cushim_status address_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_owned_pointer pointer;
  const cushim_arg arg = owned_address(&pointer, slot(value), owner);
  return IN_GRAPH_OR_EXEC(exec, set_argument, node, 0, &arg);
}

static cushim_status address_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_owned_pointer pointer;
  const cushim_arg arg = owned_address(&pointer, memory, owner);
  return IN_GRAPH_OR_EXEC(exec, set_argument, node, 2, &arg); /* it has two */
}

static int address_told(cushim_node node, cushim_exec exec) {
  cushim_arg args[2];
  uint64_t room[2];
  size_t count = 0;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_arguments, node, args, 2, &count, room, sizeof room, NULL));
  if (count != 2 || *(const uint32_t *)args[1].value != 5) return 0;
  return (int)((*(const uint64_t *)args[0].value - memory) / 4);
}

/* Which one number of the first is 5. */
static int address_effect(void) {
  int index, found = 0;
  for (index = 1; index < VALUES; index++) {
    if (number_at(slot(index)) == 5) found = found == 0 ? index : -1;
  }
  return found;
}

static cushim_status grid_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  (void)owner;
  config.grid.x = values[value];
  config.block.x = 1;
  return IN_GRAPH_OR_EXEC(exec, set_kernel, node, NULL, &config, NULL, 0);
}

static cushim_status grid_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  (void)owner;
  config.block.x = 5000;
  return IN_GRAPH_OR_EXEC(exec, set_kernel, node, NULL, &config, NULL, 0);
}

static int grid_told(cushim_node node, cushim_exec exec) {
  cushim_kernel_node now = CUSHIM_OPTIONS(cushim_kernel_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_kernel, node, &now));
  return is_same(now.kernel, add_kernel) && number_told(node, exec) == 1 ? (int)now.config.grid.x : 0;
}

/* Copies: one end, the other, kept bytes, a box. */

static cushim_status copy_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_endpoint to = cushim_endpoint_device(memory), from = owned_slot(SOURCES + 1, owner);
  return cushim_graph_add_copy(graph, NULL, 0, &to, &from, 4, node);
}

static cushim_status copy_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_endpoint from = owned_slot(SOURCES + value, owner);
  return IN_GRAPH_OR_EXEC(exec, set_copy, node, NULL, &from, 0);
}

static cushim_status copy_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(0, owner), from = cushim_endpoint_host(values); /* nobody keeps it */
  return IN_GRAPH_OR_EXEC(exec, set_copy, node, &to, &from, 4);
}

static int copy_told(cushim_node node, cushim_exec exec) {
  cushim_copy_node now = CUSHIM_OPTIONS(cushim_copy_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_copy, node, &now));
  if (now.destination.endpoint.address != memory || now.extent.width != 4) return 0;
  return (int)((now.source.endpoint.address - slot(SOURCES)) / 4);
}

static cushim_status target_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_endpoint to = owned_slot(1, owner), from = cushim_endpoint_device(slot(SOURCES + 5));
  return cushim_graph_add_copy(graph, NULL, 0, &to, &from, 4, node);
}

static cushim_status target_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(value, owner);
  return IN_GRAPH_OR_EXEC(exec, set_copy, node, &to, NULL, 0);
}

static int target_told(cushim_node node, cushim_exec exec) {
  cushim_copy_node now = CUSHIM_OPTIONS(cushim_copy_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_copy, node, &now));
  if (now.source.endpoint.address != slot(SOURCES + 5) || now.extent.width != 4) return 0;
  return (int)((now.destination.endpoint.address - memory) / 4);
}

static cushim_endpoint kept_number(uint32_t *number) {
  cushim_endpoint from = cushim_endpoint_host(number);
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  return from;
}

static cushim_status bytes_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  uint32_t number = 1;
  cushim_endpoint to = owned_slot(0, owner), from = kept_number(&number);
  return cushim_graph_add_copy(graph, NULL, 0, &to, &from, 4, node);
}

static cushim_status bytes_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  uint32_t number = values[value];
  cushim_endpoint to = owned_slot(0, owner), from = kept_number(&number);
  return IN_GRAPH_OR_EXEC(exec, set_copy, node, &to, &from, 4);
}

static cushim_status bytes_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(0, owner), from = kept_number(&values[1]);
  return IN_GRAPH_OR_EXEC(exec, set_copy, node, &to, &from, 0); /* how many are to be kept? */
}

static int bytes_told(cushim_node node, cushim_exec exec) {
  cushim_copy_node now = CUSHIM_OPTIONS(cushim_copy_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_copy, node, &now));
  if (now.destination.endpoint.address != memory || now.extent.width != 4) return 0;
  return (int)*(const uint32_t *)(uintptr_t)now.source.endpoint.address;
}

static const cushim_extent box = {4, 2, 1};

static cushim_status box_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_region to = cushim_region_at(cushim_endpoint_device(memory), 8), from = cushim_region_at(owned_slot(SOURCES + 1, owner), 8);
  return cushim_graph_add_copy_3d(graph, NULL, 0, &to, &from, &box, node);
}

static cushim_status box_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_region to = cushim_region_at(cushim_endpoint_device(memory), 8), from = cushim_region_at(owned_slot(SOURCES + value, owner), 8);
  return IN_GRAPH_OR_EXEC(exec, set_copy_3d, node, &to, &from, &box);
}

static cushim_status box_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_region to = cushim_region_at(cushim_endpoint_device(memory), 8), from = cushim_region_at(owned_slot(0, owner), 2);
  return IN_GRAPH_OR_EXEC(exec, set_copy_3d, node, &to, &from, &box); /* rows of four bytes, two bytes apart */
}

static int box_told(cushim_node node, cushim_exec exec) {
  cushim_copy_node now = CUSHIM_OPTIONS(cushim_copy_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_copy, node, &now));
  if (!now.is_3d || now.destination.endpoint.address != memory || now.extent.height != 2) return 0;
  return (int)((now.source.endpoint.address - slot(SOURCES)) / 4);
}

/* Memsets: with the memory, without, of rows. */

static cushim_status fill_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_endpoint to = owned_slot(0, owner);
  return cushim_graph_add_fill(graph, NULL, 0, &to, CUSHIM_VALUE_32(1), 1, node);
}

static cushim_status fill_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(0, owner);
  return IN_GRAPH_OR_EXEC(exec, set_fill, node, &to, CUSHIM_VALUE_32(values[value]), 1);
}

static cushim_status fill_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(0, owner);
  return IN_GRAPH_OR_EXEC(exec, set_fill, node, &to, &one, 3, 1); /* no value has three bytes */
}

static int fill_told(cushim_node node, cushim_exec exec) {
  cushim_fill_node now = CUSHIM_OPTIONS(cushim_fill_node);
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_fill, node, &now));
  return now.destination.address == memory && now.value_size == 4 ? (int)now.value : 0;
}

static cushim_status value_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_fill, node, NULL, CUSHIM_VALUE_32(values[value]), 0);
}

static cushim_status rows_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_endpoint to = owned_slot(0, owner);
  return cushim_graph_add_fill_2d(graph, NULL, 0, &to, 8, CUSHIM_VALUE_32(1), 1, 2, node);
}

static cushim_status rows_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(0, owner);
  return IN_GRAPH_OR_EXEC(exec, set_fill_2d, node, &to, 8, CUSHIM_VALUE_32(values[value]), 1, 2);
}

static cushim_status rows_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_endpoint to = owned_slot(0, owner);
  return IN_GRAPH_OR_EXEC(exec, set_fill_2d, node, &to, 8, &one, 3, 1, 2);
}

/* Events that are recorded, and waited for. */

static cushim_status record_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  (void)owner;
  return cushim_graph_add_event_record(graph, NULL, 0, events[1], node);
}

static cushim_status wait_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  (void)owner;
  return cushim_graph_add_event_wait(graph, NULL, 0, events[1], node);
}

static cushim_status event_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_event, node, events[value]);
}

static cushim_status event_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_event, node, NULL);
}

static int event_told(cushim_node node, cushim_exec exec) {
  cushim_event event = NULL;
  int value;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_event, node, &event, NULL));
  for (value = VALUES - 1; value > 0 && !is_same(event, events[value]); value--) continue;
  return value;
}

/* Which one was recorded after the launch began. */
static int event_effect(void) {
  int value, found = 0;
  for (value = 1; value < VALUES; value++) {
    float after = 0;
    if (cushim_event_elapsed(begun, events[value], &after) == CUSHIM_SUCCESS && after > 0) found = found == 0 ? value : -1;
  }
  return found;
}

/* Functions of the host, with an owner and with bytes. */

static cushim_status host_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  return cushim_graph_add_host_function(graph, NULL, 0, see, &values[1], owner, node);
}

static cushim_status host_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  return IN_GRAPH_OR_EXEC(exec, set_host_function, node, see, &values[value], owner);
}

static cushim_status host_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  return IN_GRAPH_OR_EXEC(exec, set_host_function, node, NULL, values, owner); /* drained data has no release */
}

static int host_told(cushim_node node, cushim_exec exec) {
  cushim_host_function function = NULL;
  void *data = NULL;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_host_function, node, &function, &data));
  return function == see ? (int)*(const uint32_t *)data : 0;
}

static int host_effect(void) { return (int)seen; }

static cushim_status host_bytes_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  uint32_t number = values[value];
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_host_function_bytes, node, see, &number, sizeof number);
}

static cushim_status host_bytes_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  (void)owner;
  return IN_GRAPH_OR_EXEC(exec, set_host_function_bytes, node, see, NULL, 4);
}

/* Memory operations. */

static cushim_memory_operation writing(int value, const cushim_owner *owner) {
  cushim_memory_operation operation;
  memset(&operation, 0, sizeof operation);
  operation.action = CUSHIM_MEMORY_WRITE_32;
  operation.at = owned_slot(0, owner);
  operation.value = values[value];
  return operation;
}

static cushim_status operations_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  const cushim_memory_operation operation = writing(1, owner);
  return cushim_graph_add_memory_operations(graph, NULL, 0, &operation, 1, node);
}

static cushim_status operations_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  const cushim_memory_operation operation = writing(value, owner);
  return IN_GRAPH_OR_EXEC(exec, set_memory_operations, node, &operation, 1);
}

static cushim_status operations_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_memory_operation operation = writing(1, owner);
  operation.action = (cushim_memory_action)99;
  return IN_GRAPH_OR_EXEC(exec, set_memory_operations, node, &operation, 1);
}

static int operations_told(cushim_node node, cushim_exec exec) {
  cushim_memory_operation now;
  size_t count = 0;
  CHECK_OK(IN_GRAPH_OR_EXEC(exec, get_memory_operations, node, &now, 1, &count));
  return count == 1 && now.action == CUSHIM_MEMORY_WRITE_32 && now.at.address == memory ? (int)now.value : 0;
}

/* Child graphs: in an exec another graph's parameters, in the graph the node in the child. */

static cushim_status child_add(cushim_graph graph, const cushim_owner *owner, cushim_node *node) {
  cushim_graph child = new_graph(), clone = NULL;
  cushim_status status;
  size_t count = 0;
  CHECK_OK(fill_add(child, owner, NULL));
  status = cushim_graph_add_child(graph, NULL, 0, child, CUSHIM_CHILD_CLONE, node, &clone);
  CHECK_OK(cushim_graph_get_nodes(clone, &inner, 1, &count));
  CHECK_OK(cushim_graph_destroy(child));
  return status;
}

static cushim_status child_set(cushim_node node, cushim_exec exec, int value, const cushim_owner *owner) {
  cushim_graph source;
  cushim_node fill = NULL;
  cushim_status status;
  if (exec == NULL) return fill_set(inner, NULL, value, owner);
  source = new_graph();
  CHECK_OK(fill_add(source, owner, &fill));
  CHECK_OK(cushim_node_set_fill(fill, NULL, CUSHIM_VALUE_32(values[value]), 0));
  status = cushim_exec_set_child(exec, node, source);
  CHECK_OK(cushim_graph_destroy(source));
  return status;
}

static cushim_status child_refused(cushim_node node, cushim_exec exec, const cushim_owner *owner) {
  cushim_graph source;
  cushim_status status;
  if (exec == NULL) return fill_refused(inner, NULL, owner);
  source = new_graph();
  add_empty(source, NULL);
  status = cushim_exec_set_child(exec, node, source); /* other nodes than the child graph has */
  CHECK_OK(cushim_graph_destroy(source));
  return status;
}

static int child_told(cushim_node node, cushim_exec exec) {
  (void)node;
  return fill_told(inner, exec);
}

static const struct setter setters[] = {
    {"kernel", kernel_add, kernel_set, kernel_refused, kernel_told, first_number, 0, NULL, 0, BY_BOTH},
    {"bare kernel", kernel_add, kernel_set, bare_kernel, kernel_told, first_number, 0, NULL, 0, BY_BOTH},
    {"block", block_add, block_set, block_refused, NULL, first_number, 0, NULL, 0, NONE},
    {"number", block_add, number_set, number_refused, number_told, first_number, 0, NULL, 0, NONE},
    {"address", address_add, address_set, address_refused, address_told, address_effect, 0, NULL, 0, BY_BOTH},
    {"grid", block_add, grid_set, grid_refused, grid_told, first_number, 0, NULL, 0, NONE},
    {"source", copy_add, copy_set, copy_refused, copy_told, first_number, 0, NULL, 0, BY_BOTH},
    {"target", target_add, target_set, copy_refused, target_told, address_effect, 0, NULL, 0, BY_BOTH},
    {"kept bytes", bytes_add, bytes_set, bytes_refused, bytes_told, first_number, 0, NULL, 0, BY_BOTH},
    {"box", box_add, box_set, box_refused, box_told, first_number, 0, NULL, 1, BY_BOTH},
    {"memset", fill_add, fill_set, fill_refused, fill_told, first_number, 0, NULL, 0, BY_BOTH},
    {"value", fill_add, value_set, fill_refused, fill_told, first_number, 0, NULL, 0, BY_ADD},
    {"rows", rows_add, rows_set, rows_refused, fill_told, first_number, 0, NULL, 0, BY_BOTH},
    {"record", record_add, event_set, event_refused, event_told, event_effect, 0, NULL, 0, NONE},
    {"wait", wait_add, event_set, event_refused, event_told, NULL, 0, NULL, 0, NONE},
    {"function", host_add, host_set, host_refused, host_told, host_effect, 0, NULL, 0, BY_BOTH},
    {"bytes of a function", host_add, host_bytes_set, host_bytes_refused, host_told, host_effect, 0, NULL, 0, BY_ADD},
    {"operations", operations_add, operations_set, operations_refused, operations_told, first_number, 11070, "11.7", 0, BY_BOTH},
    {"child", child_add, child_set, child_refused, child_told, first_number, 0, NULL, 0, BY_BOTH},
};

static const struct setter *tried;

static int that_holds(int passed, int line, const char *what) {
  char text[160];
  snprintf(text, sizeof text, "%s: %s", tried->name, what);
  return check_that(passed, __FILE__, line, text);
}

#define HOLDS(what) that_holds((what) != 0, __LINE__, #what)

/* What a launch of the exec does. */
static int does(cushim_exec exec) {
  int value;
  clear_memory();
  for (value = 1; value < VALUES; value++) {
    cushim_endpoint to = cushim_endpoint_device(slot(SOURCES + value));
    CHECK_OK(cushim_stream_fill(all.stream, &to, CUSHIM_VALUE_32(values[value]), 1));
  }
  seen = 0;
  CHECK_OK(cushim_event_record(begun, all.stream));
  run(exec);
  return tried->effect();
}

/* What the node does in the exec: what a launch does, and what is read back. -1 if they differ. */
static int value_in(cushim_node node, cushim_exec exec) {
  const int read = tried->told == NULL ? does(exec) : tried->told(node, exec);
  return tried->effect == NULL || does(exec) == read ? read : -1;
}

/* What the graph does when it is instantiated now. */
static int value_of(cushim_graph graph, cushim_node node) {
  cushim_exec exec = new_exec(graph);
  const int value = value_in(node, exec), read = tried->told == NULL ? value : tried->told(node, NULL);
  CHECK_OK(cushim_exec_destroy(exec));
  return value == read ? value : -1;
}

static void each_place(void) {
  int counts[VALUES] = {0}, value, now = 1;
  cushim_owner owners[VALUES];
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  cushim_exec exec, other;
  for (value = 0; value < VALUES; value++) owners[value] = counted(&counts[value]);
  HOLDS(tried->add(graph, &owners[1], &node) == CUSHIM_SUCCESS);
  exec = new_exec(graph);
  other = new_exec(graph);
  HOLDS(value_of(graph, node) == 1 && value_in(node, exec) == 1);

  if (tried->is_fixed) {
    HOLDS(tried->set(node, exec, 2, &owners[0]) == CUDA_ERROR_INVALID_VALUE);
    CHECK_CONTAINS(last_message(), "instantiate the graph again");
  } else {
    HOLDS(tried->set(node, exec, 2, &owners[2]) == CUSHIM_SUCCESS && value_in(node, exec) == 2);
    HOLDS(tried->set(node, exec, now = 3, &owners[3]) == CUSHIM_SUCCESS && value_in(node, exec) == 3);
    if (tried->owners & BY_SET) HOLDS(released_soon(&counts[2], 1) == 1 && counts[3] == 0);
  }
  HOLDS(value_of(graph, node) == 1 && value_in(node, other) == 1);

  HOLDS(tried->set(node, NULL, 4, &owners[4]) == CUSHIM_SUCCESS);
  HOLDS(value_of(graph, node) == 4 && value_in(node, exec) == now && value_in(node, other) == 1);

  HOLDS(tried->refused(node, exec, &owners[0]) != CUSHIM_SUCCESS && tried->refused(node, NULL, &owners[0]) != CUSHIM_SUCCESS);
  HOLDS(value_of(graph, node) == 4 && value_in(node, exec) == now && value_in(node, other) == 1);
  HOLDS(released(&counts[0]) == 0 && counts[1] == 0 && counts[3] == 0 && counts[4] == 0);

  CHECK_OK(cushim_graph_destroy(graph));
  if (!tried->is_fixed) {
    HOLDS(tried->set(node, exec, now = 5, &owners[5]) == CUSHIM_SUCCESS);
    if (tried->owners & BY_SET) HOLDS(released_soon(&counts[3], 1) == 1 && counts[5] == 0);
    HOLDS(tried->refused(node, exec, &owners[0]) != CUSHIM_SUCCESS);
  }
  HOLDS(value_in(node, exec) == now && value_in(node, other) == 1);
  HOLDS(tried->set(node, NULL, 2, &owners[0]) == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK_OK(cushim_exec_destroy(exec));
  HOLDS(value_in(node, other) == 1);
  CHECK_OK(cushim_exec_destroy(other));
  for (value = 1; value < VALUES; value++) {
    const int is_lent = tried->owners & (value == 1 ? BY_ADD : BY_SET), is_refused = tried->is_fixed && value != 1 && value != 4;
    HOLDS(released_soon(&counts[value], is_lent && !is_refused) == (is_lent && !is_refused));
  }
  HOLDS(released(&counts[0]) == 0);
}

/* A removed node runs on as it was, and the refusal names it. */
static void removed(void) {
  int first = 0, second = 0;
  cushim_owner owner = counted(&first);
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  cushim_exec exec;
  HOLDS(tried->add(graph, &owner, &node) == CUSHIM_SUCCESS);
  CHECK_OK(cushim_set_label(node, "the removed one"));
  exec = new_exec(graph);
  CHECK_OK(cushim_node_remove(node));
  owner = counted(&second);
  HOLDS(tried->set(node, exec, 2, &owner) == CUSHIM_ERROR_INVALID_HANDLE);
  CHECK_CONTAINS(last_message(), "the removed one");
  if (tried->effect != NULL) HOLDS(does(exec) == 1);
  HOLDS(released(&first) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  HOLDS(released_soon(&first, tried->owners & BY_ADD) == (tried->owners & BY_ADD));
  HOLDS(released_soon(&second, tried->set == child_set) == (tried->set == child_set)); /* taken by the other graph */
}

/* The driver has no such nodes yet. */
static void too_old(void) {
  int count = 0;
  const cushim_owner owner = counted(&count);
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  HOLDS(tried->add(graph, &owner, &node) == CUSHIM_ERROR_UNSUPPORTED);
  CHECK_CONTAINS(last_message(), tried->since_name);
  HOLDS(released(&count) == 0);
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  size_t i;
  int value;
  check_begin();
  if (open_graphs()) {
    add_kernel = kernel_of(all.library, "add");
    begun = new_event(all.context, CUSHIM_EVENT_TIMING);
    for (value = 1; value < VALUES; value++) events[value] = new_event(all.context, CUSHIM_EVENT_TIMING);
    for (i = 0; i < sizeof setters / sizeof *setters; i++) {
      tried = &setters[i];
      if (version < tried->since) {
        too_old();
      } else {
        each_place();
        removed();
      }
    }
    for (value = 1; value < VALUES; value++) CHECK_OK(cushim_event_destroy(events[value]));
    CHECK_OK(cushim_event_destroy(begun));
    CHECK_OK(cushim_kernel_destroy(add_kernel));
  }
  return close_graphs();
}
