//! The set of those by which a range is said to be accessed.

use super::range::{cushim_range, range};
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::{cushim_location, locations_if_any};
use crate::capi::out;
use crate::error::{Error, Status};

/// The devices, and perhaps the host, by which a range of managed memory is said to be accessed, as the driver says at the
/// time of the call. A location that only a part of the range is accessed by is not among them.
///
/// @param context A context of the driver.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param accessors An array of `capacity` locations, which receives the first so many, in the driver's order; what is left
///   of it is unset. May be NULL if `capacity` is 0.
/// @param capacity Number of locations that the array has room for.
/// @param count Receives how many there are, which may be more; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for memory that is not managed;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's.
/// Threads: any.
///
/// # Safety
/// `range` is NULL or valid for reads, `accessors` for writes of `capacity` locations; `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_accessed_by(
    context: cushim_context,
    range: *const cushim_range,
    accessors: *mut cushim_location,
    capacity: usize,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        if !accessors.is_null() {
            // SAFETY: the caller vouches for the array; zeros are a location that is unset.
            unsafe { accessors.write_bytes(0, capacity) };
        }
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        if accessors.is_null() && capacity > 0 {
            return Err(Error::new(Status::INVALID_ARGUMENT, "accessors must not be NULL"));
        }
        // SAFETY: the caller vouches for `range`.
        let range = unsafe { self::range(range, "range") }?;
        let known = hold(context)?.accessed_by(range)?;
        *count = known.len();
        for (index, location) in known.into_iter().take(capacity).enumerate() {
            // SAFETY: the caller vouches for `capacity` of them.
            unsafe { accessors.add(index).write(location.into()) };
        }
        Ok(())
    })
}

/// Adds devices, or the host, to those by which a range of managed memory is said to be accessed. Everything is checked
/// before; the driver is told what differs and nothing else; and if it refuses a step, the steps before are taken back.
///
/// @param context A context of the device that is concerned.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param accessors The locations, devices or the host. Read during the call only. May be NULL if `accessor_count` is 0.
/// @param accessor_count How many.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for memory that is not managed and, with
/// `item`, for a location that does not exist or is a NUMA node; `CUSHIM_ERROR_UNSUPPORTED` without concurrent managed
/// access; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any; calls for the same range are to be
/// ordered by the caller.
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
            (self::range(range, "range")?, locations_if_any(accessors, accessor_count, "accessors")?)
        };
        hold(context)?.add_accessed_by(range, &locations)
    })
}

/// Takes devices, or the host, out of those by which a range of managed memory is said to be accessed; see
/// `cushim_context_add_accessed_by`. Advice 6 of `cushim_context_advise` takes out one that only a part of the range is
/// accessed by.
///
/// @param context A context of the device that is concerned.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param accessors The locations, devices or the host. Read during the call only. May be NULL if `accessor_count` is 0.
/// @param accessor_count How many.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_context_add_accessed_by`: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_UNSUPPORTED`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any; calls for the
/// same range are to be ordered by the caller.
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
            (self::range(range, "range")?, locations_if_any(accessors, accessor_count, "accessors")?)
        };
        hold(context)?.remove_accessed_by(range, &locations)
    })
}

/// Makes these devices, and perhaps the host, all by which a range of managed memory is said to be accessed; see
/// `cushim_context_add_accessed_by`.
///
/// @param context A context of the device that is concerned.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param accessors The locations, devices or the host. Read during the call only. May be NULL if `accessor_count` is 0.
/// @param accessor_count How many; 0 takes all out.
/// @return A `cushim_status`.
///
/// Errors: as `cushim_context_add_accessed_by`: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`,
/// `CUSHIM_ERROR_UNSUPPORTED`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any; calls for the
/// same range are to be ordered by the caller.
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
            (self::range(range, "range")?, locations_if_any(accessors, accessor_count, "accessors")?)
        };
        hold(context)?.set_accessed_by(range, &locations)
    })
}
