//! Which edges are there. Driver 580 adds and removes a list of edges one by one, and stops at the first that it refuses: what
//! came before stays changed (measured). So lists are looked through before.

use crate::driver::calls::graph::definition::RawEdge;
use crate::driver::calls::graph::query::{self, Toward};
use crate::driver::sys::CUgraphNode;
use crate::driver::{CallError, Table};
use std::collections::{HashMap, HashSet};

/// The first edge of the list that is there, or is not there, as `wanted` says, or stands in the list before.
pub(super) fn first_wrong(
    table: &Table,
    edges: &[RawEdge],
    wanted: bool,
) -> Result<Option<(usize, Wrong)>, CallError> {
    let (mut known, mut before) = (Known::default(), HashSet::new());
    for (index, edge) in edges.iter().enumerate() {
        if !before.insert((edge.from.addr(), edge.to.addr())) {
            return Ok(Some((index, Wrong::Twice)));
        }
        if known.has(table, edge)? != wanted {
            return Ok(Some((index, Wrong::There(!wanted))));
        }
    }
    Ok(None)
}

/// What is wrong with an edge of a list.
#[derive(Clone, Copy)]
pub(super) enum Wrong {
    /// It stands there before.
    Twice,
    /// It is there, or it is not.
    There(bool),
}

/// Neighbours of nodes, as far as they were asked for.
#[derive(Default)]
struct Known {
    successors: HashMap<usize, HashSet<usize>>,
    predecessors: HashMap<usize, HashSet<usize>>,
}

impl Known {
    /// Whether the edge is there. Of its two nodes the one with fewer edges is asked for them, and only once.
    fn has(&mut self, table: &Table, edge: &RawEdge) -> Result<bool, CallError> {
        let (from, to) = (edge.from.addr(), edge.to.addr());
        if let Some(successors) = self.successors.get(&from) {
            return Ok(successors.contains(&to));
        }
        if let Some(predecessors) = self.predecessors.get(&to) {
            return Ok(predecessors.contains(&from));
        }
        // SAFETY: both nodes are there, which the lock keeps.
        let (after, before) = unsafe {
            (
                query::degree(table, edge.from, Toward::Successors)?,
                query::degree(table, edge.to, Toward::Predecessors)?,
            )
        };
        Ok(if after <= before {
            let successors = neighbours(table, edge.from, Toward::Successors)?;
            self.successors.entry(from).or_insert(successors).contains(&to)
        } else {
            let predecessors = neighbours(table, edge.to, Toward::Predecessors)?;
            self.predecessors.entry(to).or_insert(predecessors).contains(&from)
        })
    }
}

fn neighbours(table: &Table, node: CUgraphNode, toward: Toward) -> Result<HashSet<usize>, CallError> {
    // SAFETY: as above.
    let edges = unsafe { query::edges(table, node, toward) }?;
    let other = |edge: RawEdge| match toward {
        Toward::Successors => edge.to.addr(),
        Toward::Predecessors => edge.from.addr(),
    };
    Ok(edges.into_iter().map(other).collect())
}
