//! What happens around every call of a driver function: it is counted, a fault may take its place, and it is traced.

use crate::error::Answer;
use crate::names::EXPORTS;
use crate::pattern::Selection;
use crate::trace::{Arguments, Line};
use crate::{fault, trace};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Somebody wants faults: a call asks `fault` before it has any effect.
pub(crate) const FAULTS: u8 = 1;
/// Somebody wants a trace: a call leaves a line.
pub(crate) const TRACE: u8 = 2;

/// What is wanted of every call. A call that nobody watches pays one load for it.
static WATCHED: AtomicU8 = AtomicU8::new(0);

/// How often each export was called.
static COUNTS: [AtomicU64; EXPORTS.len()] = [const { AtomicU64::new(0) }; EXPORTS.len()];

/// Turns `FAULTS` or `TRACE` on or off.
pub(crate) fn watch(what: u8, on: bool) {
    if on {
        WATCHED.fetch_or(what, Ordering::Release);
    } else {
        WATCHED.fetch_and(!what, Ordering::Release);
    }
}

/// Runs `body`, the driver function behind export number `index`; `describe` tells its arguments.
pub(crate) fn make(
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> Answer {
    COUNTS[index].fetch_add(1, Ordering::Relaxed);
    match WATCHED.load(Ordering::Relaxed) {
        0 => body(),
        watched => make_watched(watched, index, describe, body),
    }
}

#[cold]
fn make_watched(
    watched: u8,
    index: usize,
    describe: impl FnOnce(&mut Arguments),
    body: impl FnOnce() -> Answer,
) -> Answer {
    let line = (watched & TRACE != 0).then(|| Line::begin(index, describe));
    let fault = if watched & FAULTS != 0 { fault::strike(index) } else { None };
    let answer = fault.map_or_else(body, Err);
    if let Some(line) = line {
        trace::write(line.end(answer, fault.is_some()));
    }
    answer
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
