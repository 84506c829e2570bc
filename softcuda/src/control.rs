//! The control interface: what a test can ask of the software driver and arrange in it, beside the driver's own
//! functions. A program finds these by `dlsym` on `libsoftcuda.so` (never on a shell).

use crate::{context, event, memory, settings, stream};
use std::ffi::c_int;

/// The impersonated version as a number, 12020 for 12.2; -1 if the environment asks for something impossible.
///
/// Any thread, any time.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn softcuda_version() -> c_int {
    settings::settings().map_or(-1, |s| s.version as c_int)
}

/// How many objects the program has created and not released: active contexts, streams, events,
/// allocations, registrations, pools.
///
/// Any thread, any time; exact while no other thread is inside a call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn softcuda_live_objects() -> usize {
    context::live() + stream::live() + event::live() + memory::table::live() + memory::pool::live()
}

/// 12020 as `12.2`.
pub(crate) fn dotted(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
