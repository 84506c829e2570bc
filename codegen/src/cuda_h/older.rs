//! Where an older form of a function does what a newer one is asked for: a program that is compiled for a newer CUDA version
//! then runs on older drivers.

use crate::catalogue::Abi;

/// The newer form by its exported name, the older one, and what the newer one does without its own.
const OLDER: &[(&str, (&str, u32), &str)] = &[
    (
        "cuCtxCreate_v4",
        ("cuCtxCreate", 3020),
        "if (cushim_cuda_is_plain(ctxCreateParams)) return cushim_cuda_cuCtxCreate_3020(pctx, flags, dev)",
    ),
    (
        "cuEventElapsedTime_v2",
        ("cuEventElapsedTime", 2000),
        "return cushim_cuda_cuEventElapsedTime_2000(pMilliseconds, hStart, hEnd)",
    ),
    (
        "cuGetProcAddress_v2",
        ("cuGetProcAddress", 11030),
        "return cushim_cuda_told(cushim_cuda_cuGetProcAddress_11030(symbol, pfn, driverVersion, flags), pfn, symbolFound)",
    ),
    (
        "cuGraphAddDependencies_v2",
        ("cuGraphAddDependencies", 10000),
        "if (edgeData == CUSHIM_NULL) return cushim_cuda_cuGraphAddDependencies_10000(hGraph, from, to, numDependencies)",
    ),
    (
        "cuGraphAddKernelNode_v2",
        ("cuGraphAddKernelNode", 10000),
        "if (cushim_cuda_is_function_node(nodeParams)) { const CUDA_KERNEL_NODE_PARAMS_v1 cushim_node = cushim_cuda_function_node(nodeParams); return cushim_cuda_cuGraphAddKernelNode_10000(phGraphNode, hGraph, dependencies, numDependencies, &cushim_node); }",
    ),
    (
        "cuGraphAddNode_v2",
        ("cuGraphAddNode", 12020),
        "if (dependencyData == CUSHIM_NULL) return cushim_cuda_cuGraphAddNode_12020(phGraphNode, hGraph, dependencies, numDependencies, nodeParams)",
    ),
    (
        "cuGraphAddNode_v3",
        ("cuGraphAddNode", 12030),
        "return cushim_cuda_cuGraphAddNode_12030(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)",
    ),
    (
        "cuGraphExecKernelNodeSetParams_v2",
        ("cuGraphExecKernelNodeSetParams", 10010),
        "if (cushim_cuda_is_function_node(nodeParams)) { const CUDA_KERNEL_NODE_PARAMS_v1 cushim_node = cushim_cuda_function_node(nodeParams); return cushim_cuda_cuGraphExecKernelNodeSetParams_10010(hGraphExec, hNode, &cushim_node); }",
    ),
    (
        "cuGraphExecUpdate_v2",
        ("cuGraphExecUpdate", 10020),
        "if (resultInfo != CUSHIM_NULL) { resultInfo->result = CU_GRAPH_EXEC_UPDATE_SUCCESS; resultInfo->errorNode = CUSHIM_NULL; resultInfo->errorFromNode = CUSHIM_NULL; return cushim_cuda_cuGraphExecUpdate_10020(hGraphExec, hGraph, &resultInfo->errorNode, &resultInfo->result); }",
    ),
    (
        "cuGraphGetEdges_v2",
        ("cuGraphGetEdges", 10000),
        "if (edgeData == CUSHIM_NULL) return cushim_cuda_cuGraphGetEdges_10000(hGraph, from, to, numEdges)",
    ),
    (
        "cuGraphKernelNodeGetParams_v2",
        ("cuGraphKernelNodeGetParams", 10000),
        "if (nodeParams != CUSHIM_NULL) { CUDA_KERNEL_NODE_PARAMS_v1 cushim_node; return cushim_cuda_tell_node(cushim_cuda_cuGraphKernelNodeGetParams_10000(hNode, &cushim_node), &cushim_node, nodeParams); }",
    ),
    (
        "cuGraphKernelNodeSetParams_v2",
        ("cuGraphKernelNodeSetParams", 10000),
        "if (cushim_cuda_is_function_node(nodeParams)) { const CUDA_KERNEL_NODE_PARAMS_v1 cushim_node = cushim_cuda_function_node(nodeParams); return cushim_cuda_cuGraphKernelNodeSetParams_10000(hNode, &cushim_node); }",
    ),
    (
        "cuGraphNodeGetDependencies_v2",
        ("cuGraphNodeGetDependencies", 10000),
        "if (edgeData == CUSHIM_NULL) return cushim_cuda_cuGraphNodeGetDependencies_10000(hNode, dependencies, numDependencies)",
    ),
    (
        "cuGraphNodeGetDependentNodes_v2",
        ("cuGraphNodeGetDependentNodes", 10000),
        "if (edgeData == CUSHIM_NULL) return cushim_cuda_cuGraphNodeGetDependentNodes_10000(hNode, dependentNodes, numDependentNodes)",
    ),
    (
        "cuGraphNodeSetParams_v2",
        ("cuGraphNodeSetParams", 12020),
        "return cushim_cuda_cuGraphNodeSetParams_12020(hNode, nodeParams)",
    ),
    (
        "cuGraphRemoveDependencies_v2",
        ("cuGraphRemoveDependencies", 10000),
        "if (edgeData == CUSHIM_NULL) return cushim_cuda_cuGraphRemoveDependencies_10000(hGraph, from, to, numDependencies)",
    ),
    (
        "cuLaunchHostFunc_v2",
        ("cuLaunchHostFunc", 10000),
        "if (syncMode == 0) return cushim_cuda_cuLaunchHostFunc_10000(hStream, fn, userData)",
    ),
    (
        "cuMemAdvise_v2",
        ("cuMemAdvise", 8000),
        "if (cushim_cuda_is_ordinal(&location)) return cushim_cuda_cuMemAdvise_8000(devPtr, count, advice, cushim_cuda_ordinal(&location))",
    ),
    (
        "cuMemPrefetchAsync_v2",
        ("cuMemPrefetchAsync", 8000),
        "if (flags == 0 && cushim_cuda_is_ordinal(&location)) return cushim_cuda_cuMemPrefetchAsync_8000(devPtr, count, cushim_cuda_ordinal(&location), hStream)",
    ),
    (
        "cuMemcpy3DBatchAsync_v2",
        ("cuMemcpy3DBatchAsync", 12080),
        "{ size_t cushim_failed; return cushim_cuda_cuMemcpy3DBatchAsync_12080(numParams, opList, &cushim_failed, flags, hStream); }",
    ),
    (
        "cuMemcpyBatchAsync_v2",
        ("cuMemcpyBatchAsync", 12080),
        "{ size_t cushim_failed; return cushim_cuda_cuMemcpyBatchAsync_12080(dsts, srcs, sizes, count, attrs, attrIdxs, numAttrs, &cushim_failed, hStream); }",
    ),
    (
        "cuStreamBatchMemOp_v2",
        ("cuStreamBatchMemOp", 8000),
        "return cushim_cuda_cuStreamBatchMemOp_8000(stream, count, paramArray, flags)",
    ),
    (
        "cuStreamGetCaptureInfo_v3",
        ("cuStreamGetCaptureInfo", 11030),
        "if (edgeData_out == CUSHIM_NULL) return cushim_cuda_cuStreamGetCaptureInfo_11030(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)",
    ),
    (
        "cuStreamUpdateCaptureDependencies_v2",
        ("cuStreamUpdateCaptureDependencies", 11030),
        "if (dependencyData == CUSHIM_NULL) return cushim_cuda_cuStreamUpdateCaptureDependencies_11030(hStream, dependencies, numDependencies, flags)",
    ),
    (
        "cuStreamWaitValue32_v2",
        ("cuStreamWaitValue32", 8000),
        "return cushim_cuda_cuStreamWaitValue32_8000(stream, addr, value, flags)",
    ),
    (
        "cuStreamWaitValue64_v2",
        ("cuStreamWaitValue64", 9000),
        "return cushim_cuda_cuStreamWaitValue64_9000(stream, addr, value, flags)",
    ),
    (
        "cuStreamWriteValue32_v2",
        ("cuStreamWriteValue32", 8000),
        "return cushim_cuda_cuStreamWriteValue32_8000(stream, addr, value, flags)",
    ),
    (
        "cuStreamWriteValue64_v2",
        ("cuStreamWriteValue64", 9000),
        "return cushim_cuda_cuStreamWriteValue64_9000(stream, addr, value, flags)",
    ),
];

/// What stands in for a function that the driver does not have.
pub(super) fn of(exported: &str) -> Option<&'static str> {
    OLDER.iter().find(|(newer, ..)| *newer == exported).map(|(.., text)| *text)
}

/// The name of a function that stands in for another.
pub(super) fn name(abi: &Abi) -> Option<String> {
    let stands_in = OLDER.iter().any(|(_, (base, number), _)| abi.base == *base && abi.number == *number);
    stands_in.then(|| format!("cushim_cuda_{}_{}", abi.base, abi.number))
}
