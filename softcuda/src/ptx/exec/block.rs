//! A block: its warps, its shared memory, its barriers.

use super::barrier::{Action, BARRIERS, State};
use super::core::Core;
use super::fault::{Fault, FaultKind, Trouble};
use super::program::Line;
use super::space::SHARED_BITS;
use super::unit::ClusterBarrier;
use super::warp::{Arrival, SLICE, Stop, Warp};

/// What instructions see of their block.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct BlockView {
    /// `%ctaid`
    pub(in crate::ptx) index: [u32; 3],
    /// Its rank in the cluster.
    pub(in crate::ptx) rank: u32,
    /// `%smid`
    pub(in crate::ptx) processor: u32,
    pub(in crate::ptx) shared: *mut u8,
    pub(in crate::ptx) shared_size: u32,
    /// Bytes of it that are found at once: none, if each use is looked at.
    pub(super) shared_near: u32,
    /// The shared memories of the cluster's blocks, all of the same size.
    pub(super) peers: *const *mut u8,
    pub(super) peer_count: u32,
}

impl Default for BlockView {
    fn default() -> Self {
        Self {
            index: [0; 3],
            rank: 0,
            processor: 0,
            shared: std::ptr::null_mut(),
            shared_size: 0,
            shared_near: 0,
            peers: std::ptr::null(),
            peer_count: 0,
        }
    }
}

impl BlockView {
    /// Bytes of the shared memory of another block of the cluster.
    #[cold]
    pub(super) fn peer(&self, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        let rank = (address >> SHARED_BITS).checked_sub(1).ok_or(FaultKind::IllegalAddress)?;
        let offset = address & ((1 << SHARED_BITS) - 1);
        if rank >= u64::from(self.peer_count) || offset + size as u64 > u64::from(self.shared_size) {
            return Err(FaultKind::NotInCluster);
        }
        // SAFETY: the unit's list has `peer_count` elements and lives as long as its blocks run.
        Ok(unsafe { *self.peers.add(rank as usize) }.wrapping_add(offset as usize))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Ready,
    /// At the barrier of that number.
    AtBarrier(u32),
    /// At the cluster's barrier.
    AtCluster,
    /// Until the clock shows that.
    Asleep(u64),
    Exited,
}

/// What a block can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Done,
    /// It could go on.
    Ready,
    /// It can go on at that time.
    Asleep(u64),
    /// Only another block can help.
    Waiting,
}

#[derive(Default)]
pub(super) struct Block {
    pub(super) view: BlockView,
    warps: Vec<Warp>,
    standing: Vec<Standing>,
    /// The phase of the cluster's barrier that each warp waits for.
    phases: Vec<u64>,
    shared: Vec<Line>,
    barriers: [State; BARRIERS],
    exited: u32,
}

/// A block gets shared memory in pieces of so many bytes, and may use all of the last: measured on compute capability 9.0
/// (conformance, section `faults`), and `%total_smem_size` counts it so (PTX ISA, 8.0 and 9.0).
const PIECE: u32 = 128;

/// What uninitialised shared memory holds.
const POISON: u8 = 0xcd;

