//! Other graphs, and what was instantiated of them.

use super::super::graph::{Exec, destroy, node};
use super::super::scene::Scene;
use super::Row;
use super::work::nothing;
use crate::driver::{Answer, Cu, call};
use cushim::driver::sys::{
    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v1, CUgraph,
    CUgraphExecUpdateResultInfo, CUuserObject,
};
use std::ptr::{null, null_mut};

/// A memset of four bytes.
pub(in crate::sections::capture) const fn memset(dst: u64, value: u32) -> CUDA_MEMSET_NODE_PARAMS_v1 {
    CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch: 0, value, elementSize: 4, width: 1, height: 1 }
}

/// A graph of one memset; NULL where the driver has no graphs.
pub(in crate::sections::capture) fn simple(s: &Scene) -> CUgraph {
    let (mut graph, mut added, params) = (null_mut(), null_mut(), memset(s.memory + 4096, 0));
    let _ = call!(s.cu, cuGraphCreate_10000(&raw mut graph, 0)).and(|| {
        call!(
            s.cu,
            cuGraphAddMemsetNode_10000(&raw mut added, graph, null(), 0, &raw const params, s.context)
        )
    });
    graph
}

/// A graph for the time of a question.
struct Simple<'a> {
    scene: &'a Scene,
    graph: CUgraph,
}

impl<'a> Simple<'a> {
    fn of(scene: &'a Scene) -> Self {
        Self { scene, graph: simple(scene) }
    }

    fn exec(&self) -> Exec {
        Exec::of(&self.scene.cu, self.graph, 0)
    }
}

impl Drop for Simple<'_> {
    fn drop(&mut self) {
        let _ = call!(self.scene.cu, cuStreamSynchronize_2000(self.scene.side));
        destroy(&self.scene.cu, self.graph);
    }
}

fn object(cu: &Cu) -> CUuserObject {
    let (mut object, flags) = (null_mut(), CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 as u32);
    let _ = call!(cu, cuUserObjectCreate_11030(&raw mut object, null_mut(), Some(nothing), 1, flags));
    object
}

fn release(cu: &Cu, object: CUuserObject) -> Answer {
    match object.is_null() {
        true => "no object".into(),
        false => call!(cu, cuUserObjectRelease_11030(object, 1)),
    }
}

pub(super) const ROWS: &[Row] = &[
    ("cuGraphCreate", |s, ask| {
        let mut graph = null_mut();
        ask.call(|| call!(s.cu, cuGraphCreate_10000(&raw mut graph, 0)));
        destroy(&s.cu, graph);
    }),
    ("cuGraphDestroy", |s, ask| {
        let graph = simple(s);
        ask.call(|| call!(s.cu, cuGraphDestroy_10000(graph)));
    }),
    ("cuGraphAddEmptyNode other", |s, ask| {
        let (other, mut added) = (Simple::of(s), null_mut());
        ask.call(|| call!(s.cu, cuGraphAddEmptyNode_10000(&raw mut added, other.graph, null(), 0)));
    }),
    ("cuGraphDestroyNode other", |s, ask| {
        let other = Simple::of(s);
        let first = node(&s.cu, other.graph, 0);
        ask.call(|| call!(s.cu, cuGraphDestroyNode_10000(first)));
    }),
    ("cuGraphMemsetNodeSetParams other", |s, ask| {
        let (other, params) = (Simple::of(s), memset(s.memory + 4096, 0));
        let first = node(&s.cu, other.graph, 0);
        ask.call(|| call!(s.cu, cuGraphMemsetNodeSetParams_10000(first, &raw const params)));
    }),
    ("cuGraphClone other", |s, ask| {
        let (other, mut clone) = (Simple::of(s), null_mut());
        ask.call(|| call!(s.cu, cuGraphClone_10000(&raw mut clone, other.graph)));
        destroy(&s.cu, clone);
    }),
    ("cuGraphConditionalHandleCreate other", |s, ask| {
        let (other, mut handle) = (Simple::of(s), 0);
        ask.call(|| {
            call!(s.cu, cuGraphConditionalHandleCreate_12030(&raw mut handle, other.graph, s.context, 0, 0))
        });
    }),
    ("cuUserObjectCreate", |s, ask| {
        let mut made = null_mut();
        let flags = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 as u32;
        ask.call(|| {
            call!(s.cu, cuUserObjectCreate_11030(&raw mut made, null_mut(), Some(nothing), 1, flags))
        });
        let _ = release(&s.cu, made);
    }),
    ("cuUserObjectRelease", |s, ask| {
        let object = object(&s.cu);
        ask.call(|| release(&s.cu, object));
    }),
];

pub(super) const EXECS: &[Row] = &[
    ("cuGraphInstantiate other", |s, ask| {
        let (other, mut exec) = (Simple::of(s), None);
        ask.call(|| exec.insert(other.exec()).made.clone());
    }),
    ("cuGraphInstantiateWithParams other", |s, ask| {
        let (other, mut exec) = (Simple::of(s), null_mut());
        // SAFETY: zero is a value of every field.
        let mut params: CUDA_GRAPH_INSTANTIATE_PARAMS = unsafe { std::mem::zeroed() };
        ask.call(|| {
            call!(s.cu, cuGraphInstantiateWithParams_12000(&raw mut exec, other.graph, &raw mut params))
        });
        if !exec.is_null() {
            let _ = call!(s.cu, cuGraphExecDestroy_10000(exec));
        }
    }),
    ("cuGraphExecDestroy", |s, ask| {
        let other = Simple::of(s);
        let mut exec = other.exec();
        ask.call(|| {
            let answer = call!(s.cu, cuGraphExecDestroy_10000(exec.handle));
            if answer.succeeded() {
                exec.handle = null_mut();
            }
            answer
        });
    }),
    ("cuGraphExecUpdate", |s, ask| {
        let other = Simple::of(s);
        let exec = other.exec();
        // SAFETY: zero is a value of every field.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        ask.call(|| call!(s.cu, cuGraphExecUpdate_12000(exec.handle, other.graph, &raw mut info)));
    }),
    ("cuGraphExecMemsetNodeSetParams", |s, ask| {
        let (other, params) = (Simple::of(s), memset(s.memory + 4096, 0));
        let (exec, first) = (other.exec(), node(&s.cu, other.graph, 0));
        ask.call(|| {
            call!(
                s.cu,
                cuGraphExecMemsetNodeSetParams_10020(exec.handle, first, &raw const params, s.context)
            )
        });
    }),
    ("cuGraphNodeSetEnabled", |s, ask| {
        let other = Simple::of(s);
        let (exec, first) = (other.exec(), node(&s.cu, other.graph, 0));
        ask.call(|| call!(s.cu, cuGraphNodeSetEnabled_11060(exec.handle, first, 0)));
    }),
    ("cuGraphUpload other", |s, ask| {
        let other = Simple::of(s);
        let exec = other.exec();
        ask.call(|| call!(s.cu, cuGraphUpload_11010(exec.handle, s.side)));
        let _ = call!(s.cu, cuStreamSynchronize_2000(s.side));
    }),
    ("cuGraphLaunch other", |s, ask| {
        let other = Simple::of(s);
        let exec = other.exec();
        ask.call(|| exec.launch(s.side));
        let _ = call!(s.cu, cuStreamSynchronize_2000(s.side));
    }),
];
