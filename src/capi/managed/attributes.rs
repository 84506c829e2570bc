//! What the driver knows of a range.
//!
//! @header cushim.h
//! @task place managed memory

use super::range::{cushim_range, range};
use crate::capi::context::cushim_context;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::location::cushim_location;
use crate::capi::options::OutStruct;
use crate::location::Location;

/// What the driver says about a range of managed memory. It is asked each time; cushim remembers nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_range_attributes {
    /// In: bytes of the caller's struct. Out: bytes written.
    pub struct_size: usize,
    /// 1 if all of it has the advice "read mostly".
    pub read_mostly: i32,
    /// Zero.
    pub reserved: i32,
    /// The preferred location of all of it; unset if there is none, or if it differs between parts. CUDA 13.0 accepts
    /// the advice of a NUMA node and, on a machine with one node, keeps the earlier location.
    pub preferred_location: cushim_location,
    /// The location to which all of it was last prefetched; unset if there is none, or if it differs between parts.
    pub last_prefetch_location: cushim_location,
}

/// Returns what the driver says about a range of managed memory. Before CUDA 12.2 it knows devices and the host only.
///
/// @param[in] context A context of the driver.
/// @param[in] range The range.
/// @param[inout] attributes Receives the facts.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed.
/// @driver any
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
        let attributes = unsafe { OutStruct::cleared(attributes, "attributes") }?;
        // SAFETY: the caller vouches for `range`.
        let range = unsafe { self::range(range, "range") }?;
        let known = hold(context)?.range_attributes(&range)?;
        let location = |location: Location| cushim_location::from(location);
        attributes.fill(&cushim_range_attributes {
            struct_size: size_of::<cushim_range_attributes>(),
            read_mostly: i32::from(known.read_mostly),
            reserved: 0,
            preferred_location: location(known.preferred_location),
            last_prefetch_location: location(known.last_prefetch_location),
        });
        Ok(())
    })
}
