//! How much of a device a kernel fills.

use super::function::RawKernel;
use super::launch::{RawAttributes, RawShape, configuration};
use crate::driver::CallError;
use crate::driver::call;
use crate::driver::calls::context::RawContext;
use crate::driver::sys::CUstream;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Blocks of so many threads, with so much dynamic shared memory, that one multiprocessor holds at a time.
pub(crate) fn active_blocks(
    kernel: &RawKernel,
    context: &RawContext,
    threads: i32,
    shared: usize,
    flags: u32,
) -> Result<i32, CallError> {
    let mut blocks = 0;
    let _current = context.enter()?;
    // SAFETY: writes one number; the kernel's code is loaded and the context current.
    unsafe {
        call!(
            kernel.table(),
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_7000(
                &raw mut blocks,
                kernel.handle().cast(),
                threads,
                shared,
                flags
            )
        )
    }?;
    Ok(blocks)
}

/// Dynamic shared memory of a block, which may depend on its threads.
pub(crate) enum SharedMemory<'a> {
    Bytes(usize),
    PerBlock(&'a mut dyn FnMut(i32) -> usize),
}

thread_local! {
    /// The function that the driver's call on this thread asks, which has no place for data of its own.
    static ASKED: Cell<Option<*mut Asked<'static>>> = const { Cell::new(None) };
}

struct Asked<'a> {
    function: &'a mut dyn FnMut(i32) -> usize,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

unsafe extern "C" fn ask(threads: i32) -> usize {
    let Some(asked) = ASKED.get() else { return 0 };
    // SAFETY: set for the time of the driver's call on this thread, and taken while it is used.
    let asked = unsafe { &mut *asked };
    if asked.panic.is_some() {
        return 0;
    }
    ASKED.set(None);
    let answer = catch_unwind(AssertUnwindSafe(|| (asked.function)(threads)));
    ASKED.set(Some(asked));
    answer.unwrap_or_else(|panic| {
        asked.panic = Some(panic);
        0
    })
}

/// The least number of blocks that fills the device, and the threads of a block with which it does so.
pub(crate) fn suggest(
    kernel: &RawKernel,
    context: &RawContext,
    shared: SharedMemory<'_>,
    limit: i32,
    flags: u32,
) -> Result<(i32, i32), CallError> {
    let _current = context.enter()?;
    let (mut grid, mut block) = (0, 0);
    let mut suggest = |function, bytes| {
        // SAFETY: writes two numbers; the kernel's code is loaded and the context current.
        unsafe {
            call!(
                kernel.table(),
                cuOccupancyMaxPotentialBlockSizeWithFlags_7000(
                    &raw mut grid,
                    &raw mut block,
                    kernel.handle().cast(),
                    function,
                    bytes,
                    limit,
                    flags
                )
            )
        }
    };
    match shared {
        SharedMemory::Bytes(bytes) => suggest(None, bytes)?,
        SharedMemory::PerBlock(function) => {
            let mut asked = Asked { function, panic: None };
            let outer = ASKED.replace(Some((&raw mut asked).cast()));
            let result = suggest(Some(ask), 0);
            ASKED.set(outer);
            if let Some(panic) = asked.panic {
                resume_unwind(panic);
            }
            result?;
        }
    }
    Ok((grid, block))
}

/// Dynamic shared memory that each of so many blocks of so many threads can have on one multiprocessor.
pub(crate) fn available_shared(
    kernel: &RawKernel,
    context: &RawContext,
    blocks: i32,
    threads: i32,
) -> Result<usize, CallError> {
    let mut bytes = 0;
    let _current = context.enter()?;
    // SAFETY: writes one number; the kernel's code is loaded and the context current.
    unsafe {
        call!(
            kernel.table(),
            cuOccupancyAvailableDynamicSMemPerBlock_10020(
                &raw mut bytes,
                kernel.handle().cast(),
                blocks,
                threads
            )
        )
    }?;
    Ok(bytes)
}

/// Blocks of the largest cluster that can be launched; 11.8.
///
/// # Safety
/// Attributes that were given by number have good values; the stream is alive.
pub(crate) unsafe fn largest_cluster(
    kernel: &RawKernel,
    context: &RawContext,
    stream: CUstream,
    shape: &RawShape,
    attributes: &mut RawAttributes,
) -> Result<i32, CallError> {
    let mut blocks = 0;
    let config = configuration(stream, shape, attributes);
    let _current = context.enter()?;
    // SAFETY: writes one number; the kernel's code is loaded, the stream alive and the context current.
    unsafe {
        call!(
            kernel.table(),
            cuOccupancyMaxPotentialClusterSize_11070(
                &raw mut blocks,
                kernel.handle().cast(),
                &raw const config
            )
        )
    }?;
    Ok(blocks)
}

/// Clusters that the device holds at a time; 11.8.
///
/// # Safety
/// Attributes that were given by number have good values; the stream is alive.
pub(crate) unsafe fn active_clusters(
    kernel: &RawKernel,
    context: &RawContext,
    stream: CUstream,
    shape: &RawShape,
    attributes: &mut RawAttributes,
) -> Result<i32, CallError> {
    let mut clusters = 0;
    let config = configuration(stream, shape, attributes);
    let _current = context.enter()?;
    // SAFETY: as above.
    unsafe {
        call!(
            kernel.table(),
            cuOccupancyMaxActiveClusters_11070(&raw mut clusters, kernel.handle().cast(), &raw const config)
        )
    }?;
    Ok(clusters)
}
