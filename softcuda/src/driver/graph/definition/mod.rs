//! Graphs and their nodes.
//!
//! A graph has nodes in the order in which they were added, and edges in the order in which they were made. A node does
//! something by itself (`leaf`), or holds a graph. Each graph has a lock of its own; who holds one may take those of graphs in
//! it, and no other.

pub(crate) mod conditional;
mod content;
mod copy;
mod derived;
mod remove;
mod size;

use super::edge::EdgeData;
use super::leaf::Leaf;
use crate::abi::sys::{
    CU_GRAPH_NODE_TYPE_CONDITIONAL, CU_GRAPH_NODE_TYPE_GRAPH, CUDA_ERROR_ILLEGAL_STATE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUgraph, CUgraphDeviceNode, CUgraphNode,
    CUgraphNodeType, CUresult,
};
use crate::driver::handle::{Object, Table, reserve};
use crate::driver::memory::graph_allocation::Wanted;
use crate::driver::memory::table::Allocation;
use crate::instruments::live;
use crate::instruments::settings::graph_reuse;
use conditional::Conditional;
use content::Content;
use derived::Derived;
use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// Graphs that were not destroyed, also those in nodes, and those that captures are still making.
static GRAPHS: Table<Graph> = Table::new();

/// Their nodes.
static NODES: Table<Node> = Table::new();

/// No capture adds nodes to a graph; one does, to a graph of the program's; or it makes the graph.
const NOT_CAPTURED: u8 = 0;
const ADDED_TO: u8 = 1;
const MADE: u8 = 2;

/// A graph.
pub(crate) struct Graph {
    pub(crate) handle: usize,
    /// Never used twice.
    pub(crate) id: u32,
    /// The node that it is in.
    place: RwLock<Option<Weak<Node>>>,
    /// What captures do with it.
    captured: AtomicU8,
    content: Mutex<Content>,
    /// The exec of it, where there may be only one.
    exec: Mutex<Weak<()>>,
    /// Whether it was the program's own before it was put into a node.
    moved: AtomicBool,
    derived: Mutex<Derived>,
}

/// A node.
pub(crate) struct Node {
    pub(crate) handle: usize,
    /// Its number in its graph, in which none is used twice.
    pub(crate) number: u32,
    graph: Weak<Graph>,
    work: RwLock<Work>,
}

/// What a node does.
#[derive(Clone)]
pub(crate) enum Work {
    Leaf(Arc<Leaf>),
    /// Runs a graph.
    Child(Arc<Graph>),
    /// Runs one of several, or none.
    Conditional(Arc<Conditional>),
}

/// A node that another one follows, and how.
#[derive(Clone)]
pub(crate) struct Dependency {
    pub(crate) node: Arc<Node>,
    pub(crate) data: EdgeData,
}

/// An edge.
pub(crate) struct Edge {
    pub(crate) from: Arc<Node>,
    pub(crate) to: Arc<Node>,
    pub(crate) data: EdgeData,
}

/// The form of a graph.
pub(crate) struct Outline {
    /// In the order in which they were added.
    pub(crate) nodes: Vec<Placed>,
    /// The places of those that none follows, the latest first.
    pub(crate) last: Vec<u32>,
    /// How many nodes there ever were.
    pub(crate) made: u32,
}

/// A node among all of its graph.
pub(crate) struct Placed {
    pub(crate) node: Arc<Node>,
    /// Those that it follows, by their places in the list of all.
    pub(crate) before: Vec<(u32, EdgeData)>,
}

impl Object for Graph {
    fn report(&self) -> Option<live::Object> {
        let (kind, name) = (live::GRAPH, self.handle);
        let shown = self.captured.load(Ordering::Acquire) != MADE && self.place.read().is_none();
        shown.then_some(live::Object { kind, name, bytes: 0, device: None, context: None, label: None })
    }
}

impl Object for Node {
    /// Its graph is the program's.
    fn report(&self) -> Option<live::Object> {
        None
    }
}

