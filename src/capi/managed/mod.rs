//! Managed memory: advice, prefetch, discard, and what the driver knows of a range.

mod accessed_by;
mod advise;
mod attributes;
mod discard;
mod prefetch;
mod range;

pub use accessed_by::*;
pub use advise::*;
pub use attributes::*;
pub use discard::*;
pub use prefetch::*;
pub use range::*;
