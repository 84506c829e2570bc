//! Kernels that set a condition of a graph around theirs: no copy of their graph alone has that condition, and a launch of such a copy
//! loses the context.

use super::Graph;
use super::definition::{ConditionState, State};
use super::ids::GraphId;
use crate::object::error::{Error, Status};
use crate::op::node::Parameters;

/// Refuses to copy a graph without what is around it, if one of its kernels sets a condition from there. `what` would be done with it.
pub(super) fn check_alone(state: &State, graph: &Graph, what: &str) -> Result<(), Error> {
    check_for(state, graph, what, |_| false)
}

/// The same where some conditions are there, by their numbers: driver 580 numbers those of each graph from 1, so that a kernel sets the one
/// of the same number (measured).
pub(super) fn check_for(
    state: &State,
    graph: &Graph,
    what: &str,
    is_there: impl Fn(u64) -> bool,
) -> Result<(), Error> {
    match find(state, graph.object.id, is_there) {
        Some((kernel, condition)) => Err(refused(graph, what, &kernel, condition)),
        None => Ok(()),
    }
}

/// Whether a kernel of the graph sets a condition from around it.
pub(super) fn is_bound(state: &State, graph: GraphId) -> bool {
    find(state, graph, |_| false).is_some()
}

/// The name of such a kernel, and the condition.
fn find(state: &State, graph: GraphId, is_there: impl Fn(u64) -> bool) -> Option<(String, &ConditionState)> {
    if graph == GraphId::ROOT || state.conditions.is_empty() {
        return None;
    }
    // Conditions of graphs that are gone stay with the graph around these (measured on driver 580).
    let is_outer =
        |condition: &&ConditionState| condition.is_ended() || !state.is_above(graph, condition.graph);
    let outer: Vec<_> = state.conditions.iter().filter(is_outer).collect();
    let below = state.nodes().filter(|(_, node)| state.is_above(graph, node.graph));
    let mut below = below.map(|(id, _)| id);
    below.find_map(|id| {
        let Parameters::Kernel(kernel) = &state.record(id).parameters else { return None };
        let is_set = |condition: &&&ConditionState| {
            condition
                .native
                .is_some_and(|number| !is_there(number) && kernel.arguments().has_condition(number))
        };
        outer.iter().find(is_set).map(|condition| (state.name_of(id), *condition))
    })
}

#[cold]
fn refused(graph: &Graph, what: &str, kernel: &str, condition: &ConditionState) -> Error {
    let refusal = format!(
        "{graph} cannot be {what}: {kernel} sets {}, which belongs to a graph around it, and would set what is not there; build the graph \
         anew, with a condition of its own",
        condition.object
    );
    Error::new(Status::INVALID_ARGUMENT, refusal).about(graph.object.as_ref())
}
