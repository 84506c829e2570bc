//! What a body takes when it is captured, and what becomes of it when the graph is instantiated.

use super::super::graph::{self, picture};
use super::super::modes::graphs::simple;
use super::super::scene::{SIZE, Scene};
use super::conditional::{instantiate, into_body, standing};
use crate::code::{Arguments, CAPTURES, Shape};
use crate::driver::{Answer, Outcome, call};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    CU_MEMORYTYPE_DEVICE, CUDA_MEMCPY2D_v2, CUgraph, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue,
};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

extern "C" fn nothing(_: *mut c_void) {}

/// What is captured on the second stream.
type Operation = (&'static str, fn(&Scene) -> Answer);

/// Captures each into a body of its own: the answer, status and end, the body, the instantiation, the run.
fn each(t: &mut Lines, s: &Scene, operations: &[Operation]) {
    let cu = &s.cu;
    for (name, operation) in operations {
        let (root, conditional) = standing(s);
        let body = conditional.body(0);
        t.line(&format!("body: {name}"), || into_body(s, s.side, body).and(|| operation(s)));
        t.line("  status, end", || {
            let (status, mut given) = (s.status(s.side), null_mut());
            let ended = call!(cu, cuStreamEndCapture_10000(s.side, &raw mut given));
            format!("{status}, {ended}")
        });
        t.line("  body", || picture(cu, body));
        runs(t, s, root);
    }
}

/// Instantiates a graph, runs it and destroys it.
fn runs(t: &mut Lines, s: &Scene, root: CUgraph) {
    let (told, exec) = instantiate(s, root);
    t.line("  instantiated", || told);
    t.line("  runs", || exec.run(s.third));
    drop(exec);
    graph::destroy(&s.cu, root);
}

fn attributed(s: &Scene, id: CUlaunchAttributeID) -> Answer {
    let value = CUlaunchAttributeValue { cooperative: 1 };
    let mut attributes = [CUlaunchAttribute { id, pad: [0; 4], value }];
    let config = Shape::ONE.config(s.side, &mut attributes);
    let (mut arguments, none) = (Arguments::new([s.memory, 1]), null_mut());
    let mut pointers = arguments.pointers();
    call!(s.cu, cuLaunchKernelEx_11060(&raw const config, s.append, pointers.as_mut_ptr(), none))
}

/// What runs on the device.
pub(super) fn work(t: &mut Lines, s: &Scene) -> Outcome {
    each(
        t,
        s,
        &[
            ("nothing", |s| s.status(s.side)),
            ("kernel", |s| s.append(s.side, 1)),
            ("two kernels", |s| s.append(s.side, 1).and(|| s.append(s.side, 2))),
            ("cooperative kernel", |s| attributed(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)),
            ("kernels, programmatic", |s| {
                let serial = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
                s.append(s.side, 1).and(|| attributed(s, serial))
            }),
            ("kernel of a library", |s| {
                let kernel = s.cu.library(CAPTURES).and_then(|library| s.cu.kernel(library, c"append"));
                let mut arguments = Arguments::new([s.memory, 1]);
                s.cu.as_function(kernel.unwrap_or(null_mut()), |kernel| {
                    s.cu.launch(kernel, Shape::ONE, s.side, &mut arguments.pointers())
                })
            }),
            ("memset", |s| call!(s.cu, cuMemsetD32Async_3020(s.memory, 1, 4, s.side))),
            ("memset of rows", |s| call!(s.cu, cuMemsetD2D32Async_3020(s.memory, 64, 1, 4, 4, s.side))),
            ("copy on the device", |s| {
                call!(s.cu, cuMemcpyDtoDAsync_3020(s.memory, s.memory + 1024, 64, s.side))
            }),
            ("copy of 64 KiB on the device", |s| {
                let half = SIZE / 2;
                call!(s.cu, cuMemcpyDtoDAsync_3020(s.memory, s.memory + half as u64, half, s.side))
            }),
            ("copy of a rectangle", |s| {
                // SAFETY: zero is a value of every field.
                let mut copy: CUDA_MEMCPY2D_v2 = unsafe { std::mem::zeroed() };
                (copy.srcMemoryType, copy.srcDevice, copy.srcPitch) = (CU_MEMORYTYPE_DEVICE, s.memory, 64);
                (copy.dstMemoryType, copy.dstDevice, copy.dstPitch) =
                    (CU_MEMORYTYPE_DEVICE, s.memory + 4096, 128);
                (copy.WidthInBytes, copy.Height) = (16, 4);
                call!(s.cu, cuMemcpy2DAsync_3020(&raw const copy, s.side))
            }),
            ("copy between the device and pinned", |s| {
                call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, s.pinned, 64, s.side))
                    .and(|| call!(s.cu, cuMemcpyDtoHAsync_3020(s.pinned, s.memory, 64, s.side)))
            }),
            ("copy of managed memory", |s| {
                let mut managed = 0;
                let _ = call!(s.cu, cuMemAllocManaged_6000(&raw mut managed, SIZE, 1));
                call!(s.cu, cuMemcpyAsync_4000(s.memory, managed, 64, s.side))
            }),
        ],
    );
    Ok(())
}

