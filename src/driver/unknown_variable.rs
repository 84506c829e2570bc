//! Variables and values that have no effect: a test of faults, say, must not pass because of a typing error.

use super::environment::{CHECK_VARIABLE, DRIVER_VARIABLE, Environment, SOFTWARE_VARIABLE};
use std::sync::{Mutex, PoisonError};

/// What the library reads. Of the last seven, one belongs to the log of the C library, one to the Python package, one to tests of Rust
/// programs (and to the project's own), four to programs that compile CUDA C++.
const VARIABLES: &[&str] = &[
    DRIVER_VARIABLE,
    SOFTWARE_VARIABLE,
    CHECK_VARIABLE,
    "CUSHIM_LOG",
    "CUSHIM_LIBRARY",
    "CUSHIM_REQUIRE",
    "CUSHIM_NVRTC",
    "CUSHIM_NVJITLINK",
    "CUSHIM_CACHE",
    "CUSHIM_CACHE_SIZE",
];
/// What can be checked. An empty word asks for nothing.
const CHECKS: [&str; 3] = ["graphs", "order", ""];
/// What the project's own tests and scripts read.
const OF_THE_PROJECT: &[&str] =
    &["CUSHIM_DEBIAN_MIRROR", "CUSHIM_LOOM_SHORT", "CUSHIM_MATRIX", "CUSHIM_REFRESH"];

/// Logs variables that are cushim's by their names and are none, and checks that there are not. Each once, for the first to whom the log
/// goes.
pub(super) fn tell(environment: &Environment) {
    if !environment.read || !log::log_enabled!(target: "cushim", log::Level::Error) {
        return;
    }
    let names = std::env::vars_os().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name);
    for name in names.map(|name| name.to_string_lossy().into_owned()).filter(|name| is_unknown(name)) {
        let known = VARIABLES.join(", ");
        tell_once(format!("{name} is no variable of cushim's, and has no effect; there are {known}"));
    }
    for word in environment.checks().filter(|word| !CHECKS.contains(&word.as_str())) {
        tell_once(format!(
            "{CHECK_VARIABLE} asks for \"{word}\", which has no effect; there are \"graphs\" and \"order\""
        ));
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
