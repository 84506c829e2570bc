//! Several copies of the library in one process, a driver of the test's own, and a program that runs with other rights than
//! the user's who started it.

use capi_tests::build::{Build, Link};
use capi_tests::libraries::library;
use capi_tests::matrix::{Compiler, Language, ONE_VERSION, compilers};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::skip;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The ABI and the variant that each name stands for.
#[test]
fn names_call_the_abi_of_cuda_12() {
    let driver = Build::new("names/fake_driver").link(Link::Without).plug_in().expect("it compiles");
    let driver = driver.to_str().expect("a temporary folder has a plain name");
    for_each(["", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"], |option| {
        let build = Build::new("names/abi");
        let build = if option.is_empty() { build } else { build.option(option) };
        Run::new(build.program()?, Driver::Value(driver)).checks()
    });
}

/// The same of the names in our `cuda.h`, which follow `CUDA_VERSION`.
#[test]
fn cuda_h_calls_the_abi_of_its_version() {
    let driver = Build::new("names/fake_driver").link(Link::Without).plug_in().expect("it compiles");
    let driver = driver.to_str().expect("a temporary folder has a plain name");
    let versions = ["-DCUDA_VERSION=11040", "-DUSUAL", "-DCUDA_VERSION=13000"];
    let modes = ["-DPLAIN", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", "-D__CUDA_API_VERSION_INTERNAL"];
    for_each(versions.iter().flat_map(|version| modes.map(|mode| (*version, mode))), |(version, mode)| {
        let build = Build::new("names/cuda_h").drop_in().option(version).option(mode);
        Run::new(build.program()?, Driver::Value(driver)).checks()
    });
}

/// A plug-in with a copy of the library of its own.
fn plug_in(name: &str, hides: bool) -> PathBuf {
    // By its name it is another one than its like.
    let build = Build::new("linking/plug_in").link(Link::Static).option(format!("-Wl,-soname,{name}"));
    let build = if hides { build.option("-Wl,--exclude-libs,ALL") } else { build };
    build.plug_in().expect("it compiles")
}

#[test]
fn three_copies_in_one_process() {
    let program = Build::new("linking/copies").program().expect("it compiles");
    for_each(["apart", "together"], |how| {
        let [a, b] = ["a", "b"].map(|name| plug_in(&format!("{name}.so"), how == "apart"));
        Run::new(&program, Driver::Shell(ONE_VERSION)).arg(a).arg(b).arg(how).checks()
    });
}

/// A program that cannot load a driver says so, and does not crash in one.
#[test]
fn a_fully_static_program_is_told_so() {
    let build = Build::new("headers/c90").link(Link::Static).option("-static");
    // The C library says of itself that some of its functions would load others.
    let program = build.option("-Wl,--no-warnings").program();
    let program = program.expect("it compiles; apt install libc6-dev");
    for_each([Driver::Software(ONE_VERSION), Driver::Unset], |driver| {
        let said = Run::new(&program, driver).output().expect_err("there is no driver");
        if said.contains("is linked with -static") { Ok(()) } else { Err(said) }
    });
}

#[test]
fn the_library_stays_when_it_is_closed() {
    let program = Build::new("linking/unload").link(Link::Static).program().expect("it compiles");
    let run = Run::new(program, Driver::None).arg(library("libcushim.so"));
    run.checks().unwrap_or_else(|failure| panic!("{failure}"));
}

/// Bad arguments in every place of every function, the handles of a copy of the library in a plug-in among them.
#[test]
fn sweep_with_another_library() {
    let build = Build::new("linking/plug_in").link(Link::Static).option("-Wl,--exclude-libs,ALL");
    let plug_in = build.plug_in().expect("it compiles");
    let program = Build::new("sweep/sweep").program().expect("it compiles");
    for_each([Driver::None, Driver::Shell("11.4"), Driver::Shell(ONE_VERSION)], |driver| {
        Run::new(&program, driver).arg(&plug_in).checks()
    });
}

const NOBODY: u32 = 65534;

#[test]
fn a_privileged_program_does_not_believe_its_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Everybody may look into the folder; the static library, because a set-uid program takes none from just anywhere.
    set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
    let built = Build::new("linking/privileged").link(Link::Static).program().expect("it compiles");
    let program = folder.path().join("privileged");
    // By another process: what this one writes is busy for as long as a child that it starts meanwhile has it open.
    let copied = Command::new("cp").args([&built, &program]).status().expect("cp is there");
    assert!(copied.success(), "{copied}");
    if !make_privileged(&program) {
        skip(format_args!("only root can make a set-uid program for another user; run the tests as root"));
        return;
    }
    let run = Run::new(&program, Driver::None).env("CUSHIM_SOFTCUDA", "/nonexistent/libsoftcuda.so");
    let run = run.env("CUSHIM_LOG", "trace");
    run.checks().unwrap_or_else(|failure| {
        panic!(
            "{failure}\nThe folder for temporary files must not be mounted nosuid; TMPDIR names another one."
        )
    });
}

/// Makes the program run as nobody, whoever starts it; false if this user may not.
fn make_privileged(program: &Path) -> bool {
    let is_root = program.metadata().is_ok_and(|file| file.uid() == 0);
    is_root
        && chown(program, Some(NOBODY), Some(NOBODY)).is_ok()
        && set_permissions(program, Permissions::from_mode(0o4755)).is_ok()
}

/// Compilers that are missing were skipped aloud, or are a failure; without gcc nothing here means anything.
#[test]
fn gcc_is_there() {
    assert!(compilers(Language::C).contains(&Compiler::Gcc), "apt install gcc");
}
