/*
 * Euclid's algorithm for many pairs of numbers: a graph of which one part is captured and the other built by hand. What goes straight on
 * is captured from a stream: the pairs come, a loop runs, the results go. The body of the loop is filled node by node. It prints the same
 * with every driver; CUSHIM_DRIVER=software needs no GPU.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 96, THREADS = 32, BYTES = PAIRS * 8 };

static const char ptx[] =
    ".version 8.3\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    /* (a, b) becomes (b, a mod b), unless b is 0. Counts the pairs that are not done. */
    ".visible .entry step(.param .u64 pairs, .param .u64 left) {\n"
    "  .reg .pred %done;\n"
    "  .reg .u32 %block, %threads, %i, %a, %b, %rest;\n"
    "  .reg .u64 %pairs, %left, %offset;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %i;\n"
    "  ld.param.u64 %pairs, [pairs];\n"
    "  ld.param.u64 %left, [left];\n"
    "  mul.wide.u32 %offset, %i, 8;\n"
    "  add.u64 %pairs, %pairs, %offset;\n"
    "  ld.global.u32 %a, [%pairs];\n"
    "  ld.global.u32 %b, [%pairs + 4];\n"
    "  setp.eq.u32 %done, %b, 0;\n"
    "  @%done bra end;\n"
    "  rem.u32 %rest, %a, %b;\n"
    "  st.global.u32 [%pairs], %b;\n"
    "  st.global.u32 [%pairs + 4], %rest;\n"
    "  setp.eq.u32 %done, %rest, 0;\n"
    "  @%done bra end;\n"
    "  red.global.add.u32 [%left], 1;\n"
    "end:\n"
    "  ret;\n"
    "}\n"
    /* Counts the rounds; there is another one while pairs are left. One thread. */
    ".visible .entry judge(.param .u64 condition, .param .u64 left) {\n"
    "  .reg .u32 %value, %rounds;\n"
    "  .reg .u64 %condition, %left;\n"
    "  ld.param.u64 %condition, [condition];\n"
    "  ld.param.u64 %left, [left];\n"
    "  ld.global.u32 %rounds, [%left + 4];\n"
    "  add.u32 %rounds, %rounds, 1;\n"
    "  st.global.u32 [%left + 4], %rounds;\n"
    "  ld.global.u32 %value, [%left];\n"
    "  {\n"
    "  .param .b64 handle;\n"
    "  .param .b32 number;\n"
    "  st.param.b64 [handle], %condition;\n"
    "  st.param.b32 [number], %value;\n"
    "  call.uni cudaGraphSetConditional, (handle, number);\n"
    "  }\n"
    "  ret;\n"
    "}\n";

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

struct pair {
  uint32_t a, b;
};

/* What is on the device: the pairs; how many are left to be done, and the number of rounds. */
struct memory {
  cushim_buffer pairs, counts;
};

static cushim_kernel kernel_of(cushim_library library, const char *name) {
  cushim_kernel kernel;
  check(cushim_kernel_create(library, name, &kernel));
  return kernel;
}

/* By hand: three nodes, one after the other. The graph keeps the kernels. */
static void fill_body(cushim_graph body, cushim_library library, const struct memory *memory, cushim_condition more) {
  cushim_launch_config config = {.struct_size = sizeof config, .grid = {PAIRS / THREADS, 1, 1}, .block = {THREADS, 1, 1}};
  cushim_kernel step = kernel_of(library, "step"), judge = kernel_of(library, "judge");
  cushim_endpoint left = cushim_endpoint_buffer(memory->counts, 0);
  const cushim_arg stepped[] = {cushim_arg_buffer(memory->pairs), cushim_arg_buffer(memory->counts)};
  const cushim_arg judged[] = {cushim_arg_make(CUSHIM_ARG_CONDITION, more), cushim_arg_buffer(memory->counts)};
  cushim_node none_left, all_stepped;
  check(cushim_graph_add_fill(body, CUSHIM_AFTER_NOTHING, &left, CUSHIM_VALUE_32(0), 1, &none_left));
  check(cushim_graph_add_kernel(body, CUSHIM_AFTER(none_left), step, &config, stepped, 2, &all_stepped));
  check(cushim_graph_add_kernel(body, CUSHIM_AFTER(all_stepped), judge, NULL, judged, 2, NULL));
  check(cushim_kernel_destroy(step));
  check(cushim_kernel_destroy(judge));
}

