//! Buffers: memory that frees itself, wherever it comes from.
//!
//! | file | concept |
//! |---|---|
//! | `copy` | copies and fills of buffers |
//! | `order` | the stream in whose order a buffer's memory is freed |
//! | `scratch` | host arrays on the device for the time of a launch |
//! | `wrap` | memory of others' |
//! | `release` | what happens when the last hold on a buffer goes |

mod copy;
mod order;
mod release;
mod scratch;
mod wrap;

pub use wrap::Home;

use super::{Block, DevicePointer, Place, PointerAttributes, Properties, Resource};
use crate::callback;
use crate::context::Context;
use crate::driver::{Driver, sys};
use crate::error::{Error, Status};
use crate::handle::{Header, object};
use crate::stream::Stream;
use order::Order;
use parking_lot::Mutex;
pub(crate) use release::Standing;
use std::fmt;
use std::sync::Arc;

/// Memory of any kind, with what becomes of it when the last hold on it goes.
///
/// Each claim, and each object that uses the buffer, holds it. When the last of them lets go, memory of a stream-ordered
/// resource is freed in the order of the *deallocation stream*: at first that of the allocation, then the one that was set
/// last, or named in a destroy. The buffer keeps that stream alive, and the context in which the memory came. Every function
/// may be called from every thread.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::memory::{Buffer, Fill, Place};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let device = Device::get(&driver, 0)?;
/// let stream = Stream::create(&device.primary_context()?, &StreamOptions::default())?;
/// let buffer = Buffer::create(&device.resource()?, 64, Some(&stream))?;
/// let mut bytes = [0u8; 64];
/// // SAFETY: the buffer holds 16 values of four bytes, and so does the array.
/// unsafe {
///     stream.fill(buffer.pointer(), Fill::U32(0x0706_0504), 16)?;
///     stream.copy(Place::host(&mut bytes), buffer.place(), 64)?;
/// }
/// stream.synchronize()?;
/// assert_eq!(bytes[..4], [4, 5, 6, 7]);
/// Buffer::destroy(buffer)?; // in the order of the stream
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct Buffer {
    header: Header,
    driver: Driver,
    pointer: DevicePointer,
    bytes: usize,
    /// `None` only while it is being released.
    home: Option<Home>,
    order: Mutex<Option<Order>>,
    standing: Standing,
}

object!(Buffer: Buffer, header);

impl Buffer {
    /// Allocates so many bytes from the resource; of none, the pointer is `NULL`. What they hold is not defined.
    ///
    /// The stream is the first deallocation stream if the resource is stream-ordered; otherwise it is only checked.
    ///
    /// # Errors
    /// As for [`Resource::allocate`].
    pub fn create(
        resource: &Arc<Resource>,
        bytes: usize,
        stream: Option<&Arc<Stream>>,
    ) -> Result<Arc<Self>, Error> {
        let pointer = resource.allocate(bytes, stream)?;
        let recorded = stream.filter(|_| resource.properties().stream_ordered);
        let home = Home::Resource(Arc::clone(resource));
        Ok(Self::new(resource.driver(), pointer, bytes, home, recorded))
    }

