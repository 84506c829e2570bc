//! A definition and all that is in it, as data. What is done with it stands in the files beside.
//!
//! The types name each other: a definition has its parts, each of which has an object that handles name, and that knows the definition
//! again. So they stand together; what nodes do, which names none of them, stands in `contents`.

use super::by_address::ByAddress;
use super::by_node::ByNode;
use super::contents::Contents;
use super::derived::Derived;
use super::ids::{ConditionId, GraphId, NodeId};
use super::instance::Instance;
use super::kind::GraphKind;
use super::names::Names;
use super::outline::Outline;
use super::recorder::Recorder;
use super::within::Within;
use crate::context::Context;
use crate::driver::calls::graph::definition::RawGraph;
use crate::driver::sys::{CUgraphNode, CUstream};
use crate::object::handle::{Header, Run, Token};
use crate::object::owning::Owning;
use crate::op::node::Parameters;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};

/// A definition as its users hold it: whoever has a [`Graph`](super::Graph) of it, or a claim on one. What was instantiated
/// from it holds the [`Tree`] alone: driver 580 updates nothing whose definition was destroyed, so that stays, but it keeps
/// nothing alive any more.
pub(super) struct Definition {
    pub(super) tree: Arc<Tree>,
}

/// A graph with all graphs below it: those of its child graph nodes and the bodies of its conditional nodes. One lock guards
/// all of it, so that edits from several threads do not mix.
pub(super) struct Tree {
    pub(super) context: Context,
    /// A number that no other definition of the process has, and no recapture of one.
    pub(super) number: u64,
    /// Whether the driver's definition is destroyed with this.
    pub(super) owning: Owning,
    pub(super) state: Mutex<State>,
    pub(super) definition: OnceLock<Weak<Definition>>,
    /// What the definition is called.
    pub(super) root: OnceLock<Arc<GraphObject>>,
    /// What its nodes are called.
    pub(super) names: Arc<Names>,
    /// Weakly this.
    pub(super) this: Weak<Tree>,
}

/// The graphs and nodes of one definition, all under one lock.
pub(super) struct State {
    pub(super) graphs: Vec<Option<GraphState>>,
    pub(super) nodes: ByNode<NodeState>,
    /// What the nodes do.
    pub(super) contents: Contents,
    /// How many numbers nodes were given, and which of them are free again.
    pub(super) numbers: u32,
    pub(super) free: Vec<NodeId>,
    /// How many nodes there ever were.
    pub(super) made: u32,
    /// How often edges of one of the graphs were changed.
    pub(super) edges_edited: u64,
    /// How often a node was listed or taken off the list, or edges were changed.
    pub(super) edits: u64,
    /// How often a node was taken off the list.
    pub(super) removals: u64,
    /// The nodes in the driver's order, and how many edits there had been when they were listed.
    pub(super) outline: Option<(u64, Arc<Outline>)>,
    /// Nodes by their native handles, once somebody asked for one.
    pub(super) by_native: Option<ByAddress<NodeId>>,
    pub(super) conditions: Vec<ConditionState>,
    /// The contexts in which nodes ran at any time, apart from the definition's own.
    pub(super) contexts: Vec<Context>,
    /// The parameters that kernels have, and the bytes of their values.
    pub(super) parameters: HashMap<Arc<str>, u32>,
    /// The handles of nodes.
    pub(super) pages: Pages,
    /// What was removed last; its handles still tell what it was.
    pub(super) removed: Removals,
    /// What is instantiated from the definition.
    pub(super) execs: Vec<Weak<Instance>>,
    /// How many nodes allocate or free.
    pub(super) allocating: u32,
    /// Whether something was ever made of the definition, or it of another one: see [`relations`](super::relations).
    pub(super) has_relatives: bool,
    /// The node whose handle was given out last, if it is there.
    pub(super) last: Option<Last>,
    /// Whether others can have the driver's graph. Then that keeps what nodes use, and not the definition.
    pub(super) is_shared: bool,
    /// Nodes that the driver was not asked for yet.
    pub(super) unasked: Unasked,
    /// Whether a builder makes it: its first capture is under way.
    pub(super) is_new: bool,
    /// Whether a recapture ended without it: the driver's nodes are gone, or nobody knows what they are.
    pub(super) is_lost: bool,
}

/// What is known of a graph.
pub(super) struct GraphState {
    pub(super) native: RawGraph,
    /// The node whose child graph or body it is; `None` for the root.
    pub(super) parent: Option<NodeId>,
    pub(super) object: Arc<GraphObject>,
    pub(super) nodes: Vec<NodeId>,
    /// How many graphs stand around it.
    pub(super) depth: u32,
    /// Whether it is a body, or stands below one.
    pub(super) is_in_body: bool,
    /// Whether every edge leads from a node to one that was made later, so that an edge which does so closes no cycle.
    pub(super) is_ordered: bool,
    /// When its edges were changed last ([`State::edges_edited`]); 0: never, but for those that nodes came with.
    pub(super) edges_edited: u64,
    /// Whether an edge or a node was ever removed: then nodes that no other follows need not have become so in the order of nodes.
    pub(super) is_cut: bool,
    /// What captures into it, or did.
    pub(super) captured_by: Option<Weak<dyn Recorder>>,
    pub(super) derived: Derived,
}

