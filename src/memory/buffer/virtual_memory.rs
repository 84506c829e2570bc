//! Buffers of virtual memory: they grow, and sleep.

use super::known::Known;
use super::{Buffer, BufferObject, Home};
use crate::location::Location;
use crate::memory::{DevicePointer, Resource, VirtualOptions};
use crate::object::callback;
use crate::object::descriptor::{self, DescriptorBytes};
use crate::object::error::{Error, Status};
use crate::op::{Copy, Endpoint};
use crate::stream::Stream;

/// What becomes of the contents of memory that sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// They are lost.
    #[default]
    Dropped,
    /// They are copied to the host, and back when the memory wakes.
    Kept,
}

const ASLEEP: &str = "sleeps: it has addresses and no memory; call cushim_buffer_wake before it is used";

impl Buffer {
    /// A new buffer of at least `bytes`, which begins with this one's memory: at the same address if the driver grants the next
    /// addresses, else elsewhere. Nothing is copied, and this buffer stays as it is. Where it has so many bytes already, the new one is
    /// as long as this one.
    ///
    /// New memory is as the options say, or else as that of the resource. The new buffer has this one's deallocation stream. Graph nodes,
    /// execs and exported tensors keep the memory that they have.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the memory is not of a virtual resource; [`Status::INVALID_ARGUMENT`] for no bytes, and while the
    /// buffer sleeps; as [`Resource::virtual_memory`] for the options; the driver's: `CUDA_ERROR_OUT_OF_MEMORY` (2).
    pub fn grow(&self, bytes: usize, options: Option<&VirtualOptions>) -> Result<Self, Error> {
        callback::check_allowed()?;
        let resource = self.virtual_resource("grows")?;
        let (pointer, bytes) =
            resource.grow(self.extent(), bytes, options).map_err(|failure| self.named(failure))?;
        let (known, stream) = (Known::of_resource(resource, pointer, None), self.stream());
        Ok(Self::new(None, pointer, bytes, known, Home::Resource(resource.clone()), stream))
    }

    /// Gives the memory back to the driver and keeps the addresses, after the stream has done its work so far. Until
    /// [`wake`](Self::wake), operations with the buffer and launches of execs that keep it are refused; graphs with it stay as they are.
    ///
    /// For the copy of the contents, the stream's device has access to the memory for a moment where it has none.
    ///
    /// Work in other streams must be done, and whoever has the address must not use it: that would be an illegal access.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the memory is not of a virtual resource; [`Status::INVALID_ARGUMENT`] for a stream that is being
    /// captured, if it sleeps, and if another buffer has its memory, too, because one of them grew from the other;
    /// [`Status::OUT_OF_MEMORY`] if the host has no room for the contents; that of the stream's work.
    pub fn sleep(&self, stream: &Stream, contents: Contents) -> Result<(), Error> {
        let resource = self.prepared("sleeps", stream)?;
        resource.check_may_sleep(self.extent()).map_err(|failure| self.named(failure))?;
        let kept = match contents {
            Contents::Dropped => {
                stream.synchronize()?;
                None
            }
            Contents::Kept => Some(self.contents(resource, stream)?),
        };
        resource.sleep(self.extent(), kept).map_err(|failure| self.named(failure))
    }

    /// A copy of all that is in the memory, after the stream has done its work so far.
    fn contents(&self, resource: &Resource, stream: &Stream) -> Result<Vec<u8>, Error> {
        let about = |failure: Error| failure.about(self);
        let mut kept = self.room()?;
        let opened = resource.open(self.extent(), place_of(stream)).map_err(about)?;
        let (to, from) = (Endpoint::host(&raw mut kept[..]), Endpoint::device(self.0.pointer));
        // SAFETY: as many bytes; the stream is waited for.
        unsafe { stream.enqueue(&mut Copy::new(to, from, self.0.bytes)) }?;
        stream.synchronize()?;
        opened.close().map_err(about)?;
        Ok(kept)
    }

    /// Gives the buffer memory again, at the same addresses, with the contents that were kept; else they are undefined. It sleeps for other
    /// threads until they are there.
    ///
    /// # Errors
    /// As [`sleep`](Self::sleep), and `CUDA_ERROR_OUT_OF_MEMORY` (2): it sleeps as before then, and its contents are kept on.
    pub fn wake(&self, stream: &Stream) -> Result<(), Error> {
        let resource = self.prepared("wakes", stream)?;
        let restore = |kept: &Vec<u8>| {
            let (to, from) = (Endpoint::device(self.0.pointer), Endpoint::host_source(&raw const kept[..]));
            // SAFETY: as many bytes, which stay until the stream was waited for.
            unsafe { stream.enqueue(&mut Copy::new(to, from, kept.len())) }?;
            stream.synchronize()
        };
        let woken = resource.wake(self.extent(), place_of(stream), restore);
        woken.map_err(|failure| self.named(failure))
    }

    /// In how many pieces its memory was created: one, and one more each time that it grew.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the memory is not of a virtual resource.
    pub fn part_count(&self) -> Result<usize, Error> {
        self.virtual_resource("has parts")?.part_count(self.extent())
    }

