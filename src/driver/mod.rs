//! The only part of the crate that knows libcuda: it finds the library, opens it, resolves every ABI of the catalogue
//! into a table and says what it found.
//!
//! ```no_run
//! use cushim::driver::{Driver, sys};
//!
//! let driver = Driver::open()?;
//! println!("{} driver for CUDA {}", driver.kind(), driver.version().expect("a driver has a version"));
//! match driver.table().cuInit_2000 {
//!     // SAFETY: cuInit may be called at any time.
//!     Some(init) => assert_eq!(unsafe { init(0) }, sys::CUDA_SUCCESS),
//!     None => println!("{}", driver.explain(driver.symbol("cuInit", 2000).expect("cuInit is in the catalogue"))),
//! }
//! # Ok::<(), cushim::driver::OpenError>(())
//! ```

mod call;
pub(crate) mod calls;
pub mod catalogue;
mod environment;
mod error;
pub(crate) mod file;
mod find;
mod getter;
mod kind;
mod labels;
mod library;
mod module;
mod none;
mod open;
mod opened;
mod options;
mod report;
mod resolve;
mod rows;
pub mod sys;
#[allow(clippy::type_complexity)] // the driver's functions take as many parameters as they take
mod table;
mod told_init;
mod unknown_variable;
mod version;

pub use call::CallError;
pub(crate) use call::call;
pub(crate) use environment::is_privileged;
pub use environment::{
    CHECK_VARIABLE, DRIVER_VARIABLE, SOFTWARE_VARIABLE, SOFTWARE_VERSION_VARIABLE, Variable,
};
pub use error::{MissingSymbol, OpenError};
pub use getter::{CustomGetter, GetProcAddress, GetterKind};
pub use kind::Kind;
pub use opened::Driver;
pub use options::{Choice, OpenOptions};
pub use report::{Candidate, LoadReport, Origin, Outcome};
pub use resolve::{Status, Symbol, Via};
pub use table::Table;
pub use version::Version;
