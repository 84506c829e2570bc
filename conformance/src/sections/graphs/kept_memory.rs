//! What a device keeps for the memory of graphs.

use super::Question;
use super::graph_memory::{free_async, keeper, launched};
use super::scene::Scene;
use super::work::Work;
use crate::driver::{Answer, call, given, yes};
use cushim::driver::sys::CUgraphMem_attribute;
use std::ptr::null_mut;

/// What a device keeps for graphs: whether there is any now, and whether there was.
fn kept(s: &Scene) -> Answer {
    Answer::all([0, 1, 2, 3].map(|attribute| {
        let (mut value, attribute) = (77u64, CUgraphMem_attribute(attribute));
        let place = (&raw mut value).cast();
        call!(s.cu, cuDeviceGetGraphMemAttribute_11040(0, attribute, place)).then(|| yes(value > 0))
    }))
}

fn set_kept(s: &Scene, attribute: i32, mut value: u64) -> Answer {
    let (attribute, place) = (CUgraphMem_attribute(attribute), (&raw mut value).cast());
    call!(s.cu, cuDeviceSetGraphMemAttribute_11040(0, attribute, place))
}

pub(super) fn trim(s: &Scene, device: i32) -> Answer {
    call!(s.cu, cuDeviceGraphMemTrim_11040(device))
}

/// Used, used at most, reserved, reserved at most: whether each is above 0.
pub(super) const KEPT: &[Question] = &[
    ("kept at first", |s| Ok(kept(s))),
    ("kept with an alloc node", |s| {
        keeper(s)?;
        Ok(kept(s))
    }),
    ("kept with an exec", |s| {
        s.exec(keeper(s)?.graph)?;
        Ok(kept(s))
    }),
    ("kept after an upload", |s| {
        let exec = s.exec(keeper(s)?.graph)?;
        given!(s.cu, cuGraphUpload_11010(exec, s.stream))?;
        Ok(Answer::all([s.synchronise(), kept(s)]))
    }),
    ("kept after a launch; after the free; after a trim", |s| {
        let (keeper, _) = launched(s, 0)?;
        let first = kept(s);
        given!(s.cu, cuMemFree_3020(keeper.address))?;
        let second = kept(s);
        Ok(Answer::all([first, second, trim(s, 0), kept(s)]))
    }),
    ("kept after a launch; after the free in a stream; after a trim", |s| {
        let (keeper, _) = launched(s, 0)?;
        let first = kept(s);
        let answers = [free_async(s, keeper.address), s.synchronise()];
        let second = kept(s);
        Ok(Answer::all([first, Answer::all(answers), second, trim(s, 0), kept(s)]))
    }),
    ("kept with live memory after a trim", |s| {
        launched(s, 0)?;
        Ok(Answer::all([trim(s, 0), kept(s)]))
    }),
    ("kept after alloc and free in a graph; exec; graph gone; trim", |s| {
        let graph = s.graph()?;
        let (node, address) = s.allocation(graph, &[], 64)?;
        s.node(graph, &[node], Work::Free(address))?;
        let exec = s.exec(graph)?;
        let ran = s.launched(exec);
        let first = kept(s);
        given!(s.cu, cuGraphExecDestroy_10000(exec))?;
        let second = kept(s);
        s.destroy(graph)?;
        let third = kept(s);
        Ok(Answer::all([ran, first, second, third, trim(s, 0), kept(s)]))
    }),
    ("set each to 0 after a launch and a free; kept", |s| {
        let (keeper, _) = launched(s, 0)?;
        given!(s.cu, cuMemFree_3020(keeper.address))?;
        Ok(Answer::all([Answer::all([0, 1, 2, 3].map(|which| set_kept(s, which, 0))), kept(s)]))
    }),
];

/// What does not depend on what the process has done.
pub(super) const FIGURES: &[Question] = &[
    ("set each to 1", |s| Ok(Answer::all([0, 1, 2, 3].map(|which| set_kept(s, which, 1))))),
    ("attribute 4: get, set; attribute -1: get, set", |s| {
        let get = |which: i32| {
            let (mut value, which) = (77u64, CUgraphMem_attribute(which));
            call!(s.cu, cuDeviceGetGraphMemAttribute_11040(0, which, (&raw mut value).cast()))
        };
        Ok(Answer::all([get(4), set_kept(s, 4, 0), get(-1), set_kept(s, -1, 0)]))
    }),
    ("device 99: get, trim", |s| {
        let (mut value, which) = (77u64, CUgraphMem_attribute(0));
        let get = call!(s.cu, cuDeviceGetGraphMemAttribute_11040(99, which, (&raw mut value).cast()));
        Ok(Answer::all([get, trim(s, 99)]))
    }),
    ("get to NULL", |s| {
        Ok(call!(s.cu, cuDeviceGetGraphMemAttribute_11040(0, CUgraphMem_attribute(0), null_mut())))
    }),
    ("set from NULL", |s| {
        Ok(call!(s.cu, cuDeviceSetGraphMemAttribute_11040(0, CUgraphMem_attribute(1), null_mut())))
    }),
    ("trim with nothing; no current context: get, trim", |s| {
        let first = trim(s, 0);
        given!(s.cu, cuCtxSetCurrent_4000(null_mut()))?;
        let answers = Answer::all([kept(s), trim(s, 0)]);
        given!(s.cu, cuCtxSetCurrent_4000(s.context))?;
        Ok(Answer::all([first, answers]))
    }),
];
