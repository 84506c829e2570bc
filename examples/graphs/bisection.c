/*
 * Finds the root of x^3 - x - 2 by bisection, in one launch of a graph: a loop around an if-else, and an if behind it. It prints the same
 * with every driver; CUSHIM_DRIVER=software needs no GPU.
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
  "  ld.param.u64 %condition, [condition];\n"               \
  "  st.param.b64 [handle], %condition;\n"                  \
  "  selp.u32 %value, 1, 0, %p;\n"                          \
  "  st.param.b32 [number], %value;\n"                      \
  "  call.uni cudaGraphSetConditional, (handle, number);\n" \
  "  }\n"

/* The kernels work on five numbers: the ends of the interval, its middle, the function there, and whether the root was found. */
static const char ptx[] =
    ".version 8.3\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    /* The middle and the function there; the condition says whether it is positive. */
    ".visible .entry halve(.param .u64 condition, .param .u64 numbers) {\n"
    "  .reg .pred %p;\n"
    "  .reg .u32 %value;\n"
    "  .reg .u64 %condition, %numbers;\n"
    "  .reg .f64 %low, %high, %x, %f;\n"
    "  ld.param.u64 %numbers, [numbers];\n"
    "  ld.global.f64 %low, [%numbers];\n"
    "  ld.global.f64 %high, [%numbers + 8];\n"
    "  add.rn.f64 %x, %low, %high;\n"
    "  mul.rn.f64 %x, %x, 0d3FE0000000000000;\n" /* 1/2 */
    "  mul.rn.f64 %f, %x, %x;\n"
    "  mul.rn.f64 %f, %f, %x;\n"
    "  sub.rn.f64 %f, %f, %x;\n"
    "  sub.rn.f64 %f, %f, 0d4000000000000000;\n" /* 2 */
    "  st.global.f64 [%numbers + 16], %x;\n"
    "  st.global.f64 [%numbers + 24], %f;\n"
    "  setp.gt.f64 %p, %f, 0d0000000000000000;\n" SET_CONDITION
    "  ret;\n"
    "}\n"
    /* The condition says whether the interval is wider than that. */
    ".visible .entry judge(.param .u64 condition, .param .u64 numbers, .param .f64 width) {\n"
    "  .reg .pred %p;\n"
    "  .reg .u32 %value;\n"
    "  .reg .u64 %condition, %numbers;\n"
    "  .reg .f64 %low, %high, %width;\n"
    "  ld.param.u64 %numbers, [numbers];\n"
    "  ld.param.f64 %width, [width];\n"
    "  ld.global.f64 %low, [%numbers];\n"
    "  ld.global.f64 %high, [%numbers + 8];\n"
    "  sub.rn.f64 %high, %high, %low;\n"
    "  setp.gt.f64 %p, %high, %width;\n" SET_CONDITION
    "  ret;\n"
    "}\n"
    /* The condition says whether the function is nearly zero in the middle. */
    ".visible .entry inspect(.param .u64 condition, .param .u64 numbers, .param .f64 width) {\n"
    "  .reg .pred %p;\n"
    "  .reg .u32 %value;\n"
    "  .reg .u64 %condition, %numbers;\n"
    "  .reg .f64 %f, %width;\n"
    "  ld.param.u64 %numbers, [numbers];\n"
    "  ld.param.f64 %width, [width];\n"
    "  ld.global.f64 %f, [%numbers + 24];\n"
    "  abs.f64 %f, %f;\n"
    "  setp.lt.f64 %p, %f, %width;\n" SET_CONDITION
    "  ret;\n"
    "}\n";

/* Whatever went wrong, the library has a sentence for it. */
static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

static cushim_condition new_condition(cushim_graph graph, uint32_t initial, const char *label) {
  cushim_condition_options options = {.struct_size = sizeof options, .initial = initial, .flags = CUSHIM_CONDITION_RESET};
  cushim_condition condition;
  check(cushim_condition_create(graph, &options, &condition));
  check(cushim_set_label(condition, label));
  return condition;
}

/* Adds a kernel that sets a condition; those that compare take a width as well. */
static cushim_node add_setter(cushim_graph graph, const cushim_node *after, size_t after_count, cushim_library library, const char *name,
                              cushim_condition condition, uint64_t numbers, const double *width) {
  cushim_arg args[3] = {cushim_arg_make(CUSHIM_ARG_CONDITION, condition), CUSHIM_ARG(numbers)};
  cushim_kernel kernel;
  cushim_node node;
  if (width != NULL) args[2] = CUSHIM_ARG(*width);
  check(cushim_kernel_create(library, name, &kernel));
  check(cushim_graph_add_kernel(graph, after, after_count, kernel, NULL, args, width == NULL ? 2 : 3, &node));
  check(cushim_set_label(node, name));
  check(cushim_kernel_destroy(kernel)); /* the graph keeps it */
  return node;
}

