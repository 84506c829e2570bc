//! The folder with `libcuda.so.1`. It goes when the command has ended; what a killed program has left, the next one removes.

use crate::libraries::Libraries;
use crate::problem::Problem;
use crate::shown;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "softcuda-run.";

const COMPILERS: &str = "libsoftcuda_compilers.so";

/// A folder as young as this may not be locked yet by the program that makes it.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder that is removed when this is dropped.
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked as long as this lives: so others see that it is in use. The command does not inherit it.
    _lock: File,
}

impl Folder {
    /// Makes the folder, for a version of the driver.
    pub(crate) fn new(libraries: &Libraries, version: &str) -> Result<Self, Problem> {
        let parent = parent();
        remove_old(&parent);
        let failed =
            |error| Problem::failed(format!("{}: no folder can be made there: {error}", shown(&parent)));
        let folder = Self::make(&parent).map_err(failed)?;
        let driver = libraries.shell(version).unwrap_or_else(|| libraries.core.clone());
        for (name, target) in
            [("libcuda.so.1", &driver), ("libcuda.so", &driver), ("libsoftcuda.so", &libraries.core)]
        {
            symlink(target, folder.path.join(name)).map_err(failed)?;
        }
        if let Some(nvml) = libraries.nvml() {
            for name in ["libnvidia-ml.so.1", "libnvidia-ml.so"] {
                symlink(&nvml, folder.path.join(name)).map_err(failed)?;
            }
        }
        if let Some(compilers) = libraries.compilers() {
            symlink(&compilers, folder.path.join(COMPILERS)).map_err(failed)?;
        }
        // Where this program cannot be told, the command has the ptxas that it would have had.
        if let Ok(program) = std::env::current_exe() {
            std::fs::create_dir(folder.programs()).map_err(failed)?;
            symlink(program, folder.programs().join(crate::ptxas::NAME)).map_err(failed)?;
            crate::nvcc::put(&folder.programs(), &folder.path).map_err(failed)?;
        }
        Ok(folder)
    }

    /// The folder of programs that come before others of their names.
    pub(crate) fn programs(&self) -> PathBuf {
        self.path.join("bin")
    }

    /// What the loader is to ask about the libraries that programs open: it makes its files beside itself, so here.
    pub(crate) fn auditor(&self) -> Option<PathBuf> {
        Some(self.path.join(COMPILERS)).filter(|path| path.is_file())
    }

    fn make(parent: &Path) -> std::io::Result<Self> {
        let template = parent.join(format!("{PREFIX}XXXXXX"));
        let mut template = CString::new(template.into_os_string().into_vec())?.into_bytes_with_nul();
        // SAFETY: the template is terminated, ends with the letters, and is written in place.
        if unsafe { libc::mkdtemp(template.as_mut_ptr().cast()) }.is_null() {
            return Err(std::io::Error::last_os_error());
        }
        template.pop();
        let path = PathBuf::from(std::ffi::OsString::from_vec(template));
        let lock = open(&path)?;
        // Where the file system has no locks, no other program will find this one free either.
        lock_exclusively(&lock);
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed, the next program tries to.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Where temporary files go, unless the folder's name has what ends or replaces a part of a list of folders, as the loader reads them.
fn parent() -> PathBuf {
    let said = std::path::absolute(std::env::temp_dir()).ok();
    let can_be_listed =
        |path: &PathBuf| !path.as_os_str().as_bytes().iter().any(|byte| b":;$".contains(byte));
    said.filter(can_be_listed).unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// A folder itself, and no link to one.
fn open(path: &Path) -> std::io::Result<File> {
    File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

/// Locks a folder, if nobody else has.
fn lock_exclusively(folder: &File) -> bool {
    // SAFETY: an open descriptor.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes the folders of this user that no living program has.
fn remove_old(parent: &Path) {
    // SAFETY: only answers.
    let user = unsafe { libc::geteuid() };
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(folder) = open(&entry.path()) else { continue };
        let is_old = folder.metadata().is_ok_and(|data| {
            let age = data.modified().ok().and_then(|modified| modified.elapsed().ok());
            data.uid() == user && age.is_some_and(|age| age > YOUNG)
        });
        if is_old && lock_exclusively(&folder) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
