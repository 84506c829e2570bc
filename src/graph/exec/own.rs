//! What the nodes of an instance do, where that is not what the definition says.

use super::held::Held;
use crate::context::Context;
use crate::graph::object::NodeObject;
use crate::graph::state::{ByNode, GraphId, NodeId, NodeState, State};
use crate::op::node::{ForSet, Holds, Parameters};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What the definition keeps for an instance: what nodes did that were changed or removed there since.
pub(in crate::graph) struct Kept {
    /// Nodes of this number or a greater one are younger than the instance.
    pub(in crate::graph) born: u32,
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
pub(in crate::graph) struct Removed {
    /// Its number then, which younger nodes may have now.
    pub(in crate::graph) id: NodeId,
    /// Its object, if it had one.
    pub(in crate::graph) object: Option<Arc<NodeObject>>,
    pub(in crate::graph) number: u32,
    /// In which graph it was, and those that this was part of.
    pub(in crate::graph) within: Vec<GraphId>,
    pub(in crate::graph) parameters: Parameters,
}

impl Kept {
    /// For an instance that is made of the definition as it is now.
    pub(super) fn new(definition: &State) -> Arc<Self> {
        let conditions = definition.conditions.iter().filter_map(|condition| condition.native).collect();
        let (born, edges_edited) = (definition.made(), definition.edges_edited());
        Arc::new(Self {
            born,
            edges_edited,
            conditions,
            has_changes: AtomicBool::new(false),
            then: Mutex::default(),
        })
    }

    pub(super) fn has_condition(&self, native: Option<u64>) -> bool {
        native.is_some_and(|native| self.conditions.contains(&native))
    }

    /// The definition is about to change a node.
    pub(in crate::graph) fn changes(&self, id: NodeId, node: &NodeState) {
        self.has_changes.store(true, Relaxed);
        let was = || Was { parameters: node.parameters.clone(), context: node.context.clone() };
        self.then.lock().changed.place(id).get_or_insert_with(was);
    }

    /// The definition is about to remove a node.
    pub(in crate::graph) fn removes(&self, removed: Removed) {
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

/// Where the parameters of an instance's nodes come from, apart from those that were set one by one.
pub(super) enum Base {
    /// The definition, as it was then.
    Definition,
    /// Another definition, node by node.
    Taken(ByNode<Taken>),
    /// Another definition, whose nodes cannot be told apart.
    Unknown,
}

/// What a node does that another definition's node did.
pub(super) struct Taken {
    pub(super) parameters: Parameters,
    /// Which node that is there.
    pub(super) from: NodeId,
}

/// A node that was set in this instance.
pub(super) struct Own {
    pub(super) parameters: Parameters,
    /// In which context; `None` for that of the definition.
    pub(super) context: Option<Arc<Context>>,
    /// What it keeps since then; `None`: what the driver's instance was given for it, and nothing else.
    pub(super) holds: Option<Box<Holds>>,
    /// For what the driver's instance was given something that it still keeps.
    pub(super) given: ForSet,
    /// Whether owners are among that which came with arguments that are values.
    pub(super) has_values_of_owners: bool,
}

impl Own {
    /// For a node that does what it did when the instance was given what it keeps.
    pub(super) fn given(
        parameters: Parameters,
        context: Option<Arc<Context>>,
        held: &Held,
        id: NodeId,
    ) -> Self {
        let given = ForSet::default();
        let mut own = Self { parameters, context, holds: None, given, has_values_of_owners: false };
        own.look_at_given(held, id);
        own
    }

    /// Notes what the driver's instance still keeps for the node.
    pub(super) fn look_at_given(&mut self, held: &Held, id: NodeId) {
        let given = held.given(id);
        self.given = given.for_set();
        self.has_values_of_owners = self.parameters.has_values_of_owners(&given);
    }
}
