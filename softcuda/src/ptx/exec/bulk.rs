//! `cp.async.bulk`, done at once: that is one of the orders that it allows.

use super::access::Address;
use super::core::{Core, Handler, LANES, Op, Reg, Step};
use super::fault::FaultKind;
use super::mbarrier::Change;
use super::seen::Use;
use super::space::{SHARED_BITS, Shared, Space};

/// What addresses and sizes are multiples of.
const PIECE: u64 = 16;

/// In `extra`: the barrier at `d` gets to know how many bytes have come.
pub(in crate::ptx) const TELLS: u32 = 1;
/// In `extra`: each block of the cluster whose bit is set in the register `imm` gets the bytes, at the same place, and its barrier knows.
pub(in crate::ptx) const TO_MANY: u32 = 2;

impl Core<'_> {
    /// Copies one lane's bytes.
    fn copy_pieces<T: Space, F: Space>(
        &mut self,
        lane: usize,
        to: u64,
        from: u64,
        size: u32,
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
            let mut bytes = [0u8; PIECE as usize];
            self.doing = Some(Use::Read);
            let source = F::locate(self, lane, from + at, bytes.len());
            self.doing = Some(Use::Write);
            let target = T::locate(self, lane, to + at, bytes.len());
            self.doing = None;
            match source {
                // SAFETY: `locate` gave as many bytes.
                Ok(place) => unsafe { place.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) },
                Err(kind) => return Err(self.fail(kind, lane, Some(from + at))),
            }
            match target {
                // SAFETY: `locate` gave as many bytes.
                Ok(place) => unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) },
                Err(kind) => return Err(self.fail(kind, lane, Some(to + at))),
            }
        }
        Ok(())
    }

    /// One lane's copy to one block, or to global memory.
    fn copy_and_tell<T: Space, F: Space>(
        &mut self,
        lane: usize,
        (to, from, size): (u64, u64, u32),
        barrier: Option<u64>,
    ) -> Result<(), Step> {
        self.copy_pieces::<T, F>(lane, to, from, size)?;
        if let Some(barrier) = barrier {
            self.change_mbarrier::<Shared>(lane, barrier, (Change::Complete, size))?;
        }
        Ok(())
    }

    fn copy_bulk<T: Space, A: Address, F: Space, B: Address>(&mut self, op: &Op) -> Result<(), Step> {
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
