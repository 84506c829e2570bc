//! Drivers for tests, compiled from `driver.c` beside this file, and children that run one test with an environment of
//! their own.

#![allow(dead_code)] // each test program uses its part

use cushim::driver::catalogue::{ROWS, Row};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// A folder for one test's files, which other users may look into.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("its permissions are ours");
    folder
}

/// A driver to be built. By default it has every ABI that a driver of its version has, and that version's getter.
pub(crate) struct Fake {
    version: u32,
    getter: u32,
    exports: Box<dyn Fn(&Row) -> bool>,
    soname: Option<&'static str>,
    needed: Option<PathBuf>,
    defines: Vec<String>,
}

impl Fake {
    pub(crate) fn new(version: u32) -> Self {
        let getter = match version {
            ..11030 => 0,
            11030..12000 => 1,
            12000.. => 2,
        };
        Self {
            version,
            getter,
            exports: Box::new(move |row| row.abi <= version),
            soname: None,
            needed: None,
            defines: Vec::new(),
        }
    }

    /// The form of its getter: 2, 1 or 0 for none.
    pub(crate) fn getter(mut self, form: u32) -> Self {
        self.getter = form;
        self
    }

    /// Has the ABIs that `exports` chooses, instead of those of its version.
    pub(crate) fn exports(mut self, exports: impl Fn(&Row) -> bool + 'static) -> Self {
        self.exports = Box::new(exports);
        self
    }

    /// Carries this name for the loader.
    pub(crate) fn soname(mut self, name: &'static str) -> Self {
        self.soname = Some(name);
        self
    }

    /// Cannot be loaded without this library.
    pub(crate) fn needs(mut self, library: impl AsRef<Path>) -> Self {
        self.needed = Some(library.as_ref().to_owned());
        self
    }

    /// Sets one of the macros that `driver.c` describes.
    pub(crate) fn define(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.defines.push(format!("-D{name}={value}"));
        self
    }

    /// Builds it as `path`.
    pub(crate) fn build(self, path: impl AsRef<Path>) -> PathBuf {
        let mut cc = compiler("driver.c");
        cc.args(&self.defines);
        cc.arg(format!("-DVERSION={}", self.version)).arg(format!("-DGETTER={}", self.getter));
        cc.args(self.soname.map(|name| format!("-Wl,-soname,{name}")));
        cc.args(self.needed.iter().flat_map(|library| ["-Wl,--no-as-needed".as_ref(), library.as_os_str()]));
        build(cc, "driver.c", &self.list(), path.as_ref())
    }

    fn list(&self) -> String {
        // These are written out in the C source.
        let own = ["cuDriverGetVersion", "cuGetProcAddress"];
        let mut list = String::new();
        for row in ROWS.iter().filter(|row| !own.contains(&row.base) && (self.exports)(row)) {
            writeln!(list, "ABI({}, {}, {})", row.base, row.abi, row.exported)
                .expect("a string takes everything");
            if let Some((exported, number)) = row.per_thread {
                writeln!(list, "PER_THREAD({}, {number}, {exported})", row.base)
                    .expect("a string takes everything");
            }
        }
        list
    }
}

/// A library that is no driver.
pub(crate) fn other_library(path: impl AsRef<Path>) -> PathBuf {
    build(compiler("other.c"), "other.c", "", path.as_ref())
}

/// A library that needs a function which nothing exports.
pub(crate) fn unresolved_library(path: impl AsRef<Path>) -> PathBuf {
    let mut cc = compiler("other.c");
    cc.arg("-DNEEDS=a_function_of_nobody");
    build(cc, "other.c", "", path.as_ref())
}

/// A driver whose host functions run and whose failures are logged; `streams.c` describes it.
pub(crate) fn streams(version: u32, path: impl AsRef<Path>) -> PathBuf {
    let mut cc = compiler("streams.c");
    cc.arg("-pthread").arg(format!("-DVERSION={version}"));
    build(cc, "streams.c", "", path.as_ref())
}

