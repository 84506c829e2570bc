//! Memsets: one value, repeated over a range or a rectangle. In a stream, or at once in the current context.

use super::super::stream::RawStream;
use super::{finish, there};
use crate::driver::call;
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CallError, Table};

/// A value of one, two or four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawValue {
    U8(u8),
    U16(u16),
    U32(u32),
}

/// `height` rows of `width` values, `pitch` bytes apart. The pitch of one row, and of no values all of it, means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) at: CUdeviceptr,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Calls the function for the value's size: for no values none, for one row that for ranges.
macro_rules! memset {
    ($table:expr, $value:expr, $rows:expr, $stream:tt:
        $($size:ident: $range:ident, $rectangle:ident;)*) => {
        match $value {
            $(RawValue::$size(value) => match ($rows.width, $rows.height) {
                (0, _) | (_, 0) => there!($table, $range),
                (_, 1) => memset!(@call $table, $range($rows.at, value, $rows.width), $stream),
                _ => memset!(
                    @call $table, $rectangle($rows.at, $rows.pitch, value, $rows.width, $rows.height), $stream
                ),
            },)*
        }
    };
    (@call $table:expr, $function:ident($($argument:expr),*), (stream $stream:expr)) => {
        call!($table, $function($($argument,)* $stream))
    };
    (@call $table:expr, $function:ident($($argument:expr),*), (now)) => {
        call!($table, $function($($argument),*))
    };
}

/// Sets the rows in the stream's order.
///
/// # Safety
/// The rows are device memory, good until it is done.
#[inline(always)]
pub(crate) unsafe fn rows(
    table: &Table,
    value: RawValue,
    rows: &Rows,
    stream: &RawStream,
) -> Result<(), CallError> {
    // SAFETY: the caller vouches for the rows; the stream is alive.
    unsafe {
        memset! { table, value, rows, (stream stream.handle()):
            U8: cuMemsetD8Async_3020, cuMemsetD2D8Async_3020;
            U16: cuMemsetD16Async_3020, cuMemsetD2D16Async_3020;
            U32: cuMemsetD32Async_3020, cuMemsetD2D32Async_3020;
        }
    }
}

/// Sets the rows in the current context; it is done when this returns.
///
/// # Safety
/// As for [`rows`]; a context is current.
pub(crate) unsafe fn rows_now(table: &Table, value: RawValue, rows: &Rows) -> Result<(), CallError> {
    // SAFETY: the caller vouches for the rows.
    unsafe {
        memset! { table, value, rows, (now):
            U8: cuMemsetD8_3020, cuMemsetD2D8_3020;
            U16: cuMemsetD16_3020, cuMemsetD2D16_3020;
            U32: cuMemsetD32_3020, cuMemsetD2D32_3020;
        }
    }?;
    if rows.width == 0 || rows.height == 0 { Ok(()) } else { finish(table) }
}
