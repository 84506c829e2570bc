//! Which parts of an arena's block a capture uses.

use crate::memory::DevicePointer;
use crate::op::capture::{Ends, Position};
use std::collections::BTreeMap;

/// Which parts of the block a capture uses.
#[derive(Default)]
pub(super) struct Plan {
    /// Where the parts end that were ever given out.
    end: u64,
    used: BTreeMap<u64, Used>,
    free: Vec<Free>,
}

/// A part of the block.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A part that was given out.
struct Used {
    part: Part,
    /// Where the branches of the capture were then.
    since: Ends,
    /// What the part was given back after before; `None` if it was never given out.
    before: Option<Ends>,
}

/// A part that was given back, and what has to be done before it is used again.
struct Free {
    part: Part,
    after: Ends,
}

impl Part {
    pub(super) fn end(self) -> u64 {
        self.offset + self.bytes
    }

    fn touches(self, other: Self) -> bool {
        self.end() == other.offset || other.end() == self.offset
    }
}

/// Where a part can be, and which of those that were freed it would take.
pub(super) struct Room {
    pub(super) part: Part,
    reuses: Option<usize>,
}

impl Plan {
    /// Where the parts end that were ever given out.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Where there is room for so many bytes: in a part of which all uses come before what is captured next in the stream, or else after all
    /// others. `None` if no block has as much.
    pub(super) fn find(&mut self, bytes: u64, at: &Position) -> Option<Room> {
        let fits = |free: &Free| free.part.bytes >= bytes && at.is_after(&free.after);
        let mut reuses = self.free.iter().position(fits);
        if reuses.is_none() && self.joins_free(at) {
            reuses = self.free.iter().position(fits);
        }
        let offset = reuses.map_or(self.end, |index| self.free[index].part.offset);
        offset.checked_add(bytes).map(|_| Room { part: Part { offset, bytes }, reuses })
    }

    /// Uses the room that was found just before, which is at this address.
    pub(super) fn take(&mut self, room: Room, pointer: DevicePointer, at: &Position) {
        let Room { part, reuses } = room;
        let before = reuses.map(|index| self.free.swap_remove(index));
        match &before {
            None => self.end = part.end(),
            Some(whole) if whole.part.bytes == part.bytes => {}
            Some(whole) => {
                let rest = Part { offset: part.end(), bytes: whole.part.bytes - part.bytes };
                self.free.push(Free { part: rest, after: whole.after.clone() });
            }
        }
        let used = Used { part, since: at.ends().clone(), before: before.map(|free| free.after) };
        self.used.insert(pointer.0, used);
    }

    /// Gives the part at this address back. It is used again after what all branches that went on since it was given out have captured by
    /// now; where nobody can tell, it is not used again.
    pub(super) fn free(&mut self, pointer: DevicePointer, at: &Position) {
        let Some(Used { part, since, before }) = self.used.remove(&pointer.0) else { return };
        let after = at.since(&since);
        let after = before.into_iter().fold(after, |after, before| after.and(&before));
        if after.are_known() {
            self.free.push(Free { part, after });
            self.joins_free(at);
        }
    }

    /// Makes one of parts that touch and can be used here: others have to wait for the uses of both. Answers whether there were any.
    fn joins_free(&mut self, at: &Position) -> bool {
        let (mut here, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.free).into_iter().partition(|free| at.is_after(&free.after));
        let before = here.len();
        here.sort_by_key(|free| free.part.offset);
        here.dedup_by(|next, free| {
            let touches = free.part.touches(next.part);
            if touches {
                free.part.bytes += next.part.bytes;
                free.after = free.after.clone().and(&next.after);
            }
            touches
        });
        let has_joined = here.len() < before;
        here.extend(others);
        self.free = here;
        has_joined
    }
}