/// What does not, or not alone.
pub(super) fn refused(t: &mut Lines, s: &Scene) -> Outcome {
    each(
        t,
        s,
        &[
            ("copy from pageable", |s| {
                let host = vec![0u8; 64].leak();
                call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, host.as_ptr().cast(), 64, s.side))
            }),
            ("copy to pageable", |s| {
                let host = vec![0u8; 64].leak();
                call!(s.cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), s.memory, 64, s.side))
            }),
            ("copy between pageable", |s| {
                let (from, to) = (vec![0u8; 64].leak(), vec![0u8; 64].leak());
                let (from, to) = (from.as_ptr().addr() as u64, to.as_ptr().addr() as u64);
                call!(s.cu, cuMemcpyAsync_4000(to, from, 64, s.side))
            }),
            ("host function", |s| call!(s.cu, cuLaunchHostFunc_10000(s.side, Some(nothing), null_mut()))),
            ("record", |s| s.record(s.event, s.side)),
            ("external record", |s| call!(s.cu, cuEventRecordWithFlags_11010(s.joined, s.side, 1))),
            ("external wait", |s| call!(s.cu, cuStreamWaitEvent_3020(s.side, s.joined, 1))),
            ("value written", |s| call!(s.cu, cuStreamWriteValue32_11070(s.side, s.memory, 1, 0))),
            ("value waited for", |s| {
                const GEQ: u32 = 0;
                call!(s.cu, cuStreamWaitValue32_11070(s.side, s.memory + 8192, 0, GEQ))
            }),
            ("allocation", |s| {
                let mut address = 0;
                call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, s.side))
            }),
            ("allocation, freed", |s| {
                let mut address = 0;
                call!(s.cu, cuMemAllocAsync_11020(&raw mut address, 64, s.side))
                    .and(|| call!(s.cu, cuMemFreeAsync_11020(address, s.side)))
            }),
            ("a kernel, then a host function", |s| {
                s.append(s.side, 1)
                    .and(|| call!(s.cu, cuLaunchHostFunc_10000(s.side, Some(nothing), null_mut())))
            }),
        ],
    );
    Ok(())
}

/// What is added by hand while the body is captured.
pub(super) fn by_hand(t: &mut Lines, s: &Scene) -> Outcome {
    each(
        t,
        s,
        &[
            ("an empty node by hand", |s| {
                let mut added = null_mut();
                call!(s.cu, cuGraphAddEmptyNode_10000(&raw mut added, s.graph(s.side), null(), 0))
                    .and(|| s.append(s.side, 1))
            }),
            ("a child graph by hand", |s| {
                let (mut added, child) = (null_mut(), simple(s));
                call!(s.cu, cuGraphAddChildGraphNode_10000(&raw mut added, s.graph(s.side), null(), 0, child))
            }),
            ("a kernel removed by hand", |s| {
                s.append(s.side, 1)
                    .and(|| s.append(s.side, 2))
                    .and(|| call!(s.cu, cuGraphDestroyNode_10000(graph::node(&s.cu, s.graph(s.side), 0))))
            }),
            ("instantiated while it is captured", |s| {
                let (mut exec, graph) = (null_mut(), s.graph(s.side));
                s.append(s.side, 1)
                    .and(|| call!(s.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0)))
            }),
            ("cloned while it is captured", |s| {
                let (mut clone, graph) = (null_mut(), s.graph(s.side));
                s.append(s.side, 1).and(|| call!(s.cu, cuGraphClone_10000(&raw mut clone, graph)))
            }),
        ],
    );
    let (root, conditional) = standing(s);
    let body = conditional.body(0);
    t.line("body: captured behind a node that is there", || {
        let mut added = null_mut();
        let added_one = match body.is_null() {
            true => "no body".into(),
            false => call!(s.cu, cuGraphAddEmptyNode_10000(&raw mut added, body, null(), 0)),
        };
        added_one
            .and(|| super::super::to_graph::into(s, s.side, body, [added].as_ptr(), 1))
            .and(|| s.append(s.side, 1))
    });
    t.line("  end", || {
        let mut given = null_mut();
        call!(s.cu, cuStreamEndCapture_10000(s.side, &raw mut given))
    });
    t.line("  captured into it again", || {
        let mut given = null_mut();
        into_body(s, s.side, body)
            .and(|| s.append(s.side, 2))
            .and(|| call!(s.cu, cuStreamEndCapture_10000(s.side, &raw mut given)))
    });
    t.line("  body", || picture(&s.cu, body));
    runs(t, s, root);
    Ok(())
}
