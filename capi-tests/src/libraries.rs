//! The libraries under test, as a program that was installed would find them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

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
/// If it is not there.
#[must_use]
pub fn library(name: &str) -> PathBuf {
    let path = built().join(name);
    assert!(path.exists(), "{} is missing; cargo builds it with this test", path.display());
    path
}

/// The name by which programs ask the loader for the library. Before 1.0 a minor version may break the ABI.
#[must_use]
pub fn soname() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    format!("libcushim.so.{version}")
}

/// A folder for one test: the library under the names that it has when it is installed, and room for programs. It is
/// removed with the value.
pub struct Workshop {
    folder: TempDir,
}

impl Workshop {
    /// Makes the folder.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lib = folder.path().join("lib");
        std::fs::create_dir(&lib).expect("a folder");
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, lib.join(name)).expect("a symbolic link");
        };
        link(&library("libcushim.so"), &soname());
        link(Path::new(&soname()), "libcushim.so");
        Self { folder }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the library.
    #[must_use]
    pub fn lib(&self) -> PathBuf {
        self.path().join("lib")
    }

    /// Writes a file that programs include, or read.
    ///
    /// # Panics
    /// If that fails.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("the file is written");
    }
}

impl Default for Workshop {
    fn default() -> Self {
        Self::new()
    }
}
