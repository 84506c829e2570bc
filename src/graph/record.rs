//! What a node does: its record, which stands in the place of the node in a page.

use super::ids::GraphId;
use crate::context::Context;
use crate::op::attachment::Attachment;
use crate::op::node::{For, NodeType, Parameters};
use smallvec::SmallVec;

/// What a node does, and which operands of its page are kept for that.
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
    /// The context in which the node runs; `None` for that of the definition.
    pub(super) context: Option<Context>,
    /// Empty outside of a page.
    pub(super) kept: SmallVec<[Kept; FEW]>,
}

/// How many operands a record names without allocating: a kernel and a buffer.
const FEW: usize = 2;

/// An operand of the page, and what it is kept for.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    whose: u32,
    pub(super) operand: u32,
}

impl Kept {
    #[inline]
    pub(super) fn new(whose: For, operand: u32) -> Self {
        Self { whose: whose.packed(), operand }
    }

    #[inline]
    pub(super) fn whose(self) -> For {
        For::unpacked(self.whose)
    }

    /// Whether it is kept for this.
    #[inline]
    pub(super) fn is_for(self, whose: For) -> bool {
        self.whose == whose.packed()
    }
}

impl Record {
    /// Of a node that runs in the context of the definition.
    pub(super) fn new(parameters: Parameters) -> Self {
        Self::within(parameters, None)
    }

    /// Of a node in a context of its own.
    #[inline(always)]
    pub(super) fn within(parameters: Parameters, context: Option<Context>) -> Self {
        Self {
            graph: GraphId::ROOT,
            number: 0,
            parameters,
            is_ours: true,
            is_hidden: false,
            is_known: true,
            context,
            kept: SmallVec::new_const(),
        }
    }

    /// The same, for which nothing is kept.
    pub(super) fn bare(&self) -> Self {
        let (parameters, context) = (self.parameters.clone(), self.context.clone());
        Self { parameters, context, kept: SmallVec::new_const(), ..*self }
    }

    /// The arguments of a kernel for which something is kept.
    pub(super) fn kept_arguments(&self) -> impl Iterator<Item = u32> {
        self.kept.iter().filter_map(|kept| match kept.whose() {
            For::Argument(index) => Some(index),
            _ => None,
        })
    }

    /// Whether the parameters are known without asking the driver for each.
    pub(super) fn is_told_by_parameters(&self) -> bool {
        self.is_ours && !matches!(self.parameters, Parameters::Plain(_))
    }

    pub(super) fn node_type(&self) -> NodeType {
        self.parameters.node_type()
    }
}

/// A record on its way into a page, or out of one, and what is kept for its node.
pub(super) struct Loose {
    pub(super) record: Record,
    pub(super) attachment: Option<Attachment>,
}

impl From<Record> for Loose {
    fn from(record: Record) -> Self {
        Self { record, attachment: None }
    }
}

impl Loose {
    /// The same in another definition, whose nodes run in another context by themselves.
    pub(super) fn moved(mut self, from: &Context, to: &Context) -> Self {
        let context = self.record.context.unwrap_or_else(|| from.clone());
        self.record.context = (context != *to).then_some(context);
        self
    }
}
