//! The raw tier: opening a driver and handing its table out. Exported through `cushim_loader.h` and `cushim_driver.h`.

use crate::driver::Driver;
use crate::object::{driver_log, logging};

mod handle;

mod open;

mod table;

mod lookup;

mod report;

pub use handle::*;
pub use lookup::*;
pub use open::*;
pub use report::*;
pub use table::*;

/// What comes before a search for a driver, which the log tells of.
fn start_log(environment: bool) {
    Driver::listen(driver_log::watch);
    if environment {
        logging::start();
    }
}
