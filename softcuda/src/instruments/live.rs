//! What lives: the objects that a program has created and not released.

use super::complain::complain;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) const CONTEXT: &str = "context";
pub(crate) const STREAM: &str = "stream";
pub(crate) const EVENT: &str = "event";
pub(crate) const DEVICE_MEMORY: &str = "device memory";
pub(crate) const PINNED_MEMORY: &str = "pinned memory";
pub(crate) const REGISTERED_MEMORY: &str = "registered memory";
pub(crate) const MANAGED_MEMORY: &str = "managed memory";
pub(crate) const PHYSICAL_MEMORY: &str = "physical memory";
pub(crate) const ADDRESS_RANGE: &str = "address range";
pub(crate) const GRAPH: &str = "graph";
pub(crate) const EXEC: &str = "executable graph";
pub(crate) const USER_OBJECT: &str = "user object";
pub(crate) const LIBRARY: &str = "library";
pub(crate) const MODULE: &str = "module";
pub(crate) const LINKER: &str = "linker";
pub(crate) const MEMORY_POOL: &str = "memory pool";

/// The kinds of objects, as tests name them, in the order of a report.
pub(crate) const KINDS: &[&str] = &[
    CONTEXT,
    STREAM,
    EVENT,
    DEVICE_MEMORY,
    PINNED_MEMORY,
    REGISTERED_MEMORY,
    MANAGED_MEMORY,
    MEMORY_POOL,
    PHYSICAL_MEMORY,
    ADDRESS_RANGE,
    GRAPH,
    EXEC,
    USER_OBJECT,
    LIBRARY,
    MODULE,
    LINKER,
];

/// An object that lives.
pub(crate) struct Object {
    /// One of `KINDS`.
    pub(crate) kind: &'static str,
    /// The handle or the address by which callers know it.
    pub(crate) name: usize,
    /// 0 for what is no memory.
    pub(crate) bytes: usize,
    /// The ordinal of its device; `None` for what is of no device.
    pub(crate) device: Option<usize>,
    /// The handle of the context that it belongs to.
    pub(crate) context: Option<usize>,
    /// What the program calls it.
    pub(crate) label: Option<Arc<str>>,
}

/// Knows objects that live.
pub(crate) trait Source: Sync {
    /// Shows every one of them.
    fn show(&self, show: &mut dyn FnMut(Object));

    /// The program calls the one of this name so; `None` takes a label away. False if it is not known here.
    fn set_label(&self, name: usize, label: Option<&Arc<str>>) -> bool;
}

static SOURCES: Mutex<Vec<&'static dyn Source>> = Mutex::new(Vec::new());

/// Who knows objects says so once, before the first one is there.
pub(crate) fn register(source: &'static dyn Source) {
    SOURCES.lock().push(source);
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, Named(self.name, self.label.as_deref()))?;
        if self.bytes > 0 {
            write!(f, ", {} bytes", self.bytes)?;
        }
        if let Some(device) = self.device {
            write!(f, ", device {device}")?;
        }
        self.context.map_or(Ok(()), |context| write!(f, ", context {context:#x}"))
    }
}

/// A handle or an address, and the label behind it if there is one.
pub(crate) struct Named<'a>(pub(crate) usize, pub(crate) Option<&'a str>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)?;
        self.1.map_or(Ok(()), |label| write!(f, " \"{label}\""))
    }
}

/// The program calls what it knows by this handle or address so; `None` takes a label away. False if nothing of this name lives.
pub(crate) fn set_label(name: usize, label: Option<&Arc<str>>) -> bool {
    let sources = SOURCES.lock().clone();
    sources.iter().any(|source| source.set_label(name, label))
}

/// All that live, kind by kind.
pub(crate) fn objects() -> Vec<Object> {
    // A source that shows its objects may meet one that registers.
    let sources = SOURCES.lock().clone();
    let mut all = Vec::new();
    sources.iter().for_each(|source| source.show(&mut |object| all.push(object)));
    all.sort_by_key(|object| (KINDS.iter().position(|kind| *kind == object.kind), object.name));
    all
}

/// A line each.
pub(crate) fn lines() -> String {
    objects().iter().map(|object| format!("{object}\n")).collect()
}

/// How long the end of the process waits for releases that are due.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long nothing may change before what lives is taken for leaked. A destructor only hands its data to a thread of the
/// client's, which then calls the driver: of that nobody tells.
const STILLNESS: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_millis(5);

static DUE: AtomicUsize = AtomicUsize::new(0);

/// A release that is under way, though no call waits for it. The end of the process does.
pub(crate) struct Due(());

/// A release is due until the answer is dropped.
pub(crate) fn due() -> Due {
    DUE.fetch_add(1, Ordering::Relaxed);
    Due(())
}

impl Drop for Due {
    fn drop(&mut self) {
        DUE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A line for each object that lives once no release is due and nothing has changed for a while. It ends at once if nothing lives; and
/// soon in any case, for a release may wait for the thread that asks.
fn lines_when_settled() -> String {
    let begun = Instant::now();
    let (mut known, mut since) = (lines(), begun);
    while !known.is_empty() && since.elapsed() < STILLNESS && begun.elapsed() < PATIENCE {
        std::thread::sleep(POLL);
        let now = lines();
        if now != known || DUE.load(Ordering::Relaxed) > 0 {
            (known, since) = (now, Instant::now());
        }
    }
    known
}

/// The same, as objects.
pub(crate) fn objects_when_settled() -> Vec<Object> {
    lines_when_settled();
    objects()
}

/// The process that is to say at its end what still lives then; 0 is none.
static REPORTER: AtomicU32 = AtomicU32::new(0);

/// Has this process report at its end.
pub(crate) fn report_at_exit() {
    REPORTER.store(std::process::id(), Ordering::Relaxed);
}

/// The process ends, and releases can still be made: says what will stay, if that was asked for. The child of a fork says
/// nothing: what it has are copies.
pub(crate) fn report() {
    if REPORTER.load(Ordering::Relaxed) != std::process::id() {
        return; // before any lock, which the fork may have copied locked
    }
    let lines = lines_when_settled();
    if !lines.is_empty() {
        complain(&format!("never released:\n{}", lines.trim_end()));
    }
}
