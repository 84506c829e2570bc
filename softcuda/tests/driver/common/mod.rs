//! What the tests share: a library opened as a C program would, and a process of its own for each test.
#![allow(clippy::print_stdout)] // the child tells its parent

pub(crate) mod captures;
pub(crate) mod control;
pub(crate) mod graphs;
pub(crate) mod managed;
pub(crate) mod streams;

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const NOT_INITIALIZED: i32 = 3;
pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const NO_DEVICE: i32 = 100;
pub(crate) const INVALID_DEVICE: i32 = 101;
pub(crate) const INVALID_CONTEXT: i32 = 201;
pub(crate) const NOT_FOUND: i32 = 500;
pub(crate) const DESTROYED: i32 = 709;
pub(crate) const NOT_SUPPORTED: i32 = 801;
pub(crate) const SYSTEM_NOT_READY: i32 = 802;
pub(crate) const MISMATCH: i32 = 803;

/// Runs `body` in a process of its own, with these variables in the environment, and panics if it fails there. Answers
/// what the process wrote to its standard error stream.
///
/// `name` is the test's own, in the file that calls this. A test may do this several times.
#[track_caller]
pub(crate) fn alone(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) -> String {
    alone_in(&std::env::current_exe().expect("a test knows its executable"), name, variables, body)
}

/// As `alone`, by a copy of the test's program.
#[track_caller]
pub(crate) fn alone_in(
    program: &Path,
    name: &str,
    variables: &[(&str, &str)],
    body: impl FnOnce(),
) -> String {
    const CHILD: &str = "SOFTCUDA_TEST_CHILD";
    const DONE: &str = "the body has run to its end";
    let file = Path::new(Location::caller().file()).file_stem().and_then(OsStr::to_str);
    // As `cargo test -- --exact` wants it.
    let path = format!("{}::{name}", file.expect("a source has a plain name"));
    let this = format!("{path} {variables:?}");
    match std::env::var(CHILD) {
        Ok(child) if child == this => {
            body();
            println!("{DONE}");
            // Not by the test harness: what it prints belongs to the parent.
            std::process::exit(0);
        }
        Ok(_) => return String::new(), // the process of another call in the same test
        Err(_) => {}
    }
    let mut command = Command::new(program);
    let is_read = |name: &OsStr| {
        ["SOFTCUDA_", "CUDA_"].iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    };
    for (variable, _) in std::env::vars_os().filter(|(name, _)| is_read(name)) {
        command.env_remove(variable);
    }
    command.args([&path, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, &this);
    let output = command.envs(variables.iter().copied()).output().expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{this}: {}\n{text}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains(DONE), "{this} is not a test of this file");
    text
}

/// Runs a test alone under each schedule, the seeded one several times.
#[track_caller]
pub(crate) fn everywhere(name: &str, body: impl Fn()) {
    alone(name, &[("SOFTCUDA_SCHEDULE", "eager")], &body);
    alone(name, &[("SOFTCUDA_SCHEDULE", "lazy")], &body);
    alone(name, &[("SOFTCUDA_SCHEDULE", "in-order")], &body);
    for seed in ["1", "2", "3", "4"] {
        alone(name, &[("SOFTCUDA_SCHEDULE", "seeded"), ("SOFTCUDA_SEED", seed)], &body);
    }
}

/// The core library of this build.
pub(crate) fn core_path() -> PathBuf {
    softcuda::library_path().expect("cargo has built libsoftcuda.so")
}

/// The shell of one version.
pub(crate) fn shell_path(version: &str) -> PathBuf {
    softcuda::shell_path(version).unwrap_or_else(|| panic!("the build has made the shell of {version}"))
}

/// An opened library.
pub(crate) struct Library(libloading::Library);

impl Library {
    pub(crate) fn open(path: &Path) -> Self {
        // SAFETY: softcuda's own library, whose loading has no conditions.
        Self(unsafe { libloading::Library::new(path) }.unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    pub(crate) fn core() -> Self {
        Self::open(&core_path())
    }

    /// The address of an export, 0 if there is none.
    pub(crate) fn symbol(&self, name: &str) -> usize {
        let name = CString::new(name).expect("a symbol has no zero in it");
        // SAFETY: only its address is taken.
        unsafe { self.0.get::<*const c_void>(name.as_bytes()) }.map_or(0, |symbol| *symbol as usize)
    }

    /// Calls an export. Arguments are integers and pointers, which travel in 64-bit registers whatever their width.
    pub(crate) fn call(&self, name: &str, arguments: &[u64]) -> i32 {
        let address = self.symbol(name);
        assert_ne!(address, 0, "{name} is exported");
        call_address(address, arguments)
    }

    /// Calls an export that answers 64 bits.
    pub(crate) fn call_wide(&self, name: &str, arguments: &[u64]) -> u64 {
        let address = self.symbol(name);
        assert_ne!(address, 0, "{name} is exported");
        call_any(address, arguments)
    }
}

/// Calls a driver function by its address. (A narrow result leaves the upper half of its register undefined.)
pub(crate) fn call_address(address: usize, arguments: &[u64]) -> i32 {
    call_any(address, arguments) as i32
}

fn call_any(address: usize, arguments: &[u64]) -> u64 {
    let mut a = [0; 10];
    a[..arguments.len()].copy_from_slice(arguments);
    type Function = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
    // SAFETY: a function of at most ten parameters; the caller of the C ABI removes what it has passed.
    let function = unsafe { std::mem::transmute::<usize, Function>(address) };
    function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9])
}

/// The address of a variable, as an argument.
pub(crate) fn at<T>(place: &mut T) -> u64 {
    std::ptr::from_mut(place) as u64
}

/// The address of an array's first item, as an argument.
pub(crate) fn first<T>(items: &[T]) -> u64 {
    items.as_ptr() as u64
}

/// The text that a driver function has answered.
pub(crate) fn text(pointer: *const c_char) -> String {
    // SAFETY: the driver answers terminated text that lasts.
    unsafe { CStr::from_ptr(pointer) }.to_str().expect("the driver answers UTF-8").to_owned()
}

/// An initialised core with the primary context of device 0 current.
pub(crate) fn with_context() -> Library {
    with_context_of(Library::core())
}

/// The same of any library.
pub(crate) fn with_context_of(cu: Library) -> Library {
    assert_eq!(cu.call("cuInit", &[0]), 0);
    let mut context = 0u64;
    assert_eq!(cu.call("cuDevicePrimaryCtxRetain", &[at(&mut context), 0]), 0);
    assert_eq!(cu.call("cuCtxSetCurrent", &[context]), 0);
    cu
}

/// One line of a table in `tests/data`, or of the catalogue, in columns.
pub(crate) fn rows(path: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// An exported name of the catalogue.
pub(crate) struct Name {
    pub(crate) base: String,
    pub(crate) exported: String,
    /// The first version that has it.
    pub(crate) number: u32,
}

/// All names that a driver could export: 616, and 107 per-thread ones.
pub(crate) fn catalogue() -> Vec<Name> {
    let mut names = Vec::new();
    for row in rows("../catalogue/abis.csv") {
        let name = |exported: &str, number: &str| Name {
            base: row[0].clone(),
            exported: exported.to_owned(),
            number: number.parse().expect("the catalogue's numbers are numbers"),
        };
        names.push(name(&row[2], &row[1]));
        if !row[3].is_empty() {
            names.push(name(&row[3], &row[4]));
        }
    }
    assert_eq!(names.len(), 723);
    names
}

/// The version that a number stands for: 12020 is `12.2`.
pub(crate) fn dotted(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}
