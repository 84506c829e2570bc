//! The nodes that come before another, as callers give them.

use super::definition::{cushim_graph, cushim_node};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{Lent, enter, get};
use crate::capi::{input, pointer};
use crate::graph::{Added, Graph, NodeObject};
use crate::object::error::Error;
use crate::object::handle::Guard;
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
        let is_among = pointer::is_good(node) && pointer::is_good(after) && index < count;
        // SAFETY: it is one of those that the caller vouches for.
        let overwritten = is_among.then(|| (index, unsafe { after.add(index).read() }));
        if pointer::is_good(node) {
            // SAFETY: it is aligned, and the caller vouches for the rest.
            unsafe { node.write(std::ptr::null_mut()) };
        }
        Self { graph, after, count, node, overwritten }
    }
}

/// The nodes that come before another, looked up.
pub(super) type After<'g> = [Lent<'g, NodeObject>];

impl Where {
    /// Looks the nodes up.
    ///
    /// # Safety
    /// What [`cleared`](Self::cleared) was told is still so.
    #[inline]
    unsafe fn look_up<'g>(
        &self,
        guard: &'g Guard,
        after: &mut SmallVec<[Lent<'g, NodeObject>; 8]>,
    ) -> Result<(), Error> {
        let look_up = |given| {
            let overwritten = self.overwritten.filter(|(index, _)| *index == after.len());
            let node = overwritten.map_or(given, |(_, node)| node);
            get(guard, node).map(|node| after.push(node))
        };
        // SAFETY: the caller vouches for the array.
        unsafe { input::for_each(self.after, self.count, "after", look_up) }
    }
}

/// What every function does that adds a node: looks the place up, has the node added, and gives its handle if that is
/// wanted.
///
/// # Safety
/// What [`Where::cleared`] was told is still so.
#[inline]
pub(super) unsafe fn adding(
    at: Where,
    add: impl for<'g> FnOnce(&Guard, &'g Graph, &After<'_>) -> Result<Added<'g>, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: as the caller vouches.
        unsafe { add_to(at, add, |_| ()) }
    })
}

/// The same for a function that wants to know of the node, too.
///
/// # Safety
/// As for [`adding`].
#[inline]
pub(super) unsafe fn add_to<R>(
    at: Where,
    add: impl for<'g> FnOnce(&Guard, &'g Graph, &After<'_>) -> Result<Added<'g>, Error>,
    then: impl FnOnce(&Added<'_>) -> R,
) -> Result<R, Error> {
    let guard = enter()?;
    pointer::check_if_given(at.node, "node")?;
    let graph = get(&guard, at.graph)?;
    let mut after = SmallVec::new();
    // SAFETY: as the caller vouches.
    unsafe { at.look_up(&guard, &mut after) }?;
    let graph = Graph::of(&graph)?;
    // Nothing fails once the node is there.
    if !at.node.is_null() {
        guard.room_for_one()?;
    }
    let mut added = add(&guard, &graph, &after)?;
    if !at.node.is_null() {
        let node = guard.borrowed_of_new(added.new_object())?;
        // SAFETY: as the caller vouches.
        unsafe { at.node.write(node.to_pointer()) };
    }
    Ok(then(&added))
}
