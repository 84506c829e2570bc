/*
 * Heat spreads in a rod. A graph allocates two rows of cells, steps from one to the other in a loop until hardly anything changes, and
 * frees them; it is built once and launched once. It prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 64, THREADS = 32, MOST_ROUNDS = 2000 };
static const float TOLERANCE = 4e-3f;

/* Two kernels: one step of the heat, and the question whether it goes on. */
static const char ptx[] =
    ".version 8.3\n"
    ".target sm_80\n"
    ".address_size 64\n"
    /* The driver's own: nothing has to be linked. */
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    /* to[i] = from[i] + (from[i - 1] - 2 from[i] + from[i + 1]) / 4; both ends stay as they are. */
    ".visible .entry step(.param .u64 to, .param .u64 from, .param .u32 cells) {\n"
    "  .reg .pred %end;\n"
    "  .reg .u32 %block, %threads, %thread, %i, %last;\n"
    "  .reg .u64 %to, %from, %offset;\n"
    "  .reg .f32 %left, %here, %right;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %thread;\n"
    "  ld.param.u32 %last, [cells];\n"
    "  sub.u32 %last, %last, 1;\n"
    "  setp.gt.u32 %end, %i, %last;\n"
    "  @%end bra done;\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u64 %from, [from];\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %to, %to, %offset;\n"
    "  add.u64 %from, %from, %offset;\n"
    "  ld.global.f32 %here, [%from];\n"
    "  setp.eq.u32 %end, %i, 0;\n"
    "  @%end bra store;\n"
    "  setp.eq.u32 %end, %i, %last;\n"
    "  @%end bra store;\n"
    "  ld.global.f32 %left, [%from + -4];\n"
    "  ld.global.f32 %right, [%from + 4];\n"
    "  add.rn.f32 %left, %left, %right;\n"
    "  mul.rn.f32 %right, %here, 0f40000000;\n" /* 2 */
    "  sub.rn.f32 %left, %left, %right;\n"
    "  mul.rn.f32 %left, %left, 0f3E800000;\n" /* 1/4 */
    "  add.rn.f32 %here, %here, %left;\n"
    "store:\n"
    "  st.global.f32 [%to], %here;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    /* One thread looks at all cells, which are few. It counts the rounds, and goes on while a cell changes and rounds are left. */
    ".visible .entry judge(.param .u64 condition, .param .u64 now, .param .u64 before, .param .u64 rounds, .param .u32 most,\n"
    "                      .param .u32 cells, .param .f32 tolerance) {\n"
    "  .reg .pred %p, %more;\n"
    "  .reg .u32 %i, %cells, %rounds, %most, %value;\n"
    "  .reg .u64 %now, %before, %count, %condition;\n"
    "  .reg .f32 %a, %b, %most_change, %tolerance;\n"
    "  ld.param.u64 %now, [now];\n"
    "  ld.param.u64 %before, [before];\n"
    "  ld.param.u64 %count, [rounds];\n"
    "  ld.param.u32 %cells, [cells];\n"
    "  ld.param.u32 %most, [most];\n"
    "  ld.param.f32 %tolerance, [tolerance];\n"
    "  mov.f32 %most_change, 0f00000000;\n"
    "  mov.u32 %i, 0;\n"
    "next:\n"
    "  ld.global.f32 %a, [%now];\n"
    "  ld.global.f32 %b, [%before];\n"
    "  sub.rn.f32 %a, %a, %b;\n"
    "  abs.f32 %a, %a;\n"
    "  max.f32 %most_change, %most_change, %a;\n"
    "  add.u64 %now, %now, 4;\n"
    "  add.u64 %before, %before, 4;\n"
    "  add.u32 %i, %i, 1;\n"
    "  setp.lt.u32 %p, %i, %cells;\n"
    "  @%p bra next;\n"
    "  ld.global.u32 %rounds, [%count];\n"
    "  add.u32 %rounds, %rounds, 1;\n"
    "  st.global.u32 [%count], %rounds;\n"
    "  setp.lt.u32 %p, %rounds, %most;\n"
    "  setp.gt.and.f32 %more, %most_change, %tolerance, %p;\n"
    "  selp.u32 %value, 1, 0, %more;\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  {\n"
    "  .param .b64 handle;\n"
    "  .param .b32 number;\n"
    "  st.param.b64 [handle], %condition;\n"
    "  st.param.b32 [number], %value;\n"
    "  call.uni cudaGraphSetConditional, (handle, number);\n"
    "  }\n"
    "  ret;\n"
    "}\n";

