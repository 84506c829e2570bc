//! Buffers of virtual memory: they grow, and sleep.
//!
//! @header cushim.h
//! @task use virtual memory, which grows and sleeps

use super::resource::{cushim_virtual_options, virtual_options};
use crate::capi::buffer::cushim_buffer;
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, hold, hold_all, keep, owned};
use crate::capi::stream::cushim_stream;
use crate::capi::{options, out};
use crate::memory::Contents;

/// Creates a buffer of at least `bytes` bytes that begins with the memory of another buffer: at the same address if
/// the driver grants the next addresses, otherwise elsewhere. Nothing is copied.
///
/// The old buffer stays unchanged and shares its memory with the new one; graph nodes, execs and exported
/// tensors keep the addresses that they have. If the old buffer is large
/// enough already, the new one has the same size, and the driver is not called. A failed call changes nothing.
///
/// @param[in] buffer The old buffer, of a virtual resource. Its deallocation stream is that of the new one,
///   too.
/// @param[in, example(64)] bytes The size in bytes, which is rounded up to the granularity.
/// @param[in, nullable] options Options of the added memory. NULL: those of the resource.
/// @param[out, owned] grown The new buffer.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for a buffer of another resource, and for what the device does not offer;
///   `CUSHIM_ERROR_INVALID_ARGUMENT` for 0 bytes, for a buffer that sleeps, and for options that contradict
///   each other; `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver none
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with as many peers as it says;
/// `grown` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_grow(
    buffer: cushim_buffer,
    bytes: usize,
    options: *const cushim_virtual_options,
    grown: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `grown`.
        let grown = unsafe { out::cleared(grown, std::ptr::null_mut(), "grown") }?;
        // SAFETY: the caller vouches for `options`.
        let given = unsafe { virtual_options(options) }?;
        let given = (!options.is_null()).then_some(given);
        *grown = owned(|| hold(buffer)?.grow(bytes, given.as_ref()))?;
        Ok(())
    })
}

/// Flags of `cushim_buffer_sleep`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_sleep_flags {
    /// The contents are copied to the host, and back when the buffer wakes. Otherwise they are lost.
    CUSHIM_SLEEP_KEEP_CONTENTS = 1,
}

const KEEP: u32 = cushim_sleep_flags::CUSHIM_SLEEP_KEEP_CONTENTS as u32;

/// Gives a buffer's memory back to the driver and keeps its addresses, after the stream has done its work so
/// far.
///
/// Until `cushim_buffer_wake`, operations with the buffer and launches of execs that keep it are refused by
/// name. Graphs and execs with it stay as they are, and work again afterwards. Work in other streams that uses
/// the memory must be done, and what has only the address must not use it: that would be an illegal access.
/// Where the stream's device may only read the memory, or has no access to it, it has access for the moment in
/// which contents are copied, here and in `cushim_buffer_wake`.
///
/// @param[in] buffer The buffer, of a virtual resource.
/// @param[in] stream The stream.
/// @param[in, flags(cushim_sleep_flags)] flags Flags.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for a buffer of another resource; `CUSHIM_ERROR_INVALID_ARGUMENT` for a
///   stream that is being captured (the capture stays valid), for a buffer that sleeps, and for one whose
///   memory another buffer shares because one of them grew from the other; `CUSHIM_ERROR_OUT_OF_MEMORY` if the
///   host has no room for the contents.
/// @driver none
/// @sync stream
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_sleep(
    buffer: cushim_buffer,
    stream: cushim_stream,
    flags: u32,
) -> cushim_status {
    call(|| {
        options::check_flags(flags, KEEP)?;
        let (buffer, stream) = hold_all(|guard| Ok((keep(guard, buffer)?, keep(guard, stream)?)))?;
        let contents = if flags & KEEP != 0 { Contents::Kept } else { Contents::Dropped };
        buffer.sleep(&stream, contents)
    })
}

/// Gives a buffer that sleeps memory again, at the same addresses, with the contents that were kept. Otherwise
/// its contents are undefined. For other threads the buffer sleeps until they are there. If the call fails, it
/// sleeps as before, and its contents are kept on.
///
/// @param[in] buffer The buffer.
/// @param[in] stream The stream in which the contents are copied.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` for a buffer of another resource; `CUSHIM_ERROR_INVALID_ARGUMENT` for a
///   stream that is being captured (the capture stays valid), and for a buffer that does not sleep,
///   or that another thread wakes; `CUDA_ERROR_OUT_OF_MEMORY`.
/// @driver none
/// @sync stream
#[unsafe(no_mangle)]
pub extern "C" fn cushim_buffer_wake(buffer: cushim_buffer, stream: cushim_stream) -> cushim_status {
    call(|| {
        let (buffer, stream) = hold_all(|guard| Ok((keep(guard, buffer)?, keep(guard, stream)?)))?;
        buffer.wake(&stream)
    })
}

/// Tells whether a buffer sleeps.
///
/// @param[in] buffer The buffer.
/// @param[out] asleep Receives 1 or 0.
///
/// # Safety
/// `asleep` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_buffer_get_asleep(buffer: cushim_buffer, asleep: *mut i32) -> cushim_status {
    // SAFETY: the caller vouches for `asleep`.
    unsafe { handles::tell(buffer, asleep, "asleep", |buffer| Ok(i32::from(buffer.is_asleep()))) }
}
