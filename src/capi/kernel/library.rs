//! Libraries: code that the driver loaded.

use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CUjit_option, CUlibrary, CUmodule};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, borrowed, claim, enter_anywhere, get, hold};
use crate::capi::{options, out, text};
use crate::error::{Error, Status};
use crate::kernel::{Image, Library, LoadOptions};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// Code that was loaded, with its kernels and variables. It is unloaded when its last handle and the last of its kernels
/// are destroyed; the driver then waits for what runs of it. A library keeps its context alive.
pub type cushim_library = *mut cushim_library_s;

/// Never given a body.
pub struct cushim_library_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_library_s {
    type Object = Library;
}

/// What `cushim_library_options.flags` may contain. All of it concerns PTX only.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_library_flags {
    /// Put line numbers into the code, for profilers.
    CUSHIM_LIBRARY_LINE_INFO = 1,
    /// Put everything into the code that a debugger needs.
    CUSHIM_LIBRARY_DEBUG_INFO = 2,
    /// Have the compiler say more in its log.
    CUSHIM_LIBRARY_VERBOSE = 4,
}

/// An option of the driver's compiler that has no member of its own here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_jit_option {
    /// Its number, a `CUjit_option`. Those of the log buffers (3 to 6) are refused: the library keeps the log.
    pub option: i32,
    /// Zero.
    pub reserved: u32,
    /// Its value, as the driver takes it where it asks for a `void *`.
    pub value: u64,
}

/// Options of `cushim_library_load`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_library_options {
    /// Bytes of this struct, `sizeof(cushim_library_options)`.
    pub struct_size: usize,
    /// A combination of `cushim_library_flags`.
    pub flags: u32,
    /// Registers that a thread may use at most; 0 leaves it to the compiler.
    pub max_registers: u32,
    /// Other options of the driver's; NULL if there are none.
    pub jit_options: *const cushim_jit_option,
    /// How many.
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

/// Loads code: PTX, a cubin or a fatbin; which it is shows from its bytes. PTX is compiled now, and what the compiler says
/// of an error stands in the error's `driver_log`.
///
/// From driver 12.0 on the kernels can be launched in every context of the driver; before, in this one.
///
/// @param context The context, for whose device PTX is compiled.
/// @param image The code. Read during the call only. Must not be NULL.
/// @param size Its bytes; a NUL at the end of PTX may be among them. An image that is cut off is refused.
/// @param options NULL for the defaults. Read during the call only.
/// @param library Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_library_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an image that is none or is cut off;
/// `CUSHIM_ERROR_UNSUPPORTED` on the driver "none"; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`;
/// `CUDA_ERROR_INVALID_PTX` (218) for PTX that does not compile, `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` (222) for PTX that
/// is younger than the driver, `CUDA_ERROR_NO_BINARY_FOR_GPU` (209) if nothing in the image is for the device, and others
/// of the driver's. Threads: any.
///
/// # Safety
/// `image` is NULL or valid for reads of `size` bytes; `options` is NULL or valid for the bytes that its `struct_size` names,
/// and its array is as long as it says; `library` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_load(
    context: cushim_context,
    image: *const c_void,
    size: usize,
    options: *const cushim_library_options,
    library: *mut cushim_library,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `library`.
        let library = unsafe { out::cleared(library, null_mut(), "library") }?;
        if image.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "image must not be NULL"));
        }
        // SAFETY: the caller vouches for the image.
        let bytes = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) };
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { load_options(options) }?;
        let context = hold(context)?;
        *library = claim(Library::load(&context, &Image::new(bytes)?, &options)?)?;
        Ok(())
    })
}

/// Loads code from a file, as `cushim_library_load` does.
///
/// @param context The context, for whose device PTX is compiled.
/// @param path The file: PTX, a cubin or a fatbin, whatever its name ends in. UTF-8. Must not be NULL.
/// @param options NULL for the defaults. Read during the call only.
/// @param library Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_library_destroy`.
/// @return A `cushim_status`.
///
/// Errors: as of `cushim_library_load`: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a file that
/// cannot be read, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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
    call(|| {
        // SAFETY: the caller vouches for `library`.
        let library = unsafe { out::cleared(library, null_mut(), "library") }?;
        // SAFETY: the caller vouches for `path`.
        let path = unsafe { text::required(path, "path") }?;
        // SAFETY: the caller vouches for `options`.
        let options = unsafe { load_options(options) }?;
        let context = hold(context)?;
        *library = claim(Library::load(&context, &Image::from_file(&*path)?, &options)?)?;
        Ok(())
    })
}

/// Gives the library one more handle.
///
/// @param library The library.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_library_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// Ends a claim on the library. With the last hold, the kernels' included, the code is unloaded, which waits for what runs
/// of it.
///
/// @param library The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_library_destroy(library: cushim_library) -> cushim_status {
    handles::destroy(library)
}

/// Names the library in messages.
///
/// @param library The library.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_set_label(
    library: cushim_library,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(library, label) }
}

/// The name that messages use for the library; empty if it has none.
///
/// @param library The library.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_library_get_label(
    library: cushim_library,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(library, buffer, size, needed) }
}

/// The context that the library was loaded in.
///
/// @param library The library.
/// @param context Receives the borrowed handle, good as long as the library; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// What the compiler noted when the library was loaded; empty if it had nothing to say, or the driver had the code compiled
/// from before.
///
/// @param library The library.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// The driver's own handle of the library.
///
/// @param library The library.
/// @param native Receives the handle, which stays the object's; NULL on failure, and before driver 12.0, where there is a
///   module only. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
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

/// The driver's own handle of the module that the library is in its context.
///
/// @param library The library.
/// @param native Receives the handle, which stays the object's; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
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

/// How many kernels the library has.
///
/// @param library The library.
/// @param count Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED` before driver 12.4;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any. Driver: 12.4.
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

/// The name of one of the library's kernels, by which `cushim_kernel_create` takes it.
///
/// @param library The library.
/// @param index Which one, from 0, in the driver's order.
/// @param buffer Receives the text, which ends with NUL; one that does not fit is cut and ends with "...". May be NULL if
///   `size` is 0.
/// @param size Bytes of the buffer.
/// @param needed Receives the bytes that the whole text takes with its NUL; may be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an index beyond the last;
/// `CUSHIM_ERROR_UNSUPPORTED` before driver 12.4; `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's.
/// Threads: any. Driver: 12.4.
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

/// Address and size of a variable of the code, in the context of the library; managed variables too.
///
/// @param library The library.
/// @param name The variable's name. Must not be NULL.
/// @param pointer Receives the address, good as long as the library; 0 on failure. Must not be NULL.
/// @param bytes Receives its bytes; 0 on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_NOT_FOUND` (500) if there is none of this name, and others of the driver's.
/// Threads: any.
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

/// Address and size of a managed variable of the code, the same in every context.
///
/// @param library The library.
/// @param name The variable's name. Must not be NULL.
/// @param pointer Receives the address, good as long as the library; 0 on failure. Must not be NULL.
/// @param bytes Receives its bytes; 0 on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_NOT_FOUND` (500) if there is no managed one of this name, and others of the driver's.
/// Threads: any.
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
        // SAFETY: the caller vouches for `bytes`.
        let bytes = unsafe { out::cleared_if_given(bytes, 0) };
        // SAFETY: the caller vouches for `pointer`.
        let pointer = unsafe { out::cleared(pointer, 0, "pointer") }?;
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { text::required(name, "name") }?;
        let (address, size) = find(&*hold(library)?, &name)?;
        *pointer = address.0;
        out::put(bytes, size);
        Ok(())
    })
}
