//! Buffers: memory that frees itself, wherever it comes from.
//!
//! | file | concept |
//! |---|---|
//! | `known` | what is known of the memory once and for all |
//! | `wrap` | memory of others' |
//! | `shared` | memory of several processes |
//! | `direct` | what other devices on the bus need of a buffer |
//! | `graphics` | buffers of OpenGL, while CUDA has them |
//! | `kept` | the buffers that nodes of graphs use |
//! | `virtual_memory` | buffers that grow and sleep |
//! | `release` | what happens when the last hold on a buffer goes |

mod direct;
mod graphics;
mod kept;
mod known;
mod release;
mod shared;
mod virtual_memory;
mod wrap;

pub use virtual_memory::Contents;
pub use wrap::Home;

use super::{Block, DevicePointer, PointerAttributes, Properties, Resource};
use crate::context::Context;
use crate::driver::{Driver, sys};
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::object::handle::Object as _;
use crate::object::handle::{Header, object};
use crate::object::in_place::arc_of;
use crate::op::{Endpoint, Held, Operand, Side};
use crate::order::Order;
use crate::stream::Stream;
use known::{Keeper, Known};
use parking_lot::Mutex;
pub(crate) use release::Standing;
use std::fmt;
use std::sync::Arc;

/// Memory of any kind, with what becomes of it when the last hold on it goes.
///
/// Each owning handle, and each object that uses the buffer, holds it. When the last of them lets go, memory of a stream-ordered
/// resource is freed in the order of the *deallocation stream*: at first that of the allocation, then the one that was set
/// last, or named in a destroy. The buffer keeps that stream alive, and the context in which the memory came. Every function
/// may be called from every thread.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::memory::Buffer;
/// use cushim::op::{Copy, Endpoint, Memset, Value};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let device = Device::get(&driver, 0)?;
/// let stream = Stream::create(&device.primary_context()?, &StreamOptions::default())?;
/// let buffer = Buffer::create(&device.resource()?, 64, Some(&stream))?;
/// let mut bytes = [0u8; 64];
/// // SAFETY: the buffer holds 16 values of four bytes, and so does the array.
/// unsafe {
///     stream.enqueue(&mut Memset::new(buffer.at(0), Value::U32(0x0706_0504), 16))?;
///     stream.enqueue(&mut Copy::new(Endpoint::host(&mut bytes), buffer.at(0), 64))?;
/// }
/// stream.synchronize()?;
/// assert_eq!(bytes[..4], [4, 5, 6, 7]);
/// Buffer::destroy(buffer)?; // in the order of the stream
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct Buffer(Arc<BufferObject>);

/// What handles of buffers name.
pub(crate) struct BufferObject {
    header: Header,
    /// The driver, where no resource knows it.
    driver: Option<Driver>,
    pointer: DevicePointer,
    bytes: usize,
    known: Known,
    /// `None` only while it is being released.
    home: Option<Home>,
    order: Mutex<Option<Order>>,
    standing: Standing,
}

object!(BufferObject as Buffer: Buffer, header; tell_label);

impl Buffer {
    /// Allocates so many bytes from the resource; of none, the pointer is `NULL`. What they hold is not defined.
    ///
    /// The stream is the first deallocation stream if the resource is stream-ordered; otherwise it is only checked.
    ///
    /// # Errors
    /// As for [`Resource::allocate`].
    pub fn create(resource: &Resource, bytes: usize, stream: Option<&Stream>) -> Result<Self, Error> {
        callback::check_allowed()?;
        Self::create_from(resource.clone(), bytes, stream.cloned())
    }

    /// The same for a caller that gives its holds away, and is inside no function that the driver called.
    #[inline]
    pub(crate) fn create_from(
        resource: Resource,
        bytes: usize,
        stream: Option<Stream>,
    ) -> Result<Self, Error> {
        let bytes = resource.rounded(bytes)?;
        let pointer = resource.allocate_outside(bytes, stream.as_ref())?;
        let known = Known::of_resource(&resource, pointer, stream.as_ref());
        let recorded = stream.filter(|_| resource.records_stream());
        Ok(Self::new(None, pointer, bytes, known, Home::Resource(resource), recorded))
    }

