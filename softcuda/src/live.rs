//! What lives: the objects that a program has created and not released.

use crate::context::Activation;
use crate::device::Device;
use crate::settings::complain;
use crate::{code, context, event, graph, memory, stream};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const CONTEXT: &str = "context";
pub(crate) const STREAM: &str = "stream";
pub(crate) const EVENT: &str = "event";
pub(crate) const DEVICE_MEMORY: &str = "device memory";
pub(crate) const PINNED_MEMORY: &str = "pinned memory";
pub(crate) const REGISTERED_MEMORY: &str = "registered memory";
pub(crate) const MANAGED_MEMORY: &str = "managed memory";
pub(crate) const GRAPH: &str = "graph";
pub(crate) const LIBRARY: &str = "library";
pub(crate) const MODULE: &str = "module";
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
    GRAPH,
    LIBRARY,
    MODULE,
];

/// An object that lives.
pub(crate) struct Object {
    /// One of `KINDS`.
    pub(crate) kind: &'static str,
    /// The handle or the address by which callers know it.
    name: usize,
    /// 0 for what is no memory.
    pub(crate) bytes: usize,
    /// `None` for what is of no device.
    device: Option<Device>,
    /// The handle of the context that it belongs to.
    context: Option<usize>,
}

impl Object {
    /// What belongs to a context.
    pub(crate) fn of_context(kind: &'static str, name: usize, context: &Activation) -> Self {
        let owner = Some(context.context() as usize);
        Self { kind, name, bytes: 0, device: Some(context.device()), context: owner }
    }

    /// What belongs to a device.
    pub(crate) fn of_device(kind: &'static str, name: usize, device: Device) -> Self {
        Self { kind, name, bytes: 0, device: Some(device), context: None }
    }

    /// A pool, which may be no device's.
    pub(crate) fn of_pool(name: usize, device: Option<Device>) -> Self {
        Self { kind: MEMORY_POOL, name, bytes: 0, device, context: None }
    }

    /// What belongs to the process.
    pub(crate) fn of_process(kind: &'static str, name: usize) -> Self {
        Self { kind, name, bytes: 0, device: None, context: None }
    }

    pub(crate) fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:#x}", self.kind, self.name)?;
        if self.bytes > 0 {
            write!(f, ", {} bytes", self.bytes)?;
        }
        if let Some(device) = self.device {
            write!(f, ", device {}", device.ordinal())?;
        }
        self.context.map_or(Ok(()), |context| write!(f, ", context {context:#x}"))
    }
}

/// All that live, kind by kind.
pub(crate) fn objects() -> Vec<Object> {
    let mut all = Vec::new();
    let mut add = |object| all.push(object);
    context::show_live(&mut add);
    stream::show_live(&mut add);
    event::show_live(&mut add);
    memory::table::show_live(&mut add);
    memory::pool::show_live(&mut add);
    graph::show_live(&mut add);
    code::library::show_live(&mut add);
    code::module::show_live(&mut add);
    all.sort_by_key(|object| (KINDS.iter().position(|kind| *kind == object.kind), object.name));
    all
}

/// A line each.
pub(crate) fn lines() -> String {
    objects().iter().map(|object| format!("{object}\n")).collect()
}

/// Has the process say at its end what still lives then. The child of a fork says nothing: what it has are copies.
pub(crate) fn report_at_exit() {
    static PROCESS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn report() {
        if PROCESS.load(Ordering::Relaxed) != std::process::id() {
            return; // before any lock, which the fork may have copied locked
        }
        let lines = lines();
        if !lines.is_empty() {
            complain(&format!("never released:\n{}", lines.trim_end()));
        }
    }
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    // SAFETY: the function is there until the process ends, because the library is never unloaded.
    unsafe { libc::atexit(report) };
}
