//! What a caller may say about the driver to open.

use super::error::OpenError;
use super::getter::CustomGetter;
use super::open;
use super::opened::Driver;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Which driver to open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The NVIDIA driver of this machine, looked for in the usual places. Never softcuda.
    Auto,
    /// softcuda, the driver in software.
    Software,
    /// No driver: every entry of the table is absent.
    None,
    /// This library and no other. A name without a separator is looked up by the system's loader.
    Path(PathBuf),
}

/// Reads a choice as `CUSHIM_DRIVER` has it: `auto`, `software`, `none`, and everything else is a path.
///
/// ```
/// use cushim::driver::Choice;
/// assert_eq!(Choice::from("software".as_ref()), Choice::Software);
/// assert_eq!(Choice::from("./software".as_ref()), Choice::Path("./software".into()));
/// ```
impl From<&OsStr> for Choice {
    fn from(text: &OsStr) -> Self {
        match text.to_str() {
            Some("auto") => Self::Auto,
            Some("software") => Self::Software,
            Some("none") => Self::None,
            _ => Self::Path(text.into()),
        }
    }
}

/// How to open a driver.
///
/// ```
/// use cushim::driver::{Choice, Kind, OpenOptions};
///
/// let driver = OpenOptions::new().choice(Choice::None).open()?;
/// assert_eq!(driver.kind(), Kind::None);
/// assert_eq!(driver.version(), None);
/// # Ok::<(), cushim::driver::OpenError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "options do nothing before `open`"]
pub struct OpenOptions {
    pub(super) choice: Option<Choice>,
    pub(super) environment: bool,
    pub(super) getter: Option<CustomGetter>,
    pub(super) check_graphs: bool,
    pub(super) check_order: bool,
}

impl OpenOptions {
    /// The defaults: what `CUSHIM_DRIVER` says, else [`Choice::Auto`].
    pub const fn new() -> Self {
        Self { choice: None, environment: true, getter: None, check_graphs: false, check_order: false }
    }

    /// Opens this driver whatever `CUSHIM_DRIVER` says. If it cannot be opened, that is the error: no other is tried.
    pub fn choice(mut self, choice: Choice) -> Self {
        self.choice = Some(choice);
        self
    }

    /// Opens this library and no other: short for [`Choice::Path`].
    pub fn path(self, path: impl Into<PathBuf>) -> Self {
        self.choice(Choice::Path(path.into()))
    }

    /// Whether environment variables are read; true by default. In a process with more rights than its user (set-uid)
    /// they never are.
    pub const fn environment(mut self, read: bool) -> Self {
        self.environment = read;
        self
    }

    /// Takes every symbol from the caller's own getter and loads no library. Excludes a [`choice`](Self::choice).
    ///
    /// Each opening with a getter makes a driver of its own, which stays until the process ends, as the addresses must:
    /// about 20 KiB, and 35 more once its symbols are listed. So open it once, and clone the [`Driver`].
    pub const fn getter(mut self, getter: CustomGetter) -> Self {
        self.getter = Some(getter);
        self
    }

    /// Whether each launch of a graph asks the driver if the memory that its nodes use is still there, as `CUSHIM_CHECK=graphs` asks for
    /// it. Of graphs that are instantiated from now on, by whoever opened the driver: it costs a call for each address.
    pub const fn check_graphs(mut self, check: bool) -> Self {
        self.check_graphs = check;
        self
    }

    /// Whether the log names operations in streams, and nodes of a graph when it is instantiated, that touch the same memory without an
    /// order, as `CUSHIM_CHECK=order` asks for it. Of streams and graphs that are made from now on, by whoever opened the driver: it costs a
    /// call of the driver for each address.
    pub const fn check_order(mut self, check: bool) -> Self {
        self.check_order = check;
        self
    }

    /// Finds, loads and resolves the driver. It is not initialised: `cuInit` is left to the caller.
    ///
    /// Loading runs the library's own initialisers, so a path must name a library that this process may trust. Opening
    /// the same library again gives the same driver. May be called from any thread.
    ///
    /// # Errors
    /// [`OpenError`] says which libraries were tried, why each was refused, and what to do.
    pub fn open(&self) -> Result<Driver, OpenError> {
        open::open(self)
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}
