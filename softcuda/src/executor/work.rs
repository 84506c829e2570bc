//! What streams do: pieces of work, and their places in the order.

use crate::context;
use crate::memory::span::{Access, Span};
use crate::settings::complain;
use crate::stream::Stream;
use crate::sys::{CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUresult};
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who runs a piece of work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Anybody, at once: it takes no time.
    Instant,
    /// The device: it takes time, and waits for nothing.
    Device,
    /// A thread for the caller's functions: they may wait for anything.
    Host,
}

/// Something that a stream can be asked to do. It may be asked again and again, as the nodes of a graph are.
pub(crate) trait Work: Send + Sync {
    /// What a message calls it.
    fn name(&self) -> &'static str;

    fn duty(&self) -> Duty;

    /// The memory that it reads and writes.
    fn accesses(&self) -> Vec<Access<'_>> {
        Vec::new()
    }

    fn run(&self);

    /// Called instead of `run` where the context has a sticky error.
    fn give_up(&self, _fault: CUresult) {}
}

thread_local! {
    static RUNNING: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A piece of work in a stream.
pub(crate) struct Operation {
    /// In the order in which the process submitted them.
    pub(super) number: u64,
    pub(super) stream: Arc<Stream>,
    pub(super) duty: Duty,
    /// Taken when it runs, so that what it holds is free before it counts as finished.
    work: Mutex<Option<Arc<dyn Work>>>,
    finished: AtomicBool,
    /// Notified when it is finished or its context is lost; goes with the executor's lock.
    pub(super) done: Condvar,
}

impl Operation {
    pub(super) fn new(number: u64, stream: Arc<Stream>, work: Arc<dyn Work>) -> Arc<Self> {
        let (finished, done) = (AtomicBool::new(false), Condvar::new());
        Arc::new(Self { number, stream, duty: work.duty(), work: Mutex::new(Some(work)), finished, done })
    }

    pub(crate) fn stream_id(&self) -> u64 {
        self.stream.id
    }

    /// Whether it was submitted before the other one.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        self.number < other.number
    }

    /// Whether it has run, and everything before it.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    pub(super) fn set_finished(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.stream.context.fault().is_err()
    }

    /// The number of the host function that the calling thread is in.
    pub(super) fn of_this_thread() -> Option<u64> {
        RUNNING.get()
    }

    pub(super) fn run(&self) {
        let Some(work) = self.work.lock().take() else { return };
        if self.duty == Duty::Host {
            let outer = RUNNING.replace(Some(self.number));
            self.do_work(&*work);
            RUNNING.set(outer);
        } else {
            self.do_work(&*work);
        }
    }

    fn do_work(&self, work: &dyn Work) {
        let accesses = work.accesses();
        match self.stream.context.fault().and_then(|()| self.check(work.name(), &accesses)) {
            Ok(()) => {
                let device = self.stream.context.device();
                accesses.iter().for_each(|access| access.span.arrive(device, access.writes));
                work.run();
            }
            Err(fault) => work.give_up(fault),
        }
    }

    /// Refuses memory that is not allocated at this point of the order, or not for this stream: that is the sticky error
    /// of an illegal access.
    fn check(&self, name: &str, accesses: &[Access<'_>]) -> Result<(), CUresult> {
        let unallocated = accesses.iter().find(|access| !access.span.is_allocated());
        let elsewhere = accesses.iter().find(|access| !access.span.is_attached_to(self.stream.id));
        let closed = accesses.iter().find(|access| access.span.has_lost_access(&self.stream.context));
        let (message, fault) = match (unallocated, elsewhere, closed) {
            (Some(access), _, _) => (self.illegal(name, access.span), CUDA_ERROR_ILLEGAL_ADDRESS),
            (None, Some(access), _) => (self.detached(name, access.span), CUDA_ERROR_ILLEGAL_ADDRESS),
            (None, None, Some(access)) => (self.closed(name, access.span), CUDA_ERROR_LAUNCH_FAILED),
            (None, None, None) => return Ok(()),
        };
        complain(&message);
        context::lose_all(&self.stream.context, fault);
        Err(fault)
    }

    fn detached(&self, name: &str, span: &Span) -> String {
        format!(
            "illegal address: {name} on stream {} used managed memory at {:#x} that is attached to the host or to \
             another stream; attach it to this one with cuStreamAttachMemAsync",
            self.stream.id,
            span.address(),
        )
    }

    fn closed(&self, name: &str, span: &Span) -> String {
        format!(
            "launch failed: {name} on stream {} used another device's memory at {:#x} after cuCtxDisablePeerAccess; wait \
             for the work that needs access before it ends",
            self.stream.id,
            span.address(),
        )
    }

    fn illegal(&self, name: &str, span: &Span) -> String {
        format!(
            "illegal address: {name} on stream {} ran where the memory at {:#x} was not allocated; order it after the \
             allocation and before the free",
            self.stream.id,
            span.address(),
        )
    }
}
