//! A launch: its blocks on threads of the host.

use super::core::Core;
use super::fault::{Fault, FaultKind};
use super::host::Host;
use super::program::Program;
use super::seen::Watch;
use super::unit::Unit;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A launch under way, as all its threads see it.
pub(in crate::ptx) struct Job<'j> {
    pub(in crate::ptx) host: &'j dyn Host,
    pub(in crate::ptx) args: &'j [u8],
    /// The addresses of the module's variables.
    pub(in crate::ptx) globals: &'j [u64],
    pub(in crate::ptx) grid: [u32; 3],
    pub(in crate::ptx) block: [u32; 3],
    /// Blocks of a cluster, which is one block where the launch asks for none.
    pub(in crate::ptx) cluster: [u32; 3],
    pub(in crate::ptx) asks_for_clusters: bool,
    pub(in crate::ptx) dynamic_shared: u32,
    /// Bytes of local memory per thread.
    pub(in crate::ptx) stride: u32,
    /// How many of the stack a thread's calls may take.
    pub(in crate::ptx) stack: u32,
    pub(in crate::ptx) environment: [u32; 32],
    pub(in crate::ptx) id: u64,
    pub(in crate::ptx) processors: u32,
    pub(in crate::ptx) resident: usize,
    pub(in crate::ptx) cores: usize,
    pub(in crate::ptx) budget: Option<AtomicI64>,
    /// Whoever wants to know which memory is used.
    pub(in crate::ptx) watch: Option<&'j Watch>,
    /// The next cluster to begin.
    pub(in crate::ptx) next: AtomicU64,
    pub(in crate::ptx) failed: AtomicBool,
    pub(in crate::ptx) fault: Mutex<Option<Box<Fault>>>,
}

/// A launch that lasts longer gets more threads.
const ALONE: Duration = Duration::from_micros(200);

impl Job<'_> {
    pub(in crate::ptx) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    fn units(&self) -> u64 {
        (0..3).map(|axis| u64::from(self.grid[axis] / self.cluster[axis])).product()
    }

    /// Takes instructions of a warp from the budget, and tells the driver of them. A nanosecond of sleep before them is as
    /// good as an instruction to the driver: others have their turn.
    pub(super) fn spend(&self, instructions: u32, slept: u32) -> Result<(), FaultKind> {
        if let Some(budget) = &self.budget
            && budget.fetch_sub(i64::from(instructions), Ordering::Relaxed) < i64::from(instructions)
        {
            return Err(FaultKind::Timeout);
        }
        if self.host.spend(instructions.saturating_add(slept)) { Ok(()) } else { Err(FaultKind::Cancelled) }
    }

    fn take(&self) -> Option<u64> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let unit = self.next.fetch_add(1, Ordering::Relaxed);
        (unit < self.units()).then_some(unit)
    }

    fn has_more(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.units()
    }

    /// Runs all blocks.
    pub(in crate::ptx) fn run(self, program: &Program) -> Result<(), Box<Fault>> {
        std::thread::scope(|scope| {
            let job = &self;
            let mut helpers = job.cores.saturating_sub(1);
            let begun = Instant::now();
            job.work(program, &mut || {
                if helpers > 0 && job.has_more() && begun.elapsed() > ALONE {
                    for _ in 0..std::mem::take(&mut helpers) {
                        let help = || job.work(program, &mut || {});
                        // Where the system has no thread to give, those that are there do it.
                        let _ = std::thread::Builder::new().spawn_scoped(scope, help);
                    }
                }
            });
        });
        match self.fault.into_inner() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// What one thread does: a unit at a time, and more of them in turn if one does not come to its end, for it may wait
    /// for another.
    fn work(&self, program: &Program, between: &mut dyn FnMut()) {
        let mut core = Core::new(program, self);
        core.local_stride = self.stride as usize;
        self.work_with(&mut core, between);
        if let (Some(watch), Some(seen)) = (self.watch, core.seen.take()) {
            watch.add(*seen);
        }
    }

    fn work_with(&self, core: &mut Core<'_>, between: &mut dyn FnMut()) {
        let mut running: VecDeque<Unit> = VecDeque::new();
        let mut idle: Vec<Unit> = Vec::new();
        let mut admit = true;
        loop {
            if admit
                && running.len() < self.resident
                && let Some(number) = self.take()
            {
                let mut unit = idle.pop().unwrap_or_default();
                if let Err(fault) = unit.start(core, number) {
                    return self.fail(fault);
                }
                running.push_front(unit);
            } else if let Some(time) = running.iter().map(Unit::wakes_at).min()
                && !core.clock.has_reached(time)
            {
                core.clock.sleep_until(time);
            }
            let Some(mut unit) = running.pop_front() else { return };
            if self.failed.load(Ordering::Relaxed) {
                return;
            }
            match unit.run(core) {
                Ok(true) => {
                    idle.push(unit);
                    admit = running.is_empty();
                }
                // Units that are asleep sleep side by side.
                Ok(false) => {
                    running.push_back(unit);
                    admit = true;
                }
                Err(fault) => return self.fail(fault),
            }
            between();
        }
    }

    /// The first fault counts.
    fn fail(&self, fault: Box<Fault>) {
        self.failed.store(true, Ordering::Relaxed);
        self.fault.lock().get_or_insert(fault);
    }
}
