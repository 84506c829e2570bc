//! Device memory.

use super::{Block, DevicePointer, Place, PointerAttributes, is_out_of_memory, went_with_reset};
use crate::callback;
use crate::context::Context;
use crate::driver::calls::memory::allocation::{self as calls, RawMemory};
use crate::driver::{Driver, sys};
use crate::error::{Error, Status};
use crate::stream::{Stream, StreamKind};
use std::fmt;
use std::sync::Arc;
use std::thread::ThreadId;

/// Device memory that is freed when this is dropped.
///
/// It keeps its context alive, and its stream. A free that fails when it is dropped goes to the log; use
/// [`free`](Self::free) to be told. Every function may be called from every thread.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::Device;
/// use cushim::memory::{DeviceMemory, Fill, Place};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let memory = DeviceMemory::allocate(&context, 64)?;
/// let mut bytes = [0u8; 64];
/// // SAFETY: the memory holds 16 values of four bytes, and so does the array.
/// unsafe {
///     context.fill(memory.pointer(), Fill::U32(0x0706_0504), 16)?;
///     context.copy(Place::host(&mut bytes), memory.place(), 64)?;
/// }
/// assert_eq!(bytes[..8], [4, 5, 6, 7, 4, 5, 6, 7]);
/// memory.free()?;
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct DeviceMemory {
    /// `None` only while it is being released.
    raw: Option<RawMemory>,
    bytes: usize,
    order: Order,
}

/// In which order memory comes and goes.
#[derive(Clone)]
enum Order {
    /// At once.
    Now(Arc<Context>),
    /// In that of a stream, and of this thread if the stream means another one on each.
    Stream(Arc<Stream>, Option<ThreadId>),
}

impl DeviceMemory {
    /// Allocates memory at once, aligned to at least 256 bytes; of no bytes it is `NULL`. What it holds is not defined.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn allocate(context: &Arc<Context>, bytes: usize) -> Result<Self, Error> {
        let raw = context.allocate_raw(bytes)?;
        Ok(Self { raw: Some(raw), bytes, order: Order::Now(Arc::clone(context)) })
    }

    /// Allocates memory in the stream's order, from the current pool of its device; of no bytes it is `NULL`. Work that
    /// is enqueued in the stream afterwards may use it, and so may what waits for such work.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the device has no pools; the driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn allocate_on(stream: &Arc<Stream>, bytes: usize) -> Result<Self, Error> {
        let raw = stream.allocate_raw(bytes)?;
        Ok(Self { raw: Some(raw), bytes, order: Order::of_stream(stream) })
    }

    /// Takes over memory that was allocated elsewhere: it will be freed with `cuMemFree`.
    ///
    /// # Safety
    /// `pointer` is the start of an allocation that the driver can free in `context`, and nobody else frees it.
    #[must_use]
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn from_pointer(context: &Arc<Context>, pointer: DevicePointer, bytes: usize) -> Self {
        let raw = RawMemory::adopt(context.table(), pointer.0);
        Self { raw: Some(raw), bytes, order: Order::Now(Arc::clone(context)) }
    }

    /// Takes over memory that was allocated elsewhere: it will be freed in the order of `stream`.
    ///
    /// # Safety
    /// `pointer` is the start of an allocation that the driver can free in stream order, nobody else frees it, and what
    /// uses it comes before the free in the stream's order.
    #[must_use]
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn from_pointer_on(stream: &Arc<Stream>, pointer: DevicePointer, bytes: usize) -> Self {
        let raw = RawMemory::adopt(stream.context().table(), pointer.0);
        Self { raw: Some(raw), bytes, order: Order::of_stream(stream) }
    }

    /// Gives the memory up: the caller frees it.
    #[must_use = "nobody else frees the memory"]
    pub fn into_pointer(mut self) -> DevicePointer {
        let pointer = self.pointer();
        self.raw = None;
        pointer
    }

    /// Where the memory starts.
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        DevicePointer(self.raw.as_ref().map_or(0, RawMemory::pointer))
    }

    /// The memory's start, as an end of a copy.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::Device(self.pointer())
    }

    /// How many bytes there are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The context that the memory belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        self.order.context()
    }

    /// The stream in whose order the memory comes and goes; `None` if it does so at once.
    #[must_use]
    pub fn stream(&self) -> Option<&Arc<Stream>> {
        match &self.order {
            Order::Now(_) => None,
            Order::Stream(stream, _) => Some(stream),
        }
    }

    /// Frees the memory as it was allocated: at once, or in its stream's order. At once, the driver may first wait for
    /// all work of the device.
    ///
    /// Memory of a per-thread default stream that another thread frees is freed once all work of the context is done,
    /// because the other thread cannot name that stream.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`] inside a host function, where the memory is freed soon afterwards instead; the driver's. The
    /// memory is given up all the same.
    pub fn free(mut self) -> Result<(), Error> {
        callback::check_allowed()?;
        self.release()
    }

    /// Frees the memory after the work that is in `stream` by now. Memory that was allocated at once is freed at once,
    /// after waiting for the stream.
    ///
    /// # Errors
    /// As for [`free`](Self::free), and [`Status::INVALID_HANDLE`] if the stream belongs to another driver. The memory is
    /// given up all the same: if the stream is not to be had, as [`free`](Self::free) would do it.
    pub fn free_on(mut self, stream: &Arc<Stream>) -> Result<(), Error> {
        callback::check_allowed()?;
        stream.same_driver(self.context().driver(), &self.block())?;
        match &self.order {
            Order::Now(_) => stream.synchronize()?,
            Order::Stream(..) => self.order = Order::of_stream(stream),
        }
        self.release()
    }

    fn release(&mut self) -> Result<(), Error> {
        let block = self.block();
        match self.raw.take() {
            Some(raw) if !went_with_reset(self.context()) => self.order.free(raw, &block),
            _ => Ok(()),
        }
    }

    fn block(&self) -> Block {
        block(self.bytes, self.pointer())
    }
}

