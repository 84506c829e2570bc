//! What an instance holds: the contexts in which its nodes run, and which have what those use; and what they use.
//!
//! Driver 580 crashes when an instance is destroyed, launched or changed after one of its contexts was reset, or waits for ever
//! (measured). So such an instance is left to the driver, and what its nodes use is let go of here.

use super::own::Base;
use crate::context::Context;
use crate::graph::by_node::ByNode;
use crate::graph::definition::{State, Tree};
use crate::graph::ids::{GraphId, NodeId};
use crate::graph::state::note;
use crate::memory::Buffer;
use crate::object::error::{Error, Status, Subject};
use crate::op::attachment::Version;
use crate::op::bundle::Bundle;
use crate::op::node::{Hold, Holds, Parameters};
use std::any::Any;
use std::sync::Arc;

/// What an instance holds.
#[derive(Default)]
pub(super) struct Held {
    /// At least one: the definition's.
    contexts: Vec<Arc<Context>>,
    /// Others, of which nodes use something, or did.
    used: Vec<Arc<Context>>,
    /// What the driver's graph keeps, too, for its nodes: where that has user objects, the driver's instance inherits them.
    versions: Vec<Version>,
    /// What definitions had kept, and this keeps for the instance, for each node as long as that uses it; or the driver does, where only that
    /// knows when the instance is not used.
    own: Vec<Version>,
    /// The same of graphs that child graphs were set to, by these.
    of_children: Vec<(GraphId, Version)>,
}

impl Held {
    /// What an instance of the definition holds, and this, which the definition had kept.
    pub(super) fn of(tree: &Tree, state: &State, kept: Option<Version>) -> Self {
        let mut contexts = vec![Arc::clone(tree.context())];
        state.contexts().iter().for_each(|context| note(&mut contexts, context));
        let versions = state.nodes().filter_map(|(_, node)| node.attachment.as_ref()?.version()).collect();
        let own = kept.into_iter().collect();
        let mut held = Self { contexts, used: Vec::new(), versions, own, of_children: Vec::new() };
        state.nodes().for_each(|(_, node)| held.uses(&node.parameters));
        held
    }

    /// The nodes of the instance do what the base says, which is where this comes from.
    pub(super) fn of_nodes(self, base: &Base) -> Self {
        match base {
            Base::Definition => {}
            Base::Taken(taken) => {
                // Two graphs that were built in the same way number their nodes in the same way.
                if taken.iter().any(|(id, taken)| taken.from != id) {
                    let numbers: ByNode<NodeId> = taken.iter().map(|(id, taken)| (taken.from, id)).collect();
                    let number = |from| numbers.get(NodeId(from)).map(|id| id.0);
                    self.all_own().for_each(|version| version.rename_nodes(number));
                }
            }
            Base::Unknown => self.all_own().for_each(Version::forget_nodes),
        }
        self
    }

    /// The instance was updated from another definition. Its contexts stay: a launch may be in flight. Answers with what was kept here.
    pub(super) fn update(&mut self, other: Self) -> Vec<Bundle> {
        other.contexts.iter().for_each(|context| note(&mut self.contexts, context));
        self.used = other.used;
        self.versions = other.versions;
        let before = std::mem::replace(&mut self.own, other.own);
        let of_children = std::mem::take(&mut self.of_children).into_iter().map(|(_, version)| version);
        before.into_iter().chain(of_children).filter_map(Version::into_own).collect()
    }

    fn all_own(&self) -> impl Iterator<Item = &Version> {
        self.own.iter().chain(self.of_children.iter().map(|(_, version)| version))
    }

    /// All that was kept here.
    pub(super) fn take_own(&mut self) -> Vec<Bundle> {
        let own = self.own.extract_if(.., |version| version.is_own());
        let of_children = self.of_children.extract_if(.., |(_, version)| version.is_own());
        own.chain(of_children.map(|(_, version)| version)).filter_map(Version::into_own).collect()
    }

    /// Whether something is kept here.
    pub(super) fn keeps(&self) -> bool {
        self.all_own().any(Version::keeps)
    }

    /// Has the driver keep something more for the instance, as long as a launch may use it; gives it back if the driver keeps nothing.
    pub(super) fn leave_to_driver(&self, more: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        let mut left = more;
        for version in self.all_own() {
            match version.add(left) {
                Ok(()) => return Ok(()),
                Err(more) => left = more,
            }
        }
        Err(left)
    }

    /// What was left to it last, taken out again.
    pub(super) fn take_back(&self) -> Option<Box<dyn Any + Send>> {
        self.all_own().find_map(Version::take_added)
    }

    /// All contexts in which something of the instance may run.
    pub(super) fn contexts(&self) -> &[Arc<Context>] {
        &self.contexts
    }

