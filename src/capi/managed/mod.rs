//! Managed memory: advice, prefetch, discard, and what the driver knows of a range.

mod range;

mod advise;

mod prefetch;

mod discard;

mod attach;

mod attributes;

mod accessed_by;

pub use accessed_by::*;
pub use advise::*;
pub use attach::*;
pub use attributes::*;
pub use discard::*;
pub use prefetch::*;
pub use range::*;
