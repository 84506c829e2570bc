//! Runs `c/softcuda/soak.c` on softcuda with the arguments given: `soak [SECONDS]`. `scripts/soak.sh` calls it.

#![cfg(target_os = "linux")]

use capi_tests::build::Build;
use capi_tests::matrix::ONE_VERSION;
use capi_tests::run::{Driver, Run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let program = Build::new("softcuda/soak").program().expect("it compiles");
    std::env::args().skip(1).fold(Run::new(program, Driver::Software(ONE_VERSION)), Run::arg).code()
}
