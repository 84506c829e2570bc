//! The nodes of a graph.

use crate::driver::{Cu, Given, given};
use cushim::driver::sys::{CUgraph, CUgraphNode};
use std::ptr::null_mut;

/// More nodes than any graph has here.
pub(crate) const MANY: usize = 1000;

/// The nodes of a graph, in the order in which the driver lists them.
pub(crate) fn nodes(cu: &Cu, graph: CUgraph) -> Given<Vec<CUgraphNode>> {
    if graph.is_null() {
        return Err("no graph".into());
    }
    let mut count = 0usize;
    given!(cu, cuGraphGetNodes_10000(graph, null_mut(), &raw mut count))?;
    let mut nodes = vec![null_mut(); count.min(MANY)];
    if !nodes.is_empty() {
        count = nodes.len();
        given!(cu, cuGraphGetNodes_10000(graph, nodes.as_mut_ptr(), &raw mut count))?;
        nodes.truncate(count);
    }
    Ok(nodes)
}