    /// What is kept for a node since the instance was made, or updated; not what the driver's graph keeps for it.
    pub(super) fn given(&self, id: NodeId) -> Holds {
        self.all_own().find_map(|version| version.of_node(id.0)).unwrap_or_default()
    }

    /// Takes what was kept for a node since then, and it has no more, as it keeps this `now`.
    pub(super) fn exchange(&self, id: NodeId, now: &Holds) -> Option<Holds> {
        self.all_own().find_map(|version| version.exchange(id.0, now))
    }

    /// What was kept for a node since then stays, whatever becomes of the node.
    pub(super) fn forget(&mut self, id: NodeId) {
        self.all_own().for_each(|version| version.forget_node(id.0));
    }

    /// A child graph of the instance was set to another graph. Answers with what was kept here for the one before it.
    pub(super) fn join(&mut self, child: GraphId, other: Self) -> Vec<Bundle> {
        let before = self.of_children.extract_if(.., |(of, version)| *of == child && version.is_own());
        let before = before.filter_map(|(_, version)| version.into_own()).collect();
        other.contexts.iter().for_each(|context| note(&mut self.contexts, context));
        other.used.iter().for_each(|context| note(&mut self.used, context));
        self.versions.extend(other.versions);
        self.of_children.extend(other.own.into_iter().map(|version| (child, version)));
        self.versions.retain(Version::is_there);
        self.of_children.retain(|(_, version)| version.is_there());
        before
    }

    /// A node of the instance runs in this context from now on.
    pub(super) fn runs_in(&mut self, context: &Arc<Context>) {
        note(&mut self.contexts, context);
    }

    /// A node of the instance does this from now on. Driver 580 counts copies and memsets among what runs in the context of their memory: when
    /// that is gone, a change or the destroy of the instance crashes or waits for ever (measured). Kernels can be set to other memory then.
    pub(super) fn uses(&mut self, parameters: &Parameters) {
        let Self { contexts, used, .. } = self;
        let runs_there = matches!(parameters, Parameters::Copy(_) | Parameters::Memset(_));
        parameters.each_context(|context| {
            if runs_there {
                note(contexts, context);
                return;
            }
            if !contexts.iter().any(|known| Arc::ptr_eq(known, context)) {
                note(used, context);
            }
        });
    }

    /// One of the contexts of which nodes use something, or did, that is gone. Driver 580 crashes at a launch that uses memory of such a context
    /// (measured).
    #[inline]
    pub(super) fn used_and_gone(&self) -> Option<Arc<Context>> {
        if self.used.is_empty() { None } else { self.used.iter().find(|context| context.is_gone()).cloned() }
    }

    /// Nothing of the context is used any more.
    pub(super) fn uses_no_more(&mut self, context: &Arc<Context>) {
        self.used.retain(|known| !Arc::ptr_eq(known, context));
    }

    /// Refuses a call about an instance one of whose contexts is gone.
    #[inline]
    pub(super) fn check(&self, object: &dyn Subject) -> Result<(), Error> {
        self.contexts.iter().try_for_each(|context| context.check_still_there(object))
    }

    /// Refuses to launch what uses a buffer that sleeps.
    #[cold]
    pub(super) fn check_awake(&self, object: &dyn Subject) -> Result<(), Error> {
        let asleep = |hold: &Hold| {
            let buffer = hold.downcast_ref::<Buffer>()?;
            buffer.is_asleep().then(|| buffer.to_string())
        };
        let Some(buffer) =
            self.versions.iter().chain(self.all_own()).find_map(|version| version.find(asleep))
        else {
            return Ok(());
        };
        let refusal = format!(
            "{object} uses {buffer}, which sleeps: it has addresses and no memory; call cushim_buffer_wake before the launch"
        );
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object))
    }

    /// The same for a launch in a stream, whose own context the caller has looked at: only of others is the driver asked, so that a launch costs
    /// no further call where all is in one context.
    #[inline]
    pub(super) fn check_launched(&self, of_stream: &Arc<Context>, object: &dyn Subject) -> Result<(), Error> {
        for context in &self.contexts {
            match Arc::ptr_eq(context, of_stream) {
                true => context.check_there(object)?,
                false => context.check_still_there(object)?,
            }
        }
        Ok(())
    }

    /// Whether one of the contexts is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.contexts.iter().any(|context| context.is_gone())
    }

    /// Lets go of what the nodes use, in place of the driver, which keeps the instance for ever; of what the definition uses, too, if that is
    /// not used any more either.
    pub(super) fn abandon(self, with_definition: bool) {
        let of_children = self.of_children.into_iter().map(|(_, version)| version);
        self.own.into_iter().chain(of_children).for_each(Version::abandon);
        if with_definition {
            self.versions.into_iter().for_each(Version::abandon);
        }
    }
}
