//! Saying which streams use managed memory.

use super::range::{Kind, Range};
use crate::context::Context;
use crate::driver::calls::managed::attach as calls;
use crate::driver::sys::{self, CUmemAttach_flags};
use crate::object::error::{Error, Status};
use crate::op::{Operation, Traits, batch, sealed::Sealed};
use crate::stream::Stream;

/// Who uses managed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// The streams of every device.
    Global,
    /// The host alone: no stream.
    Host,
    /// The stream in which this is said, and no other.
    Single,
}

impl Attachment {
    fn native(self) -> CUmemAttach_flags {
        match self {
            Self::Global => sys::CU_MEM_ATTACH_GLOBAL,
            Self::Host => sys::CU_MEM_ATTACH_HOST,
            Self::Single => sys::CU_MEM_ATTACH_SINGLE,
        }
    }
}

/// Says who uses an allocation of managed memory from then on, in the order of the stream. Where host and device may not use managed memory
/// at the same time (without the feature "concurrent-managed-access"), the host may use what no stream that is at work may.
#[derive(Debug)]
pub struct Attach<'a> {
    range: &'a Range,
    attachment: Attachment,
}

impl<'a> Attach<'a> {
    /// Of a whole allocation.
    #[must_use]
    pub fn new(range: &'a Range, attachment: Attachment) -> Self {
        Self { range, attachment }
    }

    #[cold]
    fn refused(&self, failure: Error) -> Error {
        let mut failure = self.range.named(failure);
        if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 {
            failure.message.push_str(
                ". Memory is attached as a whole, from its start to its end, and memory of a pool is not attached",
            );
        }
        failure
    }
}

impl Sealed for Attach<'_> {}

impl Operation for Attach<'_> {
    type Output = ();
    type Checked<'a>
        = ()
    where
        Self: 'a;

    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn check<'a>(&'a self, at: &'a Context) -> Result<(), Error> {
        at.check_there(at)?;
        self.range.check_form()?;
        self.range.check_managed(&Kind::ATTACHMENT, at)
    }

    unsafe fn enqueue(&self, (): (), stream: &Stream) -> Result<(), Error> {
        if stream.is_default() && self.attachment == Attachment::Single {
            let refusal = format!(
                "{stream} is a default stream, to which alone memory is not attached; use a created stream, or CUSHIM_ATTACH_GLOBAL"
            );
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(stream));
        }
        batch::refuse_capture(stream, "an attachment")?;
        let context = stream.context();
        calls::attach(context.table(), stream.raw(), self.range.native(), self.attachment.native())
            .map_err(|error| self.refused(context.failed(error, stream)))
    }
}

impl Stream {
    /// Says who uses an allocation of managed memory after the work that is in the stream by now: [`Attach`].
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a range that is not managed memory, for [`Attachment::Single`] in a default stream, and for a stream
    /// that is being captured; the driver's, for a part of an allocation, and for memory of a pool.
    pub fn attach(&self, range: &Range, attachment: Attachment) -> Result<(), Error> {
        // SAFETY: what the range holds does not change.
        unsafe { self.enqueue(&mut Attach::new(range, attachment)) }
    }
}
