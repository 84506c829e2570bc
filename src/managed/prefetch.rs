//! Moving managed memory to where it will be used.

use super::range::{Operation, Range};
use super::{access, advise};
use crate::batch::{self, BatchOptions, PerItem};
use crate::driver::calls::managed::prefetch as calls;
use crate::error::Error;
use crate::location::Location;
use crate::stream::Stream;

impl Stream {
    /// Moves a range to a location after the work that is in the stream by now. What the range holds does not change, and
    /// it can be used meanwhile.
    ///
    /// The stream may be any but one that is being captured.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a range that is not managed memory, a location that
    /// does not exist, and a stream that is being captured; [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) without
    /// concurrent managed access, and for NUMA nodes before driver 12.2; the driver's.
    pub fn prefetch(&self, range: Range, location: Location) -> Result<(), Error> {
        self.context().check_there(self)?;
        range.check_form()?;
        range.check_managed(&Operation::PREFETCH, self.context().device())?;
        location.check(self.context().device())?;
        batch::refuse_capture(self, "a prefetch")?;
        self.check_prefetch(location)?;
        self.prefetch_checked(range, location)
    }

    /// Moves several ranges: all to one location, or each to its own. One range is moved by the driver's call for one,
    /// more by its call for many (13.0), or one after the other on older drivers, unless the options refuse that.
    ///
    /// [`batch`](crate::batch) says what all calls of this sort have in common.
    ///
    /// # Errors
    /// As for [`prefetch`](Self::prefetch), and those of every batch.
    pub fn prefetch_batch(
        &self,
        ranges: &[Range],
        locations: &[Location],
        options: BatchOptions,
    ) -> Result<(), Error> {
        let context = self.context();
        context.check_there(self)?;
        let locations = PerItem::new("locations", locations, "ranges", ranges.len())?;
        batch::check_each(ranges, Range::check_form)?;
        batch::check_each(locations.values(), |location| location.check(context.device()))?;
        batch::check_stream(self, "prefetches")?;
        batch::check_each(ranges, |range| range.check_managed(&Operation::PREFETCH, context.device()))?;
        access::check_all(self.driver())?;
        batch::check_each(locations.values(), |location| self.check_prefetch(*location))?;
        let has_batch = options.choose(self, calls::has_batch(context.table()))?;
        let one = |index: usize| self.prefetch_checked(ranges[index], locations.of(index));
        if !has_batch || ranges.len() == 1 {
            return batch::one_by_one(ranges.len(), one);
        }
        batch::in_parts(ranges.len(), |part| {
            let (mut pointers, mut sizes) = split(&ranges[part.clone()]);
            let (mut places, mut starts) = locations.runs(part, Location::native);
            let places = (places.as_mut_slice(), starts.as_mut_slice());
            let _current = self.enter_if_default()?;
            calls::many(context.table(), self.raw(), &mut pointers, &mut sizes, places)
                .map_err(|error| context.failed(error, self).into())
        })
    }

    /// Refuses a location that this driver or that device cannot take.
    fn check_prefetch(&self, location: Location) -> Result<(), Error> {
        let context = self.context();
        access::check(context.device())?;
        access::check_location(location, context.device())?;
        calls::check(context.table(), location.native())
            .map_err(|error| advise::numa(context.failed(error, self), Some(location)))
    }

    fn prefetch_checked(&self, range: Range, location: Location) -> Result<(), Error> {
        let _current = self.enter_if_default()?;
        calls::one(self.context().table(), self.raw(), range.native(), location.native())
            .map_err(|error| self.context().failed(error, self))
    }
}

/// The ranges as the driver's calls for many take them.
pub(super) fn split(ranges: &[Range]) -> (Vec<u64>, Vec<usize>) {
    ranges.iter().map(Range::native).unzip()
}