    /// What another process needs to [import](Self::import_parts) the buffer's memory, for each of its parts: a new descriptor of a file,
    /// which the caller closes, and the bytes that say what it is of. All of that goes to the other process, the files by `SCM_RIGHTS`.
    /// The memory stays as long as one of the processes has it.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the memory is not of a virtual resource; [`Status::INVALID_ARGUMENT`] for a part that was not created
    /// with [`ShareableHandle::PosixFd`](crate::memory::ShareableHandle::PosixFd) or was imported, and while the buffer sleeps; the driver's.
    pub fn export_parts(&self) -> Result<Vec<(i32, DescriptorBytes)>, Error> {
        descriptor::check_allowed(self.driver())?;
        let resource = self.virtual_resource("has parts to export")?;
        self.refuse_asleep()?;
        let parts = resource.export_parts(self.extent()).map_err(|mut failure| {
            failure.message = format!("{self} cannot be exported: {}", failure.message);
            failure.about(self)
        })?;
        Ok(parts.into_iter().map(|(file, bytes)| (file.give(), bytes)).collect())
    }

    /// Another process's buffer of virtual memory: all parts that it has exported, in their order; or allocations that were exported by
    /// themselves, one behind the other. What may use the memory here, and where its addresses begin, the resource says, which must be of
    /// the same place. The stream is the deallocation stream at first, and may be missing. The files stay the caller's.
    ///
    /// It grows as other buffers do, and does not sleep.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if the resource is none of virtual memory; [`Status::INVALID_ARGUMENT`] for bytes that are no descriptor of
    /// virtual memory, parts that are missing or of another buffer, memory of another place, a size that the memory has not, and a file
    /// that is none of a driver's, with the error's item; [`Status::INVALID_HANDLE`] for a stream of another driver; the driver's.
    pub fn import_parts(
        resource: &Resource,
        parts: &[(i32, &[u8])],
        stream: Option<&Stream>,
    ) -> Result<Self, Error> {
        descriptor::check_allowed(resource.driver())?;
        resource.check_stream(stream)?;
        let (pointer, bytes) = resource.import_parts(parts).map_err(|failure| failure.about(resource))?;
        let known = Known::of_resource(resource, pointer, stream);
        Ok(Self::new(None, pointer, bytes, known, Home::Resource(resource.clone()), stream.cloned()))
    }

    /// Whether it sleeps: it has addresses and no memory.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.0.is_asleep()
    }

    /// Refuses to use what sleeps, or was unmapped.
    #[cold]
    pub(crate) fn refuse_asleep(&self) -> Result<(), Error> {
        self.0.refuse_asleep()
    }

    fn extent(&self) -> (DevicePointer, usize) {
        self.0.extent()
    }

    fn virtual_resource(&self, what: &str) -> Result<&Resource, Error> {
        self.resource().filter(|resource| resource.is_virtual()).ok_or_else(|| {
            let refusal = format!("only a buffer of a virtual resource {what}, and {self} is none");
            Error::new(Status::UNSUPPORTED, refusal).about(self)
        })
    }

    /// What the memory refuses, which does not know what the buffer is called.
    #[cold]
    fn named(&self, mut failure: Error) -> Error {
        let name = self.to_string();
        if failure.status == Status::INVALID_ARGUMENT && !failure.message.contains(&name) {
            failure.message = format!("{name}: {}", failure.message);
        }
        failure.about(self)
    }

    /// What sleeping and waking begin with.
    fn prepared(&self, what: &str, stream: &Stream) -> Result<&Resource, Error> {
        callback::check_allowed()?;
        let resource = self.virtual_resource(what)?;
        stream.same_driver(self.driver(), self)?;
        stream.context().check_there(stream)?;
        if stream.is_capturing()? {
            stream.check_not_capturing(
                "sleep and wake are synchronous; pass a stream that is not being captured",
            )?;
        }
        Ok(resource)
    }

    /// As many bytes of the host's.
    fn room(&self) -> Result<Vec<u8>, Error> {
        let mut room = Vec::new();
        if room.try_reserve_exact(self.0.bytes).is_err() {
            let refusal =
                format!("the host has no room for the {} bytes of {self}; let the contents go", self.0.bytes);
            return Err(Error::new(Status::OUT_OF_MEMORY, refusal).about(self));
        }
        room.resize(self.0.bytes, 0);
        Ok(room)
    }
}

/// The place that copies what a stream copies.
fn place_of(stream: &Stream) -> Location {
    Location::device(stream.context().device().ordinal())
}

impl BufferObject {
    fn is_asleep(&self) -> bool {
        self.resource().is_some_and(|resource| resource.is_asleep(self.extent()))
    }

    /// Why its memory cannot be used now, as a sentence goes on after its name; `None` if it can.
    #[cold]
    pub(crate) fn why_unusable(&self) -> Option<String> {
        match self.home() {
            Home::Graphics(mapping) => mapping
                .is_over()
                .then(|| format!("was unmapped: OpenGL has the memory; map {} again", mapping.graphics())),
            _ => self.is_asleep().then(|| ASLEEP.to_owned()),
        }
    }

    /// Refuses to use what sleeps, or was unmapped.
    #[cold]
    pub(super) fn refuse_asleep(&self) -> Result<(), Error> {
        let Some(why) = self.why_unusable() else { return Ok(()) };
        Err(Error::new(Status::INVALID_ARGUMENT, format!("{self} {why}")).about(self))
    }

    fn extent(&self) -> (DevicePointer, usize) {
        (self.pointer, self.bytes)
    }
}
