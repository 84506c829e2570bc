//! Managed memory, which host and devices share and which moves to where it is used: advice on where it should be, and
//! calls that move it beforehand or give up what it holds.
//!
//! What runs in a stream is a function of [`Stream`](crate::Stream); advice and what the driver knows of a range are
//! functions of [`Context`](crate::Context). All of it needs a device with concurrent managed access, the feature
//! `concurrent-managed-access` of [`Device::supports`](crate::Device::supports).
//!
//! | file | concept |
//! |---|---|
//! | `range` | a range of memory, and whether it is managed |
//! | `advise` | advice |
//! | `prefetch` | moving memory |
//! | `discard` | giving up what memory holds |
//! | `attributes` | what the driver knows of a range |
//! | `accessed_by` | the set of those that a range is accessed by |
//! | `access` | whether a device can do any of it |

mod access;
mod accessed_by;
mod advise;
mod attributes;
mod discard;
mod prefetch;
mod range;

pub use advise::Advice;
pub use attributes::RangeAttributes;
pub use range::Range;
