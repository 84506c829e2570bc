//! Giving up what memory holds. There is no call for one range: it is a batch of one.

use crate::driver::call;
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{CUdeviceptr, CUmemLocation};
use crate::driver::{CallError, Table};

/// Whether the driver discards.
pub(crate) fn check(table: &Table) -> Result<(), CallError> {
    table.cuMemDiscardBatchAsync_13000.map(|_| ()).ok_or(CallError::missing("cuMemDiscardBatchAsync_13000"))
}

/// Whether the driver discards and prefetches.
pub(crate) fn check_prefetch(table: &Table) -> Result<(), CallError> {
    table
        .cuMemDiscardAndPrefetchBatchAsync_13000
        .map(|_| ())
        .ok_or(CallError::missing("cuMemDiscardAndPrefetchBatchAsync_13000"))
}

/// Gives up what the ranges hold, in the stream's order.
pub(crate) fn discard(
    table: &Table,
    stream: &RawStream,
    pointers: &mut [CUdeviceptr],
    sizes: &mut [usize],
) -> Result<(), CallError> {
    debug_assert!(pointers.len() == sizes.len());
    // SAFETY: the arrays are as long as is said; the stream is alive; the caller needs nothing of what the ranges hold.
    unsafe {
        call!(
            table,
            cuMemDiscardBatchAsync_13000(
                pointers.as_mut_ptr(),
                sizes.as_mut_ptr(),
                pointers.len(),
                0,
                stream.handle(),
            )
        )
    }
}

/// Gives up what the ranges hold and moves them, in the stream's order. Each location is that of the ranges from its start
/// on.
pub(crate) fn discard_prefetch(
    table: &Table,
    stream: &RawStream,
    pointers: &mut [CUdeviceptr],
    sizes: &mut [usize],
    (locations, starts): (&mut [CUmemLocation], &mut [usize]),
) -> Result<(), CallError> {
    debug_assert!(pointers.len() == sizes.len() && locations.len() == starts.len());
    // SAFETY: the arrays are as long as is said; the stream is alive; the caller needs nothing of what the ranges hold.
    unsafe {
        call!(
            table,
            cuMemDiscardAndPrefetchBatchAsync_13000(
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
