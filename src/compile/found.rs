//! A library of NVIDIA's that was found: loaded once, and shared by all who find it.

use super::library::Functions;
use crate::object::error::{Error, Status};
use parking_lot::Mutex;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A library that is found, by its functions.
pub(super) trait Findable: Functions + Send + Sync + 'static {
    /// What is known of it beside its version.
    type Details: Send + Sync;

    /// What NVIDIA calls it.
    const NAME: &'static str;

    /// Those that were found so far.
    fn known() -> &'static Known<Self>;

    /// The file that it was loaded from, where the system tells.
    fn file(&self) -> Option<PathBuf>;

    /// The CUDA release that it is of, and its details; or why it does not say.
    fn ask(&self, path: &Path) -> Result<((u32, u32), Self::Details), String>;
}

/// Libraries that were found, each once. They stay: a library is never unloaded.
pub(super) struct Known<L: Findable>(Mutex<Vec<Found<L>>>);

impl<L: Findable> Known<L> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

/// A library that was found. Two are equal if they are the same library.
pub(super) struct Found<L: Findable>(Arc<Parts<L>>);

struct Parts<L: Findable> {
    library: L,
    path: PathBuf,
    version: (u32, u32),
    details: L::Details,
}

impl<L: Findable> Found<L> {
    /// The library at this path, for a caller who named it.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if it cannot be loaded, or is another library.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Self::load(path).map_err(|why| {
            let refusal = format!("{} cannot be used as {}: {why}", path.display(), L::NAME);
            Error::new(Status::UNSUPPORTED, refusal)
        })
    }

    /// The library at this path, or under this name as the loader finds it; or why it cannot be loaded.
    pub(super) fn load(place: &Path) -> Result<Self, String> {
        let mut known = L::known().0.lock();
        let at = |known: &[Self], path: &Path| known.iter().find(|found| found.path() == path).cloned();
        if let Some(found) = at(&known, place) {
            return Ok(found);
        }
        let library = L::load(place)?;
        // The loader finds by its name what is in the process already, wherever that came from.
        let path = library.file().unwrap_or_else(|| place.to_owned());
        if let Some(found) = at(&known, &path) {
            return Ok(found);
        }
        let (version, details) = library.ask(&path)?;
        let found = Self(Arc::new(Parts { library, path, version, details }));
        known.push(found.clone());
        Ok(found)
    }

    /// Its functions.
    pub(super) fn library(&self) -> &L {
        &self.0.library
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// The CUDA release that it is of: 12.8.
    pub(super) fn version(&self) -> (u32, u32) {
        self.0.version
    }

    pub(super) fn details(&self) -> &L::Details {
        &self.0.details
    }

    /// Writes a struct of this name around it for `Debug`.
    pub(super) fn debug_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("version", &self.version())
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

impl<L: Findable> Clone for Found<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<L: Findable> PartialEq for Found<L> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<L: Findable> Eq for Found<L> {}

impl<L: Findable> Hash for Found<L> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl<L: Findable> fmt::Display for Found<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version();
        write!(f, "{} {major}.{minor}", L::NAME)
    }
}
