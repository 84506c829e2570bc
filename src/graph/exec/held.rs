//! What the driver's instance holds: the contexts in which its nodes run, and what those use.
//!
//! Driver 580 crashes when an instance is destroyed, launched or changed after one of its contexts was reset, or waits for ever
//! (measured). So such an instance is left to the driver, and what its nodes use is let go of here.

use super::own::Base;
use crate::context::Context;
use crate::graph::state::{NodeId, State, note};
use crate::graph::tree::Tree;
use crate::object::error::{Error, Subject};
use crate::op::attachment::Version;
use crate::op::node::Holds;
use std::sync::Arc;

/// What an instance holds.
#[derive(Default)]
pub(super) struct Held {
    /// At least one: the definition's.
    contexts: Vec<Arc<Context>>,
    /// What the driver's graph keeps, too, for its nodes.
    versions: Vec<Version>,
    /// What definitions had kept, and the instance keeps alone, or did before it was updated: for each node, as long as that uses it.
    own: Vec<Version>,
}

impl Held {
    /// What an instance of the definition holds, and this, which the definition had kept.
    pub(super) fn of(tree: &Tree, state: &State, kept: Option<Version>) -> Self {
        let mut contexts = vec![Arc::clone(tree.context())];
        state.contexts().iter().for_each(|context| note(&mut contexts, context));
        let of_nodes = state.nodes().filter_map(|(_, node)| node.attachment.as_ref()?.version());
        Self { contexts, versions: of_nodes.collect(), own: kept.into_iter().collect() }
    }

    /// The nodes of the instance do what the base says, which is where this comes from.
    pub(super) fn of_nodes(self, base: &Base) -> Self {
        match base {
            Base::Definition => {}
            Base::Taken(taken) => {
                let numbers = taken.iter().map(|(id, taken)| (taken.from.0, id.0)).collect();
                self.own.iter().for_each(|version| version.rename_nodes(&numbers));
            }
            Base::Unknown => self.own.iter().for_each(Version::forget_nodes),
        }
        self
    }

    /// The instance was updated from another definition. Its contexts stay, and the driver lets go of what was kept: a launch may be in flight.
    pub(super) fn update(&mut self, other: Self) {
        other.contexts.iter().for_each(|context| note(&mut self.contexts, context));
        self.versions = other.versions;
        self.own.retain(Version::is_there);
        self.own.iter().for_each(Version::forget_nodes);
        self.own.extend(other.own);
    }

    /// What is kept for a node since the instance was made, or updated; not what the driver's graph keeps for it.
    pub(super) fn given(&self, id: NodeId) -> Holds {
        self.own.iter().find_map(|version| version.of_node(id.0)).unwrap_or_default()
    }

    /// Takes what was kept for a node since then, and it has no more, as it keeps this `now`.
    pub(super) fn exchange(&self, id: NodeId, now: &Holds) -> Option<Holds> {
        self.own.iter().find_map(|version| version.exchange(id.0, now))
    }

    /// What was kept for a node since then stays, whatever becomes of the node.
    pub(super) fn forget(&mut self, id: NodeId) {
        self.own.iter().for_each(|version| version.forget_node(id.0));
    }

    /// A child graph of the instance was set to another graph.
    pub(super) fn join(&mut self, other: Self) {
        other.contexts.iter().for_each(|context| note(&mut self.contexts, context));
        self.versions.extend(other.versions);
        self.own.extend(other.own);
        self.versions.retain(Version::is_there);
        self.own.retain(Version::is_there);
    }

    /// A node of the instance runs in this context from now on.
    pub(super) fn runs_in(&mut self, context: &Arc<Context>) {
        note(&mut self.contexts, context);
    }

    /// Refuses a call about an instance one of whose contexts is gone.
    #[inline]
    pub(super) fn check(&self, object: &dyn Subject) -> Result<(), Error> {
        self.contexts.iter().try_for_each(|context| context.check_still_there(object))
    }

    /// Whether one of the contexts is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.contexts.iter().any(|context| context.is_gone())
    }

    /// What it kept alone.
    pub(super) fn into_own(self) -> Vec<Version> {
        self.own
    }

    /// Lets go of what the nodes use, in place of the driver, which keeps the instance for ever; of what the definition uses, too, if that is
    /// not used any more either.
    pub(super) fn abandon(self, with_definition: bool) {
        self.own.into_iter().for_each(Version::abandon);
        if with_definition {
            self.versions.into_iter().for_each(Version::abandon);
        }
    }
}
