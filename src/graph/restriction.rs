//! What a graph cannot hold, where the driver would say so late, or not at all.

use super::definition::{State, Tree};
use super::ids::GraphId;
use super::updatable;
use crate::context::Context;
use crate::driver::Version;
use crate::driver::sys::{CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST};
use crate::object::error::{Error, Status};
use crate::op::node::{CopyParameters, NodeType, Parameters};
use crate::pointer::PointerAttributes;

/// Refuses nodes that the driver is too old for.
pub(super) fn check_version(tree: &Tree, node_type: NodeType) -> Result<(), Error> {
    node_type.check_driver(tree.driver())
}

/// Refuses what the driver is too old for.
pub(super) fn require(tree: &Tree, what: &str, since: Version) -> Result<(), Error> {
    crate::op::node::require(tree.driver(), what, since)
}

/// Refuses a node that this graph cannot hold.
#[inline(always)]
pub(super) fn check(
    tree: &Tree,
    state: &State,
    graph: GraphId,
    parameters: &Parameters,
    at: &Context,
) -> Result<(), Error> {
    if matches!(parameters, Parameters::MemoryOperations(_)) {
        check_version(tree, NodeType::MemoryOperations)?;
    }
    if let Parameters::Kernel(kernel) = parameters {
        updatable::check(tree, kernel)?;
    }
    match state.graph(graph).is_in_body {
        true => check_in_body(tree, state, graph, parameters, at, || "this node".to_owned()),
        false => Ok(()),
    }
}

/// Bodies hold little, and driver 580 says so only when the whole is instantiated (measured). `name` is what the node is called.
pub(super) fn check_in_body(
    tree: &Tree,
    state: &State,
    graph: GraphId,
    parameters: &Parameters,
    at: &Context,
    name: impl FnOnce() -> String,
) -> Result<(), Error> {
    let why = match parameters {
        _ if at.native() != tree.context().native() => {
            format!(
                "it would run in {at}, and all that conditional nodes run runs in one context, {}",
                tree.context()
            )
        }
        Parameters::Copy(copy) => match refused_copy(tree, copy)? {
            Some(why) => why.to_owned(),
            None => return Ok(()),
        },
        Parameters::Kernel(_) | Parameters::Memset(_) => return Ok(()),
        Parameters::Plain(NodeType::Empty | NodeType::Child | NodeType::Conditional) => return Ok(()),
        other => format!(
            "it would be of the type \"{}\", and conditional nodes run kernel, copy, memset, empty, child graph and conditional nodes only",
            other.node_type()
        ),
    };
    let object = &state.graph(graph).object;
    let refusal = format!("{object} is run by a conditional node and cannot hold {}: {why}", name());
    Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object.as_ref()))
}

fn refused_copy(tree: &Tree, copy: &CopyParameters) -> Result<Option<&'static str>, Error> {
    let raw = copy.raw();
    let ends = [(raw.dstMemoryType, copy.to()), (raw.srcMemoryType, copy.from())];
    for (memory_type, memory) in ends {
        if memory_type == CU_MEMORYTYPE_ARRAY {
            return Ok(Some("it copies an array, which cannot be done there"));
        }
        let is_host = memory_type == CU_MEMORYTYPE_HOST;
        if is_host && PointerAttributes::memory_type(tree.driver(), memory.address())?.is_none() {
            return Ok(Some("it copies ordinary host memory; there only page-locked memory can be copied"));
        }
    }
    Ok(None)
}
