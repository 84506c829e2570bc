//! Before `cuInit`, without a context, and in the child of a fork.

use super::Section;
use crate::code::KERNELS;
use crate::driver::{Answer, Cu, Outcome, Stop, yes};
use crate::driver::{call, need};
use crate::transcript::Lines;
use cushim::driver::sys::CUresult;
use std::ptr::null_mut;

pub(super) const SECTION: Section = Section { name: "noctx", parts: 1, devices: 1, run };

fn run(t: &mut Lines, cu: &Cu, _: usize) -> Outcome {
    let (mut number, mut address) = (0, 0);
    let (mut context, mut stream, mut event) = (null_mut(), null_mut(), null_mut());
    t.line("before init: cuDeviceGetCount", || call!(cu, cuDeviceGetCount_2000(&raw mut number)));
    t.line("before init: cuDriverGetVersion", || call!(cu, cuDriverGetVersion_2020(&raw mut number)));
    t.line("before init: cuCtxGetCurrent", || call!(cu, cuCtxGetCurrent_4000(&raw mut context)));
    t.line("before init: cuMemAlloc", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("before init: cuStreamQuery(NULL)", || call!(cu, cuStreamQuery_2000(null_mut())));
    t.line("before init: cuModuleLoadData", || {
        let mut module = null_mut();
        call!(cu, cuModuleLoadData_2000(&raw mut module, KERNELS.as_ptr().cast()))
    });
    t.line("before init: cuLibraryLoadData", || {
        let mut library = null_mut();
        cu.load(&mut library, KERNELS)
    });
    t.line("init flags 1", || call!(cu, cuInit_2000(1)));
    need!(cu, cuInit_2000(0))?;
    t.line("init again", || call!(cu, cuInit_2000(0)));
    t.line("device 99", || call!(cu, cuDeviceGet_2000(&raw mut number, 99)));
    t.line("stream with no ctx", || call!(cu, cuStreamCreate_2000(&raw mut stream, 0)));
    t.line("alloc with no ctx", || call!(cu, cuMemAlloc_3020(&raw mut address, 64)));
    t.line("event with no ctx", || call!(cu, cuEventCreate_2000(&raw mut event, 0)));
    t.line("sync NULL stream with no ctx", || call!(cu, cuStreamSynchronize_2000(null_mut())));
    t.line("cuCtxSynchronize", || call!(cu, cuCtxSynchronize_2000()));
    t.line("cuCtxGetDevice", || call!(cu, cuCtxGetDevice_2000(&raw mut number)));
    t.line("cuCtxPopCurrent", || call!(cu, cuCtxPopCurrent_4000(&raw mut context)));
    t.line("cuMemFree(0)", || call!(cu, cuMemFree_3020(0)));
    t.line("cuMemFreeHost(NULL)", || call!(cu, cuMemFreeHost_2000(null_mut())));
    context = std::ptr::without_provenance_mut(1);
    t.line("cuCtxGetCurrent", || call!(cu, cuCtxGetCurrent_4000(&raw mut context)));
    t.line("  context is null", || yes(context.is_null()));
    let [count, init, retain] = in_fork(|| {
        [
            call!(cu, cuDeviceGetCount_2000(&raw mut number)),
            call!(cu, cuInit_2000(0)),
            call!(cu, cuDevicePrimaryCtxRetain_7000(&raw mut context, 0)),
        ]
    })?;
    t.line("child of fork after init: count", || count);
    t.line("child: init", || init);
    t.line("child: retain", || retain);
    Ok(())
}

/// What the calls answer in a child of this process, made without `exec`.
fn in_fork<const N: usize>(ask: impl FnOnce() -> [Answer; N]) -> Outcome<[Answer; N]> {
    let (mut ends, mut codes, mut status) = ([0; 2], [0i32; N], 0);
    // SAFETY: two ends of a pipe are written.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(Stop("pipe".to_owned()));
    }
    // SAFETY: what the child does is what is asked about; this process has no other threads of its own.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let codes = ask().map(|answer| match answer {
            Answer::Result(CUresult(code)) => code,
            _ => -1,
        });
        // SAFETY: the array is as long as is said; the child ends without destructors or handlers of the parent's.
        unsafe {
            libc::write(ends[1], codes.as_ptr().cast(), size_of_val(&codes));
            libc::_exit(0);
        }
    }
    // SAFETY: the array is as long as is said; the ends are this function's.
    let read = unsafe {
        libc::close(ends[1]);
        let read = libc::read(ends[0], codes.as_mut_ptr().cast(), size_of_val(&codes));
        libc::close(ends[0]);
        libc::waitpid(child, &raw mut status, 0);
        read
    };
    if read != size_of_val(&codes) as isize {
        return Err(Stop(format!("the child of a fork ended with status {status}")));
    }
    Ok(codes.map(|code| Answer::Result(CUresult(code))))
}
