//! Device memory.

use super::Block;
use crate::context::{Context, forgiven_if_corrupted};
use crate::driver::calls::memory::allocation::RawMemory;
use crate::object::callback::{self, allocating};
use crate::object::error::Error;
use crate::object::native;
use crate::object::thread::ThreadId;
use crate::op::{Allocate, Endpoint, Free, explain_free, explain_out_of_memory};
use crate::order::stand_in_for;
use crate::pointer::DevicePointer;
use crate::stream::{Stream, StreamKind};
use std::fmt;

/// Device memory that is freed when this is dropped.
///
/// It keeps its context alive, and its stream. A free that fails when it is dropped goes to the log; use
/// [`free`](Self::free) to be told. Every function may be called from every thread.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::Device;
/// use cushim::memory::DeviceMemory;
/// use cushim::op::{Copy, Endpoint, Memset, Value};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let context = Device::get(&driver, 0)?.primary_context()?;
/// let memory = DeviceMemory::allocate(&context, 64)?;
/// let mut bytes = [0u8; 64];
/// // SAFETY: the memory holds 16 values of four bytes, and so does the array.
/// unsafe {
///     context.run(&mut Memset::new(memory.at(0), Value::U32(0x0706_0504), 16))?;
///     context.run(&mut Copy::new(Endpoint::host(&mut bytes), memory.at(0), 64))?;
/// }
/// assert_eq!(bytes[..8], [4, 5, 6, 7, 4, 5, 6, 7]);
/// memory.free()?;
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct DeviceMemory {
    /// `NULL` once it was given up.
    pointer: DevicePointer,
    bytes: usize,
    order: Order,
}

/// In which order memory comes and goes.
#[derive(Clone)]
enum Order {
    /// In none: outside of any stream.
    None(Context),
    /// In that of a stream, and of this thread if the stream means another one on each.
    Stream(Stream, Option<ThreadId>, Origin),
}

/// Where memory that is freed in a stream's order comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It was allocated here, from a pool: it outlives every context.
    Pool,
    /// It was taken over: perhaps it goes with its context.
    Elsewhere,
}

