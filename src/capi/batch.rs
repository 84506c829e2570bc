//! How calls that take many items are made.

use super::options;
use crate::batch::BatchOptions;
use crate::error::Error;

/// How a call that takes many items is made.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_batch_flags {
    /// Refuse a driver that has no call for many items with `CUSHIM_ERROR_UNSUPPORTED`. Without it they are enqueued there
    /// one after the other.
    CUSHIM_BATCH_REFUSE_LOOP = 1,
}

/// How a call that takes many items is made.
///
/// What all such calls (their names end in `_batch`) have in common:
///
/// - Parameters: the items and their number; what goes with them and the number of that, 1 for all or as many as there are
///   items; the options.
/// - Refused before anything is enqueued, with the item at fault in the error's `item` where it is one: no items; numbers
///   that do not fit; an item that is not acceptable; the legacy default stream, and a stream that is being captured. It
///   makes no difference whether the driver has a call for many.
/// - One item goes by the driver's call for one, where it has one. More go by its call for many, at most 4,096 at a time
///   (driver 580 is reported to have crashed with 51,828), and on drivers without it one after the other.
/// - If the driver refuses an item the call ends, and what was enqueued before stays. In a loop the error's `item` is the
///   one that was refused, and those before it are enqueued. A call for many mostly does not say which one it was, nor
///   what it has enqueued: `item` is -1 then, and the message says what is known.
/// - The items of one call are not ordered among each other.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_batch_options {
    /// Bytes of the caller's struct, `sizeof(cushim_batch_options)`.
    pub struct_size: usize,
    /// `cushim_batch_flags`.
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
    Ok(if flags & refuse_loop == 0 { all } else { all.refuse_loop() })
}
