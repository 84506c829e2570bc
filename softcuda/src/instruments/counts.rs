//! How often each function was called, and what else is wanted of every call.

use super::selection::Selection;
use crate::abi::names::EXPORTS;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Somebody wants faults: a call asks `fault` before it has any effect.
pub(crate) const FAULTS: u8 = 1;
/// Somebody wants a trace: a call leaves a line.
pub(crate) const TRACE: u8 = 2;
/// Somebody checks: a call says which one it is.
pub(crate) const CHECKS: u8 = 4;

/// What is wanted of every call. A call that nobody watches pays one load for it.
static WATCHED: AtomicU8 = AtomicU8::new(0);

/// How often each export was called.
static COUNTS: [AtomicU64; EXPORTS.len()] = [const { AtomicU64::new(0) }; EXPORTS.len()];

/// Turns `FAULTS`, `TRACE` or `CHECKS` on or off.
pub(super) fn watch(what: u8, on: bool) {
    if on {
        WATCHED.fetch_or(what, Ordering::Release);
    } else {
        WATCHED.fetch_and(!what, Ordering::Release);
    }
}

/// Counts a call of export number `index`; answers what is wanted of it, 0 for nothing.
pub(crate) fn begin(index: usize) -> u8 {
    COUNTS[index].fetch_add(1, Ordering::Relaxed);
    WATCHED.load(Ordering::Relaxed)
}

/// How often the selected functions were called.
pub(crate) fn count(selection: &Selection) -> u64 {
    let selected = COUNTS.iter().zip(selection).filter(|(_, chosen)| **chosen);
    selected.map(|(count, _)| count.load(Ordering::Relaxed)).sum()
}

/// Forgets all calls so far.
pub(crate) fn reset() {
    for count in &COUNTS {
        count.store(0, Ordering::Relaxed);
    }
}
