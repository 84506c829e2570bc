/*
 * A program for cuda.h of CUDA 13 on drivers before: what an older form of a function can do, it does; seen on softcuda.
 */
#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif
#include <cuda.h>

#include "check.h"

static void times(void) {
  CUevent start, end;
  float milliseconds = -1;
  CHECK_OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CHECK_OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CHECK_OK(cuEventRecord(start, NULL));
  CHECK_OK(cuEventRecord(end, NULL));
  CHECK_OK(cuEventSynchronize(end));
  CHECK_OK(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  CHECK_OK(cuEventDestroy(start));
  CHECK_OK(cuEventDestroy(end));
}

static void managed(CUdevice device, int version) {
  CUmemLocation location;
  CUdeviceptr pages;
  memset(&location, 0, sizeof location);
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  CHECK_OK(cuMemAllocManaged(&pages, 65536, CU_MEM_ATTACH_GLOBAL));
  CHECK_OK(cuMemAdvise(pages, 65536, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location));
  CHECK_OK(cuMemPrefetchAsync(pages, 65536, location, 0, NULL));
  location.type = CU_MEM_LOCATION_TYPE_HOST;
  CHECK_OK(cuMemPrefetchAsync(pages, 65536, location, 0, NULL));
  CHECK_OK(cuCtxSynchronize());
  if (version < 12020) {
    /* The older form has no nodes of memory. */
    location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuMemPrefetchAsync(pages, 65536, location, 0, NULL));
    CHECK_CONTAINS(last_message(), "12.2");
  }
  CHECK_OK(cuMemFree(pages));
}

static void lookup(void) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  void *function = NULL;
  CHECK_OK(cuGetProcAddress("cuInit", &function, 2000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
  CHECK(function != NULL && found == CU_GET_PROC_ADDRESS_SUCCESS);
  CHECK_OK(cuGetProcAddress("cuInit", &function, 2000, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
}

static CUfunction kernel(CUmodule *module) {
  static const char text[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".visible .entry one(.param .u64 to) {\n"
      "  .reg .b64 %to;\n"
      "  ld.param.u64 %to, [to];\n"
      "  red.global.add.u32 [%to], 1;\n"
      "  ret;\n"
      "}\n";
  CUfunction function = NULL;
  CHECK_OK(cuModuleLoadData(module, text));
  CHECK_OK(cuModuleGetFunction(&function, *module, "one"));
  return function;
}

/* Nodes of kernels are told and changed, as long as the kernel is a CUfunction. */
static void kernel_nodes(int version) {
  CUDA_KERNEL_NODE_PARAMS params, told;
  CUgraphExecUpdateResultInfo info;
  CUmodule module;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  CUdeviceptr sum;
  unsigned int value = 0;
  void *arguments[] = {&sum};
  memset(&params, 0, sizeof params);
  params.func = kernel(&module);
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = arguments;
  CHECK_OK(cuMemAlloc(&sum, sizeof value));
  CHECK_OK(cuMemsetD32(sum, 0, 1));
  CHECK_OK(cuGraphCreate(&graph, 0));
  CHECK_OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
  memset(&told, 0xff, sizeof told);
  CHECK_OK(cuGraphKernelNodeGetParams(node, &told));
  CHECK(told.func == params.func && told.gridDimX == 1 && told.blockDimZ == 1 && told.sharedMemBytes == 0);
  CHECK(told.kern == NULL && told.extra == NULL);
  CHECK(version >= 12000 || told.ctx == NULL);
  params.blockDimX = 2;
  CHECK_OK(cuGraphKernelNodeSetParams(node, &params));
  CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
  CHECK_OK(cuGraphLaunch(exec, NULL));
  params.blockDimX = 40;
  CHECK_OK(cuGraphExecKernelNodeSetParams(exec, node, &params));
  CHECK_OK(cuGraphLaunch(exec, NULL));
  memset(&info, 0xff, sizeof info);
  CHECK_OK(cuGraphExecUpdate(exec, graph, &info));
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && info.errorNode == NULL && info.errorFromNode == NULL);
  CHECK_OK(cuGraphLaunch(exec, NULL));
  CHECK_OK(cuMemcpyDtoH(&value, sum, sizeof value));
  CHECK(value == 2 + 40 + 2);
  CHECK_OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
  CHECK_STATUS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, graph, &info));
  /* The older form does not say what is wrong where no node is to blame. */
  CHECK(info.result == (version < 12000 ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
                                        : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED));
  if (version < 12000) {
    /* The older form has no CUkernel. */
    params.kern = (CUkernel)arguments;
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    CHECK_CONTAINS(last_message(), "12.0");
  }
  CHECK_OK(cuGraphExecDestroy(exec));
  CHECK_OK(cuGraphDestroy(graph));
  CHECK_OK(cuModuleUnload(module));
  CHECK_OK(cuMemFree(sum));
}

/* Edges without data. */
static void edges(int version) {
  CUgraph graph;
  CUgraphNode first, second, from, to;
  CUgraphEdgeData data;
  size_t count = 1;
  CHECK_OK(cuGraphCreate(&graph, 0));
  CHECK_OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
  CHECK_OK(cuGraphAddEmptyNode(&second, graph, NULL, 0));
  CHECK_OK(cuGraphAddDependencies(graph, &first, &second, NULL, 1));
  CHECK_OK(cuGraphGetEdges(graph, &from, &to, NULL, &count));
  CHECK(count == 1 && from == first && to == second);
  CHECK_OK(cuGraphNodeGetDependencies(second, &from, NULL, &count));
  CHECK(count == 1 && from == first);
  CHECK_OK(cuGraphNodeGetDependentNodes(first, &to, NULL, &count));
  CHECK(count == 1 && to == second);
  CHECK_OK(cuGraphRemoveDependencies(graph, &first, &second, NULL, 1));
  CHECK_OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
  CHECK(count == 0);
  if (version >= 12020) {
    CUgraphNodeParams params;
    memset(&params, 0, sizeof params);
    params.type = CU_GRAPH_NODE_TYPE_EMPTY;
    CHECK_OK(cuGraphAddNode(&to, graph, &first, NULL, 1, &params));
  }
  if (version < 12030) {
    memset(&data, 0, sizeof data);
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuGraphAddDependencies(graph, &first, &second, &data, 1));
    CHECK_CONTAINS(last_message(), "12.3");
  }
  CHECK_OK(cuGraphDestroy(graph));
}

