//! Why there is no driver, or no such function in it.

use super::catalogue::Row;
use super::environment::{DRIVER_VARIABLE, SOFTWARE_VARIABLE};
use super::kind::Kind;
use super::options::Choice;
use super::report::{LoadReport, Origin, Outcome};
use super::resolve::{Status, Symbol};
use super::version::Version;
use std::fmt;
use std::path::PathBuf;

/// Why no driver was opened. The text is a sentence that says what to do, followed by the libraries that were tried.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No driver was found on this machine.
    #[error(
        "no CUDA driver was found. Install the NVIDIA driver (in a container, start it with the GPU and with \
         NVIDIA_DRIVER_CAPABILITIES=compute,utility), or name its library in {}; \"software\" there stands for softcuda, \
         which needs no GPU.{}",
        place_for_a_driver(.0), Tried(.0)
    )]
    NotFound(Box<LoadReport>),
    /// softcuda was asked for and not found.
    #[error(
        "softcuda was asked for and not found. Put libsoftcuda beside the library or program that uses it, or name it in \
         {}.{}",
        place_for_softcuda(.0), Tried(.0)
    )]
    SoftwareNotFound(Box<LoadReport>),
    /// All that was found is the toolkit's stub, which serves for linking only.
    #[error(
        "only a stub of the CUDA driver was found: a file of the CUDA toolkit that serves for linking and cannot run \
         anything. {}.{}",
        instead_of_a_stub(.0), Tried(.0)
    )]
    Stub(Box<LoadReport>),
    /// A library was found, it cannot be used, and nothing else was found that can.
    #[error("{}{}", refused(.0), Tried(.0))]
    Refused(Box<LoadReport>),
    /// The one driver that was asked for cannot be used. No other was tried.
    #[error(
        "the CUDA driver that was asked for cannot be used, and no other was tried. {}.{}", correction(.0), Tried(.0)
    )]
    Unusable(Box<LoadReport>),
    /// The options contradict themselves or hold a value that no driver could be opened with.
    #[error("{0}")]
    InvalidOption(String),
}

/// The sentence and what was tried, as `main` and `unwrap` print it. The [`report`](OpenError::report) has all of it as values.
impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl OpenError {
    /// How the search went; `None` if it did not begin.
    #[must_use]
    pub fn report(&self) -> Option<&LoadReport> {
        match self {
            Self::NotFound(report)
            | Self::SoftwareNotFound(report)
            | Self::Stub(report)
            | Self::Refused(report)
            | Self::Unusable(report) => Some(report),
            Self::InvalidOption(_) => None,
        }
    }
}

/// Where to name another driver so that it is heard: options overrule the variable, which is not always read.
fn place_for_a_driver(report: &LoadReport) -> &'static str {
    let overruled = report.chosen_by == Some(Origin::Options);
    if report.environment_read && !overruled { DRIVER_VARIABLE } else { "the options" }
}

/// Where to name another softcuda: no option overrules this variable.
fn place_for_softcuda(report: &LoadReport) -> &'static str {
    if report.environment_read { SOFTWARE_VARIABLE } else { "the options" }
}

/// What to do about a library that was found.
fn refused(report: &LoadReport) -> String {
    let mut refused = report.candidates.iter().filter(|candidate| candidate.outcome == Outcome::Refused);
    let file = refused.next().map(|candidate| candidate.name.display().to_string()).unwrap_or_default();
    if report.choice == Some(Choice::Software) {
        let place = place_for_softcuda(report);
        return format!(
            "softcuda ({file}) was found and cannot be used. If it refuses a variable that begins with SOFTCUDA_, it says \
             so on the standard error stream: correct that, or build softcuda anew, or name another one in {place}."
        );
    }
    let place = place_for_a_driver(report);
    format!(
        "a CUDA driver ({file}) was found and cannot be used. Repair or remove that file, reinstall the NVIDIA driver (in \
         a container, start it with the GPU), or \
         name another library in {place}; \"software\" there stands for softcuda, which needs no GPU."
    )
}

