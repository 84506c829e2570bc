//! An instance, as its definition knows it: which nodes it has, and what those did that were changed or removed since.

use super::by_node::ByNode;
use super::ids::{GraphId, NodeId};
use crate::context::Context;
use crate::op::node::Parameters;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What the definition keeps for an instance.
pub(super) struct Instance {
    /// Nodes of this number or a greater one are younger than the instance.
    pub(super) born: u32,
    /// How often edges had been changed by then.
    edges_edited: u64,
    /// The driver's numbers of the conditions that there were then: an instance has no others.
    conditions: Box<[u64]>,
    /// Whether a node was changed. Read and written under the lock of the definition.
    has_changes: AtomicBool,
    then: Mutex<Then>,
}

#[derive(Default)]
struct Then {
    changed: ByNode<Was>,
    removed: Vec<Removed>,
}

/// What a node did when the instance was made.
struct Was {
    parameters: Parameters,
    /// In which context; `None` for that of the definition.
    context: Option<Arc<Context>>,
}

/// A node that the instance still runs, and the definition has no more.
#[derive(Clone)]
pub(super) struct Removed {
    /// Its number then, which younger nodes may have now.
    pub(super) id: NodeId,
    pub(super) label: Option<Arc<str>>,
    pub(super) number: u32,
    /// In which graph it was, and those that this was part of.
    pub(super) within: Vec<GraphId>,
    pub(super) parameters: Parameters,
}

impl Instance {
    /// For an instance that is made when so many nodes were made, and edges changed so often, with these conditions.
    pub(super) fn new(born: u32, edges_edited: u64, conditions: impl Iterator<Item = u64>) -> Arc<Self> {
        Arc::new(Self {
            born,
            edges_edited,
            conditions: conditions.collect(),
            has_changes: AtomicBool::new(false),
            then: Mutex::default(),
        })
    }

    pub(super) fn has_condition(&self, native: Option<u64>) -> bool {
        native.is_some_and(|native| self.conditions.contains(&native))
    }

    /// The definition is about to change a node.
    pub(super) fn changes(&self, id: NodeId, parameters: &Parameters, context: &Option<Arc<Context>>) {
        self.has_changes.store(true, Relaxed);
        let was = || Was { parameters: parameters.clone(), context: context.clone() };
        self.then.lock().changed.place(id).get_or_insert_with(was);
    }

    /// The definition is about to remove a node.
    pub(super) fn removes(&self, removed: Removed) {
        let mut then = self.then.lock();
        let was = then.changed.remove(removed.id);
        let parameters = was.map_or_else(|| removed.parameters.clone(), |was| was.parameters);
        then.removed.push(Removed { parameters, ..removed });
    }

    /// What a node did when the instance was made, if that was changed since.
    pub(super) fn with<R>(&self, id: NodeId, look: impl FnOnce(Option<&Parameters>) -> R) -> R {
        match self.has_changes.load(Relaxed) {
            true => look(self.then.lock().changed.get(id).map(|was| &was.parameters)),
            false => look(None),
        }
    }

    /// In which context a node ran when the instance was made, where the definition now says `now`.
    pub(super) fn context(&self, id: NodeId, now: &Option<Arc<Context>>) -> Option<Arc<Context>> {
        match self.has_changes.load(Relaxed) {
            true => self.then.lock().changed.get(id).map_or(now, |was| &was.context).clone(),
            false => now.clone(),
        }
    }

    /// From now on nodes do what the definition says now. Answers whether none was removed.
    pub(super) fn forget_changes(&self) -> bool {
        self.has_changes.store(false, Relaxed);
        let mut then = self.then.lock();
        then.changed.clear();
        then.removed.is_empty()
    }

    /// Whether the instance has the node of this number.
    pub(super) fn has_node(&self, number: u32) -> bool {
        number < self.born
    }

    /// Whether edges that were changed last at that time are those of the instance.
    pub(super) fn has_edges(&self, edited: u64) -> bool {
        edited <= self.edges_edited
    }

    /// How many nodes were removed since.
    pub(super) fn removed_count(&self) -> usize {
        self.then.lock().removed.len()
    }

    /// The nodes that were removed since.
    pub(super) fn removed(&self) -> Vec<Removed> {
        self.then.lock().removed.clone()
    }
}
