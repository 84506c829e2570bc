//! How a copy or a fill gets into a stream, and whether the call waits for it.

use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_INVALID_VALUE;
use crate::driver::context::config::SYNC_MEMOPS;
use crate::driver::memory::span::{Place, Span};
use crate::driver::operation::Operation;
use crate::driver::operation::copy::Copy;
use crate::driver::operation::fill::Fill;
use crate::driver::stream::Stream;
use std::sync::Arc;

/// What the caller asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// A function without a stream.
    Synchronous,
    /// A function with one, which returns early where it can.
    Asynchronous,
}

/// A copy or a fill.
pub(super) trait Transfer: Into<Operation> {
    fn to(&self) -> &Span;

    /// `None` for a fill.
    fn from(&self) -> Option<&Span>;

    /// Replaces the source by a copy of it, so that the caller's memory is not needed any more.
    fn stage(&mut self) -> Answer;
}

impl Transfer for Copy {
    fn to(&self) -> &Span {
        &self.to.span
    }

    fn from(&self) -> Option<&Span> {
        Some(&self.from.span)
    }

    fn stage(&mut self) -> Answer {
        self.stage()
    }
}

impl Transfer for Fill {
    fn to(&self) -> &Span {
        &self.span
    }

    fn from(&self) -> Option<&Span> {
        None
    }

    fn stage(&mut self) -> Answer {
        Ok(())
    }
}

/// Puts a transfer into a stream. Where the call returns before it is done, the caller's ordinary memory has been read.
/// What is captured reads it when it runs.
pub(super) fn submit(stream: &Arc<Stream>, mut transfer: impl Transfer, manner: Manner) -> Answer {
    if stream.is_capturing() {
        if manner == Manner::Synchronous {
            stream.refuse_capture()?;
        }
        return stream.give(transfer).map(drop);
    }
    check_host_memory(transfer.to(), transfer.from())?;
    let waits = match manner {
        Manner::Synchronous => waits_without_a_stream(stream, transfer.to(), transfer.from()),
        Manner::Asynchronous => waits_with_a_stream(transfer.to(), transfer.from()),
    };
    if !waits && transfer.from().is_some_and(|from| from.place() == Place::Pageable) {
        transfer.stage()?;
    }
    let task = stream.submit(transfer)?;
    if waits { stream.wait_for(&[task]) } else { Ok(()) }
}

/// Refuses ordinary host memory that is not there, or that cannot be accessed so.
fn check_host_memory(to: &Span, from: Option<&Span>) -> Answer {
    let reaches = |span: &Span, writes| span.place() != Place::Pageable || span.is_reachable(writes);
    let reached = reaches(to, true) && from.is_none_or(|from| reaches(from, false));
    if reached { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}

/// Work inside the device is not waited for, unless memory or context ask for it.
fn waits_without_a_stream(stream: &Stream, to: &Span, from: Option<&Span>) -> bool {
    let asks = |span: &Span| span.place() != Place::Device || span.wants_waiting();
    asks(to) || from.is_some_and(asks) || stream.context.flags() & SYNC_MEMOPS != 0
}

/// Ordinary host memory must have been written, and nothing is asynchronous between two places of the host.
fn waits_with_a_stream(to: &Span, from: Option<&Span>) -> bool {
    match to.place() {
        Place::Device | Place::Managed => false,
        Place::Pinned => from.is_some_and(|from| !matches!(from.place(), Place::Device | Place::Managed)),
        Place::Pageable => true,
    }
}
