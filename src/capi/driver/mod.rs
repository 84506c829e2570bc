//! The raw tier: opening a driver and handing its table out. Exported through `cushim_driver.h`.

mod handle;
mod lookup;
mod open;
mod report;
mod table;

pub use handle::*;
pub use lookup::*;
pub use open::*;
pub use report::*;
pub use table::*;
