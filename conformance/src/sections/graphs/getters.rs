//! The getter of each type of node, asked about nodes of other types and without room.

use super::Asked;
use super::launch::Launch;
use super::scene::Scene;
use super::work::{EVERY, Work, write};
use crate::driver::{Answer, call};
use crate::transcript::Lines;
use cushim::driver::sys::{CUDA_HOST_NODE_PARAMS_v1, CUgraphNode};
use std::ptr::null_mut;

type Getter = (&'static str, fn(&Scene, CUgraphNode) -> Answer, fn(&Scene, CUgraphNode) -> Answer);

/// Each getter, and the same without room for what it tells.
const GETTERS: &[Getter] = &[
    (
        "kernel",
        |s, node| {
            let mut params = Launch::new(null_mut(), [0; 2]).params(null_mut(), null_mut());
            call!(s.cu, cuGraphKernelNodeGetParams_12000(node, &raw mut params))
        },
        |s, node| call!(s.cu, cuGraphKernelNodeGetParams_12000(node, null_mut())),
    ),
    (
        "copy",
        |s, node| {
            let mut copy = s.copying();
            call!(s.cu, cuGraphMemcpyNodeGetParams_10000(node, &raw mut copy))
        },
        |s, node| call!(s.cu, cuGraphMemcpyNodeGetParams_10000(node, null_mut())),
    ),
    (
        "memset",
        |s, node| {
            let mut fill = s.filling(1);
            call!(s.cu, cuGraphMemsetNodeGetParams_10000(node, &raw mut fill))
        },
        |s, node| call!(s.cu, cuGraphMemsetNodeGetParams_10000(node, null_mut())),
    ),
    (
        "host",
        |s, node| {
            let mut params = CUDA_HOST_NODE_PARAMS_v1 { fn_: None, userData: null_mut() };
            call!(s.cu, cuGraphHostNodeGetParams_10000(node, &raw mut params))
        },
        |s, node| call!(s.cu, cuGraphHostNodeGetParams_10000(node, null_mut())),
    ),
    (
        "child",
        |s, node| {
            let mut graph = null_mut();
            call!(s.cu, cuGraphChildGraphNodeGetGraph_10000(node, &raw mut graph))
        },
        |s, node| call!(s.cu, cuGraphChildGraphNodeGetGraph_10000(node, null_mut())),
    ),
    (
        "event record",
        |s, node| {
            let mut event = null_mut();
            call!(s.cu, cuGraphEventRecordNodeGetEvent_11010(node, &raw mut event))
        },
        |s, node| call!(s.cu, cuGraphEventRecordNodeGetEvent_11010(node, null_mut())),
    ),
    (
        "event wait",
        |s, node| {
            let mut event = null_mut();
            call!(s.cu, cuGraphEventWaitNodeGetEvent_11010(node, &raw mut event))
        },
        |s, node| call!(s.cu, cuGraphEventWaitNodeGetEvent_11010(node, null_mut())),
    ),
    (
        "memory operation",
        |s, node| {
            let mut room = [write(0, 0)];
            let mut params = s.batch(&mut room);
            call!(s.cu, cuGraphBatchMemOpNodeGetParams_11070(node, &raw mut params))
        },
        |s, node| call!(s.cu, cuGraphBatchMemOpNodeGetParams_11070(node, null_mut())),
    ),
    (
        "alloc",
        |s, node| {
            let mut params = super::work::allocation(0);
            call!(s.cu, cuGraphMemAllocNodeGetParams_11040(node, &raw mut params))
        },
        |s, node| call!(s.cu, cuGraphMemAllocNodeGetParams_11040(node, null_mut())),
    ),
    (
        "free",
        |s, node| {
            let mut address = 0;
            call!(s.cu, cuGraphMemFreeNodeGetParams_11040(node, &raw mut address))
        },
        |s, node| call!(s.cu, cuGraphMemFreeNodeGetParams_11040(node, null_mut())),
    ),
];

pub(super) fn getters(t: &mut Lines, s: &Scene) {
    for (name, get, get_nothing) in GETTERS {
        t.line(&format!("{name}: parameters of an empty node"), || -> Asked {
            Ok(get(s, s.node(s.graph()?, &[], Work::Empty)?))
        });
        t.line(&format!("{name}: parameters of a kernel and a memset"), || -> Asked {
            let (graph, other) = (s.graph()?, s.graph()?);
            let nodes = [s.node(graph, &[], s.store(0, 1))?, s.node(other, &[], s.fill(1))?];
            Ok(Answer::all(nodes.map(|node| get(s, node))))
        });
        t.line(&format!("{name}: parameters of NULL"), || get(s, null_mut()));
        t.line(&format!("{name}: parameters to NULL"), || -> Asked {
            let graph = s.graph()?;
            let (_, work) =
                EVERY.iter().find(|(other, _)| other == name).ok_or("cannot ask: no such type")?;
            Ok(get_nothing(s, s.node(graph, &[], work(s, graph)?)?))
        });
    }
}
