//! Kernels that break something: who is told, when, and what can still be done.

use super::Section;
use crate::code::{Arguments, FAULTS, KERNELS, Shape};
use crate::driver::{BOGUS, Cu, LEGACY, NON_BLOCKING, Outcome, call, need, yes};
use crate::transcript::Lines;
use cushim::driver::sys::{CUresult, CUstream};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

pub(super) const SECTION: Section =
    Section { name: "faults", parts: FAULTY.len() + AFTERWARDS.len() + 1, devices: 1, run };

/// A kernel and its argument; if that is wanted, relative to 4096 bytes of memory.
struct Fault {
    name: &'static str,
    kernel: &'static CStr,
    argument: u64,
    in_memory: bool,
}

const fn fault(name: &'static str, kernel: &'static CStr, argument: u64, in_memory: bool) -> Fault {
    Fault { name, kernel, argument, in_memory }
}

const FAULTY: &[Fault] = &[
    fault("store at 0", c"store", 0, false),
    fault("store at an address that is nobody's", c"store", BOGUS, false),
    fault("load at 0", c"load", 0, false),
    fault("atomic at 0", c"add", 0, false),
    fault("misaligned store", c"store", 2, true),
    fault("misaligned load", c"load", 1, true),
    fault("misaligned atomic", c"add", 2, true),
    fault("store far outside of shared memory", c"shared", 1 << 20, false),
    fault("store 16 MiB into shared memory", c"shared", 1 << 24, false),
    fault("store 1 GiB into shared memory", c"shared", 1 << 30, false),
    fault("store at the end of 32 bits in shared memory", c"shared", (1 << 32) - 4, false),
    fault("load 1 MiB into shared memory", c"shared_load", 1 << 20, false),
    fault("load 16 MiB into shared memory", c"shared_load", 1 << 24, false),
    fault("load 1 GiB into shared memory", c"shared_load", 1 << 30, false),
    fault("load at the end of 32 bits in shared memory", c"shared_load", (1 << 32) - 4, false),
    fault("misaligned store in shared memory", c"shared", 2, false),
    fault("store into the last of 128 bytes, asking for 16", c"shared_16", 112, false),
    fault("store behind them", c"shared_16", 128, false),
    fault("load from the last of 128 bytes, asking for 16", c"shared_16_load", 112, false),
    fault("load behind them", c"shared_16_load", 128, false),
    fault("trap", c"trap", 0, false),
    fault("assert", c"assert", 0, false),
    fault("recursion of 100000", c"deep", 100_000, false),
];

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    match (FAULTY.get(part), part.checked_sub(FAULTY.len()).and_then(|part| AFTERWARDS.get(part))) {
        (Some(fault), _) => one(t, cu, fault),
        (_, Some(ask)) => ask(t, cu),
        _ => recursion(t, cu),
    }
}

