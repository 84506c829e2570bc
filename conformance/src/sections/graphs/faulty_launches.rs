//! Launches of kernels that break something, and of graphs whose context is no more.

use super::launch::Launch;
use super::scene::Scene;
use super::work::Work;
use super::{Asked, Question};
use crate::code::FAULTS;
use crate::driver::{Answer, NON_BLOCKING, call, given, yes};
use crate::gate::Gate;
use cushim::driver::sys::CUDA_MEMSET_NODE_PARAMS_v1;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// A kernel of those that break something.
fn faulty(s: &Scene, name: &std::ffi::CStr, argument: u64) -> Asked {
    let function = s.cu.function(s.cu.module(FAULTS)?, name)?;
    let graph = s.graph_of(&[Work::Kernel(Launch::new(function, [argument, 0])), s.note(1)])?;
    let exec = s.exec(graph)?;
    let (first, mut clone) = (s.launched(exec), null_mut());
    Ok(Answer::all([
        first,
        s.launch(exec),
        call!(s.cu, cuGraphClone_10000(&raw mut clone, graph)),
        s.instantiate(graph),
        call!(s.cu, cuGraphExecDestroy_10000(exec)),
        call!(s.cu, cuGraphDestroy_10000(graph)),
    ]))
}

/// Launch, launch again, clone, instantiate, destroy the exec, destroy the graph.
pub(super) const FAULTY: &[Question] = &[
    ("a kernel that stores at 0: run, and what comes after", |s| faulty(s, c"store", 0)),
    ("a kernel that traps: run, and what comes after", |s| faulty(s, c"trap", 0)),
    ("a kernel that asserts: run, and what comes after", |s| faulty(s, c"assert", 0)),
    ("memory freed after the instantiation: run", |s| {
        let memory = s.cu.memory(64 << 20)?;
        let fill = CUDA_MEMSET_NODE_PARAMS_v1 { dst: memory, ..s.filling(1) };
        let exec = s.exec(s.graph_of(&[Work::Fill(fill)])?)?;
        given!(s.cu, cuMemFree_3020(memory))?;
        Ok(s.launched(exec))
    }),
    ("memory of a kernel freed after the instantiation: run", |s| {
        let memory = s.cu.memory(64 << 20)?;
        let kernel = Work::Kernel(Launch::new(s.storing, [memory, 1]));
        let exec = s.exec(s.graph_of(&[kernel])?)?;
        given!(s.cu, cuMemFree_3020(memory))?;
        Ok(s.launched(exec))
    }),
];

/// A launch in a second stream might wait for the first.
pub(super) const APART: &[Question] = &[
    ("in a destroyed stream", |s| {
        let (exec, stream) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(NON_BLOCKING)?);
        given!(s.cu, cuStreamDestroy_4000(stream))?;
        Ok(call!(s.cu, cuGraphLaunch_10000(exec, stream)))
    }),
    ("its context was reset: launch, destroy exec, destroy graph", |s| {
        let graph = s.graph_of(&[s.note(1)])?;
        let exec = s.exec(graph)?;
        given!(s.cu, cuDevicePrimaryCtxReset_11000(0))?;
        Ok(Answer::all([
            s.launch(exec),
            call!(s.cu, cuGraphExecDestroy_10000(exec)),
            call!(s.cu, cuGraphDestroy_10000(graph)),
        ]))
    }),
    ("its context was reset: count, clone, instantiate its graph", |s| {
        let (graph, mut clone) = (s.graph_of(&[s.note(1)])?, null_mut());
        given!(s.cu, cuDevicePrimaryCtxReset_11000(0))?;
        Ok(Answer::all([
            s.count(graph),
            call!(s.cu, cuGraphClone_10000(&raw mut clone, graph)),
            s.instantiate(graph),
        ]))
    }),
    ("its kernel's context was destroyed: launch, destroy exec", |s| {
        let there = s.elsewhere()?;
        let launch = Launch { context: there.context, ..Launch::new(there.nothing, [0; 2]) };
        let exec = s.exec(s.graph_of(&[Work::Kernel(launch)])?)?;
        given!(s.cu, cuCtxDestroy_4000(there.context))?;
        Ok(Answer::all([s.launch(exec), call!(s.cu, cuGraphExecDestroy_10000(exec))]))
    }),
];

/// Calls that might wait for a launch.
pub(super) const AT_ONCE: &[Question] = &[
    ("one exec in two streams at once: at once, query; noted", |s| {
        s.clear()?;
        let (exec, other) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(NON_BLOCKING)?);
        let gate = Gate::close(&s.cu, s.stream)?;
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(1000));
            gate.open();
        });
        let start = Instant::now();
        let answers = [s.launch(exec), call!(s.cu, cuGraphLaunch_10000(exec, other))];
        let at_once = yes(start.elapsed() < Duration::from_millis(300));
        let beside = s.cu.settled(|| call!(s.cu, cuStreamQuery_2000(other)));
        let _ = opener.join();
        let after = [s.synchronise(), call!(s.cu, cuStreamSynchronize_2000(other))];
        Ok(Answer::all([Answer::all(answers), at_once.into(), beside, Answer::all(after), s.noted()]))
    }),
    ("an exec uploaded while it is in flight: at once", |s| {
        let (exec, other) = (s.exec(s.graph_of(&[s.note(1)])?)?, s.cu.stream(NON_BLOCKING)?);
        let gate = Gate::close(&s.cu, s.stream)?;
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(1000));
            gate.open();
        });
        let start = Instant::now();
        let answers = [s.launch(exec), call!(s.cu, cuGraphUpload_11010(exec, other))];
        let at_once = yes(start.elapsed() < Duration::from_millis(300));
        let _ = opener.join();
        Ok(Answer::all([Answer::all(answers), at_once.into(), s.synchronise()]))
    }),
];