fn block(bytes: usize, pointer: DevicePointer) -> Block {
    Block { what: "device memory", bytes, address: pointer.0 }
}

impl Order {
    fn of_stream(stream: &Arc<Stream>) -> Self {
        let thread = (stream.kind() == StreamKind::PerThread).then(|| std::thread::current().id());
        Self::Stream(Arc::clone(stream), thread)
    }

    fn context(&self) -> &Arc<Context> {
        match self {
            Self::Now(context) => context,
            Self::Stream(stream, _) => stream.context(),
        }
    }

    fn free(&self, raw: RawMemory, block: &Block) -> Result<(), Error> {
        let context = self.context();
        match self {
            Self::Now(_) => context.released(raw.free(), block),
            Self::Stream(stream, thread) if thread.is_none_or(is_this) => stream.free_raw(raw, block),
            Self::Stream(..) => {
                let waited = context.synchronize();
                waited.and(context.released(raw.free(), block))
            }
        }
    }
}

fn is_this(thread: ThreadId) -> bool {
    thread == std::thread::current().id()
}

/// Allocation for those who keep the pointer themselves: no object comes of it that would hold its stream.
impl Stream {
    /// As [`DeviceMemory::allocate_on`].
    pub(crate) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        Ok(DevicePointer(self.allocate_raw(bytes)?.pointer()))
    }

    /// Frees the memory after the work that is in the stream by now.
    ///
    /// # Safety
    /// As for [`DeviceMemory::from_pointer_on`].
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub(crate) unsafe fn free(&self, pointer: DevicePointer) -> Result<(), Error> {
        // The driver is not asked whether others reset the context, no more than by other calls on a stream: that is a second
        // call of the driver.
        if self.context().is_known_gone() {
            return Ok(());
        }
        let raw = RawMemory::adopt(self.context().table(), pointer.0);
        self.free_raw(raw, &block(0, pointer)).map_err(|failure| {
            let mut failure = explain_free(failure, self.driver(), pointer);
            explain_pools(&mut failure, self.context());
            failure
        })
    }

    #[inline]
    fn allocate_raw(&self, bytes: usize) -> Result<RawMemory, Error> {
        let context = self.context();
        let _current = self.enter_if_default()?;
        RawMemory::allocate_on(context.table(), self.raw(), bytes).map_err(|error| {
            let mut failure = context.failed(error, self);
            explain_out_of_memory(&mut failure, context, bytes);
            explain_pools(&mut failure, context);
            failure
        })
    }

    #[inline]
    fn free_raw(&self, raw: RawMemory, block: &Block) -> Result<(), Error> {
        let _current = self.enter_if_default()?;
        self.context().released(raw.free_on(self.raw()), block)
    }
}

