//! The Python package, `python/`: what is generated of it, its types, and its tests, which are pytest's.

use capi_tests::libraries::{installed, library, soname};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, skip};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn packages() -> PathBuf {
    repository("target/python")
}

/// Whether Python has the module, in what `.ci/run` puts into `target/python`, or anywhere else.
pub(crate) fn has(module: &str) -> bool {
    let import = format!("import {module}");
    let output = Command::new("python3").args(["-c", &import]).env("PYTHONPATH", packages()).output();
    let found = output.is_ok_and(|output| output.status.success());
    if !found {
        skip(format_args!("no {module}; python3 -m pip install --target target/python {module}"));
    }
    found
}

fn python(driver: Driver<'_>) -> Run {
    python_of(driver, &repository("python"))
}

/// Python with the package that is in a folder.
fn python_of(driver: Driver<'_>, package: &Path) -> Run {
    let path = std::env::join_paths([package, &packages()]).expect("paths without colons");
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

/// The package as a wheel has it, with the compiled module.
fn with_module() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("cushim");
    std::fs::create_dir(&package).expect("a folder");
    for file in std::fs::read_dir(repository("python/cushim")).expect("the package is there") {
        let file = file.expect("a file");
        symlink(file.path(), package.join(file.file_name())).expect("a link");
    }
    symlink(library("libcushim_python.so"), package.join("_native.abi3.so")).expect("a link");
    folder
}

/// The compiled module is one of Python's limited interface of 3.9, so it takes no more of Python than that.
#[test]
fn its_module_is_for_all_pythons() {
    let output =
        Command::new("nm").args(["-D", "--undefined-only"]).arg(library("libcushim_python.so")).output();
    let text = String::from_utf8(output.expect("nm runs; install binutils").stdout).expect("names");
    let taken: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("U ")).collect();
    let allowed = [
        "PyBool_FromLong",
        "PyCFunction_NewEx",
        "PyCapsule_GetPointer",
        "PyCapsule_IsValid",
        "PyDescr_NewMethod",
        "PyDict_New",
        "PyDict_SetItem",
        "PyErr_Occurred",
        "PyErr_SetString",
        "PyEval_RestoreThread",
        "PyEval_SaveThread",
        "PyExc_ValueError",
        "PyFloat_AsDouble",
        "PyFloat_Type",
        "PyLong_AsLongLongAndOverflow",
        "PyLong_AsUnsignedLongLong",
        "PyLong_FromLongLong",
        "PyLong_Type",
        "PyModule_AddObject",
        "PyModule_Create2",
        "PyObject_Call",
        "PyTuple_GetItem",
        "PyTuple_New",
        "PyTuple_SetItem",
        "PyTuple_Size",
        "PyTuple_Type",
        "PyType_FromSpec",
        "PyType_IsSubtype",
        "PyUnicode_CompareWithASCIIString",
        "Py_DecRef",
        "Py_IncRef",
        "_Py_NoneStruct",
    ];
    let python: Vec<&&str> = taken.iter().filter(|name| name.contains("Py")).collect();
    assert!(python.len() > 20 && python.iter().all(|name| allowed.contains(name)), "{python:?}");
}

/// On drivers that differ in what the package does by itself (sizes of parameters from 12.4 on, say), and with schedules in which
/// nothing is done before something waits for it, or in any order. With the compiled module, and without it.
#[test]
fn its_tests_pass() {
    if !(has("pytest") && has("cffi") && has("numpy")) {
        return;
    }
    let tests = repository("python/tests");
    let module = with_module();
    let (plain, compiled) = (repository("python"), module.path());
    let runs = [
        ("11.4", "eager", compiled),
        ("12.2", "lazy", &plain),
        ("12.4", "seeded", compiled),
        ("13.0", "eager", &plain),
        ("13.5", "lazy", compiled),
    ];
    for_each(runs, |(version, schedule, package)| {
        let run = python_of(Driver::Shell(version), package).env("SOFTCUDA_SCHEDULE", schedule);
        let run = run.arg("-m").arg("pytest").arg("-q").arg("-p").arg("no:cacheprovider").arg(&tests);
        run.output().map(drop)
    });
}
