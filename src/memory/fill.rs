//! Fills: one value, repeated over a range or a rectangle of device memory.

use super::{DevicePointer, check_range, invalid, refusal};
use crate::context::Context;
use crate::driver::calls::memory::fill::{self as calls, Rows};
use crate::error::Error;
use crate::stream::Stream;

/// What memory is filled with. Where it is written, and from row to row, it keeps its own alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fill {
    /// A value of one byte.
    U8(u8),
    /// A value of two bytes.
    U16(u16),
    /// A value of four bytes.
    U32(u32),
}

impl Fill {
    /// Bytes of the value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::U32(_) => 4,
        }
    }
}

impl Stream {
    /// Fills memory with `count` values, after the work that is in the stream by now. Of no values, nothing is looked at.
    /// Another device's memory needs access, of the context ([`Context::enable_peer_access`]) or to the pool
    /// ([`Resource::change_peers`](super::Resource::change_peers)).
    ///
    /// # Safety
    /// The memory holds so many values, and stays good until the stream has passed the fill; until then nobody else reads
    /// or writes it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a pointer that is NULL, reaches past the end of
    /// all addresses or is not a multiple of the value's size; the driver's.
    #[inline]
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn fill(&self, at: DevicePointer, value: Fill, count: usize) -> Result<(), Error> {
        self.fill_vouched(at, value, count)
    }

    /// The same for those whose callers vouch for the memory.
    #[inline]
    pub(super) fn fill_vouched(&self, at: DevicePointer, value: Fill, count: usize) -> Result<(), Error> {
        let rows = check(at, 0, value, count, 1)?;
        let _current = self.enter_if_default()?;
        self.fill_rows(value, &rows)
    }

    /// Fills a rectangle with rows of `width` values, `pitch` bytes apart, after the work that is in the stream by now. Of
    /// no values, nothing is looked at; of one row, the pitch does not matter.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill), with the bytes of the rows.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) as for [`fill`](Self::fill), and for a pitch that is
    /// smaller than a row or not a multiple of the value's size; the driver's.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn fill_2d(
        &self,
        at: DevicePointer,
        pitch: usize,
        value: Fill,
        width: usize,
        height: usize,
    ) -> Result<(), Error> {
        let rows = check(at, pitch, value, width, height)?;
        let _current = self.enter_if_default()?;
        self.fill_rows(value, &rows)
    }

    #[inline]
    fn fill_rows(&self, value: Fill, rows: &Rows) -> Result<(), Error> {
        let (table, stream) = (self.context().table(), self.raw());
        match value {
            Fill::U8(value) => calls::fill8(table, value, rows, stream),
            Fill::U16(value) => calls::fill16(table, value, rows, stream),
            Fill::U32(value) => calls::fill32(table, value, rows, stream),
        }
        .map_err(|error| refused(self.context().failed(error, self), self.context(), value, rows))
    }
}

impl Context {
    /// Fills memory with `count` values; it is done when this returns. Of no values, nothing is looked at.
    ///
    /// It waits for the legacy default stream of the context, and so for the blocking streams; work in other streams goes
    /// on beside it.
    ///
    /// # Safety
    /// The memory holds so many values; meanwhile nobody else reads or writes it.
    ///
    /// # Errors
    /// As for [`Stream::fill`]; an error of earlier work may appear here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn fill(&self, at: DevicePointer, value: Fill, count: usize) -> Result<(), Error> {
        self.fill_rows(value, &check(at, 0, value, count, 1)?)
    }

    /// Fills a rectangle with rows of `width` values, `pitch` bytes apart; it is done when this returns. Of no values,
    /// nothing is looked at; of one row, the pitch does not matter. See [`fill`](Self::fill).
    ///
    /// # Safety
    /// As for [`fill`](Self::fill), with the bytes of the rows.
    ///
    /// # Errors
    /// As for [`Stream::fill_2d`]; an error of earlier work may appear here.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn fill_2d(
        &self,
        at: DevicePointer,
        pitch: usize,
        value: Fill,
        width: usize,
        height: usize,
    ) -> Result<(), Error> {
        self.fill_rows(value, &check(at, pitch, value, width, height)?)
    }

    fn fill_rows(&self, value: Fill, rows: &Rows) -> Result<(), Error> {
        let table = self.table();
        let _current = self.enter()?;
        match value {
            Fill::U8(value) => calls::fill8_now(table, value, rows),
            Fill::U16(value) => calls::fill16_now(table, value, rows),
            Fill::U32(value) => calls::fill32_now(table, value, rows),
        }
        .map_err(|error| refused(self.failed(error, self), self, value, rows))
    }
}

