//! Captures of somebody else's, in which operations take part.

use super::{
    Capturable, CaptureSink, Captured, Clock, OTHERS, OUTSIDE, Position, Recorded, Under, ended, info,
    is_valid,
};
use crate::driver::calls::graph::capture::{self as calls, RawCapture};
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::{CU_STREAM_CAPTURE_STATUS_NONE, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUgraphNode};
use crate::event::{Event, HeldMark};
use crate::object::error::{Error, Status};
use crate::object::handle::Shared as _;
use crate::op::attachment::Prepared;
use crate::op::awaited::Awaited;
use crate::op::node::{Hold, Holds};
use crate::stream::Stream;
use std::sync::Arc;

/// A capture of somebody else's. Operations take part in it: what they use is kept by its graph, as a whole.
pub(super) struct Others;

impl CaptureSink for Others {
    unsafe fn capture(&self, stream: &Stream, operation: &mut dyn Capturable) -> Result<bool, Error> {
        let (node_context, has_holds) = match operation.captured() {
            Captured::Refused(why) => return Err(operation.refused(stream, why)),
            Captured::Node(node) => {
                node.node_type().check_driver(stream.driver())?;
                let at = node.node_context(stream.context());
                node.parameters(at.as_ref().unwrap_or(stream.context()))?;
                (at, node.has_holds())
            }
            Captured::Wait(what) => {
                check_wait(what, stream)?;
                (None, false)
            }
            Captured::Record(_) | Captured::Plain(_) | Captured::Nothing => (None, false),
        };
        let info = info(stream)?;
        if info.status == CU_STREAM_CAPTURE_STATUS_NONE {
            return Ok(false);
        }
        if !is_valid(&info) {
            return Err(invalidated(stream));
        }
        // SAFETY: the driver has just named it.
        let graph = unsafe { RawGraph::adopt(stream.context().table(), info.graph) };
        let failed = |error| stream.context().failed(error, stream);
        let prepared = has_holds.then(|| Prepared::on(&graph)).transpose().map_err(failed)?;
        let event = recorded_by(operation);
        let mut mark = event.as_ref().map(|event| event.held_mark());
        mark.iter_mut().for_each(HeldMark::is_about_to_be_captured);
        // SAFETY: as the caller vouches.
        let issued = unsafe { operation.issue(stream, node_context.as_ref()) };
        if issued.is_ok() {
            mark.iter_mut().for_each(HeldMark::was_captured_by_others);
        }
        drop(mark);
        let Some(prepared) = prepared else { return issued.map(|()| true) };
        match (issued, operation.captured()) {
            (Ok(()), Captured::Node(node)) => drop(prepared.commit(node.holds().0)),
            (Ok(()), _) => drop(prepared),
            (Err(failure), _) => {
                // Of a capture that the call has invalidated the graph must not be touched.
                if super::info(stream).is_ok_and(|info| is_valid(&info)) {
                    drop(prepared)
                } else {
                    prepared.leave()
                }
                return Err(failure);
            }
        }
        Ok(true)
    }

    unsafe fn capture_after_all(
        &self,
        stream: &Stream,
        operation: &mut dyn Capturable,
    ) -> Result<bool, Error> {
        let info = info(stream)?;
        // SAFETY: nothing was called on the stream since.
        let end = unsafe { info.dependencies() };
        let leaves = if is_valid(&info) { leaves(stream, &info)? } else { Vec::new() };
        if leaves.iter().all(|leaf| end.contains(leaf)) {
            // SAFETY: as the caller vouches.
            return unsafe { self.capture(stream, operation) };
        }
        go_on_after(stream, leaves)?;
        // SAFETY: as the caller vouches.
        let captured = unsafe { self.capture(stream, operation) };
        let is_as_before = go_on_after(stream, end);
        captured.and_then(|is_captured| is_as_before.map(|()| is_captured))
    }

    fn under(&self) -> Under {
        Under { capture: OTHERS, is_body: false, lasts: None }
    }

    fn position(&self, stream: &Stream) -> Result<Position, Error> {
        position(stream)
    }

    fn keep(&self, stream: &Stream, hold: Hold) -> Result<(), Error> {
        let info = info(stream)?;
        if !is_valid(&info) {
            return Err(invalidated(stream));
        }
        // SAFETY: the driver has just named it.
        let graph = unsafe { RawGraph::adopt(stream.context().table(), info.graph) };
        let prepared = Prepared::on(&graph).map_err(|error| stream.context().failed(error, stream))?;
        drop(prepared.commit(Holds::of_inner(hold)));
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }

    fn is_known_to_others(&self) {}

    fn fork(&self, stream: &Stream, what: Awaited<'_>) -> Result<(), Error> {
        stream.may_be_captured_by_others();
        stream.here(|raw| raw.wait(what.event.raw()))
    }

    fn has_joined(&self, stream: &Stream) {
        stream.may_be_captured_by_others();
    }
}

#[cold]
fn invalidated(stream: &Stream) -> Error {
    let refusal = format!("somebody else captures {stream}, and that capture was invalidated");
    Error::new(Status(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.0), refusal).about(stream)
}

/// The capture of somebody else's in which the stream is.
pub(super) fn under(stream: &Stream) -> Result<Under, Error> {
    // Numbers of captures, which begin at 1, and those of definitions do not meet.
    Ok(Under { capture: info(stream)?.id | OTHERS, is_body: false, lasts: None })
}

/// Nobody tells of the branches there. If everything that was captured comes before what is captured next in the stream, that is known of
/// this stream, and of no other.
pub(super) fn position(stream: &Stream) -> Result<Position, Error> {
    let info = info(stream)?;
    // SAFETY: nothing was called on the stream since.
    let end = unsafe { info.dependencies() };
    let is_all = is_valid(&info) && leaves(stream, &info)?.iter().all(|leaf| end.contains(leaf));
    let stream = Arc::downgrade(stream.object());
    Ok(Position::new(stream, is_all.then(Clock::default), Clock::default()))
}

/// What nothing comes after in the graph that is captured.
fn leaves(stream: &Stream, info: &RawCapture) -> Result<Vec<CUgraphNode>, Error> {
    // SAFETY: the driver has just named it, and the capture is valid.
    let graph = unsafe { RawGraph::adopt(stream.context().table(), info.graph) };
    graph.leaves().map_err(|error| stream.context().failed(error, stream))
}

/// What is captured next in the stream comes after these nodes.
fn go_on_after(stream: &Stream, mut nodes: Vec<CUgraphNode>) -> Result<(), Error> {
    // SAFETY: the nodes are those of the graph that is captured.
    stream.here(|raw| unsafe { calls::set_dependencies(stream.context().table(), raw, &mut nodes) })
}

/// The event that stands for a place in the graph once the operation was captured, if one does.
fn recorded_by(operation: &mut dyn Capturable) -> Option<Event> {
    match operation.captured() {
        Captured::Record(event) => Some(event.clone()),
        _ => operation.records().cloned(),
    }
}

/// Refuses an event that does not stand for a place in the capture: the driver would invalidate that.
fn check_wait(what: Awaited<'_>, stream: &Stream) -> Result<(), Error> {
    let event = what.event;
    let why = match event.captured_in::<Recorded>().map(|recorded| recorded.sink.upgrade()) {
        Some(Some(sink)) if !sink.is_over() => "was recorded in another capture",
        Some(_) => return Err(ended(what)),
        None if event.may_be_captured_by_others() || !event.is_recorded() => return Ok(()),
        None => OUTSIDE,
    };
    Err(stream.under_capture(&format!("{what} {why}")))
}
