//! Giving up what managed memory holds, so that nobody copies it.

use super::access;
use super::prefetch::split;
use super::range::{Operation, Range};
use crate::batch::{self, BatchOptions, PerItem};
use crate::driver::CallError;
use crate::driver::calls::managed::discard as calls;
use crate::error::Error;
use crate::location::Location;
use crate::stream::Stream;

impl Stream {
    /// Gives up what a range holds, after the work that is in the stream by now: until it is written again, a read gives
    /// anything. Pages that are written next need not be copied from where they were.
    ///
    /// The driver has no call for one range: it is a batch of one, with the refusals of every [`batch`](crate::batch).
    ///
    /// # Safety
    /// Nobody reads the range before it is written again.
    ///
    /// # Errors
    /// As for [`discard_batch`](Self::discard_batch).
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn discard(&self, range: Range) -> Result<(), Error> {
        self.discard_all(&[range])
    }

    /// Gives up what several ranges hold; see [`discard`](Self::discard). No older call stands in for this one: a driver
    /// before 13.0 refuses it, whatever the options say.
    ///
    /// # Safety
    /// Nobody reads the ranges before they are written again.
    ///
    /// # Errors
    /// Those of every batch; [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a range that is not managed
    /// memory; [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) before driver 13.0, and if any device has no concurrent
    /// managed access; the driver's.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn discard_batch(&self, ranges: &[Range], options: BatchOptions) -> Result<(), Error> {
        let _ = options;
        self.discard_all(ranges)
    }

    /// Gives up what a range holds and moves it: the memory is there, and what it held was not copied. See
    /// [`discard`](Self::discard).
    ///
    /// # Safety
    /// As for [`discard`](Self::discard).
    ///
    /// # Errors
    /// As for [`discard_batch`](Self::discard_batch), and for a location that does not exist.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn discard_prefetch(&self, range: Range, location: Location) -> Result<(), Error> {
        self.discard_prefetch_all(&[range], &[location])
    }

    /// Gives up what several ranges hold and moves them, all to one location or each to its own. See
    /// [`discard_batch`](Self::discard_batch).
    ///
    /// # Safety
    /// As for [`discard`](Self::discard).
    ///
    /// # Errors
    /// As for [`discard_batch`](Self::discard_batch), and for a location that does not exist.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn discard_prefetch_batch(
        &self,
        ranges: &[Range],
        locations: &[Location],
        options: BatchOptions,
    ) -> Result<(), Error> {
        let _ = options;
        self.discard_prefetch_all(ranges, locations)
    }

    fn discard_all(&self, ranges: &[Range]) -> Result<(), Error> {
        self.context().check_there(self)?;
        batch::check_count("ranges", ranges.len())?;
        batch::check_each(ranges, Range::check_form)?;
        self.check_discard(ranges, "discards", calls::check)?;
        let context = self.context();
        batch::in_parts(ranges.len(), |part| {
            let (mut pointers, mut sizes) = split(&ranges[part]);
            let _current = self.enter_if_default()?;
            calls::discard(context.table(), self.raw(), &mut pointers, &mut sizes)
                .map_err(|error| context.failed(error, self).into())
        })
    }

    fn discard_prefetch_all(&self, ranges: &[Range], locations: &[Location]) -> Result<(), Error> {
        self.context().check_there(self)?;
        let locations = PerItem::new("locations", locations, "ranges", ranges.len())?;
        batch::check_each(ranges, Range::check_form)?;
        batch::check_each(locations.values(), |location| location.check(self.context().device()))?;
        self.check_discard(ranges, "discards", calls::check_prefetch)?;
        let context = self.context();
        batch::in_parts(ranges.len(), |part| {
            let (mut pointers, mut sizes) = split(&ranges[part.clone()]);
            let (mut places, mut starts) = locations.runs(part, Location::native);
            let places = (places.as_mut_slice(), starts.as_mut_slice());
            let _current = self.enter_if_default()?;
            calls::discard_prefetch(context.table(), self.raw(), &mut pointers, &mut sizes, places)
                .map_err(|error| context.failed(error, self).into())
        })
    }

    /// What is left to check once the arguments are.
    fn check_discard(
        &self,
        ranges: &[Range],
        what: &str,
        driver: impl FnOnce(&crate::driver::Table) -> Result<(), CallError>,
    ) -> Result<(), Error> {
        let context = self.context();
        batch::check_stream(self, what)?;
        batch::check_each(ranges, |range| range.check_managed(&Operation::DISCARD, context.device()))?;
        access::check_all(self.driver())?;
        driver(context.table()).map_err(|error| context.failed(error, self))
    }
}
