//! What every object shares. Nothing here knows an object.
//!
//! | file | concept |
//! |---|---|
//! | `error` | what went wrong, as a number and a sentence |
//! | `log_lines` | what the driver said about a call that failed |
//! | `handle` | handles: checked tokens |
//! | `in_place` | objects that are made where they stay |
//! | `callback` | what callers lend and what calls them: owners, the worker, pull mode |
//! | `owning` | who destroys a native handle, and how a call takes one over |
//! | `descriptor` | the bytes by which other processes find something |
//! | `native` | a native handle, and when it is destroyed |
//! | `registry` | finds the object of a native handle |
//! | `release` | what becomes of errors when the last hold on an object goes |
//! | `thread` | threads, without the memory that the standard library takes for them |
//! | `thread_end` | what is done when a thread ends |
//! | `cancellation` | threads that are cancelled in the middle of a call |
//! | `spare` | memory for when the process has none left |
//! | `setters` | how options are made |
//! | `slot` | what an object keeps for objects that it does not know |
//! | `together` | things that go at the same time, while others may join them |
//! | `driver_log` | listens to the driver's log |
//! | `logging` | where the log of the C library goes |

pub(crate) mod callback;
pub(crate) mod cancellation;
pub(crate) mod descriptor;
pub(crate) mod driver_log;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod in_place;
mod log_lines;
#[cfg(feature = "capi")]
pub(crate) mod logging;
pub(crate) mod native;
pub(crate) mod owning;
pub(crate) mod registry;
pub(crate) mod release;
pub(crate) mod setters;
pub(crate) mod slot;
mod spare;
pub(crate) mod thread;
#[cfg_attr(loom, allow(dead_code))]
pub(crate) mod thread_end;
pub(crate) mod together;
