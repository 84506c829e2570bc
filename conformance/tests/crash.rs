//! What the suite makes of drivers that crash, fail, or are not there.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn build(folder: &Path, source: &str) -> PathBuf {
    let library = folder.join("libcrashing.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", source, "-o"])
        .arg(&library)
        .status()
        .expect("a C compiler runs");
    assert!(status.success(), "the C compiler fails");
    library
}

fn conformance(driver: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command.arg("--driver").arg(driver).args(options).output().expect("the suite runs")
}

#[test]
fn a_crash_is_the_answer_to_its_question() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let driver = build(folder.path(), "tests/crashing.c");
    let output = conformance(&driver, &["--section", "devices", "--section", "peers"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split("  ").filter(|part| !part.is_empty()).collect()).collect();
    let rest = |from: usize| {
        lines[from..]
            .iter()
            .map(|line| line.iter().map(|part| part.trim()).collect())
            .collect::<Vec<Vec<_>>>()
    };
    assert_eq!(
        rest(1),
        [
            vec!["[devices]"],
            vec!["count", "CUDA_SUCCESS"],
            vec!["at least one", "yes"],
            vec!["count to NULL", "!! killed by signal 6"],
            vec!["name in 0 bytes", "absent: cuDeviceGetName_2000"],
            vec!["[peers]"],
            vec!["!! cannot go on: cuDevicePrimaryCtxRetain_7000 absent: cuDevicePrimaryCtxRetain_7000"],
        ]
    );
}

#[test]
fn separate_questions_are_put_after_a_crash_and_after_a_lasting_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let driver = build(folder.path(), "tests/fragile.c");
    let output = conformance(&driver, &["--section", "graph_objects"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let answer = |question: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(question));
        let answer = lines.next().unwrap_or_else(|| panic!("{question} is not there:\n{text}")).trim();
        assert_eq!(lines.next(), None, "{question} is there twice:\n{text}");
        answer.to_owned()
    };
    assert_eq!(answer("create with flags 0"), "!! killed by signal 6");
    assert_eq!(answer("create with flags 1"), "CUDA_SUCCESS");
    assert_eq!(answer("create with flags 2"), "CUDA_SUCCESS");
    assert_eq!(answer("create with flags 3"), "CUDA_SUCCESS");
    assert_eq!(answer("retain (move)"), "absent: cuGraphCreate_10000");
}

#[test]
fn stories_are_told_after_a_crash() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let driver = build(folder.path(), "tests/fragile.c");
    let output = conformance(&driver, &["--section", "capture_replays"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let crashes = text.lines().filter(|line| line.contains("!! killed by signal 6")).count();
    assert_eq!(crashes, 9, "one for each story:\n{text}");
    assert!(!text.contains("# story"), "{text}");
}

#[test]
fn a_driver_that_answers_otherwise_is_told_from_580() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let driver = build(folder.path(), "tests/crashing.c");
    let output = conformance(&driver, &["--section", "devices", "--compare"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("# [devices] attribute: expected CUDA_SUCCESS, found no such line\n"), "{text}");
}

#[test]
fn a_driver_that_cannot_be_opened_is_said_to_be_so() {
    let output = conformance(Path::new("/nonexistent/libcuda.so"), &[]);
    assert_eq!(output.status.code(), Some(10));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("conformance: "), "{output:?}");
}

#[test]
fn a_command_line_without_sense_is_refused() {
    for options in [
        &["--section", "nonsense"][..],
        &["--nonsense"],
        &["--section"],
        &["--part", "noctx:99:0"],
        &["--part", "noctx:0"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_conformance")).args(options).output().expect("the suite runs");
        assert_eq!(output.status.code(), Some(2), "{options:?}: {output:?}");
    }
}
