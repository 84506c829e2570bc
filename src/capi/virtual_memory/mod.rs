//! Virtual memory.

mod resource;

mod buffer;

mod allocation;

mod reservation;

pub use allocation::*;
pub use buffer::*;
pub use reservation::*;
pub use resource::*;
