//! The parameters of a node as the driver tells them, without what differs from run to run.

use super::launch::Launch;
use super::scene::{ROOM, Scene};
use super::work::{allocation, write};
use crate::driver::{Answer, Given, call, given};
use cushim::driver::sys::{
    CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_KERNEL,
    CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUDA_HOST_NODE_PARAMS_v1,
    CUDA_MEM_ALLOC_NODE_PARAMS_v1, CUDA_MEMCPY3D_v2, CUgraphNode, CUgraphNodeType, CUmemAccessDesc,
    CUstreamBatchMemOpParams,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What addresses and handles are called that a question has made.
pub(super) type Names<'a> = &'a [(&'a str, u64)];

/// A name for an address or handle.
pub(super) fn name(s: &Scene, names: Names<'_>, value: u64) -> String {
    let room = ROOM as u64;
    if value == 0 {
        return "none".to_owned();
    }
    if let Some((name, _)) = names.iter().find(|(_, named)| *named == value) {
        return (*name).to_owned();
    }
    match value {
        _ if value == s.context.addr() as u64 => "context".to_owned(),
        _ if (s.here..s.here + room).contains(&value) => format!("here+{}", value - s.here),
        _ if (s.there..s.there + room).contains(&value) => format!("there+{}", value - s.there),
        _ => "another".to_owned(),
    }
}

/// The parameters of a node, by the call for its type. A kernel has so many arguments.
pub(super) fn described(s: &Scene, node: CUgraphNode, arguments: usize, names: Names<'_>) -> Answer {
    let mut kind = CUgraphNodeType(77);
    let typed = call!(s.cu, cuGraphNodeGetType_10000(node, &raw mut kind));
    if !typed.succeeded() {
        return typed;
    }
    let text = match kind {
        CU_GRAPH_NODE_TYPE_KERNEL => kernel(s, node, arguments, names),
        CU_GRAPH_NODE_TYPE_MEMCPY => copy(s, node, names),
        CU_GRAPH_NODE_TYPE_MEMSET => memset(s, node, names),
        CU_GRAPH_NODE_TYPE_HOST => host(s, node, names),
        CU_GRAPH_NODE_TYPE_GRAPH => child(s, node),
        CU_GRAPH_NODE_TYPE_EVENT_RECORD | CU_GRAPH_NODE_TYPE_WAIT_EVENT => event(s, node, kind, names),
        CU_GRAPH_NODE_TYPE_MEM_ALLOC => allocated(s, node, names),
        CU_GRAPH_NODE_TYPE_MEM_FREE => freed(s, node, names),
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => operations(s, node, names),
        CU_GRAPH_NODE_TYPE_CONDITIONAL => Ok("conditional".to_owned()),
        CUgraphNodeType(number) => Ok(format!("type {number}")),
    };
    text.map(Answer::Value).into()
}

fn kernel(s: &Scene, node: CUgraphNode, arguments: usize, names: Names<'_>) -> Given<String> {
    let mut params = Launch::new(null_mut(), [0; 2]).params(null_mut(), null_mut());
    given!(s.cu, cuGraphKernelNodeGetParams_12000(node, &raw mut params))?;
    let of = |value: u64| name(s, names, value);
    let (function, kernel) = (of(params.func.addr() as u64), of(params.kern.addr() as u64));
    let (context, extra) = (of(params.ctx.addr() as u64), of(params.extra.addr() as u64));
    let grid = [params.gridDimX, params.gridDimY, params.gridDimZ].map(|n| n.to_string()).join("x");
    let block = [params.blockDimX, params.blockDimY, params.blockDimZ].map(|n| n.to_string()).join("x");
    let values: Vec<String> = if params.kernelParams.is_null() {
        vec!["no arguments".to_owned()]
    } else {
        // SAFETY: the driver hands out a pointer to each argument; the first has eight bytes, others four or more.
        let value = |at: usize| unsafe {
            let place = *params.kernelParams.add(at);
            if at == 0 { place.cast::<u64>().read_unaligned() } else { place.cast::<u32>().read().into() }
        };
        let show = |at: usize| if at == 0 { of(value(0)) } else { value(at).to_string() };
        (0..arguments).map(show).collect()
    };
    let shared = params.sharedMemBytes;
    Ok(format!(
        "{function}, kernel {kernel}, {context}, {grid} {block} {shared}, {}, extra {extra}",
        values.join(" ")
    ))
}

fn copy(s: &Scene, node: CUgraphNode, names: Names<'_>) -> Given<String> {
    let mut copy = CUDA_MEMCPY3D_v2 { WidthInBytes: 77, ..s.copying() };
    given!(s.cu, cuGraphMemcpyNodeGetParams_10000(node, &raw mut copy))?;
    let of = |value: u64| name(s, names, value);
    let from = (of(copy.srcHost.addr() as u64), of(copy.srcDevice), of(copy.srcArray.addr() as u64));
    let to = (of(copy.dstHost.addr() as u64), of(copy.dstDevice), of(copy.dstArray.addr() as u64));
    let CUDA_MEMCPY3D_v2 { srcXInBytes, srcY, srcZ, srcLOD, srcMemoryType, srcPitch, srcHeight, .. } = copy;
    let CUDA_MEMCPY3D_v2 { dstXInBytes, dstY, dstZ, dstLOD, dstMemoryType, dstPitch, dstHeight, .. } = copy;
    let CUDA_MEMCPY3D_v2 { WidthInBytes, Height, Depth, .. } = copy;
    Ok(format!(
        "{}: {}/{}/{} at {srcXInBytes} {srcY} {srcZ} {srcLOD} by {srcPitch} {srcHeight} -> {}: {}/{}/{} at \
         {dstXInBytes} {dstY} {dstZ} {dstLOD} by {dstPitch} {dstHeight}; {WidthInBytes} {Height} {Depth}",
        srcMemoryType.0, from.0, from.1, from.2, dstMemoryType.0, to.0, to.1, to.2
    ))
}

fn memset(s: &Scene, node: CUgraphNode, names: Names<'_>) -> Given<String> {
    let mut fill = s.filling(99);
    given!(s.cu, cuGraphMemsetNodeGetParams_10000(node, &raw mut fill))?;
    let to = name(s, names, fill.dst);
    Ok(format!(
        "{to}, pitch {}, value {:#x}, {} x {} of {}",
        fill.pitch, fill.value, fill.width, fill.height, fill.elementSize
    ))
}

fn host(s: &Scene, node: CUgraphNode, names: Names<'_>) -> Given<String> {
    let mut host = CUDA_HOST_NODE_PARAMS_v1 { fn_: None, userData: null_mut() };
    given!(s.cu, cuGraphHostNodeGetParams_10000(node, &raw mut host))?;
    let function = host.fn_.map_or(0, |function| (function as *const c_void).addr() as u64);
    Ok(format!("{}, data {}", name(s, names, function), name(s, names, host.userData.addr() as u64)))
}

fn child(s: &Scene, node: CUgraphNode) -> Given<String> {
    Ok(format!("{} nodes", s.count(s.inner(node)?)))
}

fn event(s: &Scene, node: CUgraphNode, kind: CUgraphNodeType, names: Names<'_>) -> Given<String> {
    let mut event = null_mut();
    if kind == CU_GRAPH_NODE_TYPE_EVENT_RECORD {
        given!(s.cu, cuGraphEventRecordNodeGetEvent_11010(node, &raw mut event))?;
    } else {
        given!(s.cu, cuGraphEventWaitNodeGetEvent_11010(node, &raw mut event))?;
    }
    Ok(name(s, names, event.addr() as u64))
}

fn allocated(s: &Scene, node: CUgraphNode, names: Names<'_>) -> Given<String> {
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS_v1 = allocation(77);
    given!(s.cu, cuGraphMemAllocNodeGetParams_11040(node, &raw mut params))?;
    let props = &params.poolProps;
    let access: &[CUmemAccessDesc] = if params.accessDescs.is_null() {
        &[]
    } else {
        // SAFETY: the driver hands out so many of them.
        unsafe { std::slice::from_raw_parts(params.accessDescs, params.accessDescCount) }
    };
    // SAFETY: every kind of location has a number, if only 0.
    let id = |location: &cushim::driver::sys::CUmemLocation| unsafe { location.u4.id };
    let access =
        access.iter().map(|one| format!(" {}:{} {}", one.location.type_.0, id(&one.location), one.flags.0));
    Ok(format!(
        "type {} handles {} place {}:{} limit {} usage {}, {} bytes at {}, access {}:{}",
        props.allocType.0,
        props.handleTypes.0,
        props.location.type_.0,
        id(&props.location),
        props.maxSize,
        props.usage,
        params.bytesize,
        name(s, names, params.dptr),
        params.accessDescCount,
        access.collect::<String>()
    ))
}

fn freed(s: &Scene, node: CUgraphNode, names: Names<'_>) -> Given<String> {
    let mut address = 77;
    given!(s.cu, cuGraphMemFreeNodeGetParams_11040(node, &raw mut address))?;
    Ok(name(s, names, address))
}

fn operations(s: &Scene, node: CUgraphNode, names: Names<'_>) -> Given<String> {
    let mut room = [write(0, 77)];
    let mut params = s.batch(&mut room);
    given!(s.cu, cuGraphBatchMemOpNodeGetParams_11070(node, &raw mut params))?;
    let operations: &[CUstreamBatchMemOpParams] = if params.paramArray.is_null() {
        &[]
    } else {
        // SAFETY: the driver hands out so many of them.
        unsafe { std::slice::from_raw_parts(params.paramArray, params.count as usize) }
    };
    let operations: Vec<String> = operations.iter().map(|operation| one(s, operation, names)).collect();
    let context = name(s, names, params.ctx.addr() as u64);
    let own = if params.paramArray == room.as_mut_ptr() { "the caller's" } else { "the driver's" };
    Ok(format!("{context}, {}, flags {}, {own} array: {}", params.count, params.flags, operations.join("; ")))
}

fn one(s: &Scene, operation: &CUstreamBatchMemOpParams, names: Names<'_>) -> String {
    // SAFETY: every kind of operation begins with its number; the fields of a write are those of a wait.
    let (kind, write) = unsafe { (operation.operation.0, operation.writeValue) };
    if ![1, 2, 4, 5].contains(&kind) {
        return format!("operation {kind}");
    }
    // SAFETY: a value of four bytes is at the beginning of one of eight.
    let value = unsafe { write.u16.value };
    format!("{kind} {} {value} {}", name(s, names, write.address), write.flags)
}
