//! The set of those by which a range is said to be accessed.

use super::range::Range;
use super::{access, advise::Advice, advise::check_accessor};
use crate::context::Context;
use crate::device::Device;
use crate::driver::calls::managed::attributes as calls;
use crate::location::Location;
use crate::object::error::Error;
use crate::op::batch;

/// A range is accessed by a location if all of it is, as the driver says at the time of the call. The functions that
/// change the set check everything first, send the driver what differs and nothing else, and take back what they have
/// sent if it refuses a later step.
///
/// A location that only a part of the range is accessed by is not in the set: adding it extends it to the whole, and
/// [`advise`](Context::advise) takes it away.
impl Context {
    /// The devices, and perhaps the host, by which the range is accessed, in the driver's order.
    ///
    /// # Errors
    /// As for [`range_attributes`](Self::range_attributes).
    pub fn accessed_by(&self, range: &Range) -> Result<Vec<Location>, Error> {
        self.check_question(range)?;
        self.accessors(range)
    }

    /// Adds devices, or the host, to those by which the range is accessed.
    ///
    /// # Errors
    /// As for [`advise`](Self::advise); the error's [`item`](crate::Failure::item) says which location is not acceptable.
    pub fn add_accessed_by(&self, range: &Range, locations: &[Location]) -> Result<(), Error> {
        self.change(range, locations, |now| missing(locations, now).map(Advice::SetAccessedBy).collect())
    }

    /// Takes devices, or the host, out of those by which the range is accessed.
    ///
    /// # Errors
    /// As for [`add_accessed_by`](Self::add_accessed_by).
    pub fn remove_accessed_by(&self, range: &Range, locations: &[Location]) -> Result<(), Error> {
        self.change(range, locations, |now| {
            let there = now.iter().copied().filter(|location| locations.contains(location));
            there.map(Advice::UnsetAccessedBy).collect()
        })
    }

    /// Makes these devices, and perhaps the host, all by which the range is accessed; none of them is allowed.
    ///
    /// # Errors
    /// As for [`add_accessed_by`](Self::add_accessed_by).
    pub fn set_accessed_by(&self, range: &Range, locations: &[Location]) -> Result<(), Error> {
        self.change(range, locations, |now| {
            let removed = missing(now, locations).map(Advice::UnsetAccessedBy);
            removed.chain(missing(locations, now).map(Advice::SetAccessedBy)).collect()
        })
    }

    fn change(
        &self,
        range: &Range,
        locations: &[Location],
        steps: impl FnOnce(&[Location]) -> Vec<Advice>,
    ) -> Result<(), Error> {
        self.check_question(range)?;
        batch::check_each(locations, |location| {
            location.check(self.device())?;
            check_accessor(*location)
        })?;
        access::check(self.device())?;
        batch::check_each(locations, |location| access::check_location(*location, self.device()))?;
        self.take(range, &steps(&self.accessors(range)?))
    }

    fn accessors(&self, range: &Range) -> Result<Vec<Location>, Error> {
        // All devices, and the host.
        let most = Device::count(self.driver())?.unsigned_abs() as usize + 1;
        let told = self
            .here(|context| calls::accessed_by(context, range.native(), most))
            .map_err(|failure| range.named(failure))?;
        Ok(told.into_iter().map(Location::told).collect())
    }

    /// Takes all steps, or none.
    fn take(&self, range: &Range, steps: &[Advice]) -> Result<(), Error> {
        for (done, step) in steps.iter().enumerate() {
            let Err(mut failure) = self.advise_checked(range, *step) else { continue };
            let taken_back =
                steps[..done].iter().rev().try_for_each(|step| self.advise_checked(range, reverse(*step)));
            if let Err(left) = taken_back {
                failure.message.push_str(". What was changed before could not be changed back: ");
                failure.message.push_str(&left.message);
            }
            return Err(failure);
        }
        Ok(())
    }
}

/// What is in `these` and not in `those`, each once.
fn missing(these: &[Location], those: &[Location]) -> impl Iterator<Item = Location> {
    let is_first = |index: usize, location: &Location| !these[..index].contains(location);
    let new = these.iter().enumerate().filter(move |(index, location)| is_first(*index, location));
    new.map(|(_, location)| *location).filter(|location| !those.contains(location))
}

fn reverse(step: Advice) -> Advice {
    match step {
        Advice::SetAccessedBy(location) => Advice::UnsetAccessedBy(location),
        Advice::UnsetAccessedBy(location) => Advice::SetAccessedBy(location),
        other => other,
    }
}
