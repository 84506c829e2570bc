//! Which parts of an arena's block a capture uses.

use crate::memory::DevicePointer;
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Which parts of the block a capture uses.
#[derive(Default)]
pub(super) struct Plan {
    /// Where the parts end that were ever given out.
    end: u64,
    used: BTreeMap<u64, Part>,
    free: Vec<(Part, Weak<Stream>)>,
}

/// A part of the block.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Part {
    pub(super) fn end(self) -> u64 {
        self.offset + self.bytes
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

    /// Where there is room for so many bytes: in a part that was freed in this stream, or else after all others. `None` if no block has
    /// as much.
    pub(super) fn find(&self, bytes: u64, stream: &Arc<Stream>) -> Option<Room> {
        let fits = |(part, of): &(Part, Weak<Stream>)| {
            part.bytes >= bytes && std::ptr::eq(of.as_ptr(), Arc::as_ptr(stream))
        };
        let reuses = self.free.iter().position(fits);
        let offset = reuses.map_or(self.end, |index| self.free[index].0.offset);
        offset.checked_add(bytes).map(|_| Room { part: Part { offset, bytes }, reuses })
    }

    /// Uses the room that was found just before, which is at this address.
    pub(super) fn take(&mut self, room: Room, pointer: DevicePointer) {
        let Room { part, reuses } = room;
        match reuses.map(|index| self.free.swap_remove(index)) {
            None => self.end = part.end(),
            Some((whole, _)) if whole.bytes == part.bytes => {}
            Some((whole, of)) => {
                let rest = Part { offset: part.end(), bytes: whole.bytes - part.bytes };
                self.free.push((rest, of));
            }
        }
        self.used.insert(pointer.0, part);
    }

    /// Gives the part at this address back, in the order of the stream.
    pub(super) fn free(&mut self, pointer: DevicePointer, stream: &Arc<Stream>) {
        if let Some(part) = self.used.remove(&pointer.0) {
            self.give_back(part, stream);
        }
    }

    /// Gives a part back, in the order of the stream.
    fn give_back(&mut self, mut part: Part, stream: &Arc<Stream>) {
        // Parts of the same stream that touch are one.
        self.free.retain(|(other, of)| {
            let touches = other.end() == part.offset || part.end() == other.offset;
            if !touches || !std::ptr::eq(of.as_ptr(), Arc::as_ptr(stream)) {
                return true;
            }
            part = Part { offset: part.offset.min(other.offset), bytes: part.bytes + other.bytes };
            false
        });
        self.free.push((part, Arc::downgrade(stream)));
    }
}
