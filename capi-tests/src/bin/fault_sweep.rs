//! Every program and C example with each of its driver calls failing in turn. `scripts/fault-sweep.sh` calls it.

#![cfg(target_os = "linux")]

use capi_tests::fault_sweep::{Extent, Sweep};
use capi_tests::parallel::for_each;
use capi_tests::say;

fn main() {
    let sweep = Sweep::new();
    let pairs = sweep.pairs(Extent::Whole).unwrap_or_else(|failure| panic!("{failure}"));
    say(format_args!("{} pairs of a program and a call of the driver that fails", pairs.len()));
    for_each(pairs, |pair| sweep.attempt(&pair));
    say(format_args!("all of them end, and leave nothing behind"));
}
