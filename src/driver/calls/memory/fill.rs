//! Fills: one value, repeated over a range or a rectangle. In a stream, or at once in the current context.

use super::super::stream::RawStream;
use super::{finish, there};
use crate::driver::call;
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CallError, Table};

/// Rows of values in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) at: CUdeviceptr,
    /// Bytes from row to row; of a single one it does not matter.
    pub(crate) pitch: usize,
    /// Values in a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// The functions for values of one width.
macro_rules! fills {
    ($(#[$doc:meta])* $fill:ident, $fill_now:ident, $value:ty:
        $range:ident, $range_now:ident, $rows:ident, $rows_now:ident) => {
        $(#[$doc])*
        /// In the stream's order.
        #[inline]
        pub(crate) fn $fill(
            table: &Table,
            value: $value,
            rows: &Rows,
            stream: &RawStream,
        ) -> Result<(), CallError> {
            let Rows { at, pitch, width, height } = *rows;
            let stream = stream.handle();
            // SAFETY: the caller vouches for the rows; the stream is alive.
            unsafe {
                match (width, height) {
                    (0, _) | (_, 0) => there!(table, $range),
                    (_, 1) => call!(table, $range(at, value, width, stream)),
                    _ => call!(table, $rows(at, pitch, value, width, height, stream)),
                }
            }
        }

        $(#[$doc])*
        /// In the current context; it is done when this returns.
        pub(crate) fn $fill_now(table: &Table, value: $value, rows: &Rows) -> Result<(), CallError> {
            let Rows { at, pitch, width, height } = *rows;
            // SAFETY: the caller vouches for the rows; a context is current.
            unsafe {
                match (width, height) {
                    (0, _) | (_, 0) => return there!(table, $range_now),
                    (_, 1) => call!(table, $range_now(at, value, width)),
                    _ => call!(table, $rows_now(at, pitch, value, width, height)),
                }
            }?;
            finish(table)
        }
    };
}

fills! {
    /// Fills with a value of one byte.
    fill8, fill8_now, u8:
    cuMemsetD8Async_3020, cuMemsetD8_3020, cuMemsetD2D8Async_3020, cuMemsetD2D8_3020
}

fills! {
    /// Fills with a value of two bytes.
    fill16, fill16_now, u16:
    cuMemsetD16Async_3020, cuMemsetD16_3020, cuMemsetD2D16Async_3020, cuMemsetD2D16_3020
}

fills! {
    /// Fills with a value of four bytes.
    fill32, fill32_now, u32:
    cuMemsetD32Async_3020, cuMemsetD32_3020, cuMemsetD2D32Async_3020, cuMemsetD2D32_3020
}
