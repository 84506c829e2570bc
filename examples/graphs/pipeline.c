/*
 * A pipeline with three lanes: a function on the host makes numbers, each lane takes a third of them to the device, works on them and
 * brings them back, where another function sums them up while the other lanes still work; a last one adds the sums. It is captured from
 * streams that fork and join, and launched once for each batch. It prints the same with every driver; CUSHIM_DRIVER=software needs no GPU.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 3, COUNT = 256, THREADS = 64, BATCHES = 5 }; /* COUNT numbers in each lane */

/* numbers[i] = numbers[i] * factor + i, modulo 2^32. */
static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry work(.param .u64 numbers, .param .u32 factor) {\n"
    "  .reg .u32 %block, %threads, %i, %factor, %number;\n"
    "  .reg .u64 %numbers, %offset;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %i;\n"
    "  ld.param.u64 %numbers, [numbers];\n"
    "  ld.param.u32 %factor, [factor];\n"
    "  mul.wide.u32 %offset, %i, 4;\n"
    "  add.u64 %numbers, %numbers, %offset;\n"
    "  ld.global.u32 %number, [%numbers];\n"
    "  mad.lo.u32 %number, %number, %factor, %i;\n"
    "  st.global.u32 [%numbers], %number;\n"
    "  ret;\n"
    "}\n";

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

/* What a lane works on. `numbers` is page-locked, so that copies need not wait. */
struct lane {
  uint32_t *numbers;
  uint32_t factor, sum;
};

/* What the functions on the host see. It has an owner: the graph gives it back when nothing can call them any more. */
struct pipeline {
  struct lane lanes[LANES];
  uint32_t batch, total;
  int is_released;
};

static uint32_t number_of(uint32_t batch, uint32_t lane, uint32_t i) { return batch * 7919 + lane * 104729 + i * 31; }

/* The functions on the host: nothing in them may call the driver. */
static void produce(void *data) {
  struct pipeline *pipeline = data;
  pipeline->batch++;
  for (uint32_t lane = 0; lane < LANES; lane++)
    for (uint32_t i = 0; i < COUNT; i++) pipeline->lanes[lane].numbers[i] = number_of(pipeline->batch, lane, i);
}

static void sum_up(void *data) {
  struct lane *lane = data;
  lane->sum = 0;
  for (int i = 0; i < COUNT; i++) lane->sum += lane->numbers[i];
}

static void collect(void *data) {
  struct pipeline *pipeline = data;
  for (int lane = 0; lane < LANES; lane++) pipeline->total += pipeline->lanes[lane].sum;
}

static void release(void *data) { ((struct pipeline *)data)->is_released++; }

/* There, work, back, and what came back is summed up. */
static void work_in(cushim_stream stream, cushim_kernel kernel, cushim_buffer buffer, struct lane *lane) {
  cushim_launch_config config = {.struct_size = sizeof config, .grid = {COUNT / THREADS, 1, 1}, .block = {THREADS, 1, 1}};
  const cushim_arg args[] = {cushim_arg_buffer(buffer), CUSHIM_ARG(lane->factor)};
  cushim_endpoint host = cushim_endpoint_host(lane->numbers), device = cushim_endpoint_buffer(buffer, 0);
  host.flags = CUSHIM_ENDPOINT_CALLER_KEEPS; /* each launch reads and writes the numbers of that time */
  check(cushim_stream_copy(stream, &device, &host, COUNT * 4));
  check(cushim_kernel_launch(kernel, stream, &config, args, 2));
  check(cushim_stream_copy(stream, &host, &device, COUNT * 4));
  check(cushim_stream_launch_host_function(stream, sum_up, lane, NULL));
}

static cushim_graph capture(cushim_context context, cushim_kernel kernel, const cushim_buffer *buffers, struct pipeline *pipeline) {
  static const char *const names[LANES - 1] = {"second lane", "third lane"};
  cushim_owner owner = {.data = pipeline, .release = release};
  cushim_builder builder, forks[LANES - 1];
  cushim_graph graph;
  check(cushim_builder_create(context, NULL, &builder));
  check(cushim_builder_begin(builder));
  check(cushim_stream_launch_host_function(cushim_builder_stream(builder), produce, pipeline, &owner));

  /* The forks begin after what was captured by now. The builder goes on beside them: it is the first lane. */
  check(cushim_builder_fork(builder, forks, LANES - 1));
  work_in(cushim_builder_stream(builder), kernel, buffers[0], &pipeline->lanes[0]);
  for (int i = 0; i < LANES - 1; i++) {
    check(cushim_set_label(forks[i], names[i])); /* a fork that is not joined is named in the error */
    work_in(cushim_builder_stream(forks[i]), kernel, buffers[i + 1], &pipeline->lanes[i + 1]);
  }

  /* What comes next comes after all lanes. */
  check(cushim_builder_join(builder, forks, LANES - 1));
  check(cushim_stream_launch_host_function(cushim_builder_stream(builder), collect, pipeline, NULL));
  check(cushim_builder_end(builder, &graph));
  check(cushim_set_label(graph, "pipeline"));
  for (int i = 0; i < LANES - 1; i++) check(cushim_builder_destroy(forks[i]));
  check(cushim_builder_destroy(builder));
  return graph;
}

static uint32_t on_the_host(void) {
  uint32_t total = 0;
  for (uint32_t batch = 1; batch <= BATCHES; batch++)
    for (uint32_t lane = 0; lane < LANES; lane++)
      for (uint32_t i = 0; i < COUNT; i++) total += number_of(batch, lane, i) * (lane + 3) + i;
  return total;
}

int main(int argc, char **argv) {
  const char *json = NULL;
  if (argc == 3 && strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    printf("usage: pipeline [--json FILE]\n\nWorks on batches of numbers in three lanes, by a graph that is captured once. With --json it\n"
           "writes the graph to FILE, of which examples/graphs/picture.py draws a picture.\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  cushim_driver driver;
  cushim_device device;
  cushim_context context;
  cushim_resource memory;
  cushim_stream stream;
  cushim_library library;
  cushim_kernel kernel;
  cushim_exec exec;
  cushim_buffer buffers[LANES];
  static struct pipeline pipeline;
  void *page;

  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_device_get_resource(device, &memory));
  const char *code = kernels(context, ptx);
  check(cushim_library_load(context, code, strlen(code) + 1, NULL, &library));
  check(cushim_kernel_create(library, "work", &kernel));
  check(cushim_context_allocate_host(context, LANES * COUNT * 4, 0, &page));
  for (uint32_t i = 0; i < LANES; i++) {
    check(cushim_buffer_create(memory, stream, COUNT * 4, &buffers[i]));
    pipeline.lanes[i].numbers = (uint32_t *)page + i * COUNT;
    pipeline.lanes[i].factor = i + 3;
  }
  check(cushim_stream_synchronize(stream));

  cushim_graph graph = capture(context, kernel, buffers, &pipeline);
  if (json != NULL) check(cushim_graph_write_json(graph, json, CUSHIM_JSON_WITHOUT_ADDRESSES));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  check(cushim_graph_destroy(graph));
  for (int i = 0; i < LANES; i++) check(cushim_buffer_destroy(buffers[i]));
  check(cushim_kernel_destroy(kernel));
  check(cushim_library_destroy(library));
  for (int i = 0; i < BATCHES; i++) check(cushim_exec_launch(exec, stream)); /* one batch after the other */
  check(cushim_stream_synchronize(stream));

  const int was_kept = !pipeline.is_released;
  check(cushim_exec_destroy(exec)); /* the owner is released soon, on a thread of the library's */
  printf("%u batches of %d numbers; the sum is %u, on the host %u\n", pipeline.batch, LANES * COUNT, pipeline.total, on_the_host());
  printf("kept while the graph is there: %s\n", was_kept ? "yes" : "no");

  check(cushim_context_free_host(context, page));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return pipeline.total != on_the_host() || !was_kept;
}
