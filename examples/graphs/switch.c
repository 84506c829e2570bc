/*
 * A little machine: a graph reads one instruction after another from memory and does it, by a switch node in a loop. Another program is
 * other memory; the graph stays. It prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SET_CONDITION                                       \
  "  {\n"                                                   \
  "  .param .b64 handle;\n"                                 \
  "  .param .b32 number;\n"                                 \
  "  st.param.b64 [handle], %condition;\n"                  \
  "  st.param.b32 [number], %value;\n"                      \
  "  call.uni cudaGraphSetConditional, (handle, number);\n" \
  "  }\n"

/* The machine has four numbers: what is computed, the operand, where it reads next, and how many instructions there are. */
static const char ptx[] =
    ".version 8.3\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    /* Reads an instruction and its operand; one condition is which it is, the other whether there are more. */
    ".visible .entry fetch(.param .u64 which, .param .u64 more, .param .u64 machine, .param .u64 program) {\n"
    "  .reg .pred %p;\n"
    "  .reg .u32 %at, %count, %value, %operand;\n"
    "  .reg .u64 %machine, %program, %offset, %condition;\n"
    "  ld.param.u64 %machine, [machine];\n"
    "  ld.param.u64 %program, [program];\n"
    "  ld.global.u32 %at, [%machine + 8];\n"
    "  ld.global.u32 %count, [%machine + 12];\n"
    "  mul.wide.u32 %offset, %at, 8;\n"
    "  add.u64 %program, %program, %offset;\n"
    "  ld.global.u32 %value, [%program];\n"
    "  ld.global.u32 %operand, [%program + 4];\n"
    "  st.global.u32 [%machine + 4], %operand;\n"
    "  add.u32 %at, %at, 1;\n"
    "  st.global.u32 [%machine + 8], %at;\n"
    "  ld.param.u64 %condition, [which];\n" SET_CONDITION
    "  setp.lt.u32 %p, %at, %count;\n"
    "  selp.u32 %value, 1, 0, %p;\n"
    "  ld.param.u64 %condition, [more];\n" SET_CONDITION
    "  ret;\n"
    "}\n"
#define INSTRUCTION(name, does)                   \
  ".visible .entry " name "(.param .u64 machine) {\n" \
  "  .reg .u32 %a, %b;\n"                         \
  "  .reg .u64 %machine;\n"                       \
  "  ld.param.u64 %machine, [machine];\n"         \
  "  ld.global.u32 %a, [%machine];\n"             \
  "  ld.global.u32 %b, [%machine + 4];\n"         \
  "  " does " %a, %a, %b;\n"                      \
  "  st.global.u32 [%machine], %a;\n"             \
  "  ret;\n"                                      \
  "}\n"
    INSTRUCTION("add", "add.u32") INSTRUCTION("subtract", "sub.u32") INSTRUCTION("multiply", "mul.lo.u32");

enum { ADD, SUBTRACT, MULTIPLY, INSTRUCTIONS, NOTHING = 99 }; /* what is no instruction does nothing */
static const char *const names[] = {"add", "subtract", "multiply"};

struct instruction {
  uint32_t which, operand;
};

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

static cushim_condition new_condition(cushim_graph graph, uint32_t initial) {
  cushim_condition_options options = {.struct_size = sizeof options, .initial = initial, .flags = CUSHIM_CONDITION_RESET};
  cushim_condition condition;
  check(cushim_condition_create(graph, &options, &condition));
  return condition;
}

static cushim_node add_kernel(cushim_graph graph, cushim_library library, const char *name, const cushim_arg *args, size_t count) {
  cushim_kernel kernel;
  cushim_node node;
  check(cushim_kernel_create(library, name, &kernel));
  check(cushim_graph_add_kernel(graph, CUSHIM_AFTER_NOTHING, kernel, NULL, args, count, &node));
  check(cushim_set_label(node, name));
  check(cushim_kernel_destroy(kernel)); /* the graph keeps it */
  return node;
}

