//! What the nodes of a graph use must be there when an exec is made of it, and some of it when the exec is launched.

use super::layout::{Content, Layout};
use super::plan::Actions;
use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_INVALID_VALUE;
use crate::driver::graph::leaf::Leaf;
use crate::instruments::log;

/// Refuses nodes that use what is gone. A real driver follows the handles of events and functions, and crashes; memory that is
/// to be filled is looked up, and whether the device may write it, of virtual memory (measured).
pub(super) fn check(layout: &Layout) -> Answer {
    layout.nodes.iter().try_for_each(|place| match &place.content {
        Content::Leaf(leaf) => check_leaf(leaf),
        Content::Child(inner) => check(inner),
        Content::Conditional { bodies, .. } => bodies.iter().try_for_each(check),
    })
}

/// An exec waits for the events that its definition has named, which must still be there; it does not matter for those that
/// it records, nor for functions. Words are looked up (measured).
pub(super) fn check_launch(actions: &Actions) -> Answer {
    actions.steps.iter().try_for_each(|step| match &*step.leaf {
        Leaf::Wait(_) => check_leaf(&step.leaf),
        Leaf::Values(it) => it.operation.as_ref().map(drop).map_err(|why| *why),
        _ => Ok(()),
    })
}

fn check_leaf(leaf: &Leaf) -> Answer {
    let gone = match leaf {
        Leaf::Kernel(it) if it.is_unloaded() => "A kernel node's module was unloaded",
        Leaf::Record(it) if it.event.is_destroyed() => "A record node's event was destroyed",
        Leaf::Wait(it) if it.event.is_destroyed() => "A wait node's event was destroyed",
        Leaf::Fill(it) if it.fill.span.is_forgotten() => "The memory of a memset node was freed",
        Leaf::Fill(it) if it.fill.span.check_told(&it.context, true).is_err() => {
            "The device may not write the memory of a memset node any more"
        }
        _ => return Ok(()),
    };
    log::detail(gone);
    Err(CUDA_ERROR_INVALID_VALUE)
}
