//! Builds the test programs that run on any driver, statically linked, into a folder: `pack FOLDER`.
//!
//! `scripts/gpu-pack.sh` calls it for machines that have a driver and nothing else.

#![cfg(target_os = "linux")]

use capi_tests::build::{Build, Link};
use capi_tests::parallel::for_each;
use capi_tests::programs::{ON_ANY_DRIVER, SHARED_ONLY, workshop};
use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("usage: pack FOLDER"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let workshop = workshop();
    let alone = ON_ANY_DRIVER.iter().filter(|name| !SHARED_ONLY.contains(name));
    for_each(alone, |name| {
        let program = Build::new(&workshop, &format!("{name}.c"))
            .link(Link::Static)
            .option("-Wl,--gc-sections")
            .program(name)?;
        std::fs::copy(program, folder.join(format!("c-{name}"))).map(drop).map_err(|error| error.to_string())
    });
}
