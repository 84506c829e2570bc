//! Buffers and images of OpenGL: CUDA and OpenGL have them in turns, without copies.
//!
//! A buffer is registered once, and then mapped for each use: `cushim_graphics_map` gives a `cushim_buffer`, and
//! OpenGL has the memory again when that is unmapped or destroyed. The driver's functions are found at run time; a program
//! needs no OpenGL to start. Registering, mapping, unmapping and destroying need the OpenGL context current on the
//! calling thread: otherwise the driver answers `CUDA_ERROR_INVALID_GRAPHICS_CONTEXT` (219), and nothing changes.
//!
//! @header cushim.h
//! @task share buffers and images with OpenGL

use super::buffer::cushim_buffer;
use super::context::cushim_context;
use super::driver_types::{CUarray, CUgraphicsResource};
use super::error::{call, cushim_status};
use super::handles::{self, Incomplete, hold, hold_all, keep, keep_if_given, owned, reserve};
use super::stream::cushim_stream;
use super::{options, out};
use crate::graphics::{Graphics, GraphicsObject, GraphicsOptions};
use std::ptr::null_mut;

/// A buffer or an image of OpenGL that CUDA can map. It is given up when no owning handle is left, nor a buffer that
/// it was mapped to.
pub type cushim_graphics = *mut cushim_graphics_s;

/// Never given a body.
pub struct cushim_graphics_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_graphics_s {
    type Object = GraphicsObject;
}

/// How CUDA uses what is registered. The numbers are those of `CUgraphicsRegisterFlags`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_graphics_flags {
    /// CUDA only reads it.
    CUSHIM_GRAPHICS_READ_ONLY = 1,
    /// CUDA writes all of it and reads nothing: what OpenGL has left there may be lost.
    CUSHIM_GRAPHICS_WRITE_DISCARD = 2,
    /// Surfaces are bound to the image.
    CUSHIM_GRAPHICS_SURFACE = 4,
    /// Textures with gather are bound to the image.
    CUSHIM_GRAPHICS_TEXTURE_GATHER = 8,
}

fn graphics_options(flags: u32) -> Result<GraphicsOptions, crate::object::error::Error> {
    options::check_flags(flags, 15)?;
    let has = |flag: cushim_graphics_flags| flags & flag as u32 != 0;
    Ok(GraphicsOptions::default()
        .read_only(has(cushim_graphics_flags::CUSHIM_GRAPHICS_READ_ONLY))
        .write_discard(has(cushim_graphics_flags::CUSHIM_GRAPHICS_WRITE_DISCARD))
        .surface(has(cushim_graphics_flags::CUSHIM_GRAPHICS_SURFACE))
        .texture_gather(has(cushim_graphics_flags::CUSHIM_GRAPHICS_TEXTURE_GATHER)))
}

/// Registers a buffer of the OpenGL context that is current on the calling thread (`cuGraphicsGLRegisterBuffer`).
///
/// @param[in] context The context, of a device that renders the OpenGL context.
/// @param[in, example(1)] gl_buffer The name of the buffer in OpenGL.
/// @param[in, flags(cushim_graphics_flags)] flags Flags.
/// @param[out, owned] graphics The graphics resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for the name 0, and for flags that contradict each other or are for images;
///   `CUDA_ERROR_NOT_SUPPORTED` on softcuda.
/// @driver any
///
/// # Safety
/// `graphics` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_register_gl_buffer(
    context: cushim_context,
    gl_buffer: u32,
    flags: u32,
    graphics: *mut cushim_graphics,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `graphics`.
        let graphics = unsafe { out::cleared(graphics, null_mut(), "graphics") }?;
        let context = hold(context)?;
        let options = graphics_options(flags)?;
        *graphics = owned(|| Graphics::of_buffer(&context, gl_buffer, options))?;
        Ok(())
    })
}

/// Registers an image of the OpenGL context that is current on the calling thread (`cuGraphicsGLRegisterImage`).
///
/// @param[in] context The context, of a device that renders the OpenGL context.
/// @param[in, example(1)] gl_image The name of the texture or renderbuffer in OpenGL.
/// @param[in, example(0x0de1)] target What it is: `GL_TEXTURE_2D`, `GL_RENDERBUFFER` or another.
/// @param[in, flags(cushim_graphics_flags)] flags Flags.
/// @param[out, owned] graphics The graphics resource.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for the name 0, and for flags that contradict each other;
///   `CUDA_ERROR_NOT_SUPPORTED` on softcuda.
/// @driver any
///
/// # Safety
/// `graphics` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_register_gl_image(
    context: cushim_context,
    gl_image: u32,
    target: u32,
    flags: u32,
    graphics: *mut cushim_graphics,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `graphics`.
        let graphics = unsafe { out::cleared(graphics, null_mut(), "graphics") }?;
        let context = hold(context)?;
        let options = graphics_options(flags)?;
        *graphics = owned(|| Graphics::of_image(&context, gl_image, target, options))?;
        Ok(())
    })
}

/// Returns one more owning handle of a graphics resource.
///
/// @param[in] graphics The graphics resource.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_ref(
    graphics: cushim_graphics,
    reference: *mut cushim_graphics,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(graphics, reference) }
}

