//! Which captures are under way, and what they forbid: while a stream captures, work that it is given becomes nodes of a
//! graph and does not run.
//!
//! A capture begins on a stream. Others take part in it when they wait for an event that was recorded in it. It tells its
//! state, is invalidated by what must not happen meanwhile, and ends where it began. Streams, contexts and nodes are known
//! here by numbers; what is recorded, the stream knows.

mod member;
pub(crate) mod mode;
pub(crate) mod tail;

use crate::abi::Answer;
use crate::abi::sys::{
    CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUresult, CUstreamCaptureMode,
};
use crate::executor::Coupling;
use member::Members;
pub(crate) use member::Told;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::thread::ThreadId;
use tail::Tail;

/// The streams that take part in captures, by their numbers.
static STREAMS: Mutex<BTreeMap<u64, Entry>> = Mutex::new(BTreeMap::new());

/// How many there are: where there are none, a call need not look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A capture's phases.
const ACTIVE: u8 = 0;
const INVALID: u8 = 1;
const ENDED: u8 = 2;

/// A stream that takes part in a capture.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Its number.
    pub(crate) stream: u64,
    /// Its context, by number.
    pub(crate) context: u64,
    /// How it is ordered with the legacy default stream.
    pub(crate) coupling: Coupling,
}

struct Entry {
    place: Place,
    capture: Arc<Capture>,
}

/// A capture.
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) mode: CUstreamCaptureMode,
    pub(crate) thread: ThreadId,
    /// The stream on which it began.
    origin: u64,
    phase: AtomicU8,
    members: Mutex<Members>,
}

impl Capture {
    /// Whether it is under way, and nothing has invalidated it.
    pub(crate) fn is_valid(&self) -> bool {
        self.phase.load(Ordering::Acquire) == ACTIVE
    }

