//! Waiting for work.

use crate::abi::Answer;
use crate::abi::sys::CUDA_ERROR_NOT_PERMITTED;
use crate::executor::{self, Task, WaitsForItself};
use std::sync::Arc;

/// Waits until the tasks are finished; not longer than until their context is lost. Refuses to let a host function wait
/// for what comes after it.
pub(crate) fn wait_for(tasks: &[Arc<Task>]) -> Answer {
    executor::wait_for(tasks).map_err(|WaitsForItself| CUDA_ERROR_NOT_PERMITTED)
}
