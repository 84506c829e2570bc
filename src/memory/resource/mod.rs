//! Resources: where memory comes from.
//!
//! | file | concept |
//! |---|---|
//! | `properties` | what may be done with a resource's memory |
//! | `pool` | pools, of the device, of the host and of managed memory |
//! | `attributes` | what a pool tells of itself, and is told |
//! | `peers` | the devices that may use a pool's memory |
//! | `pinned` | page-locked host memory |
//! | `managed` | memory that host and devices share |
//! | `synchronous` | device memory that comes and goes at once |
//! | `custom` | the caller's own |
//! | `default` | the resource of a device |

mod attributes;
mod custom;
mod default;
mod managed;
mod peers;
mod pinned;
mod pool;
mod properties;
mod synchronous;

pub use attributes::PoolAttribute;
pub use custom::Allocator;
pub(crate) use default::Default as DefaultResource;
pub use managed::ManagedResourceOptions;
pub use peers::PeerChange;
pub use pinned::{PinnedForm, PinnedResourceOptions};
pub use pool::{DevicePoolOptions, PoolChoice};
pub use properties::Properties;

use super::buffer::Standing;
use super::device::explain_free;
use super::{Block, DevicePointer, is_out_of_memory};
use crate::callback;
use crate::context::Context;
use crate::driver::calls::host_function as capture_calls;
use crate::driver::{Driver, sys};
use crate::error::{Error, Status};
use crate::handle::{Header, object};
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
/// unsafe { resource.deallocate(memory, 4096, Some(&stream)) }?;
/// # Ok::<(), cushim::Error>(())
/// ```
pub struct Resource {
    header: Header,
    driver: Driver,
    source: Source,
    properties: Properties,
}

object!(Resource: Resource, header);

/// What stands behind a resource.
enum Source {
    Pool(Pool),
    PageLocked(pinned::PageLocked),
    Managed(managed::Managed),
    Synchronous(synchronous::Synchronous),
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
    PageLocked,
    /// Managed memory that comes and goes at once.
    Managed,
    /// A pool of managed memory.
    ManagedPool,
    /// Device memory that comes and goes at once.
    Synchronous,
    /// The caller's own.
    Custom,
}

impl Resource {
    fn new(driver: &Driver, source: Source, properties: Properties) -> Arc<Self> {
        Arc::new(Self { header: Header::new::<Self>(), driver: driver.clone(), source, properties })
    }

    /// Device memory that is allocated and freed at once, in the context: the driver may wait for all work of the device
    /// when it frees.
    #[must_use]
    pub fn synchronous(context: &Arc<Context>) -> Arc<Self> {
        let properties = Properties::device(context.device().ordinal());
        let source = synchronous::Synchronous::new(context);
        Self::new(context.driver(), Source::Synchronous(source), properties)
    }

    /// The caller's own. Its properties are asked for now, and are taken to stay as they are.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for properties that name a device that there is not.
    pub fn custom(driver: &Driver, allocator: Box<dyn Allocator>) -> Result<Arc<Self>, Error> {
        let properties = allocator.properties();
        properties.check(driver)?;
        Ok(Self::new(driver, Source::Custom(allocator), properties))
    }

