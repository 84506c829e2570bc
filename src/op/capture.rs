//! Operations in streams under capture: they become nodes of a graph, which keeps what they use.
//!
//! Who captures a stream is its [`Sink`]; a capture of somebody else's has one, too, which knows nothing but the driver's graph.

pub(crate) mod known;
mod others;
mod position;

pub(crate) use position::{Clock, Ends, Position, position};

use super::awaited::Awaited;
use super::node::{Hold, NodeOperation, NodeType};
use super::{Operation, Traits};
use crate::context::Context;
use crate::driver::calls::graph::capture::{self as calls, RawCapture};
use crate::driver::sys::CU_STREAM_CAPTURE_STATUS_ACTIVE;
use crate::event::{Event, HeldMark};
use crate::object::error::{Error, Status};
use crate::object::handle;
use crate::object::slot::Exposed;
use crate::stream::{CapturedBy, Stream, StreamKind};
use others::Others;
use std::sync::{Arc, Weak};

/// What an operation is in a stream under capture.
#[doc(hidden)]
pub enum Captured<'a> {
    /// A node.
    Node(&'a mut dyn NodeOperation<Output = ()>),
    /// A node that keeps nothing, of which the driver tells more than the operation.
    Plain(NodeType),
    /// Nothing: there is nothing to do.
    Nothing,
    /// A place in the graph, for which the event stands from now on.
    Record(&'a Event),
    /// What comes next comes after the place for which the event stands.
    Wait(Awaited<'a>),
    /// It cannot be captured, for this reason.
    Refused(&'static str),
}

/// An operation that is being captured.
pub(crate) trait Capturable {
    fn captured(&mut self) -> Captured<'_>;

    /// The event that stands for the node from then on, if one does.
    fn records(&self) -> Option<&Event>;

    /// Why the stream does not take it: what is wrong with it, or else this.
    fn refused(&self, stream: &Stream, why: &str) -> Error;

    /// Gives it to the driver, in this context if one is named.
    ///
    /// # Safety
    /// As for [`Stream::enqueue`].
    unsafe fn issue(&mut self, stream: &Stream, at: Option<&Context>) -> Result<(), Error>;
}

/// Who captures a stream.
pub(crate) trait CaptureSink: Send + Sync {
    /// Captures an operation in the stream. `false`, without any effect, if it has ended meanwhile.
    ///
    /// # Safety
    /// As for [`Stream::enqueue`], whenever the graph is launched.
    unsafe fn capture(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<bool, Error>;

    /// The same, with what is captured after the present ends of all branches of the capture, wherever they are. Where the stream is
    /// does not come after all of these, it goes on without waiting for the operation.
    ///
    /// # Safety
    /// As for [`capture`](Self::capture).
    unsafe fn capture_after_all(
        &self,
        stream: &Stream,
        operation: &mut dyn Capturable,
    ) -> Result<bool, Error>;

    /// Which capture it is.
    fn under(&self) -> Under;

    /// Where the stream is in it.
    fn position(&self, stream: &Stream) -> Result<Position, Error>;

    /// Has the graph keep something as a whole, and whatever is made of it.
    fn keep(&self, stream: &Stream, hold: Hold) -> Result<(), Error>;

    /// Whether it has ended.
    fn is_over(&self) -> bool;

    /// Others can have the native stream from now on, or an event that was recorded in it, and by these the driver's graph.
    fn is_known_to_others(&self);

    /// A stream that is not under capture is to wait for an event that this capture has recorded: it becomes part of the capture.
    fn fork(&self, stream: &Stream, what: Awaited<'_>) -> Result<(), Error>;

    /// The driver has made a stream part of this capture.
    fn has_joined(&self, stream: &Stream);
}

/// The capture in which a stream is.
pub(crate) struct Under {
    /// A number that no other capture of the process has. Captures of bodies have that of the graph around them, with which they run.
    pub(crate) capture: u64,
    /// Whether a body of a conditional node is captured.
    pub(crate) is_body: bool,
    /// What goes when nothing with that number is captured any more; `None` for captures of others, of which nobody can tell.
    pub(crate) lasts: Option<Weak<dyn Send + Sync>>,
}

/// The capture in which a stream is; `None` if it is not under capture.
pub(crate) fn under(stream: &Stream) -> Result<Option<Under>, Error> {
    Ok(match captured_by(stream)? {
        CapturedBy::Nobody => None,
        CapturedBy::Us(sink) => Some(sink.0.under()),
        CapturedBy::Others => Some(others::under(stream)?),
    })
}

/// Has the graph that is captured in the stream keep something as a whole. `false` if the stream is not under capture.
pub(crate) fn keep(stream: &Stream, hold: Hold) -> Result<bool, Error> {
    match captured_by(stream)? {
        CapturedBy::Nobody => return Ok(false),
        CapturedBy::Us(sink) => sink.0.keep(stream, hold)?,
        CapturedBy::Others => Others.keep(stream, hold)?,
    }
    Ok(true)
}

/// Who captures a stream: also one that others, or the driver, have made part of a capture of this library's.
fn captured_by(stream: &Stream) -> Result<CapturedBy<Sink>, Error> {
    Ok(match stream.captured_by::<Sink>()? {
        CapturedBy::Others => match known::of(stream)? {
            Some(sink) => CapturedBy::Us(Arc::new(Sink(sink))),
            None => CapturedBy::Others,
        },
        known => known,
    })
}

/// Set in the numbers of captures of somebody else's.
const OTHERS: u64 = 1 << 63;

/// What streams under capture keep.
pub(crate) struct Sink(pub(crate) Arc<dyn CaptureSink>);

/// What events that were recorded there keep.
pub(crate) struct Recorded {
    pub(crate) sink: Weak<dyn CaptureSink>,
    /// What comes before the place for which the event stands; `None` if nobody can tell.
    pub(crate) after: Option<Clock>,
}

impl Exposed for Sink {
    fn is_known_to_others(&self) {
        self.0.is_known_to_others();
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}

impl Exposed for Recorded {
    fn is_known_to_others(&self) {
        if let Some(sink) = self.sink.upgrade() {
            sink.is_known_to_others();
        }
    }

    fn is_over(&self) -> bool {
        self.sink.upgrade().is_none_or(|sink| sink.is_over())
    }
}

/// Captures the operation if the stream is under capture.
///
/// # Safety
/// As for [`Stream::enqueue`].
#[cold]
pub(super) unsafe fn enqueue<O: Operation + ?Sized>(
    stream: &Stream,
    operation: &mut O,
) -> Result<Option<O::Output>, Error> {
    let (mut issued, mut is_late) = (Issue { operation, output: None }, false);
    loop {
        let captured_by = captured_by(stream)?;
        if matches!(captured_by, CapturedBy::Nobody) {
            return if is_late { stream.check_not_late().map(|()| None) } else { Ok(None) };
        }
        // SAFETY: as the caller vouches.
        if unsafe { capture_by(&captured_by, stream, &mut issued, Where::InStream) }? {
            return Ok(issued.output);
        }
        is_late = true;
    }
}

/// Where in a capture an operation goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// At the end of the stream.
    InStream,
    /// After the present ends of all branches.
    AfterAll,
}

/// Captures the operation if the stream is in the capture with this number. `None`, without any effect, if it is not, or not any more.
///
/// # Safety
/// As for [`Stream::enqueue`].
pub(crate) unsafe fn enqueue_in<O: Operation + ?Sized>(
    capture: u64,
    stream: &Stream,
    operation: &mut O,
    place: Where,
) -> Result<Option<O::Output>, Error> {
    let mut issued = Issue { operation, output: None };
    let captured_by = captured_by(stream)?;
    let is_this = match &captured_by {
        CapturedBy::Nobody => false,
        CapturedBy::Us(sink) => sink.0.under().capture == capture,
        CapturedBy::Others => info(stream)?.id | OTHERS == capture,
    };
    // SAFETY: as the caller vouches.
    let is_captured = is_this && unsafe { capture_by(&captured_by, stream, &mut issued, place) }?;
    Ok(issued.output.filter(|_| is_captured))
}

/// # Safety
/// As for [`Stream::enqueue`].
unsafe fn capture_by(
    captured_by: &CapturedBy<Sink>,
    stream: &Stream,
    operation: &mut dyn Capturable,
    place: Where,
) -> Result<bool, Error> {
    handle::check_memory()?;
    let sink: &dyn CaptureSink = match captured_by {
        CapturedBy::Nobody => return Ok(false),
        CapturedBy::Us(sink) => sink.0.as_ref(),
        CapturedBy::Others => &Others,
    };
    // SAFETY: as the caller vouches.
    unsafe {
        match place {
            Where::InStream => sink.capture(stream, operation),
            Where::AfterAll => sink.capture_after_all(stream, operation),
        }
    }
}

/// An operation on its way into a capture.
struct Issue<'a, O: Operation + ?Sized> {
    operation: &'a mut O,
    output: Option<O::Output>,
}

impl<O: Operation + ?Sized> Capturable for Issue<'_, O> {
    fn captured(&mut self) -> Captured<'_> {
        self.operation.captured()
    }

    fn records(&self) -> Option<&Event> {
        self.operation.records()
    }

    #[cold]
    fn refused(&self, stream: &Stream, why: &str) -> Error {
        self.operation.check(stream.context()).err().unwrap_or_else(|| stream.under_capture(why))
    }

    unsafe fn issue(&mut self, stream: &Stream, at: Option<&Context>) -> Result<(), Error> {
        let Traits { needs_context, .. } = self.operation.traits();
        let (checked, _current) = match at {
            Some(context) => (self.operation.check(stream.context())?, Some(context.enter()?)),
            None if needs_context => {
                (self.operation.check_again(stream.context())?, Some(stream.enter_to_copy()?))
            }
            None => (self.operation.check_again(stream.context())?, stream.enter_if_default()?),
        };
        // SAFETY: checked with the stream's context; the caller vouches for the rest.
        self.output = Some(unsafe { self.operation.enqueue_captured(checked, stream) }?);
        Ok(())
    }
}

/// What the driver says of a stream under capture.
pub(crate) fn info(stream: &Stream) -> Result<RawCapture, Error> {
    stream.here(|raw| calls::info(stream.context().table(), raw.handle()))
}

/// Whether a capture is valid, by what the driver says of it.
pub(crate) fn is_valid(info: &RawCapture) -> bool {
    info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE
}

/// Has the stream, which is not under capture, wait for an event that a capture may have recorded: it is part of that from then on.
/// `wait` waits where none has, or one of others.
#[cold]
pub(super) fn wait_for_captured(
    stream: &Stream,
    what: Awaited<'_>,
    wait: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let (event, is_legacy) = (what.event, stream.kind() == StreamKind::Legacy);
    let mark = event.may_have_been_captured().then(|| event.held_mark());
    let is_work = mark.as_ref().is_some_and(HeldMark::may_be_recorded_since);
    if let Some(recorded) = mark.as_ref().filter(|_| !is_work).and_then(HeldMark::captured_in::<Recorded>) {
        // Who takes the stream in locks it again, after the definition.
        drop(mark);
        return match recorded.sink.upgrade() {
            Some(_) if is_legacy => Err(never_captured(stream, what)),
            Some(sink) => sink.fork(stream, what),
            None => Err(ended(what)),
        };
    }
    if !is_work && event.is_captured_by_others() && is_legacy {
        return Err(never_captured(stream, what));
    }
    if !is_work && event.may_be_captured_by_others() {
        stream.may_be_captured_by_others();
    }
    wait()?;
    drop(mark);
    if event.may_have_been_captured() { may_have_joined(stream) } else { Ok(()) }
}

/// The stream has waited for an event of which only the driver knows whether a capture of this library's has recorded it: then the
/// stream is part of that.
#[cold]
pub(crate) fn may_have_joined(stream: &Stream) -> Result<(), Error> {
    // No capture has the legacy default stream, and asking about it invalidates some.
    if stream.kind() == StreamKind::Legacy || !stream.here(|_| Ok(stream.may_capture_now()))? {
        return Ok(());
    }
    match known::of(stream)? {
        Some(sink) => sink.has_joined(stream),
        None => stream.may_be_captured_by_others(),
    }
    Ok(())
}

/// The refusal of a stream that no capture can have: the driver would invalidate this one.
#[cold]
fn never_captured(stream: &Stream, what: Awaited<'_>) -> Error {
    let refusal = format!(
        "{stream} cannot wait for {what}, which was recorded in a capture: that stream cannot be captured. Have another stream wait. \
         The capture is still valid"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal).about(stream)
}

/// The refusal of an event whose capture has ended: to wait for it would invalidate another.
#[cold]
pub(crate) fn ended(what: Awaited<'_>) -> Error {
    let refusal = format!(
        "{what} was last recorded in a capture that has ended; record it again before others wait for it"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal).about(what.event)
}

/// Why a stream under capture cannot wait for an event that was recorded outside.
pub(crate) const OUTSIDE: &str = "was recorded outside of the capture, and a graph cannot wait for that: wait before the graph is launched";
