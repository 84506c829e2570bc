//! Where memory is, or should be.
//!
//! @header cushim.h

use super::input::{array, given, slice_of_at_most};
use super::pointer::{self, MOST_LOCATIONS};
use crate::location::Location;
use crate::object::error::Error;
use crate::op::batch;

/// What a location is. The numbers are those of `CUmemLocationType`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_location_kind {
    /// No location. No call accepts it as a destination.
    CUSHIM_LOCATION_UNSET = 0,
    /// A device.
    CUSHIM_LOCATION_DEVICE = 1,
    /// The host, any NUMA node.
    CUSHIM_LOCATION_HOST = 2,
    /// A NUMA node of the host (CUDA 12.2).
    CUSHIM_LOCATION_HOST_NUMA = 3,
    /// The NUMA node of the calling thread (CUDA 12.2).
    CUSHIM_LOCATION_HOST_NUMA_CURRENT = 4,
}

/// Where memory is, or should be. Equal locations are equal byte for byte; `cushim_location_device`,
/// `cushim_location_host()` and `cushim_location_host_numa` make them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct cushim_location {
    /// @field[enum(cushim_location_kind)] What the location is.
    pub kind: i32,
    /// The ordinal of the device, or the operating system's number of the NUMA node; 0 for other kinds.
    pub id: i32,
}

impl From<Location> for cushim_location {
    fn from(location: Location) -> Self {
        Self { kind: location.kind().0, id: location.id() }
    }
}

pub(super) fn location_of(location: &cushim_location) -> Location {
    Location::from_numbers(location.kind, location.id)
}

/// # Safety
/// `location` is NULL or valid for reads.
pub(super) unsafe fn location(location: *const cushim_location, what: &str) -> Result<Location, Error> {
    // SAFETY: the caller vouches for it.
    Ok(location_of(&unsafe { given(location, what) }?))
}

/// The locations that go with so many ranges: none is read where the numbers do not fit.
///
/// # Safety
/// `locations` is NULL, misaligned or valid for reads of `count` locations.
pub(super) unsafe fn locations_of(
    ranges: usize,
    locations: *const cushim_location,
    count: usize,
) -> Result<Vec<Location>, Error> {
    pointer::check(locations, "locations")?;
    batch::check_counts("locations", count, "ranges", ranges)?;
    // SAFETY: the caller vouches for them.
    unsafe { array(locations, count, "locations", |location| Ok(location_of(location))) }
}

/// Locations each of which is named once.
///
/// # Safety
/// As for [`locations_of`].
pub(super) unsafe fn locations_once(
    locations: *const cushim_location,
    count: usize,
    what: &str,
) -> Result<Vec<Location>, Error> {
    // SAFETY: the caller vouches for them.
    let locations = unsafe { slice_of_at_most(MOST_LOCATIONS, locations, count, what) }?;
    Ok(locations.iter().map(location_of).collect())
}
