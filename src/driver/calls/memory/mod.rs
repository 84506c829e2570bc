//! Memory: allocations, virtual memory, host memory that devices reach, copies, fills, waits for values, what other devices on the bus
//! reach, and what a pointer is.

pub(crate) mod allocation;
pub(crate) mod batch_copy;
pub(crate) mod copy;
pub(crate) mod direct;
pub(crate) mod fill;
pub(crate) mod host;
pub(crate) mod operations;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod virtual_memory;

use crate::driver::calls::capture_mode::relaxed;
use crate::driver::sys::CUstream;
use crate::driver::{CallError, Table};

/// What a call that would do nothing answers: whether the driver has the function at all.
macro_rules! there {
    ($table:expr, $entry:ident) => {
        match $table.$entry {
            Some(_) => Ok(()),
            None => Err($crate::driver::CallError::missing(stringify!($entry))),
        }
    };
}
use there;

/// The legacy default stream of the current context, by its token.
const LEGACY: CUstream = std::ptr::without_provenance_mut(1);

/// Waits for what a synchronous call has left running: for fills, and for copies to a device, the driver returns early.
/// Streams that do not wait for the legacy stream would see the memory as it was.
fn finish(table: &Table) -> Result<(), CallError> {
    // SAFETY: the token means the current context's stream.
    unsafe { relaxed!(table, cuStreamSynchronize_2000(LEGACY)) }
}
