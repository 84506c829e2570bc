//! Nodes that call the host.

use super::Question;
use super::scene::Scene;
use super::work::{Work, host};
use crate::driver::{Answer, Cu, Given, NON_BLOCKING, call, given};
use crate::gate::Gate;
use cushim::driver::sys::{CUDA_HOST_NODE_PARAMS_v1, CUevent};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::thread::ThreadId;

/// What host nodes leave.
static CALLS: Mutex<Vec<(usize, ThreadId)>> = Mutex::new(Vec::new());

extern "C" fn called(number: *mut c_void) {
    let call = (number.addr(), std::thread::current().id());
    CALLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(call);
}

fn calling(number: usize) -> Work {
    let user = std::ptr::without_provenance_mut(number);
    Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(called), userData: user })
}

/// The numbers that host nodes had, and whether any was on this thread.
fn calls() -> Answer {
    let calls = std::mem::take(&mut *CALLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let here = calls.iter().any(|(_, thread)| *thread == std::thread::current().id());
    let numbers: Vec<String> = calls.iter().map(|(number, _)| number.to_string()).collect();
    format!("[{}], here {}", numbers.join(" "), crate::driver::yes(here)).into()
}

extern "C" fn asks(answers: *mut c_void) {
    // SAFETY: the question waits for this call, and touches the value only afterwards.
    let inside = unsafe { &mut *answers.cast::<Inside>() };
    let mut graph = null_mut();
    inside.answers = vec![
        call!(inside.cu, cuGraphCreate_10000(&raw mut graph, 0)),
        call!(inside.cu, cuGraphLaunch_10000(inside.exec, inside.stream)),
        call!(inside.cu, cuEventQuery_2000(inside.event)),
        call!(inside.cu, cuStreamQuery_2000(inside.stream)),
        call!(inside.cu, cuGraphExecDestroy_10000(null_mut())),
    ];
}

/// What a host node finds that puts questions.
struct Inside {
    cu: Cu,
    stream: cushim::driver::sys::CUstream,
    exec: cushim::driver::sys::CUgraphExec,
    event: CUevent,
    answers: Vec<Answer>,
}

fn inside(s: &Scene) -> Given<&'static mut Inside> {
    // Never freed: if the stream could not be synchronised, the host function may still run.
    Ok(Box::leak(Box::new(Inside {
        cu: s.cu,
        stream: s.cu.stream(NON_BLOCKING)?,
        exec: s.exec(s.graph_of(&[s.store(0, 1)])?)?,
        event: s.cu.event(0)?,
        answers: Vec::new(),
    })))
}

pub(super) const HOSTS: &[Question] = &[
    ("host nodes in order: numbers", |s| {
        calls();
        let ran = s.ran(s.graph_of(&[calling(1), s.store(0, 1), calling(2)])?);
        Ok(Answer::all([ran, calls()]))
    }),
    ("host node launched three times at once: numbers", |s| {
        calls();
        let exec = s.exec(s.graph_of(&[calling(1), calling(2)])?)?;
        let launches = [s.launch(exec), s.launch(exec), s.launch(exec)];
        Ok(Answer::all([Answer::all(launches), s.synchronise(), calls()]))
    }),
    ("host node in a child graph: numbers", |s| {
        calls();
        let child = s.graph_of(&[calling(2)])?;
        let ran = s.ran(s.graph_of(&[calling(1), Work::Child(child), calling(3)])?);
        Ok(Answer::all([ran, calls()]))
    }),
    ("what a host node may call: create, launch, queries, destroy", |s| {
        let inside = inside(s)?;
        let user = std::ptr::from_mut(inside).cast();
        let graph =
            s.graph_of(&[Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(asks), userData: user })])?;
        let ran = s.ran(graph);
        if inside.answers.is_empty() {
            return Ok(ran);
        }
        let answers: Vec<String> = inside.answers.iter().map(ToString::to_string).collect();
        Ok(Answer::all([ran, answers.join(", ").into()]))
    }),
    ("a kernel's store before a host node is seen by it", |s| {
        let (mut memory, mut address) = (null_mut(), 0);
        given!(s.cu, cuMemHostAlloc_2020(&raw mut memory, 8, 2))?;
        given!(s.cu, cuMemHostGetDevicePointer_3020(&raw mut address, memory, 0))?;
        let memory: *mut u32 = memory.cast();
        extern "C" fn double(memory: *mut c_void) {
            let memory: *mut u32 = memory.cast();
            // SAFETY: the memory has room for two numbers, and the kernel before has stored the first.
            unsafe { memory.add(1).write_volatile(memory.read_volatile() * 2) };
        }
        let kernel = Work::Kernel(super::launch::Launch::new(s.storing, [address, 21]));
        let doubling = Work::Host(CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(double), userData: memory.cast() });
        let ran = s.ran(s.graph_of(&[kernel, doubling])?);
        // SAFETY: the work is done, or was never begun.
        Ok(Answer::all([ran, unsafe { memory.add(1).read_volatile() }.to_string().into()]))
    }),
    ("a host node by which the stream is not idle: query, after", |s| {
        let exec = s.exec(s.graph_of(&[host()])?)?;
        let gate = Gate::close(&s.cu, s.stream)?;
        let launched = s.launch(exec);
        let in_flight = call!(s.cu, cuStreamQuery_2000(s.stream));
        gate.open();
        Ok(Answer::all([launched, in_flight, s.synchronise()]))
    }),
];
