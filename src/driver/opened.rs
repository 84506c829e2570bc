//! An open driver.

use super::catalogue::Row;
use super::error::{MissingSymbol, OpenError};
use super::getter::{Getter, GetterKind};
use super::kind::Kind;
use super::labels::Labels;
use super::library::Library;
use super::options::OpenOptions;
use super::report::LoadReport;
use super::resolve::{self, Resolved, Resolver, Symbol};
use super::sys::CUresult;
use super::table::Table;
use super::told_init::telling_of;
use super::version::Version;
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What all openings of one library share.
pub(super) struct Core {
    pub(super) kind: Kind,
    pub(super) path: Option<PathBuf>,
    pub(super) version: Option<Version>,
    pub(super) getter: GetterKind,
    table: Box<Table>,
    /// The `cuInit` of the tables, and its number, where somebody wants to know that a program calls it.
    telling: Option<(usize, Init)>,
    resolved: Resolved,
    /// The symbols with all that can be said of them, made when somebody asks.
    symbols: OnceLock<Vec<Symbol>>,
    /// Few programs ask for the variants of the per-thread default stream, so they are looked up when somebody does.
    per_thread: OnceLock<PerThread>,
    /// What to look them up in; `None` without a library.
    library: Option<Library>,
    /// Whether graphs are checked at each launch.
    checks_graphs: AtomicBool,
    checks_order: AtomicBool,
    /// What the driver takes labels by, looked up when there is one.
    labels: OnceLock<Option<Labels>>,
}

/// The variants for the per-thread default stream.
struct PerThread {
    symbols: Vec<Symbol>,
    table: Box<Table>,
}

impl Core {
    pub(super) fn new(path: Option<PathBuf>, resolver: &Resolver) -> Self {
        let resolved = resolver.resolve();
        let mut table = resolve::table(&resolved.addresses);
        let telling = telling(&table);
        tell_by(&mut table, telling);
        let without = if resolver.library.is_some() { GetterKind::Dlsym } else { GetterKind::None };
        let core = Self {
            kind: resolver.kind,
            path,
            version: resolver.version,
            getter: resolver.getter.as_ref().map_or(without, Getter::kind),
            table,
            telling,
            resolved,
            symbols: OnceLock::new(),
            per_thread: OnceLock::new(),
            library: resolver.library,
            checks_graphs: AtomicBool::new(false),
            checks_order: AtomicBool::new(false),
            labels: OnceLock::new(),
        };
        if core.getter == GetterKind::Custom {
            // A caller's getter is called while the driver is being opened, never later.
            core.per_thread.get_or_init(|| core.resolve_per_thread(resolver));
        }
        core
    }

    /// Whether it can never be initialised, as something that only answers for its version.
    pub(super) fn cannot_begin(&self) -> bool {
        self.table.cuInit_2000.is_none()
    }

    fn symbols(&self) -> &[Symbol] {
        self.symbols.get_or_init(|| self.resolved.symbols())
    }

    fn per_thread(&self) -> &PerThread {
        self.per_thread.get_or_init(|| {
            let getter = self.library.as_ref().and_then(Getter::of);
            let Self { kind, library, version, .. } = *self;
            self.resolve_per_thread(&Resolver { kind, getter, library, version })
        })
    }

    fn resolve_per_thread(&self, resolver: &Resolver) -> PerThread {
        let variants = resolver.per_thread_symbols();
        let mut table = resolve::per_thread_table(&self.resolved.addresses, &variants);
        tell_by(&mut table, self.telling);
        PerThread { table, symbols: variants }
    }
}

type Init = unsafe extern "C" fn(flags: u32) -> CUresult;

/// What is told of each driver that a program initialises by its table.
static LISTENER: OnceLock<fn(&Driver)> = OnceLock::new();

/// The `cuInit` that tells of itself, while the log is at level debug.
fn telling(table: &Table) -> Option<(usize, Init)> {
    let own =
        table.cuInit_2000.filter(|_| log::max_level() >= log::Level::Debug && LISTENER.get().is_some())?;
    telling_of(own, |number| {
        let is_it = |driver: &&Driver| driver.core.telling.is_some_and(|(its, _)| its == number);
        let driver = KNOWN.lock().iter().find(is_it).cloned();
        if let (Some(driver), Some(listener)) = (driver, LISTENER.get()) {
            listener(&driver);
        }
    })
}

fn tell_by(table: &mut Table, telling: Option<(usize, Init)>) {
    if let Some((_, init)) = telling {
        table.cuInit_2000 = Some(init);
    }
}

/// An open driver: its table of functions, and what is known of it.
///
/// Cheap to clone, and usable from every thread without a lock. The driver behind it stays loaded until the process
/// ends, whether or not a `Driver` remains. Two of them are equal if they came from the same library; their reports may
/// differ, because they may have been looked for in different ways.
#[derive(Clone)]
pub struct Driver {
    core: &'static Core,
    report: Arc<LoadReport>,
}

impl Driver {
    pub(super) fn new(core: &'static Core, report: LoadReport) -> Self {
        let driver = Self { core, report: Arc::new(report) };
        let mut known = KNOWN.lock();
        if !known.contains(&driver) {
            known.push(driver.clone());
        }
        driver
    }

    /// The driver that handed out this table; `None` if no driver of this library did.
    pub(crate) fn behind(table: *const Table) -> Option<Self> {
        let is_behind = |driver: &&Self| {
            let per_thread = driver.core.per_thread.get();
            std::ptr::eq(table, &raw const *driver.core.table)
                || per_thread.is_some_and(|per_thread| std::ptr::eq(table, &raw const *per_thread.table))
        };
        KNOWN.lock().iter().find(is_behind).cloned()
    }

