//! Nodes that call the program's functions.

use crate::abi::sys::{
    CU_HOST_TASK_BLOCKING, CU_HOST_TASK_SPINWAIT, CUDA_ERROR_INVALID_VALUE, CUDA_HOST_NODE_PARAMS_v1,
    CUDA_HOST_NODE_PARAMS_v2, CUDA_HOST_NODE_PARAMS_v2_u24, CUhostFn, CUresult,
};
use crate::driver::operation::Operation;
use crate::driver::operation::host_function::{HostFunction, UserData};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// Calls a function.
pub(crate) struct HostNode {
    function: HostFunction,
    pub(crate) operation: Arc<Operation>,
}

impl HostNode {
    pub(crate) fn new(function: CUhostFn, data: *mut c_void, mode: u32) -> Result<Self, CUresult> {
        let function = function.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let modes = [CU_HOST_TASK_BLOCKING.0 as u32, CU_HOST_TASK_SPINWAIT.0 as u32];
        if !modes.contains(&mode) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Self::of(HostFunction { function, data: UserData(data), mode }))
    }

    /// A node for a function that was given to a stream.
    pub(crate) fn of(function: HostFunction) -> Self {
        let operation = Arc::new(function.into());
        Self { function, operation }
    }

    pub(crate) fn tell(&self) -> CUDA_HOST_NODE_PARAMS_v1 {
        let HostFunction { function, data, .. } = self.function;
        CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(function), userData: data.0 }
    }

    pub(crate) fn tell_all(&self) -> CUDA_HOST_NODE_PARAMS_v2 {
        let u24 = CUDA_HOST_NODE_PARAMS_v2_u24 { ctx: null_mut() };
        let HostFunction { function, data, mode } = self.function;
        CUDA_HOST_NODE_PARAMS_v2 { fn_: Some(function), userData: data.0, syncMode: mode, u24 }
    }
}