impl Block {
    pub(super) fn start(
        &mut self,
        core: &Core<'_>,
        index: [u32; 3],
        rank: u32,
        shared: u32,
    ) -> Result<(), Box<Fault>> {
        let job = core.job;
        let threads = job.threads();
        let warps = threads.div_ceil(32);
        self.warps.resize_with(warps as usize, Warp::default);
        let mut fits = true;
        for (at, warp) in self.warps.iter_mut().enumerate() {
            let first = at as u32 * 32;
            fits &= warp.start(core.program, at as u32, threads - first, job.stride);
        }
        self.standing.clear();
        self.standing.resize(warps as usize, Standing::Ready);
        self.phases.clear();
        self.phases.resize(warps as usize, 0);
        let shared = shared.next_multiple_of(PIECE);
        self.shared.clear();
        self.shared.resize(shared as usize / size_of::<Line>(), Line([POISON; 64]));
        self.barriers = [State::default(); BARRIERS];
        self.exited = 0;
        let linear = u64::from(index[0]) + u64::from(index[1]) * u64::from(job.grid[0]);
        let processor = (linear % u64::from(job.processors.max(1))) as u32;
        self.view = BlockView {
            index,
            rank,
            processor,
            shared: self.shared.as_mut_ptr().cast(),
            shared_size: shared,
            shared_near: if job.watch.is_some_and(|watch| watch.races) { 0 } else { shared },
            ..BlockView::default()
        };
        if fits {
            return Ok(());
        }
        let registers = core.program.routines[0].registers / 32;
        let message = format!(
            "{} bytes of local memory and {registers} of registers for each of {threads} threads",
            job.stride
        );
        let trouble = Trouble { kind: FaultKind::OutOfMemory, lane: 0, address: None, message };
        Err(self.fault(core, 0, &trouble, 0))
    }

    pub(super) fn warps(&self) -> u32 {
        self.warps.len() as u32
    }

    /// Gives each warp that can run a slice of time.
    pub(super) fn round(
        &mut self,
        core: &mut Core<'_>,
        cluster: &mut ClusterBarrier,
    ) -> Result<Progress, Box<Fault>> {
        core.block = self.view;
        core.enter_block(self.warps.len());
        for at in 0..self.warps.len() {
            if self.standing[at] == Standing::AtCluster && cluster.has_passed(self.phases[at]) {
                self.standing[at] = Standing::Ready;
                core.pass_cluster(at, self.phases[at]);
                self.warps[at].release(core, 0, 0);
            }
            if matches!(self.standing[at], Standing::Asleep(time) if core.clock.has_reached(time)) {
                self.standing[at] = Standing::Ready;
            }
            if self.standing[at] != Standing::Ready {
                continue;
            }
            let stop = self.warps[at].run(core);
            let (spent, slept) = (SLICE - core.fuel, core.clock.take_slept());
            if let Err(kind) = core.job.spend(spent, slept) {
                let (op, lane) = self.warps[at].place();
                let trouble = Trouble { kind, lane, address: None, message: String::new() };
                return Err(self.fault(core, at, &trouble, op));
            }
            match stop {
                Stop::Slice => {}
                Stop::Asleep(time) => self.standing[at] = Standing::Asleep(time),
                Stop::Fault(trouble, op) => return Err(self.fault(core, at, &trouble, op)),
                Stop::Exited => {
                    self.standing[at] = Standing::Exited;
                    self.exited += 1;
                    cluster.leave();
                    for number in 0..BARRIERS {
                        self.complete(core, number);
                    }
                }
                Stop::Barrier(arrival) => self.arrive(core, at, arrival, cluster)?,
            }
        }
        let progress = self.progress();
        if progress == Progress::Done {
            core.leave_block();
        }
        Ok(progress)
    }

    fn progress(&self) -> Progress {
        if self.exited == self.warps() {
            Progress::Done
        } else if self.standing.contains(&Standing::Ready) {
            Progress::Ready
        } else {
            let times = self.standing.iter().filter_map(|standing| match standing {
                Standing::Asleep(time) => Some(*time),
                _ => None,
            });
            times.min().map_or(Progress::Waiting, Progress::Asleep)
        }
    }