impl DeviceMemory {
    /// Allocates memory outside of any stream, aligned to at least 256 bytes; of zero bytes it is `NULL`. What it holds is not
    /// defined.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn allocate(context: &Context, bytes: usize) -> Result<Self, Error> {
        let pointer = context.allocate(bytes)?;
        Ok(Self { pointer, bytes, order: Order::None(context.clone()) })
    }

    /// Allocates memory in the stream's order, from the current pool of its device: [`Allocate`](crate::op::Allocate).
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) if the device has no pools; the driver's:
    /// `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn allocate_on(stream: &Stream, bytes: usize) -> Result<Self, Error> {
        stream.check_not_capturing(
            "memory of its own would become a graph's: use a resource of graphs, or an arena",
        )?;
        // SAFETY: allocating touches no memory.
        let pointer = unsafe { stream.enqueue(&mut Allocate::new(bytes)) }?;
        Ok(Self { pointer, bytes, order: Order::of_stream(stream, Origin::Pool) })
    }

    /// Takes over memory that was allocated elsewhere: it will be freed with `cuMemFree`, which does not wait for work that uses memory of
    /// a pool: take that over with [`from_pointer_on`](Self::from_pointer_on).
    ///
    /// # Safety
    /// `pointer` is the start of an allocation that the driver can free in `context`, and nobody else frees it. If it is memory of a pool,
    /// what uses it is done when this frees it.
    #[must_use]
    pub unsafe fn from_pointer(context: &Context, pointer: DevicePointer, bytes: usize) -> Self {
        Self { pointer, bytes, order: Order::None(context.clone()) }
    }

    /// Takes over memory that was allocated elsewhere: it will be freed in the order of `stream`.
    ///
    /// # Safety
    /// `pointer` is the start of an allocation that the driver can free in stream order, nobody else frees it, and what
    /// uses it comes before the free in the stream's order.
    #[must_use]
    pub unsafe fn from_pointer_on(stream: &Stream, pointer: DevicePointer, bytes: usize) -> Self {
        Self { pointer, bytes, order: Order::of_stream(stream, Origin::Elsewhere) }
    }

    /// Gives the memory up: the caller frees it.
    #[must_use = "nobody else frees the memory"]
    pub fn into_pointer(mut self) -> DevicePointer {
        std::mem::take(&mut self.pointer)
    }

    /// Where the memory starts.
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    /// The memory from so many bytes on, for an operation that does not reach past its end.
    #[must_use]
    pub fn at(&self, offset: u64) -> Endpoint<'_> {
        let end = self.pointer.0 + self.bytes as u64;
        Endpoint::device(DevicePointer(self.pointer.0.saturating_add(offset))).within(end)
    }

    /// How many bytes there are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The context that the memory belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.order.context()
    }

    /// The stream in whose order the memory comes and goes; `None` if it does so at once.
    #[must_use]
    pub fn stream(&self) -> Option<&Stream> {
        match &self.order {
            Order::None(_) => None,
            Order::Stream(stream, ..) => Some(stream),
        }
    }

    /// Frees the memory as it was allocated: at once, or in its stream's order. At once, the driver may first wait for
    /// all work of the device.
    ///
    /// Memory of a per-thread default stream that another thread frees is freed once all work of the context is done,
    /// because the other thread cannot name that stream.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`](crate::Status::IN_CALLBACK) inside a host function, where the memory is freed soon afterwards instead; the driver's. The
    /// memory is given up all the same.
    pub fn free(mut self) -> Result<(), Error> {
        callback::check_allowed()?;
        self.release()
    }

    /// Frees the memory after the work that is in `stream` by now. Memory that was allocated at once is freed at once,
    /// after waiting for the stream.
    ///
    /// # Errors
    /// As for [`free`](Self::free), and [`Status::INVALID_HANDLE`](crate::Status::INVALID_HANDLE) if the stream belongs to another driver. The memory is
    /// given up all the same: if the stream is not to be had, as [`free`](Self::free) would do it.
    pub fn free_on(mut self, stream: &Stream) -> Result<(), Error> {
        callback::check_allowed()?;
        stream.same_driver(self.context().driver(), &self.block())?;
        match &self.order {
            Order::None(_) => stream.synchronize()?,
            Order::Stream(.., origin) => self.order = Order::of_stream(stream, *origin),
        }
        self.release()
    }

    fn release(&mut self) -> Result<(), Error> {
        let block = self.block();
        match std::mem::take(&mut self.pointer) {
            DevicePointer::NULL => Ok(()),
            // SAFETY: the memory is this object's, which gives it up; whoever enqueued work that uses it vouched for that.
            pointer => unsafe { self.order.free(pointer, &block) },
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
    fn of_stream(stream: &Stream, origin: Origin) -> Self {
        let thread = (stream.kind() == StreamKind::PerThread).then(ThreadId::current);
        Self::Stream(stream.clone(), thread, origin)
    }

    fn context(&self) -> &Context {
        match self {
            Self::None(context) => context,
            Self::Stream(stream, ..) => stream.context(),
        }
    }

    /// # Safety
    /// Nobody else frees the memory, and nobody uses it any more.
    unsafe fn free(&self, pointer: DevicePointer, block: &Block) -> Result<(), Error> {
        let context = self.context();
        if context.is_gone() {
            // SAFETY: as the caller vouches.
            return unsafe { self.free_stranded(pointer, block) };
        }
        let freed = match self {
            // What was allocated outside of a graph is not freed in one.
            // SAFETY: as the caller vouches.
            Self::Stream(stream, ..) if stream.is_capturing().unwrap_or(false) => unsafe {
                context.free_beside_capture(pointer, block)
            },
            // SAFETY: as the caller vouches.
            Self::Stream(stream, thread, _) if thread.is_none_or(is_this) => unsafe {
                stream.enqueue(&mut Free::new(pointer))
            },
            Self::Stream(..) => {
                let waited = context.synchronize();
                // SAFETY: as the caller vouches.
                waited.and(unsafe { context.free_block(pointer, block) })
            }
            // SAFETY: as the caller vouches.
            Self::None(_) => unsafe { context.free_block(pointer, block) },
        };
        context.forgiven(freed)
    }

    /// Frees what the context of its stream did not take with it.
    ///
    /// # Safety
    /// As for [`free`](Self::free).
    #[cold]
    unsafe fn free_stranded(&self, pointer: DevicePointer, block: &Block) -> Result<(), Error> {
        let context = self.context();
        if !matches!(self, Self::Stream(.., Origin::Pool)) {
            return context.check_went_with_it(pointer.0, block);
        }
        // SAFETY: as the caller vouches.
        let freed = stand_in_for(context, None)
            .and_then(|stand_in| unsafe { stand_in.enqueue(&mut Free::new(pointer)) });
        forgiven_if_corrupted(freed)
    }
}

fn is_this(thread: ThreadId) -> bool {
    thread == ThreadId::current()
}

/// Allocation for those who keep the pointer themselves.
impl Context {
    /// As [`DeviceMemory::allocate`].
    #[inline]
    pub(crate) fn allocate(&self, bytes: usize) -> Result<DevicePointer, Error> {
        let here = self.live(self)?;
        let allocated = allocating(|| RawMemory::allocate(here, bytes));
        allocated.map(|memory| DevicePointer(memory.pointer())).map_err(|error| {
            let mut failure = self.failed(error, self);
            explain_out_of_memory(&mut failure, self, bytes);
            failure
        })
    }

    /// Frees the memory outside of any stream.
    ///
    /// # Safety
    /// As for [`DeviceMemory::from_pointer`].
    pub(crate) unsafe fn free(&self, pointer: DevicePointer) -> Result<(), Error> {
        let block = block(0, pointer);
        if self.is_gone() {
            return self.check_went_with_it(pointer.0, &block);
        }
        // SAFETY: as the caller vouches.
        let freed = unsafe { self.free_block(pointer, &block) };
        self.forgiven(freed).map_err(|failure| explain_free(failure, self.driver(), pointer))
    }

    /// Frees memory once the work of the context is done, where waiting for the context would end a capture. The driver waits for that work
    /// when it frees plain memory, but not when it frees a pool's: so some plain memory is freed first.
    ///
    /// # Safety
    /// As for [`DeviceMemory::from_pointer`].
    #[cold]
    unsafe fn free_beside_capture(&self, pointer: DevicePointer, block: &Block) -> Result<(), Error> {
        let waited = RawMemory::allocate(self.live(self)?, 1).and_then(RawMemory::free);
        waited.map_err(|error| self.failed(error, block))?;
        // SAFETY: as the caller vouches.
        unsafe { self.free_block(pointer, block) }
    }

    /// # Safety
    /// As for [`DeviceMemory::from_pointer`].
    unsafe fn free_block(&self, pointer: DevicePointer, block: &Block) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        let raw = unsafe { RawMemory::adopt(self.table(), pointer.0) };
        raw.free().map_err(|error| self.failed(error, block))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let block = self.block();
        let (pointer, order) = (std::mem::take(&mut self.pointer), self.order.clone());
        if pointer.is_null() {
            return;
        }
        // SAFETY: the memory was this object's; whoever enqueued work that uses it vouched for that.
        native::release(self.context().driver(), &block, move |_| unsafe { order.free(pointer, &block) });
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
