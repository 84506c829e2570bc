//! Nodes that write values and wait for them.

use crate::abi::pointer::Out;
use crate::abi::sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, CUDA_ERROR_INVALID_VALUE, CUresult,
    CUstreamBatchMemOpParams, CUstreamBatchMemOpType,
};
use crate::driver::context::Activation;
use crate::driver::context::current::named_or_current;
use crate::driver::enqueue::values::{Asked, MOST};
use crate::driver::operation::Operation;
use crate::driver::operation::value::Values;
use std::sync::Arc;

/// Writes values and waits for them, one after the other.
pub(crate) struct ValuesNode {
    /// As the caller gave them.
    params: Box<[CUstreamBatchMemOpParams]>,
    pub(crate) context: Arc<Activation>,
    /// Launches are refused, and nothing else, where there is no memory for a word (measured).
    pub(crate) operation: Result<Arc<Operation>, CUresult>,
}

// SAFETY: the members are of plain numbers, or words of the caller's that nobody follows.
unsafe impl Send for ValuesNode {}
// SAFETY: as above.
unsafe impl Sync for ValuesNode {}

impl ValuesNode {
    pub(crate) fn new(given: CUDA_BATCH_MEM_OP_NODE_PARAMS_v1) -> Result<Self, CUresult> {
        let CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 { ctx, count, paramArray, flags } = given;
        if ctx.is_null() || flags != 0 || count > MOST {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let context = named_or_current(ctx)?.activation()?;
        let array = Out::untyped(paramArray.cast());
        let params: Box<[CUstreamBatchMemOpParams]> =
            (0..count as usize).map(|at| array.item(at)).collect::<Result<_, _>>()?;
        Self::of(params, context)
    }

    /// A node for what was given to a stream.
    pub(crate) fn of(
        params: Box<[CUstreamBatchMemOpParams]>,
        context: Arc<Activation>,
    ) -> Result<Self, CUresult> {
        let asked = params.iter().map(|one| Asked::read(*one)).collect::<Result<Vec<_>, _>>()?;
        let all: Result<Vec<_>, _> = asked.into_iter().map(|one| one.checked(&context)).collect();
        let operation = all.map(|all| Arc::new(Values(all.into_iter().flatten().collect()).into()));
        Ok(Self { params, context, operation })
    }

    /// Which operations they are, in their order: in an exec that stays (documented).
    pub(crate) fn kinds(&self) -> impl Iterator<Item = CUstreamBatchMemOpType> {
        // SAFETY: every member begins with the operation.
        self.params.iter().map(|one| unsafe { one.operation })
    }

    pub(crate) fn tell(&self) -> CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
        let (ctx, count) = (self.context.context(), self.params.len() as u32);
        let paramArray = self.params.as_ptr().cast_mut();
        CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 { ctx, count, paramArray, flags: 0 }
    }
}

/// Two names for the same.
impl From<CUDA_BATCH_MEM_OP_NODE_PARAMS_v2> for CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 {
    fn from(p: CUDA_BATCH_MEM_OP_NODE_PARAMS_v2) -> Self {
        let CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 { ctx, count, paramArray, flags } = p;
        Self { ctx, count, paramArray, flags }
    }
}

impl From<CUDA_BATCH_MEM_OP_NODE_PARAMS_v1> for CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
    fn from(p: CUDA_BATCH_MEM_OP_NODE_PARAMS_v1) -> Self {
        let CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 { ctx, count, paramArray, flags } = p;
        Self { ctx, count, paramArray, flags }
    }
}
