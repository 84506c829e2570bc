//! Copies and fills of buffers.

use super::Buffer;
use crate::driver::sys;
use crate::error::{Error, Status};
use crate::memory::{DevicePointer, Fill};
use crate::stream::Stream;
use std::sync::Arc;

impl Stream {
    /// Copies all of a buffer to another of the same size, after the work that is in the stream by now. The buffers may be
    /// of any kinds, and of two devices, neither of which need reach the other's memory; for memory that was wrapped without a
    /// resource [`Stream::copy_peer`] does that.
    ///
    /// # Safety
    /// Both stay until the stream has passed the copy; until then nobody writes the source, and nobody else uses the
    /// destination.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for buffers of different sizes; [`Status::INVALID_HANDLE`] for one of another driver; the
    /// driver's.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn copy_buffer(&self, to: &Buffer, from: &Buffer) -> Result<(), Error> {
        self.copy_whole(to, from)
    }

    fn copy_whole(&self, to: &Buffer, from: &Buffer) -> Result<(), Error> {
        self.same_driver(to.driver(), to)?;
        self.same_driver(from.driver(), from)?;
        if to.bytes() != from.bytes() {
            let (to_bytes, from_bytes) = (to.bytes(), from.bytes());
            let refusal =
                format!("{to} has {to_bytes} bytes and {from} has {from_bytes}; copy a part by its offset");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(to));
        }
        self.copy_vouched(to.place(), from.place(), to.bytes())
    }

    /// Fills a buffer with `count` values from an offset on, after the work that is in the stream by now.
    ///
    /// # Safety
    /// The buffer stays until the stream has passed the fill; until then nobody else uses those bytes.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for values that reach past the end, and as for [`fill`](Self::fill);
    /// [`Status::INVALID_HANDLE`] for a buffer of another driver; the driver's.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn fill_buffer(
        &self,
        buffer: &Buffer,
        offset: u64,
        value: Fill,
        count: usize,
    ) -> Result<(), Error> {
        self.same_driver(buffer.driver(), buffer)?;
        let bytes = (count as u64).saturating_mul(value.bytes() as u64);
        if count != 0 {
            buffer.place_at(offset)?.check_range("memory to fill", bytes)?;
        }
        self.fill_vouched(DevicePointer(buffer.pointer().0.saturating_add(offset)), value, count)
            .map_err(|failure| explain_fill(failure, buffer))
    }
}

/// A driver that refuses to fill says no more than that it does not like an argument.
#[cold]
fn explain_fill(mut failure: Error, buffer: &Buffer) -> Error {
    let is_refused = failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0;
    if is_refused && buffer.resource().is_some_and(|resource| !resource.properties().device_accessible) {
        failure.message.push_str(&format!(". No device reaches {buffer}: fill it on the host"));
    }
    failure
}

impl Buffer {
    /// A new buffer from the same resource with the same bytes, which are copied after the work that is in the stream by now.
    /// The stream is its deallocation stream, if the resource is stream-ordered.
    ///
    /// # Safety
    /// As for [`Stream::copy_buffer`].
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the buffer has no resource; as for [`create`](Self::create) and
    /// [`Stream::copy_buffer`].
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn create_copy(&self, stream: &Arc<Stream>) -> Result<Arc<Self>, Error> {
        let Some(resource) = self.resource() else {
            let refusal = format!(
                "{self} has no resource that a copy could come from; create the buffer, and copy into it"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self));
        };
        let copy = Self::create(resource, self.bytes(), Some(stream))?;
        stream.copy_whole(&copy, self)?;
        Ok(copy)
    }
}
