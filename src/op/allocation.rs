//! Memory that comes and goes in the order of a stream.

use super::node::NodeType;
use super::{Captured, Operation, Traits};
use crate::check::{Access, Deeds, Touch, Use};
use crate::context::Context;
use crate::driver::calls::memory::allocation::RawMemory;
use crate::driver::calls::memory::pool::RawPool;
use crate::driver::{Driver, sys};
use crate::object::callback::allocating;
use crate::object::error::{Error, Status};
use crate::pointer::{DevicePointer, PointerAttributes};
use crate::stream::Stream;

/// Allocates memory in the order of a stream; of zero bytes the pointer is `NULL`. Work that is enqueued afterwards may use
/// the memory, and so may what waits for such work.
pub struct Allocate<'a> {
    bytes: usize,
    /// `None`: the current pool of the stream's device.
    pool: Option<&'a RawPool>,
}

impl<'a> Allocate<'a> {
    /// From the current pool of the stream's device.
    #[inline]
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self { bytes, pool: None }
    }

    /// From this pool.
    pub(crate) fn from_pool(pool: &'a RawPool, bytes: usize) -> Self {
        Self { bytes, pool: Some(pool) }
    }
}

impl Operation for Allocate<'_> {
    type Output = DevicePointer;
    type Checked<'a>
        = ()
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { allocates: true, ..Traits::default() }
    }

    #[inline(always)]
    fn check<'a>(&'a self, _at: &'a Context) -> Result<(), Error> {
        Ok(())
    }

    #[inline(always)]
    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<DevicePointer, Error> {
        let context = stream.context();
        let allocated = allocating(|| match self.pool {
            None => RawMemory::allocate_on(context.table(), stream.raw(), self.bytes)
                .map(|memory| memory.pointer()),
            Some(pool) => pool.allocate(stream.raw(), self.bytes),
        });
        allocated.map(DevicePointer).map_err(|error| {
            let mut failure = context.failed(error, stream);
            if self.pool.is_none() {
                explain_out_of_memory(&mut failure, context, self.bytes);
                explain_pools(&mut failure, context);
            }
            failure
        })
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        Deeds::new(format!("allocation of {} bytes", self.bytes))
    }

    #[cold]
    fn deeds_of(&self, output: &DevicePointer) -> Option<Deeds> {
        let mut deeds = Deeds::new("");
        let (access, usage) = (Access::Writes, Use::Allocated);
        deeds.touch(Touch { address: output.0, bytes: Some(self.bytes as u64), access, usage, name: None });
        Some(deeds)
    }

    fn captured(&mut self) -> Captured<'_> {
        match self.pool {
            _ if self.bytes == 0 => Captured::Nothing,
            None => Captured::Plain(NodeType::Allocation),
            Some(_) => Captured::Refused("memory of a pool cannot come and go in a graph"),
        }
    }
}

/// Frees memory after the work that is in a stream by now.
pub struct Free {
    pointer: DevicePointer,
}

impl Free {
    /// The memory that starts there. Of `NULL` nothing is freed.
    #[inline]
    #[must_use]
    pub fn new(pointer: DevicePointer) -> Self {
        Self { pointer }
    }

    pub(super) fn pointer(&self) -> DevicePointer {
        self.pointer
    }
}

impl Operation for Free {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { allocates: true, ..Traits::default() }
    }

    #[inline(always)]
    fn check<'a>(&'a self, _at: &'a Context) -> Result<(), Error> {
        Ok(())
    }

    #[inline(always)]
    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        let context = stream.context();
        // SAFETY: the caller vouches that the memory is there, and that nobody else frees it.
        let raw = unsafe { RawMemory::adopt(context.table(), self.pointer.0) };
        raw.free_on(stream.raw()).map_err(|error| {
            let mut failure = explain_free(context.failed(error, stream), stream.driver(), self.pointer);
            explain_pools(&mut failure, context);
            failure
        })
    }

    #[cold]
    fn deeds(&self) -> Deeds {
        let mut deeds = Deeds::new("free");
        let (access, usage) = (Access::Writes, Use::Freed);
        deeds.touch(Touch { address: self.pointer.0, bytes: None, access, usage, name: None });
        deeds
    }

    fn captured(&mut self) -> Captured<'_> {
        if self.pointer.is_null() { Captured::Nothing } else { Captured::Node(self) }
    }
}

impl Stream {
    /// Allocates memory in the order of the stream: [`Allocate`]. Nobody frees it but by [`free`](Self::free) or as CUDA does.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the device has no pools; the driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    #[inline]
    pub fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        // SAFETY: allocating touches no memory.
        unsafe { self.enqueue(&mut Allocate::new(bytes)) }
    }

    /// Frees memory after the work that is in the stream by now: [`Free`]. Memory that was destroyed with its context is free,
    /// and so is that of a corrupted context, which ends with the process.
    /// Memory of another context is not freed in a stream whose own was reset.
    ///
    /// # Safety
    /// `pointer` is the start of an allocation that the driver can free in stream order, nobody else frees it, and what uses
    /// it comes before in the stream's order.
    ///
    /// # Errors
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) if the stream's context was reset and the memory is still there; the driver's.
    #[inline]
    pub unsafe fn free(&self, pointer: DevicePointer) -> Result<(), Error> {
        // The driver is not asked whether others reset the context, no more than by other calls on a stream: that is a second
        // call of the driver.
        let context = self.context();
        if !context.is_known_gone() {
            // SAFETY: as the caller vouches.
            let freed = unsafe { self.enqueue(&mut Free::new(pointer)) };
            if freed.is_ok() || !context.is_known_gone() {
                return context.forgiven(freed);
            }
        }
        context.check_went(pointer.0, self)
    }
}

pub(crate) fn is_out_of_memory(failure: &Error) -> bool {
    failure.status.0 == sys::CUDA_ERROR_OUT_OF_MEMORY.0
}

/// Adds to an error of memory that ran out how much was asked for, and how much there is.
#[cold]
pub(crate) fn explain_out_of_memory(failure: &mut Error, context: &Context, bytes: usize) {
    if !is_out_of_memory(failure) {
        return;
    }
    failure.message.push_str(&format!(". {bytes} bytes were asked for"));
    if let Ok((free, total)) = context.memory_info() {
        failure.message.push_str(&format!("; {} has {free} of {total} bytes free", context.device()));
    }
}

/// A driver that refuses to free says no more than that it does not like an argument, or does not do that; there is only
/// one argument.
#[cold]
pub(crate) fn explain_free(mut failure: Error, driver: &Driver, pointer: DevicePointer) -> Error {
    let is_managed = || PointerAttributes::of(driver, pointer.0).is_ok_and(|found| found.managed);
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(&format!(
            ". No memory that can be freed this way starts at {:#x}: it was never allocated, or it was freed",
            pointer.0
        ));
    } else if failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0 && is_managed() {
        failure
            .message
            .push_str(&format!(". The memory at {:#x} is managed: it is freed without a stream", pointer.0));
    }
    failure
}

/// A device without pools answers that allocating and freeing in stream order is not supported; this says why.
#[cold]
fn explain_pools(failure: &mut Error, context: &Context) {
    let device = context.device();
    let no_pools = || matches!(device.attribute(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), Ok(0));
    if failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0 && no_pools() {
        failure.status = Status::UNSUPPORTED;
        failure.message = format!(
            "{device} has no memory pools, so it cannot allocate or free in stream order; allocate without a stream"
        );
    }
}
