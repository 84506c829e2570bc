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
/// that adds one.
#[derive(Clone, Copy)]
pub(super) struct Where {
    graph: cushim_graph,
    after: *const cushim_node,
    count: usize,
    /// The out-parameter is this one of `after`, which was this node before it was cleared: `cushim_graph_add_empty(graph, &node, 1,
    /// &node)` adds the next of a chain.
    shared: Option<(usize, cushim_node)>,
}

impl Where {
    /// # Safety
    /// `after` is NULL or valid for reads of `count` handles.
    pub(super) unsafe fn new(
        graph: cushim_graph,
        after: *const cushim_node,
        count: usize,
        node: *const cushim_node,
    ) -> Self {
        let offset = node.addr().wrapping_sub(after.addr());
        let index = offset / size_of::<cushim_node>();
        let is_shared = !node.is_null() && !after.is_null() && index < count;
        let is_shared = is_shared && offset.is_multiple_of(size_of::<cushim_node>());
        // SAFETY: it is one of those that the caller vouches for.
        let shared = is_shared.then(|| (index, unsafe { after.add(index).read_unaligned() }));
        Self { graph, after, count, shared }
    }
}

/// The same, looked up.
pub(super) struct Place<'g> {
    pub(super) graph: Lent<'g, GraphObject>,
    after: SmallVec<[Lent<'g, NodeObject>; 8]>,
}

impl<'g> Place<'g> {
    /// # Safety
    /// `after` is NULL or valid for reads of `count` handles.
    unsafe fn look_up(guard: &'g Guard, at: Where) -> Result<Self, Error> {
        let graph = get(guard, at.graph)?;
        let mut after = SmallVec::new();
        let look_up = |node| {
            let node = match at.shared {
                Some((index, before)) if index == after.len() => before,
                _ => node,
            };
            get(guard, node).map(|node| after.push(node))
        };
        // SAFETY: the caller vouches for the array.
        unsafe { input::for_each(at.after, at.count, "after", look_up) }?;
        Ok(Self { graph, after })
    }

    /// The nodes before the new one.
    pub(super) fn after(&self) -> SmallVec<[&NodeObject; 8]> {
        self.after.iter().map(|node| &***node).collect()
    }
}

/// What every function does that adds a node: looks the place up, has the node added, and gives its handle if that is
/// wanted.
///
/// # Safety
/// `at.after` is NULL or valid for reads of as many handles; `node` is NULL or valid for writes.
pub(super) unsafe fn adding(
    at: Where,
    node: *mut cushim_node,
    add: impl FnOnce(&Guard, &Graph, &[&NodeObject]) -> Result<Added, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        unsafe { add_to(at, node, add) }.map(drop)
    })
}

/// # Safety
/// As for [`adding`].
pub(super) unsafe fn add_to(
    at: Where,
    node: *mut cushim_node,
    add: impl FnOnce(&Guard, &Graph, &[&NodeObject]) -> Result<Added, Error>,
) -> Result<Added, Error> {
    // SAFETY: the caller vouches for `node`.
    let node = unsafe { out::cleared_if_given(node, std::ptr::null_mut()) };
    let guard = enter()?;
    // SAFETY: the caller vouches for the array.
    let place = unsafe { Place::look_up(&guard, at) }?;
    let graph = Graph::of(&place.graph)?;
    // Nothing fails once the node is there.
    let room = handle::room(usize::from(node.is_some()))?;
    let added = add(&guard, &graph, &place.after())?;
    drop(room);
    if let Some(node) = node {
        *node = borrowed(&added.object())?;
    }
    Ok(added)
}
