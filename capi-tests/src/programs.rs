//! The programs in `c/`, by where they run.

use crate::libraries::Workshop;
use crate::{fuzz, header, interface};

/// Those that run on any driver, of any version, as they are.
pub const ON_ANY_DRIVER: &[&str] = &[
    "open",
    "last_error",
    "handles",
    "table",
    "older_table",
    "getter",
    "candidates",
    "names",
    "own_table",
    "threads",
    "fork",
    "default_fork",
    "objects_abis",
    "objects_batch_copy",
    "objects_buffers",
    "objects_callbacks",
    "objects_contexts",
    "objects_devices",
    "objects_dlpack",
    "objects_errors",
    "objects_events",
    "objects_exit",
    "objects_fuzz",
    "objects_kernels",
    "objects_managed",
    "objects_managed_batches",
    "objects_managed_buffers",
    "objects_memory",
    "objects_misuse",
    "objects_peers",
    "objects_reset",
    "objects_resources",
    "objects_streams",
    "objects_sweep",
    "objects_threads",
];

/// Those of them that also run on "none".
pub fn on_none() -> impl Iterator<Item = &'static str> {
    ON_ANY_DRIVER.iter().copied().filter(|name| name.starts_with("objects_"))
}

/// Those that only work as a shared library's programs do.
pub const SHARED_ONLY: &[&str] = &["candidates"];

/// A folder to build them in, with the files that they include.
#[must_use]
pub fn workshop() -> Workshop {
    let workshop = Workshop::new();
    let header = header::text();
    workshop.write("entries.inc", &header::entries_as_c(&header));
    workshop.write("calls.inc", &header::calls_as_c(&header));
    workshop.write("fuzz.inc", &fuzz::as_c(&interface::read()));
    workshop
}
