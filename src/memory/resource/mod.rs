//! Resources: where memory comes from.
//!
//! | file | concept |
//! |---|---|
//! | `properties` | what may be done with a resource's memory |
//! | `pool` | pools, of the device, of the host and of managed memory |
//! | `located` | pools by the place and the kind of their memory |
//! | `shared` | pools of several processes |
//! | `imported` | what is imported of another process's pool, counted |
//! | `opened` | another process's memory that is no pool's |
//! | `remains` | the end of a pool |
//! | `attributes` | what a pool tells of itself, and is told |
//! | `peers` | the devices that may use a pool's memory |
//! | `pinned` | page-locked host memory |
//! | `managed` | memory that host and devices share |
//! | `synchronous` | device memory that comes and goes at once |
//! | `graph` | memory of graphs |
//! | `arena` | one block for many graphs |
//! | `virtual_memory` | memory with addresses of its own, which grows and sleeps |
//! | `custom` | the caller's own |
//! | `default` | the resource of a device |

mod arena;
mod attributes;
mod custom;
mod default;
mod device;
mod graph;
mod imported;
mod located;
mod managed;
mod opened;
mod peers;
mod pinned;
mod pool;
mod properties;
mod remains;
mod shared;
mod virtual_memory;

pub(crate) use arena::ArenaBlock;
pub use attributes::PoolAttribute;
pub use custom::Allocator;
pub use located::PoolMemory;
pub use managed::ManagedResourceOptions;
pub(super) use opened::{export as export_opened, open};
pub use pinned::{PinnedForm, PinnedResourceOptions};
pub use pool::{DevicePoolOptions, PoolChoice};
pub use properties::Properties;
pub(super) use shared::hexadecimal;

use super::buffer::Standing;
use super::{Block, DevicePointer};
use crate::context::{Context, forgiven_if_corrupted};
use crate::device::Device;
use crate::driver::{Driver, sys};
use crate::object::callback::{self, ask_until};
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use crate::object::native;
use crate::object::release::report;
use crate::op::{explain_free, is_out_of_memory};
use crate::order::stand_in_for;
use crate::stream::Stream;
use pool::Pool;
use std::fmt;
use std::sync::Arc;

/// Where memory comes from: a pool, the driver at once, or the caller's own functions.
///
/// Memory is allocated and freed here directly, or as a [`Buffer`](super::Buffer), which frees itself. A resource lives
/// until the last of its buffers is gone. Every function may be called from every thread.
///
/// A *stream-ordered* resource needs a stream for each allocation and each free; work enqueued there between the two may use
/// the memory. Others allocate at once and take a stream as the one to wait for before a free.
///
/// Zero bytes give the pointer 0 from every resource, and nothing is asked of driver or functions, then or at the free.
///
/// ```
/// # use cushim::driver::{Choice, OpenOptions};
/// use cushim::memory::{DevicePoolOptions, Resource};
/// use cushim::{Device, Stream, StreamOptions};
///
/// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
/// let device = Device::get(&driver, 0)?;
/// let stream = Stream::create(&device.primary_context()?, &StreamOptions::default())?;
/// let resource = Resource::device_pool(&device, &DevicePoolOptions::default())?;
/// let memory = resource.allocate(4096, Some(&stream))?;
/// // SAFETY: the memory came from there, and nothing uses it.
/// unsafe { resource.free(memory, 4096, Some(&stream)) }?;
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct Resource(Arc<ResourceObject>);

/// What handles of resources name.
pub(crate) struct ResourceObject {
    header: Header,
    driver: Driver,
    source: Source,
    properties: Properties,
}

object!(ResourceObject as Resource: Resource, header);

/// What stands behind a resource.
enum Source {
    Pool(Pool),
    Pinned(pinned::Pinned),
    Managed(managed::Managed),
    Device(device::Synchronous),
    Opened(opened::Opened),
    Graph(graph::GraphMemory),
    Arena(arena::Arena),
    Virtual(virtual_memory::Virtual),
    Custom(Box<dyn Allocator>),
}

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A pool of a device's memory.
    DevicePool,
    /// A pool of page-locked host memory.
    PinnedPool,
    /// Page-locked host memory that comes and goes at once.
    Pinned,
    /// Managed memory that comes and goes at once.
    Managed,
    /// A pool of managed memory.
    ManagedPool,
    /// Device memory that comes and goes at once.
    Device,
    /// Memory of graphs, which comes and goes as their nodes.
    Graph,
    /// A block of device memory that graphs share.
    Arena,
    /// Virtual memory.
    Virtual,
    /// The caller's own.
    Custom,
}

