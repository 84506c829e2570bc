//! The memory of a slice: who has used it, and who waits for whom.
//!
//! A slice has a *home stream*, in whose order its memory comes and goes. Work in that stream is ordered anyway, and nothing is noted of
//! it. Work in another stream first waits for the home stream, and is noted; whatever is done next waits for that, in whichever stream,
//! and so does the release of the memory. Memory that the host reaches, too, has an event besides, by which the host waits.

use super::host_use::HostUse;
use crate::memory::Buffer;
use crate::object::callback::{hand_over, is_inside};
use crate::object::error::{Error, Status};
use crate::object::release::leaked;
use crate::op::Endpoint;
use crate::stream::{Stream, StreamKind};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// What work does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Who orders work on a slice in different streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The slice: work in another stream than its own waits for that, and the next work waits for it. With one stream this costs
    /// nothing; each use in another costs it an event, a record and a wait.
    #[default]
    Recorded,
    /// The program, by events and [`Stream::wait_stream`].
    Explicit,
}

/// A stream in which work is about to be enqueued. Whether it is captured is asked once, however many slices the work uses.
pub(super) struct Place<'a> {
    stream: &'a Stream,
    is_captured: Cell<Option<bool>>,
}

impl<'a> Place<'a> {
    #[inline]
    pub(super) fn new(stream: &'a Stream) -> Self {
        Self { stream, is_captured: Cell::new(None) }
    }

    #[inline]
    fn may_be_captured(&self) -> bool {
        self.is_captured.get().unwrap_or_else(|| self.stream.may_be_capturing())
    }

    fn is_captured(&self) -> Result<bool, Error> {
        if let Some(is_captured) = self.is_captured.get() {
            return Ok(is_captured);
        }
        let is_captured = self.stream.may_be_capturing() && self.stream.is_capturing()?;
        self.is_captured.set(Some(is_captured));
        Ok(is_captured)
    }
}

pub(super) struct Memory {
    /// `None` only while it is being given up.
    buffer: Option<Buffer>,
    home: Stream,
    order: Order,
    /// Whether `uses` are not empty: asked without the lock.
    away: AtomicBool,
    /// Work in other streams that the home stream has not waited for yet.
    uses: Mutex<Vec<Use>>,
    /// Of memory that the host reaches.
    host: Option<HostUse>,
}

/// Work in another stream than the home stream.
struct Use {
    stream: Stream,
    access: Access,
}

impl Memory {
    pub(super) fn new(buffer: Buffer, home: &Stream, host: Option<HostUse>) -> Self {
        Self {
            buffer: Some(buffer),
            home: home.clone(),
            order: Order::Recorded,
            away: AtomicBool::new(false),
            uses: Mutex::new(Vec::new()),
            host,
        }
    }

    pub(super) fn buffer(&self) -> &Buffer {
        self.buffer.as_ref().expect("memory has its buffer until it is given up")
    }

    pub(super) fn home(&self) -> &Stream {
        &self.home
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    pub(super) fn host(&self) -> Option<&HostUse> {
        self.host.as_ref()
    }

    #[inline]
    pub(super) fn at(&self, offset: usize) -> Endpoint<'_> {
        self.buffer().at(offset as u64)
    }

    /// Orders work that is about to be enqueued there after what it has to come after.
    #[inline]
    pub(super) fn begins(&self, place: &Place<'_>, access: Access) -> Result<(), Error> {
        let is_plain = *place.stream == self.home && !self.away.load(Relaxed);
        if is_plain && self.host.is_none() && !place.may_be_captured() {
            return Ok(());
        }
        self.begins_elsewhere(place, access)
    }

    #[inline(never)]
    fn begins_elsewhere(&self, place: &Place<'_>, access: Access) -> Result<(), Error> {
        let stream = place.stream;
        check_stream(stream)?;
        if place.is_captured()? {
            // The graph keeps the memory; when it runs, and after what, is said where it is launched.
            return if self.host.is_some() { Err(in_capture(stream)) } else { Ok(()) };
        }
        if self.order == Order::Recorded {
            self.record(stream, access)?;
        }
        self.host.as_ref().map_or(Ok(()), |host| host.begins(stream))
    }

    /// Work was enqueued in the stream.
    #[inline]
    pub(super) fn was_used(&self, stream: &Stream, access: Access) -> Result<(), Error> {
        self.host.as_ref().map_or(Ok(()), |host| host.was_used(stream, access))
    }

    fn record(&self, stream: &Stream, access: Access) -> Result<(), Error> {
        let mut uses = self.uses.lock();
        let comes_after = |earlier: &Use| access == Access::Write || earlier.access == Access::Write;
        if *stream == self.home {
            for earlier in uses.iter().filter(|earlier| comes_after(earlier)) {
                stream.wait_stream(&earlier.stream)?;
            }
            uses.retain(|earlier| !comes_after(earlier));
        } else {
            stream.wait_stream(&self.home)?;
            let is_other = |earlier: &&Use| earlier.stream != *stream;
            for earlier in uses.iter().filter(is_other).filter(|earlier| comes_after(earlier)) {
                stream.wait_stream(&earlier.stream)?;
            }
            // What comes after a write comes after what that has waited for.
            uses.retain(|earlier| {
                access == Access::Read && (is_other(&earlier) || earlier.access == Access::Write)
            });
            if !uses.iter().any(|earlier| !is_other(&earlier)) {
                uses.push(Use { stream: stream.clone(), access });
            }
        }
        self.away.store(!uses.is_empty(), Relaxed);
        Ok(())
    }

    /// Has the home stream wait for all work in others, and gives the buffer up.
    pub(super) fn into_buffer(mut self) -> Result<Buffer, Error> {
        self.record(&self.home.clone(), Access::Write)?;
        Ok(self.buffer.take().expect("memory has its buffer until it is given up"))
    }
}

/// Refuses streams of which a thread cannot name another's.
pub(super) fn check_stream(stream: &Stream) -> Result<(), Error> {
    if stream.kind() != StreamKind::PerThread {
        return Ok(());
    }
    let refusal = format!(
        "{stream} is another stream on each thread, so nobody could wait for it later: use a created stream, or the legacy default stream"
    );
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(stream))
}

/// The refusal of host memory in a graph.
#[cold]
fn in_capture(stream: &Stream) -> Error {
    stream.under_capture(
        "memory that the host reaches, too, is no part of a safe graph, which might run while the host reads it: use a DeviceSlice in the \
         graph, and copy before and after its launches",
    )
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else { return };
        let uses = std::mem::take(self.uses.get_mut());
        if uses.is_empty() {
            return drop(buffer);
        }
        let home = self.home.clone();
        // Inside a function that the driver called no stream can be told to wait.
        if is_inside() {
            hand_over(Box::new(move || release(buffer, &home, &uses)))
        } else {
            release(buffer, &home, &uses)
        }
    }
}

/// Lets go of memory after what other streams do with it.
fn release(buffer: Buffer, home: &Stream, uses: &[Use]) {
    let is_over = |earlier: &Use| {
        let waits = home.wait_stream(&earlier.stream).or_else(|_| earlier.stream.synchronize());
        waits.is_ok() || earlier.stream.context().is_gone()
    };
    if uses.iter().all(is_over) {
        return drop(buffer);
    }
    leaked(buffer.driver(), &format!("{buffer}, since nothing waits for what another stream does with it"));
    std::mem::forget(buffer);
}
