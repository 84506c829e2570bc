//! How large graphs become with the graphs in them, and how deep these stand in each other. A real driver says nothing of it; here a program
//! that goes too far is told so, before the machine has no memory left or the thread no stack.

use super::{Graph, Work};
use crate::abi::sys::{CUDA_ERROR_OUT_OF_MEMORY, CUresult};
use crate::instruments::log;
use std::sync::Arc;

/// How many nodes a copy has at most, with those of all graphs in it: a graph with two copies of another is twice as large.
const MOST_NODES: usize = 1 << 20;

/// How many graphs stand around another one at most: what goes through graphs needs some stack for each.
const DEEPEST: usize = 512;

impl Graph {
    /// Refuses to be copied if the copy would be too large.
    pub(super) fn check_size(&self) -> Result<(), CUresult> {
        let mut left = MOST_NODES;
        if self.fits(&mut left) {
            return Ok(());
        }
        log::detail(format!(
            "A copy of a graph has at most {MOST_NODES} nodes, with those of the graphs in it"
        ));
        Err(CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Whether it has at most so many nodes, which are taken from them; it is not looked at any further than that.
    fn fits(&self, left: &mut usize) -> bool {
        self.nodes().iter().all(|node| {
            let is_one = *left > 0;
            *left -= usize::from(is_one);
            is_one && node.work().graphs().iter().all(|graph| graph.fits(left))
        })
    }

    /// Refuses a node of this graph with a graph in which others stand, at most so deep, if that is too deep.
    pub(crate) fn check_depth(self: &Arc<Self>, inner: usize) -> Result<(), CUresult> {
        let above = |graph: &Arc<Self>| graph.place()?.graph();
        let around = std::iter::successors(Some(Arc::clone(self)), above).count();
        if around + inner <= DEEPEST {
            return Ok(());
        }
        log::detail(format!("Graphs stand in each other at most {DEEPEST} deep"));
        Err(CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// How deep graphs stand in it: 0 if it has none.
    pub(crate) fn height(&self) -> usize {
        let of_node = |work: Work| work.graphs().iter().map(|graph| graph.height() + 1).max();
        self.nodes().iter().filter_map(|node| of_node(node.work())).max().unwrap_or_default()
    }
}
