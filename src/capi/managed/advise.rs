//! Advice on where managed memory should be.
//!
//! @header cushim.h
//! @task place managed memory

use super::range::{cushim_range, range, ranges};
use crate::capi::context::cushim_context;
use crate::capi::driver_types::CUmem_advise;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, location, locations_of};
use crate::capi::pointer;
use crate::location::Location;
use crate::managed::Advice;
use crate::object::error::Error;

/// Advises the driver on how a range of managed memory will be used. The advice holds until it is changed or the
/// memory is freed. The device must have "concurrent-managed-access" (`cushim_device_supports`).
///
/// - `CU_MEM_ADVISE_SET_READ_MOSTLY` (1): mostly read; each device that reads it gets a copy. 2 unsets it.
/// - `CU_MEM_ADVISE_SET_PREFERRED_LOCATION` (3): it should stay at the location. 4 unsets it.
/// - `CU_MEM_ADVISE_SET_ACCESSED_BY` (5): the location, a device or the host, will access it. 6 unsets it.
///
/// @param[in] context A context of the device.
/// @param[in] range The range.
/// @param[in, enum(CUmem_advise), example(CU_MEM_ADVISE_SET_READ_MOSTLY)] advice The advice, 1 to 6.
/// @param[in, nullable] location The location. Advice 1, 2 and 4 has none and ignores it.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed, and for a location that does not exist or
///   does not fit the advice; `CUSHIM_ERROR_UNSUPPORTED` without concurrent managed access, and for a NUMA node
///   before CUDA 12.2; `CUDA_ERROR_NOT_SUPPORTED` (801) for memory of a pool (measured with CUDA 13.0).
/// @driver any
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
        pointer::check_if_given(location, "location")?;
        let number = CUmem_advise(advice);
        let mut advice = Advice::numbered(number, Location::UNSET)?;
        if advice.location().is_some() {
            // SAFETY: the caller vouches for the location.
            advice = Advice::numbered(number, unsafe { self::location(location, "location") }?)?;
        }
        hold(context)?.advise(&range, advice)
    })
}

/// Gives the driver the same advice on several ranges. All arguments are checked first.
///
/// The driver has no batch call for this: it is called for one range after the other. If it returns an error, the
/// call ends: `item` of the error is the range's index, and the ranges before it have the advice.
///
/// @param[in] context A context of the device.
/// @param[in, array(range_count)] ranges The ranges.
/// @param[in, example(2)] range_count The number of ranges; at least 1.
/// @param[in, enum(CUmem_advise), example(CU_MEM_ADVISE_SET_READ_MOSTLY)] advice The advice, 1 to 6.
/// @param[in, array(location_count), nullable] locations The locations. Advice 1, 2 and 4 has none and ignores them.
/// @param[in] location_count 1 for all ranges, or the number of ranges; ignored for advice without locations.
/// @errors as `cushim_context_advise`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for no ranges and for numbers that do
///   not match; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
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
        let advice = unsafe { advices(advice, ranges.len(), locations, location_count) }?;
        hold(context)?.advise_batch(&ranges, &advice)
    })
}

/// The advice about each location; about none if it has none.
///
/// # Safety
/// `at` is NULL or valid for reads of `count` locations.
unsafe fn advices(
    number: i32,
    ranges: usize,
    at: *const cushim_location,
    count: usize,
) -> Result<Vec<Advice>, Error> {
    pointer::check_if_given(at, "locations")?;
    let number = CUmem_advise(number);
    let advice = Advice::numbered(number, Location::UNSET)?;
    if advice.location().is_none() {
        return Ok(vec![advice]);
    }
    // SAFETY: the caller vouches for them.
    let locations = unsafe { locations_of(ranges, at, count) }?;
    locations.into_iter().map(|location| Advice::numbered(number, location)).collect()
}
