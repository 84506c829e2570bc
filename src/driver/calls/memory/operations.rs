//! Memory operations: waiting for values in memory and writing them.

use crate::driver::calls::stream::RawStream;
use crate::driver::sys::CUstreamBatchMemOpParams;
use crate::driver::{CallError, Table, call};

/// Enqueues the operations, which are done one after the other.
///
/// # Safety
/// The addresses are those of values, good until it is done.
pub(crate) unsafe fn enqueue(
    table: &Table,
    operations: &mut [CUstreamBatchMemOpParams],
    stream: &RawStream,
) -> Result<(), CallError> {
    let (first, count) = (operations.as_mut_ptr(), operations.len() as u32);
    // SAFETY: reads as many as there are; the caller vouches for the rest, and the stream is alive.
    unsafe {
        if table.cuStreamBatchMemOp_11070.is_some() {
            return call!(table, cuStreamBatchMemOp_11070(stream.handle(), count, first, 0));
        }
        call!(table, cuStreamBatchMemOp_8000(stream.handle(), count, first, 0))
    }
}