/// What is known of a node, but for what it does.
pub(super) struct NodeState {
    pub(super) native: CUgraphNode,
    pub(super) graph: GraphId,
    /// Where it stands among the nodes of its graph here.
    pub(super) position: u32,
    /// By this it is named; greater for what was made later.
    pub(super) number: u32,
    /// Whether anybody was ever told of it, and whether by a handle.
    pub(super) is_named: bool,
    pub(super) has_handle: bool,
    pub(super) inner: Within,
}

// SAFETY: the driver's nodes may be used from every thread, by one at a time: whoever holds the lock of the definition.
unsafe impl Send for NodeState {}
// SAFETY: as above.
unsafe impl Sync for NodeState {}

/// What is known of a condition.
pub(super) struct ConditionState {
    /// The graph that it belongs to, or that it was created for.
    pub(super) graph: GraphId,
    pub(super) initial: u32,
    pub(super) flags: u32,
    /// The driver's number, from the first use on: one that nothing uses costs nothing, and blocks nothing.
    pub(super) native: Option<u64>,
    /// The conditional node that looks at it.
    pub(super) node: Option<NodeId>,
    pub(super) object: Arc<ConditionObject>,
}

/// The node whose handle was given out last. In a chain the next one comes after it, and need not have it looked up.
pub(super) struct Last {
    pub(super) token: Token,
    pub(super) id: NodeId,
    pub(super) graph: GraphId,
    pub(super) native: CUgraphNode,
}

// SAFETY: the native node is used under the lock of the definition.
unsafe impl Send for Last {}

/// Nodes of the root whose native handles are NULL yet.
#[derive(Default)]
pub(super) struct Unasked {
    pub(super) count: usize,
    /// The stream that is captured; NULL once that has ended.
    pub(super) stream: CUstream,
    /// Whether somebody has asked so often that the driver is asked for each node.
    pub(super) is_over: bool,
}

// SAFETY: the stream is used under the lock of the definition, and its capture keeps it.
unsafe impl Send for Unasked {}

/// What was removed last, oldest first.
#[derive(Default)]
pub(super) struct Removals {
    pub(super) order: VecDeque<Removal>,
    /// What nodes among these did last, by their numbers.
    pub(super) nodes: HashMap<u32, Parameters>,
}

/// Something that was removed, or moved to another definition.
pub(super) enum Removal {
    Node {
        number: u32,
        /// Its place, which no other node takes meanwhile, if it has a handle.
        place: Option<NodeId>,
    },
    Graph(#[allow(dead_code, reason = "kept for its handles")] Arc<GraphObject>),
    /// A definition that became part of this one. What handles of before name tells there what it was.
    Tree(#[allow(dead_code, reason = "kept for its handles")] Arc<Tree>),
}

/// Nodes as handles name them: each handle names a place of a page.
pub(super) struct Pages {
    pub(super) names: Arc<Names>,
    /// The pages of which a node ever had a handle.
    pub(super) runs: Vec<Option<Run<NodePage>>>,
}

/// What handles of nodes name: a node by its place, as long as it has the number that the handle tells.
pub(crate) struct NodePage {
    pub(super) tree: Weak<Tree>,
    pub(super) names: Arc<Names>,
    /// The node in its first place.
    pub(super) first: u32,
}

/// A graph, as handles name it.
pub(crate) struct GraphObject {
    pub(super) header: Header,
    pub(super) definition: Weak<Definition>,
    pub(super) id: GraphId,
    pub(super) kind: GraphKind,
    /// Why there is no such graph any more.
    pub(super) gone: OnceLock<Gone>,
    /// Whether it is being recaptured, and nobody else's meanwhile.
    pub(super) is_captured: AtomicBool,
    pub(super) claims: Mutex<Claims>,
}

/// Why there is no such graph any more.
#[derive(Clone, Copy)]
pub(super) enum Gone {
    /// The node is gone whose graph it was.
    Removed,
    /// It became part of another definition.
    Moved,
    /// It was being captured.
    Abandoned,
}

/// Owning handles of a graph hold its definition.
#[derive(Default)]
pub(super) struct Claims {
    pub(super) count: usize,
    pub(super) definition: Option<Arc<Definition>>,
}

/// A condition, as handles name it.
pub(crate) struct ConditionObject {
    pub(super) header: Header,
    pub(super) definition: Weak<Definition>,
    pub(super) id: ConditionId,
    pub(super) ended: OnceLock<()>,
    /// The driver's number, from the first use on.
    pub(super) native: OnceLock<u64>,
}
