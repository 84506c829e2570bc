//! Advice on where managed memory should be.

use super::access;
use super::range::{Kind, Range};
use crate::context::Context;
use crate::driver::calls::managed::advise as calls;
use crate::driver::{CallError, sys};
use crate::location::Location;
use crate::object::error::{Error, Status};
use crate::op::batch;
use crate::pointer::PointerAttributes;

/// What a program tells the driver about its use of a range. Advice changes how fast a program is, not what it computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// It is mostly read: whoever reads it gets a copy of its own, and a write takes all copies but one away.
    SetReadMostly,
    /// Takes that back.
    UnsetReadMostly,
    /// It should stay there, and be reached from elsewhere instead of moved, where that is possible.
    SetPreferredLocation(Location),
    /// Takes that back.
    UnsetPreferredLocation,
    /// This device, or the host, will access it: it should be mapped there, wherever it is.
    SetAccessedBy(Location),
    /// Takes that back.
    UnsetAccessedBy(Location),
}

impl Advice {
    /// The advice as the driver numbers it.
    #[must_use]
    pub const fn number(self) -> sys::CUmem_advise {
        match self {
            Self::SetReadMostly => sys::CU_MEM_ADVISE_SET_READ_MOSTLY,
            Self::UnsetReadMostly => sys::CU_MEM_ADVISE_UNSET_READ_MOSTLY,
            Self::SetPreferredLocation(_) => sys::CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
            Self::UnsetPreferredLocation => sys::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
            Self::SetAccessedBy(_) => sys::CU_MEM_ADVISE_SET_ACCESSED_BY,
            Self::UnsetAccessedBy(_) => sys::CU_MEM_ADVISE_UNSET_ACCESSED_BY,
        }
    }

    /// The advice with this number, about this location if it is about one.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if there is no such advice.
    pub fn numbered(number: sys::CUmem_advise, location: Location) -> Result<Self, Error> {
        match number {
            sys::CU_MEM_ADVISE_SET_READ_MOSTLY => Ok(Self::SetReadMostly),
            sys::CU_MEM_ADVISE_UNSET_READ_MOSTLY => Ok(Self::UnsetReadMostly),
            sys::CU_MEM_ADVISE_SET_PREFERRED_LOCATION => Ok(Self::SetPreferredLocation(location)),
            sys::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => Ok(Self::UnsetPreferredLocation),
            sys::CU_MEM_ADVISE_SET_ACCESSED_BY => Ok(Self::SetAccessedBy(location)),
            sys::CU_MEM_ADVISE_UNSET_ACCESSED_BY => Ok(Self::UnsetAccessedBy(location)),
            sys::CUmem_advise(number) => {
                let refusal = format!("there is no advice {number}; there are 1 to 6, CU_MEM_ADVISE_*");
                Err(Error::new(Status::INVALID_ARGUMENT, refusal))
            }
        }
    }

    /// The location that it is about; `None` for advice without one.
    #[must_use]
    pub const fn location(self) -> Option<Location> {
        match self {
            Self::SetPreferredLocation(location)
            | Self::SetAccessedBy(location)
            | Self::UnsetAccessedBy(location) => Some(location),
            Self::SetReadMostly | Self::UnsetReadMostly | Self::UnsetPreferredLocation => None,
        }
    }

    /// The location for the driver, which wants one that is valid even where it looks at none.
    fn native_location(self) -> sys::CUmemLocation {
        self.location().unwrap_or(Location::HOST).native()
    }

    /// Refuses a location that is none, or not one for this advice.
    fn check_location(self, context: &Context) -> Result<(), Error> {
        let Some(location) = self.location() else { return Ok(()) };
        location.check(context.device())?;
        if matches!(self, Self::SetAccessedBy(_) | Self::UnsetAccessedBy(_)) {
            check_accessor(location)
        } else {
            Ok(())
        }
    }
}

