//! Which checks are on (`SOFTCUDA_CHECK`), and what becomes of their reports.

use super::counts::{self, CHECKS};
use super::environment::variable;
use super::output;
use parking_lot::Mutex;
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Which checks there are.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Checks {
    /// Uses of the same bytes that nothing orders.
    pub(crate) races: bool,
    /// Uses of what is no memory, not yet or not any more.
    pub(crate) memory: bool,
    /// Uses of what nothing has written.
    pub(crate) uninitialised: bool,
    /// What is never released.
    pub(crate) leaks: bool,
}

impl Checks {
    /// The names of some, with commas between them.
    pub(super) fn named(text: &str) -> Result<Self, String> {
        let mut checks = Self::default();
        for name in text.split(',').map(str::trim) {
            match name {
                "races" => checks.races = true,
                "memory" => checks.memory = true,
                "uninitialised" => checks.uninitialised = true,
                "leaks" => checks.leaks = true,
                _ => return Err("a list of races, memory, uninitialised and leaks".to_owned()),
            }
        }
        Ok(checks)
    }

    pub(crate) fn is_any(self) -> bool {
        self != Self::default()
    }

    /// Whether it matters what work does, and in which order.
    pub(crate) fn follow_work(self) -> bool {
        self.races || self.memory || self.uninitialised
    }
}

static LOG: Mutex<Option<File>> = Mutex::new(None);
/// Lines with `*` for any characters.
static SUPPRESSIONS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The status with which the process exits if there are reports; 0: as it would.
static STATUS: AtomicI32 = AtomicI32::new(0);
/// The process that checks: children of a fork have copies of what it knows.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The variables that say what becomes of reports.
pub(super) const VARIABLES: [&str; 3] =
    ["SOFTCUDA_CHECK_EXIT", "SOFTCUDA_CHECK_LOG", "SOFTCUDA_CHECK_SUPPRESSIONS"];

/// Arranges what the environment asks for, if any check `is_on`.
pub(super) fn arrange(is_on: bool) -> Result<(), String> {
    let [exit, log, suppressions] = VARIABLES;
    let status = variable(exit, 0, |text| {
        text.parse()
            .ok()
            .filter(|status| (0..=255).contains(status))
            .ok_or_else(|| "a status from 0 to 255".to_owned())
    })?;
    STATUS.store(status, Ordering::Relaxed);
    variable(log, (), |text| {
        let opened = output::open(text, true).map(|file| *LOG.lock() = Some(file));
        opened.map_err(|error| format!("a file that reports can be written to: {error}"))
    })?;
    variable(suppressions, (), |text| {
        let read = std::fs::read_to_string(text).map(|text| suppress(&text));
        read.map_err(|error| format!("a file that can be read: {error}"))
    })?;
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    counts::watch(CHECKS, is_on);
    Ok(())
}

/// Lines that are empty or begin with `#` say nothing.
fn suppress(text: &str) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    *SUPPRESSIONS.lock() = lines.map(str::to_owned).collect();
}

/// Whether reports of these places are not wanted.
pub(crate) fn is_suppressed(places: &str) -> bool {
    SUPPRESSIONS.lock().iter().any(|pattern| matches(pattern, places))
}

/// Whether a pattern means all of a text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            let Some(at) = rest.find(middle) else { return false };
            rest = &rest[at + middle.len()..];
        }
    }
    last.map_or(rest.is_empty(), |end| rest.ends_with(end))
}

/// Adds a line to the log, if there is one.
pub(crate) fn log(line: &str) {
    if let Some(file) = &mut *LOG.lock() {
        // A full disk loses lines; the program goes on.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

/// The status with which the process is to exit if there are reports; 0: as it would.
pub(crate) fn exit_status() -> i32 {
    STATUS.load(Ordering::Relaxed)
}

/// Whether this is the process that checks, and no child of it.
pub(crate) fn is_of_this_process() -> bool {
    PROCESS.load(Ordering::Relaxed) == std::process::id()
}

#[cfg(test)]
mod tests {
    use super::{Checks, matches};

    #[test]
    fn names() {
        assert_eq!(Checks::named("races"), Ok(Checks { races: true, ..Checks::default() }));
        let all = Checks { races: true, memory: true, uninitialised: true, leaks: true };
        assert_eq!(Checks::named("memory, leaks,uninitialised,races"), Ok(all));
        for wrong in ["", "race", "races,", "races;races"] {
            assert!(Checks::named(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, text, is) in [
            ("race: a / b", "race: a / b", true),
            ("race: a", "race: a / b", false),
            ("race: *", "race: a / b", true),
            ("*b", "race: a / b", true),
            ("*a*b*", "race: a / b", true),
            ("*b*a*", "b / c", false),
            ("", "", true),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern:?} {text:?}");
        }
    }
}
