//! User objects that graphs keep.

use crate::abi::Answer;
use crate::abi::sys::{CU_GRAPH_USER_OBJECT_MOVE, CUDA_ERROR_INVALID_VALUE, CUgraph, CUuserObject};
use crate::driver::graph::definition::Graph;
use crate::driver::user_object::UserObject;
use crate::instruments::complain::complain;

const MOVE: u32 = CU_GRAPH_USER_OBJECT_MOVE.0 as u32;

pub(crate) fn cuGraphRetainUserObject(
    graph: CUgraph,
    object: CUuserObject,
    count: u32,
    flags: u32,
) -> Answer {
    let (graph, object) = (Graph::of(graph)?, UserObject::of(object)?);
    if count == 0 || flags & !MOVE != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    object.hold(count.into(), flags & MOVE != 0)?;
    graph.keep(&object, count.into());
    Ok(())
}

/// Releasing what it does not keep is a success (measured).
pub(crate) fn cuGraphReleaseUserObject(graph: CUgraph, object: CUuserObject, count: u32) -> Answer {
    let (graph, object) = (Graph::of(graph)?, UserObject::of(object)?);
    if count == 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    if graph.give_up(&object, count.into()) < u64::from(count) {
        complain(
            "a program releases more references to a user object than the graph has; those it has are released",
        );
    }
    Ok(())
}