/* Batches of copies say which copy failed in the older form only. */
static void batches(int version) {
  enum { BYTES = 64 };
  CUmemcpyAttributes attributes;
  CUDA_MEMCPY3D_BATCH_OP copy;
  CUdeviceptr from, to;
  CUstream stream;
  size_t bytes = BYTES, first = 0;
  unsigned char values[BYTES];
  CUresult expected = version < 12080 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  memset(&attributes, 0, sizeof attributes);
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cuMemAlloc(&from, BYTES));
  CHECK_OK(cuMemAlloc(&to, BYTES));
  CHECK_OK(cuMemsetD8Async(from, 7, BYTES, stream));
  CHECK_OK(cuMemsetD8Async(to, 0, BYTES, stream));
  CHECK_STATUS(expected, cuMemcpyBatchAsync(&to, &from, &bytes, 1, &attributes, &first, 1, stream));
  CHECK_OK(cuStreamSynchronize(stream));
  CHECK_OK(cuMemcpyDtoH(values, to, BYTES));
  CHECK(values[0] == (version < 12080 ? 0 : 7) && values[BYTES - 1] == values[0]);
  memset(&copy, 0, sizeof copy);
  copy.src.type = copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  copy.src.op.ptr.ptr = to;
  copy.dst.op.ptr.ptr = from;
  copy.extent.width = BYTES;
  copy.extent.height = copy.extent.depth = 1;
  copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK_OK(cuMemsetD8Async(to, 9, BYTES, stream));
  CHECK_STATUS(expected, cuMemcpy3DBatchAsync(1, &copy, 0, stream));
  CHECK_OK(cuStreamSynchronize(stream));
  CHECK_OK(cuMemcpyDtoH(values, from, BYTES));
  CHECK(values[0] == (version < 12080 ? 7 : 9) && values[BYTES - 1] == values[0]);
  CHECK_OK(cuMemFree(from));
  CHECK_OK(cuMemFree(to));
  CHECK_OK(cuStreamDestroy(stream));
}

