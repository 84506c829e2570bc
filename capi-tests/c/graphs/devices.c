/*
 * Graphs over two devices: built by hand and captured, changed in an exec, and the limits that the driver has there, each refused with
 * a sentence. With one device there is nothing to do, and the program says so.
 */
#include "conditions.h"

/* The second device. */
static struct {
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_kernel append;
  uint64_t a, b;
} there;

static int can_access; /* whether the first reaches the second's memory, if it is allowed */

static uint32_t number_there(uint64_t pointer) {
  uint32_t number = 0;
  cushim_endpoint to = cushim_endpoint_host(&number), from = cushim_endpoint_device(pointer);
  CHECK_OK(cushim_context_copy(there.context, &to, &from, sizeof number));
  return number;
}

static void clear_both(void) {
  clear_memory();
  CHECK_OK(set_bytes(there.context, there.a, 0, 64));
  CHECK_OK(set_bytes(there.context, there.b, 0, 64));
}

static int open_there(void) {
  int32_t devices = 0, can = 0;
  cushim_stream_options options = CUSHIM_OPTIONS(cushim_stream_options);
  CHECK_OK(cushim_driver_get_device_count(all.driver, &devices));
  if (devices < 2) {
    printf("one device: there is nothing to do\n");
    return 0;
  }
  CHECK_OK(cushim_driver_get_device(all.driver, 1, &there.device));
  CHECK_OK(cushim_context_retain_primary(there.device, &there.context));
  CHECK_OK(cushim_stream_create(there.context, &options, &there.stream));
  CHECK_OK(cushim_library_load(there.context, trace_code, sizeof trace_code, NULL, &there.library));
  there.append = kernel_of(there.library, "append");
  CHECK_OK(cushim_context_allocate(there.context, 64, &there.a));
  CHECK_OK(cushim_context_allocate(there.context, 64, &there.b));
  CHECK_OK(cushim_device_can_access_peer(all.device, there.device, &can));
  can_access = can;
  return 1;
}

static void close_there(void) {
  CHECK_OK(cushim_kernel_destroy(there.append));
  CHECK_OK(cushim_library_destroy(there.library));
  CHECK_OK(cushim_context_free(there.context, there.a));
  CHECK_OK(cushim_context_free(there.context, there.b));
  CHECK_OK(cushim_stream_destroy(there.stream));
  CHECK_OK(cushim_context_destroy(there.context));
}

static cushim_status add_there(cushim_graph graph, cushim_node after, uint64_t to, uint32_t digit, cushim_node *node) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  config.grid.x = config.block.x = 1;
  config.context = there.context;
  return cushim_graph_add_kernel(graph, &after, after != NULL, there.append, &config, args, 2, node);
}

static cushim_endpoint on_there(uint64_t pointer) {
  cushim_endpoint place = cushim_endpoint_device(pointer);
  place.context = there.context;
  return place;
}

/* Kernels of both devices, a copy from one to the other, and a memset there. */
static void built(void) {
  cushim_graph graph = new_graph();
  cushim_node first = add_append(graph, NULL, 0, 3), second = NULL, copy = NULL, fill = NULL, both[2];
  cushim_endpoint to = cushim_endpoint_device(there.b), from = cushim_endpoint_device(memory), set = on_there(there.b + 8);
  const uint32_t seven = 7;
  cushim_arg arg = CUSHIM_ARG(seven);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  const uint64_t pointer = there.a;
  cushim_arg args[2];
  cushim_exec exec;
  CHECK_OK(add_there(graph, NULL, there.a, 4, &second));
  both[0] = first, both[1] = second;
  CHECK_OK(cushim_graph_add_copy(graph, both, 2, &to, &from, 4, &copy));
  CHECK_OK(cushim_graph_add_fill(graph, &copy, 1, &set, CUSHIM_VALUE_32(9), 1, &fill));
  CHECK_OK(cushim_graph_add_event_record(graph, &fill, 1, all.event, NULL));
  exec = new_exec(graph);
  clear_both();
  run(exec);
  CHECK(number_at(memory) == 3 && number_there(there.a) == 4 && number_there(there.b) == 3 && number_there(there.b + 8) == 9);
  /* In the other device's stream, with an argument of each kernel changed. */
  CHECK_OK(cushim_exec_set_argument(exec, first, 1, &arg));
  CHECK_OK(cushim_exec_set_argument(exec, second, 1, &arg));
  clear_both();
  CHECK_OK(cushim_exec_launch(exec, there.stream));
  CHECK_OK(cushim_stream_synchronize(there.stream));
  CHECK(number_at(memory) == 7 && number_there(there.a) == 7 && number_there(there.b) == 7);
  /* Other memory on the same device is taken; the other way round is refused, and so is another device for a kernel. */
  to = cushim_endpoint_device(there.b + 16);
  CHECK_OK(cushim_exec_set_copy(exec, copy, &to, NULL, 0));
  clear_both();
  run(exec);
  CHECK(number_there(there.b) == 0 && number_there(there.b + 16) == 7);
  to = cushim_endpoint_device(memory), from = cushim_endpoint_device(there.a);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_copy(exec, copy, &to, &from, 0));
  CHECK_CONTAINS(last_message(), "keeps its direction");
  args[0] = CUSHIM_ARG(pointer);
  args[1] = arg;
  config.grid.x = config.block.x = 1;
  config.context = there.context;
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_kernel(exec, first, there.append, &config, args, 2));
  CHECK_CONTAINS(last_message(), "keeps its device");
  clear_both();
  run(exec);
  CHECK(number_at(memory) == 7 && number_there(there.b + 16) == 7);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Without access a copy keeps its destination's device in an exec; with it, it does not. */
