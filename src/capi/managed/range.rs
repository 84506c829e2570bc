//! Ranges of managed memory.
//!
//! @header cushim.h

use crate::capi::buffer::cushim_buffer;
use crate::capi::handles::{enter, get};
use crate::capi::input::{array, given};
use crate::managed::Range;
use crate::memory::DevicePointer;
use crate::object::error::{Error, Status};

/// What the address of a range is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_range_kind {
    /// An address of managed memory.
    CUSHIM_RANGE_POINTER = 1,
    /// The handle of a `cushim_buffer`. The range must not go past its end. It does not keep the buffer alive.
    CUSHIM_RANGE_BUFFER = 2,
}

/// A range of managed memory: an allocation or a part of one, from any allocator (`cuMemAllocManaged`,
/// `cudaMallocManaged`, a `__managed__` variable, a managed pool). If the device has "pageable-memory-access", also
/// pageable memory, except for discards. `cushim_range_pointer` and `cushim_range_buffer` make them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_range {
    /// @field[enum(cushim_range_kind)] What `address` is.
    pub kind: i32,
    /// Zero.
    pub reserved: u32,
    /// The address, or the handle of the buffer as a number (`(uint64_t)(uintptr_t)buffer`).
    pub address: u64,
    /// Bytes from there, or from the start of the buffer, to the start of the range.
    pub offset: u64,
    /// The size in bytes. 0 means all of a buffer from the offset on; an address needs a size. The driver works with
    /// whole pages.
    pub bytes: usize,
}

fn meaning(range: &cushim_range) -> Result<Range, Error> {
    let cushim_range { kind, reserved, address, offset, bytes } = *range;
    let start = DevicePointer(address).offset(offset);
    if kind == cushim_range_kind::CUSHIM_RANGE_BUFFER as i32 && reserved == 0 {
        return of_buffer(address, offset, bytes);
    }
    let refusal = match (kind, start) {
        _ if reserved != 0 => format!("reserved is {reserved}; it must be 0"),
        (k, _) if k != cushim_range_kind::CUSHIM_RANGE_POINTER as i32 => {
            format!("kind is {kind}; use CUSHIM_RANGE_POINTER or CUSHIM_RANGE_BUFFER")
        }
        // An offset does not make memory of NULL.
        _ if address == 0 => return Ok(Range::new(DevicePointer::NULL, bytes)),
        (_, Some(start)) => return Ok(Range::new(start, bytes)),
        (_, None) => {
            format!("offset is {offset}, from the address {address:#x} past the end of all addresses")
        }
    };
    Err(Error::new(Status::INVALID_ARGUMENT, format!("the range: {refusal}")))
}

/// A buffer, or a part of it.
fn of_buffer(handle: u64, offset: u64, bytes: usize) -> Result<Range, Error> {
    let handle: cushim_buffer = std::ptr::without_provenance_mut(handle as usize);
    let (guard, offset) = (enter()?, offset as usize);
    let buffer = get(&guard, handle)?;
    match bytes {
        0 => Range::of_rest(&buffer, offset),
        _ => Range::of_part(&buffer, offset, bytes),
    }
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
