//! Records of events, and waiting for them.

use super::awaited::Awaited;
use super::{Captured, Operation, Traits, capture};
use crate::check::{Deed, Deeds};
use crate::context::Context;
use crate::driver::CallError;
use crate::driver::calls::graph::capture::ends_alone;
use crate::event::{Event, EventOptions, HeldMark};
use crate::object::error::{Error, Status};
use crate::stream::{Stream, StreamOptions};

/// Records in an event what is enqueued in the stream by now.
pub struct Record<'a>(pub(super) &'a Event, pub(super) AsNode);

/// Whether an event is for those outside of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AsNode {
    No,
    Yes,
}

impl<'a> Record<'a> {
    /// In this event.
    #[inline]
    #[must_use]
    pub fn new(event: &'a Event) -> Self {
        Self(event, AsNode::No)
    }

    /// In a stream under capture, the record becomes a node: whenever the graph gets there, others find the event recorded. Without this,
    /// the event stands for the place in the graph, for other streams to fork from or join.
    #[must_use]
    pub fn as_node(self) -> Self {
        Self(self.0, AsNode::Yes)
    }
}

impl Operation for Record<'_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits::default()
    }

    #[inline(always)]
    fn check<'a>(&'a self, at: &'a Context) -> Result<(), Error> {
        check_event(self.0, at)
    }

    #[inline(always)]
    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let event = self.0;
        if event.is_awaited() {
            return record_awaited(event, stream);
        }
        if event.may_have_been_captured() {
            return record_under_lock(event, stream);
        }
        record(event, stream)?;
        stands_for_work(event);
        // Another thread may have begun to capture the stream, or have captured a record, meanwhile: which of the two came last nobody
        // can tell.
        if event.may_have_been_captured() || stream.is_taken() { again(event, stream) } else { Ok(()) }
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new("record");
        deeds.push(Deed::Records(self.0.raw().handle().addr()));
        deeds
    }

    fn captured(&mut self) -> Captured<'_> {
        match self.1 {
            AsNode::No => Captured::Record(self.0),
            AsNode::Yes => Captured::Node(self),
        }
    }

    unsafe fn enqueue_captured(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let event = self.0;
        let recorded = match self.1 {
            AsNode::No => {
                check_across_processes(event, stream, "cushim_event_record_external")?;
                event.raw().record(stream.raw())
            }
            AsNode::Yes => {
                event.list();
                event.raw().record_outside(stream.raw())
            }
        };
        recorded.map_err(|error| refused_record(error, event, stream))
    }
}

#[inline(always)]
fn record(event: &Event, stream: &Stream) -> Result<(), Error> {
    event.raw().record(stream.raw()).map_err(|error| refused_record(error, event, stream))
}

/// The same for an event that captures may record, too: what is said of it here is what the driver has recorded last.
#[cold]
fn record_under_lock(event: &Event, stream: &Stream) -> Result<(), Error> {
    record_marked(&mut event.held_mark(), event, stream)
}

/// The same for one for which nodes wait: no capture begins in the stream meanwhile, since launches of what waits would become part of
/// that, and nobody would know.
fn record_awaited(event: &Event, stream: &Stream) -> Result<(), Error> {
    let mut mark = event.held_mark();
    let Some(_free) = stream.hold_captures() else {
        drop(mark);
        return again(event, stream);
    };
    let recorded = record_marked(&mut mark, event, stream);
    drop(mark);
    recorded
}

fn record_marked(mark: &mut HeldMark<'_>, event: &Event, stream: &Stream) -> Result<(), Error> {
    // The driver takes it from the capture that has recorded it last.
    let alone = ends_alone();
    record(event, stream)?;
    drop(alone);
    event.was_recorded();
    mark.is_not_captured();
    Ok(())
}

#[cold]
fn again(event: &Event, stream: &Stream) -> Result<(), Error> {
    // SAFETY: a record touches no memory, and the event is alive.
    match unsafe { capture::enqueue(stream, &mut Record::new(event)) }? {
        Some(()) => Ok(()),
        None if event.is_awaited() => record_awaited(event, stream),
        None => record_under_lock(event, stream),
    }
}

/// The event was recorded, and stands for work that runs.
#[inline]
pub(super) fn stands_for_work(event: &Event) {
    event.was_recorded();
    event.is_not_captured();
}

/// Refuses an event that other processes may open as a place in a graph: driver 580 invalidates the capture of who waits (measured).
fn check_across_processes(event: &Event, stream: &Stream, instead: &str) -> Result<(), Error> {
    if !event.options().interprocess {
        return Ok(());
    }
    let why = format!(
        "{event} is for several processes, and does not stand for a place in a graph: make it a node ({instead})"
    );
    Err(stream.under_capture(&why))
}

#[cold]
fn refused_record(error: CallError, event: &Event, stream: &Stream) -> Error {
    event.explain_contexts(event.context().failed(error, event), stream.context(), || {
        format!(
            "{stream} belongs to {}: record an event of that one there; any stream may wait for it",
            stream.context()
        )
    })
}

/// Refuses an event of another driver, and one that was destroyed with its context.
#[inline(always)]
pub(super) fn check_event(event: &Event, at: &Context) -> Result<(), Error> {
    if event.context() == at {
        return Ok(());
    }
    check_event_of_another(event, at)
}

#[inline(never)]
fn check_event_of_another(event: &Event, at: &Context) -> Result<(), Error> {
    if event.driver() != at.driver() {
        let refusal = format!("{event} belongs to another driver than {at}");
        return Err(Error::new(Status::INVALID_HANDLE, refusal).about(event));
    }
    event.context().check_still_there(event)
}

