//! Host arrays on the device for the time of a launch: brought in, used, brought back and gone, all in one stream.

use super::Buffer;
use crate::callback;
use crate::error::Error;
use crate::memory::{Place, Resource};
use crate::stream::Stream;
use std::ffi::c_void;
use std::sync::Arc;

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
    /// As for [`create`](Self::create) and [`Stream::copy`].
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn create_scratch(
        resource: Option<&Arc<Resource>>,
        from: *const c_void,
        bytes: usize,
        stream: &Arc<Stream>,
    ) -> Result<Arc<Self>, Error> {
        let buffer = match resource {
            Some(resource) => Self::create(resource, bytes, Some(stream))?,
            None => stream.context().device().allocate(bytes, Some(stream))?,
        };
        // What is not stream-ordered waits for it before it goes.
        buffer.set_stream(stream)?;
        if !from.is_null() {
            stream.copy_vouched(buffer.place(), Place::host_source(from), bytes)?;
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
    /// As for [`Stream::copy`] and [`destroy_on`](Self::destroy_on). The hold ends all the same.
    #[allow(unsafe_code)] // passes a duty on to the caller; the body has no unsafe block
    pub unsafe fn destroy_scratch(
        buffer: Arc<Self>,
        to: *mut c_void,
        stream: &Arc<Stream>,
    ) -> Result<(), Error> {
        callback::check_allowed()?;
        buffer.check_destroy(Some(stream))?;
        buffer.end_scratch(to, stream)
    }

    /// The same for those that have checked, and whose callers vouch for the memory.
    pub(crate) fn end_scratch(self: Arc<Self>, to: *mut c_void, stream: &Arc<Stream>) -> Result<(), Error> {
        let brought = self.bring_back(to, stream);
        // What could not be ordered goes in the order that it had.
        let set = if brought.is_ok() { self.set_stream(stream) } else { Ok(()) };
        let freed = crate::release::collect(|| self.let_go());
        brought.and(set).and(freed)
    }

    fn bring_back(&self, to: *mut c_void, stream: &Arc<Stream>) -> Result<(), Error> {
        let recorded = self.order.lock().clone();
        if let Some(order) = recorded.filter(|order| !Arc::ptr_eq(order.stream(), stream)) {
            order.wait_in(stream)?;
        }
        if to.is_null() {
            return Ok(());
        }
        stream.copy_vouched(Place::Host(to), self.place(), self.bytes())
    }
}
