//! Streams: which one a handle means. Their operations are the executor's.

pub(crate) mod attributes;
pub(crate) mod capture;
pub(crate) mod config;
pub(crate) mod created;
pub(crate) mod ordering;
pub(crate) mod values;

use crate::context::Activation;
use crate::context::current::top;
use crate::error::Answer;
use crate::executor::{self, Operation, Work};
use crate::handle::Table;
use crate::sys::{
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_PERMITTED, CUresult, CUstream,
};
use crate::{entry, host_function, live};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The handles of default streams; NULL is one or the other of them.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// Streams that were created and not destroyed, also those of contexts that have ended.
static STREAMS: Table<Stream> = Table::new();

/// How a stream is ordered with the legacy default stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Legacy,
    PerThread,
    /// Created; waits for the legacy stream, which waits for it.
    Blocking,
    /// Created; does not care.
    NonBlocking,
}

/// A stream, or rather what is known about it.
pub(crate) struct Stream {
    /// What callers know it by; of a default stream, any of its handles.
    handle: usize,
    /// As `cuStreamGetId` answers; no two streams of a process share one.
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    /// Falls as the urgency rises.
    priority: AtomicI32,
    pub(crate) context: Arc<Activation>,
}

/// A number for a new stream.
pub(crate) fn next_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(1);
    IDS.fetch_add(1, Ordering::Relaxed)
}

thread_local! {
    /// The number of the calling thread's own default stream in each context.
    static OWN: RefCell<HashMap<u64, u64>> = RefCell::default();
}

impl Stream {
    /// The stream that a caller's handle means. A default stream is the current context's, a created one knows its own.
    pub(crate) fn of(handle: CUstream) -> Result<Arc<Self>, CUresult> {
        let stream = Self::even_if_lost(handle)?;
        stream.context.fault()?;
        Ok(stream)
    }

    /// As `of`, but a sticky error is no obstacle.
    pub(crate) fn even_if_lost(handle: CUstream) -> Result<Arc<Self>, CUresult> {
        let stream = match handle as usize {
            0 if entry::per_thread() => Self::default(PER_THREAD)?,
            0 => Self::default(LEGACY)?,
            handle @ (LEGACY | PER_THREAD) => Self::default(handle)?,
            handle => STREAMS.get(handle).ok_or(CUDA_ERROR_INVALID_HANDLE)?,
        };
        if stream.context.has_ended() { Err(CUDA_ERROR_CONTEXT_IS_DESTROYED) } else { Ok(stream) }
    }

    fn default(handle: usize) -> Result<Arc<Self>, CUresult> {
        if host_function::running() {
            return Err(CUDA_ERROR_NOT_PERMITTED);
        }
        let context = top().ok_or(CUDA_ERROR_INVALID_CONTEXT)?;
        let context = context.life().ok_or(CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        let (id, kind) = match handle {
            LEGACY => (context.legacy_stream(), Kind::Legacy),
            _ => (own_stream(context.id()), Kind::PerThread),
        };
        Ok(Arc::new(Self { handle, id, kind, priority: AtomicI32::new(0), context }))
    }

    /// A stream that nobody knows, for a piece of work that has no place in another.
    pub(crate) fn aside(context: &Arc<Activation>) -> Arc<Self> {
        let (kind, context) = (Kind::NonBlocking, Arc::clone(context));
        Arc::new(Self { handle: 0, id: next_id(), kind, priority: AtomicI32::new(0), context })
    }

    /// Whether it is not a default stream.
    pub(crate) fn is_created(&self) -> bool {
        matches!(self.kind, Kind::Blocking | Kind::NonBlocking)
    }

    pub(crate) fn priority(&self) -> i32 {
        self.priority.load(Ordering::Relaxed)
    }

    /// Changes the priority of a created stream; that of a default stream is fixed.
    pub(crate) fn set_priority(&self, priority: i32) -> Answer {
        if !self.is_created() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        self.priority.store(priority, Ordering::Relaxed);
        Ok(())
    }

    /// The stream of calls that name none.
    pub(crate) fn unnamed() -> Result<Arc<Self>, CUresult> {
        Self::of(std::ptr::null_mut())
    }

    /// Puts work behind everything that the stream has been given. Refused where a capture is in the way.
    pub(crate) fn submit(self: &Arc<Self>, work: impl Work + 'static) -> Result<Arc<Operation>, CUresult> {
        self.submit_after(work, &[])
    }

    /// As `submit`; the work also waits for other operations.
    pub(crate) fn submit_after(
        self: &Arc<Self>,
        work: impl Work + 'static,
        after: &[Arc<Operation>],
    ) -> Result<Arc<Operation>, CUresult> {
        self.admit_work()?;
        let barriers = self.context.barriers();
        if barriers.is_empty() {
            return Ok(executor::submit(self, Arc::new(work), after));
        }
        Ok(executor::submit(self, Arc::new(work), &[after, &barriers].concat()))
    }

    /// Waits for operations of this stream.
    pub(crate) fn wait_for(&self, operations: &[Arc<Operation>]) -> Answer {
        executor::wait_for(operations)?;
        self.context.fault()
    }
}

fn own_stream(context: u64) -> u64 {
    OWN.with_borrow_mut(|own| *own.entry(context).or_insert_with(next_id))
}

/// Shows every stream that was created and not destroyed, in contexts that live.
pub(crate) fn show_live(show: &mut dyn FnMut(live::Object)) {
    STREAMS.each(|stream| {
        if !stream.context.has_ended() {
            show(live::Object::of_context(live::STREAM, stream.handle, &stream.context));
        }
    });
}
