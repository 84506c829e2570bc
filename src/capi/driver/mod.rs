//! The raw tier: opening a driver and handing its table out. Exported through `cushim_driver.h`.

pub mod handle;
pub mod lookup;
pub mod open;
pub mod report;
pub mod table;