impl Resource {
    fn new(driver: &Driver, source: Source, properties: Properties) -> Self {
        let header = Header::new::<ResourceObject>();
        Self(Arc::new(ResourceObject { header, driver: driver.clone(), source, properties }))
    }

    /// Device memory that is allocated and freed at once, in the context: the driver may wait for all work of the device
    /// when it frees.
    #[must_use]
    pub fn device(context: &Context) -> Self {
        let properties = Properties::device(context.device().ordinal());
        let source = device::Synchronous::new(context);
        Self::new(context.driver(), Source::Device(source), properties)
    }

    /// Memory of graphs: what is allocated in a stream under capture becomes an allocation node of the graph, and what is freed there a free
    /// node, after all that was captured by then in any stream of the capture. Buffers of it do not keep the graph, and their end after that
    /// of the capture frees nothing: what the graph itself does not free is there after each launch, and is freed by whoever launches it, or
    /// by the next launch of an instance with [`auto_free`](crate::graph::ExecOptions::auto_free).
    #[must_use]
    pub fn graph(device: &Device) -> Self {
        let properties = Properties::device(device.ordinal()).in_stream_order();
        Self::new(device.driver(), Source::Graph(graph::GraphMemory::default()), properties)
    }

    /// A block of so many bytes of device memory, from which streams under capture allocate: no nodes, but addresses that stay. Each
    /// capture has the whole block, and its graph keeps it; graphs that share one must not run at the same time. Within a capture, what was
    /// freed is used again where all that was captured while it was there comes before. With zero bytes, one that measures: it serves
    /// every capture, and [`arena_needed`](Self::arena_needed) says how large a block for the same calls has to be.
    ///
    /// # Errors
    /// The driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn arena(context: &Context, bytes: usize) -> Result<Self, Error> {
        let properties = Properties::device(context.device().ordinal()).in_stream_order();
        Ok(Self::new(context.driver(), Source::Arena(arena::Arena::new(context, bytes)?), properties))
    }

    /// The most bytes that one capture needed of an arena by now; `None` for other resources.
    #[must_use]
    pub fn arena_needed(&self) -> Option<u64> {
        match &self.0.source {
            Source::Arena(arena) => Some(arena.needed()),
            _ => None,
        }
    }

    /// The memory that graphs keep in place of a buffer at this address, if it is an arena's.
    pub(super) fn arena_block(&self, pointer: DevicePointer) -> Option<Arc<ArenaBlock>> {
        match &self.0.source {
            Source::Arena(arena) => arena.keeper(pointer),
            _ => None,
        }
    }

    /// Whether its memory comes and goes in streams under capture, and nowhere else.
    fn is_for_capture(&self) -> bool {
        matches!(self.0.source, Source::Graph(_) | Source::Arena(_))
    }

    /// The caller's own. Its properties are asked for now, and are taken to stay as they are.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for properties that name a device that there is not.
    pub fn custom(driver: &Driver, allocator: Box<dyn Allocator>) -> Result<Self, Error> {
        let properties = allocator.properties();
        properties.check(driver)?;
        Ok(Self::new(driver, Source::Custom(allocator), properties))
    }

    /// The driver that the resource belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.0.driver
    }

    /// What the resource is. A device or a driver without pools gives what stands in for one.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        self.0.kind()
    }

    /// Whether memory of one is memory of the other's sort: of the same resource, of two for the same pool, or from the same of the
    /// driver's calls in the same context.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        match (&self.0.source, &other.0.source) {
            (Source::Custom(_) | Source::Arena(_) | Source::Opened(_), _)
            | (_, Source::Custom(_) | Source::Arena(_) | Source::Opened(_)) => false,
            (Source::Pool(_), Source::Pool(_)) => self.native_pool() == other.native_pool(),
            _ => self.kind() == other.kind() && self.0.properties == other.0.properties,
        }
    }

    /// What may be done with the resource's memory.
    #[must_use]
    pub fn properties(&self) -> Properties {
        self.0.properties
    }

    /// The context in which the memory is allocated; `None` if that is the stream's, or nobody's.
    #[must_use]
    pub fn context(&self) -> Option<&Context> {
        match &self.0.source {
            Source::Pinned(source) => Some(source.context()),
            Source::Managed(source) => Some(source.context()),
            Source::Device(source) => Some(source.context()),
            Source::Opened(source) => Some(source.context()),
            Source::Arena(source) => Some(source.context()),
            Source::Pool(_) | Source::Graph(_) | Source::Virtual(_) | Source::Custom(_) => None,
        }
    }

    /// The driver's own handle of the pool; NULL if there is none.
    #[must_use]
    pub fn native_pool(&self) -> sys::CUmemoryPool {
        match &self.0.source {
            Source::Pool(pool) => pool.raw().handle(),
            _ => std::ptr::null_mut(),
        }
    }

    /// Allocates memory: in the stream's order if the resource is stream-ordered, else at once.
    ///
    /// # Errors
    /// [`Status::STREAM_REQUIRED`] if there is none and the resource is stream-ordered; [`Status::INVALID_HANDLE`] for a
    /// stream of another driver; [`Status::INVALID_ARGUMENT`] for a stream-ordered resource and a stream that is being
    /// captured, whose capture stays valid; the driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2); that of the caller's own.
    pub fn allocate(&self, bytes: usize, stream: Option<&Stream>) -> Result<DevicePointer, Error> {
        callback::check_allowed()?;
        self.allocate_outside(bytes, stream)
    }

    /// The same for a caller that is inside no function that the driver called.
    pub(super) fn allocate_outside(
        &self,
        bytes: usize,
        stream: Option<&Stream>,
    ) -> Result<DevicePointer, Error> {
        self.check_stream(stream)?;
        if bytes == 0 && matches!(self.0.source, Source::Custom(_)) {
            return Ok(DevicePointer::NULL);
        }
        let result = match (&self.0.source, stream) {
            (Source::Pool(pool), Some(stream)) => pool.allocate(bytes, stream),
            (Source::Graph(source), Some(stream)) => source.allocate(bytes, stream),
            (Source::Arena(source), Some(stream)) => source.allocate(bytes, stream),
            (Source::Pool(_) | Source::Graph(_) | Source::Arena(_), None) => Err(self.stream_required()),
            (Source::Pinned(source), _) => source.allocate(bytes),
            (Source::Managed(source), _) => source.allocate(bytes),
            (Source::Device(source), _) => source.allocate(bytes),
            (Source::Opened(_), _) => Err(opened::allocates_elsewhere()),
            (Source::Virtual(source), _) => source.allocate(bytes),
            (Source::Custom(allocator), stream) => allocator.allocate(bytes, stream),
        };
        result.map_err(|mut failure| {
            if is_out_of_memory(&failure) && !failure.message.contains("were asked for") {
                failure.message.push_str(&format!(". {bytes} bytes were asked for"));
            }
            failure
        })
    }

    /// Frees memory: in the stream's order if the resource is stream-ordered, else at once, after waiting for the stream if
    /// there is one.
    ///
    /// # Safety
    /// `pointer` is what [`allocate`](Self::allocate) gave here for so many bytes. Nobody else frees it, and what uses it
    /// comes before the free in the stream's order, or is done.
    ///
    /// # Errors
    /// As for [`allocate`](Self::allocate); an error of the stream's earlier work may appear. Unless the free itself was
    /// refused by the driver or the caller's own, the memory is still there.
    pub unsafe fn free(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Stream>,
    ) -> Result<(), Error> {
        callback::check_allowed()?;
        // SAFETY: as the caller vouches.
        let freed = unsafe { self.free_in_order(pointer, bytes, stream) };
        if self.is_custom() { freed } else { forgiven_if_corrupted(freed) }
    }

    /// # Safety
    /// As for [`free`](Self::free).
    unsafe fn free_in_order(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Stream>,
    ) -> Result<(), Error> {
        self.check_stream(stream)?;
        if pointer.is_null() {
            return Ok(());
        }
        if let Some(stream) = stream.filter(|_| !self.0.properties.stream_ordered) {
            forgiven_if_corrupted(stream.synchronize())?;
        }
        // SAFETY: as the caller vouches.
        unsafe { self.free_now(pointer, bytes, stream) }
    }

    /// Frees what nobody holds any more, whatever is wrong with the stream that was to be waited for. The caller's own is
    /// called in any case, so that it is called exactly once for each allocation.
    ///
    /// # Safety
    /// As for [`free`](Self::free).
    pub(super) unsafe fn free_at_last(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Stream>,
        standing: Standing,
    ) -> Result<(), Error> {
        if let Some(stream) = stream
            && (self.is_virtual() || self.is_pool() && standing != Standing::There)
            && stream.is_capturing().unwrap_or(false)
        {
            // SAFETY: as the caller vouches.
            unsafe { self.free_after_capture(pointer, bytes, stream) };
            return Ok(());
        }
        // What was in a stream that went with its context is over. Virtual memory stays then.
        let is_over = |stream: &&Stream| self.is_virtual() && stream.context().is_gone();
        let wait = stream.filter(|stream| !self.0.properties.stream_ordered && !is_over(stream));
        let waited = wait.map_or(Ok(()), |stream| stream.synchronize());
        // SAFETY: as the caller vouches.
        unsafe { self.free_now(pointer, bytes, stream) }.and(waited)
    }

    /// Frees memory of a pool in a stream that is being captured, once that is over: it must not become part of the graph. Virtual memory
    /// waits for the stream, which would end the capture.
    ///
    /// # Safety
    /// As for [`free`](Self::free).
    #[cold]
    unsafe fn free_after_capture(&self, pointer: DevicePointer, bytes: usize, stream: &Stream) {
        let (resource, stream) = (self.clone(), stream.clone());
        ask_until(move || {
            if stream.is_capturing().unwrap_or(false) {
                return false;
            }
            let is_gone = stream.context().is_gone();
            let stand_in = is_gone.then(|| stand_in_for(stream.context(), None)).transpose();
            // SAFETY: as the caller vouches; this is reached once.
            let freed = stand_in.and_then(|stand_in| unsafe {
                let stream = stand_in.as_ref().unwrap_or(&stream);
                let waited = if resource.is_virtual() { stream.synchronize() } else { Ok(()) };
                resource.free_now(pointer, bytes, Some(stream)).and(waited)
            });
            let freed = forgiven_if_corrupted(freed);
            report(resource.driver(), freed.map_err(|failure| leaked(failure, &resource, pointer, bytes)));
            true
        });
    }

    /// # Safety
    /// As for [`free`](Self::free).
    unsafe fn free_now(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Stream>,
    ) -> Result<(), Error> {
        // The operation says itself why it is refused.
        if let (Source::Pool(pool), Some(stream)) = (&self.0.source, stream) {
            // SAFETY: as the caller vouches.
            return unsafe { pool.free(pointer, stream) };
        }
        let block = self.block(pointer, bytes);
        // SAFETY: as the caller vouches.
        let freed = unsafe {
            match (&self.0.source, stream) {
                (Source::Graph(source), Some(stream)) => return source.free(pointer, stream),
                (Source::Arena(source), Some(stream)) => return source.free(pointer, stream),
                (Source::Pool(_), _) | (Source::Graph(_) | Source::Arena(_), None) => {
                    return Err(self.stream_required());
                }
                (Source::Pinned(source), _) => source.free(pointer, &block),
                (Source::Managed(source), _) => source.free(pointer, &block),
                (Source::Device(source), _) => source.free(pointer, &block),
                (Source::Opened(source), _) => source.free(pointer, &block),
                (Source::Virtual(source), _) => {
                    return source.free(pointer, bytes).map_err(|failure| failure.about(self));
                }
                (Source::Custom(allocator), stream) => return allocator.free(pointer, bytes, stream),
            }
        };
        freed.map_err(|failure| explain_free(failure, &self.0.driver, pointer))
    }

    pub(super) fn is_pool(&self) -> bool {
        matches!(self.0.source, Source::Pool(_))
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self.0.source, Source::Custom(_))
    }

    /// Whether the stream of an allocation is the first deallocation stream.
    pub(super) fn records_stream(&self) -> bool {
        self.0.properties.stream_ordered || self.is_virtual()
    }

    /// Whether memory is freed once the deallocation stream was waited for.
    pub(super) fn waits_for_stream(&self) -> bool {
        matches!(
            self.0.source,
            Source::Pinned(_) | Source::Managed(_) | Source::Device(_) | Source::Opened(_)
        )
    }

    /// Refuses a stream that is missing, of another driver or being captured.
    pub(super) fn check_stream(&self, stream: Option<&Stream>) -> Result<(), Error> {
        match stream {
            None if self.0.properties.stream_ordered => Err(self.stream_required()),
            None => Ok(()),
            Some(stream) => {
                stream.same_driver(&self.0.driver, self)?;
                stream.context().check_there(stream)?;
                let is_refused = self.0.properties.stream_ordered && !self.is_for_capture();
                match is_refused && stream.is_capturing()? {
                    true => Err(self.captured(stream)),
                    false => Ok(()),
                }
            }
        }
    }

    /// Whether memory is freed only once the capture of this stream is over.
    pub(super) fn waits_for_capture(&self, stream: &Stream) -> bool {
        let waits = matches!(self.0.source, Source::Pool(_) | Source::Virtual(_));
        waits && stream.is_capturing().unwrap_or(false)
    }

    /// Refuses a stream that is being captured, if the resource is stream-ordered. That nobody knows is no refusal.
    pub(super) fn refuse_capture_if_known(&self, stream: &Stream) -> Result<(), Error> {
        let is_refused = self.0.properties.stream_ordered && !self.is_for_capture();
        match is_refused.then(|| stream.is_capturing()) {
            Some(Ok(true)) => Err(self.captured(stream)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn captured(&self, stream: &Stream) -> Error {
        let refusal = format!(
            "{stream} is being captured, and memory of {self} that comes or goes there would become part of the graph; \
             allocate and free before and after the capture, or on another stream, or from a resource of graphs or an arena. The capture is still valid"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal).about(stream)
    }

    #[cold]
    fn stream_required(&self) -> Error {
        let refusal =
            format!("{self} is stream-ordered; name the stream in whose order memory comes and goes");
        Error::new(Status::STREAM_REQUIRED, refusal).about(self)
    }

    fn block(&self, pointer: DevicePointer, bytes: usize) -> Block {
        Block { what: self.kind().memory(), bytes, address: pointer.0 }
    }

    /// Names the resource in messages; `None` takes the name away.
    pub fn set_label(&self, label: Option<&str>) {
        self.0.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.0.header.label()
    }
}

impl ResourceObject {
    fn kind(&self) -> ResourceKind {
        match &self.source {
            Source::Pool(pool) => pool.kind(),
            Source::Pinned(_) => ResourceKind::Pinned,
            Source::Managed(_) => ResourceKind::Managed,
            Source::Device(_) | Source::Opened(_) => ResourceKind::Device,
            Source::Graph(_) => ResourceKind::Graph,
            Source::Arena(_) => ResourceKind::Arena,
            Source::Virtual(_) => ResourceKind::Virtual,
            Source::Custom(_) => ResourceKind::Custom,
        }
    }
}

/// The error of a free that happens on its own, with what a reader of the log needs to find the memory.
#[cold]
fn leaked(mut failure: Error, resource: &Resource, pointer: DevicePointer, bytes: usize) -> Error {
    failure.message.push_str(&format!(". {} are leaked", resource.block(pointer, bytes)));
    failure.about(resource)
}

impl ResourceKind {
    fn name(self) -> &'static str {
        match self {
            Self::DevicePool => "device pool",
            Self::PinnedPool => "pinned pool",
            Self::Pinned => "pinned resource",
            Self::Managed => "managed resource",
            Self::ManagedPool => "managed pool",
            Self::Device => "device resource",
            Self::Graph => "graph resource",
            Self::Arena => "arena",
            Self::Virtual => "virtual resource",
            Self::Custom => "custom resource",
        }
    }

    /// What its memory is called.
    fn memory(self) -> &'static str {
        match self {
            Self::DevicePool | Self::Device | Self::Graph | Self::Arena => "device memory",
            Self::PinnedPool | Self::Pinned => "page-locked memory",
            Self::Managed | Self::ManagedPool => "managed memory",
            Self::Virtual => "virtual memory",
            Self::Custom => "custom memory",
        }
    }
}

impl Drop for ResourceObject {
    fn drop(&mut self) {
        if let Some(remains) = self.take_pool() {
            let driver = self.driver.clone();
            native::release(&self.driver, self, move |resource| remains.end(&driver, resource));
        }
    }
}

impl fmt::Display for ResourceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().name();
        match self.header.label() {
            Some(label) => write!(f, "{kind} \"{label}\""),
            None => f.write_str(kind),
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("kind", &self.kind())
            .field("properties", &self.properties())
            .finish_non_exhaustive()
    }
}
