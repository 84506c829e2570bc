//! Why something cannot be done with a graph: the driver's own answer is one number for nearly everything.

use super::definition::State;
use super::node_name::NodeName;
use super::predecessors::Predecessors;
use super::recorder::Recorder;
use crate::driver::sys;
use crate::object::error::{Error, Status};
use crate::op::node::Parameters;
use std::collections::HashSet;
use std::sync::Arc;

fn add(mut failure: Error, why: &str) -> Error {
    failure.message.push_str(". ");
    failure.message.push_str(why);
    failure
}

fn is_invalid(failure: &Error) -> bool {
    failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0
}

fn is_unsupported(failure: &Error) -> bool {
    failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0
}

/// The refusal of a predecessor that is a node of another graph.
#[cold]
pub(super) fn of_another_graph(node: NodeName<'_>, index: usize) -> Error {
    let refusal =
        format!("{node} is a node of another graph; a node comes after nodes of its own graph only");
    let mut error = Error::new(Status::INVALID_ARGUMENT, refusal).about(&node);
    error.item = Some(index);
    error
}

/// Why the driver added no node: perhaps a predecessor is named twice.
#[cold]
pub(super) fn of_add(failure: Error, after: &(impl Predecessors + ?Sized)) -> Error {
    if !is_invalid(&failure) {
        return failure;
    }
    let (mut seen, mut twice) = (HashSet::new(), None);
    // Whoever cannot be shown was refused before.
    let _ = after.each(&mut |index, node| {
        if !seen.insert(node.number) && twice.is_none() {
            twice = Some((index, node.to_string()));
        }
        Ok(())
    });
    let Some((index, node)) = twice else { return failure };
    let mut failure = add(failure, &format!("It is to come after {node} twice; name each node once"));
    failure.item = Some(index);
    failure
}

/// Why the driver does not do this to a graph: one of its nodes is device-updatable, which has this name.
#[cold]
pub(super) fn of_updatable(failure: Error, name: Option<String>, limit: &str) -> Error {
    match name.filter(|_| is_unsupported(&failure)) {
        Some(name) => add(failure, &format!("{name} is device-updatable: {limit}")),
        None => failure,
    }
}

/// Why the driver removed no node: this captures into its graph.
#[cold]
pub(super) fn of_captured(failure: Error, capture: Option<Arc<dyn Recorder>>) -> Error {
    match capture.filter(|_| failure.status.0 == sys::CUDA_ERROR_ILLEGAL_STATE.0) {
        Some(capture) => add(
            failure,
            &format!(
                "{} captures the node's graph, and the driver removes no node meanwhile; end that (cushim_builder_end) first",
                capture.builder()
            ),
        ),
        None => failure,
    }
}

/// Why the driver did not change a graph: it allocates memory.
#[cold]
pub(super) fn of_change(failure: Error, has_allocations: bool) -> Error {
    match is_unsupported(&failure) && has_allocations {
        true => add(
            failure,
            "The graph allocates memory, and the driver removes neither nodes nor edges of such a graph; build it anew",
        ),
        false => failure,
    }
}

/// Why the driver did not copy a graph.
#[cold]
pub(super) fn of_copying(failure: Error, of: &State) -> Error {
    let why = match (of.allocating > 0, of.had_conditions()) {
        _ if !is_unsupported(&failure) => return failure,
        (_, true) => {
            "The graph has conditional nodes or a condition, or had one, and such a graph driver 580 neither clones, embeds nor moves"
        }
        (true, _) => {
            "The graph allocates memory, and such a graph the driver neither clones nor embeds, but by moving it (12.9)"
        }
        _ => "Perhaps the graph is part of another one: embed a clone of it",
    };
    add(failure, why)
}

/// Why the driver added no edges.
#[cold]
pub(super) fn of_edges(failure: Error) -> Error {
    match is_invalid(&failure) {
        true => add(failure, "An edge is there already, or its nodes know no data as it has"),
        false => failure,
    }
}

/// Why the driver removed no edges.
#[cold]
pub(super) fn of_missing_edges(failure: Error) -> Error {
    if is_invalid(&failure) {
        add(failure, "One of the edges is not there, or has other data")
    } else {
        failure
    }
}

/// Why the driver did not instantiate a graph: there is another instance, and of such a graph there is one at a time.
#[cold]
pub(super) fn of_second_exec(failure: Error, live: usize) -> Error {
    match is_unsupported(&failure) && live > 0 {
        true => add(
            failure,
            "A graph that allocates memory, has conditions or device-updatable nodes has one exec at a time; destroy the other first",
        ),
        false => failure,
    }
}

/// Why the driver did not change a node.
#[cold]
pub(super) fn of_set(failure: Error, parameters: &Parameters) -> Error {
    let is_box = matches!(parameters, Parameters::Copy(copy) if !copy.is_range());
    match is_invalid(&failure) && is_box {
        true => add(
            failure,
            "Perhaps this driver does not change copies of boxes; remove the node, and add another",
        ),
        false => failure,
    }
}
