//! Why a text does not become a module.

use std::fmt;

/// What kind of refusal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The text is not PTX at all: it lacks `.version`.
    NotPtx,
    /// The text breaks PTX's rules.
    Invalid,
    /// `.version` is newer than the driver reads.
    Version,
    /// `.target` is unknown, or a newer device's.
    Target,
    /// PTX that this engine does not execute.
    Uncovered,
    /// More memory of a kind than devices have; the log is ptxas' sentence.
    Limit,
}

/// A text that was refused, with the log to show.
#[derive(Clone, Debug)]
pub struct JitError {
    /// The kind.
    pub refusal: Refusal,
    /// One sentence a line, with line numbers of the text.
    pub log: String,
}

impl JitError {
    pub(super) fn new(refusal: Refusal, line: u32, what: &str) -> Self {
        let log = if line == 0 { what.to_owned() } else { format!("line {line}: {what}") };
        Self { refusal, log }
    }

    /// Something was found where it cannot stand.
    pub(super) fn syntax(line: u32, found: &str) -> Self {
        Self::new(Refusal::Invalid, line, &format!("syntax error at {found}"))
    }

    pub(super) fn invalid(line: u32, what: impl AsRef<str>) -> Self {
        Self::new(Refusal::Invalid, line, what.as_ref())
    }

    pub(super) fn limit(what: &str) -> Self {
        Self::new(Refusal::Limit, 0, what)
    }

    pub(super) fn uncovered(line: u32, what: impl AsRef<str>) -> Self {
        Self::new(Refusal::Uncovered, line, what.as_ref())
    }
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.log)
    }
}

impl std::error::Error for JitError {}
