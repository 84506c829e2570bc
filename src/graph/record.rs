//! What a node does: its record, which stands in the place of the node in a page.

use super::ids::GraphId;
use crate::context::Context;
use crate::op::attachment::Attachment;
use crate::op::node::{NodeType, Parameters};

/// What a node does. Its page has besides what few nodes have, and what is kept for them.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) graph: GraphId,
    /// By this the node is named; greater for what was made later.
    pub(super) number: u32,
    pub(super) parameters: Parameters,
    /// Whether the parameters are what this library gave. Of somebody else's node only the type is known.
    pub(super) is_ours: bool,
    /// Whether the node is the library's own, and nobody is told of it.
    pub(super) is_hidden: bool,
    /// Whether anybody knows what the node does: not in an exec that took over nodes which cannot be told apart.
    pub(super) is_known: bool,
}

impl Record {
    #[inline(always)]
    pub(super) fn new(parameters: Parameters) -> Self {
        Self { graph: GraphId::ROOT, number: 0, parameters, is_ours: true, is_hidden: false, is_known: true }
    }

    /// Whether the parameters are known without asking the driver for each.
    pub(super) fn is_told_by_parameters(&self) -> bool {
        self.is_ours && !matches!(self.parameters, Parameters::Plain(_))
    }

    pub(super) fn node_type(&self) -> NodeType {
        self.parameters.node_type()
    }
}

/// A record on its way into a page, or out of one, and what else the page has of its node.
pub(super) struct Loose {
    pub(super) record: Record,
    /// The context in which the node runs; `None` for that of the definition.
    pub(super) context: Option<Context>,
    /// What is kept for it.
    pub(super) attachment: Option<Attachment>,
}

impl From<Record> for Loose {
    fn from(record: Record) -> Self {
        Self { record, context: None, attachment: None }
    }
}

impl Loose {
    /// The same in another definition, whose nodes run in another context by themselves.
    pub(super) fn moved(mut self, from: &Context, to: &Context) -> Self {
        let context = self.context.unwrap_or_else(|| from.clone());
        self.context = (context != *to).then_some(context);
        self
    }
}
