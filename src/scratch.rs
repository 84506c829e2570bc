//! Buffers that begin as a copy: of another buffer, or of a host array for the time of a launch, which is brought in, used,
//! brought back and freed, all in one stream.

use crate::memory::{Buffer, Resource};
use crate::object::callback;
use crate::object::error::{Error, Status};
use crate::op::{Copy, Endpoint};
use crate::stream::Stream;
use std::ffi::c_void;

impl Buffer {
    /// Allocates memory in the stream and brings `bytes` bytes of host memory into it, unless `from` is NULL. Of ordinary memory
    /// they are read before it returns. Without a resource it is that of the stream's device.
    ///
    /// ```
    /// # use cushim::driver::{Choice, OpenOptions};
    /// use cushim::memory::Buffer;
    /// use cushim::{Device, Stream, StreamOptions};
    ///
    /// # let driver = OpenOptions::new().choice(Choice::Software).open().unwrap();
    /// let device = Device::get(&driver, 0)?;
    /// let stream = Stream::create(&device.primary_context()?, &StreamOptions::default())?;
    /// let mut numbers = [1u8, 2, 3, 4];
    /// // SAFETY: the array has as many bytes, and nobody else uses it until the stream is done.
    /// unsafe {
    ///     let scratch = Buffer::create_scratch(None, numbers.as_ptr().cast(), 4, &stream)?;
    ///     // Here a kernel would use it.
    ///     Buffer::destroy_scratch(scratch, numbers.as_mut_ptr().cast(), &stream)?;
    /// }
    /// stream.synchronize()?;
    /// assert_eq!(numbers, [1, 2, 3, 4]);
    /// # Ok::<(), cushim::Error>(())
    /// ```
    ///
    /// # Safety
    /// `from` is NULL or holds so many bytes; if it is page-locked, until the stream has passed the copy.
    ///
    /// # Errors
    /// As for [`create`](Self::create) and [`Copy`](struct@Copy).
    pub unsafe fn create_scratch(
        resource: Option<&Resource>,
        from: *const c_void,
        bytes: usize,
        stream: &Stream,
    ) -> Result<Self, Error> {
        let buffer = match resource {
            Some(resource) => Self::create(resource, bytes, Some(stream))?,
            None => stream.context().device().allocate(bytes, Some(stream))?,
        };
        // The copy back takes the whole buffer.
        if buffer.bytes() != bytes {
            let refusal = format!(
                "an array of {bytes} bytes needs a buffer of its own size, and this resource rounds it up to {}: name another resource",
                buffer.bytes()
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(stream));
        }
        // What is not stream-ordered waits for it before it goes.
        buffer.set_stream(stream)?;
        if !from.is_null() {
            let from = Endpoint::host_source(from);
            // SAFETY: the caller vouches for the host memory, and the buffer is new.
            unsafe { stream.enqueue(&mut Copy::new(buffer.at(0), from, bytes)) }?;
        }
        Ok(buffer)
    }

    /// Brings the bytes back to host memory, unless `to` is NULL, and frees the memory, all in the stream's order. If that is
    /// another one than the deallocation stream, it waits for what is in that by now. The bytes have arrived when the stream
    /// has passed the copy.
    ///
    /// # Safety
    /// `to` is NULL or has room for the bytes until then.
    ///
    /// # Errors
    /// As for [`Copy`](struct@Copy) and [`destroy_on`](Self::destroy_on). The hold ends all the same.
    pub unsafe fn destroy_scratch(buffer: Self, to: *mut c_void, stream: &Stream) -> Result<(), Error> {
        callback::check_allowed()?;
        buffer.check_end_scratch(to, stream, 1)?;
        // SAFETY: as the caller vouches.
        unsafe { buffer.end_scratch(to, stream) }
    }

    /// Refuses what could not be brought back, or not be freed then; `holds` are those that end with it.
    pub(crate) fn check_end_scratch(
        &self,
        to: *mut c_void,
        stream: &Stream,
        holds: usize,
    ) -> Result<(), Error> {
        self.check_destroy(Some(stream), holds)?;
        let is_copied_in_capture = !to.is_null() && stream.is_capturing().unwrap_or(false);
        if is_copied_in_capture { stream.check_not_capturing(NOT_BROUGHT_BACK) } else { Ok(()) }
    }

    /// The same for those that have checked.
    ///
    /// # Safety
    /// As for [`destroy_scratch`](Self::destroy_scratch).
    pub(crate) unsafe fn end_scratch(self, to: *mut c_void, stream: &Stream) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        let brought = unsafe { self.bring_back(to, stream) };
        // What could not be ordered goes in the order that it had.
        let set = if brought.is_ok() { self.set_stream(stream) } else { Ok(()) };
        let freed = crate::object::release::collect(|| self.let_go());
        brought.and(set).and(freed)
    }

    /// # Safety
    /// As for [`destroy_scratch`](Self::destroy_scratch).
    unsafe fn bring_back(&self, to: *mut c_void, stream: &Stream) -> Result<(), Error> {
        self.wait_in(stream)?;
        if to.is_null() {
            return Ok(());
        }
        // SAFETY: as the caller vouches.
        unsafe { stream.enqueue(&mut Copy::new(Endpoint::host(to), self.at(0), self.bytes())) }
    }

    /// A new buffer from the same resource with the same bytes, which are copied after the work that is in the stream by now.
    /// The stream is its deallocation stream, if the resource is stream-ordered.
    ///
    /// # Safety
    /// The buffer stays until the stream has passed the copy; until then nobody writes it.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if the buffer has no resource; as for [`create`](Self::create) and [`Copy`](struct@Copy).
    pub unsafe fn create_copy(&self, stream: &Stream) -> Result<Self, Error> {
        let Some(resource) = self.resource() else {
            let refusal = format!(
                "{self} has no resource that a copy could come from; create the buffer, and copy into it"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(self));
        };
        let copy = Self::create(resource, self.bytes(), Some(stream))?;
        // SAFETY: the caller vouches for the source, and the destination is new.
        unsafe { stream.enqueue(&mut Copy::new(copy.at(0), self.at(0), self.bytes())) }?;
        Ok(copy)
    }
}

/// Why scratch memory is not copied back in a stream under capture.
const NOT_BROUGHT_BACK: &str = "a graph would write the host memory whenever it is launched: copy to an endpoint that says who keeps \
                                that, and bring nothing back here";
