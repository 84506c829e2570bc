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

impl Plan {
    /// Where the parts end that were ever given out.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// A part is in use, at this address.
    pub(super) fn uses(&mut self, pointer: DevicePointer, part: Part) {
        self.used.insert(pointer.0, part);
    }

    /// Gives the part at this address back, in the order of the stream.
    pub(super) fn free(&mut self, pointer: DevicePointer, stream: &Arc<Stream>) {
        if let Some(part) = self.used.remove(&pointer.0) {
            self.give_back(part, stream);
        }
    }

    /// The part for so many bytes: one that was freed in this stream, or else a new one.
    pub(super) fn take(&mut self, bytes: u64, stream: &Arc<Stream>) -> Part {
        let fits = |(part, of): &(Part, Weak<Stream>)| {
            part.bytes >= bytes && std::ptr::eq(of.as_ptr(), Arc::as_ptr(stream))
        };
        let Some(index) = self.free.iter().position(fits) else {
            let part = Part { offset: self.end, bytes };
            self.end += bytes;
            return part;
        };
        let (whole, of) = self.free.swap_remove(index);
        if whole.bytes > bytes {
            let rest = Part { offset: whole.offset + bytes, bytes: whole.bytes - bytes };
            self.free.push((rest, of));
        }
        Part { offset: whole.offset, bytes }
    }

    /// Gives a part back, in the order of the stream.
    pub(super) fn give_back(&mut self, mut part: Part, stream: &Arc<Stream>) {
        // Parts of the same stream that touch are one.
        self.free.retain(|(other, of)| {
            let touches =
                other.offset + other.bytes == part.offset || part.offset + part.bytes == other.offset;
            if !touches || !std::ptr::eq(of.as_ptr(), Arc::as_ptr(stream)) {
                return true;
            }
            part = Part { offset: part.offset.min(other.offset), bytes: part.bytes + other.bytes };
            false
        });
        self.free.push((part, Arc::downgrade(stream)));
    }
}
