//! Who touched which bytes.

use super::deed::{Access, Touch};
use crate::driver::calls::memory::pointer::attributes;
use crate::driver::{Driver, sys};
use std::collections::HashMap;
use std::ops::Range;

/// How much is remembered of one allocation, and of how many: what is forgotten is not reported.
const MOST_PAST: usize = 1024;
const MOST_ALLOCATIONS: usize = 1 << 16;

const ASKED: [sys::CUpointer_attribute; 6] = [
    sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
    sys::CU_POINTER_ATTRIBUTE_CONTEXT,
    sys::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
    sys::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
    sys::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    sys::CU_POINTER_ATTRIBUTE_BUFFER_ID,
];

/// An allocation, by the number that the driver gives it, which it never gives again, and by where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Allocation {
    id: u64,
    start: u64,
}

/// Bytes of an allocation.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(super) allocation: Allocation,
    pub(super) range: Range<u64>,
}

/// Where the bytes are. Nowhere if the driver does not know them, as ordinary host memory; if it does not tell allocations apart there; and if
/// a graph allocates them, which gives several allocations the same address.
pub(super) fn find(driver: &Driver, touch: &Touch) -> Option<Found> {
    let [memory_type, context, pool, start, size, id] =
        attributes(driver.object_table(), touch.address, ASKED, [0; ASKED.len()]).ok()?;
    let is_of_graph = context == 0 && pool == 0;
    if memory_type == 0 || is_of_graph || start == 0 || id == 0 {
        return None;
    }
    let allocation = Allocation { id, start };
    let end = start.saturating_add(size);
    let range = match touch.bytes {
        Some(bytes) => touch.address..touch.address.saturating_add(bytes).min(end),
        None => start..end,
    };
    (!range.is_empty()).then_some(Found { allocation, range })
}

/// Somebody who touched bytes.
#[derive(Debug)]
pub(super) struct Past<P> {
    pub(super) range: Range<u64>,
    pub(super) access: Access,
    pub(super) place: P,
}

/// Who touched which bytes, as far as anybody may come who is not ordered with them.
#[derive(Debug)]
pub(super) struct Memory<P> {
    allocations: HashMap<Allocation, Vec<Past<P>>>,
}

impl<P> Default for Memory<P> {
    fn default() -> Self {
        Self { allocations: HashMap::new() }
    }
}

impl<P> Memory<P> {
    /// Somebody touches bytes. `is_before` says who of those before is ordered with that; of the others `conflict` is told who touched the
    /// same bytes, if one of the two writes.
    pub(super) fn touch(
        &mut self,
        found: &Found,
        access: Access,
        place: P,
        is_before: impl Fn(&P) -> bool,
        mut conflict: impl FnMut(&Past<P>, Range<u64>),
    ) {
        if self.allocations.len() >= MOST_ALLOCATIONS && !self.allocations.contains_key(&found.allocation) {
            self.allocations.clear();
        }
        let past = self.allocations.entry(found.allocation).or_default();
        past.retain(|old| {
            let both = old.range.start.max(found.range.start)..old.range.end.min(found.range.end);
            let is_before = is_before(&old.place);
            if !both.is_empty() && !is_before && access.conflicts(old.access) {
                conflict(old, both.clone());
            }
            // Whoever is not ordered with what came before this is not ordered with this.
            !(is_before && both == old.range && access.stands_for(old.access))
        });
        if past.len() >= MOST_PAST {
            past.remove(0);
        }
        past.push(Past { range: found.range.clone(), access, place });
    }
}
