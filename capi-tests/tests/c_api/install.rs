//! The install script, and the README's lines as it prints them.

use capi_tests::build::STATIC_LIBRARIES;
use capi_tests::header::between;
use capi_tests::libraries::{built, library, soname};
use capi_tests::matrix::{Compiler, Language, compilers};
use capi_tests::repository;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn readme() -> String {
    std::fs::read_to_string(repository("README.md")).expect("the README is there")
}

/// The line that installs.
const INSTALL: &str = "scripts/install.sh prefix";

/// The lines of the shell block that begins with the installation, without their comments.
fn shell_lines(readme: &str) -> Vec<String> {
    let block = between(readme, &format!("```sh\n{INSTALL}\n"), "```");
    block.lines().map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned()).collect()
}

/// The line that links statically.
fn static_line(readme: &str) -> String {
    format!("cc {} -o ordered", between(readme, "`cc ", " -o ordered`"))
}

/// A folder that looks like the repository to whoever follows the README, and in which `cc` is the compiler.
struct Reader {
    folder: TempDir,
}

impl Reader {
    fn new(prefix: &Path, compiler: Compiler) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let link =
            |target: &Path, name: &str| symlink(target, folder.path().join(name)).expect("a symbolic link");
        link(&repository("examples"), "examples");
        link(prefix, "prefix");
        std::fs::create_dir(folder.path().join("bin")).expect("a folder");
        link(&which(compiler.command(Language::C)), "bin/cc");
        Self { folder }
    }

    /// Runs a line, and returns its status and what it printed.
    fn run(&self, line: &str) -> (Option<i32>, String) {
        let path = std::env::var("PATH").expect("there is a PATH");
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.folder.path());
        shell.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        for name in ["CUSHIM_DRIVER", "CUSHIM_SOFTCUDA", "SOFTCUDA_VERSION", "LD_LIBRARY_PATH"] {
            shell.env_remove(name);
        }
        let output = shell.output().expect("sh is there");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), format!("{out}{err}"))
    }

    /// What the lines that compile and run the kernel's example print.
    fn kernel_lines(&self, readme: &str) -> String {
        const COMPILE: &str = "cc examples/saxpy.c";
        let rest = between(readme, &format!("```sh\n{COMPILE}"), "```");
        format!("{COMPILE}{rest}").lines().map(|line| self.succeed(line)).collect()
    }

    fn succeed(&self, line: &str) -> String {
        let (status, printed) = self.run(line);
        assert_eq!(status, Some(0), "{line}\n{printed}");
        printed
    }
}

fn which(command: &str) -> PathBuf {
    let output =
        Command::new("sh").args(["-c", &format!("command -v {command}")]).output().expect("sh is there");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end())
}

/// Installs the libraries that were built for the tests.
fn install(prefix: &Path) {
    let given = tempfile::tempdir().expect("a temporary folder");
    let give = |file: &Path| {
        let name = file.file_name().expect("a file has a name");
        symlink(file, given.path().join(name)).expect("a symbolic link");
    };
    ["libcushim.so", "libcushim.a", "libsoftcuda.so"].map(library).iter().for_each(|file| give(file));
    let shell = |version| softcuda::shell_path(version).expect("it is built with softcuda");
    softcuda::VERSIONS.iter().for_each(|(version, _)| give(&shell(version)));
    let mut script = Command::new(repository("scripts/install.sh"));
    let output = script.arg(prefix).arg("--built").arg(given.path()).env_remove("DESTDIR").output();
    let output = output.expect("the script is executable");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{printed}", output.status);
}

/// What the README, and the file beside the example, say that it prints.
fn printed_by_kernels(readme: &str) -> String {
    let expected = std::fs::read_to_string(repository("examples/saxpy.txt")).expect("it is there");
    assert!(readme.contains(&format!("```\n{expected}```")), "the README shows another output");
    expected
}

fn assert_as_expected(printed: &str) {
    let expected = std::fs::read_to_string(repository("examples/ordered.txt")).expect("it is there");
    assert_eq!(printed, expected);
}

