//! Nodes that fill memory.

use crate::abi::sys::{
    CUDA_ERROR_INVALID_VALUE, CUDA_MEMSET_NODE_PARAMS_v1, CUDA_MEMSET_NODE_PARAMS_v2, CUresult,
};
use crate::driver::context::Activation;
use crate::driver::operation::Operation;
use crate::driver::operation::fill::{Fill, Parameters};
use std::sync::Arc;

/// Fills memory.
pub(crate) struct FillNode {
    pub(crate) params: CUDA_MEMSET_NODE_PARAMS_v1,
    pub(crate) fill: Fill,
    pub(crate) context: Arc<Activation>,
    pub(crate) operation: Arc<Operation>,
}

impl FillNode {
    /// The context needs no access to another device's memory, except to that of its pools, and to virtual memory, which its device must be
    /// let write (measured).
    pub(crate) fn new(
        params: CUDA_MEMSET_NODE_PARAMS_v1,
        context: Arc<Activation>,
    ) -> Result<Self, CUresult> {
        let fill = fill(params)?;
        fill.span.check_pool_access_of(&context)?;
        fill.span.check_told(&context, true)?;
        Ok(Self::with(params, fill, context))
    }

    /// What the node becomes when it is set and keeps its context. Then memory of pools is looked at with the current
    /// context, and refused where none is (measured).
    pub(crate) fn set(&self, params: CUDA_MEMSET_NODE_PARAMS_v1) -> Result<Self, CUresult> {
        let fill = fill(params)?;
        fill.span.check_pool_access_of_current()?;
        fill.span.check_told(&self.context, true)?;
        Ok(Self::with(params, fill, Arc::clone(&self.context)))
    }

    /// A node for a fill that was made for a stream.
    pub(crate) fn of(fill: Fill, context: Arc<Activation>) -> Self {
        let Parameters { address, pitch, value, unit, width, height } = fill.parameters;
        let (dst, elementSize) = (address as u64, unit as u32);
        Self::with(
            CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value, elementSize, width, height },
            fill,
            context,
        )
    }

    fn with(params: CUDA_MEMSET_NODE_PARAMS_v1, fill: Fill, context: Arc<Activation>) -> Self {
        let operation = Arc::new(fill.clone().into());
        Self { params, fill, context, operation }
    }

    pub(crate) fn tell_all(&self) -> CUDA_MEMSET_NODE_PARAMS_v2 {
        let CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value, elementSize, width, height } = self.params;
        let ctx = self.context.context();
        CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx }
    }
}

fn fill(params: CUDA_MEMSET_NODE_PARAMS_v1) -> Result<Fill, CUresult> {
    let CUDA_MEMSET_NODE_PARAMS_v1 { dst, pitch, value, elementSize, width, height } = params;
    let (address, unit) = (dst as usize, elementSize as usize);
    let parameters = Parameters { address, pitch, value, unit, width, height };
    if !matches!(unit, 1 | 2 | 4) || parameters.is_empty() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    Fill::anywhere(parameters)
}
