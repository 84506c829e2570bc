//! The set of those by which a range is said to be accessed.
//!
//! @header cushim.h
//! @task place managed memory

use super::range::{cushim_range, range};
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, locations_once};
use crate::capi::out;
use crate::location::Location;

/// Returns the devices, and the host if it is one of them, that have the advice "accessed by" for a range of managed
/// memory. The driver is asked each time. A location that has it for a part of the range only is not returned.
///
/// @param[in] context A context of the driver.
/// @param[in] range The range.
/// @param[out, array(capacity), nullable_if_zero(capacity)] accessors Receives the first `capacity` locations, in the
///   driver's order. Items that are left over are unset.
/// @param[in] capacity The number of items that there is room for.
/// @param[out] count The number of locations, which may be greater than `capacity`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed.
/// @driver any
///
/// # Safety
/// `range` is NULL or valid for reads, `accessors` for writes of `capacity` locations; `count` is NULL or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_accessed_by(
    context: cushim_context,
    range: *const cushim_range,
    accessors: *mut cushim_location,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        // SAFETY: the caller vouches for the array.
        let accessors =
            unsafe { out::array(accessors, capacity, cushim_location::from(Location::UNSET), "accessors") }?;
        // SAFETY: the caller vouches for `range`.
        let range = unsafe { self::range(range, "range") }?;
        let known = hold(context)?.accessed_by(&range)?;
        *count = known.len();
        accessors.iter_mut().zip(known).for_each(|(place, location)| *place = location.into());
        Ok(())
    })
}

/// Gives devices, or the host, the advice "accessed by" for a range of managed memory.
///
/// All arguments are checked first. The driver is called only for locations that do not have the advice; if it
/// returns an error, what this call has changed is undone.
///
/// @param[in] context A context of the device.
/// @param[in] range The range.
/// @param[in, array(accessor_count), nullable_if_zero(accessor_count)] accessors Devices or the host.
/// @param[in] accessor_count The number of locations.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed and, with `item`, for a location that does
///   not exist or is a NUMA node; `CUSHIM_ERROR_UNSUPPORTED` without concurrent managed access.
/// @driver any
/// @threads any, but calls for one range must not run at the same time
///
/// # Safety
/// `range` is NULL or valid for reads, `accessors` for reads of `accessor_count` locations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_add_accessed_by(
    context: cushim_context,
    range: *const cushim_range,
    accessors: *const cushim_location,
    accessor_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (range, locations) = unsafe {
            (self::range(range, "range")?, locations_once(accessors, accessor_count, "accessors")?)
        };
        hold(context)?.add_accessed_by(&range, &locations)
    })
}

/// Removes the advice "accessed by" of devices, or of the host, for a range of managed memory; see
/// `cushim_context_add_accessed_by`.
///
/// A location that has it for a part of the range only keeps it there: `cushim_context_advise` with
/// `CU_MEM_ADVISE_UNSET_ACCESSED_BY` removes it.
///
/// @param[in] context A context of the device.
/// @param[in] range The range.
/// @param[in, array(accessor_count), nullable_if_zero(accessor_count)] accessors Devices or the host.
/// @param[in] accessor_count The number of locations.
/// @errors as `cushim_context_add_accessed_by`: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
/// @threads any, but calls for one range must not run at the same time
///
/// # Safety
/// `range` is NULL or valid for reads, `accessors` for reads of `accessor_count` locations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_remove_accessed_by(
    context: cushim_context,
    range: *const cushim_range,
    accessors: *const cushim_location,
    accessor_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (range, locations) = unsafe {
            (self::range(range, "range")?, locations_once(accessors, accessor_count, "accessors")?)
        };
        hold(context)?.remove_accessed_by(&range, &locations)
    })
}

/// Gives exactly these devices, and the host if it is one of them, the advice "accessed by" for a range of managed
/// memory; see `cushim_context_add_accessed_by`.
///
/// @param[in] context A context of the device.
/// @param[in] range The range.
/// @param[in, array(accessor_count), nullable_if_zero(accessor_count)] accessors Devices or the host.
/// @param[in] accessor_count The number of locations; 0 removes all.
/// @errors as `cushim_context_add_accessed_by`: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED`.
/// @driver any
/// @threads any, but calls for one range must not run at the same time
///
/// # Safety
/// `range` is NULL or valid for reads, `accessors` for reads of `accessor_count` locations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_set_accessed_by(
    context: cushim_context,
    range: *const cushim_range,
    accessors: *const cushim_location,
    accessor_count: usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (range, locations) = unsafe {
            (self::range(range, "range")?, locations_once(accessors, accessor_count, "accessors")?)
        };
        hold(context)?.set_accessed_by(&range, &locations)
    })
}
