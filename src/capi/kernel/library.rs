//! Libraries: code that the driver loaded.
//!
//! @header cushim.h
//! @task load code

use crate::capi::compile::cushim_program;
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CUjit_option, CUlibrary, CUmodule};
use crate::capi::error::{call, cushim_status, long_call};
use crate::capi::handles::{self, Incomplete, borrowed, enter_anywhere, get, hold, hold_all, keep, owned};
use crate::capi::{input, options, out, pointer, text};
use crate::kernel::image::MOST_BYTES;
use crate::kernel::{Image, Library, LibraryObject, LoadOptions};
use crate::object::error::{Error, Status};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// Loaded code with its kernels and variables. It is unloaded when its last handle and the last of its kernels are
/// destroyed. A library keeps its context alive.
///
/// @driver any
pub type cushim_library = *mut cushim_library_s;

/// Never given a body.
pub struct cushim_library_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_library_s {
    type Object = LibraryObject;
}

/// Flags of `cushim_library_options`, for PTX.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_library_flags {
    /// Generate line numbers (`CU_JIT_GENERATE_LINE_INFO`), for profilers.
    CUSHIM_LIBRARY_LINE_INFO = 1,
    /// Generate debug information (`CU_JIT_GENERATE_DEBUG_INFO`).
    CUSHIM_LIBRARY_DEBUG_INFO = 2,
    /// A verbose log (`CU_JIT_LOG_VERBOSE`).
    CUSHIM_LIBRARY_VERBOSE = 4,
}

/// An option of the driver's compiler for which `cushim_library_options` has no member.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_jit_option {
    /// @field[enum(CUjit_option)] Which option. Those of the log buffers (3 to 6) are not accepted:
    ///   `cushim_library_get_log` has the log.
    pub option: i32,
    /// Zero.
    pub reserved: u32,
    /// The value, as in the driver's array of `void *`.
    pub value: u64,
}

/// Options of `cushim_library_load`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_library_options {
    /// Bytes of this struct, `sizeof(cushim_library_options)`.
    pub struct_size: usize,
    /// @field[flags(cushim_library_flags)] Flags.
    pub flags: u32,
    /// The most registers of a thread; 0 leaves it to the compiler.
    pub max_registers: u32,
    /// @field[nullable, array(jit_option_count)] Further options; NULL if there are none.
    pub jit_options: *const cushim_jit_option,
    /// The number of further options.
    pub jit_option_count: usize,
    /// Bytes from one to the next; 0 means `sizeof(cushim_jit_option)`.
    pub jit_option_stride: usize,
}

const LINE_INFO: u32 = cushim_library_flags::CUSHIM_LIBRARY_LINE_INFO as u32;
const DEBUG_INFO: u32 = cushim_library_flags::CUSHIM_LIBRARY_DEBUG_INFO as u32;
const VERBOSE: u32 = cushim_library_flags::CUSHIM_LIBRARY_VERBOSE as u32;

/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, and its array is as long as it says.
unsafe fn load_options(options: *const cushim_library_options) -> Result<LoadOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_flags(given.flags, LINE_INFO | DEBUG_INFO | VERBOSE)?;
    // SAFETY: the caller vouches for the array.
    let others = unsafe {
        options::array(given.jit_options, given.jit_option_count, given.jit_option_stride, "jit_options")
    }?;
    let mut load = LoadOptions {
        max_registers: given.max_registers,
        line_info: given.flags & LINE_INFO != 0,
        debug_info: given.flags & DEBUG_INFO != 0,
        verbose: given.flags & VERBOSE != 0,
        ..LoadOptions::default()
    };
    for other in others {
        options::check_reserved(other.reserved)?;
        load.others.push((CUjit_option(other.option), other.value));
    }
    Ok(load)
}

