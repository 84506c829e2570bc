//! Saying which streams use managed memory.

use super::Range;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::CUmemAttach_flags;
use crate::driver::{CallError, Table};

/// Attaches a whole allocation in the stream's order. In a thread whose capture mode is not relaxed it would end captures of others
/// (measured on 580).
pub(crate) fn attach(
    table: &Table,
    stream: &RawStream,
    (pointer, bytes): Range,
    flags: CUmemAttach_flags,
) -> Result<(), CallError> {
    // SAFETY: the stream is alive; the driver looks the range up.
    unsafe { relaxed!(table, cuStreamAttachMemAsync_6000(stream.handle(), pointer, bytes, flags.0 as u32)) }
}
