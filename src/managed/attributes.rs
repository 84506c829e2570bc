//! What the driver knows of a range.

use super::range::{Kind, Range};
use crate::context::Context;
use crate::driver::calls::managed::attributes as calls;
use crate::location::Location;
use crate::object::error::Error;

/// What the driver says of a range at the time of the call: nothing here is remembered from calls that set it.
///
/// Driver 13.0 answers the advice of a NUMA node with success and, on a machine of one node, keeps what was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeAttributes {
    /// Whether all of it is mostly read.
    pub read_mostly: bool,
    /// Where all of it should stay; unset if nowhere, or if parts of it should stay in different places.
    pub preferred_location: Location,
    /// Where all of it was moved to last, or was being moved; unset if nowhere, or to different places.
    pub last_prefetch_location: Location,
}

impl Context {
    /// What the driver knows of a range. Drivers before 12.2 know devices and the host only.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a range that is not managed memory; the driver's.
    pub fn range_attributes(&self, range: &Range) -> Result<RangeAttributes, Error> {
        self.check_question(range)?;
        let told = self
            .here(|context| calls::of(context, range.native()))
            .map_err(|failure| range.named(failure))?;
        Ok(RangeAttributes {
            read_mostly: told.read_mostly,
            preferred_location: Location::told(told.preferred),
            last_prefetch_location: Location::told(told.last_prefetch),
        })
    }

    /// Refuses to ask about what is no managed memory.
    pub(super) fn check_question(&self, range: &Range) -> Result<(), Error> {
        self.check_there(self)?;
        range.check_form()?;
        range.check_managed(&Kind::QUERY, self)
    }
}
