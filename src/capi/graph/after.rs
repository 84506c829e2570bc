//! The nodes that come before another, as callers give them.

use super::definition::{cushim_graph, cushim_node};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{Lent, borrowed, enter, get};
use crate::capi::{input, out};
use crate::graph::{Added, Graph, GraphObject, NodeObject};
use crate::object::error::Error;
use crate::object::handle::{self, Guard};
use smallvec::SmallVec;

/// Where a node is to be added: `cushim_graph graph, const cushim_node *after, size_t after_count` of every function
/// that adds one; and where its handle goes.
#[derive(Clone, Copy)]
pub(super) struct Where {
    graph: cushim_graph,
    after: *const cushim_node,
    count: usize,
    node: *mut cushim_node,
    /// The handle in `after` that the new one's takes the place of, and its index.
    overwritten: Option<(usize, cushim_node)>,
}

impl Where {
    /// Clears the out-parameter of the node. It may stand in `after`, so that a chain needs one variable: what it was
    /// is kept.
    ///
    /// # Safety
    /// `after` is NULL or valid for reads of `count` handles; `node` is NULL or valid for writes.
    #[inline]
    pub(super) unsafe fn cleared(
        graph: cushim_graph,
        after: *const cushim_node,
        count: usize,
        node: *mut cushim_node,
    ) -> Self {
        let index = node.addr().wrapping_sub(after.addr()) / size_of::<cushim_node>();
        let is_among = !node.is_null() && !after.is_null() && index < count;
        // SAFETY: it is one of those that the caller vouches for.
        let overwritten = is_among.then(|| (index, unsafe { after.add(index).read_unaligned() }));
        // SAFETY: the caller vouches for it.
        unsafe { out::cleared_if_given(node, std::ptr::null_mut()) };
        Self { graph, after, count, node, overwritten }
    }
}

/// The same, looked up.
pub(super) struct Place<'g> {
    pub(super) graph: Lent<'g, GraphObject>,
    after: SmallVec<[Lent<'g, NodeObject>; 8]>,
}

impl<'g> Place<'g> {
    /// # Safety
    /// What [`Where::cleared`] was told is still so.
    unsafe fn look_up(guard: &'g Guard, at: Where) -> Result<Self, Error> {
        let graph = get(guard, at.graph)?;
        let mut after = SmallVec::new();
        let look_up = |given| {
            let overwritten = at.overwritten.filter(|(index, _)| *index == after.len());
            let node = overwritten.map_or(given, |(_, node)| node);
            get(guard, node).map(|node| after.push(node))
        };
        // SAFETY: the caller vouches for the array.
        unsafe { input::for_each(at.after, at.count, "after", look_up) }?;
        Ok(Self { graph, after })
    }

    /// The nodes before the new one.
    pub(super) fn after(&self) -> SmallVec<[&NodeObject; 8]> {
        let mut after = SmallVec::new();
        self.after.iter().for_each(|node| after.push(&***node));
        after
    }
}

/// What every function does that adds a node: looks the place up, has the node added, and gives its handle if that is
/// wanted.
///
/// # Safety
/// What [`Where::cleared`] was told is still so.
pub(super) unsafe fn adding(
    at: Where,
    add: impl FnOnce(&Guard, &Graph, &[&NodeObject]) -> Result<Added, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: as the caller vouches.
        unsafe { add_to(at, add) }.map(drop)
    })
}

/// # Safety
/// As for [`adding`].
pub(super) unsafe fn add_to(
    at: Where,
    add: impl FnOnce(&Guard, &Graph, &[&NodeObject]) -> Result<Added, Error>,
) -> Result<Added, Error> {
    let guard = enter()?;
    // SAFETY: as the caller vouches.
    let place = unsafe { Place::look_up(&guard, at) }?;
    let graph = Graph::of(&place.graph)?;
    // Nothing fails once the node is there.
    handle::room(usize::from(!at.node.is_null()))?;
    let added = add(&guard, &graph, &place.after())?;
    if !at.node.is_null() {
        // SAFETY: as the caller vouches.
        unsafe { at.node.write(borrowed(&added.object())?) };
    }
    Ok(added)
}
