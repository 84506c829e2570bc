//! Captures: while a stream captures, work that it is given is to become a graph and does not run.
//!
//! A capture begins, tells its state, is invalidated by what must not happen meanwhile, and ends. What a stream would
//! record is refused so far, and invalidates the capture: no program takes an empty graph for its own.

pub(crate) mod calls;
pub(crate) mod mode;

use super::{Kind, Stream};
use crate::error::Answer;
use crate::graph::Graph;
use crate::settings::complain;
use crate::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUresult,
    CUstreamCaptureMode,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;

/// The captures that have begun and not ended, by the number of their stream.
static CAPTURES: Mutex<BTreeMap<u64, Arc<Capture>>> = Mutex::new(BTreeMap::new());

/// How many there are: where there are none, a call need not look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A capture.
pub(super) struct Capture {
    id: u64,
    mode: CUstreamCaptureMode,
    thread: ThreadId,
    /// The context of its stream, by number.
    context: u64,
    kind: Kind,
    graph: Arc<Graph>,
    valid: AtomicBool,
}

impl Capture {
    fn is_valid(&self) -> bool {
        self.valid.load(Ordering::Acquire)
    }

    fn invalidate(&self) {
        self.valid.store(false, Ordering::Release);
    }

    /// What a call answers that its stream cannot bear.
    fn refuse(&self, why: CUresult) -> CUresult {
        if !self.is_valid() {
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        }
        self.invalidate();
        why
    }

    /// Whether the calling thread's unsafe calls must not happen while it is under way.
    fn forbids_unsafe_calls(&self) -> bool {
        let here = self.thread == std::thread::current().id();
        match mode::of_this_thread() {
            CU_STREAM_CAPTURE_MODE_RELAXED => false,
            CU_STREAM_CAPTURE_MODE_GLOBAL if self.mode == CU_STREAM_CAPTURE_MODE_GLOBAL => true,
            _ => here && self.mode != CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}

fn add(stream: u64, capture: Capture) {
    CAPTURES.lock().insert(stream, Arc::new(capture));
    COUNT.fetch_add(1, Ordering::Release);
}

fn remove(stream: u64) -> Option<Arc<Capture>> {
    let capture = CAPTURES.lock().remove(&stream)?;
    COUNT.fetch_sub(1, Ordering::Release);
    Some(capture)
}

/// The captures that satisfy a condition.
fn those(condition: impl Fn(&Capture) -> bool) -> Vec<Arc<Capture>> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Vec::new();
    }
    CAPTURES.lock().values().filter(|capture| condition(capture)).cloned().collect()
}

/// Refuses if there are such captures, which this invalidates.
fn refuse(captures: &[Arc<Capture>], why: CUresult) -> Answer {
    captures.iter().for_each(|capture| capture.invalidate());
    if captures.is_empty() { Ok(()) } else { Err(why) }
}

/// A stream is destroyed, and its capture with it.
pub(super) fn forget(stream: &Stream) {
    if COUNT.load(Ordering::Acquire) > 0
        && let Some(capture) = remove(stream.id)
    {
        capture.graph.forget();
    }
}

/// A context has ended, and the captures of its streams with it.
pub(crate) fn forget_context(context: u64) {
    let mut captures = CAPTURES.lock();
    captures.retain(|_, capture| {
        let stays = capture.context != context;
        if !stays {
            COUNT.fetch_sub(1, Ordering::Release);
            capture.graph.forget();
        }
        stays
    });
}

/// Refuses what the measured driver calls potentially unsafe: it may wait for the device, or change what a graph counts
/// on. Modes of captures and threads say who may do it all the same.
pub(crate) fn check_unsafe() -> Answer {
    refuse(&those(Capture::forbids_unsafe_calls), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses what concerns all streams of a context while one of them captures, in whatever mode.
pub(crate) fn check_context(context: u64) -> Answer {
    let captures = those(|capture| capture.context == context);
    refuse(&captures, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

impl Stream {
    fn capture(&self) -> Option<Arc<Capture>> {
        if COUNT.load(Ordering::Acquire) == 0 {
            return None;
        }
        CAPTURES.lock().get(&self.id).cloned()
    }

    pub(crate) fn is_capturing(&self) -> bool {
        self.capture().is_some()
    }

    /// The captures that use of this stream would come in the way of: the legacy stream and all but non-blocking streams
    /// wait for each other.
    fn entangled(&self) -> Vec<Arc<Capture>> {
        if self.kind != Kind::Legacy {
            return Vec::new();
        }
        let context = self.context.id();
        those(|capture| capture.context == context && capture.kind != Kind::NonBlocking)
    }

    /// Refuses the call if the stream captures, with this answer.
    fn refuse_if_capturing(&self, why: CUresult) -> Answer {
        self.capture().map_or(Ok(()), |capture| Err(capture.refuse(why)))
    }

    /// Refuses a call that no capture can record.
    pub(crate) fn refuse_capture(&self) -> Answer {
        self.refuse_if_capturing(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Refuses a call that no capture can record, and lets the capture go on: so driver 580 does with batches of copies.
    pub(crate) fn spare_capture(&self) -> Answer {
        match self.capture() {
            None => Ok(()),
            Some(capture) if capture.is_valid() => Err(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
            Some(_) => Err(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        }
    }

    /// Refuses to let what is captured depend on what is not.
    pub(super) fn refuse_uncaptured(&self) -> Answer {
        self.refuse_if_capturing(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    }

    /// Refuses to wait for the stream or to ask whether it is done, where a capture forbids that.
    pub(crate) fn refuse_question(&self) -> Answer {
        self.refuse_capture()?;
        refuse(&self.entangled(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)?;
        check_unsafe()
    }

    /// Refuses work where a capture would have to record it, and where it would come in the way of one.
    pub(crate) fn admit_work(&self) -> Answer {
        if COUNT.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        if self.capture().is_some_and(|capture| capture.is_valid()) {
            complain("a capture cannot record work yet; the call is refused, and the capture is invalid");
        }
        self.refuse_if_capturing(CUDA_ERROR_NOT_SUPPORTED)?;
        refuse(&self.entangled(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    }
}
