/*
 * Kernel nodes that kernels can update, from CUDA 12.4 on: the handle by which they do, and what such a graph does not allow, each with a
 * sentence.
 */
#include "builders.h"

static cushim_launch_attribute updatable(int32_t value) {
  cushim_launch_attribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  memcpy(attribute.value, &value, sizeof value); /* `deviceUpdatable` */
  return attribute;
}

static cushim_launch_config config_of(const cushim_launch_attribute *attribute) {
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  config.grid.x = config.block.x = 1;
  config.attributes = attribute;
  config.attribute_count = 1;
  config.attribute_stride = sizeof *attribute;
  return config;
}

static cushim_status add(cushim_graph graph, int32_t value, cushim_node *node) {
  const cushim_launch_attribute attribute = updatable(value);
  const cushim_launch_config config = config_of(&attribute);
  const uint64_t to = memory;
  const uint32_t digit = 1;
  cushim_arg args[2];
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  return cushim_graph_add_kernel(graph, NULL, 0, all.kernel, &config, args, 2, node);
}

static void handles(void) {
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node node = NULL, second = NULL, plain = add_append(other, NULL, 0, 2), fill = add_number(other, NULL, 1, 3), none = NULL;
  CUgraphDeviceNode handle = NULL, again = NULL, another = NULL;
  cushim_exec exec;
  CHECK_OK(add(graph, 1, &node));
  CHECK_OK(cushim_node_get_device_node(node, &handle));
  CHECK(handle != NULL);
  exec = new_exec(graph);
  CHECK_OK(cushim_node_get_device_node(node, &again));
  CHECK(again == handle);
  CHECK(result_of_exec(exec) == 1);
  CHECK_OK(add(other, 1, &second));
  CHECK_OK(cushim_node_get_device_node(second, &another));
  CHECK(another != NULL && another != handle);

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_device_node(plain, &again));
  CHECK(again == NULL);
  CHECK_CONTAINS(last_message(), "is not device-updatable");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_device_node(fill, &again));
  CHECK_CONTAINS(last_message(), "kernel nodes only");
  CHECK_OK(add(other, 0, &none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_device_node(none, &again));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_device_node(node, NULL));
  CHECK_OK(cushim_node_remove(none));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_device_node(none, &again));
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, add(other, 2, &none));
  CHECK(node_count(other) == 3);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* The host changes such a node as any other. */
