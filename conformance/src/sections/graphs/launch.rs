//! Launches as kernel nodes take them.

use crate::code::{Arguments, Shape};
use cushim::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_v1, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_KERNEL_NODE_PARAMS_v3, CUcontext,
    CUfunction, CUkernel,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A launch with at most two arguments.
#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub(super) function: CUfunction,
    pub(super) kernel: CUkernel,
    pub(super) context: CUcontext,
    pub(super) shape: Shape,
    pub(super) arguments: [u64; 2],
}

impl Launch {
    /// One thread, in the current context.
    pub(super) const fn new(function: CUfunction, arguments: [u64; 2]) -> Self {
        Self { function, kernel: null_mut(), context: null_mut(), shape: Shape::ONE, arguments }
    }

    /// As drivers from 12.0 on take it, with these arguments.
    pub(super) fn params(
        &self,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CUDA_KERNEL_NODE_PARAMS_v2 {
        let Shape { grid, block, shared } = self.shape;
        CUDA_KERNEL_NODE_PARAMS_v2 {
            func: self.function,
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared,
            kernelParams: arguments,
            extra,
            kern: self.kernel,
            ctx: self.context,
        }
    }

    /// Hands it out as drivers from 12.0 on take it.
    pub(super) fn with_params<R>(&self, ask: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS_v2) -> R) -> R {
        let mut arguments = Arguments::new(self.arguments);
        let mut pointers = arguments.pointers();
        ask(&self.params(pointers.as_mut_ptr(), null_mut()))
    }
}

/// The same as drivers before 12.0 take it.
pub(super) fn older(params: &CUDA_KERNEL_NODE_PARAMS_v2) -> CUDA_KERNEL_NODE_PARAMS_v1 {
    CUDA_KERNEL_NODE_PARAMS_v1 {
        func: params.func,
        gridDimX: params.gridDimX,
        gridDimY: params.gridDimY,
        gridDimZ: params.gridDimZ,
        blockDimX: params.blockDimX,
        blockDimY: params.blockDimY,
        blockDimZ: params.blockDimZ,
        sharedMemBytes: params.sharedMemBytes,
        kernelParams: params.kernelParams,
        extra: params.extra,
    }
}

/// The same as the calls take it that know every type.
pub(super) fn newer(params: &CUDA_KERNEL_NODE_PARAMS_v2) -> CUDA_KERNEL_NODE_PARAMS_v3 {
    CUDA_KERNEL_NODE_PARAMS_v3 {
        func: params.func,
        gridDimX: params.gridDimX,
        gridDimY: params.gridDimY,
        gridDimZ: params.gridDimZ,
        blockDimX: params.blockDimX,
        blockDimY: params.blockDimY,
        blockDimZ: params.blockDimZ,
        sharedMemBytes: params.sharedMemBytes,
        kernelParams: params.kernelParams,
        extra: params.extra,
        kern: params.kern,
        ctx: params.ctx,
    }
}
