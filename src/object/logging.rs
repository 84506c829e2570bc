//! Where the log of the C library goes: to stderr as `CUSHIM_LOG` says, to a callback, or to the queue of pull mode.
//!
//! Only functions of the C ABI call this: a Rust program installs a logger of its own. No line reaches a caller's code on
//! the thread that logs, which may hold any lock: the worker delivers it. What a callback logs itself is not delivered to a
//! callback: one whose own call fails would feed itself for ever.

use crate::driver::is_privileged;
use crate::object::callback;
use crate::object::callback::pull::{self, Item, Line, MOST_LINES};
use crate::object::cancellation::Deferred;
use crate::object::error::{Error, Status};
use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::RwLock;
use std::cell::Cell;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// What is logged to stderr: `error`, `warn`, `info`, `debug` or `trace`, and such a level for parts of it, as in
/// `warn,cushim::driver=debug`. Unset, nothing is.
pub(crate) const VARIABLE: &str = "CUSHIM_LOG";

/// A caller's function for lines.
pub(crate) type Deliver = dyn Fn(Level, &str, &str) + Send + Sync;

/// Where lines go.
#[derive(Clone)]
enum Destination {
    /// Nobody has said, so nowhere.
    Undecided,
    Stderr(Option<&'static env_logger::Logger>),
    Callback(Arc<Callback>),
    Pull,
}

static DESTINATION: RwLock<Destination> = RwLock::new(Destination::Undecided);

/// Makes the library's lines come here. The functions that say where they go from here follow it.
pub(crate) fn install() -> Result<(), Error> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if *INSTALLED.get_or_init(|| log::set_logger(&Logger).is_ok()) {
        return Ok(());
    }
    Err(Error::new(
        Status::UNSUPPORTED,
        "this program, in Rust, has installed a logger of its own, which gets the lines; direct that one",
    ))
}

/// Logs to where the environment says, unless the program has said otherwise.
pub(crate) fn start() {
    let undecided = |now: &Destination| matches!(now, Destination::Undecided);
    if undecided(&DESTINATION.read()) && install().is_ok() {
        choose(from_environment(), undecided);
    }
}

/// Logs to where the environment says.
pub(crate) fn to_stderr() {
    choose(from_environment(), |_| true);
}

/// Has the worker call `deliver` for each line of `level` or above.
pub(crate) fn to_callback(level: LevelFilter, deliver: Box<Deliver>) {
    let callback = Callback { deliver, waiting: AtomicUsize::new(0), lost: AtomicU64::new(0) };
    choose((Destination::Callback(Arc::new(callback)), level), |_| true);
}

/// Queues each line of `level` or above for the program to drain.
pub(crate) fn to_pull(level: LevelFilter) {
    choose((Destination::Pull, level), |_| true);
}

/// Whether lines go to stderr: then nothing of the program's is called by logging one.
pub(crate) fn is_to_stderr() -> bool {
    matches!(&*DESTINATION.read(), Destination::Stderr(Some(_)))
}

fn from_environment() -> (Destination, LevelFilter) {
    static LOGGER: OnceLock<Option<env_logger::Logger>> = OnceLock::new();
    let logger = LOGGER.get_or_init(|| {
        if is_privileged() {
            return None;
        }
        let spec = std::env::var_os(VARIABLE).filter(|spec| !spec.is_empty())?;
        let spec = spec.to_string_lossy();
        let wrong = spec.split(',').map(str::trim).find(|part| !is_directive(part));
        let logger = env_logger::Builder::new().parse_filters(wrong.map_or(&*spec, |_| "error")).build();
        if let Some(wrong) = wrong {
            refuse(&logger, wrong);
        }
        Some(logger)
    });
    let level = logger.as_ref().map_or(LevelFilter::Off, env_logger::Logger::filter);
    (Destination::Stderr(logger.as_ref()), level)
}

/// Whether a part of `CUSHIM_LOG` is a level, or a part of the library with or without one.
fn is_directive(part: &str) -> bool {
    let is_level = |text: &str| LevelFilter::from_str(text).is_ok();
    let is_ours = |text: &str| text.split("::").next() == Some("cushim");
    part.is_empty() || is_level(part) || {
        let (target, level) = part.split_once('=').unwrap_or((part, "trace"));
        is_ours(target) && is_level(level)
    }
}

/// Says that nothing follows from a part of `CUSHIM_LOG`, to whom waits for lines in vain.
fn refuse(logger: &env_logger::Logger, part: &str) {
    let text = format_args!(
        "{VARIABLE} asks for \"{part}\", which is neither a level (off, error, warn, info, debug, trace) nor one of a part \
         (cushim::driver=debug); errors are logged"
    );
    logger.log(&Record::builder().level(Level::Error).target("cushim").args(text).build());
}

/// Makes lines go to a destination, if `replace` agrees to give up the one that there is.
fn choose((new, level): (Destination, LevelFilter), replace: impl FnOnce(&Destination) -> bool) {
    let mut destination = DESTINATION.write();
    if replace(&destination) {
        let old = std::mem::replace(&mut *destination, new);
        log::set_max_level(level);
        drop(destination);
        // Letting go of a callback hands its owner over, which takes a lock of its own.
        drop(old);
    }
}

/// What the `log` crate calls.
struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        match &*DESTINATION.read() {
            Destination::Undecided | Destination::Stderr(None) => false,
            Destination::Stderr(Some(logger)) => logger.enabled(metadata),
            Destination::Callback(_) if DELIVERING.get() => false,
            Destination::Callback(_) | Destination::Pull => metadata.level() <= log::max_level(),
        }
    }

    fn log(&self, record: &Record<'_>) {
        // The lock is not held while the line is made or written.
        let destination = DESTINATION.read().clone();
        match destination {
            Destination::Undecided | Destination::Stderr(None) => {}
            Destination::Stderr(Some(logger)) => {
                let _uncancelled = Deferred::new();
                logger.log(record);
            }
            Destination::Callback(_) if DELIVERING.get() => {}
            Destination::Callback(callback) => callback.take(record),
            Destination::Pull => pull::push(Item::Line(line(record))),
        }
    }

    fn flush(&self) {}
}

fn line(record: &Record<'_>) -> Line {
    Line { level: record.level(), target: record.target().to_owned(), text: record.args().to_string() }
}

thread_local! {
    /// Whether the thread is inside a callback for lines.
    static DELIVERING: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, the thread is inside a callback for lines.
struct Delivering;

impl Delivering {
    fn enter() -> Self {
        DELIVERING.set(true);
        Self
    }
}

impl Drop for Delivering {
    fn drop(&mut self) {
        DELIVERING.set(false);
    }
}

/// A caller's function, and the lines on their way to it.
struct Callback {
    deliver: Box<Deliver>,
    waiting: AtomicUsize,
    lost: AtomicU64,
}

impl Callback {
    fn take(self: Arc<Self>, record: &Record<'_>) {
        if self.waiting.fetch_add(1, Relaxed) >= MOST_LINES {
            self.waiting.fetch_sub(1, Relaxed);
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        let line = line(record);
        callback::hand_over(Box::new(move || self.deliver(&line)));
    }

    fn deliver(&self, line: &Line) {
        self.waiting.fetch_sub(1, Relaxed);
        let _delivering = Delivering::enter();
        let lost = self.lost.swap(0, Relaxed);
        if lost > 0 {
            (self.deliver)(Level::Warn, "cushim", &pull::lost_lines(lost));
        }
        (self.deliver)(line.level, &line.target, &line.text);
    }
}
