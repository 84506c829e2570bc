//! The Python package, `python/`: what is generated of it, its types, and its tests, which are pytest's.

use capi_tests::libraries::{installed, soname};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, skip};
use std::path::PathBuf;
use std::process::Command;

fn packages() -> PathBuf {
    repository("target/python")
}

/// Whether Python has the module, in what `.ci/run` puts into `target/python`, or anywhere else.
fn has(module: &str) -> bool {
    let import = format!("import {module}");
    let output = Command::new("python3").args(["-c", &import]).env("PYTHONPATH", packages()).output();
    let found = output.is_ok_and(|output| output.status.success());
    if !found {
        skip(format_args!("no {module}; python3 -m pip install --target target/python {module}"));
    }
    found
}

fn python(driver: Driver<'_>) -> Run {
    let path = std::env::join_paths([repository("python"), packages()]).expect("paths without colons");
    let run = Run::new("python3", driver).env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1");
    run.env("CUSHIM_LIBRARY", installed().join(soname()))
}

#[test]
fn what_is_generated_is_not_stale() {
    if has("cffi") {
        let generate = repository("python/generate.py");
        python(Driver::Unset).arg(generate).arg("--check").output().expect("it is not stale");
    }
}

/// A function of the interface that is just a function has a form by the generator. One that is not needs one by hand, or a line in
/// `python/absent.txt` that says why there is none.
#[test]
fn each_function_has_a_form_or_a_reason() {
    let output = Command::new("python3").arg(repository("python/forms.py")).arg("--check").output();
    let output = output.expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn its_types_are_right() {
    if has("mypy") && has("cffi") && has("pytest") {
        let kept = tempfile::tempdir().expect("a folder");
        let run = python(Driver::Unset).folder(&repository("python"));
        run.arg("-m").arg("mypy").arg("--cache-dir").arg(kept.path()).output().expect("mypy finds nothing");
    }
}

/// Additions are told, and whatever is gone or changed of `abi/cushim.python.txt` fails.
#[test]
fn its_signatures_stay() {
    if has("cffi") {
        let said = python(Driver::Unset).arg(repository("python/signatures.py")).arg("--check").output();
        let said = said.expect("nothing is gone");
        if !said.is_empty() {
            capi_tests::say(format_args!("{said}"));
        }
    }
}

/// On drivers that differ in what the package does by itself (sizes of parameters from 12.4 on, say), and with schedules in which
/// nothing is done before something waits for it, or in any order.
#[test]
fn its_tests_pass() {
    if !(has("pytest") && has("cffi") && has("numpy")) {
        return;
    }
    let tests = repository("python/tests");
    let runs = [("11.4", "eager"), ("12.2", "lazy"), ("12.4", "seeded"), ("13.0", "eager"), ("13.5", "lazy")];
    for_each(runs, |(version, schedule)| {
        let run = python(Driver::Shell(version)).env("SOFTCUDA_SCHEDULE", schedule);
        let run = run.arg("-m").arg("pytest").arg("-q").arg("-p").arg("no:cacheprovider").arg(&tests);
        run.output().map(drop)
    });
}
