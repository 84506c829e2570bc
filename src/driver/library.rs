//! A loaded library: opened through the system's loader, asked for symbols, never closed once it serves as a driver.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

mod diagnose;
mod lookup;

pub(super) use lookup::Lookup;
use lookup::NOT_LOADED;
use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

/// A library that the loader has mapped into this process. Dropping it leaves it mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Library {
    handle: system::Handle,
}

// SAFETY: the handle is a token for the system's loader, which may be asked from any thread; it never dangles, because
// a library that is kept is never closed.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Why a library was not opened.
#[derive(Debug)]
pub(super) struct NotOpened {
    /// Plainly where the file shows it, and in the loader's own words.
    pub(super) reason: String,
    /// There is no such library, as opposed to one that cannot be used.
    pub(super) is_absent: bool,
}

impl Library {
    /// Opens the library called `name`, or says why not.
    pub(super) fn open(name: &Path, lookup: Lookup) -> Result<Self, NotOpened> {
        let is_path = name.components().count() > 1;
        // Of a library that is there the loader looks at no file, which would take longer than all else that it does.
        if !is_loaded(name) {
            refuse(name, is_path, lookup)?;
        }
        system::open(name, lookup).map(|handle| Self { handle }).map_err(|words| {
            let is_absent = match lookup {
                Lookup::Loaded => true,
                _ if is_path => diagnose::is_absent(name),
                _ => system::is_absent(name, &words),
            };
            let reason = match is_path.then(|| diagnose::explain(name)).flatten() {
                Some(reason) => format!("{reason}; the loader says: {words}"),
                None => words,
            };
            NotOpened { reason, is_absent }
        })
    }

    /// The files of this bare name in the folders where the loader looks, in its order, without those that it would pass over. It stops at
    /// the first, whether or not that can be loaded.
    pub(super) fn found_by_loader(name: &Path) -> Vec<PathBuf> {
        loadable(name).collect()
    }

    /// The address of an exported symbol, null where there is none.
    pub(super) fn symbol(&self, name: &CStr) -> *const c_void {
        system::symbol(self.handle, name)
    }

    /// The real path of the file that `address` was loaded from, symbolic links resolved.
    pub(super) fn path_of(address: *const c_void) -> Option<PathBuf> {
        let path = system::path_of(address)?;
        Some(path.canonicalize().unwrap_or(path))
    }

    /// Gives a library back that turned out to be no driver. Whoever else holds it keeps it.
    ///
    /// # Safety
    /// No address taken from it may be used afterwards.
    pub(super) unsafe fn close(self) {
        // SAFETY: the handle came from `open`, and the caller vouches for the rest.
        unsafe { system::close(self.handle) }
    }
}

/// Refuses what the loader must not be asked for.
fn refuse(name: &Path, is_path: bool, lookup: Lookup) -> Result<(), NotOpened> {
    if is_path {
        return diagnose::refuse(name).map_or(Ok(()), |reason| Err(NotOpened { reason, is_absent: false }));
    }
    let Some(reason) = refuse_found(name) else { return Ok(()) };
    Err(match lookup {
        Lookup::Loaded => NotOpened { reason: NOT_LOADED.to_owned(), is_absent: true },
        _ => NotOpened { reason, is_absent: false },
    })
}

/// Whether the loader takes a library that is in the process by this name, without looking for a file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn is_loaded(name: &Path) -> bool {
    system::search::is_loaded(name)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn is_loaded(_: &Path) -> bool {
    false
}

/// Why the loader must not look for a library of this name: it would take the first file that it finds, whatever that does to the
/// process, even if only a copy in the process was asked for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn refuse_found(name: &Path) -> Option<String> {
    let file = loadable(name).next()?;
    let reason = diagnose::refuse(&file)?;
    Some(format!("{}: {reason}", file.display()))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn refuse_found(_: &Path) -> Option<String> {
    None
}

/// The files of this name that the loader would try to load, in the order of its folders.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn loadable(name: &Path) -> impl Iterator<Item = PathBuf> {
    let files = system::search::folders().into_iter().map(move |folder| folder.join(name));
    files.filter(|file| !diagnose::is_passed_over(file))
}

/// Other loaders do not tell where they look.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn loadable(_: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::empty()
}
