//! Where cargo puts the shared libraries, for tests in a development tree.
//!
//! The functions are `#[inline]` so that they, and the folder that they name, are compiled into the tests that call them and not into
//! libsoftcuda: what is compiled there has to be the same whatever the folder of the build (`scripts/release.sh --twice`).

use std::path::{Path, PathBuf};

/// The shared library of this build, which exports the names of all versions; `None` if it is not there.
#[inline]
pub fn library_path() -> Option<PathBuf> {
    // OUT_DIR is target/<profile>/build/softcuda-<hash>/out; shared libraries go to target/<profile>/deps.
    let profile = Path::new(env!("OUT_DIR")).ancestors().nth(3)?;
    existing(profile.join("deps/libsoftcuda.so"))
}

/// The shell of one driver version, such as `"12.2"`, which exports exactly that version's names.
///
/// `None` if the version is not one of [`VERSIONS`](crate::VERSIONS), or if there was no C compiler to build it.
#[inline]
pub fn shell_path(version: &str) -> Option<PathBuf> {
    existing(Path::new(env!("OUT_DIR")).join(format!("libsoftcuda-{version}.so")))
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    path.exists().then_some(path)
}
