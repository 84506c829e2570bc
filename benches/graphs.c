/*
 * What graphs cost through cushim's C interface beside the driver's own functions, in one process and in turns: nodes added, the whole
 * instantiated, launched and destroyed, and one argument set in an exec; how much memory of the host they take; then changes of many
 * nodes in one call, beside the driver's calls that each of them makes; and whether an exec that is changed for ever keeps its memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define CAN_MEASURE_MEMORY 1
#else
#define CAN_MEASURE_MEMORY 0
#endif

static const char ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry nothing(.param .u64 memory, .param .u32 number) { ret; }\n";

static void must(int status, const char *what) {
  if (status == 0) return;
  fprintf(stderr, "%s returned %d: %s\n", what, status, cushim_last_error_message());
  exit(1);
}
#define MUST(call) must(call, #call)

static const cushim_driver_table *cu;
static cushim_context context;
static cushim_stream stream;
static CUstream raw_stream;
static cushim_kernel kept, lent; /* the same code: of a library, which each node keeps, and somebody else's */
static CUfunction function;
static cushim_buffer buffer;
static size_t nodes = 10000;

/* Who adds the nodes: the driver alone; cushim, with nothing to keep; cushim, with the kernel and a buffer to keep. */
enum way { RAW, PLAIN, KEEPING, WAYS };
static const char *const way_names[WAYS] = {"driver", "cushim, nothing kept", "cushim, kernel and buffer kept"};

enum step { ADD, INSTANTIATE, FIRST_LAUNCH, LAUNCH, SET_ARGUMENT, DESTROY_EXEC, DESTROY, CAPTURE, STEPS };
static const char *const step_names[STEPS] = {"add, each node",        "instantiate, each node",  "first launch, each node", "launch, each node",
                                              "set one argument, each", "destroy exec, each node", "destroy graph, each node",
                                              "capture, each launch"};

/* The time that was spent on measuring memory, which does not count. */
static double stopped;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec - stopped;
}

/* Bytes of the heap that are in use, by whomever: driver and cushim. */
static double heap(void) {
#if CAN_MEASURE_MEMORY
  const double begun = now();
  const struct mallinfo2 info = mallinfo2();
  stopped += now() - begun;
  return (double)info.uordblks + (double)info.hblkhd;
#else
  return 0;
#endif
}

static void settle(void) { MUST(cushim_stream_synchronize(stream)); }

/* What is timed begins with the first mark. */
static double marks[STEPS + 1];

/* What the nodes take on the heap, and what their instance takes besides. */
enum memory { OF_GRAPH, OF_EXEC, MEMORIES };
static const char *const memory_names[MEMORIES] = {"memory of the graph, each node", "memory of the exec, each node"};
static double heaps[MEMORIES + 1];

static void raw_add(CUgraph graph, CUgraphNode *made, uint64_t *pointer, uint32_t *number) {
  void *values[2];
  size_t i;
  values[0] = pointer;
  values[1] = number;
  if (cu->cuGraphAddKernelNode_12000 != NULL) {
    CUDA_KERNEL_NODE_PARAMS_v2 params;
    memset(&params, 0, sizeof params);
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = values;
    for (i = 0; i < nodes; i++) MUST(cu->cuGraphAddKernelNode_12000(&made[i], graph, i == 0 ? NULL : &made[i - 1], i != 0, &params));
  } else {
    CUDA_KERNEL_NODE_PARAMS_v1 params;
    memset(&params, 0, sizeof params);
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = values;
    for (i = 0; i < nodes; i++) MUST(cu->cuGraphAddKernelNode_10000(&made[i], graph, i == 0 ? NULL : &made[i - 1], i != 0, &params));
  }
}

static void raw_set(CUgraphExec exec, CUgraphNode *made, size_t count, uint64_t *pointer, uint32_t *number) {
  void *values[2];
  size_t i;
  values[0] = pointer;
  values[1] = number;
  if (cu->cuGraphExecKernelNodeSetParams_12000 != NULL) {
    CUDA_KERNEL_NODE_PARAMS_v2 params;
    memset(&params, 0, sizeof params);
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = values;
    for (i = 0; i < count; i++) MUST(cu->cuGraphExecKernelNodeSetParams_12000(exec, made[i], &params));
  } else {
    CUDA_KERNEL_NODE_PARAMS_v1 params;
    memset(&params, 0, sizeof params);
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = values;
    for (i = 0; i < count; i++) MUST(cu->cuGraphExecKernelNodeSetParams_10010(exec, made[i], &params));
  }
}