/* Whatever went wrong, the library has a sentence for it. */
static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

static cushim_kernel kernel_of(cushim_library library, const char *name) {
  cushim_kernel kernel;
  check(cushim_kernel_create(library, name, &kernel));
  return kernel;
}

/* Memory that the graph allocates when it is launched. The address is known now. */
static cushim_node add_allocation(cushim_graph graph, cushim_node after, size_t bytes, uint64_t *pointer) {
  cushim_graph_allocation allocation = {.struct_size = sizeof allocation, .bytes = bytes};
  cushim_node node;
  check(cushim_graph_add_allocation(graph, &after, after != NULL, &allocation, &node, pointer));
  return node;
}

static cushim_node add_step(cushim_graph graph, cushim_node after, cushim_kernel kernel, uint64_t to, uint64_t from) {
  cushim_launch_config config = {.struct_size = sizeof config, .grid = {CELLS / THREADS, 1, 1}, .block = {THREADS, 1, 1}};
  const uint32_t cells = CELLS;
  const cushim_arg args[] = {CUSHIM_ARG(to), CUSHIM_ARG(from), CUSHIM_ARG(cells)};
  cushim_node node;
  check(cushim_graph_add_kernel(graph, &after, after != NULL, kernel, &config, args, 3, &node));
  return node;
}

/* The same on the host, operation by operation: the results are equal to the last bit. */
static uint32_t on_the_host(float *a) {
  static float b[CELLS];
  for (uint32_t rounds = 1;; rounds++) {
    float most_change = 0;
    for (int half = 0; half < 2; half++) {
      float *from = half ? b : a, *to = half ? a : b;
      to[0] = from[0], to[CELLS - 1] = from[CELLS - 1];
      for (int i = 1; i < CELLS - 1; i++) {
        const float sum = from[i - 1] + from[i + 1], twice = from[i] * 2, curve = sum - twice, quarter = curve * 0.25f;
        to[i] = from[i] + quarter;
      }
    }
    for (int i = 0; i < CELLS; i++) {
      const float change = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
      if (change > most_change) most_change = change;
    }
    if (rounds >= MOST_ROUNDS || most_change <= TOLERANCE) return rounds;
  }
}

static void say_done(void *data) { *(int *)data = 1; }

struct result {
  float *cells;
  uint32_t *rounds;
  int called;
};

/* Everything that the program does on the device. The graph keeps what it uses: handles may go as soon as it is built. */
static cushim_graph build(cushim_context context, cushim_library library, cushim_event begun, cushim_event ended, const float *start,
                          struct result *result) {
  cushim_kernel step = kernel_of(library, "step"), judge = kernel_of(library, "judge");
  cushim_graph graph, steps, body, inner;
  uint64_t a, b, rounds;

  check(cushim_graph_create(context, NULL, &graph));
  check(cushim_set_label(graph, "heat"));
  cushim_condition_options options = {.struct_size = sizeof options, .initial = 1, .flags = CUSHIM_CONDITION_RESET};
  cushim_condition more;
  if (cushim_condition_create(graph, &options, &more) == CUSHIM_ERROR_UNSUPPORTED) {
    printf("%s\n", cushim_last_error_message());
    exit(0);
  }
  cushim_node allocated = add_allocation(graph, NULL, CELLS * sizeof(float), &a);
  allocated = add_allocation(graph, allocated, CELLS * sizeof(float), &b);
  allocated = add_allocation(graph, allocated, sizeof(uint32_t), &rounds);

  /* The graph has a copy of the cells at the start. */
  cushim_endpoint to = cushim_endpoint_device(a), from = cushim_endpoint_host(start);
  cushim_node ready[2], node, loop, results[2];
  from.flags = CUSHIM_ENDPOINT_KEEP_BYTES;
  check(cushim_graph_add_copy(graph, CUSHIM_AFTER(allocated), &to, &from, CELLS * sizeof(float), &ready[0]));
  to = cushim_endpoint_device(rounds);
  check(cushim_graph_add_fill(graph, CUSHIM_AFTER(allocated), &to, CUSHIM_VALUE_32(0), 1, &ready[1]));
  check(cushim_graph_add_event_record(graph, ready, 2, begun, &node));

  /* A round: two steps, there and back, as a child graph; then the question whether there is another round. */
  check(cushim_graph_add_conditional(graph, CUSHIM_AFTER(node), more, CUSHIM_CONDITIONAL_WHILE, 1, &loop, &body));
  check(cushim_set_label(loop, "until it is even"));
  check(cushim_graph_create(context, NULL, &steps));
  add_step(steps, add_step(steps, NULL, step, b, a), step, a, b);
  check(cushim_graph_add_child(body, CUSHIM_AFTER_NOTHING, steps, CUSHIM_CHILD_CLONE, &node, &inner));
  check(cushim_set_label(inner, "there and back"));
  check(cushim_graph_destroy(steps));
  const uint32_t most = MOST_ROUNDS, cells = CELLS;
  const cushim_arg args[] = {cushim_arg_make(CUSHIM_ARG_CONDITION, more), CUSHIM_ARG(a), CUSHIM_ARG(b), CUSHIM_ARG(rounds),
                             CUSHIM_ARG(most), CUSHIM_ARG(cells), CUSHIM_ARG(TOLERANCE)};
  check(cushim_graph_add_kernel(body, CUSHIM_AFTER(node), judge, NULL, args, 7, NULL));

  check(cushim_graph_add_event_record(graph, CUSHIM_AFTER(loop), ended, &node));
  to = cushim_endpoint_host(result->cells);
  to.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  from = cushim_endpoint_device(a);
  check(cushim_graph_add_copy(graph, CUSHIM_AFTER(node), &to, &from, CELLS * sizeof(float), &results[0]));
  to.address = (uint64_t)(uintptr_t)result->rounds;
  from = cushim_endpoint_device(rounds);
  check(cushim_graph_add_copy(graph, CUSHIM_AFTER(node), &to, &from, sizeof(uint32_t), &results[1]));
  check(cushim_graph_add_host_function(graph, results, 2, say_done, &result->called, NULL, &node));
  check(cushim_graph_add_free(graph, CUSHIM_AFTER(node), a, NULL));
  check(cushim_graph_add_free(graph, CUSHIM_AFTER(node), b, NULL));
  check(cushim_graph_add_free(graph, CUSHIM_AFTER(node), rounds, NULL));

  check(cushim_kernel_destroy(step));
  check(cushim_kernel_destroy(judge));
  return graph;
}

