//! How the search for a driver went.

use super::environment::Variable;
use super::getter::GetterKind;
use super::kind::Kind;
use super::options::Choice;
use super::version::Version;
use std::fmt;
use std::path::PathBuf;

/// Why a library was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The caller named it in the options.
    Options,
    /// An environment variable names it: this one.
    Environment(&'static str),
    /// It may be in the process already.
    Loaded,
    /// The system's loader may find it in its folders.
    Loader,
    /// It is a place where drivers are installed.
    Folder,
    /// It lies beside the module that holds this code.
    Module,
    /// The caller handed in a getter; no library is loaded.
    Getter,
}

impl Origin {
    /// The word that reports use: `options`, the variable's name, `loaded already`, `loader`, `folder`, `module` or
    /// `getter`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Options => "options",
            Self::Environment(variable) => variable,
            Self::Loaded => "loaded already",
            Self::Loader => "loader",
            Self::Folder => "folder",
            Self::Module => "module",
            Self::Getter => "getter",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What came of trying a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It is the driver that was opened.
    Opened,
    /// There is no such library.
    Absent,
    /// It is there and does not serve.
    Refused,
}

impl Outcome {
    /// The word that reports use: `opened`, `absent` or `refused`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Absent => "absent",
            Self::Refused => "refused",
        }
    }
}

/// One library that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The name or path that was given to the loader.
    pub name: PathBuf,
    /// Why it was tried.
    pub origin: Origin,
    /// What came of it. A library that the loader passes over without a word, because it may not read it or because it is
    /// one for another machine, counts as absent.
    pub outcome: Outcome,
    /// The real path of the file, where the loader got so far as to load it.
    pub path: Option<PathBuf>,
    /// Why it does not serve, in the loader's own words where the loader refused it; `None` for the one that was opened.
    pub error: Option<String>,
    /// What sort of driver it is, where that came to light: that of the one that was opened, or [`Kind::Stub`].
    pub kind: Option<Kind>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.display();
        let outcome = self.error.as_deref().unwrap_or("opened");
        // The loader begins with the name, which needs no repeating.
        let outcome = outcome.strip_prefix(&format!("{name}: ")).unwrap_or(outcome);
        write!(f, "{name} ({}): {outcome}", self.origin)
    }
}

/// How the search for a driver went, and what it led to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// What was asked for; `None` if nothing was, or if the caller handed in a getter.
    pub choice: Option<Choice>,
    /// Who asked for it, [`Origin::Options`] or [`Origin::Environment`]; `None` where there is no choice.
    pub chosen_by: Option<Origin>,
    /// The libraries that were tried, in order; the last is the one that was opened, if one was.
    pub candidates: Vec<Candidate>,
    /// The process has more rights than its user, so no environment variable was read.
    pub privileged: bool,
    /// Environment variables were read.
    pub environment_read: bool,
    /// Those of them that are set.
    pub variables: Vec<Variable>,
    /// The real path of the library that was opened; `None` without a library.
    pub path: Option<PathBuf>,
    /// What sort of driver it is; `None` if none was opened.
    pub kind: Option<Kind>,
    /// The CUDA version that the driver reports; `None` without a driver.
    pub version: Option<Version>,
    /// How it is asked for symbols; `None` if none was opened.
    pub getter: Option<GetterKind>,
}
