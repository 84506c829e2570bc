/* What the compiler refuses, one mistake at a time; without one it compiles, in every standard. */
#include <cushim.h>
#include <stddef.h>

int main(void) {
  uint64_t address = 4096;
  char memory[4];
  cushim_stream stream = NULL;
  cushim_buffer buffer = NULL;
  cushim_condition condition = NULL;
  cushim_graph graph = NULL;
  cushim_node first = NULL, second = NULL, node = NULL;
  const cushim_endpoint end = cushim_endpoint_host(memory);
  const cushim_arg args[] = {cushim_arg_buffer(buffer), cushim_arg_endpoint(&end), cushim_arg_condition(condition)};
#if defined(ADDRESS_AS_HOST_MEMORY)
  const cushim_endpoint wrong = cushim_endpoint_host(address);
#elif defined(HOST_MEMORY_AS_ADDRESS)
  const cushim_endpoint wrong = cushim_endpoint_device(memory);
#elif defined(ADDRESS_AS_BUFFER)
  const cushim_endpoint wrong = cushim_endpoint_buffer(address, 0);
#elif defined(MEMORY_AS_BUFFER)
  const cushim_endpoint wrong = cushim_endpoint_buffer(memory, 0);
#elif defined(STREAM_AS_BUFFER)
  const cushim_endpoint wrong = cushim_endpoint_buffer(stream, 0);
#elif defined(ADDRESS_AS_ARRAY)
  const cushim_endpoint wrong = cushim_endpoint_array(address);
#elif defined(MEMORY_AS_RANGE_OF_BUFFER)
  const cushim_range wrong = cushim_range_buffer(memory, 0, 0);
#elif defined(MEMORY_AS_BUFFER_ARGUMENT)
  const cushim_arg wrong = cushim_arg_buffer(&address);
#elif defined(BUFFER_AS_ENDPOINT_ARGUMENT)
  const cushim_arg wrong = cushim_arg_endpoint(buffer);
#elif defined(BUFFER_AS_CONDITION)
  const cushim_arg wrong = cushim_arg_condition(buffer);
#elif defined(ENDPOINT_AS_OWNED)
  const cushim_arg wrong = cushim_arg_owned(&end);
#elif defined(ENDPOINT_AS_PARAMETER)
  const cushim_arg wrong = cushim_arg_parameter(&end);
#else
  const cushim_endpoint wrong = cushim_endpoint_auto(address);
#endif
  (void)wrong;
  return cushim_stream_copy(stream, &cushim_endpoint_buffer(buffer, 0), &cushim_endpoint_host(memory), sizeof memory) |
         cushim_graph_add_empty(graph, CUSHIM_AFTER(first, second), &node) |
         cushim_graph_add_empty(graph, CUSHIM_AFTER_NOTHING, &node) |
         cushim_graph_add_kernel(graph, CUSHIM_AFTER(node), NULL, NULL, args, sizeof args / sizeof *args, &node) |
         cushim_exec_set_parameter(NULL, "address", CUSHIM_VALUE(address), NULL);
}
