//! What an instance holds beside what its nodes do: the contexts in which these run, and which have what they use; what the driver
//! keeps for it.
//!
//! Driver 580 crashes when an instance is destroyed, launched or changed after one of its contexts was reset, or waits for ever
//! (measured). So such an instance is left to the driver, and what its nodes use is let go of here.

use crate::context::Context;
use crate::graph::definition::{State, Tree};
use crate::graph::state::note;
use crate::memory::BufferObject;
use crate::object::error::{Error, Status, Subject};
use crate::op::attachment::{Attachment, Version};
use crate::op::node::{Hold, NodeType, Parameters};
use std::any::Any;

/// What an instance holds.
#[derive(Default)]
pub(super) struct Held {
    /// At least one: the definition's.
    contexts: Vec<Context>,
    /// Others, of which nodes use something, or did.
    used: Vec<Context>,
    /// What the driver's graphs keep for their nodes, by user objects, which the driver's instance inherits.
    inherited: Vec<Version>,
    /// What the driver keeps for the instance, where only that knows when the instance is not used.
    given: Vec<Version>,
    /// Whether it has conditional nodes.
    conditional: bool,
}

impl Held {
    /// What an instance of the definition holds, for which the driver keeps this.
    pub(super) fn of(tree: &Tree, state: &State, given: Option<Version>) -> Self {
        let mut contexts = vec![tree.context().clone()];
        state.contexts().iter().for_each(|context| note(&mut contexts, context));
        let mut held = Self { contexts, given: given.into_iter().collect(), ..Self::default() };
        held.inherited.extend(state.contents.given().filter_map(Attachment::version));
        for (_, record) in state.contents.iter() {
            held.uses(&record.parameters);
            held.conditional |= matches!(record.parameters, Parameters::Plain(NodeType::Conditional));
        }
        held
    }

    /// The instance was updated from another definition. Its contexts stay: a launch may be in flight.
    pub(super) fn update(&mut self, other: Self) {
        other.contexts.iter().for_each(|context| note(&mut self.contexts, context));
        self.used = other.used;
        self.inherited = other.inherited;
        self.given = other.given;
        self.conditional |= other.conditional;
    }

    /// Has the driver keep something more for the instance, as long as a launch may use it; gives it back if the driver keeps nothing.
    pub(super) fn leave_to_driver(&self, more: Box<dyn Any + Send>) -> Result<(), Box<dyn Any + Send>> {
        let mut left = more;
        for version in &self.given {
            match version.add(left) {
                Ok(()) => return Ok(()),
                Err(more) => left = more,
            }
        }
        Err(left)
    }

    /// What was left to it last, taken out again.
    pub(super) fn take_back(&self) -> Option<Box<dyn Any + Send>> {
        self.given.iter().find_map(Version::take_added)
    }

    /// All contexts in which something of the instance may run.
    pub(super) fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// A child graph of the instance was set to another graph.
    pub(super) fn join(&mut self, other: Self) {
        other.contexts.iter().for_each(|context| note(&mut self.contexts, context));
        other.used.iter().for_each(|context| note(&mut self.used, context));
        self.inherited.extend(other.inherited);
        self.given.extend(other.given);
        self.conditional |= other.conditional;
        self.inherited.retain(Version::is_there);
        self.given.retain(Version::is_there);
    }

    /// Whether it has conditional nodes.
    pub(super) fn has_conditional(&self) -> bool {
        self.conditional
    }

    /// A node of the instance runs in this context from now on.
    pub(super) fn runs_in(&mut self, context: &Context) {
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
            if !contexts.iter().any(|known| known == context) {
                note(used, context);
            }
        });
    }

    /// One of the contexts of which nodes use something, or did, that is gone. Driver 580 crashes at a launch that uses memory of such a context
    /// (measured).
    #[inline]
    pub(super) fn used_and_gone(&self) -> Option<Context> {
        if self.used.is_empty() { None } else { self.used.iter().find(|context| context.is_gone()).cloned() }
    }

    /// Nothing of the context is used any more.
    pub(super) fn uses_no_more(&mut self, context: &Context) {
        self.used.retain(|known| known != context);
    }

    /// Refuses a call about an instance one of whose contexts is gone.
    #[inline]
    pub(super) fn check(&self, object: &dyn Subject) -> Result<(), Error> {
        self.contexts.iter().try_for_each(|context| context.check_still_there(object))
    }

    /// Refuses to launch what uses a buffer that sleeps: one of those that are kept here, or by the driver's graphs.
    #[cold]
    pub(super) fn check_awake<'a>(
        &self,
        mut kept: impl Iterator<Item = &'a Hold>,
        object: &dyn Subject,
    ) -> Result<(), Error> {
        let unusable = |hold: &Hold| {
            let buffer = hold.downcast_ref::<BufferObject>()?;
            buffer.why_unusable().map(|why| format!("{object} uses {buffer}, which {why}"))
        };
        let inherited = || self.inherited.iter().find_map(|version| version.find(unusable));
        let Some(refusal) = kept.find_map(unusable).or_else(inherited) else {
            return Ok(());
        };
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object))
    }

    /// The same for a launch in a stream, whose own context the caller has looked at: only of others is the driver asked, so that a launch costs
    /// no further call where all is in one context.
    #[inline]
    pub(super) fn check_launched(&self, of_stream: &Context, object: &dyn Subject) -> Result<(), Error> {
        for context in &self.contexts {
            match context == of_stream {
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
        self.given.into_iter().for_each(Version::abandon);
        if with_definition {
            self.inherited.into_iter().for_each(Version::abandon);
        }
    }
}
