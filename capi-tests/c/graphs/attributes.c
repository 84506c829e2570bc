/* Attributes of kernel nodes: read, set one by one, and copied from one node to another; execs keep theirs. */
#include "builders.h"

static cushim_launch_attribute attribute_of(CUlaunchAttributeID id, int32_t value) {
  cushim_launch_attribute attribute;
  memset(&attribute, 0, sizeof attribute);
  attribute.id = id;
  memcpy(attribute.value, &value, sizeof value);
  return attribute;
}

static int32_t value_of(cushim_node node, CUlaunchAttributeID id) {
  cushim_launch_attribute attribute = attribute_of(CU_LAUNCH_ATTRIBUTE_IGNORE, -7);
  int32_t value;
  CHECK_OK(cushim_node_get_attribute(node, id, &attribute));
  CHECK(attribute.id == id && attribute.reserved == 0);
  memcpy(&value, attribute.value, sizeof value);
  return value;
}

/* What the graph says of the node. */
static int32_t is_cooperative(cushim_node node) {
  cushim_kernel_node told = CUSHIM_OPTIONS(cushim_kernel_node);
  CHECK_OK(cushim_node_get_kernel(node, &told));
  return (told.config.flags & CUSHIM_LAUNCH_COOPERATIVE) != 0;
}

static void changes(void) {
  const cushim_launch_attribute cooperative = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
  const cushim_launch_attribute not_any_more = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0);
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1);
  cushim_exec before = new_exec(graph), after;
  CHECK(value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 0 && !is_cooperative(node));
  CHECK_OK(cushim_node_set_attribute(node, &cooperative));
  CHECK(value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 1 && is_cooperative(node));
  after = new_exec(graph);
  CHECK(result_of_exec(before) == 1 && result_of_exec(after) == 1);
  CHECK_OK(cushim_node_set_attribute(node, &not_any_more));
  CHECK(value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 0 && !is_cooperative(node));
  CHECK(result_of_exec(after) == 1);
  CHECK_OK(cushim_exec_destroy(before));
  CHECK_OK(cushim_exec_destroy(after));
  CHECK_OK(cushim_graph_destroy(graph));
}

/* The other attributes, and what the node runs, stay; a change of the configuration takes them away. */
static void beside_each_other(void) {
  const cushim_launch_attribute cooperative = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
  cushim_launch_config config = CUSHIM_OPTIONS(cushim_launch_config);
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 3);
  cushim_exec exec;
  config.grid.x = config.block.x = 1;
  if (version >= 11070) {
    const cushim_launch_attribute priority = attribute_of(CU_LAUNCH_ATTRIBUTE_PRIORITY, -1);
    CHECK_OK(cushim_node_set_attribute(node, &priority));
  }
  CHECK_OK(cushim_node_set_attribute(node, &cooperative));
  if (version >= 11070) CHECK(value_of(node, CU_LAUNCH_ATTRIBUTE_PRIORITY) == -1);
  exec = new_exec(graph);
  CHECK(result_of_exec(exec) == 3);
  CHECK_OK(cushim_node_set_kernel(node, NULL, &config, NULL, 0));
  CHECK(!is_cooperative(node) && value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 0);
  CHECK_OK(cushim_exec_destroy(exec));
  CHECK_OK(cushim_graph_destroy(graph));
}

static void copies(void) {
  const cushim_launch_attribute cooperative = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
  cushim_graph graph = new_graph(), other = new_graph();
  cushim_node source = add_append(graph, NULL, 0, 1), node = add_append(other, NULL, 0, 2), fill = add_number(other, NULL, 1, 3);
  cushim_exec exec;
  CHECK_OK(cushim_node_set_attribute(source, &cooperative));
  CHECK_OK(cushim_node_copy_attributes(node, source));
  CHECK(is_cooperative(node) && value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 1);
  exec = new_exec(other);
  CHECK_OK(cushim_exec_destroy(exec));
  /* All of them: of one that has none, none. */
  CHECK_OK(cushim_node_copy_attributes(node, add_append(graph, source, 0, 4)));
  CHECK(!is_cooperative(node));
  CHECK_OK(cushim_node_copy_attributes(node, node));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_copy_attributes(node, fill));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_copy_attributes(fill, source));
  CHECK_OK(cushim_node_remove(source));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_copy_attributes(node, source));
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
}

/* What the driver captured is asked for. */
static void of_captured_nodes(void) {
  const cushim_launch_attribute cooperative = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
  cushim_builder builder = begun();
  cushim_graph graph = NULL, other = new_graph();
  cushim_node captured = NULL, node = add_append(other, NULL, 0, 5);
  size_t count = 0;
  append(builder, 0, 1);
  CHECK_OK(cushim_builder_end(builder, &graph));
  CHECK_OK(cushim_graph_get_nodes(graph, &captured, 1, &count));
  CHECK(count == 1);
  CHECK_OK(cushim_node_set_attribute(captured, &cooperative));
  CHECK(value_of(captured, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 1);
  CHECK_OK(cushim_node_copy_attributes(node, captured));
  CHECK(value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 1);
  CHECK(result_of(graph) == 1);
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_OK(cushim_graph_destroy(other));
  CHECK_OK(cushim_builder_destroy(builder));
}

static void refusals(void) {
  const cushim_launch_attribute cooperative = attribute_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
  cushim_launch_attribute attribute = attribute_of((CUlaunchAttributeID)77, 1);
  cushim_graph graph = new_graph();
  cushim_node node = add_append(graph, NULL, 0, 1), fill = add_number(graph, NULL, 1, 3);
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_set_attribute(node, &attribute));
  CHECK_CONTAINS(last_message(), "The attribute is 77");
  CHECK_STATUS(CUDA_ERROR_INVALID_VALUE, cushim_node_get_attribute(node, (CUlaunchAttributeID)77, &attribute));
  CHECK(attribute.id == 0);
  CHECK_CONTAINS(last_message(), "The attribute is 77");
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_attribute(fill, &cooperative));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_attribute(fill, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_attribute(node, NULL));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_get_attribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, NULL));
  attribute = cooperative;
  attribute.reserved = 1;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_set_attribute(node, &attribute));
  CHECK(value_of(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == 0);
  if (version >= 12040) {
    const cushim_launch_attribute updatable = attribute_of(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 1);
    cushim_node updated = add_append(graph, NULL, 0, 2);
    CHECK_OK(cushim_node_set_attribute(updated, &updatable));
    CHECK_STATUS(CUSHIM_ERROR_INVALID_ARGUMENT, cushim_node_copy_attributes(node, updated));
    CHECK_CONTAINS(last_message(), "device-updatable");
  }
  CHECK_OK(cushim_graph_destroy(graph));
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, cushim_node_get_attribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute));
}

int main(void) {
  check_begin();
  if (open_graphs()) {
    changes();
    beside_each_other();
    copies();
    of_captured_nodes();
    refusals();
  }
  return close_graphs();
}
