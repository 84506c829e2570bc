//! How a library is asked for.

/// Which of the loader's ways to a library is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum Lookup {
    /// Only a copy that is in the process already.
    Loaded,
    /// A path, or a name that the loader looks up in its folders.
    Load,
    /// A name in the system's own folder and nowhere else. Windows only; elsewhere the same as `Load`.
    System,
}

/// The loader's own words would be of files that it never tried to load.
pub(super) const NOT_LOADED: &str = "no such library is loaded in this process";
