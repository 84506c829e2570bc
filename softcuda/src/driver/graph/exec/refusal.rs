//! Why there is no exec of a graph.

use super::plan::Cycle;
use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, CUDA_GRAPH_INSTANTIATE_ERROR,
    CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, CUgraphInstantiateResult, CUresult,
};
use crate::instruments::log;

/// Why there is no exec.
pub(super) struct Refusal {
    pub(super) code: CUresult,
    pub(super) result: CUgraphInstantiateResult,
    /// The node that is to blame, if it is a certain one.
    pub(super) node: usize,
}

impl From<CUresult> for Refusal {
    fn from(code: CUresult) -> Self {
        Self { code, result: CUDA_GRAPH_INSTANTIATE_ERROR, node: 0 }
    }
}

impl From<Cycle> for Refusal {
    fn from(Cycle(node): Cycle) -> Self {
        log::detail("Graph cycle detected");
        Self { code: CUDA_ERROR_INVALID_VALUE, result: CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, node }
    }
}

impl Refusal {
    /// No node looks at a condition of the graph.
    pub(super) fn idle_condition() -> Self {
        let result = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
        Self { code: CUDA_ERROR_INVALID_VALUE, result, node: 0 }
    }
}
