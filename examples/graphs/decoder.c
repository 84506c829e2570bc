/*
 * A decoder's loop. Each step has a new input buffer, one more position in the cache, and writes to the other of two output buffers.
 * The work of a step is captured once; afterwards the exec is told only what is new: cushim_exec_rebind exchanges a buffer,
 * cushim_exec_set_parameter the length. The same work is done in a plain stream, too, and the results are compared. CUSHIM_DRIVER=software
 * needs no GPU.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 24, LAYERS = 8, WIDTH = 32, ROW = WIDTH * sizeof(uint32_t), CACHE = STEPS * ROW };

/* A layer appends the row to its cache, and mixes all rows of the cache into it: of integers, so that results are exact. */
static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry attend(.param .u64 row, .param .u64 cache, .param .u32 length) {\n"
    "  .reg .pred %more;\n"
    "  .reg .u32 %i, %width, %t, %length, %mine, %cached, %sum;\n"
    "  .reg .u64 %row, %cache, %offset, %stride;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %width, %ntid.x;\n"
    "  ld.param.u64 %row, [row];\n"
    "  ld.param.u64 %cache, [cache];\n"
    "  ld.param.u32 %length, [length];\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  mul.wide.u32 %stride, %width, 4;\n"
    "  add.u64 %row, %row, %offset;\n"
    "  add.u64 %cache, %cache, %offset;\n"
    "  ld.global.u32 %mine, [%row];\n"
    "  cvt.u64.u32 %offset, %length;\n" /* cache[length] = row */
    "  mad.lo.u64 %offset, %offset, %stride, %cache;\n"
    "  st.global.u32 [%offset], %mine;\n"
    "  mov.u32 %sum, 0;\n"
    "  mov.u32 %t, 0;\n"
    "next:\n" /* for all rows up to that one */
    "  ld.global.u32 %cached, [%cache];\n"
    "  mad.lo.u32 %sum, %sum, 31, %cached;\n"
    "  add.u64 %cache, %cache, %stride;\n"
    "  add.u32 %t, %t, 1;\n"
    "  setp.le.u32 %more, %t, %length;\n"
    "  @%more bra next;\n"
    "  mad.lo.u32 %mine, %mine, 5, %sum;\n"
    "  st.global.u32 [%row], %mine;\n"
    "  ret;\n"
    "}\n";

struct decoder {
  cushim_context context;
  cushim_stream stream;
  cushim_resource resource;
  cushim_library library;
  cushim_kernel attend;
  cushim_buffer row, caches, outputs[2];
  cushim_buffer results; /* the output of every step */
};

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

static cushim_buffer new_buffer(const struct decoder *decoder, size_t bytes) {
  cushim_buffer buffer;
  check(cushim_buffer_create(decoder->resource, decoder->stream, bytes, &buffer));
  return buffer;
}

/* What a step begins with: a buffer that nobody has seen before. */
static cushim_buffer new_input(const struct decoder *decoder, uint32_t step) {
  cushim_buffer input = new_buffer(decoder, ROW);
  cushim_endpoint all = cushim_endpoint_buffer(input, 0);
  check(cushim_stream_fill(decoder->stream, &all, CUSHIM_VALUE_32(step * 2654435761u + 1), WIDTH));
  return input;
}

/*
 * The work of a step, enqueued in any stream. `length` is a parameter: in a plain stream that is just its value; in a stream that is
 * captured all arguments of this name can be changed at once afterwards.
 */
static void enqueue_step(const struct decoder *decoder, cushim_stream stream, cushim_buffer input, cushim_buffer output, uint32_t length) {
  cushim_launch_config config = {.struct_size = sizeof config, .grid = {1, 1, 1}, .block = {WIDTH, 1, 1}};
  cushim_parameter parameter = {.name = "length", .value = &length, .size = sizeof length};
  cushim_endpoint row = cushim_endpoint_buffer(decoder->row, 0), in = cushim_endpoint_buffer(input, 0), out = cushim_endpoint_buffer(output, 0);
  check(cushim_stream_copy(stream, &row, &in, ROW));
  for (uint32_t layer = 0; layer < LAYERS; layer++) {
    cushim_endpoint cache = cushim_endpoint_buffer(decoder->caches, layer * (uint64_t)CACHE);
    cushim_arg args[] = {cushim_arg_buffer(decoder->row), cushim_arg_endpoint(&cache), cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter)};
    check(cushim_kernel_launch(decoder->attend, stream, &config, args, 3));
  }
  check(cushim_stream_copy(stream, &out, &row, ROW));
}

/* The other work of a step, the same in both versions: somebody reads the output. */
static void keep_output(const struct decoder *decoder, cushim_buffer output, uint32_t step) {
  cushim_endpoint to = cushim_endpoint_buffer(decoder->results, step * (uint64_t)ROW), from = cushim_endpoint_buffer(output, 0);
  check(cushim_stream_copy(decoder->stream, &to, &from, ROW));
}

