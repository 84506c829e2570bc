//! Captures into a graph that is there: each node takes over what a stream was given, in the order in which the nodes were added.
//! No driver that has this was measured: it follows NVIDIA's documentation.

use super::recording::{dependencies, leaf};
use crate::abi::Answer;
use crate::abi::sys::{CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, CUgraph, CUresult};
use crate::driver::capture::tail::Dependency as Behind;
use crate::driver::context::Activation;
use crate::driver::graph::definition::{Dependency, Graph, Node};
use crate::driver::graph::leaf::Leaf;
use crate::driver::stream::capturing::{NewNode, Recorded, Recorder};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A graph that is recaptured.
pub(super) struct Again {
    graph: Arc<Graph>,
    /// The nodes whose turn is to come.
    rest: Mutex<VecDeque<Arc<Node>>>,
    /// Whether something else was captured than its nodes.
    differs: AtomicBool,
}

impl Again {
    pub(super) fn of(graph: &Arc<Graph>) -> Arc<Self> {
        let rest = Mutex::new(graph.nodes().into());
        Arc::new(Self { graph: Arc::clone(graph), rest, differs: AtomicBool::new(false) })
    }
}

impl Recorder for Again {
    fn graph(&self) -> CUgraph {
        self.graph.handle as CUgraph
    }

    fn record(
        &self,
        work: Recorded,
        context: &Arc<Activation>,
        after: &[Behind],
    ) -> Result<NewNode, CUresult> {
        let after = dependencies(after, &work)?;
        // What is allocated is the graph's, not this.
        let leaf = leaf(work, context, |_| None)?;
        let next = self.rest.lock().pop_front().filter(|node| follows(node, &after));
        let taken_over = next.and_then(|node| Some((take_over(&node, leaf)?, node)));
        let Some((address, node)) = taken_over else {
            self.differs.store(true, Ordering::Release);
            return Err(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE);
        };
        Ok(NewNode { handle: node.handle, address, device_node: node.device_node() })
    }

    /// Nodes that were not recaptured are nodes too many.
    fn finish(&self) -> Answer {
        self.graph.hand_over();
        if self.rest.lock().is_empty() { Ok(()) } else { Err(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE) }
    }

    /// If something else was captured, the graph stays the program's, which is to destroy it. Otherwise it goes, as after other captures
    /// into a graph.
    fn discard(&self) {
        match self.differs.load(Ordering::Acquire) {
            true => self.graph.hand_over(),
            false => self.graph.destroy(),
        }
    }
}

/// Whether a node follows these, and no others.
fn follows(node: &Node, after: &[Dependency]) -> bool {
    let before = node.edges_before();
    let has = |dependency: &Dependency| {
        before.iter().any(|edge| edge.from.handle == dependency.node.handle && edge.data == dependency.data)
    };
    before.len() == after.len() && after.iter().all(has)
}

/// Gives a node something else of its kind to do; answers the address, if it allocates. What allocates or frees stays as it is.
fn take_over(node: &Node, new: Leaf) -> Option<u64> {
    let own = node.leaf().ok()?;
    match (&*own, &new) {
        (Leaf::Alloc(own), Leaf::Alloc(new)) => own.fits(new).then_some(own.address() as u64),
        (Leaf::Free(own), Leaf::Free(new)) => (own.address() == new.address()).then_some(0),
        (Leaf::Alloc(_) | Leaf::Free(_), _) => None,
        _ => node.set(new).ok().map(|()| 0),
    }
}
