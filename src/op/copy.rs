//! Copies of a range.

use super::peers::Peers;
use super::refusal::End;
use super::region::Checked as CheckedRegion;
use super::region::Strides;
use super::{Captured, Endpoint, Extent, Operation, Side, Synchronous, Traits, copy_3d, refusal};
use crate::check::{Access, Deeds, Use};
use crate::context::Context;
use crate::driver::CallError;
use crate::driver::calls::memory::copy::{self as calls, Direction, RawRange, RawRegion};
use crate::object::callback::Owner;
use crate::object::error::Error;
use crate::stream::Stream;

/// A copy of so many bytes between two endpoints. A copy of zero bytes succeeds without checking the pointers.
///
/// In a stream it returns before the bytes have arrived, unless one endpoint is ordinary host memory: then it may wait for
/// them. The bytes are in two places apart from each other.
///
/// Memory of another device's pool is copied only if that gives the copying device access
/// ([`Resource::add_peers`](crate::memory::Resource::add_peers)), or if both endpoints are buffers with resources or
/// name their context ([`Endpoint::in_context`]). Other memory of other devices is copied always: directly where one device
/// reaches the other's memory, else by way of the host.
#[derive(Debug)]
pub struct Copy<'a> {
    pub(super) to: Endpoint<'a>,
    pub(super) from: Endpoint<'a>,
    pub(super) bytes: usize,
}

/// A copy in the driver's terms.
pub struct Checked<'a> {
    form: Form,
    /// The contexts that the addresses in `form` belong to: held until the copy was made.
    _peers: Option<Peers<'a>>,
}

enum Form {
    Range(RawRange),
    /// One end is an array, which the driver copies as a box of one row.
    Row(Box<RawRegion>),
}

impl<'a> Copy<'a> {
    /// The copy of so many bytes.
    #[inline]
    #[must_use]
    pub fn new(to: Endpoint<'a>, from: Endpoint<'a>, bytes: usize) -> Self {
        Self { to, from, bytes }
    }

    /// Both ends: the destination, and the source.
    #[cfg(feature = "capi")]
    pub(crate) fn endpoints_mut(&mut self) -> [&mut Endpoint<'a>; 2] {
        [&mut self.to, &mut self.from]
    }

    /// Both ends, the destination first, with as much as the copy reaches.
    pub(super) fn ends(&self) -> [End; 2] {
        [&self.to, &self.from].map(|end| End { side: end.side(), bytes: self.bytes })
    }

    #[cold]
    pub(super) fn refused(&self, failure: Error, at: &Context) -> Error {
        refusal::of_copy(failure, at, self)
    }

    #[cold]
    pub(super) fn refused_in_capture(&self, failure: Error, at: &Context) -> Error {
        refusal::of_captured_copy(failure, at, &self.to, &self.from)
    }

    /// Has it be known which memory it touches.
    #[cold]
    pub(super) fn touch(&self, deeds: &mut Deeds) {
        self.from.touch(self.bytes as u64, Access::Reads, Use::Source, deeds);
        self.to.touch(self.bytes as u64, Access::Writes, Use::Destination, deeds);
    }

    #[cold]
    fn as_row(&self, to: Side, from: Side) -> Box<RawRegion> {
        let row =
            |side| CheckedRegion { side, strides: Strides { x: 0, y: 0, z: 0, pitch: self.bytes, rows: 1 } };
        Box::new(RawRegion::new(copy_3d::parameters(&row(to), &row(from), Extent::rectangle(self.bytes, 1))))
    }
}

/// What the driver is told that the two ends are. Only of two host addresses nothing more is said than that.
#[inline(always)]
fn direction(to: Side, from: Side) -> Direction {
    match (to, from) {
        (Side::Host(_), Side::Host(_)) => Direction::Any,
        (Side::Host(_), _) => Direction::DeviceToHost,
        (_, Side::Host(_)) => Direction::HostToDevice,
        _ => Direction::DeviceToDevice,
    }
}

impl Operation for Copy<'_> {
    type Output = ();
    type Checked<'a>
        = Checked<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        let is_array = |end: &Endpoint<'_>| matches!(end.side(), Side::Array(_));
        Traits {
            needs_context: true,
            touches_host: self.to.may_be_host() || self.from.may_be_host(),
            touches_arrays: is_array(&self.to) || is_array(&self.from),
            has_owners: self.to.has_owner() || self.from.has_owner(),
            ..Traits::default()
        }
    }

    #[inline(always)]
    fn check<'a>(&'a self, at: &'a Context) -> Result<Checked<'a>, Error> {
        if self.bytes == 0 {
            let range = RawRange { direction: Direction::Any, to: 0, from: 0, bytes: 0, peers: None };
            return Ok(Checked { form: Form::Range(range), _peers: None });
        }
        let to = self.to.check("destination", self.bytes as u64, at)?;
        let from = self.from.check("source", self.bytes as u64, at)?;
        let peers = Peers::of(at, (&self.to, to), (&self.from, from));
        let natives = peers.as_ref().map(Peers::natives);
        let form = match (to.address(), from.address()) {
            (Some(destination), Some(source)) => Form::Range(RawRange {
                direction: direction(to, from),
                to: destination,
                from: source,
                bytes: self.bytes,
                peers: natives,
            }),
            _ => Form::Row(self.as_row(to, from)),
        };
        Ok(Checked { form, _peers: peers })
    }

    #[inline(always)]
    unsafe fn enqueue(&self, checked: Checked<'_>, stream: &Stream) -> Result<(), Error> {
        let (table, context) = (stream.raw().table(), stream.context());
        // SAFETY: the caller vouches for both endpoints; the stream is alive.
        unsafe {
            match &checked.form {
                Form::Range(range) => calls::range(table, range, stream.raw()),
                Form::Row(row) => calls::region(table, row, stream.raw()),
            }
        }
        .map_err(|error: CallError| self.refused(context.failed(error, stream), context))
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new(format!("copy of {} bytes", self.bytes));
        self.touch(&mut deeds);
        deeds
    }

    fn take_owners(&mut self) -> Vec<Owner> {
        [&mut self.to, &mut self.from].into_iter().filter_map(Endpoint::take_owner).collect()
    }

    fn captured(&mut self) -> Captured<'_> {
        if self.bytes == 0 { Captured::Nothing } else { Captured::Node(self) }
    }

    unsafe fn enqueue_captured(&self, mut checked: Checked<'_>, stream: &Stream) -> Result<(), Error> {
        // Driver 580 captures no copies between peers, but plain ones between two devices (measured).
        if let Form::Range(range) = &mut checked.form {
            range.peers = None;
        }
        // SAFETY: as the caller vouches.
        unsafe { self.enqueue(checked, stream) }
            .map_err(|failure| self.refused_in_capture(failure, stream.context()))
    }
}

impl Synchronous for Copy<'_> {
    unsafe fn run(&self, checked: Checked<'_>, context: &Context) -> Result<(), Error> {
        let table = context.table();
        // SAFETY: the caller vouches for both endpoints; the context is current.
        unsafe {
            match &checked.form {
                Form::Range(range) => calls::range_now(table, range),
                Form::Row(row) => calls::region_now(table, row),
            }
        }
        .map_err(|error| self.refused(context.failed(error, context), context))
    }
}
