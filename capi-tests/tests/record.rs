//! Every function was seen to succeed, and to return each status that its documentation names: by the C programs on
//! softcuda and "none", or on a GPU in the transcript that is committed.

use capi_tests::build::Build;
use capi_tests::interface::{self, list, text};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::programs::{ON_ANY_DRIVER, on_none, workshop};
use capi_tests::repository;
use capi_tests::run::{Driver, Run};
use cushim::Status;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What was seen: functions and statuses.
type Seen = BTreeSet<(String, i32)>;

/// What programs in C on Linux do not see.
const ELSEWHERE: &[(&str, &str)] = &[
    // Linux has it, and a program without descriptors cannot record; `tests/callback_c.rs` sees the second.
    ("cushim_drain_fd", "CUSHIM_ERROR_UNSUPPORTED"),
    ("cushim_drain_fd", "CUSHIM_ERROR_INTERNAL"),
    // Programs in Rust with a logger of their own; `tests/logging.rs` sees it.
    ("cushim_log_set_callback", "CUSHIM_ERROR_UNSUPPORTED"),
    ("cushim_log_set_pull", "CUSHIM_ERROR_UNSUPPORTED"),
];

#[test]
fn every_function_was_seen_to_return_what_it_says() {
    let interface = interface::read();
    let mut seen = run_all();
    seen.extend(read(&repository("docs/verified/record-580.txt")));
    let functions = list(&interface, "functions");
    let missing: Vec<String> =
        functions.iter().flat_map(|function| unseen(&interface, function, &seen)).collect();
    assert!(missing.is_empty(), "{} were never seen:\n{}", missing.len(), missing.join("\n"));
}

/// Runs the programs, each on an old driver and a new one, and on none where it can.
fn run_all() -> Seen {
    let workshop = workshop();
    let record = workshop.path().join("record");
    let run = |name: &str, driver: Driver<'_>| {
        let program = Build::new(&workshop, &format!("{name}.c")).program(&format!("{name}-{driver:?}"))?;
        Run::new(program, driver).env("CHECK_RECORD", &record).checks()
    };
    let versions = ["11.4", ONE_VERSION];
    let mut runs: Vec<(&str, Driver<'_>)> = on_none().map(|name| (name, Driver::None)).collect();
    runs.extend(
        ON_ANY_DRIVER.iter().flat_map(|name| versions.map(|version| (*name, Driver::Shell(version)))),
    );
    for_each(runs, |(name, driver)| run(name, driver));
    let no_device = Build::new(&workshop, "objects_no_device.c").program("no_device").expect("it compiles");
    let no_pools = Build::new(&workshop, "objects_no_pools.c").program("no_pools").expect("it compiles");
    for (program, variable) in [(no_device, "SOFTCUDA_DEVICES"), (no_pools, "SOFTCUDA_MEMORY_POOLS")] {
        let run = Run::new(program, Driver::Shell(ONE_VERSION)).env(variable, "0");
        run.env("CHECK_RECORD", &record).checks().unwrap_or_else(|failure| panic!("{failure}"));
    }
    read(&record)
}

/// The lines that the recorder wrote: `cushim_stream_query 0`. One that begins with # says where they come from.
fn read(path: &Path) -> Seen {
    let written = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = |line: &str| {
        let (function, status) = line.split_once(' ').expect("a function and a status");
        (function.to_owned(), status.parse().expect("a number"))
    };
    written.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

/// What a function says that it returns and was not seen to.
fn unseen(interface: &Value, function: &Value, seen: &Seen) -> Vec<String> {
    let name = text(function, "name");
    let errors = list(function, "errors").iter().map(|error| error.as_str().expect("a name"));
    let statuses = errors.map(|error| (error, number(interface, error))).chain([("success", 0)]);
    let is_missing = |(_, status): &(&str, i32)| !seen.contains(&(name.to_owned(), *status));
    let is_due = |(error, _): &(&str, i32)| !ELSEWHERE.contains(&(name, error));
    statuses.filter(is_missing).filter(is_due).map(|(error, _)| format!("{name}: {error}")).collect()
}

/// The number of a status.
fn number(interface: &Value, status: &str) -> i32 {
    let own = list(interface, "enums").iter().flat_map(|item| list(item, "values"));
    let own = own.into_iter().find(|value| text(value, "name") == status);
    let of_driver = || {
        (1..1000).find(|code| Status(*code).name().is_some_and(|name| name.to_bytes() == status.as_bytes()))
    };
    let found = own.and_then(|value| i32::try_from(value["value"].as_i64()?).ok()).or_else(of_driver);
    found.unwrap_or_else(|| panic!("{status} is no status"))
}
