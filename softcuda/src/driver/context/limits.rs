//! A context's limits. They are kept and read back; kernels feel those of the stack and the heap.

use super::Activation;
use super::current::current;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_LIMIT_CIG_ENABLED, CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
    CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, CU_LIMIT_MALLOC_HEAP_SIZE, CU_LIMIT_MAX_L2_FETCH_GRANULARITY,
    CU_LIMIT_PER_BLOCK_MEMORY_SIZE, CU_LIMIT_PERSISTING_L2_CACHE_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE,
    CU_LIMIT_SHMEM_SIZE, CU_LIMIT_STACK_SIZE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_PERMITTED,
    CUDA_ERROR_UNSUPPORTED_LIMIT, CUlimit, CUresult,
};
use crate::driver::capture;
use crate::instruments::settings::version;

/// The limits that can be set, in bytes or counts; the values of a new context are measured ones.
pub(super) struct Limits {
    stack: usize,
    print_buffer: usize,
    heap: usize,
    pending_launches: usize,
    fetch_granularity: usize,
    persisting_cache: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            stack: 1024,
            print_buffer: 8_650_752,
            heap: 8 << 20,
            pending_launches: 2048,
            fetch_granularity: 64,
            persisting_cache: 9_830_400,
        }
    }
}

impl Activation {
    /// Bytes of stack that a thread of a kernel has.
    pub(crate) fn stack_bytes(&self) -> u32 {
        self.limits.lock().stack as u32
    }

    /// Bytes that kernels can have from `malloc`.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.limits.lock().heap
    }
}

const LEAST_PRINT_BUFFER: usize = 512 << 10;
const LEAST_HEAP: usize = 4 << 20;
const MOST_FETCH_GRANULARITY: usize = 128;
/// The persisting cache is set aside in tenths.
const CACHE_PART: usize = 3_276_800;
const CACHE_PARTS: usize = 10;
const SHARED_MEMORY: usize = 232_448;

impl Limits {
    fn slot(&mut self, limit: CUlimit) -> Option<&mut usize> {
        Some(match limit {
            CU_LIMIT_STACK_SIZE => &mut self.stack,
            CU_LIMIT_PRINTF_FIFO_SIZE => &mut self.print_buffer,
            CU_LIMIT_MALLOC_HEAP_SIZE => &mut self.heap,
            CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => &mut self.pending_launches,
            CU_LIMIT_MAX_L2_FETCH_GRANULARITY => &mut self.fetch_granularity,
            CU_LIMIT_PERSISTING_L2_CACHE_SIZE => &mut self.persisting_cache,
            _ => return None,
        })
    }
}

/// What a context makes of a value: some are raised, some rounded.
fn adjusted(limit: CUlimit, value: usize) -> Result<usize, CUresult> {
    match limit {
        CU_LIMIT_PRINTF_FIFO_SIZE => Ok(value.max(LEAST_PRINT_BUFFER)),
        CU_LIMIT_MALLOC_HEAP_SIZE => Ok(value.max(LEAST_HEAP)),
        CU_LIMIT_MAX_L2_FETCH_GRANULARITY if value > MOST_FETCH_GRANULARITY => Err(CUDA_ERROR_INVALID_VALUE),
        CU_LIMIT_PERSISTING_L2_CACHE_SIZE => Ok(value.div_ceil(CACHE_PART).min(CACHE_PARTS) * CACHE_PART),
        _ => Ok(value),
    }
}

/// Refuses limits that the impersonated version or the device does not have.
fn check(limit: CUlimit) -> Answer {
    let since = match limit.0 {
        0..=6 => 0,
        7..=9 => 12050,
        10 => 13040,
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    };
    match limit {
        _ if since > version() => Err(CUDA_ERROR_INVALID_VALUE),
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
        | CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED
        | CU_LIMIT_PER_BLOCK_MEMORY_SIZE => Err(CUDA_ERROR_UNSUPPORTED_LIMIT),
        _ => Ok(()),
    }
}

pub(crate) fn cuCtxGetLimit(pvalue: Out<usize>, limit: CUlimit) -> Answer {
    let activation = current()?;
    pvalue.check()?;
    check(limit)?;
    let value = match limit {
        CU_LIMIT_SHMEM_SIZE => SHARED_MEMORY,
        CU_LIMIT_CIG_ENABLED => 0,
        _ => *activation.limits.lock().slot(limit).ok_or(CUDA_ERROR_INVALID_VALUE)?,
    };
    pvalue.set(value)
}

pub(crate) fn cuCtxSetLimit(limit: CUlimit, value: usize) -> Answer {
    let activation = current()?;
    check(limit)?;
    let value = adjusted(limit, value)?;
    if limit == CU_LIMIT_MALLOC_HEAP_SIZE && activation.heap().has_begun() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    capture::check_unsafe()?;
    // Measured: it waits.
    activation.wait_for_work()?;
    *activation.limits.lock().slot(limit).ok_or(CUDA_ERROR_NOT_PERMITTED)? = value;
    Ok(())
}
