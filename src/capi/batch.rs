//! How calls that take many items are made.
//!
//! @header cushim.h

use super::options;
use crate::object::error::Error;
use crate::op::batch::BatchOptions;
use crate::op::batch::WithoutBatch;

/// Flags of a batch.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_batch_flags {
    /// Return `CUSHIM_ERROR_UNSUPPORTED` if the driver has no batch call, instead of enqueuing the items one by one.
    CUSHIM_BATCH_REFUSE_LOOP = 1,
}

/// Options of the functions whose names end in `_batch`. Zero means the default.
///
/// - Arguments: the items and their number; then what belongs to them and the number of that, which is 1 (for all
///   items) or the number of items.
/// - A call returns an error before it enqueues anything if there are no items, if the numbers do not match, if an
///   item is not acceptable (`item` of the error is its index), or if the stream is the legacy default stream or is
///   being captured. This does not depend on the driver.
/// - A batch of one item is the driver's call for one, if there is one. Larger batches use the driver's batch call,
///   with at most 4,096 items each (driver branch 580 is reported to have crashed with 51,828), or one call per item
///   if the driver has none.
/// - If the driver returns an error for an item, the call ends; what was enqueued before stays enqueued. With one
///   call per item, `item` of the error is the index of the item, and those before it are enqueued. A batch call
///   mostly does not tell which item failed, nor what was enqueued: then `item` is -1, and the message says what is
///   known.
/// - The items of one call are not ordered among each other.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_batch_options {
    /// Bytes of this struct, `sizeof(cushim_batch_options)`.
    pub struct_size: usize,
    /// @field[flags(cushim_batch_flags)] Flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// # Safety
/// As for [`options::read`].
pub(super) unsafe fn batch_options(given: *const cushim_batch_options) -> Result<BatchOptions, Error> {
    // SAFETY: the caller vouches for it.
    let cushim_batch_options { flags, reserved, .. } = unsafe { options::read(given, "options") }?;
    let refuse_loop = cushim_batch_flags::CUSHIM_BATCH_REFUSE_LOOP as u32;
    options::check_flags(flags, refuse_loop)?;
    options::check_reserved(reserved)?;
    let all = BatchOptions::default();
    Ok(if flags & refuse_loop == 0 { all } else { all.without_batch(WithoutBatch::Refuse) })
}