    /// One that has ended stays so.
    pub(crate) fn invalidate(&self) {
        let _ = self.phase.compare_exchange(ACTIVE, INVALID, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Invalidates it; answers why.
    pub(crate) fn refuse(&self, why: CUresult) -> CUresult {
        self.invalidate();
        why
    }

    /// Refuses what an invalid capture does not take any more.
    pub(crate) fn check(&self) -> Answer {
        if self.is_valid() { Ok(()) } else { Err(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) }
    }

    /// Whether it began on this stream.
    pub(crate) fn began_on(&self, stream: u64) -> bool {
        self.origin == stream
    }

    /// Adds a node: `add` is told what it follows, and answers its handle and more. What the stream is given next follows it
    /// alone.
    pub(crate) fn record<T>(
        &self,
        stream: u64,
        add: impl FnOnce(&Tail) -> Result<(usize, T), CUresult>,
    ) -> Result<T, CUresult> {
        let mut members = self.members.lock();
        self.check()?;
        members.record(stream, add)
    }

    /// What the next node in a stream will follow.
    pub(crate) fn tail(&self, stream: u64) -> Tail {
        self.members.lock().tail(stream)
    }

    /// Changes that.
    pub(crate) fn change_tail(&self, stream: u64, change: impl FnOnce(&mut Tail)) {
        self.members.lock().change_tail(stream, change);
    }

    /// The same for a caller, who finds it there until it is told again.
    pub(crate) fn tell(&self, stream: u64) -> Told {
        self.members.lock().tell(stream)
    }

    /// What the last work of streams that have joined it is, for each that has done some; it is lost if the capture ends and
    /// nothing of the first stream's follows it.
    pub(crate) fn ends_of_forks(&self) -> Vec<usize> {
        self.members.lock().ends_except(self.origin)
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

/// Begins a capture on a stream; `None` if that takes part in one.
pub(crate) fn begin(place: Place, mode: CUstreamCaptureMode, tail: Tail) -> Option<Arc<Capture>> {
    static IDS: AtomicU64 = AtomicU64::new(1);
    let mut streams = STREAMS.lock();
    if streams.contains_key(&place.stream) {
        return None;
    }
    let capture = Arc::new(Capture {
        id: IDS.fetch_add(1, Ordering::Relaxed),
        mode,
        thread: std::thread::current().id(),
        origin: place.stream,
        phase: AtomicU8::new(ACTIVE),
        members: Mutex::new(Members::with(place.stream, tail)),
    });
    enter(&mut streams, place, &capture);
    Some(capture)
}

fn enter(streams: &mut BTreeMap<u64, Entry>, place: Place, capture: &Arc<Capture>) {
    streams.insert(place.stream, Entry { place, capture: Arc::clone(capture) });
    COUNT.store(streams.len(), Ordering::Release);
}

/// Lets a stream take part in a capture, behind these nodes. False if it takes part in one, or the capture has ended.
pub(crate) fn join(capture: &Arc<Capture>, place: Place, tail: Tail) -> bool {
    let mut streams = STREAMS.lock();
    let possible = capture.is_valid() && !streams.contains_key(&place.stream);
    if possible {
        capture.members.lock().add(place.stream, tail);
        enter(&mut streams, place, capture);
    }
    possible
}

/// A stream is gone. Its work stays in the capture, except for one that began there: answers that, which has ended.
pub(crate) fn leave(stream: u64) -> Option<Arc<Capture>> {
    if !is_any() {
        return None;
    }
    let mut streams = STREAMS.lock();
    let entry = streams.remove(&stream)?;
    COUNT.store(streams.len(), Ordering::Release);
    drop(streams);
    (entry.capture.began_on(stream) && end(&entry.capture)).then_some(entry.capture)
}

/// Ends a capture for all of its streams; false if somebody else has.
pub(crate) fn end(capture: &Capture) -> bool {
    let mut streams = STREAMS.lock();
    // No node is on its way any more when this returns.
    let _members = capture.members.lock();
    if capture.phase.swap(ENDED, Ordering::AcqRel) == ENDED {
        return false;
    }
    streams.retain(|_, entry| entry.capture.id != capture.id);
    COUNT.store(streams.len(), Ordering::Release);
    true
}

/// A context has ended: answers the captures that began on its streams, which have ended, too.
pub(crate) fn end_all(context: u64) -> Vec<Arc<Capture>> {
    let gone: Vec<u64> = {
        let streams = STREAMS.lock();
        streams
            .values()
            .filter(|entry| entry.place.context == context)
            .map(|entry| entry.place.stream)
            .collect()
    };
    gone.into_iter().filter_map(leave).collect()
}

/// Whether there is any capture.
pub(crate) fn is_any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

/// The capture in which a stream takes part.
pub(crate) fn of(stream: u64) -> Option<Arc<Capture>> {
    if is_any() { STREAMS.lock().get(&stream).map(|entry| Arc::clone(&entry.capture)) } else { None }
}

/// The captures that use of a context's legacy default stream would come in the way of: that and all but non-blocking
/// streams wait for each other.
pub(crate) fn entangled(context: u64) -> Vec<Arc<Capture>> {
    those(|entry| entry.place.context == context && entry.place.coupling != Coupling::Free)
}

/// The captures of which a stream satisfies a condition.
fn those(condition: impl Fn(&Entry) -> bool) -> Vec<Arc<Capture>> {
    if !is_any() {
        return Vec::new();
    }
    let streams = STREAMS.lock();
    streams.values().filter(|entry| condition(entry)).map(|entry| Arc::clone(&entry.capture)).collect()
}

/// Refuses if there are such captures, which this invalidates.
pub(crate) fn refuse(captures: &[Arc<Capture>], why: CUresult) -> Answer {
    captures.iter().for_each(|capture| capture.invalidate());
    if captures.is_empty() { Ok(()) } else { Err(why) }
}

/// Refuses what the measured driver calls potentially unsafe: it may wait for the device, or change what a graph counts
/// on. Modes of captures and threads say who may do it all the same.
pub(crate) fn check_unsafe() -> Answer {
    refuse(&those(|entry| entry.capture.forbids_unsafe_calls()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses what concerns all streams of a context while one of them captures, in whatever mode.
pub(crate) fn check_context(context: u64) -> Answer {
    let captures = those(|entry| entry.place.context == context);
    refuse(&captures, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}
