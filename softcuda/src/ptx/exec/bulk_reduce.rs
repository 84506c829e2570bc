//! `cp.reduce.async.bulk`: each element of memory becomes what an atomic operation makes of it and of the element of shared memory that
//! stands at the same place. Done at once, as copies in bulk are.

use super::access::Address;
use super::atomic::{ALL, Word, change, new_value};
use super::bulk::{PIECE, Pair, TELLS};
use super::core::{Core, Handler, LANES, Op, Step};
use super::seen::Use;
use super::space::{Shared, Space};

impl Core<'_> {
    /// `op.imm` is the `Update`. Where a barrier is told, the elements are those of shared memory.
    fn reduce_bulk<T: Space, A: Address, W: Word>(&mut self, op: &Op) -> Result<(), Step> {
        self.has_its_cluster(op)?;
        let update = ALL[op.imm as usize];
        let (to, from, size) = (self.get::<A>(op.a), self.get::<u32>(op.b), self.get::<u32>(op.c));
        let is_shared = op.extra & TELLS != 0;
        let barriers = if is_shared { self.get::<u32>(op.d) } else { [0; LANES] };
        let reduce = |(to, from): Pair| {
            for at in 0..PIECE as usize / size_of::<W>() {
                // SAFETY: both are pieces, whose elements may stand at any address of the host's.
                let element = unsafe { from.cast::<W>().add(at).read_unaligned() };
                let new = |old| new_value(update, old, element.to_bits(), 0, !is_shared);
                // SAFETY: as above; one thread runs the blocks of a cluster, so that shared memory is its own.
                unsafe { change(to.cast::<W>().add(at), is_shared, new) };
            }
        };
        for lane in self.active() {
            let bytes = (to[lane].plus(0), from[lane].plus(0), size[lane]);
            // SAFETY: the elements of a piece are looked at.
            unsafe { self.for_each_piece::<T, Shared>(lane, bytes, Use::Update, reduce) }?;
            self.tell(lane, is_shared.then_some(u64::from(barriers[lane])), size[lane])?;
        }
        Ok(())
    }
}

/// `c` bytes from `b` on change as many from `a` on.
pub(in crate::ptx) fn reduce_bulk<T: Space, A: Address, W: Word>() -> Handler {
    |core, op| match core.reduce_bulk::<T, A, W>(op) {
        Ok(()) => Step::Next,
        Err(step) => step,
    }
}