/* Captured: the pairs come, the loop runs, the pairs and the number of rounds go. */
static cushim_graph build(cushim_context context, cushim_library library, const struct memory *memory, const struct pair *pairs,
                          struct pair *results, uint32_t *rounds) {
  cushim_builder builder, body;
  cushim_graph graph, inside;
  cushim_condition more;
  cushim_condition_options options = {.struct_size = sizeof options, .initial = 1, .flags = CUSHIM_CONDITION_RESET};
  check(cushim_builder_create(context, NULL, &builder));
  check(cushim_builder_begin(builder));
  cushim_stream stream = cushim_builder_stream(builder);
  if (cushim_builder_create_condition(builder, &options, &more) == CUSHIM_ERROR_UNSUPPORTED) {
    printf("%s\n", cushim_last_error_message());
    exit(0);
  }
  cushim_endpoint device = cushim_endpoint_buffer(memory->pairs, 0), counts = cushim_endpoint_buffer(memory->counts, 0), host = cushim_endpoint_host(pairs);
  host.flags = CUSHIM_ENDPOINT_KEEP_BYTES; /* the graph has a copy of the pairs, and begins with it at each launch */
  check(cushim_stream_copy(stream, &device, &host, BYTES));
  check(cushim_stream_fill(stream, &counts, CUSHIM_VALUE_32(0), 2));

  /* The builder of a body that is never begun is only there for its graph. */
  check(cushim_builder_add_conditional(builder, more, CUSHIM_CONDITIONAL_WHILE, 1, NULL, &body));
  check(cushim_builder_get_graph(body, &inside));
  fill_body(inside, library, memory, more);
  check(cushim_builder_destroy(body));

  /* The capture goes on after the loop. */
  host = cushim_endpoint_host(results);
  host.flags = CUSHIM_ENDPOINT_CALLER_KEEPS;
  check(cushim_stream_copy(stream, &host, &device, BYTES));
  host.address = (uint64_t)(uintptr_t)rounds;
  counts = cushim_endpoint_buffer(memory->counts, 4);
  check(cushim_stream_copy(stream, &host, &counts, 4));
  check(cushim_builder_end(builder, &graph));
  check(cushim_builder_destroy(builder));
  check(cushim_set_label(graph, "hybrid"));
  return graph;
}

/* The rounds that a pair takes; `*result` is the greatest common divisor. */
static uint32_t on_the_host(struct pair pair, uint32_t *result) {
  uint32_t rounds = 0;
  for (; pair.b != 0; rounds++) {
    const uint32_t rest = pair.a % pair.b;
    pair.a = pair.b, pair.b = rest;
  }
  *result = pair.a;
  return rounds;
}

int main(int argc, char **argv) {
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: hybrid [--json FILE]\n\nFinds greatest common divisors, by a graph that is captured but for the body of its loop. With --json\n"
           "it writes the graph to FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_resource resource;
  cushim_stream stream;
  cushim_library library;
  cushim_exec exec;
  struct memory memory;
  struct pair pairs[PAIRS], *results;
  void *page;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_device_get_resource(device, &resource));
  check(cushim_buffer_create(resource, stream, BYTES, &memory.pairs));
  check(cushim_buffer_create(resource, stream, 8, &memory.counts));
  check(cushim_context_allocate_host(context, BYTES + 4, 0, &page));
  results = page;
  uint32_t *rounds = (uint32_t *)&results[PAIRS];
  for (uint32_t i = 0; i < PAIRS; i++) {
    pairs[i].a = 1000003 * i + 12;
    pairs[i].b = 30030 * (i % 17 + 1);
  }
  const char *code = kernels(context, ptx);
  cushim_status loaded = cushim_library_load(context, code, strlen(code) + 1, NULL, &library);
  if (loaded == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    printf("a loop in a graph needs a driver for CUDA 12.3 or newer\n");
    return 0;
  }
  check(loaded);

  cushim_graph graph = build(context, library, &memory, pairs, results, rounds);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  check(cushim_graph_destroy(graph));
  check(cushim_library_destroy(library));
  check(cushim_buffer_destroy(memory.pairs));
  check(cushim_buffer_destroy(memory.counts));

  int wrong = 0;
  for (int launch = 1; launch <= 2; launch++) {
    uint32_t most = 0;
    check(cushim_exec_launch(exec, stream));
    check(cushim_stream_synchronize(stream));
    for (int i = 0; i < PAIRS; i++) {
      uint32_t expected;
      const uint32_t took = on_the_host(pairs[i], &expected);
      if (took > most) most = took;
      wrong += results[i].a != expected;
    }
    wrong += *rounds != most;
    printf("launch %d: %u rounds, on the host %u; the last pair has %u; wrong so far: %d\n", launch, *rounds, most, results[PAIRS - 1].a,
           wrong);
  }

  check(cushim_exec_destroy(exec));
  check(cushim_context_free_host(context, page));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return wrong != 0;
}
