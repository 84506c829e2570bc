/* Builders that capture kernels and conditions. Include it first. */
#ifndef BUILDERS_H
#define BUILDERS_H

#include "conditions.h"

static inline cushim_builder new_builder(void) {
  cushim_builder builder = NULL;
  if (!CHECK_OK(cushim_builder_create(all.context, NULL, &builder))) exit(1);
  return builder;
}

static inline cushim_builder begun(void) {
  cushim_builder builder = new_builder();
  CHECK_OK(cushim_builder_begin(builder));
  return builder;
}

static inline void append_in(cushim_stream stream, int index, uint32_t digit) {
  cushim_arg args[2];
  uint64_t to = slot(index);
  args[0] = CUSHIM_ARG(to);
  args[1] = CUSHIM_ARG(digit);
  CHECK_OK(cushim_kernel_launch(all.kernel, stream, NULL, args, 2));
}

static inline void append(cushim_builder builder, int index, uint32_t digit) { append_in(cushim_builder_stream(builder), index, digit); }

static inline void set_in(cushim_stream stream, int index, uint32_t number) {
  cushim_endpoint to = cushim_endpoint_device(slot(index));
  if (!CHECK_OK(cushim_stream_fill(stream, &to, CUSHIM_VALUE_32(number), 1))) exit(1); /* a loop may count down from it */
}

/* Ends the capture, and gives what the graph leaves in the first number. */
static inline uint32_t captured(cushim_builder builder) {
  cushim_graph graph = NULL;
  uint32_t result;
  if (!CHECK_OK(cushim_builder_end(builder, &graph))) return 0;
  result = result_of(graph);
  CHECK_OK(cushim_graph_destroy(graph));
  return result;
}

static inline cushim_condition condition_of(cushim_builder builder, uint32_t initial) {
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  cushim_condition condition = NULL;
  options.initial = initial;
  options.flags = CUSHIM_CONDITION_RESET;
  CHECK_OK(cushim_builder_create_condition(builder, &options, &condition));
  return condition;
}

static inline void decide_in(cushim_stream stream, cushim_kernel kernel, cushim_condition condition, int index) {
  cushim_arg args[2];
  uint64_t from = slot(index);
  args[0] = cushim_arg_make(CUSHIM_ARG_CONDITION, condition);
  args[1] = CUSHIM_ARG(from);
  if (!CHECK_OK(cushim_kernel_launch(kernel, stream, NULL, args, 2))) exit(1); /* a loop whose condition nobody sets never ends */
}

#endif
