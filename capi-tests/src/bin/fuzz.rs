//! Runs `c/fuzz/fuzz.c` on softcuda with the arguments given: `fuzz [--safe] [--transcript] [calls [seed [episode]]]`.
//!
//! `scripts/fuzz.sh` calls it.

#![cfg(target_os = "linux")]

use capi_tests::build::{Build, Link};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::run::{Driver, Run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let build = Build::new("fuzz/fuzz").link(Link::Static).option("-O1");
    let program = build.program().expect("it compiles");
    let run = std::env::args().skip(1).fold(Run::new(program, Driver::Software(ONE_VERSION)), Run::arg);
    run.code()
}
