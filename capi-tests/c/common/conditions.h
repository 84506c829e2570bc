/* Kernels that set conditions of graphs, from CUDA 12.3 on. Include it after graphs.h. */
#ifndef CONDITIONS_H
#define CONDITIONS_H

#include "graphs.h"

/* Names of their own: a kernel's parameters are in scope, too. */
#define SET_CONDITION                                     \
  "  {\n"                                                 \
  "  .param .b64 first;\n"                                \
  "  .param .b32 second;\n"                               \
  "  st.param.b64 [first], %condition;\n"                 \
  "  st.param.b32 [second], %value;\n"                    \
  "  call.uni cudaGraphSetConditional, (first, second);\n" \
  "  }\n"

static const char condition_code[] =
    ".version 8.3\n"
    ".target sm_80\n"
    ".address_size 64\n"
    /* The driver's own. */
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    /* Gives the condition this value. */
    ".visible .entry set(.param .u64 condition, .param .u32 value) {\n"
    "  .reg .u64 %condition;\n"
    "  .reg .u32 %value;\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  ld.param.u32 %value, [value];\n" SET_CONDITION
    "  ret;\n"
    "}\n"
    /* Gives the condition the number there. */
    ".visible .entry choose(.param .u64 condition, .param .u64 from) {\n"
    "  .reg .u64 %condition, %from;\n"
    "  .reg .u32 %value;\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  ld.param.u64 %from, [from];\n"
    "  ld.volatile.global.u32 %value, [%from];\n" SET_CONDITION
    "  ret;\n"
    "}\n"
    /* Takes 1 from the number there; the condition is what is left. */
    ".visible .entry countdown(.param .u64 condition, .param .u64 from) {\n"
    "  .reg .u64 %condition, %from;\n"
    "  .reg .u32 %value;\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  ld.param.u64 %from, [from];\n"
    "  ld.volatile.global.u32 %value, [%from];\n"
    "  sub.u32 %value, %value, 1;\n"
    "  st.volatile.global.u32 [%from], %value;\n" SET_CONDITION
    "  ret;\n"
    "}\n";

static struct {
  cushim_library library;
  cushim_kernel set, choose, countdown;
} conditions;

static inline void open_conditions(void) {
  CHECK_OK(cushim_library_load(all.context, condition_code, sizeof condition_code, NULL, &conditions.library));
  conditions.set = kernel_of(conditions.library, "set");
  conditions.choose = kernel_of(conditions.library, "choose");
  conditions.countdown = kernel_of(conditions.library, "countdown");
}

static inline void close_conditions(void) {
  CHECK_OK(cushim_kernel_destroy(conditions.set));
  CHECK_OK(cushim_kernel_destroy(conditions.choose));
  CHECK_OK(cushim_kernel_destroy(conditions.countdown));
  CHECK_OK(cushim_library_destroy(conditions.library));
}

/* A condition that has this value at the start of each launch. */
static inline cushim_condition new_condition(cushim_graph graph, uint32_t initial) {
  cushim_condition_options options = CUSHIM_OPTIONS(cushim_condition_options);
  cushim_condition condition = NULL;
  options.initial = initial;
  options.flags = CUSHIM_CONDITION_RESET;
  CHECK_OK(cushim_condition_create(graph, &options, &condition));
  return condition;
}

static inline cushim_arg condition_arg(cushim_condition condition) { return cushim_arg_make(CUSHIM_ARG_CONDITION, condition); }

/* Adds a kernel that sets a condition: `set` to a number, or one of the others by what is in the memory. */
static inline cushim_node add_set(cushim_graph graph, cushim_node after, cushim_condition condition, uint32_t value) {
  cushim_arg args[2];
  cushim_node node = NULL;
  args[0] = condition_arg(condition);
  args[1] = CUSHIM_ARG(value);
  CHECK_OK(cushim_graph_add_kernel(graph, &after, after != NULL, conditions.set, NULL, args, 2, &node));
  return node;
}

/* A loop whose condition nobody sets would never end. */
static inline cushim_node add_setter(cushim_graph graph, cushim_node after, cushim_kernel kernel, cushim_condition condition, int index) {
  const uint64_t from = slot(index);
  cushim_arg args[2];
  cushim_node node = NULL;
  args[0] = condition_arg(condition);
  args[1] = CUSHIM_ARG(from);
  if (!CHECK_OK(cushim_graph_add_kernel(graph, &after, after != NULL, kernel, NULL, args, 2, &node))) exit(1);
  return node;
}

static inline cushim_node add_conditional(cushim_graph graph, cushim_node after, cushim_condition condition, cushim_conditional_kind kind,
                                          size_t body_count, cushim_graph *bodies) {
  cushim_node node = NULL;
  CHECK_OK(cushim_graph_add_conditional(graph, &after, after != NULL, condition, kind, body_count, &node, bodies));
  return node;
}

#endif
