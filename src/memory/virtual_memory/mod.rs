//! Virtual memory: addresses and the memory behind them, each for itself.
//!
//! | file | concept |
//! |---|---|
//! | `allocation` | memory that a program creates by itself |
//! | `reservation` | addresses that a program reserves by itself |
//! | `options` | what a program asks for |
//! | `plan` | what new memory is to be: checked against the device |
//! | `chunk` | memory without an address, and addresses without memory |
//! | `mapping` | memory that is mapped |
//! | `shared` | memory of several processes: what is exported, and what is checked before it is imported |
//! | `ranges` | the memory of a resource: what was handed out, how it grows, and how it sleeps |

mod allocation;
mod chunk;
mod mapping;
mod opened;
mod options;
mod plan;
mod ranges;
mod reservation;
mod shared;

pub use allocation::Allocation;
#[cfg(feature = "capi")]
pub(crate) use allocation::AllocationObject;
pub(super) use opened::Opened;
pub use options::{Access, ShareableHandle, VirtualOptions};
pub(super) use plan::Plan;
pub(super) use ranges::{Kept, Ranges};
pub use reservation::Reservation;
#[cfg(feature = "capi")]
pub(crate) use reservation::ReservationObject;
pub(super) use shared::Exported;
