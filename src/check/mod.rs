//! What nothing orders, as far as it is known before the driver does it: `CUSHIM_CHECK=order`.
//!
//! Operations say what they do with memory, and with the order of streams, as [`Deed`]s. Two that touch the same bytes, at least one
//! writing, have an order by a stream, an event, a wait of the host, or a path of edges; where they have none, a sentence in the log names
//! both. What others may do is taken for order: no report is about a stream or an event that they have.
//!
//! | file | concept |
//! |---|---|
//! | `deed` | what an operation does with memory and order |
//! | `memory` | who touched which bytes |
//! | `streams` | what comes before what, of streams, events and the host |
//! | `paths` | the same, of the nodes of a graph |
//! | `signature` | which parameters a kernel only reads, by its name |
//! | `sentence` | what a report says |

mod deed;
mod memory;
mod paths;
mod sentence;
mod signature;
mod streams;

#[allow(
    unreachable_pub,
    reason = "operations, which are public, have it in a function that is not documented"
)]
pub use deed::Deeds;
pub(crate) use deed::{Access, Deed, LookedUp, Touch, Use};
pub(crate) use paths::{GraphOrder, Place};
use signature::reads_only;
pub(crate) use streams::{Sort, StreamKey, Who};
pub(crate) use streams::{did, is_shared, launched, waited_for_all, waited_for_event, waited_for_stream};
