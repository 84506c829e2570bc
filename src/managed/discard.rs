//! Giving up what managed memory holds, so that nobody copies it.

use super::access;
use super::prefetch::split;
use super::range::{Kind, Range};
use crate::context::Context;
use crate::driver::calls::managed::discard as calls;
use crate::location::Location;
use crate::object::error::Error;
use crate::op::batch::{self, PerItem};
use crate::op::{Operation, Traits, sealed::Sealed};
use crate::stream::Stream;

/// Gives up what ranges hold: until it is written again, a read gives anything. Pages that are written next need not be copied
/// from where they were.
///
/// It is a [`batch`], also of one range, with no older call to stand in for it: a driver before 13.0 refuses it. Nobody reads
/// the ranges before they are written again.
#[derive(Debug)]
pub struct Discard<'a> {
    ranges: &'a [Range],
    /// Where they are moved to, if they are: the memory is there, and what it held was not copied.
    locations: Option<&'a [Location]>,
}

impl<'a> Discard<'a> {
    /// Of these ranges.
    #[must_use]
    pub fn new(ranges: &'a [Range]) -> Self {
        Self { ranges, locations: None }
    }

    /// The same with a prefetch of the ranges, all to one location or each to its own.
    #[must_use]
    pub fn with_prefetch(mut self, locations: &'a [Location]) -> Self {
        self.locations = Some(locations);
        self
    }

    fn locations(&self) -> Result<Option<PerItem<'a, Location>>, Error> {
        let per_item = |locations| PerItem::new("locations", locations, "ranges", self.ranges.len());
        self.locations.map(per_item).transpose()
    }
}

impl Sealed for Discard<'_> {}

impl Operation for Discard<'_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        Traits { is_batch: true, ..Traits::default() }
    }

    fn check<'a>(&'a self, at: &'a Context) -> Result<(), Error> {
        at.check_there(at)?;
        batch::check_count("ranges", self.ranges.len())?;
        self.locations()?;
        batch::check_each(self.ranges, Range::check_form)?;
        batch::check_each(self.locations.unwrap_or_default(), |location| location.check(at.device()))
    }

    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let (context, locations) = (stream.context(), self.locations()?);
        batch::check_stream(stream, "discards")?;
        // The driver is asked only once the stream takes the batch.
        batch::check_each(self.ranges, |range| range.check_managed(&Kind::DISCARD, context))?;
        access::check_all(stream.driver())?;
        let check = if locations.is_some() { calls::check_prefetch } else { calls::check };
        check(context.table()).map_err(|error| context.failed(error, stream))?;
        batch::in_parts(self.ranges.len(), |part| {
            let (mut pointers, mut sizes) = split(&self.ranges[part.clone()]);
            let Some(locations) = &locations else {
                return calls::discard(context.table(), stream.raw(), &mut pointers, &mut sizes)
                    .map_err(|error| context.failed(error, stream).into());
            };
            let (mut places, mut starts) = locations.runs(part, Location::native);
            let places = (places.as_mut_slice(), starts.as_mut_slice());
            calls::discard_prefetch(context.table(), stream.raw(), &mut pointers, &mut sizes, places)
                .map_err(|error| context.failed(error, stream).into())
        })
    }
}
