//! One end of a copy: what sort of place it is, and which box of it is meant.

use super::{DevicePointer, check_range, invalid};
use crate::driver::sys;
use crate::error::Error;
use std::ffi::c_void;

/// Where a copy starts or ends. Nothing is guessed from the bits of an address, except where [`Auto`](Self::Auto) asks
/// for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Host memory of any kind. A copy from ordinary (not page-locked) memory in a stream reads it before it returns; one
    /// to it may block until it is done.
    Host(*mut c_void),
    /// Device memory, or host memory by the address by which the device reaches it.
    Device(DevicePointer),
    /// A CUDA array.
    Array(sys::CUarray),
    /// An address of either kind; the driver finds out which. What it does not know is ordinary host memory.
    Auto(u64),
    /// An address of either kind in memory that ends there, as that of a [`Buffer`](super::Buffer): nothing reaches past it.
    Part {
        /// The address.
        start: u64,
        /// Where the memory ends.
        end: u64,
        /// The ordinal of the device whose memory it is; `None` if it is none's alone, or nobody knows. Where both ends of a
        /// copy have one, it needs no access from one device to the other's memory.
        device: Option<i32>,
    },
}

impl Place {
    /// Host memory that is written, or read.
    #[must_use]
    pub const fn host<T: ?Sized>(memory: *mut T) -> Self {
        Self::Host(memory.cast())
    }

    /// Host memory that is only read: the place must be a source.
    #[must_use]
    pub const fn host_source<T: ?Sized>(memory: *const T) -> Self {
        Self::Host(memory.cast_mut().cast())
    }

    /// The address; `None` for an array, which has none.
    #[inline]
    pub(super) fn address(self) -> Option<u64> {
        match self {
            Self::Host(address) => Some(address.expose_provenance() as u64),
            Self::Device(pointer) => Some(pointer.0),
            Self::Auto(address) | Self::Part { start: address, .. } => Some(address),
            Self::Array(_) => None,
        }
    }

    /// The device whose memory it is known to be.
    #[inline]
    pub(super) fn device(self) -> Option<i32> {
        match self {
            Self::Part { device, .. } => device,
            _ => None,
        }
    }

    /// Refuses a place that is NULL, or that so many bytes reach past the end of.
    #[inline]
    pub(super) fn check_range(self, what: &str, bytes: u64) -> Result<(), Error> {
        let Some(address) = self.address() else { return Ok(()) };
        check_range(what, address, bytes)?;
        match self {
            Self::Part { start, end, .. } if bytes > end.saturating_sub(start) => {
                let left = end.saturating_sub(start);
                Err(invalid(format!("the {what} has {left} bytes left in its buffer, too few for {bytes}")))
            }
            _ => Ok(()),
        }
    }

    fn memory_type(self) -> sys::CUmemorytype {
        match self {
            Self::Host(_) => sys::CU_MEMORYTYPE_HOST,
            Self::Device(_) => sys::CU_MEMORYTYPE_DEVICE,
            Self::Array(_) => sys::CU_MEMORYTYPE_ARRAY,
            Self::Auto(_) | Self::Part { .. } => sys::CU_MEMORYTYPE_UNIFIED,
        }
    }
}

/// The size of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes in a row.
    pub width: usize,
    /// Rows in a slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

impl Extent {
    /// A box of one slice.
    #[must_use]
    pub const fn rectangle(width: usize, height: usize) -> Self {
        Self { width, height, depth: 1 }
    }

    /// Whether there is not a byte in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// A box at one end of a copy: rows in a pitch, slices of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where the memory starts, or the array.
    pub place: Place,
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

impl Region {
    /// The box at the start of the place, in rows of so many bytes.
    #[must_use]
    pub const fn new(place: Place, pitch: usize) -> Self {
        Self { place, x: 0, y: 0, z: 0, pitch, rows: 0 }
    }

    /// The same box, elsewhere in the place.
    #[must_use]
    pub const fn at(mut self, x: usize, y: usize, z: usize) -> Self {
        (self.x, self.y, self.z) = (x, y, z);
        self
    }

    /// The same box, in slices of so many rows.
    #[must_use]
    pub const fn with_rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// The region as the driver wants it: no zero that means something else, and nothing beyond what addresses reach.
    pub(super) fn check(&self, end: &str, extent: Extent) -> Result<Checked, Error> {
        let checked = match self.place {
            Place::Array(array) if array.is_null() => {
                return Err(invalid(format!("the {end}'s array is NULL")));
            }
            Place::Array(_) => Checked::new(self, 0, 0),
            _ => Checked::new(self, self.row_bytes(end, extent)?, self.slice_rows(end, extent)?),
        };
        if self.place.address().is_some() {
            let bytes = checked.bytes(extent).ok_or_else(|| {
                invalid(format!("the {end} is larger than any memory: its numbers overflow"))
            })?;
            self.place.check_range(end, bytes as u64)?;
        }
        Ok(checked)
    }

