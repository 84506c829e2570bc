//! Which node of one graph stands for which of another: an exec is updated by a graph of the same form, and so is a child graph in it.

use super::layout::{Layout, Place};
use crate::abi::sys::{CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, CUgraphExecUpdateResult};
use crate::driver::graph::leaf::exchange::Refused;
use std::collections::VecDeque;

/// Where two graphs differ.
pub(super) struct Mismatch {
    pub(super) result: CUgraphExecUpdateResult,
    /// The node of the new graph that is to blame, 0 for none.
    pub(super) node: usize,
    /// The one that it follows, if the edge is to blame.
    pub(super) from: usize,
}

impl Mismatch {
    pub(super) fn of_form(node: usize, from: usize) -> Self {
        Self { result: CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, from }
    }

    pub(super) fn of_node(place: &Place, why: Refused) -> Self {
        Self { result: why.result(), node: place.node, from: 0 }
    }
}

/// The nodes that stand for each other.
pub(super) type Pairs<'l> = Vec<(&'l Place, &'l Place)>;

/// How they are found.
pub(super) type Pairing = for<'l> fn(&'l Layout, &'l Layout) -> Result<Pairs<'l>, Mismatch>;

/// Of a child graph those of the same number, in whatever order the edges between them were made; and no node of either was removed that
/// the other one never had (measured).
pub(super) fn pair_by_number<'l>(old: &'l Layout, new: &'l Layout) -> Result<Pairs<'l>, Mismatch> {
    if old.made != new.made || old.nodes.len() != new.nodes.len() {
        return Err(Mismatch::of_form(0, 0));
    }
    let pairs: Pairs<'l> = old.nodes.iter().zip(&new.nodes).collect();
    for (place, twin) in &pairs {
        if place.kind() != twin.kind() {
            return Err(Mismatch::of_node(twin, Refused::Type));
        }
        let is_same_edge = |edge| twin.before.contains(edge);
        if place.number != twin.number
            || place.before.len() != twin.before.len()
            || !place.before.iter().all(is_same_edge)
        {
            return Err(Mismatch::of_form(twin.node, 0));
        }
    }
    Ok(pairs)
}

/// Of a whole graph those that no other follows, in their order; the others are found from there, in the order of the edges (documented;
/// measured in which order a driver looks).
pub(super) fn pair<'l>(old: &'l Layout, new: &'l Layout) -> Result<Pairs<'l>, Mismatch> {
    if old.nodes.len() != new.nodes.len() || old.last.len() > new.last.len() {
        return Err(Mismatch::of_form(0, 0));
    }
    if let Some(more) = new.last.get(old.last.len()) {
        return Err(Mismatch::of_form(new.nodes[*more as usize].node, 0));
    }
    let mut twins: Vec<Option<u32>> = vec![None; old.nodes.len()];
    // Places, and the new graph's node that follows them.
    let mut waiting: VecDeque<(u32, u32, u32)> =
        old.last.iter().zip(&new.last).map(|(old, new)| (*old, *new, *new)).collect();
    while let Some((own, other, follower)) = waiting.pop_front() {
        let (place, twin) = (&old.nodes[own as usize], &new.nodes[other as usize]);
        match twins[own as usize] {
            Some(known) if known == other => continue,
            Some(_) => return Err(Mismatch::of_form(new.nodes[follower as usize].node, twin.node)),
            None => twins[own as usize] = Some(other),
        }
        if place.before.len() != twin.before.len() {
            return Err(Mismatch::of_form(twin.node, 0));
        }
        if place.kind() != twin.kind() {
            return Err(Mismatch::of_node(twin, Refused::Type));
        }
        for ((before, data), (other_before, other_data)) in place.before.iter().zip(&twin.before) {
            if data != other_data {
                return Err(Mismatch::of_form(twin.node, new.nodes[*other_before as usize].node));
            }
            waiting.push_back((*before, *other_before, other));
        }
    }
    // Of a graph with a cycle some are not found.
    let all: Option<Vec<_>> = (old.nodes.iter().zip(twins))
        .map(|(place, twin)| Some((place, &new.nodes[twin? as usize])))
        .collect();
    all.ok_or(Mismatch::of_form(0, 0))
}
