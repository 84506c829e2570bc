//! Nodes that run one of their graphs, or none, as a condition says.

use super::{GRAPHS, Graph};
use crate::abi::sys::{
    CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_SWITCH, CU_GRAPH_COND_TYPE_WHILE, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_OUT_OF_MEMORY, CUgraph, CUgraphConditionalNodeType, CUresult,
};
use crate::driver::condition::Condition;
use crate::instruments::settings::version;
use std::sync::Arc;

/// The version from which on there are ELSE and SWITCH.
const CHOICES_SINCE: u32 = 12080;

/// What a conditional node does.
pub(crate) struct Conditional {
    pub(crate) condition: Arc<Condition>,
    pub(crate) choice: Choice,
    pub(crate) bodies: Box<[Arc<Graph>]>,
    /// The handles of the bodies, for callers as long as there is the node.
    handles: Box<[usize]>,
}

/// Which body a condition's value chooses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The first if it is not 0, else the second, if there is one.
    If,
    /// The body, as long as it is not 0.
    While,
    /// The one of this number, if there is one.
    Switch,
}

impl Choice {
    /// What a caller means who gives a node so many bodies.
    pub(crate) fn of(kind: CUgraphConditionalNodeType, bodies: u32) -> Result<Self, CUresult> {
        let choices = version() >= CHOICES_SINCE;
        match (kind, bodies) {
            (CU_GRAPH_COND_TYPE_IF, 1) => Ok(Self::If),
            (CU_GRAPH_COND_TYPE_IF, 2) if choices => Ok(Self::If),
            (CU_GRAPH_COND_TYPE_WHILE, 1) => Ok(Self::While),
            (CU_GRAPH_COND_TYPE_SWITCH, 1..) if choices => Ok(Self::Switch),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    pub(crate) fn kind(self) -> CUgraphConditionalNodeType {
        match self {
            Self::If => CU_GRAPH_COND_TYPE_IF,
            Self::While => CU_GRAPH_COND_TYPE_WHILE,
            Self::Switch => CU_GRAPH_COND_TYPE_SWITCH,
        }
    }

    /// The body that is to run; it may be one that there is not.
    pub(crate) fn body(self, value: u32) -> Option<usize> {
        match self {
            Self::If => Some(usize::from(value == 0)),
            Self::While => (value != 0).then_some(0),
            Self::Switch => Some(value as usize),
        }
    }
}

/// Bodies are made when their node is: with more of them a machine's memory would be gone.
const MOST_BODIES: u32 = 1 << 16;

impl Conditional {
    /// A node with empty bodies, for a condition that no other node looks at.
    pub(crate) fn new(condition: Arc<Condition>, choice: Choice, count: u32) -> Result<Self, CUresult> {
        if count > MOST_BODIES {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        }
        if !condition.claim() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let bodies: Box<[_]> = (0..count).map(|_| Graph::new()).collect();
        let handles = bodies.iter().map(|body| body.handle).collect();
        Ok(Self { condition, choice, bodies, handles })
    }

    /// How many bodies it has.
    pub(crate) fn count(&self) -> u32 {
        self.bodies.len() as u32
    }

    /// Where a caller finds the handles of its bodies.
    pub(crate) fn handles(&self) -> *mut CUgraph {
        self.handles.as_ptr().cast_mut().cast()
    }
}

impl Graph {
    /// Adds a condition for nodes of this graph, or of graphs in it.
    pub(crate) fn add_condition(self: &Arc<Self>, condition: Arc<Condition>) {
        self.content.lock().conditions.push(condition);
        let mut above = Some(Arc::clone(self));
        while let Some(graph) = above {
            graph.content.lock().had_condition = true;
            above = graph.place().and_then(|node| node.graph());
        }
    }

    /// Has conditions of a graph that was in it and is gone: they stay as long as it does (measured).
    pub(super) fn inherit(&self, conditions: Vec<Arc<Condition>>) {
        conditions.iter().for_each(|condition| condition.pass_to(self.handle));
        self.content.lock().conditions.extend(conditions);
    }

    /// Whether a node of this graph can look at a condition: of any graph that is in the same one (measured).
    pub(crate) fn can_use(self: &Arc<Self>, condition: &Condition) -> bool {
        GRAPHS.get(condition.graph()).is_some_and(|other| other.root().handle == self.root().handle)
    }

    /// Whether it has a condition or a graph in it has, or had once.
    pub(crate) fn had_condition(&self) -> bool {
        self.content.lock().had_condition
    }

    /// The graph that holds it, or holds one that does; itself, if none does.
    pub(crate) fn root(self: &Arc<Self>) -> Arc<Self> {
        let mut root = Arc::clone(self);
        while let Some(above) = root.place().and_then(|node| node.graph()) {
            root = above;
        }
        root
    }

    /// Whether it has a condition that no node looks at, or a graph in it has.
    pub(crate) fn has_idle_condition(&self) -> bool {
        let content = self.content.lock();
        let mut conditions = content.conditions.iter();
        conditions.any(|condition| !condition.is_claimed())
            || content
                .nodes
                .values()
                .any(|node| node.work().graphs().iter().any(|graph| graph.has_idle_condition()))
    }
}
