/*
 * What launches of an exec cost through cushim's C interface beside the driver's own, in one process and in turns: execs whose nodes keep a
 * kernel and a buffer, of 1, 10 and 100 nodes, in bursts of 1, 20 and 200 launches, in each sort of stream. Then changes of many nodes with
 * a launch between them, as a decoder makes them, and whether an exec that is changed and launched for ever keeps its memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
static cushim_kernel kernel;
static CUfunction function;
static cushim_buffer buffers[2];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}

/* A stream, by both names. */
struct lane {
  const char *name;
  cushim_stream ours;
  CUstream raw;
};

static void raw_add(CUgraph graph, size_t count, CUgraphNode *made, uint64_t *pointer, uint32_t *number) {
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
    for (i = 0; i < count; i++) MUST(cu->cuGraphAddKernelNode_12000(&made[i], graph, i == 0 ? NULL : &made[i - 1], i != 0, &params));
  } else {
    CUDA_KERNEL_NODE_PARAMS_v1 params;
    memset(&params, 0, sizeof params);
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = values;
    for (i = 0; i < count; i++) MUST(cu->cuGraphAddKernelNode_10000(&made[i], graph, i == 0 ? NULL : &made[i - 1], i != 0, &params));
  }
}

static void raw_set(CUgraphExec exec, size_t count, CUgraphNode *made, uint64_t *pointer, uint32_t *number) {
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

/* Its graph stays, for without it nothing can be set. */
static CUgraphExec raw_exec(size_t count, CUgraph *graph, CUgraphNode *made) {
  uint64_t pointer = cushim_buffer_pointer(buffers[0]);
  uint32_t number = 1;
  CUgraphExec exec;
  MUST(cu->cuGraphCreate_10000(graph, 0));
  raw_add(*graph, count, made, &pointer, &number);
  MUST(cu->cuGraphInstantiateWithFlags_11040(&exec, *graph, 0));
  return exec;
}

/* Each node keeps the kernel and a buffer. */
static cushim_exec our_exec(size_t count, uint32_t flags) {
  const uint32_t number = 1;
  const cushim_parameter parameter = {"number", &number, sizeof number, 0};
  const cushim_arg args[2] = {cushim_arg_buffer(buffers[0]), cushim_arg_make(CUSHIM_ARG_PARAMETER, &parameter)};
  cushim_exec_options options = CUSHIM_OPTIONS(cushim_exec_options);
  cushim_node before = NULL, node;
  cushim_graph graph;
  cushim_exec exec;
  size_t i;
  options.flags = flags;
  MUST(cushim_graph_create(context, NULL, &graph));
  for (i = 0; i < count; i++, before = node) MUST(cushim_graph_add_kernel(graph, &before, i != 0, kernel, NULL, args, 2, &node));
  MUST(cushim_exec_create(graph, &options, &exec, NULL));
  MUST(cushim_graph_destroy(graph));
  return exec;
}

/* Who launches: the driver; the driver, with an event recorded after each; cushim; cushim, with an exec that others may launch. */
enum way { RAW, MARKED, OURS, NATIVE, WAYS };

enum { MOST_ROUNDS = 1001 };
static double issued[WAYS][MOST_ROUNDS], done[WAYS][MOST_ROUNDS], paired[MOST_ROUNDS];

static double paired_difference(double taken[WAYS][MOST_ROUNDS], enum way way, enum way from, size_t rounds) {
  size_t i;
  for (i = 0; i < rounds; i++) paired[i] = taken[way][i] - taken[from][i];
  return median(paired, rounds);
}

static void burst(enum way way, const struct lane *lane, CUgraphExec raw, cushim_exec ours, CUevent event, size_t count, size_t round) {
  const double begun = now();
  double end;
  size_t i;
  switch (way) {
  case RAW:
    for (i = 0; i < count; i++) MUST(cu->cuGraphLaunch_10000(raw, lane->raw));
    break;
  case MARKED:
    for (i = 0; i < count; i++) {
      MUST(cu->cuGraphLaunch_10000(raw, lane->raw));
      MUST(cu->cuEventRecord_2000(event, lane->raw));
    }
    break;
  default:
    for (i = 0; i < count; i++) MUST(cushim_exec_launch(ours, lane->ours));
  }
  end = now();
  MUST(way == RAW || way == MARKED ? (int)cu->cuStreamSynchronize_2000(lane->raw) : cushim_stream_synchronize(lane->ours));
  issued[way][round] = (end - begun) / (double)count;
  done[way][round] = (now() - begun) / (double)count;
}

static void measure(const struct lane *lane, size_t nodes, size_t count, size_t rounds) {
  CUgraphNode made[100];
  CUgraph graph;
  CUgraphExec raw = raw_exec(nodes, &graph, made);
  cushim_exec ours = our_exec(nodes, 0), native = our_exec(nodes, CUSHIM_EXEC_NATIVE_LAUNCHES);
  CUevent event;
  const size_t warm = 3;
  double from_raw, from_marked, of_native, until_done;
  size_t round;
  int way;
  MUST(cu->cuEventCreate_2000(&event, CU_EVENT_DISABLE_TIMING));
  for (round = 0; round < warm + rounds; round++) {
    for (way = 0; way < WAYS; way++) {
      burst((enum way)way, lane, raw, way == NATIVE ? native : ours, event, count, round < warm ? 0 : round - warm);
    }
  }
  from_raw = paired_difference(issued, OURS, RAW, rounds);
  from_marked = paired_difference(issued, OURS, MARKED, rounds);
  of_native = paired_difference(issued, NATIVE, RAW, rounds);
  until_done = paired_difference(done, OURS, RAW, rounds);
  printf("| %s | %zu | %zu | %.0f | %.0f | %.0f | %+.0f | %+.0f | %+.0f | %+.0f |\n", lane->name, nodes, count, median(issued[RAW], rounds),
         median(issued[MARKED], rounds), median(issued[OURS], rounds), from_raw, from_marked, of_native, until_done);
  fflush(stdout);
  MUST(cushim_exec_destroy(ours));
  MUST(cushim_exec_destroy(native));
  MUST(cu->cuGraphExecDestroy_10000(raw));
  MUST(cu->cuGraphDestroy_10000(graph));
  MUST(cu->cuEventDestroy_4000(event));
}

/* What a change of all nodes takes, and with the launch that follows. */
enum change { SET_EACH, REBIND, SET_PARAMETER, CHANGES };
static const char *const change_names[CHANGES] = {"driver: set each node", "cushim_exec_rebind", "cushim_exec_set_parameter"};

static void change_many(const struct lane *lane, size_t nodes, size_t rounds) {
  static double changed[CHANGES][MOST_ROUNDS], launched[CHANGES][MOST_ROUNDS];
  CUgraphNode *made = (CUgraphNode *)malloc(nodes * sizeof *made);
  uint64_t pointers[2] = {cushim_buffer_pointer(buffers[0]), cushim_buffer_pointer(buffers[1])};
  CUgraph graph;
  CUgraphExec raw = raw_exec(nodes, &graph, made);
  cushim_exec ours = our_exec(nodes, 0);
  size_t round, reached = 0;
  int change;
  for (round = 0; round <= rounds; round++) { /* the first pays for what is done once */
    uint32_t number = (uint32_t)round;
    const size_t from = round % 2, to = 1 - from;
    for (change = 0; change < CHANGES; change++) {
      const double begun = now();
      double middle, end;
      if (change == SET_EACH) raw_set(raw, nodes, made, &pointers[to], &number);
      else if (change == REBIND) MUST(cushim_exec_rebind(ours, buffers[from], buffers[to], &reached));
      else MUST(cushim_exec_set_parameter(ours, "number", &number, sizeof number, &reached));
      middle = now();
      if (change == SET_EACH) MUST(cu->cuGraphLaunch_10000(raw, lane->raw));
      else MUST(cushim_exec_launch(ours, lane->ours));
      end = now();
      if (change == SET_EACH) MUST(cu->cuStreamSynchronize_2000(lane->raw));
      else MUST(cushim_stream_synchronize(lane->ours));
      must(change == SET_EACH || reached == nodes ? 0 : 1, "a change of all nodes");
      if (round == 0) continue;
      changed[change][round - 1] = middle - begun;
      launched[change][round - 1] = end - begun;
    }
  }
  printf("\nThe same changed in %zu nodes of an exec, with a launch after each change; medians of %zu rounds, nanoseconds for each node.\n\n"
         "| | change | of the driver's | with the launch | of the driver's |\n|---|---|---|---|---|\n",
         nodes, rounds);
  for (change = 0; change < CHANGES; change++) {
    const double each = median(changed[change], rounds), both = median(launched[change], rounds);
    printf("| %s | %.0f | %.2f | %.0f | %.2f |\n", change_names[change], each / (double)nodes, each / changed[SET_EACH][rounds / 2],
           both / (double)nodes, both / launched[SET_EACH][rounds / 2]);
  }
  MUST(cushim_exec_destroy(ours));
  MUST(cu->cuGraphExecDestroy_10000(raw));
  MUST(cu->cuGraphDestroy_10000(graph));
  free(made);
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

/* A new buffer in place of the old one before each launch; what it let go of is released when the launches that use it are done. */
static void rebind_for_ever(const struct lane *lane, cushim_resource resource, size_t times) {
  cushim_exec exec = our_exec(1, 0);
  cushim_buffer now_used = NULL;
  const size_t part = times / 10 == 0 ? 1 : times / 10;
  long before = 0, most = 0;
  double begun = 0;
  size_t i;
  MUST(cushim_buffer_create(resource, lane->ours, 4096, &now_used));
  MUST(cushim_exec_rebind(exec, buffers[0], now_used, NULL));
  for (i = 0; i < part + times; i++) {
    cushim_buffer next = NULL;
    if (i == part) before = resident(), begun = now(); /* by now everything is as large as it gets */
    MUST(cushim_buffer_create(resource, lane->ours, 4096, &next));
    MUST(cushim_exec_rebind(exec, now_used, next, NULL));
    MUST(cushim_buffer_destroy(now_used));
    now_used = next;
    MUST(cushim_exec_launch(exec, lane->ours));
    if (i % 100 != 0) continue;
    MUST(cushim_stream_synchronize(lane->ours));
    if (resident() > most) most = resident();
  }
  printf("\nRebound %zu times in a %s, each time to a new buffer and with a launch: %.0f nanoseconds each; %ld kB resident after the first %zu, "
         "%ld kB at most, %ld kB at the end.\n",
         times, lane->name, (now() - begun) / (double)times, before, part, most, resident());
  MUST(cushim_exec_destroy(exec));
  MUST(cushim_buffer_destroy(now_used));
}

static int usage(int status) {
  printf("usage: launches [--rounds N] [--nodes N] [--rebinds N]\n\nMeasures launches of execs in N rounds (101, at most %d), changes of N nodes (1000) with a launch\n"
         "after each, and N changes of an exec with a launch after each (1000000). Prints tables in Markdown: medians, and medians of the\n"
         "differences within each round; nanoseconds of the thread that launches, for each launch.\n",
         MOST_ROUNDS);
  return status;
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {1, 10, 100}, bursts[] = {1, 20, 200};
  enum { LANES = 4 };
  struct lane lanes[LANES] = {{"created stream", NULL, NULL}, {"borrowed stream", NULL, NULL}, {"legacy stream", NULL, NULL}, {"per-thread stream", NULL, NULL}};
  cushim_driver driver;
  cushim_device device;
  cushim_library library;
  cushim_resource resource;
  cushim_driver_info info;
  CUmodule module;
  size_t rounds = 101, nodes = 1000, rebinds = 1000000, size, many;
  int i, lane;
  for (i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--rounds") == 0) rounds = (size_t)strtoul(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--nodes") == 0) nodes = (size_t)strtoul(argv[i + 1], NULL, 10);
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
  MUST(cushim_stream_create(context, NULL, &lanes[0].ours)); /* its native handle is not asked for: then it is cushim's alone */
  MUST(cu->cuStreamCreate_2000(&lanes[0].raw, CU_STREAM_NON_BLOCKING));
  MUST(cu->cuStreamCreate_2000(&lanes[1].raw, CU_STREAM_NON_BLOCKING));
  MUST(cushim_stream_wrap(context, lanes[1].raw, CUSHIM_BORROWED, &lanes[1].ours));
  MUST(cushim_context_get_legacy_stream(context, &lanes[2].ours));
  MUST(cushim_context_get_per_thread_stream(context, &lanes[3].ours));
  lanes[2].raw = CU_STREAM_LEGACY;
  lanes[3].raw = CU_STREAM_PER_THREAD;
  MUST(cushim_device_get_resource(device, &resource));
  MUST(cushim_buffer_create(resource, lanes[0].ours, 4096, &buffers[0]));
  MUST(cushim_buffer_create(resource, lanes[0].ours, 4096, &buffers[1]));
  MUST(cushim_stream_synchronize(lanes[0].ours));
  MUST(cushim_library_load(context, ptx, sizeof ptx, NULL, &library));
  MUST(cushim_kernel_create(library, "nothing", &kernel));
  MUST(cu->cuModuleLoadData_2000(&module, ptx));
  MUST(cu->cuModuleGetFunction_2000(&function, module, "nothing"));

  printf("Launches of execs whose nodes keep a kernel and a buffer, CUDA %d.%d; medians of %zu rounds, nanoseconds for each launch. Differences are\n"
         "medians of those within each round.\n\n"
         "| stream | nodes | burst | driver | driver and event | cushim | cushim − driver | cushim − driver and event | native launches − driver | until "
         "done: cushim − driver |\n|---|---|---|---|---|---|---|---|---|---|\n",
         info.version / 1000, info.version % 1000 / 10, rounds);
  for (lane = 0; lane < LANES; lane++) {
    for (size = 0; size < sizeof sizes / sizeof *sizes; size++) {
      for (many = 0; many < sizeof bursts / sizeof *bursts; many++) measure(&lanes[lane], sizes[size], bursts[many], rounds);
    }
  }
  change_many(&lanes[0], nodes, rounds);
  if (rebinds > 0) {
    rebind_for_ever(&lanes[0], resource, rebinds);
    rebind_for_ever(&lanes[2], resource, rebinds / 10);
  }

  MUST(cushim_kernel_destroy(kernel));
  MUST(cushim_library_destroy(library));
  MUST(cu->cuModuleUnload_2000(module));
  MUST(cushim_buffer_destroy(buffers[0]));
  MUST(cushim_buffer_destroy(buffers[1]));
  MUST(cushim_stream_destroy(lanes[1].ours));
  MUST(cu->cuStreamDestroy_4000(lanes[1].raw));
  MUST(cu->cuStreamDestroy_4000(lanes[0].raw));
  MUST(cushim_stream_destroy(lanes[0].ours));
  MUST(cushim_context_clear_current(driver));
  MUST(cushim_context_destroy(context));
  MUST(cushim_driver_destroy(driver));
  return 0;
}
