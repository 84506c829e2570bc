//! Buffers of several processes.

use super::known::Known;
use super::{Buffer, Home};
use crate::context::Context;
use crate::memory::resource::{export_opened, hexadecimal, open};
use crate::memory::{DevicePointer, PointerAttributes, Resource};
use crate::object::descriptor::{self, Descriptor, DescriptorBytes, DescriptorKind};
use crate::object::error::{Error, Status};
use crate::stream::Stream;

impl Buffer {
    /// The bytes by which other processes take part in the buffer's memory: [`import`](Self::import) for memory of a pool that can be
    /// exported, [`open`](Self::open) for memory that a synchronous device resource allocated. No stream is in them: that the other
    /// process uses the memory only once it holds what it is to hold is for an event of both, or for a message that is sent after a
    /// synchronisation.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for an empty buffer, for memory that was imported, and for memory that is neither; the driver's.
    pub fn export(&self) -> Result<DescriptorBytes, Error> {
        descriptor::check_allowed(self.driver())?;
        let refuse =
            |why: String| Err(Error::new(Status::INVALID_ARGUMENT, format!("{self} {why}")).about(self));
        if self.0.pointer.is_null() {
            return refuse("has no bytes, and nothing to export".to_owned());
        }
        let Some(resource) = self.resource() else {
            return refuse(
                "was not allocated by a resource; export memory that its own library exports by that"
                    .to_owned(),
            );
        };
        let mut descriptor;
        if resource.is_pool() {
            let (pool, native) = resource.export_memory(self.0.pointer)?;
            descriptor = Descriptor::new(DescriptorKind::Buffer);
            (descriptor.pool, descriptor.native) = (pool, native);
        } else if let Some(context) = resource.exporting_context() {
            let (native, offset) = export_opened(context, self.0.pointer)?;
            descriptor = Descriptor::new(DescriptorKind::Memory);
            (descriptor.native, descriptor.offset) = (native, offset);
            descriptor.device = context.device().uuid()?;
        } else if resource.is_virtual() {
            return refuse("is virtual memory; export its parts, with cushim_buffer_export_parts".to_owned());
        } else if resource.is_opened() {
            return refuse(
                "was opened, and only the process that allocated it can export it; pass on the descriptor that it was opened by"
                    .to_owned(),
            );
        } else {
            return refuse(format!(
                "is memory of {resource}, which is of this process only; allocate it from a pool that was created for export, or from a \
                 synchronous resource of a device"
            ));
        }
        descriptor.bytes = self.0.bytes as u64;
        Ok(descriptor.write())
    }

    /// Another process's buffer, from its pool. The stream is the deallocation stream at first, as if the memory had been allocated there:
    /// it orders nothing else. Imported again it is the same memory at the same address, which is freed here when the last buffer
    /// of it is gone; the process that exported it must not free it before.
    ///
    /// # Safety
    /// The bytes are what [`export`](Self::export) gave in another process, which is trusted with that: what was changed on the way, and a
    /// size that the memory has not, are refused here, but the driver believes what a process writes that means it ill.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for bytes that are no descriptor of a pool's buffer, for a buffer of this process, a pool that it is
    /// not of, and a size that is not the memory's; [`Status::INVALID_HANDLE`] for a stream of another driver; the driver's.
    pub unsafe fn import(resource: &Resource, descriptor: &[u8], stream: &Stream) -> Result<Self, Error> {
        descriptor::check_allowed(resource.driver())?;
        let descriptor = Descriptor::read(descriptor, DescriptorKind::Buffer)?;
        refuse_own(&descriptor)?;
        resource.check_stream(Some(stream))?;
        // SAFETY: the caller vouches for the bytes.
        let pointer = unsafe { resource.import_memory(&descriptor.pool, &descriptor.native) }?;
        let fits = check_size(&descriptor, || extent(resource, pointer));
        let bytes = fits.inspect_err(|_| {
            // SAFETY: it was imported just now, and nobody uses it. That the size is wrong is what there is to say.
            let _freed = unsafe { resource.free(pointer, 1, Some(stream)) };
        })?;
        let known = Known::of_resource(resource, pointer, Some(stream));
        let home = Home::Resource(resource.clone());
        Ok(Self::new(None, pointer, bytes, known, home, Some(stream.clone())))
    }

    /// Another process's memory that is no pool's, in a context of its device. A stream is waited for before the memory is closed; without
    /// one, the driver waits for the context. The driver counts: imported again it is at the same address, and closed with the last buffer.
    ///
    /// # Safety
    /// As for [`import`](Self::import).
    ///
    /// # Errors
    /// As for [`import`](Self::import).
    pub unsafe fn open(context: &Context, descriptor: &[u8], stream: Option<&Stream>) -> Result<Self, Error> {
        descriptor::check_allowed(context.driver())?;
        let descriptor = Descriptor::read(descriptor, DescriptorKind::Memory)?;
        refuse_own(&descriptor)?;
        if descriptor.device != context.device().uuid()? {
            let refusal = format!(
                "the memory is of the device with UUID {}, and {context} is of another one; open it in a context of its own device",
                hexadecimal(&descriptor.device)
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(context));
        }
        let resource = Resource::opened(context);
        resource.check_stream(stream)?;
        // SAFETY: the caller vouches for the bytes.
        let start = unsafe { open(context, &descriptor.native) }?;
        let fits = check_size(&descriptor, || context.address_range(start).map(|(_, bytes)| bytes as u64));
        let bytes = fits.inspect_err(|_| {
            // SAFETY: it was opened just now, and nobody uses it. That the size is wrong is what there is to say.
            let _closed = unsafe { resource.free(start, 1, None) };
        })?;
        let pointer = DevicePointer(start.0 + descriptor.offset);
        let known = Known::of_resource(&resource, pointer, stream);
        Ok(Self::new(None, pointer, bytes, known, Home::Resource(resource), stream.cloned()))
    }
}

fn refuse_own(descriptor: &Descriptor) -> Result<(), Error> {
    if !descriptor.is_own() {
        return Ok(());
    }
    let refusal = "the buffer was exported by this process; use the buffer itself";
    Err(Error::new(Status::INVALID_ARGUMENT, refusal))
}

/// The bytes that the driver has mapped of imported memory.
fn extent(resource: &Resource, pointer: DevicePointer) -> Result<u64, Error> {
    let (_, bytes) = PointerAttributes::of(resource.driver(), pointer.0)?.range.unwrap_or((pointer, 0));
    Ok(bytes as u64)
}

/// Refuses memory that reaches past what is mapped of it.
fn check_size(descriptor: &Descriptor, mapped: impl FnOnce() -> Result<u64, Error>) -> Result<usize, Error> {
    let (mapped, offset, bytes) = (mapped()?, descriptor.offset, descriptor.bytes);
    let fits = offset.checked_add(bytes).is_some_and(|end| bytes > 0 && end <= mapped);
    let size = usize::try_from(bytes).ok().filter(|_| fits);
    size.ok_or_else(|| {
        let refusal = format!(
            "the descriptor claims {bytes} bytes from byte {offset} on, and the memory has {mapped}; it was not exported so"
        );
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}
