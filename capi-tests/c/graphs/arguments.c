/*
 * A single argument of a kernel node that is refused: the error names the number that the argument has in the kernel, as item and in the
 * sentence, whatever is wrong with it; in the graph and in an exec. The node is as it was.
 */
#include "conditions.h"

static cushim_kernel add;
static cushim_graph graph, other;
static cushim_exec exec;
static cushim_node node;
static char room[64] __attribute__((aligned(16)));

static const uint32_t three = 3;

static void wrong(const cushim_arg *arg, cushim_status status, const char *why) {
  cushim_arg now[2];
  uint64_t values[2];
  size_t count = 0;
  int i;
  for (i = 0; i < 2; i++) {
    const cushim_exec where = i == 0 ? NULL : exec;
    CHECK_STATUS(status, IN_GRAPH_OR_EXEC(where, set_argument, node, 1, arg));
    CHECK(last_detail()->item == 1);
    CHECK_CONTAINS(last_message(), "argument 1");
    CHECK(strstr(last_message(), "argument 0") == NULL);
    CHECK_CONTAINS(last_message(), why);
    CHECK_OK(IN_GRAPH_OR_EXEC(where, get_arguments, node, now, 2, &count, values, sizeof values, NULL));
    CHECK(count == 2 && *(const uint32_t *)now[1].value == 3);
  }
}

static void wrong_argument(int32_t kind, uint32_t size, const void *value, const char *why) {
  cushim_arg arg;
  arg.kind = (cushim_arg_kind)kind;
  arg.size = size;
  arg.value = value;
  wrong(&arg, CUSHIM_ERROR_INVALID_ARGUMENT, why);
}

/* Misaligned on purpose. */
static const void *crooked(void) { return room + 1; }

static void values_and_kinds(void) {
  static const int32_t with_value[] = {CUSHIM_ARG_BYTES, CUSHIM_ARG_OWNED, CUSHIM_ARG_ENDPOINT, CUSHIM_ARG_PARAMETER};
  static const int32_t sized[] = {CUSHIM_ARG_OWNED, CUSHIM_ARG_BUFFER, CUSHIM_ARG_ENDPOINT, CUSHIM_ARG_CONDITION, CUSHIM_ARG_PARAMETER};
  size_t i;
  for (i = 0; i < sizeof with_value / sizeof *with_value; i++) wrong_argument(with_value[i], 0, NULL, "value is NULL");
  for (i = 0; i < sizeof sized / sizeof *sized; i++) wrong_argument(sized[i], 8, room, "size is 8");
  wrong_argument(0, 4, &three, "kind is 0");
  wrong_argument(77, 4, &three, "kind is 77");
  wrong_argument(CUSHIM_ARG_BYTES, 8, room, "takes 4 bytes");
  wrong_argument(CUSHIM_ARG_OWNED, 0, crooked(), "aligned");
  wrong_argument(CUSHIM_ARG_ENDPOINT, 0, crooked(), "aligned");
  wrong_argument(CUSHIM_ARG_PARAMETER, 0, crooked(), "aligned");
}

static void handles(void) {
  cushim_arg arg;
  cushim_buffer gone = NULL;
  const cushim_parameter nameless = {NULL, &three, 4, 0}, reserved = {"n", &three, 4, 7};
  CHECK_OK(cushim_buffer_create(all.resource, NULL, 64, &gone));
  CHECK_OK(cushim_buffer_destroy(gone));
  arg = cushim_arg_make(CUSHIM_ARG_BUFFER, gone);
  wrong(&arg, CUSHIM_ERROR_INVALID_HANDLE, "buffer");
  arg = cushim_arg_make(CUSHIM_ARG_BUFFER, graph);
  wrong(&arg, CUSHIM_ERROR_INVALID_HANDLE, "graph");
  arg = cushim_arg_make(CUSHIM_ARG_CONDITION, graph);
  wrong(&arg, CUSHIM_ERROR_INVALID_HANDLE, "graph");
  arg = cushim_arg_make(CUSHIM_ARG_BUFFER, NULL);
  wrong(&arg, CUSHIM_ERROR_INVALID_HANDLE, "NULL");
  wrong_argument(CUSHIM_ARG_PARAMETER, 0, &nameless, "a parameter has a name");
  wrong_argument(CUSHIM_ARG_PARAMETER, 0, &reserved, "reserved");
}

