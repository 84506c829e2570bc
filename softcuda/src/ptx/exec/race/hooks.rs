//! What the interpreter tells of: nothing where no launch is looked at.

use super::super::core::{Core, LANES};
use super::super::fault::FaultKind;
use super::super::seen::{Seen, Use, What};
use super::super::space::SHARED_BITS;
use super::copies::AsyncCopy;
use super::found::{By, Bytes};
use super::{Races, Touch};

/// The cells of shared memory, of which the address in this process is known.
pub(super) const SHARED: u64 = 1 << 62;

impl Core<'_> {
    fn races(&mut self) -> Option<&mut Races> {
        self.seen.as_mut()?.races.as_deref_mut()
    }

    /// A warp has its turn, or something has happened between lanes.
    pub(in crate::ptx::exec) fn begin_turn(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.turn();
        }
    }

    /// A block has its turn.
    pub(in crate::ptx::exec) fn enter_block(&mut self, warps: usize) {
        let index = self.block.index;
        if let Some(races) = self.races() {
            races.enter(index, warps);
        }
    }

    /// It is done.
    pub(in crate::ptx::exec) fn leave_block(&mut self) {
        self.races().into_iter().for_each(Races::leave);
    }

    /// A warp, of which these lanes are left, comes to a barrier.
    pub(in crate::ptx::exec) fn come_to(&mut self, warp: usize, barrier: u32, live: u32) {
        if let Some(races) = self.races() {
            races.block.arrive(warp as u32, barrier as usize, live);
        }
    }

    /// All have come to a barrier, at which these warps wait, each at an instruction, where that lane is one of its. If it is the whole block's,
    /// it is one instruction.
    pub(in crate::ptx::exec) fn meet(
        &mut self,
        barrier: usize,
        is_whole: bool,
        waiting: impl Iterator<Item = (usize, (u32, u32))> + Clone,
    ) {
        let Some(races) = self.races() else { return };
        races.block.meet(barrier, waiting.clone().map(|(warp, _)| warp));
        let mut first = None;
        for (warp, (op, lane)) in waiting.filter(|_| is_whole) {
            let here = races.thread(op, warp as u32, lane);
            match first {
                None => first = Some(here),
                Some(first) if first.op < op => races.split(first, here, false),
                Some(first) if first.op > op => races.split(here, first, false),
                Some(_) => {}
            }
        }
    }

    /// A warp comes to the barrier of its cluster, which gives it a phase to wait for.
    pub(in crate::ptx::exec) fn come_to_cluster(&mut self, warp: usize, phase: u64) {
        if let Some(races) = self.races() {
            let (warp, key) = (warp as u32, races.cluster_key(phase));
            let reach = races.block.pass_on_all(warp);
            races.signals.send(key, races.block.number, &reach, races.block.learnt(warp));
        }
    }

    /// It goes on, since all have come.
    pub(in crate::ptx::exec) fn pass_cluster(&mut self, warp: usize, phase: u64) {
        if let Some(races) = self.races() {
            let key = races.cluster_key(phase);
            races.listen(key, warp as u32);
        }
    }

    /// Lanes of the warp have met at an instruction; those that are left are `live`.
    pub(in crate::ptx::exec) fn meet_lanes(&mut self, op: u32, set: u32, live: u32) {
        let (warp, program) = (self.warp, self.program);
        let Some(races) = self.races() else { return };
        // Other instructions of warps, too, are done together, but order nothing.
        if program.text(op).starts_with("bar.warp") {
            races.block.meet_lanes(warp, set, live);
            self.begin_turn();
        }
    }

    /// The lanes make a fence.
    pub(in crate::ptx::exec) fn make_fence(&mut self) {
        let (warp, mask) = (self.warp, self.mask);
        if let Some(races) = self.races() {
            races.block.fence(warp, mask);
            self.begin_turn();
        }
    }

    /// The lanes wait at a barrier; others may go on.
    pub(in crate::ptx::exec) fn begin_to_wait(&mut self) {
        let warp = self.warp;
        if let Some(races) = self.races() {
            races.block.begin_to_wait(warp);
        }
    }

    /// A lane has begun to copy to shared memory, which is here.
    pub(in crate::ptx::exec) fn begin_copy(
        &mut self,
        lane: usize,
        target: u64,
        size: usize,
        place: *const u8,
    ) {
        let (op, warp, index) = (self.pc.saturating_sub(1), self.warp, self.block.index);
        let Some(races) = self.races() else { return };
        let By { op, thread, .. } = races.thread(op, warp, lane as u32);
        races.copies.begin(AsyncCopy {
            block: races.block.number,
            thread,
            op,
            key: SHARED | place as u64,
            size,
            bytes: Bytes::Shared(target & ((1 << SHARED_BITS) - 1), index),
        });
    }

    /// The lanes commit groups of copies.
    pub(in crate::ptx::exec) fn commit_copies(&mut self) {
        let (warp, lanes) = (self.warp, self.active());
        let Some(races) = self.races() else { return };
        for lane in lanes {
            races.copies.commit(races.block.number, warp * LANES as u32 + lane as u32);
        }
    }

    /// The lanes wait for their copies, but for so many groups.
    pub(in crate::ptx::exec) fn wait_for_copies(&mut self, but: Option<usize>) {
        let (warp, lanes) = (self.warp, self.active());
        let Some(races) = self.races() else { return };
        for lane in lanes {
            let done = races.copies.wait(races.block.number, warp * LANES as u32 + lane as u32, but);
            done.iter().for_each(|copy| races.has_copied(copy));
        }
    }

    fn must_be_together(&self, op: u32) -> bool {
        let text = self.program.text(op);
        text.starts_with("bar.") || text.contains(".aligned")
    }

    /// Lanes of a warp wait, some at one instruction and some at another.
    pub(in crate::ptx::exec) fn wait_apart(&mut self, one: (u32, u32), other: (u32, u32)) {
        if one.0 == other.0 || !(self.must_be_together(one.0) || self.must_be_together(other.0)) {
            return;
        }
        let warp = self.warp;
        if let Some(races) = self.races() {
            let by = |(op, lane): (u32, u32)| races.thread(op, warp, lane);
            let (one, other) = if one.0 < other.0 { (one, other) } else { (other, one) };
            let (waits, other) = (by(one), by(other));
            races.split(waits, other, false);
        }
    }

    /// Lanes end at an instruction, while others of the warp wait at a barrier. Those that have done nothing since are forgiven: barriers
    /// do not wait for who has ended.
    pub(in crate::ptx::exec) fn end_apart(&mut self, waits: (u32, u32), op: u32, ended: u32) {
        let (warp, is_apart) = (self.warp, self.must_be_together(waits.0));
        let Some(races) = self.races().filter(|_| is_apart) else { return };
        let busy = races.block.busy(warp) & ended;
        if busy != 0 {
            let other = races.thread(op, warp, busy.trailing_zeros());
            let waits = races.thread(waits.0, warp, waits.1);
            races.split(waits, other, true);
        }
    }

    /// Global memory is used, which is here.
    pub(in crate::ptx::exec) fn look_at_global(
        &self,
        seen: &mut Seen,
        (lane, address, size, step): (usize, u64, usize, usize),
        place: *const u8,
        is_noted: bool,
    ) {
        if seen.races.is_none() {
            return;
        }
        let op = self.pc.saturating_sub(1);
        let what = self.done_by(op, seen);
        let touch = self.touched(op, what, (lane, address, size, step), Bytes::Global(address), place);
        if let Some(races) = &mut seen.races {
            races.look_at(&touch, what, is_noted);
        }
    }

    /// What an instruction does just now: barriers in memory tell who asks them what came before.
    fn done_by(&self, op: u32, seen: &mut Seen) -> What {
        let what = seen.what(op, self.program);
        match self.doing {
            None => what,
            Some(how) => What { how, is_store: false, compares: false, releases: how == Use::Update },
        }
    }

    fn touched(
        &self,
        op: u32,
        what: What,
        (lane, key, size, step): (usize, u64, usize, usize),
        bytes: Bytes,
        place: *const u8,
    ) -> Touch {
        let source = self.program.ops.get(op as usize).filter(|_| what.is_store && !place.is_null());
        // A byte is held in a register of two.
        let values = source.map(|op| (place, self.place::<u8>(op.b).cast_const(), step.max(2)));
        Touch {
            key,
            bytes,
            size,
            step,
            how: what.how,
            op,
            warp: self.warp,
            lane: lane as u32,
            compares: what.compares,
            values,
        }
    }

    /// Shared memory, of a launch that is looked at, or of another block.
    #[cold]
    pub(in crate::ptx::exec) fn shared_anew(
        &mut self,
        lane: usize,
        address: u64,
        size: usize,
    ) -> Result<*mut u8, FaultKind> {
        let view = self.block;
        let is_own = address + size as u64 <= u64::from(view.shared_size);
        let place = match is_own {
            true => view.shared.wrapping_add(address as usize),
            false => view.peer(address, size).map_err(|kind| match kind {
                FaultKind::NotInCluster if !self.job.asks_for_clusters => FaultKind::NoCluster,
                kind => kind,
            })?,
        };
        let Some(mut seen) = self.seen.take() else { return Ok(place) };
        if seen.races.is_some() {
            let op = self.pc.saturating_sub(1);
            let what = self.done_by(op, &mut seen);
            let owner = if is_own { view.index } else { self.owner((address >> SHARED_BITS) as u32 - 1) };
            let offset = address & ((1 << SHARED_BITS) - 1);
            let at = (lane, SHARED | place as u64, size, size / self.run);
            let touch = self.touched(op, what, at, Bytes::Shared(offset, owner), place);
            if let Some(races) = &mut seen.races {
                races.look_at(&touch, what, true);
            }
        }
        self.seen = Some(seen);
        Ok(place)
    }

    /// The block of a rank in the cluster.
    fn owner(&self, rank: u32) -> [u32; 3] {
        let ([x, y, _], index) = (self.job.cluster, self.block.index);
        let within = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|axis| index[axis] - index[axis] % self.job.cluster[axis] + within[axis])
    }
}

impl Races {
    /// Memory is used, and what is passed on by that is.
    fn look_at(&mut self, touch: &Touch, what: What, is_noted: bool) {
        let reads = matches!(touch.how, Use::Update | Use::Atomic | Use::AtomicRead) && !what.is_store;
        if reads {
            self.listen(touch.key, touch.warp);
        }
        if is_noted {
            if !self.copies.is_empty() {
                self.clash_with_copies(touch);
            }
            self.touch(touch);
        }
        if matches!(touch.how, Use::Update | Use::Atomic) {
            let lanes = (touch.size / touch.step) as u32;
            for at in 0..lanes {
                let key = touch.key + u64::from(at) * touch.step as u64;
                self.tell(key, touch.warp, touch.lane + at, what.releases);
            }
        }
    }
}