/// The same outside of any stream.
impl Context {
    /// As [`DeviceMemory::allocate`].
    pub(crate) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        Ok(DevicePointer(self.allocate_raw(bytes)?.pointer()))
    }

    /// Frees the memory at once.
    ///
    /// # Safety
    /// As for [`DeviceMemory::from_pointer`].
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub(crate) unsafe fn free(&self, pointer: DevicePointer) -> Result<(), Error> {
        if went_with_reset(self) {
            return Ok(());
        }
        let freed = RawMemory::adopt(self.table(), pointer.0).free();
        self.released(freed, &block(0, pointer))
            .map_err(|failure| explain_free(failure, self.driver(), pointer))
    }

    #[inline]
    fn allocate_raw(&self, bytes: usize) -> Result<RawMemory, Error> {
        RawMemory::allocate(self.live(self)?, bytes).map_err(|error| {
            let mut failure = self.failed(error, self);
            explain_out_of_memory(&mut failure, self, bytes);
            failure
        })
    }
}

impl Context {
    /// Bytes of the device's memory that are free, for whomever, and all bytes of it.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_info(&self) -> Result<(usize, usize), Error> {
        self.here(calls::info)
    }
}

/// Adds to an error of memory that ran out how much was asked for, and how much there is.
pub(super) fn explain_out_of_memory(failure: &mut Error, context: &Context, bytes: usize) {
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
pub(super) fn explain_free(mut failure: Error, driver: &Driver, pointer: DevicePointer) -> Error {
    let is_managed = || PointerAttributes::of(driver, pointer.0).is_ok_and(|found| found.managed);
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(&format!(
            ". No memory that can be freed so starts at {:#x}: it was freed before, or never allocated",
            pointer.0
        ));
    } else if failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0 && is_managed() {
        failure.message.push_str(&format!(
            ". The memory at {:#x} is managed, and goes at once, not in the order of a stream",
            pointer.0
        ));
    }
    failure
}

/// A device without pools answers that allocating and freeing in stream order is not supported; this says why.
fn explain_pools(failure: &mut Error, context: &Context) {
    let device = context.device();
    let no_pools = || matches!(device.attribute(sys::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), Ok(0));
    if failure.status.0 == sys::CUDA_ERROR_NOT_SUPPORTED.0 && no_pools() {
        failure.status = Status::UNSUPPORTED;
        failure.message = format!(
            "{device} has no memory pools, without which nothing is allocated or freed in stream order; do it without a stream"
        );
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if callback::is_inside() {
            // The driver frees nothing there.
            let (raw, bytes, order) = (self.raw.take(), self.bytes, self.order.clone());
            return callback::later(Self { raw, bytes, order });
        }
        let result = self.release();
        crate::release::report(self.context().driver(), result);
    }
}

impl fmt::Display for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.block().fmt(f)
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMemory")
            .field("pointer", &self.pointer())
            .field("bytes", &self.bytes)
            .field("context", self.context())
            .field("stream", &self.stream())
            .finish()
    }
}