/* One number becomes another. */
static void add_move(cushim_graph graph, uint64_t to, uint64_t from) {
  cushim_endpoint target = cushim_endpoint_device(to), source = cushim_endpoint_device(from);
  check(cushim_graph_add_copy(graph, CUSHIM_AFTER_NOTHING, &target, &source, sizeof(double), NULL));
}

static cushim_graph build(cushim_context context, cushim_library library, uint64_t numbers, double width, double accuracy) {
  cushim_graph graph, loop, sides[2], found;
  cushim_node looping, halved, chosen, inspected;
  check(cushim_graph_create(context, NULL, &graph));
  check(cushim_set_label(graph, "bisection"));
  cushim_condition more = new_condition(graph, 1, "more"), above = new_condition(graph, 0, "above"), near = new_condition(graph, 0, "near");
  check(cushim_graph_add_conditional(graph, CUSHIM_AFTER_NOTHING, more, CUSHIM_CONDITIONAL_WHILE, 1, &looping, &loop));
  halved = add_setter(loop, NULL, 0, library, "halve", above, numbers, NULL);
  cushim_status added = cushim_graph_add_conditional(loop, CUSHIM_AFTER(halved), above, CUSHIM_CONDITIONAL_IF_ELSE, 2, &chosen, sides);
  if (added == CUSHIM_ERROR_UNSUPPORTED) {
    printf("an if-else in a graph needs a driver for CUDA 12.8 or newer\n");
    exit(0);
  }
  check(added);
  add_move(sides[0], numbers + 8, numbers + 16); /* too high: the middle is the upper end */
  add_move(sides[1], numbers, numbers + 16);
  add_setter(loop, &chosen, 1, library, "judge", more, numbers, &width);
  inspected = add_setter(graph, &looping, 1, library, "inspect", near, numbers, &accuracy);
  check(cushim_graph_add_conditional(graph, CUSHIM_AFTER(inspected), near, CUSHIM_CONDITIONAL_IF, 1, NULL, &found));
  cushim_endpoint flag = cushim_endpoint_device(numbers + 32);
  check(cushim_graph_add_fill(found, CUSHIM_AFTER_NOTHING, &flag, CUSHIM_VALUE_32(1), 1, NULL));
  return graph;
}

/* The same on the host. */
static double on_the_host(double low, double high, double width) {
  double x;
  do {
    x = (low + high) * 0.5;
    if (x * x * x - x - 2 > 0) high = x;
    else low = x;
  } while (high - low > width);
  return x;
}

int main(int argc, char **argv) {
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: bisection [--json FILE]\n\nFinds a root in a graph with a loop, an if-else and an if. With --json it writes the graph to\n"
           "FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_exec exec;
  uint64_t memory;
  double numbers[5] = {1, 2, 0, 0, 0};
  const double width = 1e-12;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_context_allocate(context, sizeof numbers, &memory));
  cushim_endpoint on_device = cushim_endpoint_device(memory), on_host = cushim_endpoint_host(numbers);
  check(cushim_context_copy(context, &on_device, &on_host, sizeof numbers));
  const char *code = kernels(context, ptx);
  cushim_status loaded = cushim_library_load(context, code, strlen(code) + 1, NULL, &library);
  if (loaded == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    printf("an if-else in a graph needs a driver for CUDA 12.8 or newer\n");
    return 0;
  }
  check(loaded);
  cushim_graph graph = build(context, library, memory, width, 1e-9);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  check(cushim_exec_launch(exec, stream));
  check(cushim_stream_synchronize(stream));
  check(cushim_context_copy(context, &on_host, &on_device, sizeof numbers));

  const double root = on_the_host(1, 2, width);
  uint32_t found;
  memcpy(&found, &numbers[4], sizeof found);
  printf("the root is %.9f; found: %s; on the host the same: %s\n", numbers[2], found ? "yes" : "no", root == numbers[2] ? "yes" : "no");

  check(cushim_exec_destroy(exec));
  check(cushim_graph_destroy(graph));
  check(cushim_library_destroy(library));
  check(cushim_context_free(context, memory));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return root != numbers[2] || !found;
}
