//! Which environment variables steer the search, and when they may not.

use std::ffi::{OsStr, OsString};

/// Chooses the driver: `auto`, `software`, `none`, or a library to load.
pub const DRIVER_VARIABLE: &str = "CUSHIM_DRIVER";
/// The library to load where `software` is chosen.
pub const SOFTWARE_VARIABLE: &str = "CUSHIM_SOFTCUDA";
/// What is checked beyond the ordinary, at a cost: a list of words with commas between them. `graphs` is one
/// ([`OpenOptions::check_graphs`](super::OpenOptions::check_graphs)), `order` the other ([`OpenOptions::check_order`](super::OpenOptions::check_order)).
pub const CHECK_VARIABLE: &str = "CUSHIM_CHECK";
/// The version that softcuda impersonates; a shell with exactly that version's exports is preferred where there is one.
pub const SOFTWARE_VERSION_VARIABLE: &str = "SOFTCUDA_VERSION";

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

    /// Whether operations that nothing orders are to be named.
    pub(super) fn checks_order(&self) -> bool {
        self.checks().any(|word| word == "order")
    }

    /// The words of `CUSHIM_CHECK`.
    pub(super) fn checks(&self) -> impl Iterator<Item = String> {
        let words = self.get(CHECK_VARIABLE).map(OsStr::to_string_lossy).unwrap_or_default().into_owned();
        words.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>().into_iter()
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