#[test]
fn what_the_readme_says_works_as_printed() {
    let readme = readme();
    let parent = tempfile::tempdir().expect("a temporary folder");
    let prefix = parent.path().join("prefix");
    install(&prefix);
    assert_installed(&prefix);
    let lines = shell_lines(&readme);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let [compile, here, software] = [&lines[0], &lines[1], &lines[2]];
    for compiler in compilers(Language::C) {
        let reader = Reader::new(&prefix, compiler);
        reader.succeed(compile);
        assert_as_expected(&reader.succeed(software));
        assert_as_expected(&reader.succeed(&format!("SOFTCUDA_VERSION=12.4 {software}")));
        assert_eq!(reader.kernel_lines(&readme), printed_by_kernels(&readme));
        // The driver of this machine, if there is one; if not, a sentence.
        let (status, printed) = reader.run(here);
        assert!(status == Some(0) || (status == Some(1) && !printed.is_empty()), "{status:?}: {printed}");

        std::fs::remove_file(reader.folder.path().join("ordered")).expect("the program is there");
        reader.succeed(&static_line(&readme));
        let beside = prefix.join("lib/libsoftcuda.so");
        let elsewhere = format!("CUSHIM_SOFTCUDA={} {software}", beside.display());
        assert_as_expected(&reader.succeed(&elsewhere));
    }
}

fn assert_installed(prefix: &Path) {
    assert!(prefix.join("share/cushim/cushim.json").is_file());
    let lib = prefix.join("lib");
    let version = env!("CARGO_PKG_VERSION");
    let target =
        |name: &str| std::fs::read_link(lib.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(target("libcushim.so"), Path::new(&soname()));
    assert_eq!(target(&soname()), Path::new(&format!("libcushim.so.{version}")));
    for name in ["cushim_driver.h", "cushim.h", "softcuda.h"] {
        let header = std::fs::read(prefix.join("include").join(name)).expect("the header is installed");
        assert_eq!(header, std::fs::read(repository("include").join(name)).expect("the header is there"));
    }
    for (version, _) in softcuda::VERSIONS {
        assert!(lib.join(format!("softcuda/libsoftcuda-{version}.so")).is_file(), "{version}");
    }
}

#[test]
fn the_script_says_how_it_is_used() {
    let run = |arguments: &[&str]| {
        let output =
            Command::new(repository("scripts/install.sh")).args(arguments).output().expect("bash is there");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), out.into_owned(), err.into_owned())
    };
    let (status, help, _) = run(&["--help"]);
    assert!(status == Some(0) && help.contains("PREFIX/lib/libcushim.so"), "{status:?}: {help}");
    for wrong in [&[][..], &["--unknown"], &["a", "b"], &["a", "--profile"]] {
        let (status, out, err) = run(wrong);
        assert!(status == Some(2) && out.is_empty() && !err.is_empty(), "{wrong:?}: {status:?}: {out}{err}");
    }
}

#[test]
fn the_readme_shows_the_example() {
    let shown = between(&readme(), "```c\n", "```").to_owned();
    let example = std::fs::read_to_string(repository("examples/ordered.c")).expect("the example is there");
    assert!(
        shown == example,
        "the README's C block is not examples/ordered.c, byte for byte; copy the file there"
    );
}

/// The libraries of the README's static line are those that the compiler asks for on this target, each where it is named
/// last: a linker that has found a library there needs no earlier mention.
#[test]
fn the_static_line_names_the_libraries_that_rust_wants() {
    let line = static_line(&readme());
    let named: Vec<&str> = line.split(' ').filter(|word| word.starts_with("-l")).collect();
    assert_eq!(named, STATIC_LIBRARIES);
    let wanted = native_static_libraries();
    let wanted: Vec<&str> = wanted.split_whitespace().collect();
    let is_last = |(place, name): &(usize, &&str)| !wanted[place + 1..].contains(name);
    let last: Vec<&str> = wanted.iter().enumerate().filter(is_last).map(|(_, name)| *name).collect();
    assert_eq!(named, last);
}

/// What `rustc --print native-static-libs` says of a static library that contains cushim.
fn native_static_libraries() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("all.rs");
    std::fs::write(&source, "pub extern crate cushim;").expect("the source is written");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=staticlib", "--print=native-static-libs"]).arg(&source);
    rustc.arg("--extern").arg(format!("cushim={}", built().join("libcushim.rlib").display()));
    rustc.arg("-L").arg(format!("dependency={}", built().display())).arg("--out-dir").arg(folder.path());
    let output = rustc.output().expect("rustc is there");
    let printed = String::from_utf8_lossy(&output.stderr);
    let line = printed.lines().find_map(|line| line.strip_prefix("note: native-static-libs: "));
    line.unwrap_or_else(|| panic!("{rustc:?}: {}\n{printed}", output.status)).trim_end().to_owned()
}