static void decode_in_stream(const struct decoder *decoder) {
  for (uint32_t step = 0; step < STEPS; step++) {
    cushim_buffer input = new_input(decoder, step), output = decoder->outputs[step % 2];
    enqueue_step(decoder, decoder->stream, input, output, step);
    keep_output(decoder, output, step);
    check(cushim_buffer_destroy(input)); /* in stream order: after the work */
  }
}

/* The step as a graph. It keeps buffers and kernel, so what it uses cannot go before it. */
static cushim_graph capture_step(const struct decoder *decoder, cushim_buffer input) {
  cushim_builder builder;
  cushim_graph graph;
  check(cushim_builder_create(decoder->context, NULL, &builder));
  check(cushim_builder_begin(builder));
  enqueue_step(decoder, cushim_builder_stream(builder), input, decoder->outputs[0], 0);
  check(cushim_builder_end(builder, &graph));
  check(cushim_set_label(graph, "step"));
  check(cushim_builder_destroy(builder));
  return graph;
}

static void decode_by_graph(const struct decoder *decoder, cushim_exec exec, cushim_buffer *input) {
  for (uint32_t step = 0; step < STEPS; step++) {
    cushim_buffer next = new_input(decoder, step), output = decoder->outputs[step % 2];
    check(cushim_exec_rebind(exec, *input, next, NULL));
    check(cushim_exec_rebind(exec, decoder->outputs[(step + 1) % 2], output, NULL)); /* no node has it in step 0, which is no error */
    check(cushim_exec_set_parameter(exec, "length", &step, sizeof step, NULL));
    check(cushim_exec_launch(exec, decoder->stream));
    keep_output(decoder, output, step);
    check(cushim_buffer_destroy(*input)); /* launches that are not done keep it as long as they need it */
    *input = next;
  }
  /* The next round begins with output 0 again. */
  check(cushim_exec_rebind(exec, decoder->outputs[(STEPS - 1) % 2], decoder->outputs[0], NULL));
}

static void read_results(const struct decoder *decoder, uint32_t *numbers) {
  cushim_endpoint to = cushim_endpoint_host(numbers), from = cushim_endpoint_buffer(decoder->results, 0);
  check(cushim_stream_copy(decoder->stream, &to, &from, STEPS * ROW));
  check(cushim_stream_synchronize(decoder->stream));
}

static double microseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static struct decoder open_decoder(cushim_device device) {
  struct decoder decoder;
  check(cushim_context_retain_primary(device, &decoder.context));
  check(cushim_stream_create(decoder.context, NULL, &decoder.stream));
  check(cushim_device_get_resource(device, &decoder.resource));
  const char *code = kernels(decoder.context, ptx);
  check(cushim_library_load(decoder.context, code, strlen(code) + 1, NULL, &decoder.library));
  check(cushim_kernel_create(decoder.library, "attend", &decoder.attend));
  decoder.row = new_buffer(&decoder, ROW);
  decoder.caches = new_buffer(&decoder, (size_t)LAYERS * CACHE);
  decoder.results = new_buffer(&decoder, (size_t)STEPS * ROW);
  for (int i = 0; i < 2; i++) decoder.outputs[i] = new_buffer(&decoder, ROW);
  return decoder;
}

static void close_decoder(struct decoder *decoder) {
  for (int i = 0; i < 2; i++) check(cushim_buffer_destroy(decoder->outputs[i]));
  check(cushim_buffer_destroy(decoder->results));
  check(cushim_buffer_destroy(decoder->caches));
  check(cushim_buffer_destroy(decoder->row));
  check(cushim_kernel_destroy(decoder->attend));
  check(cushim_library_destroy(decoder->library));
  check(cushim_stream_destroy(decoder->stream));
  check(cushim_context_destroy(decoder->context));
}

int main(int argc, char **argv) {
  static uint32_t plain[STEPS * WIDTH], replayed[STEPS * WIDTH];
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: decoder [--json FILE]\n\nDoes the steps of a decoder in a stream, and by a graph that is captured once. With --json it writes the\n"
           "graph to FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_exec exec;
  double times[3];

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  struct decoder decoder = open_decoder(device);
  cushim_buffer input = new_input(&decoder, 0);
  cushim_graph graph = capture_step(&decoder, input);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  check(cushim_graph_destroy(graph)); /* the exec needs it no more */

  for (int round = 0; round < 2; round++) { /* the first round pays for what is done once */
    times[0] = microseconds();
    decode_in_stream(&decoder);
    read_results(&decoder, plain);
    times[1] = microseconds();
    decode_by_graph(&decoder, exec, &input);
    read_results(&decoder, replayed);
    times[2] = microseconds();
  }
  const int is_equal = memcmp(plain, replayed, sizeof plain) == 0;
  printf("%d steps of %d layers; the last number is %u, and all are %s\n", STEPS, LAYERS, replayed[STEPS * WIDTH - 1],
         is_equal ? "equal" : "NOT equal");
  printf("microseconds per step: %.1f in the stream, %.1f by the graph\n", (times[1] - times[0]) / STEPS, (times[2] - times[1]) / STEPS);

  check(cushim_exec_destroy(exec));
  check(cushim_buffer_destroy(input));
  close_decoder(&decoder);
  check(cushim_driver_destroy(driver));
  return !is_equal;
}