static void raw_capture(uint64_t *pointer, uint32_t *number) {
  void *values[2];
  CUgraph graph;
  size_t i;
  values[0] = pointer;
  values[1] = number;
  MUST(cu->cuStreamBeginCapture_10010(raw_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (i = 0; i < nodes; i++) MUST(cu->cuLaunchKernel_4000(function, 1, 1, 1, 1, 1, 1, 0, raw_stream, values, NULL));
  marks[CAPTURE + 1] = now();
  MUST(cu->cuStreamEndCapture_10000(raw_stream, &graph));
  MUST(cu->cuGraphDestroy_10000(graph));
}

static void our_capture(cushim_kernel kernel, const cushim_arg *args) {
  cushim_builder builder;
  cushim_stream captured;
  size_t i;
  MUST(cushim_builder_create(context, NULL, &builder)); /* with a stream of its own, which the driver's calls do not name */
  MUST(cushim_builder_begin(builder));
  captured = cushim_builder_stream(builder);
  for (i = 0; i < nodes; i++) MUST(cushim_kernel_launch(kernel, captured, NULL, args, 2));
  marks[CAPTURE + 1] = now();
  MUST(cushim_builder_destroy(builder)); /* with what was captured */
}

static void raw_round(void) {
  CUgraphNode *made = (CUgraphNode *)malloc(nodes * sizeof *made);
  uint64_t pointer = cushim_buffer_pointer(buffer);
  uint32_t number = 1;
  CUgraph graph;
  CUgraphExec exec;
  MUST(cu->cuGraphCreate_10000(&graph, 0));
  heaps[OF_GRAPH] = heap();
  marks[0] = now();
  raw_add(graph, made, &pointer, &number);
  marks[1] = now();
  heaps[OF_EXEC] = heap();
  MUST(cu->cuGraphInstantiateWithFlags_11040(&exec, graph, 0));
  marks[2] = now();
  heaps[MEMORIES] = heap();
  MUST(cu->cuGraphLaunch_10000(exec, raw_stream));
  settle();
  marks[3] = now();
  MUST(cu->cuGraphLaunch_10000(exec, raw_stream));
  settle();
  marks[4] = now();
  number = 2;
  raw_set(exec, made, nodes, &pointer, &number);
  marks[5] = now();
  MUST(cu->cuGraphExecDestroy_10000(exec));
  marks[6] = now();
  MUST(cu->cuGraphDestroy_10000(graph));
  marks[7] = now();
  raw_capture(&pointer, &number);
  free(made);
}

static void our_round(int keeps) {
  cushim_node *made = (cushim_node *)malloc(nodes * sizeof *made);
  const uint64_t pointer = cushim_buffer_pointer(buffer);
  const uint32_t number = 1, other = 2;
  const cushim_arg args[2] = {keeps ? cushim_arg_buffer(buffer) : CUSHIM_ARG(pointer), CUSHIM_ARG(number)};
  const cushim_arg changed = CUSHIM_ARG(other);
  cushim_kernel kernel = keeps ? kept : lent;
  cushim_graph graph;
  cushim_exec exec;
  size_t i;
  MUST(cushim_graph_create(context, NULL, &graph));
  heaps[OF_GRAPH] = heap();
  marks[0] = now();
  for (i = 0; i < nodes; i++) MUST(cushim_graph_add_kernel(graph, i == 0 ? NULL : &made[i - 1], i != 0, kernel, NULL, args, 2, &made[i]));
  marks[1] = now();
  heaps[OF_EXEC] = heap();
  MUST(cushim_exec_create(graph, NULL, &exec, NULL));
  marks[2] = now();
  heaps[MEMORIES] = heap();
  MUST(cushim_exec_launch(exec, stream));
  settle();
  marks[3] = now();
  MUST(cushim_exec_launch(exec, stream));
  settle();
  marks[4] = now();
  for (i = 0; i < nodes; i++) MUST(cushim_exec_set_argument(exec, made[i], 1, &changed));
  marks[5] = now();
  MUST(cushim_exec_destroy(exec));
  marks[6] = now();
  MUST(cushim_graph_destroy(graph));
  marks[7] = now();
  our_capture(kernel, args);
  free(made);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}

enum { MOST_ROUNDS = 101 };
static double taken[WAYS][STEPS][MOST_ROUNDS], used[WAYS][MEMORIES][MOST_ROUNDS];

static void print_head(void) {
  int way;
  printf("\n|");
  for (way = 0; way < WAYS; way++) printf(" | %s", way_names[way]);
  printf(" |\n|---|---|---|---|\n");
}

/* Changes of many nodes: by the driver, a call for each node; by cushim in one call. */
enum change { SET_EACH, REBIND, SET_PARAMETER, CHANGES };
static const char *const change_names[CHANGES] = {"driver: set each node", "cushim_exec_rebind", "cushim_exec_set_parameter"};
static double changed[CHANGES][MOST_ROUNDS];

/* A graph of kernels that all use the buffer, and all have the parameter. */
static cushim_exec bound_exec(size_t count, cushim_node *made) {
  const uint32_t number = 1;
  const cushim_parameter parameter = {"number", &number, sizeof number, 0};
  const cushim_arg args[2] = {cushim_arg_buffer(buffer), cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter)};
  cushim_graph graph;
  cushim_exec exec;
  size_t i;
  MUST(cushim_graph_create(context, NULL, &graph));
  for (i = 0; i < count; i++) MUST(cushim_graph_add_kernel(graph, i == 0 ? NULL : &made[i - 1], i != 0, kept, NULL, args, 2, &made[i]));
  MUST(cushim_exec_create(graph, NULL, &exec, NULL));
  MUST(cushim_graph_destroy(graph));
  MUST(cushim_exec_launch(exec, stream));
  settle();
  return exec;
}

static void change_many(size_t count, size_t rounds, cushim_buffer other) {
  cushim_node *ours = (cushim_node *)malloc(count * sizeof *ours);
  CUgraphNode *raw = (CUgraphNode *)malloc(nodes * sizeof *raw);
  uint64_t pointers[2] = {cushim_buffer_pointer(buffer), cushim_buffer_pointer(other)};
  cushim_buffer buffers[2] = {buffer, other};
  cushim_exec exec = bound_exec(count, ours);
  uint32_t number = 1;
  size_t round, reached;
  CUgraph graph;
  CUgraphExec raw_exec;
  MUST(cu->cuGraphCreate_10000(&graph, 0));
  raw_add(graph, raw, pointers, &number);
  MUST(cu->cuGraphInstantiateWithFlags_11040(&raw_exec, graph, 0));
  MUST(cu->cuGraphLaunch_10000(raw_exec, raw_stream));
  settle();
  for (round = 0; round <= rounds; round++) { /* the first pays for what is done once */
    const size_t from = round % 2, to = (round + 1) % 2;
    double times[4];
    number = (uint32_t)round;
    times[0] = now();
    raw_set(raw_exec, raw, count, &pointers[to], &number);
    times[1] = now();
    MUST(cushim_exec_rebind(exec, buffers[from], buffers[to], &reached));
    times[2] = now();
    must(reached == count ? 0 : 1, "cushim_exec_rebind of all nodes");
    MUST(cushim_exec_set_parameter(exec, "number", &number, sizeof number, &reached));
    times[3] = now();
    must(reached == count ? 0 : 1, "cushim_exec_set_parameter of all nodes");
    for (int change = 0; change < CHANGES && round > 0; change++) changed[change][round - 1] = times[change + 1] - times[change];
  }
  MUST(cu->cuGraphExecDestroy_10000(raw_exec));
  MUST(cu->cuGraphDestroy_10000(graph));
  MUST(cushim_exec_destroy(exec));
  free(ours);
  free(raw);
}

/* Kilobytes that the process has in memory; 0 where nobody tells. */
static long resident(void) {
  long pages = 0, all = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  fclose(file);
  return pages * 4;
}

/* An exec that is rebound again and again, and launched now and then, by which what it let go of is released. */
static void rebind_often(size_t times, cushim_buffer other) {
  cushim_buffer buffers[2] = {buffer, other};
  cushim_node node;
  cushim_exec exec = bound_exec(1, &node);
  const size_t part = times / 10 == 0 ? 1 : times / 10;
  double begun = 0;
  long before = 0;
  size_t i;
  for (i = 0; i < part + times; i++) {
    if (i == part) before = resident(), begun = now(); /* by now everything is as large as it gets */
    MUST(cushim_exec_rebind(exec, buffers[i % 2], buffers[(i + 1) % 2], NULL));
    if (i % 100 != 0) continue;
    MUST(cushim_exec_launch(exec, stream));
    settle();
  }
  printf("\nRebound %zu times: %.0f nanoseconds each, with a launch for every hundred; %ld kB resident before, %ld kB after.\n", times,
         (now() - begun) / (double)times, before, resident());
  MUST(cushim_exec_destroy(exec));
}

static void print_changes(size_t count, size_t rounds) {
  int change;
  printf("\nThe same changed in %zu nodes of an exec; medians of %zu rounds, nanoseconds for each node.\n\n| | each node | of the driver's |\n|---|---|---|\n",
         count, rounds);
  const double driver = median(changed[SET_EACH], rounds) / (double)count;
  for (change = 0; change < CHANGES; change++) {
    const double each = median(changed[change], rounds) / (double)count;
    printf("| %s | %.0f | %.2f |\n", change_names[change], each, each / driver);
  }
}

static int usage(int status) {
  printf("usage: graphs [--nodes N] [--rounds N] [--rebinds N]\n\nMeasures graphs of N kernel nodes in a chain (10000) in N rounds (9, at most %d), changes of 1000 of\n"
         "them in one call, and N changes of an exec (1000000). Prints tables in Markdown: medians, nanoseconds and bytes.\n",
         MOST_ROUNDS);
  return status;
}

int main(int argc, char **argv) {
  cushim_driver driver;
  cushim_device device;
  cushim_library library;
  cushim_resource resource;
  cushim_driver_info info;
  CUmodule module;
  cushim_buffer other;
  size_t rounds = 9, rebinds = 1000000, many, round;
  int way, step, i;
  for (i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--nodes") == 0) nodes = (size_t)strtoul(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--rounds") == 0) rounds = (size_t)strtoul(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--rebinds") == 0) rebinds = (size_t)strtoul(argv[i + 1], NULL, 10);
    else return usage(2);
  }
  if (i < argc) return usage(strcmp(argv[i], "--help") == 0 ? 0 : 2);
  if (nodes == 0 || rounds == 0 || rounds > MOST_ROUNDS) return usage(2);

  MUST(cushim_driver_open(NULL, &driver));
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  MUST(cushim_driver_get_info(driver, &info));
  MUST(cushim_driver_get_table(driver, CUSHIM_TABLE_LEGACY_STREAM, &cu));
  MUST(cushim_driver_get_device(driver, 0, &device));
  MUST(cushim_context_retain_primary(device, &context));
  MUST(cushim_context_set_current(context)); /* for the driver's own functions */
  MUST(cushim_stream_create(context, NULL, &stream));
  MUST(cushim_stream_native(stream, &raw_stream));
  MUST(cushim_device_get_resource(device, &resource));
  MUST(cushim_buffer_create(resource, stream, 4096, &buffer));
  MUST(cushim_library_load(context, ptx, sizeof ptx, NULL, &library));
  MUST(cushim_kernel_create(library, "nothing", &kept));
  MUST(cu->cuModuleLoadData_2000(&module, ptx));
  MUST(cu->cuModuleGetFunction_2000(&function, module, "nothing"));
  MUST(cushim_kernel_wrap_function(context, function, NULL, NULL, &lent));

  for (round = 0; round <= rounds; round++) { /* the first pays for what is done once */
    for (way = 0; way < WAYS; way++) {
      if (way == RAW) raw_round();
      else our_round(way == KEEPING);
      for (step = 0; step < STEPS && round > 0; step++) {
        taken[way][step][round - 1] = (marks[step + 1] - marks[step]) / (double)nodes;
      }
      for (step = 0; step < MEMORIES && round > 0; step++) {
        used[way][step][round - 1] = (heaps[step + 1] - heaps[step]) / (double)nodes;
      }
    }
  }
  printf("Graphs of %zu kernel nodes in a chain, CUDA %d.%d; medians of %zu rounds, nanoseconds.\n", nodes, info.version / 1000,
         info.version % 1000 / 10, rounds);
  print_head();
  for (step = 0; step < STEPS; step++) {
    printf("| %s", step_names[step]);
    for (way = 0; way < WAYS; way++) printf(" | %.0f", median(taken[way][step], rounds));
    printf(" |\n");
  }
  printf("\nBytes of the host's memory, of the driver and cushim together.\n");
  print_head();
  for (step = 0; step < MEMORIES; step++) {
    printf("| %s", memory_names[step]);
    for (way = 0; way < WAYS; way++) {
      if (CAN_MEASURE_MEMORY) printf(" | %.0f", median(used[way][step], rounds));
      else printf(" | –");
    }
    printf(" |\n");
  }

  many = nodes < 1000 ? nodes : 1000;
  MUST(cushim_buffer_create(resource, stream, 4096, &other));
  change_many(many, rounds, other);
  print_changes(many, rounds);
  if (rebinds > 0) rebind_often(rebinds, other);
  MUST(cushim_buffer_destroy(other));

  MUST(cushim_kernel_destroy(lent));
  MUST(cushim_kernel_destroy(kept));
  MUST(cushim_library_destroy(library));
  MUST(cu->cuModuleUnload_2000(module));
  MUST(cushim_buffer_destroy(buffer));
  MUST(cushim_stream_destroy(stream));
  MUST(cushim_context_clear_current(driver));
  MUST(cushim_context_destroy(context));
  MUST(cushim_driver_destroy(driver));
  return 0;
}
