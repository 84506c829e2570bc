//! Boxes of memory, and the rectangles and rows that they are made of.

use super::endpoint::Side;
use super::{Endpoint, invalid};
use crate::check::{Access, Deeds, Use};
use crate::context::Context;
use crate::object::error::Error;

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

/// A box of memory: rows in a pitch, slices of rows.
#[derive(Debug)]
pub struct Region<'a> {
    /// Where the memory starts, or the array.
    pub at: Endpoint<'a>,
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

impl<'a> Region<'a> {
    /// The box at the start of the memory, in rows of so many bytes.
    #[must_use]
    pub fn new(at: Endpoint<'a>, pitch: usize) -> Self {
        Self { at, x: 0, y: 0, z: 0, pitch, rows: 0 }
    }

    /// The same box, elsewhere in the memory.
    #[must_use]
    pub fn offset_by(mut self, x: usize, y: usize, z: usize) -> Self {
        (self.x, self.y, self.z) = (x, y, z);
        self
    }

    /// The same box, in slices of so many rows.
    #[must_use]
    pub fn with_rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// The region as the driver wants it: no zero that means something else, and nothing beyond what addresses reach.
    pub(super) fn check(&self, end: &str, extent: Extent, at: &Context) -> Result<Checked, Error> {
        let strides = match self.at.side() {
            Side::Array(_) => Strides { x: self.x, y: self.y, z: self.z, pitch: 0, rows: 0 },
            _ => self.strides(end, extent)?,
        };
        let bytes = strides
            .bytes(extent)
            .ok_or_else(|| invalid(format!("the {end} is larger than any memory: its numbers overflow")))?;
        Ok(Checked { side: self.at.check(end, bytes as u64, at)?, strides })
    }

    /// Bytes from the start of the memory to the end of the box; `None` if the numbers make no sense.
    pub(crate) fn span(&self, extent: Extent) -> Option<usize> {
        if extent.is_empty() { Some(0) } else { self.strides("region", extent).ok()?.bytes(extent) }
    }

    /// Has it be known that a box of it is touched, with what is between its rows.
    #[cold]
    pub(super) fn touch(&self, extent: Extent, access: Access, usage: Use, deeds: &mut Deeds) {
        self.at.touch(self.span(extent).unwrap_or(0) as u64, access, usage, deeds);
    }

    fn strides(&self, end: &str, extent: Extent) -> Result<Strides, Error> {
        let Self { x, y, z, .. } = *self;
        Ok(Strides { x, y, z, pitch: self.row_bytes(end, extent)?, rows: self.slice_rows(end, extent)? })
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
    pub(super) side: Side,
    pub(super) strides: Strides,
}

/// Where in memory a box lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strides {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) z: usize,
    pub(super) pitch: usize,
    pub(super) rows: usize,
}

impl Checked {
    /// An end of an empty box, at which the driver does not look.
    pub(super) const NOTHING: Self =
        Self { side: Side::Device(0), strides: Strides { x: 0, y: 0, z: 0, pitch: 0, rows: 0 } };
}

impl Strides {
    /// From the start of the memory to the end of the box.
    pub(super) fn bytes(&self, extent: Extent) -> Option<usize> {
        let last_slice = self.z.checked_add(extent.depth - 1)?;
        let last_row = self.y.checked_add(extent.height - 1)?;
        let slices = self.pitch.checked_mul(self.rows)?.checked_mul(last_slice)?;
        slices.checked_add(self.pitch.checked_mul(last_row)?)?.checked_add(self.x.checked_add(extent.width)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Choice, OpenOptions};
    use crate::object::error::Status;
    use crate::pointer::DevicePointer;
    use crate::{Device, context::Context};

    fn context() -> Context {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        Device::get(&driver, 0).and_then(|device| device.primary_context()).expect("none has a device")
    }

    fn region(pitch: usize, rows: usize) -> Region<'static> {
        Region::new(Endpoint::device(DevicePointer(0x1000)), pitch).with_rows(rows)
    }

    #[test]
    fn zero_strides_fit() {
        let extent = Extent { width: 5, height: 4, depth: 2 };
        let checked = region(0, 0).offset_by(3, 2, 1).check("source", extent, &context()).unwrap();
        assert_eq!((checked.strides.pitch, checked.strides.rows), (8, 6));
        assert_eq!(checked.strides.bytes(extent), Some(2 * 48 + 5 * 8 + 8));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (extent, context) = (Extent { width: 5, height: 4, depth: 2 }, context());
        for (region, why) in [
            (region(4, 4), "4 bytes apart, too few for 5 bytes from byte 0"),
            (region(7, 4).offset_by(3, 0, 0), "7 bytes apart, too few for 5 bytes from byte 3"),
            (region(8, 3), "3 rows apart, too few for 4 rows from row 0"),
            (region(8, 4).offset_by(0, 1, 0), "4 rows apart, too few for 4 rows from row 1"),
            (region(8, 4).offset_by(0, 0, usize::MAX), "overflow"),
            (region(usize::MAX, 0), "overflow"),
            (region(0, 0).offset_by(usize::MAX, 0, 0), "too few"),
            (Region::new(Endpoint::auto(0), 0), "is NULL"),
            (Region::new(Endpoint::auto(u64::MAX - 10), 0), "end of all addresses"),
            (Region::new(Endpoint::array(std::ptr::null_mut()), 0), "array is NULL"),
        ] {
            let error = region.check("source", extent, &context).expect_err(why);
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains(why) && error.message.contains("source"), "{error}");
        }
    }

    #[test]
    fn an_array_has_no_strides() {
        let array = Endpoint::array(std::ptr::without_provenance_mut(0x40));
        let region = Region::new(array, 3).offset_by(1, 2, 3);
        let checked = region.check("destination", Extent::rectangle(100, 100), &context()).unwrap();
        assert_eq!((checked.strides.pitch, checked.strides.rows, checked.strides.x), (0, 0, 1));
        assert_eq!(checked.side, Side::Array(std::ptr::without_provenance_mut(0x40)));
    }
}
