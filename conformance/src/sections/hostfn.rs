//! Host functions: where they run, and which calls they may make.

use super::Section;
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUresult, CUstream};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::thread::ThreadId;

pub(super) const SECTION: Section = Section { name: "hostfn", parts: 3, run };

/// What the host function finds, and where it leaves what it was answered.
struct Inside {
    cu: Cu,
    context: CUcontext,
    own: CUstream,
    idle: CUstream,
    event: CUevent,
    recorded: CUevent,
    memory: CUdeviceptr,
    ask: fn(&Inside) -> Answers,
    answers: Answers,
    thread: Option<ThreadId>,
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let context = cu.start()?;
    let own = cu.stream(NON_BLOCKING)?;
    match part {
        0 => {
            inside(t, cu, context, own, |inside| [allowed(inside), refused(inside)].concat())?;
            t.line("host fn NULL", || call!(cu, cuLaunchHostFunc_10000(own, None, null_mut())));
            Ok(())
        }
        1 => inside(t, cu, context, own, waiting),
        _ => callbacks(t, cu, own),
    }
}

type Answers = Vec<(&'static str, Answer)>;

/// Launches a host function that puts these questions.
fn inside(t: &mut Lines, cu: &Cu, context: CUcontext, own: CUstream, ask: fn(&Inside) -> Answers) -> Outcome {
    let recorded = cu.event(0)?;
    need!(cu, cuEventRecord_2000(recorded, own))?;
    need!(cu, cuStreamSynchronize_2000(own))?;
    // Never freed: if the stream could not be synchronised, the host function may still run.
    let inside = Box::leak(Box::new(Inside {
        cu: *cu,
        context,
        own,
        idle: cu.stream(NON_BLOCKING)?,
        event: cu.event(0)?,
        recorded,
        memory: cu.memory(4096)?,
        ask,
        answers: Vec::new(),
        thread: None,
    }));
    let user = std::ptr::from_mut(inside).cast();
    t.line("host function", || call!(cu, cuLaunchHostFunc_10000(own, Some(run_inside), user)));
    need!(cu, cuStreamSynchronize_2000(own))?;
    t.line("  on another thread", || {
        yes(inside.thread.is_some_and(|thread| thread != std::thread::current().id()))
    });
    for (situation, answer) in inside.answers.drain(..) {
        t.line(&format!("  in it: {situation}"), || answer);
    }
    Ok(())
}

extern "C" fn run_inside(inside: *mut c_void) {
    // SAFETY: `run` waits for this call, and touches the value only afterwards.
    let inside = unsafe { &mut *inside.cast::<Inside>() };
    inside.thread = Some(std::thread::current().id());
    inside.answers = (inside.ask)(inside);
}

fn allowed(inside: &Inside) -> Answers {
    let Inside { cu, own, idle, event, recorded, .. } = *inside;
    let (mut number, mut milliseconds) = (0, 0.0);
    let mut text = std::ptr::null();
    vec![
        ("cuStreamQuery(own stream)", call!(cu, cuStreamQuery_2000(own))),
        ("cuStreamQuery(idle stream)", call!(cu, cuStreamQuery_2000(idle))),
        ("cuEventQuery", call!(cu, cuEventQuery_2000(recorded))),
        ("cuEventRecord", call!(cu, cuEventRecord_2000(event, idle))),
        ("cuEventElapsedTime", call!(cu, cuEventElapsedTime_2000(&raw mut milliseconds, recorded, recorded))),
        ("cuDriverGetVersion", call!(cu, cuDriverGetVersion_2020(&raw mut number))),
        ("cuGetErrorName", call!(cu, cuGetErrorName_6000(CUresult(0), &raw mut text))),
        ("cuInit", call!(cu, cuInit_2000(0))),
        ("cuDeviceGetCount", call!(cu, cuDeviceGetCount_2000(&raw mut number))),
    ]
}

fn refused(inside: &Inside) -> Answers {
    let Inside { cu, context, idle, event, recorded, memory, .. } = *inside;
    let (mut stream, mut created, mut current, mut address, mut flags) =
        (null_mut(), null_mut(), null_mut(), 0, 0);
    vec![
        ("cuStreamQuery(NULL)", call!(cu, cuStreamQuery_2000(null_mut()))),
        ("cuStreamWaitEvent", call!(cu, cuStreamWaitEvent_3020(idle, recorded, 0))),
        ("cuStreamGetFlags", call!(cu, cuStreamGetFlags_5050(idle, &raw mut flags))),
        ("cuStreamCreate", call!(cu, cuStreamCreate_2000(&raw mut stream, NON_BLOCKING))),
        ("cuEventCreate", call!(cu, cuEventCreate_2000(&raw mut created, 0))),
        ("cuEventDestroy", call!(cu, cuEventDestroy_4000(event))),
        ("cuCtxGetCurrent", call!(cu, cuCtxGetCurrent_4000(&raw mut current))),
        ("cuCtxSetCurrent", call!(cu, cuCtxSetCurrent_4000(context))),
        ("cuMemAlloc", call!(cu, cuMemAlloc_3020(&raw mut address, 64))),
        ("cuMemAllocAsync", call!(cu, cuMemAllocAsync_11020(&raw mut address, 64, idle))),
        ("cuMemFree", call!(cu, cuMemFree_3020(memory))),
        ("cuMemFree(0)", call!(cu, cuMemFree_3020(0))),
        ("cuMemsetD8Async", call!(cu, cuMemsetD8Async_3020(memory, 0, 64, idle))),
        ("cuLaunchHostFunc", call!(cu, cuLaunchHostFunc_10000(idle, Some(nothing), null_mut()))),
        ("cuPointerGetAttribute", memory_type(&cu, memory)),
    ]
}

/// Calls that wait, for which a driver may wait for ever.
fn waiting(inside: &Inside) -> Answers {
    let Inside { cu, idle, recorded, .. } = *inside;
    vec![
        ("cuStreamSynchronize(idle stream)", call!(cu, cuStreamSynchronize_2000(idle))),
        ("cuEventSynchronize", call!(cu, cuEventSynchronize_2000(recorded))),
        ("cuCtxSynchronize", call!(cu, cuCtxSynchronize_2000())),
    ]
}

fn memory_type(cu: &Cu, memory: CUdeviceptr) -> Answer {
    let mut kind = 0u32;
    let attribute = cushim::driver::sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    call!(cu, cuPointerGetAttribute_4000((&raw mut kind).cast(), attribute, memory))
}

extern "C" fn nothing(_: *mut c_void) {}

/// The older kind, which is told how the stream fares.
fn callbacks(t: &mut Lines, cu: &Cu, stream: CUstream) -> Outcome {
    extern "C" fn told(_: CUstream, status: CUresult, place: *mut c_void) {
        // SAFETY: the variable lives until the stream was synchronised.
        unsafe { *place.cast::<CUresult>() = status };
    }
    let mut status = CUresult(-1);
    let place = (&raw mut status).cast();
    t.line("callback", || call!(cu, cuStreamAddCallback_5000(stream, Some(told), place, 0)));
    need!(cu, cuStreamSynchronize_2000(stream))?;
    t.line("  told", || Answer::Result(status));
    t.line("callback with flags 1", || call!(cu, cuStreamAddCallback_5000(stream, Some(told), place, 1)));
    t.line("callback NULL", || call!(cu, cuStreamAddCallback_5000(stream, None, null_mut(), 0)));
    need!(cu, cuStreamSynchronize_2000(stream))
}