    fn row_bytes(&self, end: &str, extent: Extent) -> Result<usize, Error> {
        let needed = self.x.checked_add(extent.width);
        stride(self.pitch, needed).ok_or_else(|| {
            let (Self { x, pitch, .. }, width) = (self, extent.width);
            invalid(format!(
                "the {end}'s rows are {pitch} bytes apart, too few for {width} bytes from byte {x} on"
            ))
        })
    }

    fn slice_rows(&self, end: &str, extent: Extent) -> Result<usize, Error> {
        let needed = self.y.checked_add(extent.height);
        stride(self.rows, needed).ok_or_else(|| {
            let (Self { y, rows, .. }, height) = (self, extent.height);
            invalid(format!(
                "the {end}'s slices are {rows} rows apart, too few for {height} rows from row {y} on"
            ))
        })
    }
}

/// The stride that was given, or the one that fits; `None` if it is too small for what it has to hold.
fn stride(given: usize, needed: Option<usize>) -> Option<usize> {
    let needed = needed?;
    if given == 0 { Some(needed) } else { Some(given).filter(|given| *given >= needed) }
}

/// A region with its strides, in the driver's terms.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) memory_type: sys::CUmemorytype,
    pub(super) host: *mut c_void,
    pub(super) device: sys::CUdeviceptr,
    pub(super) array: sys::CUarray,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) z: usize,
    pub(super) pitch: usize,
    pub(super) rows: usize,
}

impl Checked {
    fn new(region: &Region, pitch: usize, rows: usize) -> Self {
        let Region { place, x, y, z, .. } = *region;
        let (mut host, mut device, mut array) = (std::ptr::null_mut(), 0, std::ptr::null_mut());
        match place {
            Place::Host(address) => host = address,
            Place::Device(DevicePointer(address))
            | Place::Auto(address)
            | Place::Part { start: address, .. } => device = address,
            Place::Array(handle) => array = handle,
        }
        Self { memory_type: place.memory_type(), host, device, array, x, y, z, pitch, rows }
    }

    /// An end of an empty box, at which the driver does not look.
    pub(super) fn nothing() -> Self {
        Self::new(&Region::new(Place::Auto(0), 0), 0, 0)
    }

    /// From the start of the place to the end of the box.
    fn bytes(&self, extent: Extent) -> Option<usize> {
        let last_slice = self.z.checked_add(extent.depth - 1)?;
        let last_row = self.y.checked_add(extent.height - 1)?;
        let slices = self.pitch.checked_mul(self.rows)?.checked_mul(last_slice)?;
        slices.checked_add(self.pitch.checked_mul(last_row)?)?.checked_add(self.x.checked_add(extent.width)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn region(pitch: usize, rows: usize) -> Region {
        Region::new(Place::Device(DevicePointer(0x1000)), pitch).with_rows(rows)
    }

    #[test]
    fn zero_strides_fit() {
        let checked =
            region(0, 0).at(3, 2, 1).check("source", Extent { width: 5, height: 4, depth: 2 }).unwrap();
        assert_eq!((checked.pitch, checked.rows), (8, 6));
        assert_eq!(checked.bytes(Extent { width: 5, height: 4, depth: 2 }), Some(2 * 48 + 5 * 8 + 8));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let box_ = Extent { width: 5, height: 4, depth: 2 };
        for (region, why) in [
            (region(4, 4), "4 bytes apart, too few for 5 bytes from byte 0"),
            (region(7, 4).at(3, 0, 0), "7 bytes apart, too few for 5 bytes from byte 3"),
            (region(8, 3), "3 rows apart, too few for 4 rows from row 0"),
            (region(8, 4).at(0, 1, 0), "4 rows apart, too few for 4 rows from row 1"),
            (region(8, 4).at(0, 0, usize::MAX), "overflow"),
            (region(usize::MAX, 0), "overflow"),
            (region(0, 0).at(usize::MAX, 0, 0), "too few"),
            (Region::new(Place::Auto(0), 0), "is NULL"),
            (Region::new(Place::Auto(u64::MAX - 10), 0), "end of all addresses"),
            (Region::new(Place::Array(std::ptr::null_mut()), 0), "array is NULL"),
        ] {
            let error = region.check("source", box_).expect_err(why);
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains(why) && error.message.contains("source"), "{error}");
        }
    }

    #[test]
    fn an_array_has_no_strides() {
        let array = Place::Array(std::ptr::without_provenance_mut(0x40));
        let checked =
            Region::new(array, 3).at(1, 2, 3).check("destination", Extent::rectangle(100, 100)).unwrap();
        assert_eq!((checked.pitch, checked.rows, checked.x, checked.array.addr()), (0, 0, 1, 0x40));
    }
}
