//! Counted calls, for callgrind: it counts inside one function and says how much after each time that it returns.

use crate::options::Options;
use crate::rows::{Burst, Row, Subject};

/// Calls that are counted together.
const CALLS: u32 = 1000;

/// Callgrind is told of this function by its name.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn bench_counted(calls: &mut Burst) {
    calls(CALLS);
}

/// Makes counted calls of each row and subject, and says of which, in this order. First of nothing, for what the loop itself
/// takes.
#[allow(clippy::print_stdout)]
pub(crate) fn run(options: &Options, rows: Vec<Row>) {
    let mut nothing: Burst = Box::new(|calls| (0..calls).for_each(|call| _ = std::hint::black_box(call)));
    bench_counted(&mut nothing);
    println!("{CALLS}\tnothing\t-");
    for mut row in rows.into_iter().filter(|row| options.wants(row.name)) {
        for subject in Subject::ALL {
            let Some(calls) = &mut row.bursts[subject as usize] else { continue };
            // What is done once is not counted.
            calls(2);
            bench_counted(calls);
            println!("{CALLS}\t{}\t{}", row.name, subject.name());
        }
    }
}
