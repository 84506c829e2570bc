//! Host functions: where they run, and which calls they may make.

use super::Section;
use crate::code::{KERNELS, Shape};
use crate::driver::{Answer, Cu, NON_BLOCKING, Outcome, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUkernel, CUlibrary, CUmodule,
    CUresult, CUstream,
};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::thread::ThreadId;

pub(super) const SECTION: Section = Section { name: "hostfn", parts: 4, devices: 1, run };

/// What the host function finds, and where it leaves what it was answered.
struct Inside {
    cu: Cu,
    context: CUcontext,
    own: CUstream,
    idle: CUstream,
    event: CUevent,
    recorded: CUevent,
    memory: CUdeviceptr,
    code: Code,
    ask: fn(&Inside) -> Answers,
    answers: Answers,
    thread: Option<ThreadId>,
}

/// What is loaded, where that is asked for.
#[derive(Clone, Copy)]
struct Code {
    module: CUmodule,
    function: CUfunction,
    library: CUlibrary,
    kernel: CUkernel,
}

impl Code {
    const NONE: Self =
        Self { module: null_mut(), function: null_mut(), library: null_mut(), kernel: null_mut() };

    fn load(cu: &Cu) -> Outcome<Self> {
        let (module, library) = (cu.module(KERNELS)?, cu.library(KERNELS)?);
        let (function, kernel) = (cu.function(module, c"nothing")?, cu.kernel(library, c"nothing")?);
        Ok(Self { module, function, library, kernel })
    }
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let context = cu.start()?;
    let own = cu.stream(NON_BLOCKING)?;
    match part {
        0 => {
            inside(t, cu, context, own, Code::NONE, |inside| [allowed(inside), refused(inside)].concat())?;
            t.line("host fn NULL", || call!(cu, cuLaunchHostFunc_10000(own, None, null_mut())));
            Ok(())
        }
        1 => inside(t, cu, context, own, Code::NONE, waiting),
        2 => callbacks(t, cu, own),
        _ => inside(t, cu, context, own, Code::load(cu)?, kernels),
    }
}

type Answers = Vec<(&'static str, Answer)>;

/// Launches a host function that puts these questions.
fn inside(
    t: &mut Lines,
    cu: &Cu,
    context: CUcontext,
    own: CUstream,
    code: Code,
    ask: fn(&Inside) -> Answers,
) -> Outcome {
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
        code,
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

/// Calls about code.
fn kernels(inside: &Inside) -> Answers {
    let Inside { cu, idle, code: Code { module, function, library, kernel }, .. } = *inside;
    let (mut loaded, mut found, mut its, mut value, mut address) = (null_mut(), null_mut(), null_mut(), 0, 0);
    let (mut offset, mut size, mut name, mut count) = (0, 0, std::ptr::null(), 0);
    let attribute = CUfunction_attribute(0);
    let config = Shape::ONE.config(idle, &mut []);
    vec![
        ("cuLaunchKernel", cu.launch(function, Shape::ONE, idle, &mut [])),
        (
            "cuLaunchKernelEx",
            call!(cu, cuLaunchKernelEx_11060(&raw const config, function, null_mut(), null_mut())),
        ),
        ("cuModuleLoadData", call!(cu, cuModuleLoadData_2000(&raw mut loaded, KERNELS.as_ptr().cast()))),
        (
            "cuModuleGetFunction",
            call!(cu, cuModuleGetFunction_2000(&raw mut found, module, c"nothing".as_ptr())),
        ),
        (
            "cuModuleGetGlobal",
            call!(cu, cuModuleGetGlobal_3020(&raw mut address, null_mut(), module, c"counter".as_ptr())),
        ),
        ("cuFuncGetAttribute", call!(cu, cuFuncGetAttribute_2020(&raw mut value, attribute, function))),
        ("cuFuncGetModule", call!(cu, cuFuncGetModule_11000(&raw mut its, function))),
        ("cuFuncGetName", call!(cu, cuFuncGetName_12030(&raw mut name, function))),
        ("cuKernelGetAttribute", call!(cu, cuKernelGetAttribute_12000(&raw mut value, attribute, kernel, 0))),
        (
            "cuKernelGetParamInfo",
            call!(cu, cuKernelGetParamInfo_12040(kernel, 0, &raw mut offset, &raw mut size)),
        ),
        ("cuKernelGetName", call!(cu, cuKernelGetName_12030(&raw mut name, kernel))),
        ("cuLibraryGetKernelCount", call!(cu, cuLibraryGetKernelCount_12040(&raw mut count, library))),
        (
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            call!(cu, cuOccupancyMaxActiveBlocksPerMultiprocessor_6050(&raw mut value, function, 64, 0)),
        ),
        ("cuLibraryUnload", call!(cu, cuLibraryUnload_12000(library))),
        ("cuModuleUnload", call!(cu, cuModuleUnload_2000(module))),
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
