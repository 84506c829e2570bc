//! `cp.async`, done at once: that is one of the orders that it allows. Whoever looks for races is told when it may be done at the latest.

use super::core::{Core, LANES, Op, Step};
use super::fault::FaultKind;
use super::seen::Use;
use super::space::{Shared, Space};

/// `extra` bytes at shared `a` are set to the first `c` of those at global `b + imm`, and to zero after them.
pub(in crate::ptx) fn copy_async(core: &mut Core<'_>, op: &Op) -> Step {
    let (to, from) = (core.get::<u32>(op.a), core.get::<u64>(op.b));
    let wanted = core.get::<u32>(op.c);
    let size = op.extra as usize;
    for lane in core.active() {
        let source = from[lane].wrapping_add(op.imm as u64);
        let target = u64::from(to[lane]);
        for address in [source, target] {
            if address % size as u64 != 0 {
                return core.fail(FaultKind::MisalignedAddress, lane, Some(address));
            }
        }
        let read = (wanted[lane] as usize).min(size);
        let mut bytes = [0u8; 16];
        if read > 0 {
            match core.global(lane, source, read) {
                // SAFETY: `global` gave `read` bytes, at most 16.
                Ok(place) => unsafe { std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), read) },
                Err(kind) => return core.fail(kind, lane, Some(source)),
            }
        }
        core.doing = Some(Use::Write);
        let place = Shared::locate(core, lane, target, size);
        core.doing = None;
        match place {
            // SAFETY: `locate` gave `size` bytes, at most 16.
            Ok(place) => unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, size);
                core.begin_copy(lane, target, size, place);
            },
            Err(kind) => return core.fail(kind, lane, Some(target)),
        }
    }
    Step::Next
}

/// What the lanes have begun to copy is a group.
pub(in crate::ptx) fn commit_copies(core: &mut Core<'_>, _: &Op) -> Step {
    core.commit_copies();
    Step::Next
}

/// In the `extra` of what waits: for all copies, also those in no group.
pub(in crate::ptx) const ALL: u32 = u32::MAX;

/// The lanes wait for their groups, but for the last `extra`.
pub(in crate::ptx) fn wait_for_copies(core: &mut Core<'_>, op: &Op) -> Step {
    core.wait_for_copies((op.extra != ALL).then_some(op.extra as usize));
    Step::Next
}

/// `d =` the shared address `a` in the block of rank `b` of the cluster, in 32 bits.
pub(in crate::ptx) fn map_shared(core: &mut Core<'_>, op: &Op) -> Step {
    let (address, rank) = (core.get::<u32>(op.a), core.get::<u32>(op.b));
    let mut mapped = [0u32; LANES];
    for lane in core.active() {
        let offset = address[lane] & ((1 << super::space::SHARED_BITS) - 1);
        mapped[lane] = offset | (rank[lane].min(254) + 1) << super::space::SHARED_BITS;
    }
    core.put(op.d, &mapped);
    Step::Next
}
