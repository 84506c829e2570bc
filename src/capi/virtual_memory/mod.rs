//! Virtual memory.

mod resource;

mod buffer;

mod allocation;

mod reservation;

mod parts;

pub use allocation::*;
pub use buffer::*;
pub use parts::*;
pub use reservation::*;
pub use resource::*;