static void changes(void) {
  cushim_graph graph = new_graph();
  cushim_node node = NULL;
  const uint32_t four = 4, six = 6;
  cushim_arg arg = CUSHIM_ARG(four);
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  CUgraphDeviceNode handle = NULL, again = NULL;
  cushim_exec exec;
  CHECK_OK(add(graph, 1, &node));
  CHECK_OK(cushim_node_get_device_node(node, &handle));
  exec = new_exec(graph);
  CHECK_OK(cushim_exec_set_argument(exec, node, 1, &arg));
  CHECK(result_of_exec(exec) == 4);
  CHECK_OK(cushim_exec_set_enabled(exec, node, 0));
  CHECK(result_of_exec(exec) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  arg = CUSHIM_ARG(six);
  CHECK_OK(cushim_node_set_argument(node, 1, &arg));
  CHECK(result_of(graph) == 6);
  CHECK_OK(cushim_node_get_kernel(node, &told));
  CHECK(told.config.attribute_count == 1);
  CHECK_OK(cushim_node_get_device_node(node, &again));
  CHECK(again == handle);
  CHECK_OK(cushim_graph_destroy(graph));
}

static void limits(void) {
  cushim_graph graph = new_graph(), plain = new_graph(), outer = new_graph(), clone = NULL;
  cushim_node node = NULL;
  const cushim_launch_attribute off = updatable(0), on = updatable(1);
  cushim_launch_config config = config_of(&off);
  const uint64_t to = memory;
  const uint32_t digit = 3;
  cushim_arg args[2];
  cushim_exec exec, second = NULL, of_plain;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(add(graph, 1, &node));
  CHECK_OK(cushim_set_label(node, "moving"));
  add_append(plain, NULL, 0, 2);
  exec = new_exec(graph);
  of_plain = new_exec(plain);

  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_remove(node));
  CHECK_CONTAINS(last_message(), "moving");
  CHECK_CONTAINS(last_message(), "stays in its graph");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_graph_clone(graph, &clone));
  CHECK_CONTAINS(last_message(), "moved into another one (12.9), and not cloned");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_create(graph, NULL, &second, NULL));
  CHECK_CONTAINS(last_message(), "one exec at a time");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_update(exec, graph, NULL));
  CHECK_CONTAINS(last_message(), "moving");
  CHECK_CONTAINS(last_message(), "node by node");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_update(exec, plain, NULL));
  CHECK_CONTAINS(last_message(), "moving");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_exec_update(of_plain, graph, NULL));
  CHECK_CONTAINS(last_message(), "moving");
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_node_set_kernel(node, NULL, &config, args, 2));
  CHECK_CONTAINS(last_message(), "keeps this attribute");
  config.attributes = &on;
  CHECK_STATUS(CUDA_ERROR_NOT_SUPPORTED, cushim_kernel_launch(all.kernel, all.stream, &config, args, 2));
  CHECK_CONTAINS(last_message(), "Only a node of a graph");
  CHECK(node_count(graph) == 1 && result_of_exec(exec) == 1 && result_of_exec(of_plain) == 2);

  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_graph_add_child(outer, NULL, 0, graph, CUSHIM_CHILD_CLONE, NULL, NULL));
  CHECK_CONTAINS(last_message(), "moving");
  CHECK_CONTAINS(last_message(), "can only be moved");
  CHECK(node_count(outer) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK(result_of(graph) == 1);
  if (version >= 12090) {
    CHECK_OK(move_child(outer, graph, NULL, NULL));
    CHECK(result_of(outer) == 1);
  }
  CHECK_OK(cushim_exec_destroy(of_plain));
  CHECK_OK(cushim_graph_destroy(outer));
  CHECK_OK(cushim_graph_destroy(plain));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* A launch that is captured becomes such a node. */
static void by_capture(void) {
  const cushim_launch_attribute on = updatable(1);
  const cushim_launch_config config = config_of(&on);
  const uint64_t to = memory;
  const uint32_t digit = 3;
  CUgraphDeviceNode handle = NULL;
  cushim_graph graph = NULL;
  cushim_node node = NULL;
  cushim_builder builder;
  cushim_arg args[2];
  size_t count = 0;
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_builder_create(all.context, NULL, &builder));
  CHECK_OK(cushim_builder_begin(builder));
  CHECK_OK(cushim_kernel_launch(all.kernel, cushim_builder_stream(builder), &config, args, 2));
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_get_nodes(graph, &node, 1, &count));
  CHECK_OK(cushim_node_get_device_node(node, &handle));
  CHECK(count == 1 && handle != NULL && result_of(graph) == 3);
  CHECK_OK(cushim_builder_destroy(builder));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void too_old(void) {
  const cushim_launch_attribute on = updatable(1);
  const cushim_launch_config config = config_of(&on);
  struct {
    uint64_t to;
    uint32_t digit, padding;
  } block;
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1), other = NULL;
  cushim_exec exec;
  CUgraphDeviceNode handle = (CUgraphDeviceNode)NOT_NULL;
  memset(&block, 0, sizeof block);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_get_device_node(node, &handle));
  CHECK_CONTAINS(last_message(), "12.4");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, add(graph, 1, &other));
  CHECK_CONTAINS(last_message(), "12.4");
  block.to = memory;
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_graph_add_kernel_packed(graph, NULL, 0, all.kernel, &config, &block, 12, &other));
  CHECK_CONTAINS(last_message(), "12.4");
  CHECK(handle == NULL && node_count(graph) == 1);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_set_kernel(node, NULL, &config, NULL, 0));
  CHECK_CONTAINS(last_message(), "12.4");
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_node_set_kernel_packed(node, all.kernel, &config, &block, 12));
  CHECK_CONTAINS(last_message(), "12.4");
  CHECK(result_of(graph) == 1);
  exec = new_exec(graph);
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_set_kernel(exec, node, NULL, &config, NULL, 0));
  CHECK_STATUS(CUSHIM_ERROR_UNSUPPORTED, cushim_exec_set_kernel_packed(exec, node, all.kernel, &config, &block, 12));
  CHECK(result_of_exec(exec) == 1);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    if (version >= 12040) {
      handles();
      changes();
      limits();
      by_capture();
    } else {
      too_old();
    }
  }
  return close_graphs();
}