    /// The functions of the drivers that were opened after so many others, in the order in which they were: all stay.
    pub(crate) fn opened_after(count: usize) -> Vec<&'static Table> {
        let known = KNOWN.lock();
        known.iter().skip(count).map(Self::object_table).collect()
    }

    /// Has `listener` be told of drivers that are opened from now on, while the log is at level debug, and that a program
    /// initialises by their tables.
    #[cfg(feature = "capi")]
    pub(crate) fn listen(listener: fn(&Self)) {
        LISTENER.get_or_init(|| listener);
    }

    /// Opens the driver that `CUSHIM_DRIVER` names, or else the one of this machine: short for
    /// [`OpenOptions::new`]`().open()`.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open() -> Result<Self, OpenError> {
        OpenOptions::new().open()
    }

    /// Whether launches of graphs check that the memory is still there ([`OpenOptions::check_graphs`]).
    #[must_use]
    pub fn checks_graphs(&self) -> bool {
        self.core.checks_graphs.load(Ordering::Relaxed)
    }

    /// Whether what nothing orders is named in the log ([`OpenOptions::check_order`]).
    #[must_use]
    pub fn checks_order(&self) -> bool {
        self.core.checks_order.load(Ordering::Relaxed)
    }

    /// An object, which the driver knows by this handle, or memory that begins at this address, is called so from now on, in
    /// what a driver in software says of it; `None` takes the label away.
    pub(crate) fn tell_label(&self, object: usize, label: Option<&str>) {
        let Core { kind, library, labels, .. } = self.core;
        if let Some(labels) = labels.get_or_init(|| Labels::of(*kind, library.as_ref())) {
            labels.set(object, label);
        }
    }

    pub(super) fn check_order(&self) {
        self.core.checks_order.store(true, Ordering::Relaxed);
    }

    pub(super) fn check_graphs(&self) {
        self.core.checks_graphs.store(true, Ordering::Relaxed);
    }

    /// What sort of driver it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.core.kind
    }

    /// The CUDA version that the driver reports; `None` for [`Kind::None`].
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.core.version
    }

    /// Whether the driver is older than [`Version::OLDEST_SUPPORTED`]: nothing here was tried with such a driver.
    #[must_use]
    pub fn is_older_than_supported(&self) -> bool {
        self.core.version.is_some_and(|version| version < Version::OLDEST_SUPPORTED)
    }

    /// The real path of the loaded library; `None` where none was loaded.
    #[must_use]
    pub fn path(&self) -> Option<&'static Path> {
        self.core.path.as_deref()
    }

    /// How the driver is asked for its symbols.
    #[must_use]
    pub fn getter(&self) -> GetterKind {
        self.core.getter
    }

    /// The driver's functions; those that take a stream understand the null stream as the legacy one.
    #[must_use]
    pub fn table(&self) -> &'static Table {
        &self.core.table
    }

    /// The functions that the objects call: the table, or for [`Kind::None`] one whose streams and events are no-ops.
    #[must_use]
    pub(crate) fn object_table(&self) -> &'static Table {
        if self.core.kind == Kind::None { &super::none::NO_OPS } else { &self.core.table }
    }

    /// The same functions, those that have such a variant understanding the null stream as the calling thread's.
    #[must_use]
    pub fn per_thread_table(&self) -> &'static Table {
        &self.core.per_thread().table
    }

    /// What the driver has of the ABI `abi` of the function `base`; `None` if the catalogue has no such ABI.
    ///
    /// ```
    /// use cushim::driver::{Choice, OpenOptions, Status};
    ///
    /// let driver = OpenOptions::new().choice(Choice::None).open()?;
    /// assert_eq!(driver.symbol("cuMemPrefetchAsync", 12020).unwrap().status, Status::NoDriver);
    /// assert_eq!(driver.symbol("cuMemPrefetchAsync", 12021), None);
    /// # Ok::<(), cushim::driver::OpenError>(())
    /// ```
    #[must_use]
    pub fn symbol(&self, base: &str, abi: u32) -> Option<&'static Symbol> {
        let (index, _) = Row::find(base, abi)?;
        self.core.symbols().get(index)
    }

    /// What the driver has of the variant for the per-thread default stream of the ABI `abi` of the function `base`;
    /// `None` if there is no such variant. `abi` is the number of the plain form.
    #[must_use]
    pub fn per_thread_symbol(&self, base: &str, abi: u32) -> Option<&'static Symbol> {
        let (_, row) = Row::find(base, abi)?;
        self.core.per_thread().symbols.iter().find(|symbol| std::ptr::eq(symbol.row, row))
    }

    /// Every ABI of the catalogue, in its order, which is that of the table.
    #[must_use]
    pub fn symbols(&self) -> &'static [Symbol] {
        self.core.symbols()
    }

    /// Every variant for the per-thread default stream, in the order of the catalogue.
    #[must_use]
    pub fn per_thread_symbols(&self) -> &'static [Symbol] {
        &self.core.per_thread().symbols
    }

    /// The explanation of why the driver lacks `symbol`, one of its own.
    #[must_use]
    pub fn explain(&self, symbol: &Symbol) -> MissingSymbol {
        MissingSymbol::new(symbol, self.core.kind, self.core.version, self.core.path.clone())
    }

    /// How this opening went.
    #[must_use]
    pub fn report(&self) -> &LoadReport {
        &self.report
    }
}

/// Every driver that was opened, once.
static KNOWN: Mutex<Vec<Driver>> = Mutex::new(Vec::new());

impl PartialEq for Driver {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.core, other.core)
    }
}

impl Eq for Driver {}

impl std::hash::Hash for Driver {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.core, state);
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("kind", &self.core.kind)
            .field("version", &self.core.version)
            .field("path", &self.core.path)
            .finish_non_exhaustive()
    }
}