static void places(void) {
  cushim_endpoint place = cushim_endpoint_buffer(all.buffer, 0);
  place.offset = 1 << 20;
  wrong_argument(CUSHIM_ARG_ENDPOINT, 0, &place, "past the end");
  place = cushim_endpoint_host(room);
  place.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  wrong_argument(CUSHIM_ARG_ENDPOINT, 0, &place, "kept bytes");
  place.flags = 1u << 30;
  wrong_argument(CUSHIM_ARG_ENDPOINT, 0, &place, "flags is");
  memset(&place, 0, sizeof place);
  place.kind = (cushim_endpoint_kind)99;
  wrong_argument(CUSHIM_ARG_ENDPOINT, 0, &place, "kind is 99");
}

/* What is found out later than at the argument itself. */
static void of_the_kernel(void) {
  cushim_arg args[2], arg;
  cushim_endpoint place = cushim_endpoint_device((uint64_t)(uintptr_t)room);
  cushim_condition of_another = NULL, unused = NULL;
  cushim_node setter = NULL;
  uint64_t pointer = slot(0);
  args[0] = CUSHIM_ARG(three);
  args[1] = CUSHIM_ARG(pointer);
  /* "sum" takes two pointers. */
  arg = cushim_arg_endpoint(&place);
  {
    cushim_kernel sum = kernel_of(all.library, "sum");
    args[0] = CUSHIM_ARG(pointer);
    CHECK_OK(cushim_graph_add_kernel(other, NULL, 0, sum, NULL, args, 2, &setter));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_argument(setter, 1, &arg));
    CHECK(last_detail()->item == 1);
    CHECK_CONTAINS(last_message(), "argument 1: ");
    CHECK_OK(cushim_kernel_destroy(sum));
  }
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_argument(node, 5, &args[1]));
  CHECK(last_detail()->item == 5);
  if (version < 12030) return;
  of_another = new_condition(other, 1);
  unused = new_condition(graph, 1);
  arg = cushim_arg_make(CUSHIM_ARG_CONDITION, of_another);
  wrong(&arg, CUSHIM_ERROR_INVALID_ARGUMENT, "belongs to another graph");
  arg = cushim_arg_make(CUSHIM_ARG_CONDITION, unused);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK(last_detail()->item == 1);
  CHECK_CONTAINS(last_message(), "argument 1");
}

/* The same kernel takes as many arguments as before, also where the driver does not tell how many those are (before CUDA 12.4). */
static void fewer_arguments(void) {
  cushim_arg args[2], now[2];
  uint64_t values[2], to = slot(0);
  char block[12] = {0};
  cushim_graph own = new_graph();
  cushim_node packed = NULL;
  size_t count = 0;
  int i;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(three);
  for (i = 0; i < 4; i++) {
    const cushim_exec where = i < 2 ? NULL : exec;
    const cushim_kernel kernel = i % 2 == 0 ? NULL : add;
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(where, set_kernel, node, kernel, NULL, args, 1));
    CHECK_CONTAINS(last_message(), "kernel add");
    CHECK_CONTAINS(last_message(), "2 arguments, and 1 ");
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, IN_GRAPH_OR_EXEC(where, set_kernel, node, kernel, NULL, args, 0));
    CHECK_OK(IN_GRAPH_OR_EXEC(where, get_arguments, node, now, 2, &count, values, sizeof values, NULL));
    CHECK(count == 2 && *(const uint32_t *)now[1].value == 3);
    CHECK_OK(IN_GRAPH_OR_EXEC(where, set_kernel, node, kernel, NULL, args, 2));
  }
  memcpy(block, &to, sizeof to);
  CHECK_OK(cushim_graph_add_kernel_packed(own, NULL, 0, add, NULL, block, sizeof block, &packed));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_kernel_packed(packed, NULL, NULL, block, 8));
  CHECK_OK(cushim_node_set_kernel_packed(packed, NULL, NULL, block, sizeof block));
  CHECK_OK(cushim_graph_destroy(own));
}

int main(void) {
  cushim_arg args[2];
  uint64_t to;
  check_begin();
  if (!open_graphs()) return close_graphs();
  to = slot(0);
  add = kernel_of(all.library, "add");
  graph = new_graph();
  other = new_graph();
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(three);
  CHECK_OK(cushim_graph_add_kernel(graph, NULL, 0, add, NULL, args, 2, &node));
  exec = new_exec(graph);
  values_and_kinds();
  handles();
  places();
  of_the_kernel();
  fewer_arguments();
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_kernel_destroy(add));
  return close_graphs();
}
