//! Builds the test programs that run on any driver, statically linked, into a folder: `pack FOLDER [OPTION...] [NAME...]`;
//! of them all, or only those that are named (`objects/streams`, `cpp/streams`).
//!
//! `scripts/gpu-pack.sh` calls it for machines that have a driver and nothing else. With options, which those of the
//! sanitizers' scripts give, the compiler is clang, whose runtime libraries are those of Rust's.

#![cfg(target_os = "linux")]

use capi_tests::build::{Build, Link};
use capi_tests::matrix::Compiler;
use capi_tests::parallel::for_each;
use capi_tests::programs::{in_cpp, standing_alone};
use capi_tests::{corpus, forms};
use std::path::PathBuf;

fn main() {
    let usage = "usage: pack FOLDER [OPTION...] [NAME...]";
    let folder = PathBuf::from(std::env::args_os().nth(1).expect(usage));
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(2).partition(|word| word.starts_with('-'));
    let compiler = if options.is_empty() { Compiler::Gcc } else { Compiler::Clang };
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let is_wanted = |name: &String| names.is_empty() || names.contains(name);
    let programs = standing_alone().filter(is_wanted);
    let mut builds: Vec<(String, Build)> =
        programs.map(|name| (format!("c-{}", name.replace('/', "-")), Build::new(&name))).collect();
    let is_packed = |(name, _): &(String, Build)| is_wanted(name);
    let named = |(name, build): (String, Build)| {
        // A machine that has a driver and nothing else need not have the library of C++.
        let alone = |build: Build| build.option("-static-libstdc++").option("-static-libgcc");
        (format!("c-{}", name.replace('/', "-")), if options.is_empty() { alone(build) } else { build })
    };
    builds.extend(in_cpp().into_iter().filter(is_packed).map(named));
    if names.is_empty() {
        builds.extend([("kernels".to_owned(), corpus::build()), ("forms".to_owned(), forms::build())]);
    }
    for_each(builds, |(name, build)| {
        let build = build.link(Link::Static).compiler(compiler).option("-Wl,--gc-sections");
        let program = options.iter().fold(build, Build::option).program()?;
        std::fs::copy(program, folder.join(name)).map(drop).map_err(|error| error.to_string())
    });
}