/// Destroys an owning handle of a graphics resource. The last one ends the registration
/// (`cuGraphicsUnregisterResource`), for which the OpenGL context has to be current on the calling thread; an image
/// that is mapped is unmapped before, in the order of the stream that it was mapped in. A buffer that it is mapped to
/// keeps the registration until it is destroyed.
///
/// @param[in, ended, nullable] graphics The handle; NULL does nothing.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_graphics_destroy(graphics: cushim_graphics) -> cushim_status {
    handles::destroy(graphics)
}

/// Maps a buffer of OpenGL (`cuGraphicsMapResources`): CUDA has it after what is in the stream by now, and after what
/// OpenGL was told before.
///
/// The buffer has the memory until it is unmapped or destroyed; OpenGL must not use it meanwhile. The last destroy of
/// the buffer unmaps, in the order of its deallocation stream, which is the given one at first, and is refused while
/// that is being captured. What else has the buffer, as a graph, may let go of it on a thread without the OpenGL
/// context: then it stays mapped until `cushim_graphics_unmap`.
///
/// @param[in] graphics The graphics resource, of a buffer.
/// @param[in] stream The stream.
/// @param[out, owned] buffer The buffer.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is mapped already, for an image, for a stream of another context, and
///   for one that is being captured; `CUSHIM_ERROR_STREAM_REQUIRED` without a stream.
/// @driver any
///
/// # Safety
/// `buffer` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_map(
    graphics: cushim_graphics,
    stream: cushim_stream,
    buffer: *mut cushim_buffer,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `buffer`.
        let buffer = unsafe { out::cleared(buffer, null_mut(), "buffer") }?;
        let (graphics, stream) = hold_all(|guard| Ok((keep(guard, graphics)?, keep(guard, stream)?)))?;
        let reserved = reserve()?;
        *buffer = reserved.of(graphics.map(&stream)?);
        Ok(())
    })
}

/// Maps an image of OpenGL and returns the array of a layer or face, at a level of detail. Copies take it by
/// `cushim_endpoint_array`. It is CUDA's until `cushim_graphics_unmap`; `cushim_graphics_get_array` returns the
/// others.
///
/// @param[in] graphics The graphics resource, of an image.
/// @param[in] stream The stream, as for `cushim_graphics_map`.
/// @param[in] layer The layer, or the face of a cube; 0 for other images.
/// @param[in] level The level of detail, 0 for the whole image.
/// @param[out] array The array.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is mapped already, for a buffer, for a stream of another context, and
///   for one that is being captured; `CUSHIM_ERROR_STREAM_REQUIRED` without a stream; `CUDA_ERROR_INVALID_VALUE` for a
///   layer or a level that there is not, and then it is not mapped.
/// @driver any
///
/// # Safety
/// `array` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_map_array(
    graphics: cushim_graphics,
    stream: cushim_stream,
    layer: u32,
    level: u32,
    array: *mut CUarray,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `array`.
        let array = unsafe { out::cleared(array, null_mut(), "array") }?;
        let (graphics, stream) = hold_all(|guard| Ok((keep(guard, graphics)?, keep(guard, stream)?)))?;
        *array = graphics.map_array(&stream, layer, level)?;
        Ok(())
    })
}

/// Returns the array of another layer or face, or at another level of detail, of an image that is mapped.
///
/// @param[in] graphics The graphics resource, of an image.
/// @param[in] layer The layer, or the face of a cube; 0 for other images.
/// @param[in] level The level of detail, 0 for the whole image.
/// @param[out] array The array.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is not mapped, and for a buffer; `CUDA_ERROR_INVALID_VALUE` for a
///   layer or a level that there is not.
/// @driver any
///
/// # Safety
/// `array` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_get_array(
    graphics: cushim_graphics,
    layer: u32,
    level: u32,
    array: *mut CUarray,
) -> cushim_status {
    // SAFETY: the caller vouches for `array`.
    unsafe { handles::tell(graphics, array, "array", |graphics| graphics.array(layer, level)) }
}

/// Unmaps what was mapped (`cuGraphicsUnmapResources`): OpenGL has it again after what is in the stream by now. A
/// buffer that has the memory is refused by every operation from now on, also in graphs that keep it.
///
/// @param[in] graphics The graphics resource.
/// @param[in, nullable] stream The stream. NULL: the one that it was mapped in.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if it is not mapped, for a stream of another context, and for one that is
///   being captured; it is mapped as before then.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_graphics_unmap(graphics: cushim_graphics, stream: cushim_stream) -> cushim_status {
    call(|| {
        let (graphics, stream) =
            hold_all(|guard| Ok((keep(guard, graphics)?, keep_if_given(guard, stream)?)))?;
        graphics.unmap(stream.as_ref())
    })
}

/// Returns whether CUDA has a buffer or image of OpenGL now.
///
/// @param[in] graphics The graphics resource.
/// @param[out] mapped 1 or 0.
///
/// # Safety
/// `mapped` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_get_mapped(
    graphics: cushim_graphics,
    mapped: *mut i32,
) -> cushim_status {
    // SAFETY: the caller vouches for `mapped`.
    unsafe { handles::tell(graphics, mapped, "mapped", |graphics| Ok(i32::from(graphics.is_mapped()))) }
}

/// Returns the driver's handle of a graphics resource.
///
/// @param[in] graphics The graphics resource.
/// @param[out] native The `CUgraphicsResource`, valid as long as an owning handle is left.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_graphics_native(
    graphics: cushim_graphics,
    native: *mut CUgraphicsResource,
) -> cushim_status {
    // SAFETY: the caller vouches for `native`.
    unsafe { handles::tell(graphics, native, "native", |graphics| Ok(graphics.native())) }
}
