//! `cushim.cdef.h` as those read it that it is for: compilers of C, cffi, LuaJIT, PHP and `zig translate-c`. The programs, in
//! `capi-tests/cdef/`, open a driver with what they read.

use capi_tests::interface::{self, list, text};
use capi_tests::libraries::{built, installed, soname};
use capi_tests::matrix::{Language, ONE_VERSION, compilers};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

fn declarations() -> PathBuf {
    repository("include/cushim.cdef.h")
}

/// Whether the command succeeds, with what `.ci/run` puts into `target/python`.
fn works(command: &str, arguments: &[&str]) -> bool {
    let output = Command::new(command).args(arguments).env("PYTHONPATH", packages()).output();
    output.is_ok_and(|output| output.status.success())
}

fn packages() -> PathBuf {
    repository("target/python")
}

/// Runs a program, which opens the driver and compares its version, on several.
fn opens_drivers(program: &str, arguments: &[&Path]) {
    for_each(["11.4", "12.4", ONE_VERSION], |version| {
        let run = Run::new(program, Driver::Shell(version)).env("PYTHONPATH", packages());
        arguments.iter().fold(run, |run, argument| run.arg(argument)).output().map(drop)
    });
}

/// No directive, no comment, no body of a function: what parsers that are no compilers stumble over.
#[test]
fn it_is_declarations_only() {
    let text = std::fs::read_to_string(declarations()).expect("the file is there");
    for forbidden in ["#", "/*", "//", "inline", "__", "struct {", "union"] {
        assert!(!text.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn it_compiles() {
    for (language, name) in [(Language::C, "c"), (Language::Cpp, "c++")] {
        for compiler in compilers(language) {
            let how = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", name];
            let command = compiler.command(language);
            let output = Command::new(command).args(how).arg(declarations()).output().expect("it runs");
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn cffi_reads_it() {
    if !works("python3", &["-c", "import cffi"]) {
        return skip(format_args!("no cffi; python3 -m pip install --target target/python cffi"));
    }
    let (script, library) = (repository("capi-tests/cdef/with_cffi.py"), installed().join(soname()));
    let data = repository("include/cushim.json");
    opens_drivers("python3", &[&script, &library, &declarations(), &data]);
}

#[test]
fn luajit_reads_it() {
    if !works("luajit", &["-v"]) {
        return skip(format_args!("no luajit; apt install luajit"));
    }
    let (script, library) = (repository("capi-tests/cdef/with_luajit.lua"), installed().join(soname()));
    opens_drivers("luajit", &[&script, &library, &declarations()]);
}

#[test]
fn php_reads_it() {
    if !works("php", &["-r", "exit(extension_loaded('ffi') ? 0 : 1);"]) {
        return skip(format_args!("no php with ffi; apt install php-cli"));
    }
    let (script, library) = (repository("capi-tests/cdef/with_php.php"), installed().join(soname()));
    let flags = [Path::new("-d"), Path::new("ffi.enable=1")];
    opens_drivers("php", &[flags[0], flags[1], &script, &library, &declarations()]);
}

/// It translates the file as it is, and a program compiled with that runs.
#[test]
fn zig_reads_it() {
    if !has_zig() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let translated = zig(folder.path(), &["translate-c".as_ref(), declarations().as_ref()]);
    for function in list(&interface::read(), "functions") {
        let declaration = format!("pub extern fn {}(", text(function, "name"));
        assert!(translated.contains(&declaration), "{declaration}");
    }
    std::fs::write(folder.path().join("cushim.zig"), translated).expect("the folder can be written");
    let source = "with_zig.zig";
    std::fs::copy(repository("capi-tests/cdef").join(source), folder.path().join(source)).expect("a copy");
    let library = installed().join(soname());
    zig(folder.path(), &["build-exe".as_ref(), source.as_ref(), library.as_ref(), "-lc".as_ref()]);
    let program = folder.path().join("with_zig");
    let path = format!("LD_LIBRARY_PATH={}", installed().display());
    opens_drivers("env", &[path.as_ref(), &program]);
}

fn zig(folder: &Path, arguments: &[&Path]) -> String {
    run_zig(folder, arguments).unwrap_or_else(|said| panic!("{said}"))
}

/// Whether there is a zig to run.
pub(crate) fn has_zig() -> bool {
    let found = works("python3", &["-m", "ziglang", "version"]);
    if !found {
        skip(format_args!("no zig; python3 -m pip install --target target/python ziglang"));
    }
    found
}

/// Runs zig in a folder: what it prints, or what it says is wrong.
pub(crate) fn run_zig(folder: &Path, arguments: &[&Path]) -> Result<String, String> {
    let mut command = Command::new("python3");
    command.args(["-m", "ziglang"]).args(arguments).current_dir(folder).env("PYTHONPATH", packages());
    // The first `translate-c` compiles the translator, which takes a minute: what it compiles is kept.
    let kept = built().parent().expect("deps lies in the profile's folder").join("zig");
    let output = command.env("ZIG_GLOBAL_CACHE_DIR", kept).env("ZIG_LOCAL_CACHE_DIR", folder).output();
    let output = output.expect("python3 runs");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8(output.stdout).expect("zig prints UTF-8"))
}