/// The launch, whoever waits for it, and whoever comes after.
fn one(t: &mut Lines, cu: &Cu, fault: &Fault) -> Outcome {
    cu.start()?;
    let (stream, memory) = (cu.stream(NON_BLOCKING)?, cu.memory(4096)?);
    let function = cu.function(cu.module(FAULTS)?, fault.kernel)?;
    let argument = if fault.in_memory { memory + fault.argument } else { fault.argument };
    let mut address = 0;
    t.line(&format!("{}: launch", fault.name), || cu.launch_at(function, stream, argument));
    t.line("  synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  synchronise again", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  next allocation", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    Ok(())
}

/// What is asked of a context that is lost.
const AFTERWARDS: &[fn(&mut Lines, &Cu) -> Outcome] = &[asked, changed, told, recovered, other_context];

/// Everything there was before the fault.
struct Scene {
    stream: CUstream,
    other: CUstream,
    memory: u64,
}

/// A context whose kernel has trapped; nobody knows yet.
fn trapped(cu: &Cu) -> Outcome<Scene> {
    cu.start()?;
    let scene =
        Scene { stream: cu.stream(NON_BLOCKING)?, other: cu.stream(NON_BLOCKING)?, memory: cu.memory(4096)? };
    let function = cu.function(cu.module(FAULTS)?, c"trap")?;
    cu.launch_at(function, scene.stream, 0).must("the launch")?;
    Ok(scene)
}

fn asked(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let (before, module) = (cu.event(0)?, cu.module(KERNELS)?);
    let nothing = cu.function(module, c"nothing")?;
    let stream = cu.stream(NON_BLOCKING)?;
    need!(cu, cuEventRecord_2000(before, stream))?;
    need!(cu, cuStreamSynchronize_2000(stream))?;
    let s = trapped(cu)?;
    let (mut number, mut flags, mut current, mut value, mut name) = (0, 0, null_mut(), 0, null_mut());
    t.line("synchronise its stream", || call!(cu, cuStreamSynchronize_2000(s.stream)));
    t.line("synchronise another stream", || call!(cu, cuStreamSynchronize_2000(s.other)));
    t.line("synchronise the context", || call!(cu, cuCtxSynchronize_2000()));
    t.line("query of its stream", || call!(cu, cuStreamQuery_2000(s.stream)));
    t.line("query of another stream", || call!(cu, cuStreamQuery_2000(s.other)));
    t.line("query of the legacy stream", || call!(cu, cuStreamQuery_2000(LEGACY)));
    t.line("query of an event of before", || call!(cu, cuEventQuery_2000(before)));
    t.line("flags of a stream", || call!(cu, cuStreamGetFlags_5050(s.stream, &raw mut flags)));
    t.line("current context", || call!(cu, cuCtxGetCurrent_4000(&raw mut current)));
    t.line("device count", || call!(cu, cuDeviceGetCount_2000(&raw mut number)));
    t.line("driver version", || call!(cu, cuDriverGetVersion_2020(&raw mut number)));
    t.line("attribute of a function", || {
        call!(cu, cuFuncGetAttribute_2020(&raw mut value, Default::default(), nothing))
    });
    t.line("function of a module", || {
        call!(cu, cuModuleGetFunction_2000(&raw mut name, module, c"three".as_ptr()))
    });
    t.line("free memory", || {
        let (mut free, mut total) = (0, 0);
        call!(cu, cuMemGetInfo_3020(&raw mut free, &raw mut total))
    });
    t.line("kind of memory", || {
        let kind = cushim::driver::sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        call!(cu, cuPointerGetAttribute_4000((&raw mut number).cast(), kind, s.memory))
    });
    t.line("primary context state", || {
        let mut active = 0;
        call!(cu, cuDevicePrimaryCtxGetState_7000(0, &raw mut flags, &raw mut active)).then(|| active)
    });
    Ok(())
}

fn changed(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let (event, module) = (cu.event(0)?, cu.module(KERNELS)?);
    let nothing = cu.function(module, c"nothing")?;
    let mut host = null_mut();
    need!(cu, cuMemHostAlloc_2020(&raw mut host, 64, 0))?;
    let s = trapped(cu)?;
    let (mut address, mut created, mut stream, mut loaded) = (0, null_mut(), null_mut(), null_mut());
    let (mut bytes, mut library) = ([0u8; 64], null_mut());
    t.line("after a trap: synchronise", || call!(cu, cuStreamSynchronize_2000(s.stream)));
    t.line("launch", || cu.launch(nothing, Shape::ONE, s.other, &mut []));
    t.line("launch with wrong arguments", || {
        let mut none = Arguments::new([0]);
        cu.launch(nothing, Shape::row(1, 5000), s.other, &mut none.pointers())
    });
    t.line("fill", || call!(cu, cuMemsetD8Async_3020(s.memory, 0, 64, s.other)));
    t.line("copy to the host", || call!(cu, cuMemcpyDtoH_3020(bytes.as_mut_ptr().cast(), s.memory, 64)));
    t.line("record an event", || call!(cu, cuEventRecord_2000(event, s.other)));
    t.line("wait for an event", || call!(cu, cuStreamWaitEvent_3020(s.other, event, 0)));
    t.line("allocation", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("ordered allocation", || call!(cu, cuMemAllocAsync_11020(&raw mut address, 64, s.other)));
    t.line("host allocation", || call!(cu, cuMemHostAlloc_2020(&raw mut created, 64, 0)));
    t.line("stream", || call!(cu, cuStreamCreate_2000(&raw mut stream, 0)));
    t.line("event", || {
        let mut event = null_mut();
        call!(cu, cuEventCreate_2000(&raw mut event, 0))
    });
    t.line("module", || call!(cu, cuModuleLoadData_2000(&raw mut loaded, KERNELS.as_ptr().cast())));
    t.line("library", || cu.load(&mut library, KERNELS));
    t.line("unload the module", || call!(cu, cuModuleUnload_2000(module)));
    t.line("free memory", || call!(cu, cuMemFree_3020(s.memory)));
    t.line("free host memory", || call!(cu, cuMemFreeHost_2000(host)));
    t.line("destroy the event", || call!(cu, cuEventDestroy_4000(event)));
    t.line("destroy the stream", || call!(cu, cuStreamDestroy_4000(s.stream)));
    Ok(())
}

/// Functions of the host behind the kernel.
fn told(t: &mut Lines, cu: &Cu) -> Outcome {
    static STATUS: AtomicI32 = AtomicI32::new(-1);
    static RAN: AtomicBool = AtomicBool::new(false);
    extern "C" fn called(_: CUstream, status: CUresult, _: *mut c_void) {
        STATUS.store(status.0, Ordering::SeqCst);
    }
    extern "C" fn ran(_: *mut c_void) {
        RAN.store(true, Ordering::SeqCst);
    }
    let s = trapped(cu)?;
    t.line("after a trap: synchronise", || call!(cu, cuStreamSynchronize_2000(s.stream)));
    t.line("host function", || call!(cu, cuLaunchHostFunc_10000(s.other, Some(ran), null_mut())));
    t.line("callback", || call!(cu, cuStreamAddCallback_5000(s.other, Some(called), null_mut(), 0)));
    std::thread::sleep(std::time::Duration::from_millis(300));
    t.line("  host function ran", || yes(RAN.load(Ordering::SeqCst)));
    t.line("  callback was told", || STATUS.load(Ordering::SeqCst).to_string());
    Ok(())
}

/// Whether a process can go on.
fn recovered(t: &mut Lines, cu: &Cu) -> Outcome {
    let s = trapped(cu)?;
    let (mut context, mut address) = (null_mut(), 0);
    t.line("after a trap: synchronise", || call!(cu, cuStreamSynchronize_2000(s.stream)));
    t.line("reset", || call!(cu, cuDevicePrimaryCtxReset_11000(0)));
    t.line("allocation", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("release", || call!(cu, cuDevicePrimaryCtxRelease_11000(0)));
    t.line("retain", || call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 0)));
    t.line("another context", || cu.create_context(&mut context, 0, 0));
    Ok(())
}

/// A context that has nothing to do with it.
fn other_context(t: &mut Lines, cu: &Cu) -> Outcome {
    let primary = cu.start()?;
    let created = cu.context()?;
    let (stream, mut address) = (cu.stream(NON_BLOCKING)?, 0);
    need!(cu, cuCtxSetCurrent_4000(primary))?;
    let s = trapped(cu)?;
    t.line("after a trap: synchronise", || call!(cu, cuStreamSynchronize_2000(s.stream)));
    t.line("make a context of before current", || call!(cu, cuCtxSetCurrent_4000(created)));
    t.line("  synchronise its stream", || call!(cu, cuStreamSynchronize_2000(stream)));
    t.line("  allocation", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("  destroy it", || call!(cu, cuCtxDestroy_4000(created)));
    Ok(())
}

/// Recursion that ends in time does no harm.
fn recursion(t: &mut Lines, cu: &Cu) -> Outcome {
    cu.start()?;
    let stream = cu.stream(NON_BLOCKING)?;
    let function = cu.function(cu.module(FAULTS)?, c"deep")?;
    t.line("recursion of 2: launch", || cu.launch_at(function, stream, 2));
    t.line("  synchronise", || call!(cu, cuStreamSynchronize_2000(stream)));
    Ok(())
}
