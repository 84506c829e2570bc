//! What the driver says about calls that fail, beyond their numbers.
//!
//! Drivers since 12.9 log to a callback, on the calling thread and before the failing call returns. They wait
//! in `log_lines` until the error of the call is made. A call that succeeds costs nothing.

use crate::driver::sys::{CU_LOG_LEVEL_ERROR, CUlogLevel};
use crate::driver::{Driver, calls::logs};
#[cfg(feature = "capi")]
use crate::object::logging::is_to_stderr;
use crate::object::{callback, log_lines};
use parking_lot::Mutex;

/// Listens to the driver's log from now on, if it has one. The driver must be initialised.
pub(crate) fn watch(driver: &Driver) {
    static WATCHED: Mutex<Vec<Driver>> = Mutex::new(Vec::new());
    if driver.object_table().cuLogsRegisterCallback_12090.is_none() {
        return;
    }
    let mut watched = WATCHED.lock();
    if watched.contains(driver) {
        return;
    }
    watched.push(driver.clone());
    drop(watched);
    if let Err(error) = logs::register(driver.object_table(), receive) {
        let answer = error.result().map_or(0, |result| result.0);
        log::debug!(target: "cushim", "the driver gives no log: {} answered {answer}", error.base());
    }
}

/// Takes a line from the driver. It may come at any point of any call, so nothing here waits for anything, and a log of the
/// program's gets the line from the worker. Stderr gets it now: a program may end at once when a call fails. A warning goes to
/// the log only: it may be about a call that succeeds.
fn receive(level: CUlogLevel, line: &[u8]) {
    let line = line.trim_ascii_end();
    let line = line.strip_suffix(b"\0").unwrap_or(line).trim_ascii_end();
    if level == CU_LOG_LEVEL_ERROR {
        log_lines::keep(line);
    }
    if log::max_level() >= log::Level::Debug {
        let line = String::from_utf8_lossy(line).into_owned();
        let log = move || log::debug!(target: "cushim::driver", "{line}");
        if is_to_stderr() { log() } else { callback::hand_over(Box::new(log)) }
    }
}

/// A Rust program has a logger of its own.
#[cfg(not(feature = "capi"))]
fn is_to_stderr() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::sys::CU_LOG_LEVEL_WARNING;

    #[test]
    fn errors_are_kept_and_warnings_are_not() {
        receive(CU_LOG_LEVEL_ERROR, b"one line\n\0");
        receive(CU_LOG_LEVEL_WARNING, b"a warning\n");
        assert_eq!(log_lines::about("cuInit"), "one line");
    }
}
