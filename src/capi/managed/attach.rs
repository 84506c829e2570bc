//! Saying which streams use managed memory.
//!
//! @header cushim.h
//! @task place managed memory

use super::range::{cushim_range, range};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::hold;
use crate::capi::stream::cushim_stream;
use crate::managed::Attachment;
use crate::object::error::{Error, Status};

/// Who uses managed memory.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_attachment {
    /// The streams of every device (`CU_MEM_ATTACH_GLOBAL`), which is where memory begins.
    CUSHIM_ATTACH_GLOBAL = 1,
    /// The host alone (`CU_MEM_ATTACH_HOST`).
    CUSHIM_ATTACH_HOST = 2,
    /// The stream of the call, and no other (`CU_MEM_ATTACH_SINGLE`).
    CUSHIM_ATTACH_SINGLE = 4,
}

fn attachment(number: i32) -> Result<Attachment, Error> {
    const GLOBAL: i32 = cushim_attachment::CUSHIM_ATTACH_GLOBAL as i32;
    const HOST: i32 = cushim_attachment::CUSHIM_ATTACH_HOST as i32;
    const SINGLE: i32 = cushim_attachment::CUSHIM_ATTACH_SINGLE as i32;
    match number {
        GLOBAL => Ok(Attachment::Global),
        HOST => Ok(Attachment::Host),
        SINGLE => Ok(Attachment::Single),
        _ => {
            let refusal = format!(
                "attachment is {number}; use CUSHIM_ATTACH_GLOBAL (1), CUSHIM_ATTACH_HOST (2) or CUSHIM_ATTACH_SINGLE (4)"
            );
            Err(Error::new(Status::INVALID_ARGUMENT, refusal))
        }
    }
}

/// Says who uses an allocation of managed memory from then on, in stream order (`cuStreamAttachMemAsync`).
///
/// It matters on devices without "concurrent-managed-access" (`cushim_device_supports`): there the host may not use
/// managed memory while a stream to which it is attached is at work. Memory that was created with
/// `CUSHIM_MANAGED_ATTACH_HOST` is attached here before a stream uses it. When the stream is destroyed, what was
/// attached to it alone is what it was at first. It cannot be part of a graph, which uses memory that is attached
/// globally.
///
/// @param[in] stream The stream; for `CUSHIM_ATTACH_SINGLE` not a default stream.
/// @param[in] range The memory: a whole allocation, not of a pool.
/// @param[in, enum(cushim_attachment), example(CUSHIM_ATTACH_GLOBAL)] attachment Who uses it.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for memory that is not managed, for a default stream with
///   `CUSHIM_ATTACH_SINGLE`, and for a stream that is being captured (the capture stays valid);
///   `CUDA_ERROR_INVALID_VALUE` (1) for a part of an allocation, and for memory of a pool.
/// @driver any
///
/// # Safety
/// `range` is NULL or valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_attach(
    stream: cushim_stream,
    range: *const cushim_range,
    attachment: i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let range = unsafe { self::range(range, "range") }?;
        let attachment = self::attachment(attachment)?;
        hold(stream)?.attach(&range, attachment)
    })
}
