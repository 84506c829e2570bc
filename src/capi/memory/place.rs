//! The ends of a copy, and the boxes at them.

use crate::capi::buffer::cushim_buffer;
use crate::capi::driver_types::CUarray;
use crate::capi::handles::hold;
use crate::capi::input::given;
use crate::error::{Error, Status};
use crate::memory::{DevicePointer, Extent, Place, Region};

/// What sort of place an end of a copy is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_place_kind {
    /// Host memory of any kind. A copy from ordinary (not page-locked) memory in a stream reads it before it returns; one to
    /// it may block until it is done.
    CUSHIM_PLACE_HOST = 1,
    /// Device memory, or host memory by the address by which the device reaches it.
    CUSHIM_PLACE_DEVICE = 2,
    /// A `CUarray`.
    CUSHIM_PLACE_ARRAY = 3,
    /// An address of either kind; the driver finds out which. What it does not know is ordinary host memory.
    CUSHIM_PLACE_AUTO = 4,
    /// A `cushim_buffer`, whose handle is in `address`; nothing reaches past its end.
    CUSHIM_PLACE_BUFFER = 5,
}

/// One end of a copy. Nothing is guessed from the bits of an address unless that is asked for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_place {
    /// A `cushim_place_kind`.
    pub kind: i32,
    /// Zero.
    pub reserved: u32,
    /// The address, the array, or the buffer's handle.
    pub address: u64,
    /// Bytes from there on; of an array 0.
    pub offset: u64,
}

/// A box at one end of a copy: rows in a pitch, slices of rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_region {
    /// Where the memory starts, or the array.
    pub place: cushim_place,
    /// Bytes before the box in each row.
    pub x: usize,
    /// Rows before the box in each slice.
    pub y: usize,
    /// Slices before the box.
    pub z: usize,
    /// Bytes from row to row; 0 for rows that end where the box ends. Means nothing for an array.
    pub pitch: usize,
    /// Rows from slice to slice; 0 for slices that end where the box ends. Means nothing for an array.
    pub rows: usize,
}

/// The size of a box.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_extent {
    /// Bytes in a row.
    pub width: usize,
    /// Rows in a slice.
    pub height: usize,
    /// Slices; of a rectangle 1.
    pub depth: usize,
}

/// # Safety
/// As for [`given`].
#[inline]
pub(super) unsafe fn place(place: *const cushim_place, what: &str) -> Result<Place, Error> {
    // SAFETY: the caller vouches for it.
    place_of(&unsafe { given(place, what) }?, what)
}

#[inline]
pub(super) fn place_of(place: &cushim_place, what: &str) -> Result<Place, Error> {
    use cushim_place_kind::*;
    let cushim_place { kind, reserved, address, offset } = *place;
    if kind == CUSHIM_PLACE_BUFFER as i32 && reserved == 0 {
        let handle: cushim_buffer = std::ptr::with_exposed_provenance_mut(address as usize);
        return hold(handle)?.place_at(offset);
    }
    let (end, overflows) = address.overflowing_add(offset);
    if overflows || reserved != 0 {
        return Err(refusal(place, what));
    }
    // NULL and an offset is no address.
    let address = if address == 0 { 0 } else { end };
    let pointer = std::ptr::with_exposed_provenance_mut(address as usize);
    match kind {
        k if k == CUSHIM_PLACE_HOST as i32 => Ok(Place::Host(pointer)),
        k if k == CUSHIM_PLACE_DEVICE as i32 => Ok(Place::Device(DevicePointer(address))),
        k if k == CUSHIM_PLACE_AUTO as i32 => Ok(Place::Auto(address)),
        k if k == CUSHIM_PLACE_ARRAY as i32 && offset == 0 => {
            Ok(Place::Array(pointer.cast::<()>() as CUarray))
        }
        _ => Err(refusal(place, what)),
    }
}

/// All kinds.
const KINDS: std::ops::RangeInclusive<i32> =
    cushim_place_kind::CUSHIM_PLACE_HOST as i32..=cushim_place_kind::CUSHIM_PLACE_BUFFER as i32;

/// What is wrong with a place.
#[cold]
fn refusal(place: &cushim_place, what: &str) -> Error {
    let cushim_place { kind, reserved, address, offset } = *place;
    let why = if !KINDS.contains(&kind) {
        format!("kind is {kind}; use one of CUSHIM_PLACE_HOST, _DEVICE, _ARRAY, _AUTO and _BUFFER")
    } else if reserved != 0 {
        format!("reserved is {reserved}; it must be 0")
    } else if kind == cushim_place_kind::CUSHIM_PLACE_ARRAY as i32 {
        format!("offset is {offset}; an array has none, use a region's x, y and z")
    } else {
        format!("offset is {offset}, from the address {address:#x} past the end of all addresses")
    };
    Error::new(Status::INVALID_ARGUMENT, format!("{what}: {why}"))
}

/// # Safety
/// As for [`given`].
pub(super) unsafe fn region(region: *const cushim_region, what: &str) -> Result<Region, Error> {
    // SAFETY: the caller vouches for it.
    let cushim_region { place, x, y, z, pitch, rows } = unsafe { given(region, what) }?;
    Ok(Region { place: place_of(&place, what)?, x, y, z, pitch, rows })
}

/// # Safety
/// As for [`given`].
pub(super) unsafe fn extent_of(extent: *const cushim_extent) -> Result<Extent, Error> {
    // SAFETY: the caller vouches for it.
    let cushim_extent { width, height, depth } = unsafe { given(extent, "extent") }?;
    Ok(Extent { width, height, depth })
}
