//! The nodes that come before another, as callers give them.

use super::definition::{cushim_graph, cushim_node};
use super::named::part_of;
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::handles::{enter, get};
use crate::capi::{input, pointer};
use crate::graph::{Added, Graph, Node, NodeName, Predecessors};
use crate::object::callback::Lending;
use crate::object::error::Error;
use crate::object::handle::{Guard, Token};

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

/// The nodes that come before another, looked up when they are wanted.
pub(super) struct After<'g> {
    guard: &'g Guard,
    graph: &'g Graph,
    at: Where,
}

impl<'g> After<'g> {
    /// # Safety
    /// What [`Where::cleared`] was told is so as long as this is used.
    unsafe fn new(guard: &'g Guard, graph: &'g Graph, at: Where) -> Self {
        Self { guard, graph, at }
    }
}

impl Predecessors for After<'_> {
    #[inline]
    fn only(&self) -> Option<Token> {
        let Where { after, count: 1, overwritten, .. } = self.at else { return None };
        if !pointer::is_good(after) {
            return None;
        }
        // SAFETY: it is aligned, and the caller vouches for one handle.
        Some(Token::from_pointer(overwritten.map_or_else(|| unsafe { after.read() }, |(_, node)| node)))
    }

    fn each(&self, show: &mut dyn FnMut(usize, NodeName<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let mut index = 0;
        let look_up = |given| {
            let overwritten = self.at.overwritten.filter(|(at, _)| *at == index);
            let part = part_of(self.guard, overwritten.map_or(given, |(_, node)| node))?;
            index += 1;
            match self.graph.named(&part) {
                Some(node) => show(index - 1, node),
                None => show(index - 1, Node::of_part(&part)?.name()),
            }
        };
        // SAFETY: the caller vouches for the array.
        unsafe { input::for_each(self.at.after, self.at.count, "after", look_up) }
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

/// The same for a node that takes owners.
///
/// # Safety
/// As for [`adding`].
#[inline]
pub(super) unsafe fn adding_taking(
    at: Where,
    add: impl for<'g> FnOnce(&Lending, &Guard, &'g Graph, &After<'_>) -> Result<Added<'g>, Error>,
) -> cushim_status {
    call_taking(|lending| {
        // SAFETY: as the caller vouches.
        unsafe { add_to(at, |guard, graph, after| add(lending, guard, graph, after), |_| ()) }
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
    let graph = Graph::lent(&graph)?;
    // SAFETY: as the caller vouches.
    let after = unsafe { After::new(&guard, &graph, at) };
    // Nothing fails once the node is there.
    guard.room_for_run()?;
    let mut added = add(&guard, &graph, &after)?;
    if !at.node.is_null() {
        let node = added.give_handle()?;
        // SAFETY: as the caller vouches.
        unsafe { at.node.write(node.to_pointer()) };
    }
    Ok(then(&added))
}
