/*
 * A kernel updates another node of its graph: how many blocks that has, and one of its arguments. The functions for it are device code of
 * NVIDIA's, in the static library libcudadevrt.a of the CUDA toolkit; the driver links it with the PTX (cuLinkAddFile).
 *
 * It needs CUDA 12.4 and a GPU. It has not run on one yet: that its results are right is not verified.
 */
#include "kernels.h"
#include <cushim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ptx[] =
    ".version 8.3\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".extern .func (.param .b32 result) cudaGraphKernelNodeSetParam (.param .b64 node, .param .b64 offset, .param .b64 value,\n"
    "  .param .b64 size);\n"
    ".extern .func (.param .b32 result) cudaGraphKernelNodeSetGridDim (.param .b64 node, .param .align 4 .b8 grid[12]);\n"
    /* Gives a node as many blocks, and as its first argument the number, as `wish` says; then `wish` has the two results. */
    ".visible .entry decide(.param .u64 node, .param .u64 wish) {\n"
    "  .reg .u32 %blocks, %first, %second;\n"
    "  .reg .u64 %node, %wish, %value;\n"
    "  ld.param.u64 %node, [node];\n"
    "  ld.param.u64 %wish, [wish];\n"
    "  ld.global.u32 %blocks, [%wish];\n"
    "  add.u64 %value, %wish, 4;\n"
    "  cvta.global.u64 %value, %value;\n"
    "  {\n"
    "  .param .b64 which;\n"
    "  .param .b64 offset;\n"
    "  .param .b64 value;\n"
    "  .param .b64 size;\n"
    "  .param .b32 result;\n"
    "  st.param.b64 [which], %node;\n"
    "  st.param.b64 [offset], 0;\n"
    "  st.param.b64 [value], %value;\n"
    "  st.param.b64 [size], 4;\n"
    "  call.uni (result), cudaGraphKernelNodeSetParam, (which, offset, value, size);\n"
    "  ld.param.b32 %first, [result];\n"
    "  }\n"
    "  {\n"
    "  .param .b64 which;\n"
    "  .param .align 4 .b8 grid[12];\n"
    "  .param .b32 result;\n"
    "  st.param.b64 [which], %node;\n"
    "  st.param.b32 [grid], %blocks;\n"
    "  st.param.b32 [grid + 4], 1;\n"
    "  st.param.b32 [grid + 8], 1;\n"
    "  call.uni (result), cudaGraphKernelNodeSetGridDim, (which, grid);\n"
    "  ld.param.b32 %second, [result];\n"
    "  }\n"
    "  st.global.u32 [%wish], %first;\n"
    "  st.global.u32 [%wish + 4], %second;\n"
    "  ret;\n"
    "}\n"
    /* Each thread adds the number to the total. */
    ".visible .entry count(.param .u32 number, .param .u64 total) {\n"
    "  .reg .u32 %number;\n"
    "  .reg .u64 %total;\n"
    "  ld.param.u32 %number, [number];\n"
    "  ld.param.u64 %total, [total];\n"
    "  red.global.add.u32 [%total], %number;\n"
    "  ret;\n"
    "}\n";

enum { THREADS = 64, LOG = 4096 };

static void check(cushim_status status) {
  if (status == CUSHIM_SUCCESS) return;
  fprintf(stderr, "%s\n", cushim_last_error_message());
  exit(1);
}

static char log_text[LOG];

static void check_linked(const char *what, CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %s\n%s\n", what, cushim_status_name(result), log_text);
  exit(1);
}

/* Links the PTX with the device runtime library, and loads what comes of it. */
static cushim_library link_and_load(cushim_driver driver, cushim_context context, const char *runtime) {
  const char *kernels_ptx = kernels(context, ptx);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log_text, (void *)(uintptr_t)LOG};
  const cushim_driver_table *cu;
  cushim_library library;
  CUlinkState state;
  void *code;
  size_t size;
  check(cushim_driver_get_table(driver, CUSHIM_TABLE_LEGACY_STREAM, &cu));
  check(cushim_context_set_current(context)); /* the raw tier works in the current context */
  check_linked("cuLinkCreate", cu->cuLinkCreate_6050(2, options, values, &state));
  check_linked("cuLinkAddData",
               cu->cuLinkAddData_6050(state, CU_JIT_INPUT_PTX, (void *)kernels_ptx, strlen(kernels_ptx) + 1, "update.ptx", 0, NULL, NULL));
  check_linked(runtime, cu->cuLinkAddFile_6050(state, CU_JIT_INPUT_LIBRARY, runtime, 0, NULL, NULL));
  check_linked("cuLinkComplete", cu->cuLinkComplete_5050(state, &code, &size));
  check(cushim_library_load(context, code, size, NULL, &library));
  check_linked("cuLinkDestroy", cu->cuLinkDestroy_5050(state)); /* the code was its own */
  check(cushim_context_clear_current(driver));
  return library;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    printf("usage: device_update LIBCUDADEVRT\n\nA kernel updates another node of its graph. LIBCUDADEVRT is the file of NVIDIA's device runtime\n"
           "library, such as /usr/local/cuda/lib64/libcudadevrt.a. Without it nothing is done.\n");
    return 0;
  }
  if (argc != 2) {
    printf("a kernel that updates a node needs NVIDIA's device runtime library: name its file, libcudadevrt.a of the CUDA toolkit\n");
    return argc == 1 ? 0 : 2;
  }
  FILE *file = fopen(argv[1], "rb");
  if (file == NULL) {
    printf("there is no device runtime library at %s: it comes with the CUDA toolkit, as lib64/libcudadevrt.a\n", argv[1]);
    return 1;
  }
  fclose(file);

  cushim_driver driver;
  cushim_driver_info info = {.struct_size = sizeof info};
  cushim_device device;
  cushim_context context;
  cushim_stream stream;
  cushim_kernel decide, count;
  uint64_t total, wish;
  int wrong = 0;
  check(cushim_driver_open(NULL, &driver));
  check(cushim_driver_get_info(driver, &info));
  if (info.version < 12040) {
    printf("a kernel that updates a node needs a driver for CUDA 12.4 or newer\n");
    return 0;
  }
  check(cushim_driver_get_device(driver, 0, &device));
  check(cushim_context_retain_primary(device, &context));
  check(cushim_stream_create(context, NULL, &stream));
  check(cushim_context_allocate(context, 4, &total));
  check(cushim_context_allocate(context, 8, &wish));
  cushim_library library = link_and_load(driver, context, argv[1]);
  check(cushim_kernel_create(library, "decide", &decide));
  check(cushim_kernel_create(library, "count", &count));

  /* The node that is updated says so, with the bytes of a CUlaunchAttributeValue; it comes after the one that updates it. */
  int32_t updatable = 1;
  uint32_t number = 0;
  cushim_launch_attribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE};
  memcpy(attribute.value, &updatable, sizeof updatable);
  cushim_launch_config config = {.struct_size = sizeof config, .grid = {1, 1, 1}, .block = {THREADS, 1, 1},
                                 .attributes = &attribute, .attribute_count = 1, .attribute_stride = sizeof attribute};
  cushim_endpoint to = cushim_endpoint_device(total);
  cushim_arg counted[] = {CUSHIM_ARG(number), CUSHIM_ARG(total)};
  cushim_graph graph;
  cushim_exec exec;
  cushim_node zero, counting, deciding;
  CUgraphDeviceNode handle;
  check(cushim_graph_create(context, NULL, &graph));
  check(cushim_graph_add_fill(graph, CUSHIM_AFTER_NOTHING, &to, CUSHIM_VALUE_32(0), 1, &zero));
  check(cushim_graph_add_kernel(graph, CUSHIM_AFTER(zero), count, &config, counted, 2, &counting));
  check(cushim_node_get_device_node(counting, &handle));
  cushim_arg decided[] = {CUSHIM_ARG(handle), CUSHIM_ARG(wish)};
  check(cushim_graph_add_kernel(graph, CUSHIM_AFTER_NOTHING, decide, NULL, decided, 2, &deciding));
  cushim_edge edge = {.from_node = deciding, .to_node = counting};
  check(cushim_graph_add_edges(graph, &edge, 1));
  check(cushim_exec_create(graph, NULL, &exec, NULL));
  check(cushim_exec_upload(exec, stream)); /* before kernels update its nodes */

  for (uint32_t blocks = 1; blocks <= 4; blocks++) {
    uint32_t wishes[2] = {blocks, 10 * blocks}, result = 0;
    cushim_endpoint there = cushim_endpoint_device(wish), here = cushim_endpoint_host(wishes), sum = cushim_endpoint_host(&result);
    check(cushim_context_copy(context, &there, &here, sizeof wishes));
    check(cushim_exec_launch(exec, stream));
    check(cushim_stream_synchronize(stream));
    check(cushim_context_copy(context, &sum, &to, sizeof result));
    check(cushim_context_copy(context, &here, &there, sizeof wishes));
    printf("%u blocks of %d threads add %u each: %u, expected %u; results %u, %u\n", blocks, THREADS, 10 * blocks, result,
           blocks * THREADS * 10 * blocks, wishes[0], wishes[1]);
    wrong += result != blocks * THREADS * 10 * blocks;
  }

  check(cushim_exec_destroy(exec));
  check(cushim_graph_destroy(graph));
  check(cushim_kernel_destroy(decide));
  check(cushim_kernel_destroy(count));
  check(cushim_library_destroy(library));
  check(cushim_context_free(context, total));
  check(cushim_context_free(context, wish));
  check(cushim_stream_destroy(stream));
  check(cushim_context_destroy(context));
  check(cushim_driver_destroy(driver));
  return wrong != 0;
}
