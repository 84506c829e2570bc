//! An instance, as its definition knows it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// What of the definition an instance has.
pub(super) struct Instance {
    /// Nodes of this number or a greater one are younger than the instance.
    pub(super) born: u32,
    /// How often edges had been changed by then.
    edges_edited: u64,
    /// The driver's numbers of the conditions that there were then: an instance has no others.
    conditions: Box<[u64]>,
    /// Whether nobody has it any more, and the driver's goes when its launches are done.
    ending: AtomicBool,
}

impl Instance {
    /// For an instance that is made when so many nodes were made, and edges changed so often, with these conditions.
    pub(super) fn new(born: u32, edges_edited: u64, conditions: impl Iterator<Item = u64>) -> Arc<Self> {
        Arc::new(Self {
            born,
            edges_edited,
            conditions: conditions.collect(),
            ending: AtomicBool::new(false),
        })
    }

    /// Nobody has it any more; the driver's goes when its launches are done.
    pub(super) fn ends_later(&self) {
        self.ending.store(true, Relaxed);
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Relaxed)
    }

    pub(super) fn has_condition(&self, native: Option<u64>) -> bool {
        native.is_some_and(|native| self.conditions.contains(&native))
    }

    /// Whether edges that were changed last at that time are those of the instance.
    pub(super) fn has_edges(&self, edited: u64) -> bool {
        edited <= self.edges_edited
    }
}