/// A driver that notes what it is told about managed memory; `managed.c` describes it.
pub(crate) fn managed(version: u32, path: impl AsRef<Path>) -> PathBuf {
    let mut cc = compiler("managed.c");
    cc.arg(format!("-DVERSION={version}"));
    build(cc, "managed.c", "", path.as_ref())
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes").join(name)
}

fn compiler(name: &str) -> Command {
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Wl,-Bsymbolic"]);
    cc.arg(source(name));
    cc
}

/// A copy of what the command makes of the source, which includes the list as `abis.inc`. Tests ask for the same drivers
/// again and again: each stays in the target folder, under a name that stands for the command and all that it reads.
fn build(mut cc: Command, name: &str, list: &str, path: &Path) -> PathBuf {
    let text = std::fs::read_to_string(source(name)).expect("the source is there");
    let mut hasher = DefaultHasher::new();
    (format!("{cc:?}"), compiler_version(), text, list).hash(&mut hasher);
    let built = kept().join(format!("{name}-{:016x}.so", hasher.finish()));
    if !built.exists() {
        let folder = tempfile::tempdir_in(kept()).expect("a temporary folder");
        std::fs::write(folder.path().join("abis.inc"), list).expect("the list is written");
        let unfinished = folder.path().join("unfinished.so");
        run(cc.arg("-I").arg(folder.path()).arg("-o").arg(&unfinished));
        std::fs::rename(&unfinished, &built).expect("the library is there");
    }
    std::fs::copy(&built, path).expect("the library is copied");
    path.to_owned()
}

/// The folder of what was built.
fn kept() -> &'static Path {
    static KEPT: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fakes");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        folder
    });
    &KEPT
}

fn compiler_version() -> &'static [u8] {
    static VERSION: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        run(cc.arg("--version"))
    });
    &VERSION
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("the C compiler runs (apt install gcc, or set CC)");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs a test's body in a process of its own, because it needs an environment or an identity of its own.
pub(crate) struct Child {
    test: &'static str,
    command: Command,
}

const CHILD: &str = "CUSHIM_TEST_CHILD";
const DONE: &str = "the child ran to its end";

impl Child {
    /// A child that runs the test called `test`, which is the caller. The variables that steer the search are unset.
    pub(crate) fn new(test: &'static str) -> Self {
        Self::of_program(test, std::env::current_exe().expect("the test program knows where it is"))
    }

    /// As [`new`](Self::new), from a copy of the test program.
    pub(crate) fn of_program(test: &'static str, program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, test);
        for name in ["CUSHIM_DRIVER", "CUSHIM_SOFTCUDA", "SOFTCUDA_VERSION", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        Self { test, command }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn arg0(mut self, name: &str) -> Self {
        std::os::unix::process::CommandExt::arg0(&mut self.command, name);
        self
    }

    /// A program that was just copied is busy for as long as a child that another test forked meanwhile has the copy
    /// open for writing, which ends with that child's exec.
    fn start(&mut self) -> std::process::Output {
        for _ in 0..1000 {
            match self.command.output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                output => return output.expect("the test program starts"),
            }
        }
        panic!("{}: the test program stays busy", self.test)
    }

    /// In the child: runs `body`. In the parent: starts the child, and fails as it fails.
    pub(crate) fn run(mut self, body: impl FnOnce()) {
        if is_child() {
            body();
            // Not by `println!`, which a test's harness may capture.
            writeln!(std::io::stdout(), "{DONE}").expect("stdout is open");
            return;
        }
        let output = self.start();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(
            output.status.success() && out.contains(DONE),
            "{}: {}\n{out}{err}",
            self.test,
            output.status
        );
    }
}

/// Whether this process is a child made by [`Child`].
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// A path that the parent handed to the child in a variable.
pub(crate) fn given(name: &str) -> PathBuf {
    std::env::var_os(name).unwrap_or_else(|| panic!("the parent sets {name}")).into()
}
