//! Every program and C example with its driver calls failing, one at a time: a part of what `scripts/fault-sweep.sh` tries.

use capi_tests::fault_sweep::{Extent, Sweep};
use capi_tests::parallel::for_each;
use capi_tests::say;

#[test]
fn no_failure_of_the_driver_crashes_a_program() {
    let sweep = Sweep::new();
    let pairs = sweep.pairs(Extent::Short, &[]).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(pairs.len() > 300, "there are {} pairs", pairs.len());
    say(format_args!("{} pairs of a program and a call of the driver that fails", pairs.len()));
    for_each(pairs, |pair| sweep.attempt(&pair));
}