    #[inline(always)]
    fn new(
        driver: Option<&Driver>,
        pointer: DevicePointer,
        bytes: usize,
        known: Known,
        home: Home,
        stream: Option<Stream>,
    ) -> Self {
        Self(arc_of(|| BufferObject {
            header: Header::new::<BufferObject>(),
            driver: driver.cloned(),
            pointer,
            bytes,
            known,
            home: Some(home),
            order: Mutex::new(stream.map(Order::of)),
            standing: Standing::Unknown,
        }))
    }

    /// Where the memory starts: an address for devices, for the host, or for both, as
    /// [`properties`](Self::properties) say.
    #[inline]
    #[must_use]
    pub fn pointer(&self) -> DevicePointer {
        self.0.pointer
    }

    /// Where the memory starts, if it is certain that it is there for work in this context, and that nothing but the buffer keeps
    /// it.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn address_in(&self, at: &Context) -> Option<u64> {
        let is_there = self.0.known.origin.as_ref().is_some_and(|origin| origin == at)
            && matches!(self.0.known.keeper, Keeper::Buffer);
        is_there.then_some(self.0.pointer.0)
    }

    /// How many bytes there are.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Where the memory starts and ends.
    pub(crate) fn range(&self) -> std::ops::Range<u64> {
        self.0.pointer.0..self.0.pointer.0 + self.0.bytes as u64
    }

    /// Whether another buffer is known to be of another context, or another device's memory.
    pub(crate) fn is_elsewhere(&self, other: &Self) -> bool {
        let native = |buffer: &Self| Operand::context(&*buffer.0).map(|context| context.native());
        self.0.known.device != other.0.known.device || native(self) != native(other)
    }

    /// The memory from so many bytes on, for an operation, which does not reach past its end.
    #[inline]
    #[must_use]
    pub fn at(&self, offset: u64) -> Endpoint<'_> {
        let end = self.0.pointer.0 + self.0.bytes as u64;
        let address = self.0.pointer.0.saturating_add(offset);
        let Known { on_host, device, ref origin, ref keeper, .. } = self.0.known;
        let side = if on_host { Side::Host(address) } else { Side::Device(address) };
        match keeper {
            Keeper::Buffer => Endpoint::of_object(Held(&self.0), side, end, device, origin.as_ref()),
            Keeper::Arena(block, _) => Endpoint::of_object(Held(block), side, end, device, None),
            Keeper::Graph => Endpoint::of_graph(side, end, device),
        }
    }

    /// Its address, for a kernel; `None` if something else than the buffer keeps the memory.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn as_argument(&self) -> Option<(&u64, Held<'_>)> {
        matches!(self.0.known.keeper, Keeper::Buffer).then_some((&self.0.pointer.0, Held(&self.0)))
    }

    /// The driver that the buffer belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.0.driver()
    }

    /// Where the memory comes from and goes to.
    #[must_use]
    pub fn home(&self) -> &Home {
        self.0.home()
    }

    /// The resource that frees the memory; `None` if none does.
    #[must_use]
    pub fn resource(&self) -> Option<&Resource> {
        self.0.resource()
    }

    /// The context in which the memory was allocated, or else that of its deallocation stream; `None` if it has neither.
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        let of_resource = self.resource().and_then(|resource| resource.context().cloned());
        of_resource.or_else(|| self.stream().map(|stream| stream.context().clone()))
    }

    /// What may be done with the memory: as the resource says, or else the driver. Of memory without a resource nothing
    /// says that it is stream-ordered.
    ///
    /// # Errors
    /// The driver's.
    pub fn properties(&self) -> Result<Properties, Error> {
        if let (Home::Graphics(_), Some(ordinal)) = (self.home(), self.0.known.device) {
            return Ok(Properties::device(ordinal));
        }
        let Some(resource) = self.resource() else { return self.asked() };
        let mut properties = resource.properties();
        // The driver knows addresses of graphs only while they are launched.
        if matches!(self.0.known.keeper, Keeper::Graph) {
            return Ok(properties);
        }
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
        let found = match PointerAttributes::of(self.driver(), self.0.pointer.0) {
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
        if self.0.pointer.is_null() {
            return Ok(false);
        }
        match PointerAttributes::of(self.driver(), self.0.pointer.0) {
            Err(failure) if failure.status == Status::UNSUPPORTED => Ok(false),
            found => Ok(found?.managed),
        }
    }

    /// The deallocation stream; `None` if there is none.
    #[must_use]
    pub fn stream(&self) -> Option<Stream> {
        self.0.order.lock().as_ref().map(|order| order.stream().clone())
    }

    /// Sets the deallocation stream. For memory that is not stream-ordered it is the stream that is waited for before the
    /// memory is freed.
    ///
    /// # Errors
    /// [`Status::INVALID_HANDLE`] for a stream of another driver; the error of its context, if that is gone.
    pub fn set_stream(&self, stream: &Stream) -> Result<(), Error> {
        stream.same_driver(self.driver(), self)?;
        stream.context().check_there(stream)?;
        self.record(Order::of(stream.clone()));
        Ok(())
    }

    fn record(&self, order: Order) {
        let before = self.0.order.lock().replace(order);
        drop(before); // outside of the lock: it may be the last hold on a stream
    }

    /// Ends one hold on the buffer, and answers for the release if it was the last.
    ///
    /// # Errors
    /// [`Status::IN_CALLBACK`] inside a host function, where the release comes soon afterwards; that of the resource's free.
    pub fn destroy(buffer: Self) -> Result<(), Error> {
        callback::check_allowed()?;
        crate::object::release::collect(|| buffer.let_go())
    }

    /// The same, with another deallocation stream: the memory is freed after what is in that stream by now, whenever the
    /// last hold goes.
    ///
    /// # Errors
    /// As for [`destroy`](Self::destroy) and [`set_stream`](Self::set_stream); of the latter, the hold is ended as
    /// [`destroy`](Self::destroy) would.
    pub fn destroy_on(buffer: Self, stream: &Stream) -> Result<(), Error> {
        callback::check_allowed()?;
        let standing = buffer.check_destroy(Some(stream), 1)?;
        buffer.set_stream(stream)?;
        crate::object::release::collect(|| buffer.let_go_knowing(standing))
    }

    /// Refuses to end an owning handle when the memory could not be freed then; `holds` are those that end with it.
    pub(crate) fn check_destroy(&self, stream: Option<&Stream>, holds: usize) -> Result<Standing, Error> {
        let (recorded, is_named) = (self.0.order.lock().clone(), stream.is_some());
        let Some(stream) = stream.or(recorded.as_ref().map(Order::stream)) else {
            return Ok(Standing::Unknown);
        };
        stream.same_driver(self.driver(), self)?;
        // Unmapped later it would be on a thread without the OpenGL context, which the driver refuses.
        if let Home::Graphics(mapping) = self.home()
            && (is_named || Arc::strong_count(&self.0) <= holds)
        {
            mapping.refuse_capture(stream)?;
        }
        let Some(resource) = self.resource() else { return Ok(Standing::Unknown) };
        // What was destroyed with its context needs no stream. Memory of a pool stays, and is freed in a stream that is there.
        let is_context_gone = self.went_with_context(resource);
        if is_context_gone && !resource.is_pool() {
            return Ok(Standing::ContextGone);
        }
        // Who names a stream under capture means what is captured there; the one that is recorded is perhaps captured by chance.
        if (!is_named || resource.is_virtual()) && resource.waits_for_capture(stream) {
            return Ok(Standing::Unknown);
        }
        resource.refuse_capture_if_known(stream)?;
        // Of a stream that cannot tell, because its context was reset, nothing has to be waited for.
        let must_wait = resource.waits_for_stream() && Arc::strong_count(&self.0) <= holds;
        if must_wait && stream.is_capturing().unwrap_or(false) {
            stream.check_not_capturing(
                "memory is freed when that has done its work: destroy the buffer after the capture, or on another stream",
            )?;
        }
        Ok(if is_context_gone { Standing::ContextGone } else { Standing::There })
    }

    /// The same for the deallocation stream that it has, where that means the same stream on each thread and cannot be under
    /// capture, so that nobody has to be asked but for the context. `None` in all other cases.
    #[cfg(feature = "capi")]
    pub(crate) fn standing_in_order(&self) -> Option<Standing> {
        let resource = self.resource()?;
        let is_plain = self.0.order.lock().as_ref().is_some_and(Order::is_plain);
        is_plain
            .then(|| if self.went_with_context(resource) { Standing::ContextGone } else { Standing::There })
    }

    /// Ends a hold. A stream that means another one on each thread can be named now, and perhaps not when the last hold
    /// goes: so the point in it is marked.
    pub(crate) fn let_go(self) {
        if Arc::strong_count(&self.0) > 1 {
            let marked = self.0.order.lock().as_ref().and_then(Order::to_mark);
            if let Some(order) = marked {
                match order.marked() {
                    Ok(order) => self.record(order),
                    // All work of the context will be waited for instead.
                    Err(failure) => crate::object::release::report(self.driver(), Err(failure)),
                }
            }
        }
        drop(self);
    }

    /// The same just after [`check_destroy`](Self::check_destroy): if it is the last hold, that need not be asked again.
    pub(crate) fn let_go_knowing(mut self, standing: Standing) {
        if let Some(last) = Arc::get_mut(&mut self.0) {
            last.standing = standing;
        }
        self.let_go();
    }

    /// Whether the context of the memory is gone, so that nothing is left to free unless it is a pool's. The caller's own resources
    /// decide for themselves.
    fn went_with_context(&self, resource: &Resource) -> bool {
        !resource.is_custom() && self.0.known.origin.as_ref().is_some_and(|origin| origin.is_gone())
    }

    /// Makes a stream wait for the work after which the memory may be freed, as it is recorded.
    pub(crate) fn wait_in(&self, stream: &Stream) -> Result<(), Error> {
        let recorded = self.0.order.lock().clone();
        match recorded.filter(|order| order.stream() != stream) {
            Some(order) => order.wait_in(stream),
            None => Ok(()),
        }
    }

    /// The object, as operations know it.
    pub(crate) fn as_operand(&self) -> &dyn Operand {
        &*self.0
    }

    /// The same, held.
    pub(crate) fn operand(&self) -> Arc<dyn Operand> {
        Arc::<BufferObject>::clone(&self.0)
    }

    /// Names the buffer in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }
}

