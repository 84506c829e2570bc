//! The examples that a newcomer copies from, in Rust: each prints what the one in C prints.
//!
//! `cargo test` builds examples before it runs tests; `cargo test --test examples` does not, so a program that is older than
//! its source is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The example as it was built.
fn program(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("the test program knows where it is");
    let profile = this.parent().and_then(Path::parent).expect("it lies in target/<profile>/deps");
    let program = profile.join("examples").join(name);
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let source = changed(&repository("examples").join(name).with_extension("rs"));
    assert!(changed(&program) >= source, "run `cargo build --example {name}` first");
    program
}

/// The example prints the first so many lines of the file beside it, on every version.
fn prints(name: &str, lines: usize) {
    let expected = std::fs::read_to_string(repository("examples").join(name).with_extension("txt"));
    let expected = expected.expect("it is there");
    let expected: Vec<&str> = expected.lines().take(lines).collect();
    for (version, _) in softcuda::VERSIONS {
        let mut command = Command::new(program(name));
        let output = command.env("CUSHIM_DRIVER", "software").env("SOFTCUDA_VERSION", version).output();
        let output = output.expect("it runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{version}: {err}");
        assert_eq!(out.lines().collect::<Vec<_>>(), expected, "{version}");
    }
}

#[test]
fn ordered_prints_what_the_program_in_c_prints() {
    // The last line is of a mistake that Rust does not let anybody make.
    prints("ordered", 2);
}

#[test]
fn managed_prints_what_the_program_in_c_prints() {
    prints("managed", usize::MAX);
}

#[test]
fn saxpy_prints_what_the_program_in_c_prints() {
    prints("saxpy", usize::MAX);
}

#[test]
fn without_a_driver_it_says_so() {
    let mut command = Command::new(program("ordered"));
    let output = command.env("CUSHIM_DRIVER", "/nonexistent/libcuda.so.1").output().expect("it runs");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("/nonexistent/libcuda.so.1"), "{err}");
}
