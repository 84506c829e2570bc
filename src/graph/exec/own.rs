//! What the nodes of an instance do, where that is not what the definition says.

use crate::context::Context;
use crate::graph::by_node::ByNode;
use crate::graph::ids::NodeId;
use crate::op::node::{ForSet, Holds, Parameters};
use std::sync::Arc;

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
    pub(super) fn given(parameters: Parameters, context: Option<Arc<Context>>, given: &Holds) -> Self {
        let none = ForSet::default();
        let mut own = Self { parameters, context, holds: None, given: none, has_values_of_owners: false };
        own.look_at_given(given);
        own
    }

    /// Notes what the driver's instance still keeps for the node.
    pub(super) fn look_at_given(&mut self, given: &Holds) {
        self.given = given.for_set();
        self.has_values_of_owners = self.parameters.has_values_of_owners(given);
    }
}