#[cold]
fn refused(failure: Error, context: &Context, value: Fill, rows: &Rows) -> Error {
    // Of no values, nothing was looked at before: the numbers may be any.
    let bytes = match (rows.width, rows.height) {
        (0, _) | (_, 0) => 0,
        (width, 1) => width * value.bytes(),
        (width, height) => rows.pitch * (height - 1) + width * value.bytes(),
    };
    refusal::of_fill(failure, context, DevicePointer(rows.at), bytes)
}

/// The rows for the driver, checked.
#[inline]
fn check(at: DevicePointer, pitch: usize, value: Fill, width: usize, height: usize) -> Result<Rows, Error> {
    let unit = value.bytes();
    if width != 0 && height != 0 {
        check_rows(at, pitch, unit, width, height)?;
    }
    Ok(Rows { at: at.0, pitch, width, height })
}

fn check_rows(
    at: DevicePointer,
    pitch: usize,
    unit: usize,
    width: usize,
    height: usize,
) -> Result<(), Error> {
    let overflow = || invalid(format!("{height} rows of {width} values are larger than any memory"));
    let row = width.checked_mul(unit).ok_or_else(overflow)?;
    if !at.0.is_multiple_of(unit as u64) {
        return Err(invalid(format!("the pointer {at} is not a multiple of the value's {unit} bytes")));
    }
    let mut bytes = row;
    if height > 1 {
        if pitch < row {
            return Err(invalid(format!("the rows are {pitch} bytes apart, too few for the {row} of each")));
        }
        if !pitch.is_multiple_of(unit) {
            return Err(invalid(format!("the pitch {pitch} is not a multiple of the value's {unit} bytes")));
        }
        bytes = pitch.checked_mul(height - 1).and_then(|rows| rows.checked_add(row)).ok_or_else(overflow)?;
    }
    check_range("memory to fill", at.0, bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn what_cannot_be_filled_is_refused() {
        let fill = |at, pitch, value, width, height| check(DevicePointer(at), pitch, value, width, height);
        for (result, why) in [
            (fill(0, 0, Fill::U8(1), 1, 1), "the memory to fill is NULL"),
            (fill(0x1001, 0, Fill::U16(1), 1, 1), "0x1001 is not a multiple of the value's 2 bytes"),
            (fill(0x1002, 0, Fill::U32(1), 1, 1), "0x1002 is not a multiple of the value's 4 bytes"),
            (fill(0x1000, 15, Fill::U32(1), 4, 2), "15 bytes apart, too few for the 16"),
            (fill(0x1000, 18, Fill::U32(1), 4, 2), "pitch 18 is not a multiple"),
            (fill(0x1000, 16, Fill::U32(1), usize::MAX / 2, 1), "larger than any memory"),
            (fill(0x1000, usize::MAX - 3, Fill::U32(1), 1, 3), "larger than any memory"),
            (fill(u64::MAX - 15, 0, Fill::U32(1), 5, 1), "end of all addresses"),
        ] {
            let error = result.expect_err(why);
            assert_eq!(error.status, Status::INVALID_ARGUMENT);
            assert!(error.message.contains(why), "{error}");
        }
    }

    #[test]
    fn what_does_not_matter_is_not_looked_at() {
        for (at, pitch, width, height) in [(0, 0, 0, 1), (3, 1, 5, 0), (0x1000, 7, 4, 1), (0x1000, 16, 4, 2)]
        {
            assert!(check(DevicePointer(at), pitch, Fill::U32(0), width, height).is_ok(), "{at:#x} {pitch}");
        }
    }
}
