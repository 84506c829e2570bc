//! Advice on where managed memory should be.

use super::range::{cushim_range, range, ranges};
use crate::capi::context::cushim_context;
use crate::capi::driver_types::CUmem_advise;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, locations};
use crate::error::Error;
use crate::location::Location;
use crate::managed::Advice;

/// Gives the driver advice on a range: what it should expect, not what it must do. It holds until other advice is given or
/// the memory is freed. `cushim_device_supports` tells of "concurrent-managed-access", which it needs.
///
/// `CU_MEM_ADVISE_SET_READ_MOSTLY` (1): whoever reads it gets a copy of its own; 2 takes that back.
/// `CU_MEM_ADVISE_SET_PREFERRED_LOCATION` (3): it should stay at the location; 4 takes that back.
/// `CU_MEM_ADVISE_SET_ACCESSED_BY` (5): the location, a device or the host, will access it; 6 takes that back.
///
/// @param context A context of the device that is concerned.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param advice A `CUmem_advise`, 1 to 6.
/// @param location The location; for advice 1, 2 and 4, which have none, it is not looked at. May be NULL there. Read
///   during the call only.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for memory that is not managed and for a
/// location that does not exist or that the advice cannot have; `CUSHIM_ERROR_UNSUPPORTED` without concurrent managed
/// access, and for NUMA nodes before driver 12.2; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's: 801 for
/// memory of a pool, on driver 13.0. Threads: any.
///
/// # Safety
/// `range` and `location` are NULL or valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_advise(
    context: cushim_context,
    range: *const cushim_range,
    advice: i32,
    location: *const cushim_location,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the range.
        let range = unsafe { self::range(range, "range") }?;
        // SAFETY: the caller vouches for the location.
        let advice = unsafe { advices(advice, location, 1, "location") }?;
        hold(context)?.advise(range, advice[0])
    })
}

/// Gives the driver the same advice on several ranges. It is all checked before the first is given.
///
/// The driver has no call for that, so the ranges are told one after the other. If it refuses one, the call ends: the
/// error's `item` says which, and those before it have their advice.
///
/// @param context A context of the device that is concerned.
/// @param ranges The ranges. Read during the call only. Must not be NULL.
/// @param range_count How many; at least 1.
/// @param advice A `CUmem_advise`, 1 to 6.
/// @param locations The locations; for advice that has none they are not looked at. May be NULL there. Read during the
///   call only.
/// @param location_count How many: 1 for all ranges, or as many as there are ranges; not looked at for advice without
///   locations.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_context_advise`: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges and
/// for numbers that do not fit; `CUSHIM_ERROR_UNSUPPORTED`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's.
/// Threads: any.
///
/// # Safety
/// `ranges` is NULL or valid for reads of `range_count` ranges, `locations` of `location_count` locations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_advise_batch(
    context: cushim_context,
    ranges: *const cushim_range,
    range_count: usize,
    advice: i32,
    locations: *const cushim_location,
    location_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the ranges.
        let ranges = unsafe { self::ranges(ranges, range_count, "ranges") }?;
        // SAFETY: the caller vouches for the locations.
        let advice = unsafe { advices(advice, locations, location_count, "locations") }?;
        hold(context)?.advise_batch(&ranges, &advice)
    })
}

/// The advice about each location; about none if it has none.
///
/// # Safety
/// `at` is NULL or valid for reads of `count` locations.
unsafe fn advices(
    number: i32,
    at: *const cushim_location,
    count: usize,
    what: &str,
) -> Result<Vec<Advice>, Error> {
    let number = CUmem_advise(number);
    let advice = Advice::numbered(number, Location::UNSET)?;
    if advice.location().is_none() {
        return Ok(vec![advice]);
    }
    // SAFETY: the caller vouches for them.
    let locations = unsafe { locations(at, count, what) }?;
    locations.into_iter().map(|location| Advice::numbered(number, location)).collect()
}
