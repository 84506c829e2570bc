//! What graphs and conditional nodes there are.

use crate::driver::sys::{
    CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_SWITCH, CU_GRAPH_COND_TYPE_WHILE, CUgraphConditionalNodeType,
};
use crate::object::error::{Error, Status};

/// What a graph is in its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphKind {
    /// The whole.
    Root,
    /// The graph of a child graph node.
    Child,
    /// One of the graphs that a conditional node runs, by its number.
    Body(u32),
}

/// How a conditional node decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionalKind {
    /// It runs its body if the value is not 0.
    If,
    /// It runs its first body if the value is not 0, and else the second. Driver 12.8.
    IfElse,
    /// It runs its body as long as the value is not 0.
    While,
    /// It runs the body whose number the value is, if there is such a one. Driver 12.8.
    Switch,
}

impl ConditionalKind {
    pub(super) fn raw(self) -> CUgraphConditionalNodeType {
        match self {
            Self::If | Self::IfElse => CU_GRAPH_COND_TYPE_IF,
            Self::While => CU_GRAPH_COND_TYPE_WHILE,
            Self::Switch => CU_GRAPH_COND_TYPE_SWITCH,
        }
    }

    pub(super) fn of_raw(kind: CUgraphConditionalNodeType, bodies: u32) -> Option<Self> {
        Some(match (kind, bodies) {
            (CU_GRAPH_COND_TYPE_IF, 1) => Self::If,
            (CU_GRAPH_COND_TYPE_IF, _) => Self::IfElse,
            (CU_GRAPH_COND_TYPE_WHILE, _) => Self::While,
            (CU_GRAPH_COND_TYPE_SWITCH, _) => Self::Switch,
            _ => return None,
        })
    }

    /// What the header calls it.
    fn name(self) -> &'static str {
        match self {
            Self::If => "IF",
            Self::IfElse => "IF_ELSE",
            Self::While => "WHILE",
            Self::Switch => "SWITCH",
        }
    }

    /// Refuses a number of bodies that such a node does not have.
    pub(crate) fn check_bodies(self, count: usize) -> Result<(), Error> {
        let (is_right, has) = match self {
            Self::If | Self::While => (count == 1, "1 body"),
            Self::IfElse => (count == 2, "2 bodies"),
            Self::Switch => (count >= 1 && u32::try_from(count).is_ok(), "at least 1 body"),
        };
        if is_right {
            return Ok(());
        }
        let name = self.name();
        let refusal = format!("a conditional node of kind {name} has {has}, and {count} are asked for");
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    }
}