    fn new(
        driver: &Driver,
        pointer: DevicePointer,
        bytes: usize,
        home: Home,
        stream: Option<&Arc<Stream>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            header: Header::new::<Self>(),
            driver: driver.clone(),
            pointer,
            bytes,
            home: Some(home),
            order: Mutex::new(stream.map(Order::of)),
            standing: Standing::Unknown,
        })
    }

    /// Where the memory starts: an address for devices, for the host, or for both, as
    /// [`properties`](Self::properties) say.
    #[inline]
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    /// How many bytes there are.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory, as an end of a copy that does not reach past it. The driver knows what sort of memory it is.
    #[must_use]
    pub fn place(&self) -> Place {
        self.part(0)
    }

    /// The same from so many bytes on.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for more bytes than there are.
    pub fn place_at(&self, offset: u64) -> Result<Place, Error> {
        if offset > self.bytes as u64 {
            let refusal =
                format!("the offset {offset} is past the end of {self}, which has {} bytes", self.bytes);
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self));
        }
        Ok(self.part(offset))
    }

    fn part(&self, offset: u64) -> Place {
        let known = self.resource().map(|resource| resource.properties());
        Place::Part {
            start: self.pointer.0 + offset,
            end: self.pointer.0 + self.bytes as u64,
            device: known.filter(|known| !known.host_accessible).and_then(|known| known.device),
        }
    }

    /// The driver that the buffer belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Where the memory comes from and goes to.
    #[must_use]
    pub fn home(&self) -> &Home {
        self.home.as_ref().expect("a buffer has its home until it is dropped")
    }

    /// The resource that frees the memory; `None` if none does.
    #[must_use]
    pub fn resource(&self) -> Option<&Arc<Resource>> {
        match self.home() {
            Home::Resource(resource) => Some(resource),
            Home::Owner(_) | Home::Lender => None,
        }
    }

    /// The context in which the memory was allocated, or else that of its deallocation stream; `None` if it has neither.
    #[must_use]
    pub fn context(&self) -> Option<Arc<Context>> {
        let of_resource = self.resource().and_then(|resource| resource.context().cloned());
        of_resource.or_else(|| self.stream().map(|stream| Arc::clone(stream.context())))
    }

    /// What may be done with the memory: as the resource says, or else the driver. Of memory without a resource nothing
    /// says that it is stream-ordered.
    ///
    /// # Errors
    /// The driver's.
    pub fn properties(&self) -> Result<Properties, Error> {
        let Some(resource) = self.resource() else { return self.asked() };
        let mut properties = resource.properties();
        properties.managed = properties.managed || self.has_attribute_managed()?;
        Ok(properties)
    }

    /// Whether it is managed memory: by the driver's word or the resource's.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_managed(&self) -> Result<bool, Error> {
        self.properties().map(|properties| properties.managed)
    }

    /// What the driver says of the pointer.
    fn asked(&self) -> Result<Properties, Error> {
        let found = match PointerAttributes::of(&self.driver, self.pointer.0) {
            // A driver that does not tell (`none`) has no memory: it can only be the host's.
            Err(failure) if failure.status == Status::UNSUPPORTED => return Ok(Properties::host(false)),
            found => found?,
        };
        Ok(match found.memory_type {
            None => Properties::host(false),
            Some(_) if found.managed => Properties::managed(),
            Some(sys::CU_MEMORYTYPE_HOST) => Properties::host(true),
            Some(_) => Properties { device: found.device, ..Properties::device(0) },
        })
    }

    fn has_attribute_managed(&self) -> Result<bool, Error> {
        if self.pointer.is_null() {
            return Ok(false);
        }
        match PointerAttributes::of(&self.driver, self.pointer.0) {
            Err(failure) if failure.status == Status::UNSUPPORTED => Ok(false),
            found => Ok(found?.managed),
        }
    }

    /// The deallocation stream; `None` if there is none.
    #[must_use]
    pub fn stream(&self) -> Option<Arc<Stream>> {
        self.order.lock().as_ref().map(|order| Arc::clone(order.stream()))
    }

    /// Sets the deallocation stream. For memory that is not stream-ordered it is the stream that is waited for before the
    /// memory is freed.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a stream of another driver; the error of its context, if that is gone.
    pub fn set_stream(&self, stream: &Arc<Stream>) -> Result<(), Error> {
        stream.same_driver(&self.driver, self)?;
        stream.context().check_there(stream.as_ref())?;
        self.record(Order::of(stream));
        Ok(())
    }

    fn record(&self, order: Order) {
        let mut recorded = self.order.lock();
        let order = match recorded.as_ref() {
            Some(before) => order.in_place_of(before),
            None => order,
        };
        let before = recorded.replace(order);
        drop(recorded);
        drop(before); // outside of the lock: it may be the last hold on a stream
    }

    /// Ends one hold on the buffer, and answers for the release if it was the last.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`] inside a host function, where the release comes soon afterwards; that of the resource's free.
    pub fn destroy(buffer: Arc<Self>) -> Result<(), Error> {
        callback::check_allowed()?;
        crate::release::collect(|| buffer.let_go())
    }

    /// The same, with another deallocation stream: the memory is freed after what is in that stream by now, whenever the
    /// last hold goes.
    ///
    /// # Errors
    /// As for [`destroy`](Self::destroy) and [`set_stream`](Self::set_stream); of the latter, the hold is ended as
    /// [`destroy`](Self::destroy) would.
    pub fn destroy_on(buffer: Arc<Self>, stream: &Arc<Stream>) -> Result<(), Error> {
        callback::check_allowed()?;
        let standing = buffer.check_destroy(Some(stream))?;
        buffer.set_stream(stream)?;
        crate::release::collect(|| buffer.let_go_knowing(standing))
    }

    /// Refuses to end a claim when the memory could not be freed then.
    pub(crate) fn check_destroy(&self, stream: Option<&Arc<Stream>>) -> Result<Standing, Error> {
        let recorded = self.order.lock().clone();
        let Some(stream) = stream.or(recorded.as_ref().map(Order::stream)) else {
            return Ok(Standing::Unknown);
        };
        stream.same_driver(&self.driver, self)?;
        let Some(resource) = self.resource() else { return Ok(Standing::Unknown) };
        // What went with its context needs no stream.
        if resource.went_with(Some(recorded.as_ref().map_or(stream.context(), Order::origin))) {
            return Ok(Standing::Gone);
        }
        resource.refuse_capture_if_known(stream)?;
        Ok(Standing::There)
    }

    /// Ends a hold. A stream that means another one on each thread can be named now, and perhaps not when the last hold
    /// goes: so the point in it is marked.
    pub(crate) fn let_go(self: Arc<Self>) {
        if Arc::strong_count(&self) > 1 {
            let marked = self.order.lock().as_ref().and_then(Order::to_mark);
            if let Some(order) = marked {
                match order.marked() {
                    Ok(order) => self.record(order),
                    // All work of the context will be waited for instead.
                    Err(failure) => crate::release::report(&self.driver, Err(failure)),
                }
            }
        }
        drop(self);
    }

    /// The same just after [`check_destroy`](Self::check_destroy): if it is the last hold, that need not be asked again.
    pub(crate) fn let_go_knowing(mut self: Arc<Self>, standing: Standing) {
        if let Some(last) = Arc::get_mut(&mut self) {
            last.standing = standing;
        }
        self.let_go();
    }

    fn block(&self) -> Block {
        Block { what: "memory", bytes: self.bytes, address: self.pointer.0 }
    }

    /// Names the buffer in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.header.label()
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "buffer \"{label}\""),
            None => write!(f, "buffer of {} bytes at {}", self.bytes, self.pointer),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("pointer", &self.pointer)
            .field("bytes", &self.bytes)
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}
