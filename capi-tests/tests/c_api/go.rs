//! Goroutines, through cgo: many threads, error objects that are read on other threads than theirs, handles that the
//! collector looks at, and pull mode. `go/` has the binding and its tests.

use capi_tests::libraries::{built, installed};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `go`, in the folder of the binding. It fetches nothing.
fn go() -> Command {
    let mut go = Command::new("go");
    go.current_dir(repository("capi-tests/go"));
    go.env("CGO_CFLAGS", format!("-I{}", repository("include").display()));
    go.env("CGO_LDFLAGS", format!("-L{0} -lcushim -Wl,-rpath,{0}", installed().display()));
    let kept = built().parent().expect("deps lies in the profile's folder").join("go");
    go.env("GOCACHE", kept.join("cache")).env("GOPATH", kept.join("path"));
    go.env("GOPROXY", "off").env("GOTOOLCHAIN", "local").env("GOFLAGS", "").env("CGO_ENABLED", "1");
    go
}

fn succeed(mut command: Command) {
    let output = command.output().expect("go runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
}

/// The tests as a program, in which Go looks at every conversion of a pointer.
fn program(folder: &Path) -> PathBuf {
    let program = folder.join("goroutines");
    let mut build = go();
    build.args(["test", "-c", "-gcflags=-d=checkptr", "-o"]).arg(&program).arg(".");
    succeed(build);
    program
}

#[test]
fn goroutines() {
    if Command::new("go").arg("version").output().is_err() {
        return skip(format_args!("Go is not installed; apt install golang-go"));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut vet = go();
    vet.args(["vet", "."]);
    succeed(vet);
    let program = program(folder.path());
    for_each(["11.4", ONE_VERSION], |version| {
        let printed = Run::new(&program, Driver::Shell(version)).arg("-test.v").output()?;
        let passed = printed.lines().filter(|line| line.starts_with("--- PASS")).count();
        if passed == 4 { Ok(()) } else { Err(format!("{passed} of 4 tests ran\n{printed}")) }
    });
}
