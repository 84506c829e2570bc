//! Writes `abi/libcushim.abi`, the dump of the binary interface that `tests/c_api/abi.rs` compares with.

#![cfg(target_os = "linux")]

use capi_tests::abi::{DUMP, PACKAGE, Version, is_possible};
use capi_tests::{interface, repository};

fn main() {
    assert!(is_possible(), "apt install {PACKAGE}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let version = Version { headers: &repository("include"), interface: &interface::read() };
    let dump = version.dump(folder.path()).unwrap_or_else(|failure| panic!("{failure}"));
    std::fs::write(repository(DUMP), dump).expect("the dump is written");
}