/// Loads code: PTX, a cubin or a fatbin, which is recognised by its bytes. PTX is compiled during the call, not at
/// the first launch; the compiler's messages are in `driver_log` of the error.
///
/// From CUDA 12.0 on the kernels can be launched in every context of the driver; before that, in this context only.
///
/// @param[in] context The context. PTX is compiled for its device.
/// @param[in, bytes(size)] image The code.
/// @param[in] size The size in bytes. PTX may include a NUL at its end.
/// @param[in, nullable] options The options.
/// @param[out, owned] library The library.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an image of another kind, or that is cut off; `CUDA_ERROR_INVALID_PTX`
///   (218) if PTX does not compile; `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` (222) for PTX that is newer than the driver;
///   `CUDA_ERROR_NO_BINARY_FOR_GPU` (209) if the image has no code for the device.
/// @driver any
///
/// # Safety
/// `image` is NULL or valid for reads of `size` bytes; `options` is NULL or valid for the bytes that its
/// `struct_size` names, and its array is as long as it says; `library` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_load(
    context: cushim_context,
    image: *const c_void,
    size: usize,
    options: *const cushim_library_options,
    library: *mut cushim_library,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `library`.
        let library = unsafe { out::cleared(library, null_mut(), "library") }?;
        pointer::check(image.cast::<u8>(), "image")?;
        // SAFETY: the caller vouches for the image.
        let bytes =
            unsafe { input::slice_of_at_most(MOST_BYTES as usize, image.cast::<u8>(), size, "image") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { load_options(options) }?;
        let context = hold(context)?;
        *library = owned(|| Library::load(&context, &Image::new(bytes)?, &options))?;
        Ok(())
    })
}

/// Loads code from a file, as `cushim_library_load` does.
///
/// @param[in] context The context. PTX is compiled for its device.
/// @param[in] path The path, in UTF-8, of PTX, a cubin or a fatbin, with any extension.
/// @param[in, nullable] options The options.
/// @param[out, owned] library The library.
/// @errors as `cushim_library_load`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a file that cannot be read.
/// @driver none
///
/// # Safety
/// `path` is NULL or ends in NUL; `options` and `library` as for `cushim_library_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_load_file(
    context: cushim_context,
    path: *const c_char,
    options: *const cushim_library_options,
    library: *mut cushim_library,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `library`.
        let library = unsafe { out::cleared(library, null_mut(), "library") }?;
        // SAFETY: the caller vouches for `path`.
        let path = unsafe { text::required(path, "path") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { load_options(options) }?;
        let context = hold(context)?;
        *library = owned(|| Library::load(&context, &Image::from_file(&*path)?, &options))?;
        Ok(())
    })
}

/// Loads the code of a program, as `cushim_library_load` does. The library's kernels and variables can be named by the
/// name expressions of the program, too.
///
/// @param[in] context The context.
/// @param[in] program The program, which may be destroyed afterwards.
/// @param[in, nullable] options The options.
/// @param[out, owned] library The library.
/// @errors as `cushim_library_load`: `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a program of LTO IR.
/// @driver any
///
/// # Safety
/// `options` and `library` as for `cushim_library_load`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_load_program(
    context: cushim_context,
    program: cushim_program,
    options: *const cushim_library_options,
    library: *mut cushim_library,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `library`.
        let library = unsafe { out::cleared(library, null_mut(), "library") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { load_options(options) }?;
        let (context, program) = hold_all(|guard| Ok((keep(guard, context)?, keep(guard, program)?)))?;
        *library = owned(|| Library::load(&context, program.compiled().image()?, &options))?;
        Ok(())
    })
}

/// Returns one more owned handle of a library.
///
/// @param[in] library The library.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_ref(
    library: cushim_library,
    reference: *mut cushim_library,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(library, reference) }
}

/// Destroys an owned handle of a library. The code is unloaded when nothing uses it any more, kernels included.
///
/// @param[in, ended, nullable] library The handle; NULL does nothing.
/// @driver none
/// @sync code if this unloads it
#[unsafe(no_mangle)]
pub extern "C" fn cushim_library_destroy(library: cushim_library) -> cushim_status {
    handles::destroy(library)
}

/// Returns the context in which a library was loaded.
///
/// @param[in] library The library.
/// @param[out, borrowed] context The context, valid as long as the library.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_context(
    library: cushim_library,
    context: *mut cushim_context,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, null_mut(), "context") }?;
        let guard = enter_anywhere()?;
        *context = borrowed(get(&guard, library)?.context())?;
        Ok(())
    })
}

