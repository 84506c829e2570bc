//! Virtual memory.

mod resource;

mod buffer;

pub use buffer::*;
pub use resource::*;
