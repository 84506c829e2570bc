//! Resources: where memory comes from.

mod handle;

mod create;

mod custom;

mod memory;

mod pool;

mod located;

pub use create::*;
pub use custom::*;
pub use handle::*;
pub use located::*;
pub use memory::*;
pub use pool::*;