static cushim_event new_event(cushim_context context) {
  cushim_event_options options = {.struct_size = sizeof options, .flags = CUSHIM_EVENT_TIMING};
  cushim_event event;
  check(cushim_event_create(context, &options, &event));
  return event;
}

int main(int argc, char **argv) {
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: heat [--json FILE]\n\nSpreads heat in a rod, in a graph with a loop. With --json it writes the graph to FILE, of which\n"
           "examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_library library;
  cushim_exec exec;
  static float start[CELLS];
  struct result result = {NULL, NULL, 0};
  void *page;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_context_allocate_host(context, (CELLS + 1) * 4, 0, &page));
  result.cells = page;
  result.rounds = (uint32_t *)page + CELLS;
  for (int i = CELLS / 4; i < CELLS / 2; i++) start[i] = 100; /* a hot part */
  start[CELLS - 1] = 20;                                      /* and a warm end, which stays warm */

  cushim_event begun = new_event(context), ended = new_event(context);
  const char *code = kernels(context, ptx);
  cushim_status loaded = cushim_library_load(context, code, strlen(code) + 1, NULL, &library);
  if (loaded == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    printf("a loop in a graph needs a driver for CUDA 12.3 or newer\n");
    return 0;
  }
  check(loaded);
  cushim_graph graph = build(context, library, begun, ended, start, &result);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  check(cushim_library_destroy(library));
  check(cushim_graph_destroy(graph));
  check(cushim_exec_launch(exec, stream));
  check(cushim_stream_synchronize(stream));

  float took; /* milliseconds */
  check(cushim_event_elapsed(begun, ended, &took));
  const uint32_t rounds = on_the_host(start);
  int wrong = 0;
  for (int i = 0; i < CELLS; i++) wrong += result.cells[i] != start[i];
  printf("%u rounds; on the host %u\n", *result.rounds, rounds);
  printf("%d cells, %d differ from the host's; the middle has %.3f degrees\n", CELLS, wrong, result.cells[CELLS / 2]);
  printf("called back: %s; the loop took time: %s\n", result.called ? "yes" : "no", took >= 0 ? "yes" : "no");
  wrong += *result.rounds != rounds;

  check(cushim_exec_destroy(exec));
  check(cushim_event_destroy(begun));
  check(cushim_event_destroy(ended));
  check(cushim_context_free_host(context, page));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return wrong != 0;
}
