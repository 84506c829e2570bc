//! What callers lend to the library and have called by it: owners, host functions, and pull mode.
//!
//! Two rules hold everywhere. Code of a caller never runs while the library holds a lock. And what a caller lent is
//! released by one thread of the library's own, the worker: never inside a function that the driver called, where the
//! driver refuses nearly all calls, and never on a caller's thread, which may hold locks that the release needs.
//!
//! | file | concept |
//! |---|---|
//! | `inside` | whether this thread is inside a function that the driver called, and what is allowed there |
//! | `owner` | a lifetime that a caller lends |
//! | `lending` | what one call of a C program lends, which is the caller's until that has succeeded |
//! | `worker` | the thread that releases |
//! | `signals` | keeps signals away from it |
//! | `termination` | signals that end the process, where no other thread is left to take them |
//! | `frame` | the frame through which functions of the program are called |
//! | `parking`, `parked` | threads that such a function has ended |
//! | `caught` | code of callers, from which no panic escapes |
//! | `waiting` | functions that wait in a stream for their turn |
//! | `pull` | what is queued for programs that want no calls |
//! | `event_fd` | the descriptor on which they wait |

mod caught;
#[cfg(feature = "capi")]
mod event_fd;
#[cfg(feature = "capi")]
mod frame;
mod inside;
#[cfg(feature = "capi")]
mod lending;
mod owner;
#[cfg(framed)]
mod parked;
mod parking;
#[cfg(feature = "capi")]
pub(crate) mod pull;
mod signals;
#[cfg(target_os = "linux")]
mod termination;
mod waiting;
mod worker;

pub(crate) use caught::caught;
#[cfg(feature = "capi")]
pub(crate) use frame::Foreign;
#[cfg(feature = "capi")]
pub(crate) use inside::refused_inside;
pub(crate) use inside::{check_allowed, inside_driver, is_inside};
#[cfg(feature = "capi")]
pub(crate) use lending::Lending;
pub use owner::Owner;
pub(crate) use waiting::{abandon, call_waiting, take_back, wait};
pub use worker::flush as flush_callbacks;
#[cfg(feature = "capi")]
pub(crate) use worker::leaked_releases;
pub(crate) use worker::{Task, allocating, ask_now, ask_until, hand_over, is_worker, later};
