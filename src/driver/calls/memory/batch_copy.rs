//! Copies with attributes: one, or many in one call. Both have the stream's context current: without one, driver 580 refuses
//! many (measured).

use crate::driver::call;
use crate::driver::calls::context::RawContext;
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{CUdeviceptr, CUmemcpyAttributes};
use crate::driver::{CallError, Table};

/// Whether the driver copies many ranges in one call.
pub(crate) fn has_batch(table: &Table) -> Result<(), CallError> {
    match (table.cuMemcpyBatchAsync_13000, table.cuMemcpyBatchAsync_12080) {
        (None, None) => Err(CallError::missing("cuMemcpyBatchAsync_12080")),
        _ => Ok(()),
    }
}

/// Whether the driver has a call for one copy with attributes.
pub(crate) fn has_one(table: &Table) -> bool {
    table.cuMemcpyWithAttributesAsync_13020.is_some()
}

/// Copies one range in the stream's order. The context is the stream's.
///
/// # Safety
/// Both ranges are good until it is done.
pub(crate) unsafe fn one(
    context: &RawContext,
    stream: &RawStream,
    (to, from): (CUdeviceptr, CUdeviceptr),
    bytes: usize,
    mut attributes: CUmemcpyAttributes,
) -> Result<(), CallError> {
    let (table, stream) = (context.table(), stream.handle());
    let _current = context.enter()?;
    // SAFETY: the caller vouches for both ranges; the stream is alive and its context current.
    unsafe { call!(table, cuMemcpyWithAttributesAsync_13020(to, from, bytes, &raw mut attributes, stream)) }
}

/// Why a call for many failed, and the copy that the driver names, if it does.
pub(crate) struct Refused {
    pub(crate) error: CallError,
    pub(crate) item: Option<usize>,
}

impl From<CallError> for Refused {
    fn from(error: CallError) -> Self {
        Self { error, item: None }
    }
}

/// Copies many ranges in one call, in the stream's order. Attributes are those of the copies from their start on.
///
/// # Safety
/// All ranges are good until it is done.
pub(crate) unsafe fn many(
    context: &RawContext,
    stream: &RawStream,
    (to, from): (&mut [CUdeviceptr], &mut [CUdeviceptr]),
    bytes: &mut [usize],
    (attributes, starts): (&mut [CUmemcpyAttributes], &mut [usize]),
) -> Result<(), Refused> {
    let (table, stream, count) = (context.table(), stream.handle(), bytes.len());
    let (to, from, bytes) = (to.as_mut_ptr(), from.as_mut_ptr(), bytes.as_mut_ptr());
    let (runs, attributes, starts) = (attributes.len(), attributes.as_mut_ptr(), starts.as_mut_ptr());
    let _current = context.enter()?;
    if table.cuMemcpyBatchAsync_13000.is_some() {
        // SAFETY: the arrays are as long as is said; the caller vouches for the ranges; the stream is alive.
        unsafe {
            call!(table, cuMemcpyBatchAsync_13000(to, from, bytes, count, attributes, starts, runs, stream))
        }?;
        return Ok(());
    }
    // What the driver leaves there if it blames no copy.
    let mut item = usize::MAX;
    // SAFETY: as above; writes one number.
    unsafe {
        call!(
            table,
            cuMemcpyBatchAsync_12080(to, from, bytes, count, attributes, starts, runs, &raw mut item, stream)
        )
    }
    .map_err(|error| Refused { error, item: (item < count).then_some(item) })
}