/// Who named the only library that was tried; `None` if it was a search.
fn named_by(report: &LoadReport) -> Option<Origin> {
    let origin = report.candidates.last()?.origin;
    matches!(origin, Origin::Options | Origin::Environment(_) | Origin::Getter).then_some(origin)
}

fn instead_of_a_stub(report: &LoadReport) -> String {
    match named_by(report) {
        None => "Take its folder out of LD_LIBRARY_PATH and the loader's configuration, and install the NVIDIA driver"
            .to_owned(),
        Some(Origin::Environment(SOFTWARE_VARIABLE)) => correction(report),
        Some(_) => format!(
            "Name the driver's library in {} instead: libcuda.so.1 is the one that is installed",
            place_for_a_driver(report)
        ),
    }
}

/// What to do about the one library that was asked for.
fn correction(report: &LoadReport) -> String {
    match named_by(report) {
        Some(Origin::Environment(variable @ SOFTWARE_VARIABLE)) => format!("Correct or unset {variable}"),
        Some(Origin::Environment(variable)) => format!(
            "Set {variable} to the path of a driver's library, \"auto\", \"software\" or \"none\", or unset it to have \
             the machine's driver looked for"
        ),
        Some(Origin::Getter) => "Correct the getter, or leave it out to have a driver looked for".to_owned(),
        _ => "Give the path of a driver's library, \"auto\", \"software\" or \"none\" in the options, or leave it out \
              to have a driver looked for"
            .to_owned(),
    }
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
    /// What sort of driver it is.
    pub kind: Kind,
    /// The driver's version, if there is a driver.
    pub version: Option<Version>,
    /// The driver's library, if there is one.
    pub path: Option<PathBuf>,
}

impl MissingSymbol {
    pub(super) fn new(symbol: &Symbol, kind: Kind, version: Option<Version>, path: Option<PathBuf>) -> Self {
        let Symbol { row, abi, exported, status, .. } = *symbol;
        Self { row, abi, exported, status, kind, version, path }
    }

    fn driver(&self) -> String {
        let path = self.path.as_ref().map(|path| format!(" ({})", path.display())).unwrap_or_default();
        match self.version {
            Some(version) => format!("this driver is for CUDA {version}{path}"),
            None => "there is no driver".to_owned(),
        }
    }

    /// How to come by a driver that is new enough.
    fn update(&self, since: Version) -> String {
        match self.kind {
            Kind::Software => match since.in_softcuda() {
                Some(version) => {
                    format!("open \"software\" with SOFTCUDA_VERSION={version} in the environment")
                }
                None => "no version that softcuda can be is so new".to_owned(),
            },
            Kind::Custom => "have the getter that was handed in stand for a newer driver".to_owned(),
            Kind::Wsl => "update the NVIDIA driver on Windows".to_owned(),
            Kind::Tegra => "update JetPack".to_owned(),
            Kind::Native | Kind::Compat | Kind::Stub | Kind::None => "update the driver".to_owned(),
        }
    }

    /// Why a driver may lack what its version has.
    fn excuse(&self) -> &'static str {
        match self.kind {
            Kind::Software => "softcuda leaves out what the drivers that it imitates were seen to leave out",
            Kind::Custom => "the getter that was handed in withholds it",
            _ => {
                "a driver that was built without it, or a library that stands in for the driver, may be the reason"
            }
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
                 options say \"none\"; unset CUSHIM_DRIVER or name a driver"
            ),
            Status::NewerThanDriver => write!(
                f,
                "{base} (ABI {abi}) needs a driver for CUDA {since} or newer, and {}; {}",
                self.driver(),
                self.update(since)
            ),
            status @ (Status::Denied { .. } | Status::NotExported) => write!(
                f,
                "{base} (ABI {abi}) should exist since CUDA {since}, and {}, but {status} ({}); {}",
                self.driver(),
                self.exported,
                self.excuse()
            ),
        }
    }
}