impl Work {
    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            Self::Leaf(leaf) => leaf.kind(),
            Self::Child(_) => CU_GRAPH_NODE_TYPE_GRAPH,
            Self::Conditional(_) => CU_GRAPH_NODE_TYPE_CONDITIONAL,
        }
    }

    /// The graphs that it holds, for themselves.
    pub(crate) fn into_graphs(self) -> Vec<Arc<Graph>> {
        self.graphs().to_vec()
    }

    /// The graphs that it holds.
    fn graphs(&self) -> &[Arc<Graph>] {
        match self {
            Self::Leaf(_) => &[],
            Self::Child(graph) => std::slice::from_ref(graph),
            Self::Conditional(conditional) => &conditional.bodies,
        }
    }
}

impl From<Leaf> for Work {
    fn from(leaf: Leaf) -> Self {
        Self::Leaf(Arc::new(leaf))
    }
}

impl Graph {
    /// The graph that a caller's handle means.
    pub(crate) fn of(handle: CUgraph) -> Result<Arc<Self>, CUresult> {
        GRAPHS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// A new graph without nodes, which is the program's.
    pub(crate) fn new() -> Arc<Self> {
        GRAPHS.add(|handle| Self::build(handle, NOT_CAPTURED))
    }

    /// A new graph of a capture that has begun.
    pub(crate) fn of_capture() -> Arc<Self> {
        GRAPHS.add(|handle| Self::build(handle, MADE))
    }

    fn build(handle: usize, captured: u8) -> Self {
        let (id, captured) = (next_id(), AtomicU8::new(captured));
        Self {
            handle,
            id,
            place: RwLock::default(),
            captured,
            content: Mutex::default(),
            exec: Mutex::default(),
            moved: AtomicBool::new(false),
            derived: Mutex::default(),
        }
    }

    /// Refuses what is not done to a graph while a capture adds nodes to it.
    pub(crate) fn check_not_captured(&self) -> Result<(), CUresult> {
        match self.captured.load(Ordering::Acquire) {
            NOT_CAPTURED => Ok(()),
            _ => Err(CUDA_ERROR_ILLEGAL_STATE),
        }
    }

    /// A capture begins to add nodes; not beside another one.
    pub(crate) fn begin_capture(&self) -> Result<(), CUresult> {
        let begun =
            self.captured.compare_exchange(NOT_CAPTURED, ADDED_TO, Ordering::AcqRel, Ordering::Acquire);
        begun.map(drop).map_err(|_| CUDA_ERROR_ILLEGAL_STATE)
    }

    /// The capture has ended: it is the program's alone.
    pub(crate) fn hand_over(&self) {
        self.captured.store(NOT_CAPTURED, Ordering::Release);
    }

    /// Whether it was not destroyed, and none of the graphs in it: a capture that fails destroys the body that it was for.
    pub(crate) fn is_whole(&self) -> bool {
        GRAPHS.get(self.handle).is_some()
            && self.nodes().iter().all(|node| node.work().graphs().iter().all(|graph| graph.is_whole()))
    }

    /// The node that it is in.
    pub(crate) fn place(&self) -> Option<Arc<Node>> {
        self.place.read().as_ref()?.upgrade()
    }

    /// It is to be put into a node as it is; false if it is on its way already.
    pub(crate) fn begin_move(&self) -> bool {
        !self.moved.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_moved(&self) -> bool {
        self.moved.load(Ordering::Acquire)
    }

    fn put_into(&self, node: &Arc<Node>) {
        *self.place.write() = Some(Arc::downgrade(node));
    }

    /// Adds a node that follows others, all of which must be nodes of this graph, and none twice.
    pub(crate) fn add(self: &Arc<Self>, work: Work, after: &[Dependency]) -> Result<Arc<Node>, CUresult> {
        check_distinct(after)?;
        let to_kernel = work.is_kernel();
        if !after.iter().all(|Dependency { node, data }| data.fits(node.work().is_kernel(), to_kernel)) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // Measured of memsets; captures look at no order.
        if let Some(allocation) = work.filled_allocation()
            && self.is_freed_before(allocation, after)
        {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        self.append(work, after)
    }

    /// The same for a capture, in which edges say what they like (measured).
    pub(crate) fn append(self: &Arc<Self>, work: Work, after: &[Dependency]) -> Result<Arc<Node>, CUresult> {
        if !after.iter().all(|Dependency { node, .. }| self.has(node)) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let handle = reserve(1).next().unwrap_or_default();
        let mut content = self.content.lock();
        // Somebody else may have removed one meanwhile.
        if !after.iter().all(|dependency| content.has(dependency.node.handle)) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        content.note_memory(handle, &work)?;
        let number = content.next_number();
        let node = self.insert(&mut content, handle, number, work);
        for Dependency { node: earlier, data } in after {
            content.connect(earlier.handle, handle, *data);
        }
        drop(content);
        NODES.insert([(handle, Arc::clone(&node))]);
        Ok(node)
    }

    /// Adds a node without edges.
    fn insert(self: &Arc<Self>, content: &mut Content, handle: usize, number: u32, work: Work) -> Arc<Node> {
        let graph = Arc::downgrade(self);
        let node = Arc::new(Node { handle, number, graph, work: RwLock::new(work) });
        node.work.read().graphs().iter().for_each(|inner| inner.put_into(&node));
        content.insert(Arc::clone(&node));
        node
    }

    /// Whether each of `ends` is one of `last`, or one that they follow, however indirectly.
    pub(crate) fn leads_to(&self, last: &[usize], ends: &[usize]) -> bool {
        let content = self.content.lock();
        let mut missing: HashSet<usize> = ends.iter().copied().collect();
        let (mut seen, mut next) = (HashSet::new(), last.to_vec());
        while let Some(node) = next.pop() {
            missing.remove(&node);
            if missing.is_empty() {
                break;
            }
            if seen.insert(node) {
                next.extend(content.before(node).into_iter().map(|(earlier, _)| earlier));
            }
        }
        missing.is_empty()
    }

    /// An allocation that this graph has and frees before what comes after these nodes, and that is as it is wanted: the nearest.
    pub(crate) fn freed_before(
        &self,
        after: &[Dependency],
        is_wanted: impl Fn(&Allocation) -> bool,
    ) -> Option<Arc<Allocation>> {
        let content = self.content.lock();
        let resting: HashMap<usize, &Arc<Allocation>> =
            content.resting().filter(|(_, allocation)| is_wanted(allocation)).collect();
        if resting.is_empty() {
            return None;
        }
        let mut next: VecDeque<usize> = after.iter().map(|dependency| dependency.node.handle).collect();
        let mut seen = HashSet::new();
        while let Some(node) = next.pop_front() {
            if let Some(allocation) = resting.get(&node) {
                return Some(Arc::clone(allocation));
            }
            if seen.insert(node) {
                next.extend(content.before(node).into_iter().map(|(earlier, _)| earlier));
            }
        }
        None
    }

    /// Whether a node of this graph frees an allocation before what comes after these nodes.
    fn is_freed_before(&self, allocation: u64, after: &[Dependency]) -> bool {
        let Some(free) = self.content.lock().free_node(allocation) else { return false };
        let after: Vec<usize> = after.iter().map(|dependency| dependency.node.handle).collect();
        self.leads_to(&after, &[free])
    }

    /// Whether the node is one of this graph.
    pub(crate) fn has(&self, node: &Node) -> bool {
        node.graph.upgrade().is_some_and(|graph| graph.handle == self.handle)
    }

    /// Makes edges, up to one that is there already; none if one of them could never be (measured).
    pub(crate) fn connect(&self, edges: &[Edge]) -> Result<(), CUresult> {
        for Edge { from, to, data } in edges {
            let apart = self.has(from) && self.has(to) && from.handle != to.handle;
            if !apart || !data.fits(from.work().is_kernel(), to.work().is_kernel()) {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
        }
        let mut content = self.content.lock();
        for Edge { from, to, data } in edges {
            let (from, to) = (from.handle, to.handle);
            // Somebody else may have removed a node meanwhile.
            if !content.has(from) || !content.has(to) || content.has_edge(from, to) {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            content.connect(from, to, *data);
        }
        Ok(())
    }

    /// Removes edges, up to one that is not there; what is said of them makes no difference (measured).
    pub(crate) fn disconnect(&self, edges: &[Edge]) -> Result<(), CUresult> {
        let mut content = self.content.lock();
        content.check_removal()?;
        for Edge { from, to, .. } in edges {
            if !content.has_edge(from.handle, to.handle) {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            content.disconnect(from.handle, to.handle);
        }
        Ok(())
    }

    /// Where only one exec may live: a token for it, until it is destroyed.
    pub(crate) fn claim_exec(&self) -> Result<Arc<()>, CUresult> {
        let mut exec = self.exec.lock();
        if exec.strong_count() > 0 {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        let token = Arc::new(());
        *exec = Arc::downgrade(&token);
        Ok(token)
    }

    /// Whether it is in a conditional node.
    pub(crate) fn is_body(&self) -> bool {
        self.place().is_some_and(|node| matches!(node.work(), Work::Conditional(_)))
    }

    /// Refuses nodes that allocate or free memory where they cannot be: in a graph that is another one's.
    pub(crate) fn check_memory_nodes(&self) -> Result<(), CUresult> {
        match self.place().map(|node| node.work()) {
            Some(Work::Child(_)) => Err(CUDA_ERROR_NOT_SUPPORTED),
            // Bodies are refused when the graph is instantiated (measured).
            _ => Ok(()),
        }
    }

    /// Refuses to be copied where that cannot be done.
    pub(crate) fn check_duplicate(&self) -> Result<(), CUresult> {
        self.check_nodes()?;
        self.check_size()
    }

    fn check_nodes(&self) -> Result<(), CUresult> {
        let content = self.content.lock();
        if content.has_memory_nodes() || !content.conditions.is_empty() {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        drop(content);
        self.nodes().iter().try_for_each(|node| match node.work() {
            Work::Leaf(_) => Ok(()),
            Work::Child(inner) => inner.check_nodes(),
            Work::Conditional(_) => Err(CUDA_ERROR_NOT_SUPPORTED),
        })
    }

    /// Whether it has a node that kernels can update, or a graph in it has.
    pub(crate) fn has_updatable(&self) -> bool {
        self.nodes().iter().any(|node| match node.work() {
            Work::Leaf(leaf) => leaf.is_updatable(),
            work => work.into_graphs().iter().any(|inner| inner.has_updatable()),
        })
    }

    /// Its nodes, in the order in which they were added.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        self.content.lock().nodes.values().cloned().collect()
    }

    /// Those that follow none, the latest first.
    pub(crate) fn roots(&self) -> Vec<Arc<Node>> {
        let content = self.content.lock();
        content.first().filter_map(|node| content.node(node)).collect()
    }

    /// Its nodes with their edges.
    pub(crate) fn outline(&self) -> Outline {
        let content = self.content.lock();
        let places: HashMap<usize, u32> = content.nodes.keys().copied().zip(0..).collect();
        let place = |(node, data): (usize, EdgeData)| Some((*places.get(&node)?, data));
        let before = |node: &Arc<Node>| content.before(node.handle).into_iter().filter_map(place).collect();
        let placed = |node| Placed { node: Arc::clone(node), before: before(node) };
        let nodes = content.nodes.values().map(placed).collect();
        let last = content.last().filter_map(|node| places.get(&node).copied()).collect();
        Outline { nodes, last, made: content.made() }
    }

    /// Its edges, in the order of the nodes that they come from.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let content = self.content.lock();
        content.resolve(content.edges())
    }
}

impl Node {
    /// The node that a caller's handle means.
    pub(crate) fn of(handle: CUgraphNode) -> Result<Arc<Self>, CUresult> {
        NODES.get(handle as usize).ok_or(CUDA_ERROR_INVALID_VALUE)
    }

    /// Its graph, unless that is gone.
    pub(crate) fn graph(&self) -> Option<Arc<Graph>> {
        self.graph.upgrade()
    }

    pub(crate) fn work(&self) -> Work {
        self.work.read().clone()
    }

    /// What it does, if it holds no graph.
    pub(crate) fn leaf(&self) -> Result<Arc<Leaf>, CUresult> {
        match &*self.work.read() {
            Work::Leaf(leaf) => Ok(Arc::clone(leaf)),
            Work::Child(_) | Work::Conditional(_) => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// The handle by which kernels update it, if they can.
    pub(crate) fn device_node(&self) -> Option<CUgraphDeviceNode> {
        match &*self.leaf().ok()? {
            Leaf::Kernel(kernel) => kernel.attributes.device_node(),
            _ => None,
        }
    }

    /// Gives it something else of the same kind to do.
    pub(crate) fn set(&self, leaf: Leaf) -> Result<(), CUresult> {
        self.change(|_| Ok(leaf))
    }

    /// Gives it something else of the same kind to do, by what it does.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&Leaf) -> Result<Leaf, CUresult>,
    ) -> Result<(), CUresult> {
        let mut work = self.work.write();
        let Work::Leaf(leaf) = &*work else { return Err(CUDA_ERROR_INVALID_VALUE) };
        let new = Work::from(change(leaf)?);
        if work.kind() != new.kind() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        *work = new;
        Ok(())
    }

    /// The edges to it, in the order in which they were made.
    pub(crate) fn edges_before(&self) -> Vec<Edge> {
        self.edges(|content| {
            content.before(self.handle).into_iter().map(|(from, data)| (from, self.handle, data)).collect()
        })
    }

    /// The edges from it.
    pub(crate) fn edges_after(&self) -> Vec<Edge> {
        self.edges(|content| {
            content.after(self.handle).into_iter().map(|(to, data)| (self.handle, to, data)).collect()
        })
    }

    fn edges(&self, select: impl FnOnce(&Content) -> Vec<(usize, usize, EdgeData)>) -> Vec<Edge> {
        let Some(graph) = self.graph() else { return Vec::new() };
        let content = graph.content.lock();
        content.resolve(select(&content))
    }
}

impl Work {
    pub(crate) fn is_kernel(&self) -> bool {
        matches!(self, Self::Leaf(leaf) if matches!(**leaf, Leaf::Kernel(_)))
    }

    /// The number of the graphs' allocation that it fills, if it fills one.
    fn filled_allocation(&self) -> Option<u64> {
        match self {
            Self::Leaf(leaf) => match &**leaf {
                Leaf::Fill(fill) => fill.fill.span.graph_allocation(),
                _ => None,
            },
            Self::Child(_) | Self::Conditional(_) => None,
        }
    }
}

/// An allocation whose addresses a new one of the graph behind these nodes has, as on a GPU, unless each is to have its own.
pub(crate) fn reusable(graph: &Graph, after: &[Dependency], wanted: &Wanted) -> Option<Arc<Allocation>> {
    graph_reuse().then(|| graph.freed_before(after, |former| wanted.can_follow(former)))?
}

/// A number for a graph or an exec, which is never used twice.
pub(crate) fn next_id() -> u32 {
    static IDS: AtomicU32 = AtomicU32::new(1);
    IDS.fetch_add(1, Ordering::Relaxed)
}

/// Refuses a node that is named twice.
fn check_distinct(after: &[Dependency]) -> Result<(), CUresult> {
    /// Of so few, looking at all pairs takes no time.
    const FEW: usize = 8;
    let handle = |at: usize| after[at].node.handle;
    let distinct = if after.len() <= FEW {
        (0..after.len()).all(|at| (0..at).all(|other| handle(at) != handle(other)))
    } else {
        after.iter().map(|one| one.node.handle).collect::<HashSet<_>>().len() == after.len()
    };
    if distinct { Ok(()) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
