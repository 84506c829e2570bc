//! Rounds of bursts, one subject after the other, and what they say.

use crate::options::Options;
use crate::rows::{Row, Subject};
use crate::world::World;
use std::time::{Duration, Instant};

/// Calls in a burst on the driver that does nothing: enough that reading the clock does not count.
const NOOP_BURST: u32 = 512;

/// At least so many rounds, however slow the calls are.
const LEAST_ROUNDS: usize = 9;

/// What was measured of one row: for each subject, nanoseconds per call in each round.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) goal: Option<u32>,
    rounds: [Option<Vec<f64>>; 4],
}

/// The middle of many values, and the quarter of them below and above.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values[(values.len() - 1) * part / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }
}

impl Measured {
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.iter().flatten().map(Vec::len).max().unwrap_or(0)
    }

    pub(crate) fn of(&self, subject: Subject) -> Option<Spread> {
        self.rounds[subject as usize].clone().map(Spread::of)
    }

    /// By how much one subject is slower than another, from the differences within each round.
    pub(crate) fn above(&self, subject: Subject, base: Subject) -> Option<Spread> {
        let (ours, theirs) = (self.rounds[subject as usize].as_ref()?, self.rounds[base as usize].as_ref()?);
        Some(Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect()))
    }
}

/// Measures one row.
pub(crate) fn measure(world: &World, options: &Options, mut row: Row) -> Measured {
    let burst = if world.is_noop { NOOP_BURST } else { row.burst };
    let mut rounds = [0; 4].map(|_| Vec::new());
    let mut round = |rounds: &mut [Vec<f64>; 4]| {
        for subject in Subject::ALL {
            let Some(calls) = &mut row.bursts[subject as usize] else { continue };
            let start = Instant::now();
            calls(burst);
            let taken = start.elapsed();
            world.settle();
            rounds[subject as usize].push(taken.as_secs_f64() * 1e9 / f64::from(burst));
        }
    };
    // The first round pays for what is done once.
    round(&mut rounds);
    rounds.iter_mut().for_each(Vec::clear);
    let time = if options.quick { Duration::ZERO } else { Duration::from_millis(options.millis) };
    let start = Instant::now();
    let mut done = 0;
    while done < LEAST_ROUNDS || start.elapsed() < time {
        round(&mut rounds);
        done += 1;
    }
    let rounds = rounds.map(|taken| Some(taken).filter(|taken| !taken.is_empty()));
    Measured { name: row.name, goal: row.goal, rounds }
}

/// The cores that this thread may run on.
pub(crate) fn cores() -> Vec<usize> {
    // SAFETY: a set of no cores is all zero, and is written during the call; each index is below its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

/// Keeps this thread on one core; answers which. Threads that the driver has are not affected.
pub(crate) fn stay_on(core: Option<usize>) -> Result<usize, String> {
    // SAFETY: asks which core this is.
    let here = unsafe { libc::sched_getcpu() };
    let core = core.or(usize::try_from(here).ok()).unwrap_or(0);
    if core >= libc::CPU_SETSIZE as usize {
        return Err(format!("there is no core {core}"));
    }
    // SAFETY: a set of no cores is all zero; the index is below its size; the set is read during the call.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
    };
    match result {
        0 => Ok(core),
        _ => Err(format!("core {core}: {}", std::io::Error::last_os_error())),
    }
}
