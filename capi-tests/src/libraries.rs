//! The libraries under test, as a program that was installed would find them.

use crate::kept;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

/// The folder in which cargo puts the libraries that a program depends on: that of a test's own executable, and below that
/// of any other.
///
/// The copies one folder up are those of the last `cargo build`, and may be old or absent.
///
/// # Panics
/// If the program's executable cannot be found.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = std::env::current_exe().expect("the test program knows where it is");
        let folder = program.parent().expect("a program lies in a folder");
        let below = folder.join("deps");
        if below.is_dir() { below } else { folder.to_owned() }
    })
}

/// A library in that folder.
///
/// # Panics
/// If it is not there, or is libcushim without the C ABI.
#[must_use]
pub fn library(name: &str) -> PathBuf {
    let path = built().join(name);
    assert!(path.exists(), "{} is missing; cargo builds it with this test", path.display());
    if name == "libcushim.so" {
        static HAS_FUNCTIONS: OnceLock<bool> = OnceLock::new();
        assert!(
            HAS_FUNCTIONS.get_or_init(|| has_functions(&path)),
            "the last `cargo build` of cushim was without the feature `capi`, and has put a library without functions in this place, which \
             cargo does not notice; run `cargo clean -p cushim`, and this again"
        );
    }
    path
}

/// Whether the library has the C ABI.
fn has_functions(path: &Path) -> bool {
    const ONE: &[u8] = b"cushim_driver_open";
    let bytes = std::fs::read(path).expect("the library is readable");
    bytes.windows(ONE.len()).any(|window| window == ONE)
}

/// The name by which programs ask the loader for the library. Before 1.0 a minor version may break the ABI.
#[must_use]
pub fn soname() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    format!("libcushim.so.{version}")
}

/// The folder of the library, under the names that it has when it is installed.
///
/// # Panics
/// If it cannot be made.
pub fn installed() -> &'static Path {
    static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = kept::folder().join("lib");
        std::fs::create_dir_all(&folder).expect("a folder");
        link(&library("libcushim.so"), &folder.join(soname()));
        link(Path::new(&soname()), &folder.join("libcushim.so"));
        folder
    });
    &INSTALLED
}

/// The library under a name of its own, which stays while cargo writes the library anew.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn kept_library() -> PathBuf {
    let folder = kept::folder().join("kept");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(soname());
    keep(&library("libcushim.so"), &path);
    path
}

/// Gives a file a second name, under which it stays when cargo, in a test beside this one, writes the first anew.
fn keep(target: &Path, path: &Path) {
    let unfinished = path.with_added_extension(std::process::id().to_string());
    let made = std::fs::hard_link(target, &unfinished).and_then(|()| std::fs::rename(&unfinished, path));
    // Two names of one file: the new name is left as it was.
    let _ = std::fs::remove_file(&unfinished);
    made.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Makes a symbolic link, unless it is there. It is there at any time, for others look for it.
fn link(target: &Path, path: &Path) {
    if std::fs::read_link(path).is_ok_and(|there| there == target) {
        return;
    }
    let unfinished = path.with_added_extension(std::process::id().to_string());
    let made =
        std::os::unix::fs::symlink(target, &unfinished).and_then(|()| std::fs::rename(&unfinished, path));
    made.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
