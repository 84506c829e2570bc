//! The heap that kernels allocate from: `malloc` and `free` of device code.
//!
//! Its blocks are no allocations of the driver's: no call knows their addresses. A block stays until a kernel, any of the
//! context's, frees it, or the context ends.

use super::window::Range;
use crate::driver::device::Device;
use crate::ptx::Region;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// A context's heap.
#[derive(Default)]
pub(crate) struct Heap(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    by_address: BTreeMap<usize, Block>,
    /// Bytes of all blocks.
    used: usize,
    /// Whether there ever was one.
    begun: bool,
}

struct Block {
    range: Range,
    size: usize,
}

/// What a block takes is a multiple of this, and so is its address.
const UNIT: usize = 16;

impl Heap {
    /// The address of a new block, or `None` if it does not fit into what `limit` leaves.
    pub(crate) fn allocate(&self, device: Device, size: u64, limit: usize) -> Option<usize> {
        let size = usize::try_from(size).ok()?.max(1).checked_next_multiple_of(UNIT)?;
        let mut blocks = self.0.lock();
        let used = blocks.used.checked_add(size).filter(|used| *used <= limit)?;
        let range = Range::take(size, device.ordinal())?;
        let address = range.address();
        blocks.by_address.insert(address, Block { range, size });
        blocks.used = used;
        blocks.begun = true;
        Some(address)
    }

    /// False if no block begins there.
    pub(crate) fn release(&self, address: usize) -> bool {
        let mut blocks = self.0.lock();
        let Some(block) = blocks.by_address.remove(&address) else { return false };
        blocks.used -= block.size;
        true
    }

    /// The block that the address lies in.
    pub(crate) fn region(&self, address: usize) -> Option<Region> {
        let blocks = self.0.lock();
        let (&start, block) = blocks.by_address.range(..=address).next_back()?;
        let there = address - start < block.size;
        there.then(|| Region {
            start: start as u64,
            size: block.size as u64,
            bytes: block.range.bytes(),
            read_only: false,
        })
    }

    /// Whether a kernel has allocated: from then on its size is fixed (measured).
    pub(crate) fn has_begun(&self) -> bool {
        self.0.lock().begun
    }

    /// Frees every block: the context has ended.
    pub(crate) fn forget(&self) {
        *self.0.lock() = Blocks::default();
    }
}