    fn arrive(
        &mut self,
        core: &mut Core<'_>,
        at: usize,
        arrival: Arrival,
        cluster: &mut ClusterBarrier,
    ) -> Result<(), Box<Fault>> {
        match arrival.action {
            Action::ClusterArrive => {
                self.phases[at] = cluster.arrive();
                core.come_to_cluster(at, self.phases[at]);
                self.warps[at].release(core, 0, 0);
                return Ok(());
            }
            Action::ClusterWait => {
                self.standing[at] = Standing::AtCluster;
                return Ok(());
            }
            _ => {}
        }
        let bad = if arrival.number as usize >= BARRIERS {
            Some(format!("there is no barrier {}", arrival.number))
        } else if !arrival.threads.is_multiple_of(32) || arrival.threads > self.warps() * 32 {
            Some(format!("{} threads cannot meet at a barrier of this block", arrival.threads))
        } else {
            None
        };
        if let Some(message) = bad {
            let (op, lane) = self.warps[at].place();
            let trouble = Trouble { kind: FaultKind::IllegalInstruction, lane, address: None, message };
            return Err(self.fault(core, at, &trouble, op));
        }
        core.come_to(at, arrival.number, self.warps[at].live());
        let state = &mut self.barriers[arrival.number as usize];
        state.arrived += 1;
        state.threads = arrival.threads;
        state.votes += arrival.votes;
        state.yes += arrival.yes;
        if arrival.action == Action::Arrive {
            self.warps[at].release(core, 0, 0);
        } else {
            self.standing[at] = Standing::AtBarrier(arrival.number);
        }
        self.complete(core, arrival.number as usize);
        Ok(())
    }

    /// Opens a barrier if it is met.
    fn complete(&mut self, core: &mut Core<'_>, number: usize) {
        let state = self.barriers[number];
        if !state.is_met(self.warps(), self.exited) {
            return;
        }
        self.barriers[number] = State::default();
        let is_here = |at: &usize| self.standing[*at] == Standing::AtBarrier(number as u32);
        let waiting = (0..self.warps.len()).filter(is_here).map(|at| (at, self.warps[at].place()));
        core.meet(number, state.threads == 0, waiting);
        for at in 0..self.warps.len() {
            if self.standing[at] == Standing::AtBarrier(number as u32) {
                self.standing[at] = Standing::Ready;
                self.warps[at].release(core, state.votes, state.yes);
            }
        }
    }

    /// The block waits for ever.
    pub(super) fn deadlock(&self, core: &Core<'_>) -> Option<Box<Fault>> {
        let at = self.standing.iter().position(|standing| *standing != Standing::Exited)?;
        let (op, lane) = self.warps[at].place();
        let waiting: Vec<String> = (0..BARRIERS as u32)
            .filter_map(|number| {
                let is_here = |&(_, standing): &(usize, &Standing)| *standing == Standing::AtBarrier(number);
                let here = self.standing.iter().enumerate().filter(is_here);
                let threads: u32 = here.map(|(at, _)| self.warps[at].threads()).sum();
                let wanted = match self.barriers[number as usize].threads {
                    0 => core.job.threads(),
                    threads => threads,
                };
                (threads > 0).then(|| format!("{threads} of {wanted} threads are at barrier {number}"))
            })
            .collect();
        let mut message = waiting.join(", ");
        if message.is_empty() {
            message = "the cluster's barrier can never be met".to_owned();
        }
        let trouble = Trouble { kind: FaultKind::Deadlock, lane, address: None, message };
        Some(self.fault(core, at, &trouble, op))
    }

    pub(super) fn fault(&self, core: &Core<'_>, warp: usize, trouble: &Trouble, op: u32) -> Box<Fault> {
        let [nx, ny, _] = core.job.block;
        let linear = warp as u32 * 32 + trouble.lane.min(31);
        let op = &core.program.ops[(op as usize).min(core.program.ops.len() - 1)];
        Box::new(Fault {
            kind: trouble.kind,
            kernel: core.program.name.clone(),
            block: self.view.index,
            thread: [linear % nx, linear / nx % ny, linear / nx / ny],
            line: op.line,
            instruction: core.program.texts[op.text as usize].clone(),
            address: trouble.address,
            message: trouble.message.clone(),
        })
    }
}

impl Block {
    /// Whether a warp waits for a phase of the cluster's barrier that is over.
    pub(super) fn can_pass(&self, cluster: &ClusterBarrier) -> bool {
        let mut waiting = self.standing.iter().zip(&self.phases);
        waiting.any(|(standing, phase)| *standing == Standing::AtCluster && cluster.has_passed(*phase))
    }
}
