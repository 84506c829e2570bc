//! Runs `c/fuzz/fuzz.c` on softcuda with the arguments given: `fuzz [--safe] [--transcript] [--faults] [calls [seed [episode]]]`; or
//! `c/fuzz/graphs.c`, with `--graphs` before them, or `c/fuzz/threads.c`, with `--threads`.
//!
//! `FUZZ_VERSION` names another version than the newest. `scripts/fuzz.sh` calls it.

#![cfg(target_os = "linux")]

use capi_tests::build::{Build, Link};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::run::{Driver, Run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let source = match arguments.next_if(|first| ["--graphs", "--threads"].contains(&first.as_str())) {
        Some(first) => format!("fuzz/{}", first.trim_start_matches('-')),
        None => "fuzz/fuzz".to_owned(),
    };
    let version = std::env::var("FUZZ_VERSION").unwrap_or_else(|_| ONE_VERSION.to_owned());
    let build = Build::new(&source).link(Link::Static).option("-O1");
    let program = build.program().expect("it compiles");
    arguments.fold(Run::new(program, Driver::Software(&version)), Run::arg).code()
}
