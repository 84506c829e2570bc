//! The graphs in a node, which most nodes have not.

use super::ids::{ConditionId, GraphId};
use super::kind::ConditionalKind;
use std::ops::{Deref, DerefMut};

/// The child graph of a node, or its bodies and how it decides between them.
#[derive(Default)]
pub(super) struct Within(Option<Box<Graphs>>);

#[derive(Default)]
struct Graphs {
    all: Box<[GraphId]>,
    condition: Option<ConditionId>,
    kind: Option<ConditionalKind>,
}

impl Within {
    /// Of a child graph node.
    pub(super) fn child(graph: GraphId) -> Self {
        Self(Some(Box::new(Graphs { all: Box::new([graph]), ..Graphs::default() })))
    }

    /// Of a conditional node, whose kind is not known of every one.
    pub(super) fn bodies(
        condition: ConditionId,
        kind: Option<ConditionalKind>,
        all: impl Iterator<Item = GraphId>,
    ) -> Self {
        Self(Some(Box::new(Graphs { all: all.collect(), condition: Some(condition), kind })))
    }

    /// The condition of a conditional node.
    pub(super) fn condition(&self) -> Option<ConditionId> {
        self.0.as_ref()?.condition
    }

    /// How such a node decides.
    pub(super) fn kind(&self) -> Option<ConditionalKind> {
        self.0.as_ref()?.kind
    }

    /// The condition has another number from now on.
    pub(super) fn rename_condition(&mut self, number: impl FnOnce(ConditionId) -> ConditionId) {
        if let Some(graphs) = &mut self.0 {
            graphs.condition = graphs.condition.map(number);
        }
    }
}

impl Deref for Within {
    type Target = [GraphId];

    fn deref(&self) -> &[GraphId] {
        self.0.as_ref().map_or(&[], |graphs| &graphs.all)
    }
}

impl DerefMut for Within {
    fn deref_mut(&mut self) -> &mut [GraphId] {
        self.0.as_mut().map_or(&mut [], |graphs| &mut graphs.all)
    }
}
