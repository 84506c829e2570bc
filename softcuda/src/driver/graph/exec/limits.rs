//! What a graph with conditional nodes may not have, nor one that kernels are to launch.

use super::layout::{Content, Layout, Place};
use super::refusal::Refusal;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED,
    CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED,
};
use crate::driver::context::Activation;
use crate::driver::graph::leaf::Leaf;
use crate::driver::memory::span::Place as Whose;

/// Refuses what cannot be done: bodies have work for one context, without the host (measured).
pub(super) fn check(layout: &Layout) -> Result<(), Refusal> {
    let Some(context) = find_context(layout) else { return Ok(()) };
    for place in &layout.nodes {
        match &place.content {
            Content::Conditional { bodies, .. } => {
                bodies.iter().try_for_each(|body| check_body(body, context))?;
            }
            Content::Child(inner) => check(inner)?,
            Content::Leaf(_) => {}
        }
    }
    Ok(())
}

/// The context of a conditional node.
fn find_context(layout: &Layout) -> Option<u64> {
    layout.nodes.iter().find_map(|place| match &place.content {
        Content::Conditional { condition, .. } => Some(condition.context.id()),
        Content::Child(inner) => find_context(inner),
        Content::Leaf(_) => None,
    })
}

fn check_body(body: &Layout, context: u64) -> Result<(), Refusal> {
    for place in &body.nodes {
        match &place.content {
            Content::Leaf(leaf) if is_for_device(leaf) => {}
            Content::Leaf(_) => return Err(unfit(place)),
            Content::Child(inner) => check_body(inner, context)?,
            Content::Conditional { bodies, .. } => {
                bodies.iter().try_for_each(|body| check_body(body, context))?;
            }
        }
    }
    check_contexts(body, context)
}

/// Whether a device can do it when the host knows nothing of it.
fn is_for_device(leaf: &Leaf) -> bool {
    match leaf {
        Leaf::Empty | Leaf::Kernel(_) | Leaf::Fill(_) => true,
        Leaf::Copy(it) => [&it.copy.from, &it.copy.to].iter().all(|end| end.span.place() != Whose::Pageable),
        Leaf::Host(_)
        | Leaf::Record(_)
        | Leaf::Wait(_)
        | Leaf::Alloc(_)
        | Leaf::Free(_)
        | Leaf::Values(_) => false,
    }
}

/// Ordinary host memory is refused as another context's (measured).
fn unfit(place: &Place) -> Refusal {
    let is_copy = matches!(&place.content, Content::Leaf(leaf) if matches!(**leaf, Leaf::Copy(_)));
    let (code, result) = match is_copy {
        true => (CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED),
        false => (CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED),
    };
    Refusal { code, result, node: place.node }
}

/// Refuses what kernels could not launch: a graph without work, with the host's work, or for two contexts (documented).
pub(super) fn check_for_device(layout: &Layout) -> Result<(), Refusal> {
    check_launchable(layout)?;
    let Some(first) = layout.nodes.iter().find_map(of) else { return Err(CUDA_ERROR_INVALID_VALUE.into()) };
    check_contexts(layout, first.id())
}

fn check_launchable(layout: &Layout) -> Result<(), Refusal> {
    layout.nodes.iter().try_for_each(|place| match &place.content {
        Content::Leaf(leaf) if is_for_device(leaf) && !matches!(**leaf, Leaf::Empty) => Ok(()),
        Content::Child(inner) => check_launchable(inner),
        Content::Leaf(_) | Content::Conditional { .. } => Err(unfit(place)),
    })
}

fn check_contexts(layout: &Layout, context: u64) -> Result<(), Refusal> {
    let (code, result) = (CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED);
    match layout.nodes.iter().find(|place| of(place).is_some_and(|own| own.id() != context)) {
        Some(place) => Err(Refusal { code, result, node: place.node }),
        None => Ok(()),
    }
}

/// The context of a node's work on a device.
fn of(place: &Place) -> Option<&Activation> {
    match &place.content {
        Content::Child(inner) => inner.nodes.iter().find_map(of),
        Content::Leaf(leaf) if is_for_device(leaf) => leaf.context().map(|context| &**context),
        Content::Conditional { condition, .. } => Some(&condition.context),
        Content::Leaf(_) => None,
    }
}
