//! Ranges of managed memory.

use crate::capi::input::{array, given};
use crate::error::{Error, Status};
use crate::managed::Range;
use crate::memory::DevicePointer;

/// What the address of a range is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_range_kind {
    /// An address, from whatever allocator.
    CUSHIM_RANGE_POINTER = 1,
}

/// A range of managed memory: all of an allocation or a part of one, from whatever allocator (`cuMemAllocManaged`,
/// `cudaMallocManaged`, a `__managed__` variable, a managed pool). Where the device has the feature
/// "pageable-memory-access", ordinary memory of the process, too, for all but discards.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_range {
    /// A `cushim_range_kind`.
    pub kind: i32,
    /// Zero.
    pub reserved: u32,
    /// The address.
    pub address: u64,
    /// Bytes from there to where the range starts.
    pub offset: u64,
    /// Its bytes, at least 1. The driver works in pages; what is a page is its own business.
    pub bytes: usize,
}

fn meaning(range: &cushim_range) -> Result<Range, Error> {
    let cushim_range { kind, reserved, address, offset, bytes } = *range;
    let start = DevicePointer(address).offset(offset);
    let refusal = match (kind, start) {
        _ if reserved != 0 => format!("reserved is {reserved}; it must be 0"),
        (k, _) if k != cushim_range_kind::CUSHIM_RANGE_POINTER as i32 => {
            format!("kind is {kind}; use CUSHIM_RANGE_POINTER")
        }
        // An offset does not make memory of NULL.
        _ if address == 0 => return Ok(Range::new(DevicePointer::NULL, bytes)),
        (_, Some(start)) => return Ok(Range::new(start, bytes)),
        (_, None) => format!("{address:#x} and {offset} bytes reach past the end of all addresses"),
    };
    Err(Error::new(Status::INVALID_ARGUMENT, format!("the range: {refusal}")))
}

/// # Safety
/// `range` is NULL or valid for reads.
pub(super) unsafe fn range(range: *const cushim_range, what: &str) -> Result<Range, Error> {
    // SAFETY: the caller vouches for it.
    meaning(&unsafe { given(range, what) }?)
}

/// # Safety
/// `ranges` is NULL or valid for reads of `count` ranges.
pub(super) unsafe fn ranges(
    ranges: *const cushim_range,
    count: usize,
    what: &str,
) -> Result<Vec<Range>, Error> {
    // SAFETY: the caller vouches for them.
    unsafe { array(ranges, count, what, meaning) }
}