static void other_destination(void) {
  cushim_graph graph = new_graph();
  cushim_endpoint to = cushim_endpoint_device(there.b), from = cushim_endpoint_device(memory);
  cushim_node copy = NULL;
  cushim_exec exec;
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 4, &copy));
  exec = new_exec(graph);
  to = cushim_endpoint_device(slot(8));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_exec_set_copy(exec, copy, &to, NULL, 0));
  if (can_access) {
    CHECK_OK(cushim_context_enable_peer_access(all.context, there.context));
    CHECK_OK(cushim_context_enable_peer_access(there.context, all.context));
    CHECK_OK(cushim_exec_destroy(exec));
    exec = new_exec(graph);
    CHECK_OK(cushim_exec_set_copy(exec, copy, &to, NULL, 0));
    clear_both();
    CHECK_OK(set_bytes(all.context, memory, 1, 4));
    run(exec);
    CHECK(number_at(slot(8)) == 0x01010101 && number_there(there.b) == 0);
    CHECK_OK(cushim_context_disable_peer_access(all.context, there.context));
    CHECK_OK(cushim_context_disable_peer_access(there.context, all.context));
  }
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* Memory of the other device's pool is copied in that device's context, which cushim sees to. */
static void pool_memory(void) {
  cushim_resource pool = NULL;
  cushim_buffer buffer = NULL;
  cushim_graph graph = new_graph();
  cushim_endpoint to = cushim_endpoint_device(memory), from;
  CHECK_OK(cushim_device_get_resource(there.device, &pool));
  CHECK_OK(cushim_buffer_create(pool, there.stream, 64, &buffer));
  CHECK_OK(fill_buffer(there.stream, buffer, 0, 6, 64));
  CHECK_OK(cushim_stream_synchronize(there.stream));
  from = cushim_endpoint_buffer(buffer, 0);
  CHECK_OK(cushim_graph_add_copy(graph, NULL, 0, &to, &from, 4, NULL));
  CHECK_OK(cushim_buffer_destroy(buffer));
  CHECK(result_of(graph) == 0x06060606);
  CHECK_OK(cushim_graph_destroy(graph));
}

/* What a conditional node runs is of one device. Beside it the other may work (measured on driver branch 580). */
static void conditional(void) {
  cushim_graph graph = new_graph(), body = NULL;
  cushim_exec exec = NULL;
  add_conditional(graph, NULL, new_condition(graph, 1), CUSHIM_CONDITIONAL_IF, 1, &body);
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, add_there(body, NULL, there.a, 4, NULL));
  CHECK_CONTAINS(last_message(), "one context");
  add_append(body, NULL, 0, 3);
  CHECK_OK(add_there(graph, NULL, there.a, 4, NULL));
  exec = new_exec(graph);
  clear_both();
  run(exec);
  CHECK(number_at(memory) == 3 && number_there(there.a) == 4);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The same as the first, captured: the other device's stream joins by an event, and comes back by another. */
static void captured(void) {
  cushim_builder builder = NULL;
  cushim_event begun = new_event(all.context, 0), done = new_event(there.context, 0);
  cushim_endpoint to = cushim_endpoint_device(there.b), from = cushim_endpoint_device(there.a);
  const uint64_t here = memory, pointer = there.a;
  const uint32_t two = 2, one = 1, zero = 0;
  cushim_arg args[2];
  cushim_graph graph = NULL;
  cushim_stream stream;
  cushim_exec exec;
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  stream = cushim_builder_stream(builder);
  args[0] = CUSHIM_ARG(here);
  args[1] = CUSHIM_ARG(two);
  CHECK_OK(cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
  CHECK_OK(cushim_event_record(begun, stream));
  CHECK_OK(cushim_stream_wait_event(there.stream, begun));
  args[0] = CUSHIM_ARG(pointer);
  args[1] = CUSHIM_ARG(one);
  CHECK_OK(cushim_kernel_launch(there.append, there.stream, NULL, args, 2));
  CHECK_OK(cushim_stream_copy(there.stream, &to, &from, 4));
  CHECK_OK(cushim_event_record(done, there.stream));
  CHECK_OK(cushim_stream_wait_event(stream, done));
  args[0] = CUSHIM_ARG(here);
  args[1] = CUSHIM_ARG(zero);
  CHECK_OK(cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK(node_count(graph) == 4);
  exec = new_exec(graph);
  clear_both();
  run(exec);
  CHECK(number_at(memory) == 20 && number_there(there.a) == 1 && number_there(there.b) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_event_destroy(begun));
  CHECK_OK(cushim_event_destroy(done));
}

int main(void) {
  check_begin();
  if (open_graphs() && open_there()) {
    built();
    other_destination();
    pool_memory();
    captured();
    if (version >= 12030) {
      open_conditions();
      conditional();
      close_conditions();
    }
    close_there();
  }
  return close_graphs();
}
