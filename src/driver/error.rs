//! Why there is no driver, or no such function in it.

use super::catalogue::Row;
use super::report::LoadReport;
use super::resolve::{Status, Symbol};
use super::version::Version;
use std::fmt;
use std::path::PathBuf;

/// Why no driver was opened. The text is a sentence that says what to do, followed by the libraries that were tried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No driver was found on this machine.
    #[error(
        "no CUDA driver was found. Install the NVIDIA driver (in a container, start it with the GPU and with \
         NVIDIA_DRIVER_CAPABILITIES=compute,utility), or name its library{}; \"software\" there stands for softcuda, which \
         needs no GPU.{}",
        in_variable(.0, "CUSHIM_DRIVER"), Tried(.0)
    )]
    NotFound(Box<LoadReport>),
    /// softcuda was asked for and not found.
    #[error(
        "softcuda was asked for and not found. Put libsoftcuda beside the library or program that uses it, or name it{}.{}",
        in_variable(.0, "CUSHIM_SOFTCUDA"), Tried(.0)
    )]
    SoftwareNotFound(Box<LoadReport>),
    /// All that was found is the toolkit's stub, which serves for linking only.
    #[error(
        "only a stub of the CUDA driver was found: a file of the CUDA toolkit that serves for linking and cannot run \
         anything. Take its folder out of LD_LIBRARY_PATH and the loader's configuration, and install the NVIDIA \
         driver.{}",
        Tried(.0)
    )]
    Stub(Box<LoadReport>),
    /// The one driver that was asked for cannot be used. No other was tried.
    #[error(
        "the CUDA driver that was asked for cannot be used, and no other was tried. Give the path of a driver's library, \
         \"auto\", \"software\" or \"none\", or say nothing to have the machine's driver looked for.{}",
        Tried(.0)
    )]
    Unusable(Box<LoadReport>),
    /// The options contradict themselves or hold a value that no driver could be opened with.
    #[error("{0}")]
    InvalidOption(String),
}

impl OpenError {
    /// How the search went; `None` if it did not begin.
    #[must_use]
    pub fn report(&self) -> Option<&LoadReport> {
        match self {
            Self::NotFound(report)
            | Self::SoftwareNotFound(report)
            | Self::Stub(report)
            | Self::Unusable(report) => Some(report),
            Self::InvalidOption(_) => None,
        }
    }
}

/// Names the variable to set, unless it would not be read.
fn in_variable(report: &LoadReport, variable: &str) -> String {
    if report.environment_read { format!(" in {variable}") } else { " in the options".to_owned() }
}

/// The candidates, one a line.
struct Tried<'a>(&'a LoadReport);

impl fmt::Display for Tried<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(" Tried:")?;
        for candidate in &self.0.candidates {
            write!(f, "\n  {candidate}")?;
        }
        Ok(())
    }
}

/// A function that this driver does not have, with everything that explains why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct MissingSymbol {
    /// The function.
    pub row: &'static Row,
    /// The number of the ABI that was asked for.
    pub abi: u32,
    /// The name under which a library would export it.
    pub exported: &'static str,
    /// Why it is missing.
    pub status: Status,
    /// The driver's version, if there is a driver.
    pub version: Option<Version>,
    /// The driver's library, if there is one.
    pub path: Option<PathBuf>,
}

impl MissingSymbol {
    pub(super) fn new(symbol: &Symbol, version: Option<Version>, path: Option<PathBuf>) -> Self {
        let Symbol { row, abi, exported, status, .. } = *symbol;
        Self { row, abi, exported, status, version, path }
    }

    fn driver(&self) -> String {
        let path = self.path.as_ref().map(|path| format!(" ({})", path.display())).unwrap_or_default();
        match self.version {
            Some(version) => format!("this driver is for CUDA {version}{path}"),
            None => "there is no driver".to_owned(),
        }
    }
}

impl fmt::Display for MissingSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, abi, since) = (self.row.base, self.abi, Version::from_number(self.abi));
        match self.status {
            Status::Found => write!(f, "{base} (ABI {abi}) is there; {}", self.driver()),
            Status::NoDriver => write!(
                f,
                "{base} (ABI {abi}) needs a driver for CUDA {since} or newer, and none is open: CUSHIM_DRIVER or the \
                 options say \"none\""
            ),
            Status::NewerThanDriver => write!(
                f,
                "{base} (ABI {abi}) needs a driver for CUDA {since} or newer, and {}; update the driver",
                self.driver()
            ),
            status @ (Status::Denied { .. } | Status::NotExported) => write!(
                f,
                "{base} (ABI {abi}) should exist since CUDA {since}, and {}, but {status} ({}); a driver that was built \
                 without it, or a library that stands in for the driver, may be the reason",
                self.driver(),
                self.exported
            ),
        }
    }
}