/// Copies the compiler's messages from loading a library. There are none if the driver did not have to compile.
///
/// @param[in] library The library.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the messages.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that all messages take.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_log(
    library: cushim_library,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter_anywhere()?;
        room.write(&get(&guard, library)?.log());
        Ok(())
    })
}

/// Returns the driver's own handle of a library.
///
/// @param[in] library The library.
/// @param[out] native The handle, which cushim keeps; NULL before CUDA 12.0, where there is only a module.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_native(
    library: cushim_library,
    native: *mut CUlibrary,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, null_mut(), "native") }?;
        let guard = enter_anywhere()?;
        *native = get(&guard, library)?.native();
        Ok(())
    })
}

/// Returns the driver's own handle of a library's module in its context.
///
/// @param[in] library The library.
/// @param[out] native The handle, which cushim keeps.
/// @driver any
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_native_module(
    library: cushim_library,
    native: *mut CUmodule,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, null_mut(), "native") }?;
        *native = hold(library)?.native_module()?;
        Ok(())
    })
}

/// Returns the number of kernels in a library.
///
/// @param[in] library The library.
/// @param[out] count The number.
/// @driver 12.4
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_kernel_count(
    library: cushim_library,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        *count = hold(library)?.kernel_names()?.len();
        Ok(())
    })
}

/// Copies the name of one of a library's kernels, as `cushim_kernel_create` takes it.
///
/// @param[in] library The library.
/// @param[in] index The index, from 0, in the driver's order.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the name.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole name takes.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an index out of range.
/// @driver 12.4
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_kernel_name(
    library: cushim_library,
    index: usize,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let names = hold(library)?.kernel_names()?;
        let name = names.get(index).ok_or_else(|| {
            Error::new(
                Status::INVALID_ARGUMENT,
                format!("index is {index}; the library has {} kernels, numbered from 0", names.len()),
            )
        })?;
        room.write(name);
        Ok(())
    })
}

/// Returns the address and the size of a variable of the code, in the library's context; managed variables included.
///
/// @param[in] library The library.
/// @param[in, example("counter")] name The name of the variable.
/// @param[out] pointer The address, valid as long as the library.
/// @param[out, nullable] bytes The size in bytes.
/// @errors `CUDA_ERROR_NOT_FOUND` (500) if there is no variable of this name.
/// @driver any
/// @task use variables of loaded code
///
/// # Safety
/// `name` is NULL or ends in NUL; `pointer` and `bytes` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_global(
    library: cushim_library,
    name: *const c_char,
    pointer: *mut u64,
    bytes: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for all three.
    unsafe { variable(library, name, pointer, bytes, Library::global) }
}

/// Returns the address and the size of a managed variable of the code, which are the same in every context.
///
/// @param[in] library The library.
/// @param[in, example("counter")] name The name of the variable.
/// @param[out] pointer The address, valid as long as the library.
/// @param[out, nullable] bytes The size in bytes.
/// @errors `CUDA_ERROR_NOT_FOUND` (500) if there is no managed variable of this name.
/// @driver any
/// @task use variables of loaded code
///
/// # Safety
/// `name` is NULL or ends in NUL; `pointer` and `bytes` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_managed(
    library: cushim_library,
    name: *const c_char,
    pointer: *mut u64,
    bytes: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for all three.
    unsafe { variable(library, name, pointer, bytes, Library::managed) }
}

/// # Safety
/// `name` is NULL or ends in NUL; `pointer` and `bytes` are NULL or valid for writes.
unsafe fn variable(
    library: cushim_library,
    name: *const c_char,
    pointer: *mut u64,
    bytes: *mut usize,
    find: impl FnOnce(&Library, &str) -> Result<(crate::memory::DevicePointer, usize), Error>,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (bytes, pointer) = unsafe {
            out::both(out::cleared_if_given(bytes, 0, "bytes"), out::cleared(pointer, 0, "pointer"))
        }?;
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { text::required(name, "name") }?;
        let (address, size) = find(&hold(library)?, &name)?;
        *pointer = address.0;
        out::put(bytes, size);
        Ok(())
    })
}
