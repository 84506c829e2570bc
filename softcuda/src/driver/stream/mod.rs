//! Streams: which one a handle means. Their operations are the executor's.

pub(crate) mod attributes;
pub(crate) mod capturing;
pub(crate) mod config;
pub(crate) mod created;
pub(crate) mod waiting;

use crate::abi::Answer;
use crate::abi::sys::{
    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_PERMITTED, CUresult, CUstream,
};
use crate::check;
use crate::driver::call;
use crate::driver::context::Activation;
use crate::driver::context::current::top;
use crate::driver::handle::{Object, Table};
use crate::driver::operation::{self, Operation, host_function};
use crate::driver::waiting::wait_for;
use crate::executor::{self, Bundle, Bundled, Coupling, Queue, Task, Work};
use crate::instruments::live;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

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

impl Kind {
    fn coupling(self) -> Coupling {
        match self {
            Self::Legacy => Coupling::Main,
            Self::PerThread | Self::Blocking => Coupling::Coupled,
            Self::NonBlocking => Coupling::Free,
        }
    }
}

/// A stream, or rather what is known about it.
pub(crate) struct Stream {
    /// What callers know it by; of a default stream, any of its handles.
    handle: usize,
    pub(crate) kind: Kind,
    queue: Arc<Queue>,
    pub(crate) context: Arc<Activation>,
}

impl Object for Stream {
    fn report(&self) -> Option<live::Object> {
        (!self.context.has_ended()).then(|| self.context.report(live::STREAM, self.handle))
    }

    fn was_labelled(&self, label: Option<&Arc<str>>) {
        self.tell_name(label);
    }
}

thread_local! {
    /// The calling thread's own default stream in each context, by the context's number.
    static OWN: RefCell<HashMap<u64, OwnQueue>> = RefCell::default();
}

/// What a thread's own default stream does; it goes with the thread.
struct OwnQueue(Arc<Queue>);

impl Drop for OwnQueue {
    fn drop(&mut self) {
        self.0.close();
    }
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
            0 if call::per_thread() => Self::default(PER_THREAD)?,
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
        let (queue, kind) = match handle {
            LEGACY => (Arc::clone(context.legacy_stream()), Kind::Legacy),
            _ => (own_stream(&context), Kind::PerThread),
        };
        if check::follows() {
            let name = if kind == Kind::Legacy {
                "the legacy default stream"
            } else {
                "a per-thread default stream"
            };
            check::streams::set(queue.id(), name.to_owned());
        }
        Ok(Arc::new(Self { handle, kind, queue, context }))
    }

    /// A stream that nobody knows, for a piece of work that has no place in another.
    pub(crate) fn aside(context: &Arc<Activation>) -> Arc<Self> {
        Arc::new(Self::new(0, Kind::NonBlocking, 0, Arc::clone(context)))
    }

    fn new(handle: usize, kind: Kind, priority: i32, context: Arc<Activation>) -> Self {
        let queue = Queue::new(context.queues(), kind.coupling(), priority);
        let stream = Self { handle, kind, queue, context };
        if handle != 0 {
            stream.tell_name(None);
        }
        stream
    }

    /// Reports call it so.
    fn tell_name(&self, label: Option<&Arc<str>>) {
        if check::follows() {
            let name = live::Named(self.handle, label.map(|label| &**label));
            check::streams::set(self.queue.id(), format!("stream {name}"));
        }
    }

    /// As `cuStreamGetId` answers; no two streams of a process share one.
    pub(crate) fn id(&self) -> u64 {
        self.queue.id()
    }

    /// What it does, to the executor.
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Whether it is not a default stream.
    pub(crate) fn is_created(&self) -> bool {
        matches!(self.kind, Kind::Blocking | Kind::NonBlocking)
    }

    pub(crate) fn priority(&self) -> i32 {
        self.queue.priority()
    }

    /// Changes the priority of a created stream; that of a default stream is fixed.
    pub(crate) fn set_priority(&self, priority: i32) -> Answer {
        if !self.is_created() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        self.queue.set_priority(priority);
        Ok(())
    }

    /// The stream of calls that give work and name none.
    pub(crate) fn unnamed() -> Result<Arc<Self>, CUresult> {
        Self::for_work(std::ptr::null_mut())
    }

    /// Puts an operation behind everything that the stream has been given. It does not capture.
    pub(crate) fn submit(&self, operation: impl Into<Operation>) -> Result<Arc<Task>, CUresult> {
        self.submit_after(operation, &[])
    }

    /// As `submit`; the operation also waits for other work.
    pub(crate) fn submit_after(
        &self,
        operation: impl Into<Operation>,
        after: &[Arc<Task>],
    ) -> Result<Arc<Task>, CUresult> {
        let operation = operation.into();
        operation.check_memory()?;
        Ok(operation::submit(operation, &self.context, &self.queue, after))
    }

    /// Puts a bundle behind everything that the stream has been given. It does not capture.
    pub(crate) fn submit_bundle(
        &self,
        bundle: Bundle,
        after: &[Arc<Task>],
        end: Box<dyn Work>,
        others: &[Arc<Queue>],
    ) -> Result<Bundled, CUresult> {
        Ok(executor::submit_bundle(&self.queue, bundle, after, end, others))
    }

    /// Waits for work of this stream.
    pub(crate) fn wait_for(&self, tasks: &[Arc<Task>]) -> Answer {
        wait_for(tasks)?;
        self.context.fault()
    }
}

fn own_stream(context: &Activation) -> Arc<Queue> {
    let new = || OwnQueue(Queue::new(context.queues(), Kind::PerThread.coupling(), 0));
    OWN.with_borrow_mut(|own| Arc::clone(&own.entry(context.id()).or_insert_with(new).0))
}
