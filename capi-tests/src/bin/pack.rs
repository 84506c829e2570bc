//! Builds the test programs that run on any driver, statically linked, into a folder: `pack FOLDER [OPTION...]`.
//!
//! `scripts/gpu-pack.sh` calls it for machines that have a driver and nothing else. With options, which those of the
//! sanitizers' scripts give, the compiler is clang, whose runtime libraries are those of Rust's.

#![cfg(target_os = "linux")]

use capi_tests::build::{Build, Link};
use capi_tests::matrix::Compiler;
use capi_tests::parallel::for_each;
use capi_tests::programs::{ON_ANY_DRIVER, SHARED_ONLY, workshop};
use capi_tests::{corpus, forms};
use std::path::PathBuf;

fn main() {
    let usage = "usage: pack FOLDER [OPTION...]";
    let folder = PathBuf::from(std::env::args_os().nth(1).expect(usage));
    let options: Vec<String> = std::env::args().skip(2).collect();
    let compiler = if options.is_empty() { Compiler::Gcc } else { Compiler::Clang };
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let workshop = workshop();
    let alone = ON_ANY_DRIVER.iter().filter(|name| !SHARED_ONLY.contains(name));
    for_each(alone, |name| {
        let build = Build::new(&workshop, &format!("{name}.c")).link(Link::Static).compiler(compiler);
        let build = options.iter().fold(build.option("-Wl,--gc-sections"), Build::option);
        let program = build.program(name)?;
        std::fs::copy(program, folder.join(format!("c-{name}"))).map(drop).map_err(|error| error.to_string())
    });
    let kernels =
        corpus::program(&workshop, Link::Static, "kernels").unwrap_or_else(|failure| panic!("{failure}"));
    std::fs::copy(kernels, folder.join("kernels")).expect("the program can be copied");
    let forms =
        forms::program(&workshop, Link::Static, "forms").unwrap_or_else(|failure| panic!("{failure}"));
    std::fs::copy(forms, folder.join("forms")).expect("the program can be copied");
}
