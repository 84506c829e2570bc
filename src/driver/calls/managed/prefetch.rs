//! Moving memory to a location before it is used there.

use super::Range;
use super::location::ordinal;
use crate::driver::call;
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{CUdeviceptr, CUmemLocation};
use crate::driver::{CallError, Table};

/// Whether this driver can be told of the location.
pub(crate) fn check(table: &Table, location: CUmemLocation) -> Result<(), CallError> {
    match (table.cuMemPrefetchAsync_12020, ordinal(location)) {
        (Some(_), _) | (None, Some(_)) => Ok(()),
        (None, None) => Err(CallError::missing("cuMemPrefetchAsync_12020")),
    }
}

/// Moves a range in the stream's order.
#[inline]
pub(crate) fn one(
    table: &Table,
    stream: &RawStream,
    (pointer, bytes): Range,
    location: CUmemLocation,
) -> Result<(), CallError> {
    let stream = stream.handle();
    // SAFETY: the stream is alive; the driver looks the range up.
    unsafe {
        match (table.cuMemPrefetchAsync_12020, ordinal(location)) {
            (None, Some(device)) => call!(table, cuMemPrefetchAsync_8000(pointer, bytes, device, stream)),
            _ => call!(table, cuMemPrefetchAsync_12020(pointer, bytes, location, 0, stream)),
        }
    }
}

/// Whether the driver moves many ranges in one call.
pub(crate) fn has_batch(table: &Table) -> Result<(), CallError> {
    table.cuMemPrefetchBatchAsync_13000.map(|_| ()).ok_or(CallError::missing("cuMemPrefetchBatchAsync_13000"))
}

/// Moves many ranges in one call. Each location is that of the ranges from its start on.
pub(crate) fn many(
    table: &Table,
    stream: &RawStream,
    pointers: &mut [CUdeviceptr],
    sizes: &mut [usize],
    (locations, starts): (&mut [CUmemLocation], &mut [usize]),
) -> Result<(), CallError> {
    debug_assert!(pointers.len() == sizes.len() && locations.len() == starts.len());
    // SAFETY: the arrays are as long as is said; the stream is alive; the driver looks the ranges up.
    unsafe {
        call!(
            table,
            cuMemPrefetchBatchAsync_13000(
                pointers.as_mut_ptr(),
                sizes.as_mut_ptr(),
                pointers.len(),
                locations.as_mut_ptr(),
                starts.as_mut_ptr(),
                locations.len(),
                0,
                stream.handle(),
            )
        )
    }
}
