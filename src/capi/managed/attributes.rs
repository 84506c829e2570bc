//! What the driver knows of a range.

use super::range::{cushim_range, range};
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::cushim_location;
use crate::capi::options;
use crate::location::Location;

/// What the driver says of a range at the time of the call: nothing here is remembered from calls that set it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_range_attributes {
    /// In: bytes of the caller's struct. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// 1 if all of it is mostly read.
    pub read_mostly: i32,
    /// Zero.
    pub reserved: i32,
    /// Where all of it should stay; unset if nowhere, or if parts of it should stay in different places. Driver 13.0 answers
    /// the advice of a NUMA node with success and, on a machine of one node, keeps what was there before.
    pub preferred_location: cushim_location,
    /// Where all of it was moved to last, or was being moved; unset if nowhere, or to different places.
    pub last_prefetch_location: cushim_location,
}

/// What the driver knows of a range of managed memory. Drivers before 12.2 know devices and the host only.
///
/// @param context A context of the driver.
/// @param range The range. Read during the call only. Must not be NULL.
/// @param attributes Receives what is known. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for memory that is not managed;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's.
/// Threads: any.
///
/// # Safety
/// `range` is NULL or valid for reads; `attributes` is NULL or valid for writes of what it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_context_get_range_attributes(
    context: cushim_context,
    range: *const cushim_range,
    attributes: *mut cushim_range_attributes,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `attributes`.
        unsafe { options::check_out(attributes, "attributes") }?;
        // SAFETY: the caller vouches for `range`.
        let range = unsafe { self::range(range, "range") }?;
        let known = hold(context)?.range_attributes(range)?;
        let location = |location: Location| cushim_location::from(location);
        let full = cushim_range_attributes {
            struct_size: size_of::<cushim_range_attributes>(),
            read_mostly: i32::from(known.read_mostly),
            reserved: 0,
            preferred_location: location(known.preferred_location),
            last_prefetch_location: location(known.last_prefetch_location),
        };
        // SAFETY: the caller vouches for `attributes`.
        unsafe { options::write_out(attributes, &full, "attributes") }
    })
}
