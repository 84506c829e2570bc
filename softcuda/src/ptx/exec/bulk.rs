//! `cp.async.bulk`, done at once: that is one of the orders that it allows.

use super::access::Address;
use super::core::{Core, Handler, LANES, Op, Reg, Step};
use super::fault::FaultKind;
use super::mbarrier::Change;
use super::seen::Use;
use super::space::{SHARED_BITS, Shared, Space};

/// What addresses and sizes are multiples of.
pub(super) const PIECE: u64 = 16;

/// In `extra`: the barrier at `d` gets to know how many bytes have come.
pub(in crate::ptx) const TELLS: u32 = 1;
/// In `extra`: each block of the cluster whose bit is set in the register `imm` gets the bytes, at the same place, and its barrier knows.
pub(in crate::ptx) const TO_MANY: u32 = 2;
/// In `extra`: from the shared memory of a block to that of its cluster.
pub(in crate::ptx) const WITHIN_CLUSTER: u32 = 4;

/// A piece of the target and one of the source.
pub(super) type Pair = (*mut u8, *const u8);

impl Core<'_> {
    /// Ends the kernel if `op` leads from a block to its cluster, and the launch did not ask for clusters: then it is an illegal instruction, even
    /// where a block would only reach itself (measured).
    pub(super) fn has_its_cluster(&mut self, op: &Op) -> Result<(), Step> {
        match self.active().next() {
            Some(lane) if op.extra & WITHIN_CLUSTER != 0 && !self.job.asks_for_clusters => {
                let message = "the kernel was launched without clusters".to_owned();
                Err(self.fail_saying(FaultKind::IllegalInstruction, lane, message))
            }
            _ => Ok(()),
        }
    }

    /// Does something with each piece of one lane's bytes.
    ///
    /// # Safety
    /// `each` touches no more than `PIECE` bytes of either.
    pub(super) unsafe fn for_each_piece<T: Space, F: Space>(
        &mut self,
        lane: usize,
        (to, from, size): (u64, u64, u32),
        how: Use,
        each: impl Fn(Pair),
    ) -> Result<(), Step> {
        if u64::from(size) % PIECE != 0 {
            let message = format!("a bulk copy has a multiple of {PIECE} bytes, not {size}");
            return Err(self.fail_saying(FaultKind::IllegalInstruction, lane, message));
        }
        for address in [to, from] {
            if address % PIECE != 0 {
                return Err(self.fail(FaultKind::MisalignedAddress, lane, Some(address)));
            }
        }
        for at in (0..u64::from(size)).step_by(PIECE as usize) {
            self.doing = Some(Use::Read);
            let source = F::locate(self, lane, from + at, PIECE as usize);
            self.doing = Some(how);
            let target = T::locate(self, lane, to + at, PIECE as usize);
            self.doing = None;
            let source = source.map_err(|kind| self.fail(kind, lane, Some(from + at)))?;
            let target = target.map_err(|kind| self.fail(kind, lane, Some(to + at)))?;
            each((target, source));
        }
        Ok(())
    }

    /// Copies one lane's bytes.
    fn copy_pieces<T: Space, F: Space>(&mut self, lane: usize, bytes: (u64, u64, u32)) -> Result<(), Step> {
        // SAFETY: `locate` gave as many bytes, which may be the same.
        let copy = |(to, from): Pair| unsafe { to.copy_from(from, PIECE as usize) };
        // SAFETY: that is a piece.
        unsafe { self.for_each_piece::<T, F>(lane, bytes, Use::Write, copy) }
    }

    /// One lane's copy to one block, or to global memory.
    fn copy_and_tell<T: Space, F: Space>(
        &mut self,
        lane: usize,
        bytes: (u64, u64, u32),
        barrier: Option<u64>,
    ) -> Result<(), Step> {
        self.copy_pieces::<T, F>(lane, bytes)?;
        self.tell(lane, barrier, bytes.2)
    }

    /// A barrier gets to know how many bytes have come.
    pub(super) fn tell(&mut self, lane: usize, barrier: Option<u64>, size: u32) -> Result<(), Step> {
        let Some(barrier) = barrier else { return Ok(()) };
        self.change_mbarrier::<Shared>(lane, barrier, (Change::Complete, size)).map(drop)
    }

    fn copy_bulk<T: Space, A: Address, F: Space, B: Address>(&mut self, op: &Op) -> Result<(), Step> {
        self.has_its_cluster(op)?;
        let (to, from, size) = (self.get::<A>(op.a), self.get::<B>(op.b), self.get::<u32>(op.c));
        let barriers = if op.extra & TELLS != 0 { self.get::<u32>(op.d) } else { [0; LANES] };
        let blocks = if op.extra & TO_MANY != 0 { self.get::<u16>(Reg(op.imm as u32)) } else { [0; LANES] };
        for lane in self.active() {
            let copy = (to[lane].plus(0), from[lane].plus(0), size[lane]);
            let barrier = (op.extra & TELLS != 0).then_some(u64::from(barriers[lane]));
            if op.extra & TO_MANY == 0 {
                self.copy_and_tell::<T, F>(lane, copy, barrier)?;
                continue;
            }
            for rank in (0..u16::BITS).filter(|rank| blocks[lane] >> rank & 1 != 0) {
                let there =
                    |address: u64| address & ((1 << SHARED_BITS) - 1) | u64::from(rank + 1) << SHARED_BITS;
                self.copy_and_tell::<T, F>(lane, (there(copy.0), copy.1, copy.2), barrier.map(there))?;
            }
        }
        Ok(())
    }
}

/// `c` bytes from `b` to `a`.
pub(in crate::ptx) fn copy_bulk<T: Space, A: Address, F: Space, B: Address>() -> Handler {
    |core, op| match core.copy_bulk::<T, A, F, B>(op) {
        Ok(()) => Step::Next,
        Err(step) => step,
    }
}