/// Makes work that is enqueued from now on wait for what an event recorded last. Nothing waits for an event that was never
/// recorded. An interprocess event of another context is waited for by way of a stream of that context, made for the call.
pub struct Wait<'a>(pub(super) Awaited<'a>, pub(super) AsNode);

impl<'a> Wait<'a> {
    /// For this event.
    #[inline]
    #[must_use]
    pub fn new(event: &'a Event) -> Self {
        Self(Awaited::of(event), AsNode::No)
    }

    /// For this event, which stands for what is in the stream by now.
    #[inline]
    fn for_end_of(event: &'a Event, stream: &'a Stream) -> Self {
        Self(Awaited { event, stream: Some(stream) }, AsNode::No)
    }

    /// In a stream under capture, waiting becomes a node: whenever the graph gets there, it waits for what the event recorded last then.
    /// Without this, only events of the same capture can be waited for.
    #[must_use]
    pub fn as_node(self) -> Self {
        Self(self.0, AsNode::Yes)
    }
}

impl Operation for Wait<'_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits::default()
    }

    #[inline(always)]
    fn check<'a>(&'a self, at: &'a Context) -> Result<(), Error> {
        check_event(self.0.event, at)
    }

    #[inline(always)]
    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let event = self.0.event;
        if event.may_be_captured() {
            return capture::wait_for_captured(stream, self.0, || wait(event, stream));
        }
        wait(event, stream)?;
        // Another thread may have captured a record meanwhile.
        if event.may_have_been_captured() { capture::may_have_joined(stream) } else { Ok(()) }
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let (mut deeds, event) = (Deeds::new("wait"), self.0.event);
        deeds.push(match event.may_be_recorded_by_others() {
            true => Deed::WaitsForOthers,
            false => Deed::Waits(event.raw().handle().addr()),
        });
        deeds
    }

    fn captured(&mut self) -> Captured<'_> {
        match self.1 {
            AsNode::No => Captured::Wait(self.0),
            AsNode::Yes => Captured::Node(self),
        }
    }

    unsafe fn enqueue_captured(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let event = self.0.event;
        if event.options().interprocess && event.context().native() != stream.context().native() {
            let why = format!(
                "{event} is of another context, and other processes may open it: it cannot be waited for here"
            );
            return Err(stream.under_capture(&why));
        }
        let waited = match self.1 {
            AsNode::No => {
                check_across_processes(event, stream, "cushim_stream_wait_event_external")?;
                stream.raw().wait(event.raw())
            }
            AsNode::Yes => {
                event.list();
                stream.raw().wait_outside(event.raw())
            }
        };
        waited.map_err(|error| stream.context().failed(error, stream))
    }
}

#[inline(always)]
fn wait(event: &Event, stream: &Stream) -> Result<(), Error> {
    if event.options().interprocess && event.context().native() != stream.context().native() {
        return wait_by_way_of(event, stream);
    }
    stream.raw().wait(event.raw()).map_err(|error| stream.context().failed(error, stream))
}

/// Driver 580 crashes where a stream is to wait for an event that other processes may open, and that belongs to another
/// context (measured): a stream of that context waits for it, and this one for that.
#[cold]
fn wait_by_way_of(event: &Event, stream: &Stream) -> Result<(), Error> {
    let between = Stream::create(event.context(), &StreamOptions::default())?;
    let end = Event::create(event.context(), &EventOptions::default())?;
    between.here(|raw| raw.wait(event.raw()))?;
    between.here(|raw| end.raw().record(raw))?;
    // Not by an operation, which may look for captures: whoever calls this may have the mark of the event locked.
    stream.here(|raw| raw.wait(end.raw()))
}

impl Event {
    /// Records what is enqueued in the stream by now: [`Record`].
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the stream belongs to another driver; the driver's, also for a stream of another
    /// context.
    #[inline(always)]
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: a record touches no memory, and the event is alive.
        unsafe { stream.enqueue(&mut Record::new(self)) }
    }

    /// The same, for those outside of a capture: [`Record::as_node`].
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_as_node(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: a record touches no memory, and a graph keeps the event.
        unsafe { stream.enqueue(&mut Record::new(self).as_node()) }
    }
}

impl Stream {
    /// Makes work that is enqueued here from now on wait for what the event recorded last: [`Wait`].
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if the event belongs to another driver; the driver's.
    #[inline(always)]
    pub fn wait_event(&self, event: &Event) -> Result<(), Error> {
        // SAFETY: waiting touches no memory, and the event is alive.
        unsafe { self.enqueue(&mut Wait::new(event)) }
    }

    /// The same, for what is recorded outside of a capture: [`Wait::as_node`].
    ///
    /// # Errors
    /// As [`wait_event`](Self::wait_event).
    pub fn wait_event_as_node(&self, event: &Event) -> Result<(), Error> {
        // SAFETY: waiting touches no memory, and a graph keeps the event.
        unsafe { self.enqueue(&mut Wait::new(event).as_node()) }
    }

    /// Makes work that is enqueued here from now on wait for what is enqueued in `other` by now.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] if `other` belongs to another driver; the driver's.
    pub fn wait_stream(&self, other: &Self) -> Result<(), Error> {
        self.same_driver(other.driver(), other)?;
        let event = Event::create(other.context(), &EventOptions::default())?;
        event.record(other)?;
        // SAFETY: waiting touches no memory, and the event is alive.
        unsafe { self.enqueue(&mut Wait::for_end_of(&event, other)) }
    }
}