static cushim_graph build(cushim_context context, cushim_library library, uint64_t machine, uint64_t program) {
  cushim_graph graph, loop, bodies[INSTRUCTIONS];
  check(cushim_graph_create(context, NULL, &graph));
  check(cushim_set_label(graph, "machine"));
  cushim_condition more = new_condition(graph, 1), which = new_condition(graph, NOTHING);
  check(cushim_graph_add_conditional(graph, CUSHIM_AFTER_NOTHING, more, CUSHIM_CONDITIONAL_WHILE, 1, NULL, &loop));
  const cushim_arg args[] = {cushim_arg_make(CUSHIM_ARG_CONDITION, which), cushim_arg_make(CUSHIM_ARG_CONDITION, more), CUSHIM_ARG(machine),
                             CUSHIM_ARG(program)};
  cushim_node fetch = add_kernel(loop, library, "fetch", args, 4);
  cushim_status added = cushim_graph_add_conditional(loop, CUSHIM_AFTER(fetch), which, CUSHIM_CONDITIONAL_SWITCH, INSTRUCTIONS, NULL, bodies);
  if (added == CUSHIM_ERROR_UNSUPPORTED) {
    printf("a switch in a graph needs a driver for CUDA 12.8 or newer\n");
    exit(0);
  }
  check(added);
  for (int i = 0; i < INSTRUCTIONS; i++) add_kernel(bodies[i], library, names[i], &args[2], 1);
  return graph;
}

static uint32_t on_the_host(const struct instruction *program, size_t count) {
  uint32_t a = 0;
  for (size_t i = 0; i < count; i++) {
    switch (program[i].which) {
    case ADD: a += program[i].operand; break;
    case SUBTRACT: a -= program[i].operand; break;
    case MULTIPLY: a *= program[i].operand; break;
    default: break;
    }
  }
  return a;
}

static const struct instruction programs[][6] = {
    {{ADD, 5}, {MULTIPLY, 8}, {ADD, 2}},
    {{ADD, 100}, {NOTHING, 7}, {SUBTRACT, 1}, {MULTIPLY, 3}, {MULTIPLY, 3}, {SUBTRACT, 91}},
    {{NOTHING, 1}},
};
static const uint32_t lengths[] = {3, 6, 1};

int main(int argc, char **argv) {
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: switch [--json FILE]\n\nRuns small programs by a graph with a switch in a loop. With --json it writes the graph to FILE, of\n"
           "which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_exec exec;
  uint64_t machine, program;
  int wrong = 0;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_context_allocate(context, 4 * sizeof(uint32_t), &machine));
  check(cushim_context_allocate(context, sizeof programs[0], &program));
  const char *code = kernels(context, ptx);
  cushim_status loaded = cushim_library_load(context, code, strlen(code) + 1, NULL, &library);
  if (loaded == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    printf("a switch in a graph needs a driver for CUDA 12.8 or newer\n");
    return 0;
  }
  check(loaded);
  cushim_graph graph = build(context, library, machine, program);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    uint32_t numbers[4] = {0, 0, 0, lengths[i]};
    cushim_endpoint to = cushim_endpoint_device(program), from = cushim_endpoint_host(programs[i]);
    check(cushim_context_copy(context, &to, &from, sizeof programs[i]));
    to = cushim_endpoint_device(machine), from = cushim_endpoint_host(numbers);
    check(cushim_context_copy(context, &to, &from, sizeof numbers));
    check(cushim_exec_launch(exec, stream));
    check(cushim_stream_synchronize(stream));
    check(cushim_context_copy(context, &from, &to, sizeof numbers));
    printf("%u instructions: %u; on the host %u\n", lengths[i], numbers[0], on_the_host(programs[i], lengths[i]));
    wrong += numbers[0] != on_the_host(programs[i], lengths[i]);
  }

  check(cushim_exec_destroy(exec));
  check(cushim_graph_destroy(graph));
  check(cushim_library_destroy(library));
  check(cushim_context_free(context, machine));
  check(cushim_context_free(context, program));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return wrong != 0;
}
