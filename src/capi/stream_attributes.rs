//! Attributes of streams.
//!
//! @header cushim.h
//! @task order work in streams

use super::driver_types::CUlaunchAttributeID;
use super::error::{call, cushim_status};
use super::handles::{enter, get};
use super::input::given;
use super::kernel::cushim_launch_attribute;
use super::out;
use super::stream::cushim_stream;

/// Returns an attribute of a stream (`cuStreamGetAttribute`). Streams have `CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW`
/// (1), `CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY` (3), `CU_LAUNCH_ATTRIBUTE_PRIORITY` (8, CUDA 11.7),
/// `CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP` (9) and `CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN` (10, CUDA 12.0).
///
/// @param[in] stream The stream.
/// @param[in, enum(CUlaunchAttributeID), example(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)] id Which attribute.
/// @param[out] attribute Receives the number and the value.
/// @errors `CUDA_ERROR_INVALID_VALUE` (1) for an attribute that streams do not have, or not on this driver;
///   `CUSHIM_ERROR_INVALID_ARGUMENT` for a default stream that is being captured; the capture stays valid.
/// @driver any
///
/// # Safety
/// `attribute` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_get_attribute(
    stream: cushim_stream,
    id: i32,
    attribute: *mut cushim_launch_attribute,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `attribute`.
        let attribute = unsafe { out::cleared(attribute, cushim_launch_attribute::NONE, "attribute") }?;
        let guard = enter()?;
        let value = get(&guard, stream)?.attribute(CUlaunchAttributeID(id))?;
        *attribute = cushim_launch_attribute { id, reserved: 0, value };
        Ok(())
    })
}

/// Sets an attribute of a stream (`cuStreamSetAttribute`): work that is enqueued from now on has it, and so has what
/// is captured.
///
/// @param[in] stream The stream.
/// @param[in] attribute The number and the value.
/// @errors `CUDA_ERROR_INVALID_VALUE` (1) for an attribute that streams do not have, or not on this driver, and for a
///   value that the device does not take; `CUSHIM_ERROR_INVALID_ARGUMENT` for a priority that the context does not
///   have (`cushim_context_get_stream_priorities`), and for a default stream that is being captured; the capture
///   stays valid.
/// @driver any
///
/// # Safety
/// `attribute` is NULL or valid for reads; the memory of an access policy window is good for as long as the stream
/// has that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_stream_set_attribute(
    stream: cushim_stream,
    attribute: *const cushim_launch_attribute,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for it.
        let (id, value) = unsafe { given(attribute, "attribute") }?.checked()?;
        let guard = enter()?;
        // SAFETY: as above.
        unsafe { get(&guard, stream)?.set_attribute(CUlaunchAttributeID(id), value) }
    })
}

/// Sets all attributes of a stream to those of another one (`cuStreamCopyAttributes`).
///
/// @param[in] stream The stream.
/// @param[in] source The other stream, of the same context.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a stream of another context, and for a default stream that is being
///   captured; the capture stays valid.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_stream_copy_attributes(
    stream: cushim_stream,
    source: cushim_stream,
) -> cushim_status {
    call(|| {
        let guard = enter()?;
        get(&guard, stream)?.copy_attributes(&*get(&guard, source)?)
    })
}
