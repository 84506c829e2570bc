//! Advice on where memory should be.

use super::Range;
use super::location::ordinal;
use crate::driver::calls::capture_mode::relaxed;
use crate::driver::calls::context::RawContext;
use crate::driver::sys::{CUmem_advise, CUmemLocation};
use crate::driver::{CallError, Table};

/// Whether this driver can be told of the location.
pub(crate) fn check(table: &Table, location: CUmemLocation) -> Result<(), CallError> {
    match (table.cuMemAdvise_12020, ordinal(location)) {
        (Some(_), _) | (None, Some(_)) => Ok(()),
        (None, None) => Err(CallError::missing("cuMemAdvise_12020")),
    }
}

/// Gives advice for a range. The second ABI wants a location that is valid even where the advice means none.
pub(crate) fn advise(
    context: &RawContext,
    (pointer, bytes): Range,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> Result<(), CallError> {
    let table = context.table();
    let _current = context.enter()?;
    // SAFETY: a context is current; the driver looks the range up.
    unsafe {
        match (table.cuMemAdvise_12020, ordinal(location)) {
            (None, Some(device)) => relaxed!(table, cuMemAdvise_8000(pointer, bytes, advice, device)),
            _ => relaxed!(table, cuMemAdvise_12020(pointer, bytes, advice, location)),
        }
    }
}
