//! Moving managed memory to where it will be used.

use super::range::{Kind, Range};
use super::{access, advise};
use crate::context::Context;
use crate::driver::calls::managed::prefetch as calls;
use crate::location::Location;
use crate::object::error::Error;
use crate::op::batch::{self, BatchOptions, PerItem};
use crate::op::{Operation, Traits, sealed::Sealed};
use crate::stream::Stream;

/// Moves ranges to locations. What they hold does not change, and they can be used meanwhile.
///
/// The stream may be any but one that is being captured; a batch of several takes no legacy default stream either.
#[derive(Debug)]
pub struct Prefetch<'a> {
    ranges: &'a [Range],
    locations: &'a [Location],
    /// `None` for a call for one range, which is no batch.
    batch: Option<BatchOptions>,
}

impl<'a> Prefetch<'a> {
    /// Of one range to a location.
    #[must_use]
    pub fn new(range: &'a Range, location: &'a Location) -> Self {
        let (ranges, locations) = (std::slice::from_ref(range), std::slice::from_ref(location));
        Self { ranges, locations, batch: None }
    }

    /// Of several ranges: all to one location, or each to its own. One range is moved by the driver's call for one, more by
    /// its call for many (13.0), or one after the other on older drivers, unless the options refuse that. [`batch`] says
    /// what all operations of this sort have in common.
    #[must_use]
    pub fn batch(ranges: &'a [Range], locations: &'a [Location], options: BatchOptions) -> Self {
        Self { ranges, locations, batch: Some(options) }
    }

    fn locations(&self) -> Result<PerItem<'a, Location>, Error> {
        PerItem::new("locations", self.locations, "ranges", self.ranges.len())
    }

    /// Checks what a call is about; of a batch the error says which item.
    fn each<T>(&self, items: &[T], mut check: impl FnMut(&T) -> Result<(), Error>) -> Result<(), Error> {
        match self.batch {
            Some(_) => batch::check_each(items, check),
            None => items.iter().try_for_each(&mut check),
        }
    }

    fn check_managed(&self, at: &Context) -> Result<(), Error> {
        self.each(self.ranges, |range| range.check_managed(&Kind::PREFETCH, at))
    }
}

impl Sealed for Prefetch<'_> {}

impl Operation for Prefetch<'_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        Traits { is_batch: self.batch.is_some(), ..Traits::default() }
    }

    fn check<'a>(&'a self, at: &'a Context) -> Result<(), Error> {
        at.check_there(at)?;
        self.locations()?;
        self.each(self.ranges, Range::check_form)?;
        // Of a batch the driver is asked only once the stream takes it.
        if self.batch.is_none() {
            self.check_managed(at)?;
        }
        self.each(self.locations, |location| location.check(at.device()))
    }

    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let (context, locations) = (stream.context(), self.locations()?);
        match self.batch {
            Some(_) => {
                batch::check_stream(stream, "prefetches")?;
                self.check_managed(context)?;
                access::check_all(stream.driver())?;
            }
            None => batch::refuse_capture(stream, "a prefetch")?,
        }
        self.each(self.locations, |location| check_location(*location, stream))?;
        let one = |index: usize| {
            let (range, location) = (self.ranges[index].native(), locations.of(index).native());
            calls::one(context.table(), stream.raw(), range, location).map_err(|error| {
                refused(context.failed(error, stream), &self.ranges[index], locations.of(index))
            })
        };
        let Some(options) = self.batch else { return one(0) };
        let has_batch = options.choose(stream, calls::has_batch(context.table()))?;
        if !has_batch || self.ranges.len() == 1 {
            return batch::one_by_one(self.ranges.len(), one);
        }
        batch::in_parts(self.ranges.len(), |part| {
            let (mut pointers, mut sizes) = split(&self.ranges[part.clone()]);
            let (mut places, mut starts) = locations.runs(part, Location::native);
            let places = (places.as_mut_slice(), starts.as_mut_slice());
            calls::many(context.table(), stream.raw(), &mut pointers, &mut sizes, places)
                .map_err(|error| context.failed(error, stream).into())
        })
    }
}

/// What was to be moved, and where to.
#[cold]
fn refused(mut failure: Error, range: &Range, location: Location) -> Error {
    failure.message.push_str(&format!(". It was to move {range} to {location}"));
    failure
}

/// Refuses a location that this driver or that device cannot take.
fn check_location(location: Location, stream: &Stream) -> Result<(), Error> {
    let context = stream.context();
    access::check(context.device())?;
    access::check_location(location, context.device())?;
    calls::check(context.table(), location.native())
        .map_err(|error| advise::numa(context.failed(error, stream), Some(location)))
}

/// The ranges as the driver's calls for many take them.
pub(super) fn split(ranges: &[Range]) -> (Vec<u64>, Vec<usize>) {
    ranges.iter().map(Range::native).unzip()
}

impl Stream {
    /// Moves a range to a location after the work that is in the stream by now: [`Prefetch`].
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a range that is not managed memory, a location that
    /// does not exist, and a stream that is being captured; [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) without
    /// concurrent managed access, and for NUMA nodes before driver 12.2; the driver's.
    pub fn prefetch(&self, range: &Range, location: Location) -> Result<(), Error> {
        // SAFETY: what the range holds does not change.
        unsafe { self.enqueue(&mut Prefetch::new(range, &location)) }
    }

    /// Moves several ranges: [`Prefetch::batch`].
    ///
    /// # Errors
    /// As for [`prefetch`](Self::prefetch), and those of every [`batch`](crate::op::batch).
    pub fn prefetch_batch(
        &self,
        ranges: &[Range],
        locations: &[Location],
        options: BatchOptions,
    ) -> Result<(), Error> {
        // SAFETY: what the ranges hold does not change.
        unsafe { self.enqueue(&mut Prefetch::batch(ranges, locations, options)) }
    }
}
