//! Which calls return while a stream is busy, and which wait until it is done.

use super::Section;
use crate::driver::{Answer, Cu, LEGACY, NON_BLOCKING, Outcome, PER_THREAD, call, need};
use crate::gate::Gate;
use crate::transcript::Lines;
use cushim::driver::sys::{CUcontext, CUdeviceptr, CUevent, CUlimit, CUmemoryPool, CUstream};
use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::mpsc;

pub(super) const SECTION: Section = Section { name: "hidden_sync", parts: QUESTIONS.len(), devices: 1, run };

#[derive(Clone, Copy)]
struct Scene {
    cu: Cu,
    context: CUcontext,
    busy: CUstream,
    idle: CUstream,
    event: CUevent,
    memory: CUdeviceptr,
    other: CUdeviceptr,
    pinned: *mut c_void,
    /// A page of the program's own.
    registered: *mut c_void,
    pool: CUmemoryPool,
    /// Memory of a pool.
    pooled: CUdeviceptr,
}

// SAFETY: the driver's handles may be used from every thread.
unsafe impl Send for Scene {}

impl Scene {
    fn new(cu: &Cu, flags: u32) -> Outcome<Self> {
        let context = cu.start()?;
        let mut pinned = null_mut();
        need!(cu, cuMemHostAlloc_2020(&raw mut pinned, SMALL, 0))?;
        // SAFETY: the size is not zero.
        let registered = unsafe { alloc_zeroed(page()) }.cast();
        need!(cu, cuMemHostRegister_6050(registered, PAGE, 0))?;
        let (busy, mut pooled) = (cu.stream(flags)?, 0);
        need!(cu, cuMemAllocAsync_11020(&raw mut pooled, SMALL, busy))?;
        let scene = Self {
            cu: *cu,
            context,
            busy,
            idle: cu.stream(NON_BLOCKING)?,
            event: cu.event(0)?,
            memory: cu.memory(LARGE)?,
            other: cu.memory(LARGE)?,
            pinned,
            registered,
            pool: cu.default_pool()?,
            pooled,
        };
        scene.warm_up()?;
        Ok(scene)
    }

    /// So that no call below is the first of its kind, for which a driver may have to wait.
    fn warm_up(&self) -> Outcome {
        let (cu, mut host, mut address) = (&self.cu, [0u8; SMALL], 0);
        need!(cu, cuMemsetD8_3020(self.memory, 0, SMALL))?;
        need!(cu, cuMemcpyDtoD_3020(self.memory, self.other, SMALL))?;
        need!(cu, cuMemcpyHtoD_3020(self.memory, host.as_ptr().cast(), SMALL))?;
        need!(cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), self.memory, SMALL))?;
        for stream in [self.busy, self.idle] {
            need!(cu, cuMemsetD8Async_3020(self.memory, 0, SMALL, stream))?;
            need!(cu, cuMemAllocAsync_11020(&raw mut address, SMALL, stream))?;
            need!(cu, cuMemFreeAsync_11020(address, stream))?;
        }
        need!(cu, cuCtxSynchronize_2000())
    }

    /// Calls on a thread of its own, so that it can be seen whether the call comes back.
    fn ask(self, call: fn(&Self) -> Answer) -> mpsc::Receiver<Answer> {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let scene = self;
            let answer = match call!(scene.cu, cuCtxSetCurrent_4000(scene.context)) {
                answer if answer.succeeded() => call(&scene),
                answer => answer,
            };
            // Nobody listens any more if this took too long.
            let _ = sender.send(answer);
        });
        receiver
    }
}

fn run(t: &mut Lines, cu: &Cu, part: usize) -> Outcome {
    let Question { situation, busy, call } = &QUESTIONS[part];
    let scene = Scene::new(cu, *busy)?;
    let gate = Gate::close(cu, scene.busy)?;
    t.line(situation, || gate.holds_up(&scene.ask(*call)));
    Ok(())
}

