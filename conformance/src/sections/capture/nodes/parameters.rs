//! The parameters of nodes, as text: addresses by the names of what lies there.

use super::super::graph::{good, kind, nodes};
use super::super::scene::{SIZE, Scene};
use crate::driver::{Answer, Cu, call, yes};
use cushim::driver::sys::{
    CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v1,
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D_v2,
    CUDA_MEMSET_NODE_PARAMS_v1, CUgraph, CUgraphNode, CUmemorytype,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Names of ranges of memory, and of handles.
pub(super) struct Places(Vec<(&'static str, u64, u64)>);

impl Places {
    /// Those of the scene.
    pub(super) fn of(s: &Scene) -> Self {
        let size = SIZE as u64;
        let mut places = Self(Vec::new());
        places.add("memory", s.memory, size);
        places.add_host("pinned", s.pinned, SIZE);
        places.add_host("event", s.event.cast(), 1);
        places.add_host("joined", s.joined.cast(), 1);
        places
    }

    pub(super) fn add(&mut self, name: &'static str, address: u64, size: u64) {
        if address != 0 {
            self.0.push((name, address, size));
        }
    }

    pub(super) fn add_host(&mut self, name: &'static str, address: *mut c_void, size: usize) {
        self.add(name, address.addr() as u64, size as u64);
    }

    fn name(&self, address: u64) -> String {
        let found = self.0.iter().find(|(_, base, size)| (*base..base + size).contains(&address));
        match found {
            _ if address == 0 => "NULL".to_owned(),
            Some((name, base, _)) if address == *base => (*name).to_owned(),
            Some((name, base, _)) => format!("{name}+{}", address - base),
            None => "elsewhere".to_owned(),
        }
    }

    fn name_host<T>(&self, address: *const T) -> String {
        self.name(address.addr() as u64)
    }
}

/// The type and the parameters of every node of a graph.
pub(super) fn all(s: &Scene, places: &Places, graph: CUgraph) -> Answer {
    let cu = &s.cu;
    let one = |node| {
        let kind = kind(cu, node)?;
        Ok(format!("{kind}: {}", of(s, places, node, &kind)?))
    };
    let told = nodes(cu, graph).and_then(|nodes| nodes.into_iter().map(one).collect::<Result<Vec<_>, _>>());
    match told {
        Ok(told) if told.is_empty() => "none".into(),
        Ok(told) => told.join(" | ").into(),
        Err(answer) => answer,
    }
}

fn of(s: &Scene, places: &Places, node: CUgraphNode, kind: &str) -> Result<String, Answer> {
    match kind {
        "kernel" => kernel(s, places, node),
        "memcpy" => memcpy(&s.cu, places, node),
        "memset" => memset(&s.cu, places, node),
        "host" => host(&s.cu, places, node),
        "child" => child(&s.cu, node),
        "wait" => wait(&s.cu, places, node),
        "record" => record(&s.cu, places, node),
        "alloc" => alloc(&s.cu, places, node),
        "free" => free(&s.cu, places, node),
        "batch" => batch(s, places, node),
        _ => Ok("not read".to_owned()),
    }
}

fn zeroed<T: Copy>() -> T {
    // SAFETY: called for parameters of nodes only, in which zero is a value of every field.
    unsafe { std::mem::zeroed() }
}

/// The arguments of a kernel that takes an address and a number.
fn arguments(places: &Places, parameters: *mut *mut c_void) -> String {
    if parameters.is_null() {
        return "no arguments".to_owned();
    }
    // SAFETY: the driver keeps the arguments of a node for as long as it is not changed, and the only kernel here takes these
    // two.
    let (address, number) = unsafe {
        let (first, second) = (*parameters, *parameters.add(1));
        (first.cast::<u64>().read_unaligned(), second.cast::<u32>().read_unaligned())
    };
    format!("{}, {number}", places.name(address))
}

fn kernel(s: &Scene, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let cu = &s.cu;
    if cu.table.cuGraphKernelNodeGetParams_12000.is_none() {
        let mut p: CUDA_KERNEL_NODE_PARAMS_v1 = zeroed();
        good(call!(cu, cuGraphKernelNodeGetParams_10000(node, &raw mut p)))?;
        let same = if p.func == s.append { "the same" } else { "another" };
        return Ok(format!(
            "func {same}, {},{}: {}",
            p.gridDimX,
            p.blockDimX,
            arguments(places, p.kernelParams)
        ));
    }
    let mut p: CUDA_KERNEL_NODE_PARAMS_v2 = zeroed();
    good(call!(cu, cuGraphKernelNodeGetParams_12000(node, &raw mut p)))?;
    let shape = [p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes];
    let shape = shape.map(|number| number.to_string()).join(",");
    let function = match p.func {
        function if function.is_null() => "NULL",
        function if function == s.append => "the same",
        _ => "another",
    };
    let null = |is_null: bool| if is_null { "NULL" } else { "set" };
    let context = if p.ctx == s.context { "the same" } else { null(p.ctx.is_null()) };
    Ok(format!(
        "func {function}, kern {}, ctx {context}, extra {}, {shape}: {}",
        null(p.kern.is_null()),
        null(p.extra.is_null()),
        arguments(places, p.kernelParams)
    ))
}

/// One end of a copy: type, where, offsets, pitch and height.
fn end(
    places: &Places,
    kind: CUmemorytype,
    (host, device, array): (*const c_void, u64, *const c_void),
    numbers: [usize; 6],
) -> String {
    let at = match kind {
        CU_MEMORYTYPE_HOST => places.name_host(host),
        CU_MEMORYTYPE_ARRAY => places.name_host(array),
        _ => places.name(device),
    };
    let others = match kind {
        CU_MEMORYTYPE_HOST => device == 0 && array.is_null(),
        CU_MEMORYTYPE_ARRAY => device == 0 && host.is_null(),
        _ => host.is_null() && array.is_null(),
    };
    // What is no size at all may be an address, which is another one each time.
    let sane = |number: usize| if number < 1 << 40 { number.to_string() } else { "large".to_owned() };
    let numbers = numbers.map(sane).join(",");
    format!("{} {at} ({numbers}{})", kind.0, if others { "" } else { ", and more" })
}

fn memcpy(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut p: CUDA_MEMCPY3D_v2 = zeroed();
    good(call!(cu, cuGraphMemcpyNodeGetParams_10000(node, &raw mut p)))?;
    let from = end(
        places,
        p.srcMemoryType,
        (p.srcHost, p.srcDevice, p.srcArray.cast()),
        [p.srcXInBytes, p.srcY, p.srcZ, p.srcLOD, p.srcPitch, p.srcHeight],
    );
    let to = end(
        places,
        p.dstMemoryType,
        (p.dstHost, p.dstDevice, p.dstArray.cast()),
        [p.dstXInBytes, p.dstY, p.dstZ, p.dstLOD, p.dstPitch, p.dstHeight],
    );
    Ok(format!("{from} to {to}, {}x{}x{}", p.WidthInBytes, p.Height, p.Depth))
}

fn memset(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut p: CUDA_MEMSET_NODE_PARAMS_v1 = zeroed();
    good(call!(cu, cuGraphMemsetNodeGetParams_10000(node, &raw mut p)))?;
    let CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value, elementSize, width, height } = p;
    Ok(format!("{}, pitch {pitch}, {value:#x} of {elementSize}, {width}x{height}", places.name(dst)))
}

fn host(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut p: CUDA_HOST_NODE_PARAMS_v1 = zeroed();
    good(call!(cu, cuGraphHostNodeGetParams_10000(node, &raw mut p)))?;
    let function = p.fn_.map_or(null_mut(), |function| function as *mut c_void);
    Ok(format!("fn {}, data {}", places.name_host(function), places.name_host(p.userData)))
}

fn child(cu: &Cu, node: CUgraphNode) -> Result<String, Answer> {
    let mut inner = null_mut();
    good(call!(cu, cuGraphChildGraphNodeGetGraph_10000(node, &raw mut inner)))?;
    Ok(super::super::graph::picture(cu, inner).to_string())
}

fn wait(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut event = null_mut();
    good(call!(cu, cuGraphEventWaitNodeGetEvent_11010(node, &raw mut event)))?;
    Ok(places.name_host(event))
}

fn record(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut event = null_mut();
    good(call!(cu, cuGraphEventRecordNodeGetEvent_11010(node, &raw mut event)))?;
    Ok(places.name_host(event))
}

fn alloc(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut p: CUDA_MEM_ALLOC_NODE_PARAMS = zeroed();
    good(call!(cu, cuGraphMemAllocNodeGetParams_11040(node, &raw mut p)))?;
    let pool = &p.poolProps;
    // SAFETY: every value is a number.
    let id = unsafe { pool.location.u4.id };
    Ok(format!(
        "{} bytes at {}, type {}, handles {}, location {} {id}, max {}, usage {}, {} descriptors, {}",
        p.bytesize,
        places.name(p.dptr),
        pool.allocType.0,
        pool.handleTypes.0,
        pool.location.type_.0,
        pool.maxSize,
        pool.usage,
        p.accessDescCount,
        if p.accessDescs.is_null() { "NULL" } else { "set" },
    ))
}

fn free(cu: &Cu, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut address = 0;
    good(call!(cu, cuGraphMemFreeNodeGetParams_11040(node, &raw mut address)))?;
    Ok(places.name(address))
}

fn batch(s: &Scene, places: &Places, node: CUgraphNode) -> Result<String, Answer> {
    let mut p: CUDA_BATCH_MEM_OP_NODE_PARAMS = zeroed();
    good(call!(s.cu, cuGraphBatchMemOpNodeGetParams_11070(node, &raw mut p)))?;
    let mut told = vec![format!("ctx the same {}, flags {}", yes(p.ctx == s.context), p.flags)];
    for number in 0..(p.count as usize).min(8) {
        // SAFETY: the driver has said that there are so many operations; each begins with its number and is 48 bytes long.
        let text = unsafe {
            let operation = &*p.paramArray.add(number);
            let (kind, value) = (operation.operation.0, operation.writeValue);
            match kind {
                1 | 2 => {
                    format!("{kind} {} {:#x} {}", places.name(value.address), value.u16.value, value.flags)
                }
                4 | 5 => {
                    format!("{kind} {} {:#x} {}", places.name(value.address), value.u16.value64, value.flags)
                }
                _ => format!("{kind} flags {}", operation.memoryBarrier.flags),
            }
        };
        told.push(text);
    }
    Ok(told.join("; "))
}
