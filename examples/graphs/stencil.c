/*
 * Heat spreads in a plate. The steps of the solver are ordinary calls in a stream: they run once as they are, and once into a builder,
 * which makes a graph of them. The graph is captured once and launched many times. It prints the same with every driver;
 * CUSHIM_DRIVER=software needs no GPU.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64, HEIGHT = 48, CELLS = WIDTH * HEIGHT, BYTES = CELLS * 4, THREADS = 16, STEPS = 4, LAUNCHES = 50 };

/* to = the mean of the four neighbours in from; the rim stays as it is. One thread for each cell. */
static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry step(.param .u64 to, .param .u64 from, .param .u32 width, .param .u32 height) {\n"
    "  .reg .pred %rim;\n"
    "  .reg .u32 %block, %threads, %x, %y, %width, %height, %last, %i, %row;\n"
    "  .reg .u64 %to, %from, %offset, %above, %below;\n"
    "  .reg .f32 %sum, %more;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %x, %tid.x;\n"
    "  mad.lo.u32 %x, %block, %threads, %x;\n"
    "  mov.u32 %block, %ctaid.y;\n"
    "  mov.u32 %threads, %ntid.y;\n"
    "  mov.u32 %y, %tid.y;\n"
    "  mad.lo.u32 %y, %block, %threads, %y;\n"
    "  ld.param.u32 %width, [width];\n"
    "  ld.param.u32 %height, [height];\n"
    "  ld.param.u64 %to, [to];\n"
    "  ld.param.u64 %from, [from];\n"
    "  mad.lo.u32 %i, %y, %width, %x;\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %to, %to, %offset;\n"
    "  add.u64 %from, %from, %offset;\n"
    "  ld.global.f32 %sum, [%from];\n"
    "  setp.eq.u32 %rim, %x, 0;\n"
    "  @%rim bra store;\n"
    "  setp.eq.u32 %rim, %y, 0;\n"
    "  @%rim bra store;\n"
    "  sub.u32 %last, %width, 1;\n"
    "  setp.eq.u32 %rim, %x, %last;\n"
    "  @%rim bra store;\n"
    "  sub.u32 %last, %height, 1;\n"
    "  setp.eq.u32 %rim, %y, %last;\n"
    "  @%rim bra store;\n"
    "  shl.b32 %row, %width, 2;\n" /* the bytes of a row */
    "  cvt.u64.u32 %offset, %row;\n"
    "  sub.u64 %above, %from, %offset;\n"
    "  add.u64 %below, %from, %offset;\n"
    "  ld.global.f32 %sum, [%from + -4];\n"
    "  ld.global.f32 %more, [%from + 4];\n"
    "  add.rn.f32 %sum, %sum, %more;\n"
    "  ld.global.f32 %more, [%above];\n"
    "  add.rn.f32 %sum, %sum, %more;\n"
    "  ld.global.f32 %more, [%below];\n"
    "  add.rn.f32 %sum, %sum, %more;\n"
    "  mul.rn.f32 %sum, %sum, 0f3E800000;\n" /* 1/4 */
    "store:\n"
    "  st.global.f32 [%to], %sum;\n"
    "  ret;\n"
    "}\n";

/* Whatever went wrong, the library has a sentence for it. */
static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

struct plate {
  cushim_kernel step;
  cushim_buffer now, next;
  float *result; /* page-locked */
};

/* An even number of steps, there and back, and a copy of the plate. It does not know whether the stream is captured. */
static void solve(cushim_stream stream, const struct plate *plate) {
  cushim_launch_config config = {
      .struct_size = sizeof config, .grid = {WIDTH / THREADS, HEIGHT / THREADS, 1}, .block = {THREADS, THREADS, 1}};
  const uint32_t width = WIDTH, height = HEIGHT;
  for (int i = 0; i < STEPS; i++) {
    cushim_buffer to = i % 2 == 0 ? plate->next : plate->now, from = i % 2 == 0 ? plate->now : plate->next;
    const cushim_arg args[] = {cushim_arg_buffer(to), cushim_arg_buffer(from), CUSHIM_ARG(width), CUSHIM_ARG(height)};
    check(cushim_kernel_launch(plate->step, stream, &config, args, 4));
  }
  cushim_endpoint to = cushim_endpoint_host(plate->result), from = cushim_endpoint_buffer(plate->now, 0);
  to.flags = CUSHIM_ENDPOINT_CALLER_KEEPS; /* the page outlives the graph, which writes to it at each launch */
  check(cushim_stream_copy(stream, &to, &from, BYTES));
}

/* The same calls as a graph. */
static cushim_graph capture(cushim_context context, const struct plate *plate) {
  cushim_builder builder;
  cushim_graph graph;
  check(cushim_builder_create(context, NULL, &builder));
  check(cushim_builder_begin(builder));
  solve(cushim_builder_stream(builder), plate);
  check(cushim_builder_end(builder, &graph));
  check(cushim_builder_destroy(builder));
  check(cushim_set_label(graph, "stencil"));
  return graph;
}

/* The same on the host, operation by operation: the results are equal to the last bit. */
static void on_the_host(float *now, int steps) {
  static float next[CELLS];
  memcpy(next, now, BYTES);
  for (int i = 0; i < steps; i++) {
    float *to = i % 2 == 0 ? next : now, *from = i % 2 == 0 ? now : next;
    for (int y = 1; y < HEIGHT - 1; y++) {
      for (int x = 1; x < WIDTH - 1; x++) {
        const float *here = &from[y * WIDTH + x];
        const float beside = here[-1] + here[1], above = beside + here[-WIDTH], all = above + here[WIDTH];
        to[y * WIDTH + x] = all * 0.25f;
      }
    }
  }
}

static int differing(const float *a, const float *b) {
  int count = 0;
  for (int i = 0; i < CELLS; i++) count += a[i] != b[i];
  return count;
}

int main(int argc, char **argv) {
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: stencil [--json FILE]\n\nSpreads heat in a plate, by a graph that is captured once. With --json it writes the graph to\n"
           "FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_resource memory;
  cushim_stream stream;
  cushim_library library;
  cushim_exec exec;
  struct plate plate;
  static float start[CELLS];
  void *page;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_device_get_resource(device, &memory));
  const char *code = kernels(context, ptx);
  check(cushim_library_load(context, code, strlen(code) + 1, NULL, &library));
  check(cushim_kernel_create(library, "step", &plate.step));
  check(cushim_buffer_create(memory, stream, BYTES, &plate.now));
  check(cushim_buffer_create(memory, stream, BYTES, &plate.next));
  check(cushim_context_allocate_host(context, BYTES, 0, &page));
  plate.result = page;
  for (int x = 0; x < WIDTH; x++) start[x] = 100; /* one side is hot, and stays hot */
  cushim_endpoint to = cushim_endpoint_buffer(plate.now, 0), from = cushim_endpoint_host(start);
  check(cushim_stream_copy(stream, &to, &from, BYTES));

  /* Directly: the driver is called for each step. */
  solve(stream, &plate);
  check(cushim_stream_synchronize(stream));
  on_the_host(start, STEPS);
  int wrong = differing(plate.result, start);
  printf("%d steps, one call each: %d of %d cells differ from the host's\n", STEPS, wrong, CELLS);

  /* As a graph: it goes on from there, with one call for each STEPS steps. */
  cushim_graph graph = capture(context, &plate);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  /* The graph keeps what it uses. */
  check(cushim_graph_destroy(graph));
  check(cushim_buffer_destroy(plate.now));
  check(cushim_buffer_destroy(plate.next));
  check(cushim_kernel_destroy(plate.step));
  check(cushim_library_destroy(library));
  for (int i = 0; i < LAUNCHES; i++) check(cushim_exec_launch(exec, stream));
  check(cushim_stream_synchronize(stream));
  on_the_host(start, STEPS * LAUNCHES);
  wrong += differing(plate.result, start);
  printf("%d steps more in %d launches: %d cells differ; the middle has %.3f degrees\n", STEPS * LAUNCHES, LAUNCHES,
         differing(plate.result, start), plate.result[HEIGHT / 2 * WIDTH + WIDTH / 2]);

  check(cushim_exec_destroy(exec));
  check(cushim_stream_synchronize(stream));
  check(cushim_context_free_host(context, page));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return wrong != 0;
}
