//! Attributes of streams, which the work in them has, too.

use super::{NOT_ASKED, Stream, check_priority};
use crate::driver::calls::stream::RawStream;
use crate::driver::sys::{self, CUlaunchAttributeID};
use crate::object::error::{Error, Status};

impl Stream {
    /// An attribute, by the driver's number (`CU_LAUNCH_ATTRIBUTE_*`): the bytes of a `CUlaunchAttributeValue`. Streams have
    /// an access policy window, a synchronisation policy, a priority (11.7), a memory synchronisation domain, and a map of
    /// those (12.0).
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a default stream that is being captured; the driver's: `CUDA_ERROR_INVALID_VALUE` for
    /// an attribute that streams do not have, or not on this driver.
    pub fn attribute(&self, id: CUlaunchAttributeID) -> Result<[u8; 64], Error> {
        self.about_attributes(|raw| raw.attribute(id)).map_err(|failure| explain(failure, id))
    }

    /// Sets an attribute; work that is enqueued from now on has it.
    ///
    /// # Safety
    /// `value` has the bytes of a value of this attribute. The memory of an access policy window is good for as long as the
    /// stream has that.
    ///
    /// # Errors
    /// As for [`attribute`](Self::attribute); [`Status::INVALID_ARGUMENT`], also for a priority that the context does not have
    /// (the driver would change it silently).
    pub unsafe fn set_attribute(&self, id: CUlaunchAttributeID, value: [u8; 64]) -> Result<(), Error> {
        if id == sys::CU_LAUNCH_ATTRIBUTE_PRIORITY {
            let [a, b, c, d, ..] = value;
            check_priority(self.context(), i32::from_ne_bytes([a, b, c, d]))?;
        }
        // SAFETY: the caller vouches for the value.
        self.about_attributes(|raw| unsafe { raw.set_attribute(id, value) })
            .map_err(|failure| explain(failure, id))
    }

    /// Sets all attributes to those of another stream of the same context.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a stream of another context, and for a default stream that is being captured; the
    /// driver's.
    pub fn copy_attributes(&self, source: &Self) -> Result<(), Error> {
        if self.context() != source.context() {
            let refusal = format!(
                "{source} belongs to {}, and {self} to {}; attributes are copied between streams of one context",
                source.context(),
                self.context()
            );
            let status = match self.driver() == source.driver() {
                true => Status::INVALID_ARGUMENT,
                false => Status::INVALID_HANDLE,
            };
            return Err(Error::new(status, refusal).about(source));
        }
        source.context().check_there(source)?;
        // The token of a default stream is that of the current context.
        let _current = if source.is_default() { Some(source.enter_uncaptured(NOT_ASKED)?) } else { None };
        self.about_attributes(|raw| raw.copy_attributes(source.raw()))
    }

    /// Questions about the legacy default stream invalidate the capture of a stream that waits for it, as one for the priority does.
    fn about_attributes<T>(
        &self,
        call: impl FnOnce(&RawStream) -> Result<T, crate::driver::CallError>,
    ) -> Result<T, Error> {
        match self.is_default() {
            true => self.here_uncaptured(NOT_ASKED, call),
            false => self.here(call),
        }
    }
}

#[cold]
fn explain(mut failure: Error, id: CUlaunchAttributeID) -> Error {
    if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
        failure.message.push_str(&format!(
            ". The attribute is {}, and streams have ACCESS_POLICY_WINDOW (1), SYNCHRONIZATION_POLICY (3), PRIORITY (8, CUDA 11.7), \
             MEM_SYNC_DOMAIN_MAP (9) and MEM_SYNC_DOMAIN (10, CUDA 12.0)",
            id.0
        ));
    }
    failure
}