/// Memory is accessed by devices and by the host as a whole.
pub(super) fn check_accessor(location: Location) -> Result<(), Error> {
    if location.is_device() || location == Location::HOST {
        return Ok(());
    }
    let refusal = format!("memory is accessed by devices or by the host as a whole, not by {location}");
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}

impl Context {
    /// Gives the driver advice for a range. It holds for what the range has of pages, until other advice is given or the
    /// memory is freed.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a range that is not managed memory, or a location that does not exist or is not one
    /// for this advice; [`Status::UNSUPPORTED`] without concurrent managed access, and for NUMA nodes before driver 12.2;
    /// the driver's: `CUDA_ERROR_NOT_SUPPORTED` (801) for memory of a pool, on driver 13.0.
    pub fn advise(&self, range: &Range, advice: Advice) -> Result<(), Error> {
        self.check_there(self)?;
        range.check_form()?;
        range.check_managed(&Kind::ADVICE, self)?;
        advice.check_location(self)?;
        self.check_advice(advice)?;
        self.advise_checked(range, advice)
    }

    /// Gives the driver advice for several ranges: the same for all, or one for each. All of it is checked before the first
    /// is given.
    ///
    /// The driver has no call for this, so the ranges are told one after the other. What it refuses ends the call: the
    /// error's [`item`](crate::Failure::item) says which one that was, and those before it have their advice.
    ///
    /// # Errors
    /// As for [`advise`](Self::advise); also [`Status::INVALID_ARGUMENT`] for no range, and for a number of advices that is
    /// neither 1 nor that of the ranges.
    pub fn advise_batch(&self, ranges: &[Range], advice: &[Advice]) -> Result<(), Error> {
        self.check_there(self)?;
        let advice = batch::PerItem::new("pieces of advice", advice, "ranges", ranges.len())?;
        batch::check_each(ranges, |range| range.check_form())?;
        batch::check_each(advice.values(), |advice| advice.check_location(self))?;
        batch::check_each(ranges, |range| range.check_managed(&Kind::ADVICE, self))?;
        batch::check_each(advice.values(), |advice| self.check_advice(*advice))?;
        batch::one_by_one(ranges.len(), |index| self.advise_checked(&ranges[index], advice.of(index)))
    }

    /// Refuses advice that this driver or these devices cannot take.
    fn check_advice(&self, advice: Advice) -> Result<(), Error> {
        access::check(self.device())?;
        if let Some(location) = advice.location() {
            access::check_location(location, self.device())?;
        }
        calls::check(self.table(), advice.native_location())
            .map_err(|error| numa(self.failed(error, self), advice.location()))
    }

    /// Gives advice that has been checked.
    pub(super) fn advise_checked(&self, range: &Range, advice: Advice) -> Result<(), Error> {
        calls::advise(self.live(self)?, range.native(), advice.number(), advice.native_location())
            .map_err(|error| self.refused_advice(error, range))
    }

    #[cold]
    fn refused_advice(&self, error: CallError, range: &Range) -> Error {
        let mut failure = range.named(self.failed(error, self));
        let is_of_pool = || {
            PointerAttributes::of(self.driver(), range.pointer().0).is_ok_and(|known| !known.pool.is_null())
        };
        if error.result() == Some(sys::CUDA_ERROR_NOT_SUPPORTED) && is_of_pool() {
            failure.message.push_str(
                ". The range comes from a memory pool, whose memory takes no advice on this driver: allocate it with \
                 cuMemAllocManaged, or prefetch it",
            );
        }
        failure
    }
}

/// Says what it is that an older driver lacks.
#[cold]
pub(super) fn numa(mut failure: Error, location: Option<Location>) -> Error {
    if let Some(location) = location.filter(|_| failure.status == Status::UNSUPPORTED) {
        failure.message = format!(
            "{location} is a location for drivers of CUDA 12.2 or newer, here name the host: {}",
            failure.message
        );
    }
    failure
}
