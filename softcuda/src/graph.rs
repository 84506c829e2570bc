//! Graphs: so far only what a capture leaves, which is empty.

use crate::context::Activation;
use crate::error::Answer;
use crate::handle::Table;
use crate::live;
use crate::pointer::Out;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUgraph, CUgraphNode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Graphs that were not destroyed, also those that captures are still making.
static GRAPHS: Table<Graph> = Table::new();

/// A graph.
pub(crate) struct Graph {
    handle: usize,
    context: Arc<Activation>,
    /// Whether it is the program's, and not a capture's.
    finished: AtomicBool,
}

impl Graph {
    pub(crate) fn new(context: &Arc<Activation>) -> Arc<Self> {
        let context = Arc::clone(context);
        GRAPHS.add(|handle| Self { handle, context, finished: AtomicBool::new(false) })
    }

    /// The value that callers know it by.
    pub(crate) fn handle(&self) -> CUgraph {
        self.handle as CUgraph
    }

    /// Its capture has ended well.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    /// Its capture has ended without it.
    pub(crate) fn forget(&self) {
        GRAPHS.remove(self.handle);
    }

    fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }
}

pub(crate) fn cuGraphDestroy(hGraph: CUgraph) -> Answer {
    let graph = GRAPHS.get(hGraph as usize).filter(|graph| graph.is_finished());
    graph.ok_or(CUDA_ERROR_INVALID_VALUE)?.forget();
    Ok(())
}

/// There are none.
pub(crate) fn cuGraphGetNodes(hGraph: CUgraph, _nodes: Out<CUgraphNode>, numNodes: Out<usize>) -> Answer {
    GRAPHS.get(hGraph as usize).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    numNodes.set(0)
}

/// A kernel says what the condition of a handle is. False, as no graph has conditions yet: no handle is one.
pub(crate) fn set_condition(_handle: u64, _value: u32) -> bool {
    false
}

/// Shows every graph that a program has and has not destroyed.
pub(crate) fn show_live(show: &mut dyn FnMut(live::Object)) {
    GRAPHS.each(|graph| {
        if graph.is_finished() {
            show(live::Object::of_context(live::GRAPH, graph.handle, &graph.context));
        }
    });
}
