//! Builds the C and C++ programs that test cushim through its headers, and runs them on the drivers that they are for.
//!
//! - `c/`: the programs, one per area, in folders that its README explains;
//! - [`matrix`]: the one list of versions, and those of standards and compilers;
//! - [`header`]: what the headers declare, as data; [`interface`]: what `cushim.json` says of it;
//! - [`libraries`]: the libraries under test; [`build`]: programs against them; [`run`]: the programs on a driver;
//! - [`kept`]: what was built and is used again; [`generated`]: what the programs include;
//! - [`programs`]: which of them run where, built how; [`fuzz`]: what one of them knows of the interface;
//! - [`corpus`]: the kernels of `kernels/`, in one program;
//! - [`abi`]: the binary interface, and what has changed in it;
//! - `go/`: a binding in Go, and its tests;
//! - [`fault_sweep`]: all of them with the driver failing;
//! - [`parallel`]: many of these at a time.
#![cfg(target_os = "linux")]

pub mod abi;
pub mod build;
pub mod corpus;
pub mod fault_sweep;
pub mod forms;
pub mod fuzz;
pub mod generated;
pub mod header;
pub mod interface;
pub mod kept;
pub mod libraries;
pub mod matrix;
pub mod parallel;
pub mod programs;
pub mod run;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Says why a test cannot be run here; under `CUSHIM_REQUIRE=all` that is a failure.
///
/// # Panics
/// Under `CUSHIM_REQUIRE=all`.
pub fn skip(reason: fmt::Arguments<'_>) {
    let required = std::env::var_os("CUSHIM_REQUIRE").is_some_and(|value| value == "all");
    assert!(!required, "CUSHIM_REQUIRE=all: {reason}");
    say(format_args!("skipped: {reason}"));
}

/// Says a line that the test harness does not swallow.
///
/// # Panics
/// If standard error is closed.
pub fn say(line: fmt::Arguments<'_>) {
    writeln!(std::io::stderr(), "{line}").expect("standard error takes a line");
}

/// A path in the repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("..")).join(path)
}
