//! The memory that an exec allocates and frees.

use super::layout::{Content, Layout};
use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_INVALID_VALUE;
use crate::driver::graph::leaf::Leaf;
use crate::driver::memory::graph_allocation;
use crate::driver::memory::graph_memory::GraphMemory;
use crate::driver::memory::table::Allocation;
use std::sync::Arc;

/// Allocations that do not outlast the launch.
pub(super) type Passing = Vec<Arc<Allocation>>;

/// What a launch allocates and frees.
#[derive(Default)]
pub(super) struct Memory {
    allocated: Vec<Arc<Allocation>>,
    freed: Vec<Arc<Allocation>>,
}

impl Memory {
    pub(super) fn of(layout: &Layout) -> Self {
        let mut memory = Self::default();
        memory.add(layout);
        memory
    }

    fn add(&mut self, layout: &Layout) {
        for place in &layout.nodes {
            match &place.content {
                Content::Leaf(leaf) => match &**leaf {
                    Leaf::Alloc(node) => self.allocated.push(Arc::clone(node.allocation())),
                    Leaf::Free(node) => self.freed.push(Arc::clone(&node.allocation)),
                    _ => {}
                },
                Content::Child(inner) => self.add(inner),
                // Their bodies have none.
                Content::Conditional { .. } => {}
            }
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.allocated.is_empty() && self.freed.is_empty()
    }

    /// What a launch both allocates and frees, whichever of the two has its turn first.
    pub(super) fn passing(&self) -> Passing {
        self.freed.iter().filter(|one| self.allocates(one)).cloned().collect()
    }

    fn allocates(&self, other: &Arc<Allocation>) -> bool {
        self.allocated.iter().any(|one| Arc::ptr_eq(one, other))
    }

    fn frees(&self, other: &Arc<Allocation>) -> bool {
        self.freed.iter().any(|one| Arc::ptr_eq(one, other))
    }

    /// What a launch before this one has allocated and nobody has freed.
    pub(super) fn left(&self) -> Vec<Arc<Allocation>> {
        let is_left = |one: &&Arc<Allocation>| of(one).is_some_and(GraphMemory::is_allocated);
        self.allocated.iter().filter(is_left).cloned().collect()
    }

    /// Refuses to free what nobody has allocated.
    pub(super) fn check(&self) -> Answer {
        let mut others = self.freed.iter().filter(|one| !self.allocates(one));
        let fits = others.all(|one| of(one).is_some_and(GraphMemory::is_allocated));
        if fits { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
    }

    /// Takes memory of devices, as far as it has none.
    pub(super) fn map(&self) -> Answer {
        self.allocated.iter().filter_map(of).try_for_each(GraphMemory::map)
    }

    /// A launch is on its way.
    pub(super) fn launched(&self) {
        let stays = self.allocated.iter().filter(|one| !self.frees(one));
        stays.filter_map(of).for_each(GraphMemory::set_allocated);
        for other in self.freed.iter().filter(|one| !self.allocates(one)) {
            // Refused if somebody has freed it meanwhile.
            let _ = graph_allocation::take(other);
        }
    }
}

fn of(allocation: &Arc<Allocation>) -> Option<&GraphMemory> {
    allocation.of_graph()
}
