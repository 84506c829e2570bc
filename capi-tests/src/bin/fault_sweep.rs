//! Every program and C example, or those that are named, with each of its driver calls failing in turn. `scripts/fault-sweep.sh` calls it.

#![cfg(target_os = "linux")]

use capi_tests::fault_sweep::{Extent, Sweep};
use capi_tests::parallel::failures_of;
use capi_tests::say;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::Instant;

/// Programs at a time, for each processor: most wait, for what the library does beside them.
const FOR_EACH: usize = 4;

fn main() -> ExitCode {
    let begun = Instant::now();
    let sweep = Sweep::new();
    let only: Vec<String> = std::env::args().skip(1).collect();
    let pairs = sweep.pairs(Extent::Whole, &only).unwrap_or_else(|failure| panic!("{failure}"));
    // Each has run once by now.
    let (programs, count) = (sweep.runs(), pairs.len());
    say(format_args!(
        "{count} pairs of a program and a call of the driver that fails, in {programs} programs"
    ));
    let jobs = FOR_EACH * available_parallelism().map_or(2, usize::from);
    let (tried, tenth) = (AtomicUsize::new(0), count.div_ceil(10).max(1));
    let attempt = |pair| {
        let attempted = sweep.attempt(&pair).inspect_err(|failure| say(format_args!("{failure}")));
        let done = tried.fetch_add(1, Relaxed) + 1;
        if done % tenth == 0 && done < count {
            say(format_args!("{done} of {count} pairs, {} s", begun.elapsed().as_secs()));
        }
        attempted
    };
    let (found, seconds) = (failures_of(jobs, pairs, attempt).len(), begun.elapsed().as_secs());
    say(format_args!(
        "fault-sweep.sh: {programs} programs, {count} pairs, {} runs, {found} findings, {seconds} s",
        sweep.runs()
    ));
    ExitCode::from(u8::from(found > 0))
}
