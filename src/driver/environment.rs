//! Which environment variables steer the search, and when they may not.

use std::ffi::{OsStr, OsString};
use std::sync::{Mutex, PoisonError};

/// Chooses the driver: `auto`, `software`, `none`, or a library to load.
pub const DRIVER_VARIABLE: &str = "CUSHIM_DRIVER";
/// The library to load where `software` is chosen.
pub const SOFTWARE_VARIABLE: &str = "CUSHIM_SOFTCUDA";
/// What is checked beyond the ordinary, at a cost: a list of words with commas between them. `graphs` is one
/// ([`OpenOptions::check_graphs`](super::OpenOptions::check_graphs)).
pub const CHECK_VARIABLE: &str = "CUSHIM_CHECK";
/// The version that softcuda impersonates; a shell with exactly that version's exports is preferred where there is one.
pub const SOFTWARE_VERSION_VARIABLE: &str = "SOFTCUDA_VERSION";

/// What the library reads. The last one belongs to the log of the C library.
const VARIABLES: &[&str] = &[DRIVER_VARIABLE, SOFTWARE_VARIABLE, CHECK_VARIABLE, "CUSHIM_LOG"];
/// What the project's own tests and scripts read.
const OF_THE_PROJECT: &[&str] =
    &["CUSHIM_DEBIAN_MIRROR", "CUSHIM_LOOM_SHORT", "CUSHIM_MATRIX", "CUSHIM_REFRESH", "CUSHIM_REQUIRE"];

/// An environment variable that was set when a driver was opened, and read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// `CUSHIM_DRIVER`, `CUSHIM_SOFTCUDA`, `CUSHIM_CHECK` or `SOFTCUDA_VERSION`.
    pub name: &'static str,
    /// Its value, never empty: an empty variable counts as unset.
    pub value: OsString,
}

/// What the environment says, read once for each opening.
#[derive(Debug)]
pub(super) struct Environment {
    /// The process runs with rights that its user does not have.
    pub(super) privileged: bool,
    /// The variables were looked at.
    pub(super) read: bool,
    /// Those that are set.
    pub(super) variables: Vec<Variable>,
}

impl Environment {
    /// Reads the environment, unless the caller or the process's privileges forbid it.
    pub(super) fn read(allowed: bool) -> Self {
        let privileged = is_privileged();
        let read = allowed && !privileged;
        let names: &[&'static str] = if read {
            &[DRIVER_VARIABLE, SOFTWARE_VARIABLE, SOFTWARE_VERSION_VARIABLE, CHECK_VARIABLE]
        } else {
            &[]
        };
        let variables = names.iter().filter_map(|&name| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
            Some(Variable { name, value })
        });
        Self { privileged, read, variables: variables.collect() }
    }

    /// The value of a variable that is set and may be read.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .iter()
            .find(|variable| variable.name == name)
            .map(|variable| variable.value.as_os_str())
    }

    /// Whether the memory of graphs is to be checked at each launch.
    pub(super) fn checks_graphs(&self) -> bool {
        self.checks().any(|word| word == "graphs")
    }

    /// Logs what has no effect: variables that are cushim's by their names and are none, and checks that there are not. Each once, for the
    /// first to whom the log goes.
    pub(super) fn tell_unknown(&self) {
        if !self.read || !log::log_enabled!(target: "cushim", log::Level::Error) {
            return;
        }
        let names = std::env::vars_os().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name);
        for name in names.map(|name| name.to_string_lossy().into_owned()).filter(|name| is_unknown(name)) {
            tell_once(format!(
                "{name} is no variable of cushim's, and has no effect; there are {}",
                VARIABLES.join(", ")
            ));
        }
        for word in self.checks().filter(|word| !word.is_empty() && word != "graphs") {
            tell_once(format!(
                "{CHECK_VARIABLE} asks for \"{word}\", which has no effect; there is only \"graphs\""
            ));
        }
    }

    fn checks(&self) -> impl Iterator<Item = String> {
        let words = self.get(CHECK_VARIABLE).map(OsStr::to_string_lossy).unwrap_or_default().into_owned();
        words.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>().into_iter()
    }
}

/// Whether a variable is cushim's by its name and nobody's in truth: a misspelt one. `CUSHIM_TEST_…` is left to programs.
fn is_unknown(name: &str) -> bool {
    let is_known = VARIABLES.contains(&name) || OF_THE_PROJECT.contains(&name);
    name.starts_with("CUSHIM_") && !name.starts_with("CUSHIM_TEST_") && !is_known
}

fn tell_once(text: String) {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = !told.contains(&text);
    if is_new {
        told.push(text.clone());
    }
    // A program's own logger may open a driver.
    drop(told);
    if is_new {
        log::error!(target: "cushim", "{text}");
    }
}

/// Whether the process was started set-uid, set-gid or with file capabilities, so that whoever set its environment has
/// fewer rights than it has.
#[cfg(target_os = "linux")]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: reads one word of the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: the four calls only read the identity of the process.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

#[cfg(not(unix))]
pub(crate) fn is_privileged() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::is_unknown;

    #[test]
    fn whose_a_variable_is() {
        for name in ["CUSHIM_DRIVR", "CUSHIM_LOGS", "CUSHIM_", "CUSHIM_CHECKS", "CUSHIM_TEST"] {
            assert!(is_unknown(name), "{name}");
        }
        for name in [
            "CUSHIM_DRIVER",
            "CUSHIM_LOG",
            "CUSHIM_REQUIRE",
            "CUSHIM_TEST_",
            "CUSHIM_TEST_MINE",
            "MY_CUSHIM_X",
        ] {
            assert!(!is_unknown(name), "{name}");
        }
    }
}