/* Values of memory that streams write and wait for: the form before 11.7 is there, and does it only where the machine allows it. */
static void values(int version) {
  CUstreamBatchMemOpParams op;
  CUdeviceptr at;
  CUstream stream;
  cuuint64_t value = 0;
  CUresult expected = version < 11070 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cuMemAlloc(&at, sizeof value));
  CHECK_STATUS(expected, cuStreamWriteValue64(stream, at, 6, 0));
  CHECK_STATUS(expected, cuStreamWaitValue64(stream, at, 6, CU_STREAM_WAIT_VALUE_EQ));
  CHECK_STATUS(expected, cuStreamWriteValue32(stream, at, 7, 0));
  CHECK_STATUS(expected, cuStreamWaitValue32(stream, at, 7, CU_STREAM_WAIT_VALUE_EQ));
  memset(&op, 0, sizeof op);
  op.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  op.writeValue.address = at;
  op.writeValue.value = 8;
  CHECK_STATUS(expected, cuStreamBatchMemOp(stream, 1, &op, 0));
  CHECK_OK(cuStreamSynchronize(stream));
  CHECK_OK(cuMemcpyDtoH(&value, at, sizeof value));
  CHECK(version < 11070 || value == 8);
  CHECK_OK(cuMemFree(at));
  CHECK_OK(cuStreamDestroy(stream));
}

#if CUDA_VERSION >= 13040
static void CUDA_CB count(void *user) { ++*(int *)user; }

/* What the forms of later versions do, if they are told nothing new. */
static void latest(int version) {
  CUgraphNodeParams params;
  CUgraph graph;
  CUgraphNode node;
  CUstream stream;
  CUresult expected = version < 12020 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
  int calls = 0;
  CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cuLaunchHostFunc_v2(stream, count, &calls, 0));
  CHECK_OK(cuStreamSynchronize(stream));
  CHECK(calls == 1);
  CHECK_OK(cuStreamDestroy(stream));
  CHECK_OK(cuGraphCreate(&graph, 0));
  memset(&params, 0, sizeof params);
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  params.host.fn = count;
  params.host.userData = &calls;
  CHECK_STATUS(expected, cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &params));
  if (version >= 12020) CHECK_OK(cuGraphNodeSetParams_v2(node, &params));
  CHECK_OK(cuGraphDestroy(graph));
}
#endif

static void captures(void) {
  CUstreamCaptureStatus status;
  CUstream stream;
  CUgraph graph, under_way;
  CUgraphNode node;
  const CUgraphNode *after;
  cuuint64_t id;
  size_t count = 1;
  CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK_OK(cuStreamGetCaptureInfo(stream, &status, &id, &under_way, &after, NULL, &count));
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 0);
  CHECK_OK(cuGraphAddEmptyNode(&node, under_way, NULL, 0));
  CHECK_OK(cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  CHECK_OK(cuStreamGetCaptureInfo(stream, &status, &id, &under_way, &after, NULL, &count));
  CHECK(count == 1 && after[0] == node);
  CHECK_OK(cuStreamEndCapture(stream, &graph));
  CHECK_OK(cuGraphDestroy(graph));
  CHECK_OK(cuStreamDestroy(stream));
}

int main(void) {
  CUctxCreateParams params;
  CUcontext context;
  CUdevice device;
  int version = 0;
  check_begin();
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDriverGetVersion(&version));
  CHECK_OK(cuDeviceGet(&device, 0));
  CHECK_OK(cuCtxCreate(&context, NULL, 0, device));
  times();
  managed(device, version);
  lookup();
  kernel_nodes(version);
  edges(version);
  captures();
  batches(version);
  values(version);
#if CUDA_VERSION >= 13040
  latest(version);
#endif
  CHECK_OK(cuCtxDestroy(context));
  if (version < 12050) {
    memset(&params, 0, sizeof params);
    CHECK_OK(cuCtxCreate(&context, &params, 0, device));
    CHECK_OK(cuCtxDestroy(context));
    params.numExecAffinityParams = 1;
    CHECK_STATUS(CUDA_ERROR_NOT_FOUND, cuCtxCreate(&context, &params, 0, device));
    CHECK_CONTAINS(last_message(), "12.5");
  }
  return check_done();
}
