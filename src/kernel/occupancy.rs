//! How much of a device a kernel fills.

use super::{Kernel, LaunchConfig};
use crate::context::Context;
use crate::driver::CallError;
use crate::driver::calls::context::RawContext;
use crate::driver::calls::kernel::launch::{RawAttributes, RawShape};
use crate::driver::calls::kernel::occupancy::{self as calls, SharedMemory};
use crate::driver::sys::CUstream;
use crate::object::error::Error;
use crate::stream::Stream;
use std::fmt;

/// A size of block that fills a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// Threads of a block.
    pub threads: u32,
    /// The least number of such blocks that fills the device.
    pub blocks: u32,
}

/// Bytes of dynamic shared memory that a block of a kernel needs.
pub enum DynamicShared<'a> {
    /// The same for every block.
    Bytes(usize),
    /// So many for a block of the given threads; asked several times, on this thread.
    PerBlock(&'a mut dyn FnMut(u32) -> usize),
}

impl fmt::Debug for DynamicShared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(bytes).finish(),
            Self::PerBlock(_) => f.write_str("PerBlock"),
        }
    }
}

/// A number of threads for the driver, which refuses one that it has no room for.
fn number(threads: u32) -> i32 {
    i32::try_from(threads).unwrap_or(i32::MAX)
}

impl Kernel {
    /// How many blocks of so many threads, with so many bytes of dynamic shared memory each, one multiprocessor of the
    /// kernel's device holds at a time; 0 if it cannot hold one.
    ///
    /// # Errors
    /// The driver's, also for a block of no threads.
    pub fn active_blocks(&self, threads: u32, shared: usize) -> Result<u32, Error> {
        let blocks =
            self.here(|raw, context| calls::active_blocks(raw, context, number(threads), shared, 0))?;
        Ok(blocks.cast_unsigned())
    }

    /// The block with which the kernel fills the device best, of at most `limit` threads (0: as many as it takes).
    ///
    /// # Errors
    /// The driver's.
    pub fn suggest_block_size(&self, shared: DynamicShared<'_>, limit: u32) -> Result<BlockSize, Error> {
        let suggest = |shared: SharedMemory<'_>| {
            self.here(|raw, context| calls::suggest(raw, context, shared, number(limit), 0))
        };
        let (blocks, threads) = match shared {
            DynamicShared::Bytes(bytes) => suggest(SharedMemory::Bytes(bytes)),
            DynamicShared::PerBlock(function) => {
                suggest(SharedMemory::PerBlock(&mut |threads| function(threads.cast_unsigned())))
            }
        }?;
        Ok(BlockSize { threads: threads.cast_unsigned(), blocks: blocks.cast_unsigned() })
    }

    /// Bytes of dynamic shared memory that each of so many blocks of so many threads can have on one multiprocessor.
    ///
    /// # Errors
    /// The driver's.
    pub fn available_shared_memory(&self, blocks: u32, threads: u32) -> Result<usize, Error> {
        self.here(|raw, context| calls::available_shared(raw, context, number(blocks), number(threads)))
    }

    /// Blocks of the largest cluster in which the kernel can be launched like this, on the stream's device.
    ///
    /// # Safety
    /// Attributes by number ([`LaunchConfig::others`]) have good values.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) before driver 11.8; the driver's.
    pub unsafe fn largest_cluster(&self, stream: &Stream, launch: &LaunchConfig<'_>) -> Result<u32, Error> {
        // SAFETY: as the caller vouches.
        unsafe { largest_cluster(self, stream.context(), stream.raw().handle(), launch) }
    }

    /// How many clusters of this launch the stream's device holds at a time.
    ///
    /// # Safety
    /// As for [`largest_cluster`](Self::largest_cluster).
    ///
    /// # Errors
    /// As [`largest_cluster`](Self::largest_cluster).
    pub unsafe fn active_clusters(&self, stream: &Stream, launch: &LaunchConfig<'_>) -> Result<u32, Error> {
        ask(self, stream.context(), launch, |context, shape, attributes| {
            // SAFETY: the caller vouches for the attributes; the stream is alive.
            unsafe { calls::active_clusters(self.raw(), context, stream.raw().handle(), shape, attributes) }
        })
    }
}

/// # Safety
/// As for [`Kernel::largest_cluster`]; the stream is alive.
pub(super) unsafe fn largest_cluster(
    kernel: &Kernel,
    at: &Context,
    stream: CUstream,
    launch: &LaunchConfig<'_>,
) -> Result<u32, Error> {
    ask(kernel, at, launch, |context, shape, attributes| {
        // SAFETY: the caller vouches for the attributes and the stream.
        unsafe { calls::largest_cluster(kernel.raw(), context, stream, shape, attributes) }
    })
}

fn ask(
    kernel: &Kernel,
    at: &Context,
    launch: &LaunchConfig<'_>,
    call: impl FnOnce(&RawContext, &RawShape, &mut RawAttributes) -> Result<i32, CallError>,
) -> Result<u32, Error> {
    launch.check(Some(kernel))?;
    kernel.check_in(at)?;
    let mut attributes = RawAttributes::new();
    launch.list(&mut attributes);
    let answer =
        call(at.live(kernel)?, &launch.shape(), &mut attributes).map_err(|error| at.failed(error, kernel))?;
    Ok(answer.cast_unsigned())
}
