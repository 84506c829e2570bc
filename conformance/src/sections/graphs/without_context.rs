//! What graphs need a current context for.

use super::Asked;
use super::launch::Launch;
use super::scene::Scene;
use super::work::{EVERY, Work, blank};
use crate::driver::{Answer, Given, call, given};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CU_GRAPH_NODE_TYPE_MEMSET, CUDA_MEMCPY3D_v2, CUDA_MEMSET_NODE_PARAMS_v1, CUDA_MEMSET_NODE_PARAMS_v2,
    CUcontext, CUdeviceptr, CUgraphNode,
};
use std::ptr::{null, null_mut};

/// What is asked with no current context. The answer comes when it is current again.
fn nowhere(s: &Scene, ask: impl FnOnce() -> Answer) -> Asked {
    given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
    let answer = ask();
    given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
    Ok(answer)
}

pub(super) fn contexts(t: &mut Lines, s: &Scene) {
    for (name, work) in EVERY {
        t.line(&format!("no current context: {name}"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            nowhere(s, || s.add(graph, &[], work, &raw mut node))
        });
        t.line(&format!("no current context: {name}, generic"), || -> Asked {
            let (graph, mut node) = (s.graph()?, null_mut());
            let work = work(s, graph)?;
            nowhere(s, || s.add_generic(graph, (null(), 0), work, &raw mut node))
        });
        t.line(&format!("no current context: instantiate {name}, destroy"), || -> Asked {
            let (graph, mut exec) = (s.graph()?, null_mut());
            s.node(graph, &[], work(s, graph)?)?;
            nowhere(s, || {
                Answer::all([
                    call!(s.cu, cuGraphInstantiateWithFlags_11040(&raw mut exec, graph, 0)),
                    call!(s.cu, cuGraphExecDestroy_10000(exec)),
                ])
            })
        });
    }
    t.line("no current context: kernel with its context", || -> Asked {
        let (graph, mut node) = (s.graph()?, null_mut());
        let launch = Launch { context: s.context, ..s.launch_note(1) };
        nowhere(s, || s.add(graph, &[], Work::Kernel(launch), &raw mut node))
    });
    t.line("no current context: create, clone, destroy", || -> Asked {
        let (full, mut graph, mut clone) = (s.graph_of(&[s.fill(1)])?, null_mut(), null_mut());
        nowhere(s, || {
            Answer::all([
                call!(s.cu, cuGraphCreate_10000(&raw mut graph, 0)),
                call!(s.cu, cuGraphClone_10000(&raw mut clone, full)),
                call!(s.cu, cuGraphDestroy_10000(clone)),
            ])
        })
    });
    t.line("no current context: launch, synchronise", || -> Asked {
        let exec = s.exec(s.graph_of(&[s.store(0, 1), s.fill(1)])?)?;
        nowhere(s, || Answer::all([s.launch(exec), s.synchronise()]))
    });
    t.line("no current context: update", || -> Asked {
        let (exec, other) = (s.exec(s.graph_of(&[s.fill(1)])?)?, s.graph_of(&[s.fill(2)])?);
        nowhere(s, || s.update(exec, other, &[]))
    });
    t.line("no current context: update of a kernel", || -> Asked {
        let (exec, other) = (s.exec(s.graph_of(&[s.store(0, 1)])?)?, s.graph_of(&[s.store(0, 2)])?);
        nowhere(s, || s.update(exec, other, &[]))
    });
    t.line("no current context: upload", || -> Asked {
        let exec = s.exec(s.graph_of(&[s.fill(1)])?)?;
        nowhere(s, || Answer::all([call!(s.cu, cuGraphUpload_11010(exec, s.stream)), s.synchronise()]))
    });
    t.line("no current context: destroy a node, nodes", || -> Asked {
        let graph = s.graph()?;
        let node = s.node(graph, &[], s.store(0, 1))?;
        nowhere(s, || Answer::all([call!(s.cu, cuGraphDestroyNode_10000(node)), s.count(graph)]))
    });
    sets(t, s);
}

/// What memsets and copies need a current context for when they are set to other memory.
fn sets(t: &mut Lines, s: &Scene) {
    type Memory = fn(&Scene) -> Given<CUdeviceptr>;
    type Set = fn(&Scene, CUgraphNode, CUdeviceptr) -> Answer;
    const MEMORY: [(&str, Memory); 2] = [("plain", |s| Ok(s.there)), ("pool", |s| s.pool_memory())];
    const SETS: [(&str, Set); 3] = [
        ("memset set", |s, node, dst| {
            let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst, ..s.filling(2) };
            call!(s.cu, cuGraphMemsetNodeSetParams_10000(node, &raw const fill))
        }),
        ("memset set, generic", |s, node, dst| set_generic(s, node, dst, s.context)),
        ("memset set, generic, no context", |s, node, dst| set_generic(s, node, dst, null_mut())),
    ];
    for (memory, make) in MEMORY {
        for (name, set) in SETS {
            t.line(&format!("no current context: {memory} {name}"), || -> Asked {
                let (graph, to) = (s.graph()?, make(s)?);
                let node = s.node(graph, &[], s.fill(1))?;
                nowhere(s, || set(s, node, to))
            });
        }
        t.line(&format!("no current context: {memory} copy set"), || -> Asked {
            let (graph, to) = (s.graph()?, make(s)?);
            let node = s.node(graph, &[], s.copy())?;
            let copy = CUDA_MEMCPY3D_v2 { dstDevice: to, ..s.copying() };
            nowhere(s, || call!(s.cu, cuGraphMemcpyNodeSetParams_10000(node, &raw const copy)))
        });
    }
    for (memory, make) in MEMORY {
        t.line(&format!("no current context: {memory} copy set, then updated"), || -> Asked {
            let (graph, to) = (s.graph()?, make(s)?);
            let copy = CUDA_MEMCPY3D_v2 { dstDevice: to, ..s.copying() };
            let node = s.node(graph, &[], Work::Copy(copy))?;
            let (exec, copy) = (s.exec(graph)?, CUDA_MEMCPY3D_v2 { dstDevice: to + 64, ..copy });
            nowhere(s, || call!(s.cu, cuGraphMemcpyNodeSetParams_10000(node, &raw const copy)))?;
            Ok(s.update(exec, graph, &[]))
        });
    }
    t.line("no current context: pool memset set in an exec", || -> Asked {
        let (graph, to) = (s.graph()?, s.pool_memory()?);
        let first = Work::Fill(CUDA_MEMSET_NODE_PARAMS_v1 { dst: to, ..s.filling(1) });
        let node = s.node(graph, &[], first)?;
        let (exec, fill) = (s.exec(graph)?, CUDA_MEMSET_NODE_PARAMS_v1 { dst: to + 64, ..s.filling(2) });
        nowhere(s, || {
            call!(s.cu, cuGraphExecMemsetNodeSetParams_10020(exec, node, &raw const fill, s.context))
        })
    });
}

fn set_generic(s: &Scene, node: CUgraphNode, dst: CUdeviceptr, ctx: CUcontext) -> Answer {
    let mut params = blank(CU_GRAPH_NODE_TYPE_MEMSET);
    let CUDA_MEMSET_NODE_PARAMS_v1 { pitch, value, elementSize, width, height, .. } = s.filling(2);
    params.u16.memset = CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx };
    call!(s.cu, cuGraphNodeSetParams_12020(node, &raw mut params))
}
