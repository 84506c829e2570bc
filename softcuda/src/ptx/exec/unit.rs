//! What one thread of the host runs as a whole: a cluster, which is one block unless the kernel asks for more.

use super::block::{Block, Progress};
use super::core::Core;
use super::fault::Fault;

/// The barrier of a cluster.
#[derive(Default)]
pub(super) struct ClusterBarrier {
    warps: u32,
    arrived: u32,
    phase: u64,
}

impl ClusterBarrier {
    /// A warp arrives; gives the phase to wait for.
    pub(super) fn arrive(&mut self) -> u64 {
        let phase = self.phase + 1;
        self.arrived += 1;
        self.complete();
        phase
    }

    pub(super) fn has_passed(&self, phase: u64) -> bool {
        self.phase >= phase
    }

    /// A warp has exited.
    pub(super) fn leave(&mut self) {
        self.warps -= 1;
        self.complete();
    }

    fn complete(&mut self) {
        if self.arrived > 0 && self.arrived >= self.warps {
            self.arrived = 0;
            self.phase += 1;
        }
    }
}

#[derive(Default)]
pub(super) struct Unit {
    blocks: Vec<Block>,
    peers: Vec<*mut u8>,
    barrier: ClusterBarrier,
    /// All its warps are asleep until the clock shows that; 0 if they are not.
    wakes_at: u64,
}

/// Rounds before another unit has its turn.
const ROUNDS: u32 = 64;

impl Unit {
    /// Begins the cluster of that number.
    pub(super) fn start(&mut self, core: &Core<'_>, number: u64) -> Result<(), Box<Fault>> {
        let job = core.job;
        let [cx, cy, cz] = job.cluster;
        let (across, down) = (u64::from(job.grid[0] / cx), u64::from(job.grid[1] / cy));
        let first = [number % across, number / across % down, number / across / down];
        let shared = match job.dynamic_shared {
            0 => core.program.shared,
            dynamic => core.program.dynamic_shared + dynamic,
        };
        self.blocks.resize_with((cx * cy * cz) as usize, Block::default);
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            let rank = rank as u32;
            let index = [
                first[0] as u32 * cx + rank % cx,
                first[1] as u32 * cy + rank / cx % cy,
                first[2] as u32 * cz + rank / cx / cy,
            ];
            block.start(core, index, rank, shared)?;
        }
        self.peers = self.blocks.iter().map(|block| block.view.shared).collect();
        let warps = self.blocks.iter().map(Block::warps).sum();
        self.barrier = ClusterBarrier { warps, arrived: 0, phase: 0 };
        self.wakes_at = 0;
        for block in &mut self.blocks {
            block.view.peers = self.peers.as_ptr();
            block.view.peer_count = self.peers.len() as u32;
        }
        Ok(())
    }

    /// When there is something to do: 0 is now.
    pub(super) fn wakes_at(&self) -> u64 {
        self.wakes_at
    }

    /// Runs for a while; true when all blocks are done.
    pub(super) fn run(&mut self, core: &mut Core<'_>) -> Result<bool, Box<Fault>> {
        self.wakes_at = 0;
        for _ in 0..ROUNDS {
            let phase = self.barrier.phase;
            let (mut done, mut ready, mut wakes_at) = (true, false, None);
            for block in &mut self.blocks {
                match block.round(core, &mut self.barrier)? {
                    Progress::Done => {}
                    Progress::Ready => (done, ready) = (false, true),
                    Progress::Asleep(time) => {
                        done = false;
                        wakes_at = Some(wakes_at.map_or(time, |other: u64| other.min(time)));
                    }
                    Progress::Waiting => done = false,
                }
            }
            core.clock.count_round();
            if done {
                return Ok(true);
            }
            if !ready && !self.barrier_helps(phase) {
                if let Some(time) = wakes_at {
                    self.wakes_at = time;
                    return Ok(false);
                }
                let stuck = self.blocks.iter().find_map(|block| block.deadlock(core));
                return stuck.map_or(Ok(true), Err);
            }
        }
        Ok(false)
    }

    /// Whether the cluster's barrier may have opened for somebody since the round began, or is open now.
    fn barrier_helps(&self, before: u64) -> bool {
        self.barrier.phase != before || self.blocks.iter().any(|block| block.can_pass(&self.barrier))
    }
}