struct Question {
    situation: &'static str,
    /// The flags of the stream that is busy.
    busy: u32,
    call: fn(&Scene) -> Answer,
}

const BLOCKING: u32 = 0;
const SMALL: usize = 64;
const LARGE: usize = 1 << 20;
const PAGE: usize = 4096;

/// Another stream is busy, which is non-blocking.
const fn other(situation: &'static str, call: fn(&Scene) -> Answer) -> Question {
    Question { situation, busy: NON_BLOCKING, call }
}

/// Another stream is busy, which is blocking.
const fn blocking(situation: &'static str, call: fn(&Scene) -> Answer) -> Question {
    Question { situation, busy: BLOCKING, call }
}

fn page() -> Layout {
    Layout::from_size_align(PAGE, PAGE).expect("a page is a power of two")
}

extern "C" fn nothing(_: *mut c_void) {}

const QUESTIONS: &[Question] = &[
    other("non-blocking busy: cuMemAlloc", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAlloc_3020(&raw mut address, SMALL))
    }),
    other("cuMemFree", |s| call!(s.cu, cuMemFree_3020(s.other))),
    other("cuMemFree of a pool's memory", |s| call!(s.cu, cuMemFree_3020(s.pooled))),
    other("cuMemFree(0)", |s| call!(s.cu, cuMemFree_3020(0))),
    other("cuMemHostAlloc", |s| {
        let mut host = null_mut();
        call!(s.cu, cuMemHostAlloc_2020(&raw mut host, SMALL, 0))
    }),
    other("cuMemFreeHost", |s| call!(s.cu, cuMemFreeHost_2000(s.pinned))),
    other("cuMemAllocAsync on an idle stream", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocAsync_11020(&raw mut address, SMALL, s.idle))
    }),
    other("cuMemFreeAsync on an idle stream", |s| call!(s.cu, cuMemFreeAsync_11020(s.other, s.idle))),
    other("cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, SMALL))),
    other("cuMemcpyDtoD", |s| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.other, SMALL))),
    other("cuMemcpyHtoD", |s| {
        let host = [0u8; SMALL];
        call!(s.cu, cuMemcpyHtoD_3020(s.memory, host.as_ptr().cast(), SMALL))
    }),
    other("cuMemcpyDtoH", |s| {
        let mut host = [0u8; SMALL];
        call!(s.cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), s.memory, SMALL))
    }),
    other("cuMemGetInfo", |s| {
        let (mut free, mut total) = (0, 0);
        call!(s.cu, cuMemGetInfo_3020(&raw mut free, &raw mut total))
    }),
    other("cuStreamCreate", |s| {
        let mut stream = null_mut();
        call!(s.cu, cuStreamCreate_2000(&raw mut stream, NON_BLOCKING))
    }),
    other("cuStreamDestroy of an idle stream", |s| call!(s.cu, cuStreamDestroy_4000(s.idle))),
    other("cuEventCreate", |s| {
        let mut event = null_mut();
        call!(s.cu, cuEventCreate_2000(&raw mut event, 0))
    }),
    other("cuEventDestroy", |s| call!(s.cu, cuEventDestroy_4000(s.event))),
    other("cuStreamSynchronize of legacy", |s| call!(s.cu, cuStreamSynchronize_2000(LEGACY))),
    other("cuStreamSynchronize of per-thread", |s| call!(s.cu, cuStreamSynchronize_2000(PER_THREAD))),
    other("cuStreamSynchronize of an idle stream", |s| call!(s.cu, cuStreamSynchronize_2000(s.idle))),
    other("cuMemHostRegister", |s| {
        // SAFETY: the size is not zero.
        let page = unsafe { alloc_zeroed(page()) };
        call!(s.cu, cuMemHostRegister_6050(page.cast(), PAGE, 0))
    }),
    other("cuMemHostUnregister", |s| call!(s.cu, cuMemHostUnregister_4000(s.registered))),
    other("cuMemPoolTrimTo", |s| call!(s.cu, cuMemPoolTrimTo_11020(s.pool, 0))),
    other("cuCtxSetLimit", |s| call!(s.cu, cuCtxSetLimit_3010(CUlimit(0), 2048))),
    other("cuCtxSynchronize", |s| call!(s.cu, cuCtxSynchronize_2000())),
    other("a host function on an idle stream", |s| {
        match call!(s.cu, cuLaunchHostFunc_10000(s.idle, Some(nothing), null_mut())) {
            answer if answer.succeeded() => call!(s.cu, cuStreamSynchronize_2000(s.idle)),
            answer => answer,
        }
    }),
    other("cuDevicePrimaryCtxReset", |s| call!(s.cu, cuDevicePrimaryCtxReset_11000(0))),
    other("cuDevicePrimaryCtxRelease, the last", |s| call!(s.cu, cuDevicePrimaryCtxRelease_11000(0))),
    other("cuStreamDestroy of the busy stream", |s| call!(s.cu, cuStreamDestroy_4000(s.busy))),
    other("cuStreamSynchronize of the busy stream", |s| call!(s.cu, cuStreamSynchronize_2000(s.busy))),
    other("on the busy stream: cuMemcpyHtoDAsync of 64 pageable bytes", |s| {
        // Never freed, nor below: the copy may come later.
        let host = vec![0u8; SMALL].leak();
        call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, host.as_ptr().cast(), SMALL, s.busy))
    }),
    other("on the busy stream: cuMemcpyHtoDAsync of 1 MiB pageable", |s| {
        let host = vec![0u8; LARGE].leak();
        call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, host.as_ptr().cast(), LARGE, s.busy))
    }),
    other("on the busy stream: cuMemcpyDtoHAsync to pageable", |s| {
        let host = vec![0u8; SMALL].leak();
        call!(s.cu, cuMemcpyDtoHAsync_3020(host.as_mut_ptr().cast(), s.memory, SMALL, s.busy))
    }),
    other("on the busy stream: cuMemcpyHtoDAsync of pinned", |s| {
        call!(s.cu, cuMemcpyHtoDAsync_3020(s.memory, s.pinned, SMALL, s.busy))
    }),
    other("on the busy stream: cuMemcpyDtoHAsync to pinned", |s| {
        call!(s.cu, cuMemcpyDtoHAsync_3020(s.pinned, s.memory, SMALL, s.busy))
    }),
    other("on the busy stream: cuMemAllocAsync", |s| {
        let mut address = 0;
        call!(s.cu, cuMemAllocAsync_11020(&raw mut address, SMALL, s.busy))
    }),
    other("on the busy stream: cuMemFreeAsync", |s| call!(s.cu, cuMemFreeAsync_11020(s.other, s.busy))),
    blocking("blocking busy: cuMemsetD8", |s| call!(s.cu, cuMemsetD8_3020(s.memory, 0, SMALL))),
    blocking("cuMemcpyDtoD after blocking", |s| call!(s.cu, cuMemcpyDtoD_3020(s.memory, s.other, SMALL))),
    blocking("cuMemcpyHtoD after blocking", |s| {
        let host = [0u8; SMALL];
        call!(s.cu, cuMemcpyHtoD_3020(s.memory, host.as_ptr().cast(), SMALL))
    }),
    blocking("cuMemcpyDtoH after blocking", |s| {
        let mut host = [0u8; SMALL];
        call!(s.cu, cuMemcpyDtoH_3020(host.as_mut_ptr().cast(), s.memory, SMALL))
    }),
    blocking("cuStreamSynchronize of legacy after blocking", |s| {
        call!(s.cu, cuStreamSynchronize_2000(LEGACY))
    }),
    blocking("cuStreamSynchronize of per-thread after blocking", |s| {
        call!(s.cu, cuStreamSynchronize_2000(PER_THREAD))
    }),
];