impl BufferObject {
    fn tell_label(&self, label: Option<&str>) {
        self.driver().tell_label(self.pointer.0 as usize, label);
    }

    fn driver(&self) -> &Driver {
        let of_resource = || self.resource().map(|resource| resource.driver());
        self.driver.as_ref().or_else(of_resource).expect("a buffer without a resource knows its driver")
    }

    fn home(&self) -> &Home {
        self.home.as_ref().expect("a buffer has its home until it is dropped")
    }

    fn resource(&self) -> Option<&Resource> {
        match self.home() {
            Home::Resource(resource) => Some(resource),
            Home::Owner(_) | Home::Lender | Home::Graphics(_) => None,
        }
    }

    fn block(&self) -> Block {
        Block { what: "memory", bytes: self.bytes, address: self.pointer.0 }
    }
}

impl Operand for BufferObject {
    fn driver(&self) -> &Driver {
        self.driver()
    }

    fn context(&self) -> Option<&Context> {
        self.known.origin.as_ref().or_else(|| self.context_of_graphics())
    }

    fn check_awake(&self) -> Result<(), Error> {
        self.refuse_asleep()
    }
}

impl fmt::Display for BufferObject {
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
            .field("pointer", &self.pointer())
            .field("bytes", &self.bytes())
            .field("home", self.home())
            .finish_non_exhaustive()
    }
}
