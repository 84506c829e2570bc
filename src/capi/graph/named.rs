//! Nodes by their handles, which name places of pages.

use super::definition::cushim_node;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::refusal;
use crate::capi::out;
use crate::graph::{Node, NodePage};
use crate::object::error::Error;
use crate::object::handle::{Guard, Part, Token};

/// What a handle of a node names, for a call that is over soon.
#[inline]
pub(super) fn part_of(guard: &Guard, handle: cushim_node) -> Result<Part<'_, NodePage>, Error> {
    let token = Token::from_pointer(handle);
    guard.find_part(token).ok_or_else(|| refusal(guard, guard.part_fault::<NodePage>(token)))
}

/// The node that a handle names.
pub(super) fn node_of(guard: &Guard, handle: cushim_node) -> Result<Node, Error> {
    Node::of_part(&part_of(guard, handle)?)
}

/// The handle of a node.
pub(super) fn handle_of(node: &Node) -> Result<cushim_node, Error> {
    Ok(node.handle()?.to_pointer())
}

/// What a function does that answers one question about a node.
///
/// # Safety
/// `out` is NULL or valid for writes.
pub(super) unsafe fn ask_node<T: Default>(
    begin: impl FnOnce() -> Result<Guard, Error>,
    handle: cushim_node,
    out: *mut T,
    what: &str,
    answer: impl FnOnce(&Node) -> Result<T, Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `out`.
        let out = unsafe { out::cleared(out, T::default(), what) }?;
        let guard = begin()?;
        *out = answer(&node_of(&guard, handle)?)?;
        Ok(())
    })
}