    /// The driver that the resource belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// What the resource is. A device or a driver without pools gives what stands in for one.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        match &self.source {
            Source::Pool(pool) => pool.kind(),
            Source::PageLocked(_) => ResourceKind::PageLocked,
            Source::Managed(_) => ResourceKind::Managed,
            Source::Synchronous(_) => ResourceKind::Synchronous,
            Source::Custom(_) => ResourceKind::Custom,
        }
    }

    /// What may be done with the resource's memory.
    #[must_use]
    pub fn properties(&self) -> Properties {
        self.properties
    }

    /// The context in which the memory is allocated; `None` if that is the stream's, or nobody's.
    #[must_use]
    pub fn context(&self) -> Option<&Arc<Context>> {
        match &self.source {
            Source::PageLocked(source) => Some(source.context()),
            Source::Managed(source) => Some(source.context()),
            Source::Synchronous(source) => Some(source.context()),
            Source::Pool(_) | Source::Custom(_) => None,
        }
    }

    /// The driver's own handle of the pool; NULL if there is none.
    #[must_use]
    pub fn native_pool(&self) -> sys::CUmemoryPool {
        match &self.source {
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
    pub fn allocate(&self, bytes: usize, stream: Option<&Arc<Stream>>) -> Result<DevicePointer, Error> {
        callback::check_allowed()?;
        self.check_stream(stream)?;
        if bytes == 0 && matches!(self.source, Source::Custom(_)) {
            return Ok(DevicePointer::NULL);
        }
        let result = match (&self.source, stream) {
            (Source::Pool(pool), Some(stream)) => pool.allocate(bytes, stream),
            (Source::Pool(_), None) => Err(self.stream_required()),
            (Source::PageLocked(source), _) => source.allocate(bytes),
            (Source::Managed(source), _) => source.allocate(bytes),
            (Source::Synchronous(source), _) => source.allocate(bytes),
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
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn deallocate(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Arc<Stream>>,
    ) -> Result<(), Error> {
        callback::check_allowed()?;
        self.free(pointer, bytes, stream)
    }

    /// The same for those that vouch for the pointer.
    fn free(&self, pointer: DevicePointer, bytes: usize, stream: Option<&Arc<Stream>>) -> Result<(), Error> {
        self.check_stream(stream)?;
        if pointer.is_null() {
            return Ok(());
        }
        if let Some(stream) = stream.filter(|_| !self.properties.stream_ordered) {
            stream.synchronize()?;
        }
        self.free_now(pointer, bytes, stream)
    }

    /// Frees what nobody holds any more, whatever is wrong with the stream that was to be waited for. The caller's own is
    /// called in any case, so that it is called exactly once for each allocation.
    pub(super) fn free_at_last(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Arc<Stream>>,
        standing: Standing,
    ) -> Result<(), Error> {
        let wait = stream.filter(|_| !self.properties.stream_ordered);
        let waited = wait.map_or(Ok(()), |stream| stream.synchronize());
        if let (false, Standing::Unknown, Some(stream)) = (self.is_custom(), standing, stream) {
            self.refuse_capture_if_known(stream)?;
        }
        self.free_now(pointer, bytes, stream).and(waited)
    }

    fn free_now(
        &self,
        pointer: DevicePointer,
        bytes: usize,
        stream: Option<&Arc<Stream>>,
    ) -> Result<(), Error> {
        let block = self.block(pointer, bytes);
        let freed = match (&self.source, stream) {
            (Source::Pool(pool), Some(stream)) => pool.free(pointer, stream, &block),
            (Source::Pool(_), None) => Err(self.stream_required()),
            (Source::PageLocked(source), _) => source.free(pointer, &block),
            (Source::Managed(source), _) => source.free(pointer, &block),
            (Source::Synchronous(source), _) => source.free(pointer, &block),
            (Source::Custom(allocator), stream) => return allocator.deallocate(pointer, bytes, stream),
        };
        freed.map_err(|failure| explain_free(failure, &self.driver, pointer))
    }

    /// Whether memory is gone with the context of the resource, or of a pool with that in which it came, so that nothing is
    /// left to free. The caller's own decide for themselves.
    pub(super) fn went_with(&self, origin: Option<&Arc<Context>>) -> bool {
        let context = match &self.source {
            Source::Custom(_) => None,
            Source::Pool(_) => origin,
            _ => self.context(),
        };
        context.is_some_and(|context| context.is_gone())
    }

    pub(super) fn is_custom(&self) -> bool {
        matches!(self.source, Source::Custom(_))
    }

    /// Refuses a stream that is missing, of another driver or being captured.
    pub(super) fn check_stream(&self, stream: Option<&Arc<Stream>>) -> Result<(), Error> {
        match stream {
            None if self.properties.stream_ordered => Err(self.stream_required()),
            None => Ok(()),
            Some(stream) => {
                stream.same_driver(&self.driver, self)?;
                stream.context().check_there(stream.as_ref())?;
                match self.properties.stream_ordered && self.is_captured(stream)? {
                    true => Err(self.captured(stream)),
                    false => Ok(()),
                }
            }
        }
    }

    /// Refuses a stream that is being captured, if the resource is stream-ordered. That nobody knows is no refusal.
    pub(super) fn refuse_capture_if_known(&self, stream: &Stream) -> Result<(), Error> {
        match self.properties.stream_ordered.then(|| self.is_captured(stream)) {
            Some(Ok(true)) => Err(self.captured(stream)),
            _ => Ok(()),
        }
    }

    fn is_captured(&self, stream: &Stream) -> Result<bool, Error> {
        stream.here(|raw| capture_calls::is_capturing(self.driver.object_table(), raw))
    }

    #[cold]
    fn captured(&self, stream: &Stream) -> Error {
        let refusal = format!(
            "{stream} is being captured, and memory of {self} that comes or goes there would become part of the graph; \
             allocate and free before and after the capture, or on another stream. The capture is still valid"
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
        self.header.set_label(label);
    }

    /// The name that messages use.
    #[must_use]
    pub fn label(&self) -> Option<Arc<str>> {
        self.header.label()
    }
}

impl ResourceKind {
    fn name(self) -> &'static str {
        match self {
            Self::DevicePool => "device pool",
            Self::PinnedPool => "pinned pool",
            Self::PageLocked => "page-locked resource",
            Self::Managed => "managed resource",
            Self::ManagedPool => "managed pool",
            Self::Synchronous => "synchronous resource",
            Self::Custom => "custom resource",
        }
    }

    /// What its memory is called.
    fn memory(self) -> &'static str {
        match self {
            Self::DevicePool | Self::Synchronous => "device memory",
            Self::PinnedPool | Self::PageLocked => "page-locked memory",
            Self::Managed | Self::ManagedPool => "managed memory",
            Self::Custom => "custom memory",
        }
    }
}

impl fmt::Display for Resource {
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
            .field("properties", &self.properties)
            .finish_non_exhaustive()
    }
}
