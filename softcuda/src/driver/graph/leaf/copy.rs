//! Nodes that copy memory.

use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY3D_v2, CUresult};
use crate::driver::context::Activation;
use crate::driver::context::current::top;
use crate::driver::enqueue::copy_3d::{block, describe};
use crate::driver::operation::Operation;
use crate::driver::operation::copy::{Copy, Reach};
use std::sync::Arc;

/// Copies memory.
pub(crate) struct CopyNode {
    pub(crate) params: CUDA_MEMCPY3D_v2,
    pub(crate) copy: Copy,
    pub(crate) context: Arc<Activation>,
    pub(crate) operation: Arc<Operation>,
    /// It was set to a pool's memory where no context was current. It copies that, but no exec takes it for a copy of a pool's
    /// memory (measured).
    pub(crate) sees_no_pool: bool,
}

impl CopyNode {
    pub(crate) fn new(params: CUDA_MEMCPY3D_v2, context: Arc<Activation>) -> Result<Self, CUresult> {
        let (to, from, extent) = block(params, Reach::Stream);
        if extent.is_empty() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // An array that is none is a wrong value here, not a wrong handle (measured).
        let copy = Copy::new(to, from, extent, &context).map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
        Ok(Self::with(params, copy, context))
    }

    /// What the node becomes when it is set and keeps its context.
    pub(crate) fn set(&self, params: CUDA_MEMCPY3D_v2) -> Result<Self, CUresult> {
        let new = Self::new(params, Arc::clone(&self.context))?;
        let of_pool = [&new.copy.from, &new.copy.to].iter().any(|side| side.span.is_of_devices_pool());
        let sees_no_pool =
            if new.copy.is(&self.copy) { self.sees_no_pool } else { of_pool && top().is_none() };
        Ok(Self { sees_no_pool, ..new })
    }

    /// A node for a copy that was made for a stream.
    pub(crate) fn of(copy: Copy, context: Arc<Activation>) -> Self {
        Self::with(describe(&copy.to.end, &copy.from.end, copy.extent), copy, context)
    }

    fn with(params: CUDA_MEMCPY3D_v2, copy: Copy, context: Arc<Activation>) -> Self {
        let operation = Arc::new(copy.clone().into());
        Self { params, copy, context, operation, sees_no_pool: false }
    }

    pub(crate) fn is_one_row(&self) -> bool {
        (self.copy.extent.height, self.copy.extent.depth) == (1, 1)
    }

    pub(crate) fn tell_all(&self) -> CUDA_MEMCPY_NODE_PARAMS {
        let copyCtx = self.context.context();
        CUDA_MEMCPY_NODE_PARAMS { flags: 0, reserved: 0, copyCtx, copyParams: self.params }
    }
}

// SAFETY: the addresses in the parameters are the caller's words, which nobody follows.
unsafe impl Send for CopyNode {}
// SAFETY: as above.
unsafe impl Sync for CopyNode {}
