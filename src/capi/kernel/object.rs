//! Kernels.

use super::library::cushim_library;
use crate::capi::callback::{cushim_owner, lent};
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CUfunction, CUfunction_attribute, CUkernel};
use crate::capi::error::{call, cushim_status};
use crate::capi::handles::{self, Incomplete, borrowed, claim, enter_anywhere, get, hold};
use crate::capi::{out, text};
use crate::error::{Error, Status};
use crate::kernel::{Keeper, Kernel, NativeKernel};
use std::ffi::c_char;
use std::ptr::null_mut;

/// A kernel: a function of loaded code that a device runs. A kernel keeps its library loaded.
pub type cushim_kernel = *mut cushim_kernel_s;

/// Never given a body.
pub struct cushim_kernel_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_kernel_s {
    type Object = Kernel;
}

/// Takes a kernel of a library by its name.
///
/// @param library The library.
/// @param name The kernel's name, as the code has it: a C++ compiler changes names unless they are declared
///   `extern "C"`. Must not be NULL.
/// @param kernel Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_kernel_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_NOT_FOUND` (500) if there is none of this name, with those that there are in the
/// sentence; others of the driver's. Threads: any.
///
/// # Safety
/// `name` is NULL or ends in NUL; `kernel` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_create(
    library: cushim_library,
    name: *const c_char,
    kernel: *mut cushim_kernel,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `kernel`.
        let kernel = unsafe { out::cleared(kernel, null_mut(), "kernel") }?;
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { text::required(name, "name") }?;
        *kernel = claim(hold(library)?.kernel(&name)?)?;
        Ok(())
    })
}

/// Takes in a `CUkernel`. One of a library that was loaded here gives its object again.
///
/// @param context A context of the kernel's driver, in which attributes and parameters are asked for.
/// @param native The kernel; the runtime's `cudaKernel_t` has the same value. Must not be NULL.
/// @param library A library that keeps the kernel's code loaded; may be NULL. Where it is not the kernel's own, the log
///   says so; and if the kernel's own was loaded here, that is kept instead.
/// @param owner What keeps the kernel's code loaded instead of a library; NULL: whoever lent it sees to that. Read during
///   the call only; released when the kernel is let go.
/// @param kernel Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_kernel_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a library together with an owner;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any. Driver: 12.0.
///
/// # Safety
/// `native` is NULL or a kernel of the context's driver, whose code stays loaded until the last handle of the object is
/// destroyed; `owner` is NULL or a valid owner; `kernel` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_wrap(
    context: cushim_context,
    native: CUkernel,
    library: cushim_library,
    owner: *const cushim_owner,
    kernel: *mut cushim_kernel,
) -> cushim_status {
    // SAFETY: the caller vouches for all of them.
    unsafe { wrap(context, NativeKernel::Kernel(native), library, owner, kernel) }
}

/// Takes in a `CUfunction`. One that `cushim_kernel_native_function` gave, or of a library that was loaded here before
/// driver 12.0, gives its object again.
///
/// @param context The context of the function.
/// @param native The function; the runtime's `cudaFunction_t` has the same value. Must not be NULL.
/// @param library A library that keeps the function's code loaded; may be NULL.
/// @param owner What keeps the function's code loaded instead of a library; NULL: whoever lent it sees to that. Read during
///   the call only; released when the kernel is let go.
/// @param kernel Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_kernel_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a library together with an owner;
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `native` is NULL or a function of `context`, whose code stays loaded until the last handle of the object is destroyed;
/// `owner` is NULL or a valid owner; `kernel` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_wrap_function(
    context: cushim_context,
    native: CUfunction,
    library: cushim_library,
    owner: *const cushim_owner,
    kernel: *mut cushim_kernel,
) -> cushim_status {
    // SAFETY: the caller vouches for all of them.
    unsafe { wrap(context, NativeKernel::Function(native), library, owner, kernel) }
}

/// # Safety
/// As for `cushim_kernel_wrap`.
unsafe fn wrap(
    context: cushim_context,
    native: NativeKernel,
    library: cushim_library,
    owner: *const cushim_owner,
    kernel: *mut cushim_kernel,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `kernel`.
        let kernel = unsafe { out::cleared(kernel, null_mut(), "kernel") }?;
        let context = hold(context)?;
        let library = if library.is_null() { None } else { Some(hold(library)?) };
        if library.is_some() && !owner.is_null() {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                "library and owner are both given; one of them keeps the code loaded",
            ));
        }
        // SAFETY: the caller vouches for the owner.
        let owner = unsafe { lent(owner) };
        let keeper = match (library, owner) {
            (Some(library), _) => Keeper::Library(library),
            (None, Some(owner)) => Keeper::Owner(owner),
            (None, None) => Keeper::Lender,
        };
        let wrapped = Kernel::take_in(&context, native, keeper).map_err(|(error, keeper)| {
            if let Keeper::Owner(owner) = keeper {
                owner.disarm();
            }
            error
        })?;
        *kernel = claim(wrapped)?;
        Ok(())
    })
}

/// Gives the kernel one more handle.
///
/// @param kernel The kernel.
/// @param reference Receives a claim; NULL on failure. Must not be NULL. Give it back with `cushim_kernel_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_ref(
    kernel: cushim_kernel,
    reference: *mut cushim_kernel,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(kernel, reference) }
}

/// Ends a claim on the kernel. With the last hold its library is let go.
///
/// @param kernel The claim, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, also for a borrowed handle; `CUSHIM_ERROR_ALREADY_DESTROYED`,
/// `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_kernel_destroy(kernel: cushim_kernel) -> cushim_status {
    handles::destroy(kernel)
}

/// Names the kernel in messages, in place of its own name.
///
/// @param kernel The kernel.
/// @param label The name; may be NULL, which takes it away.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `label` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_set_label(
    kernel: cushim_kernel,
    label: *const c_char,
) -> cushim_status {
    // SAFETY: the caller vouches for `label`.
    unsafe { handles::set_label(kernel, label) }
}

/// The label of the kernel; empty if it has none.
///
/// @param kernel The kernel.
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
pub unsafe extern "C" fn cushim_kernel_get_label(
    kernel: cushim_kernel,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for the buffer.
    unsafe { handles::get_label(kernel, buffer, size, needed) }
}

/// The kernel's name; empty for one that was wrapped on a driver before 12.3.
///
/// @param kernel The kernel.
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
pub unsafe extern "C" fn cushim_kernel_get_name(
    kernel: cushim_kernel,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter_anywhere()?;
        room.write(get(&guard, kernel)?.name());
        Ok(())
    })
}

/// The context that the kernel's library was loaded in, or that it was wrapped with.
///
/// @param kernel The kernel.
/// @param context Receives the borrowed handle, good as long as the kernel; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `context` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_context(
    kernel: cushim_kernel,
    context: *mut cushim_context,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `context`.
        let context = unsafe { out::cleared(context, null_mut(), "context") }?;
        let guard = enter_anywhere()?;
        *context = borrowed(get(&guard, kernel)?.context())?;
        Ok(())
    })
}

/// The library that the kernel is in.
///
/// @param kernel The kernel.
/// @param library Receives the borrowed handle, good as long as the kernel; NULL on failure, and for a kernel that was
///   wrapped without one. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `library` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_library(
    kernel: cushim_kernel,
    library: *mut cushim_library,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `library`.
        let library = unsafe { out::cleared(library, null_mut(), "library") }?;
        let guard = enter_anywhere()?;
        if let Some(found) = get(&guard, kernel)?.library() {
            *library = borrowed(found)?;
        }
        Ok(())
    })
}

/// The driver's own handle of a kernel of a `CUlibrary`.
///
/// @param kernel The kernel.
/// @param native Receives the handle, which stays the object's; NULL on failure, and for a kernel that is a `CUfunction`
///   only: before driver 12.0, or wrapped as one. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_native(kernel: cushim_kernel, native: *mut CUkernel) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, null_mut(), "native") }?;
        let guard = enter_anywhere()?;
        if let NativeKernel::Kernel(found) = get(&guard, kernel)?.native() {
            *native = found;
        }
        Ok(())
    })
}

/// The driver's own handle of the function that the kernel is in its context.
///
/// @param kernel The kernel.
/// @param native Receives the handle, which stays the object's; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; the driver's. Threads: any.
///
/// # Safety
/// `native` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_native_function(
    kernel: cushim_kernel,
    native: *mut CUfunction,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `native`.
        let native = unsafe { out::cleared(native, null_mut(), "native") }?;
        *native = hold(kernel)?.native_function()?;
        Ok(())
    })
}

/// An attribute of the kernel, on the device of its context.
///
/// @param kernel The kernel.
/// @param attribute A `CUfunction_attribute`.
/// @param value Receives the value, in the unit of the attribute; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_IN_CALLBACK`,
/// `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_INVALID_VALUE` (1) for an attribute that the driver does not know, and others of the
/// driver's. Threads: any.
///
/// # Safety
/// `value` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_attribute(
    kernel: cushim_kernel,
    attribute: i32,
    value: *mut i32,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `value`.
        let value = unsafe { out::cleared(value, 0, "value") }?;
        *value = hold(kernel)?.attribute(CUfunction_attribute(attribute))?;
        Ok(())
    })
}

/// Sets an attribute of the kernel on the device of its context, for every launch from now on, whoever makes it:
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` (8) allows more than 48 KiB of dynamic shared memory.
///
/// @param kernel The kernel.
/// @param attribute A `CUfunction_attribute`.
/// @param value The value, in the unit of the attribute.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_IN_CALLBACK`, `CUSHIM_ERROR_FORKED`; `CUDA_ERROR_INVALID_VALUE` (1)
/// for a value that is out of range and for an attribute that is only read, and others of the driver's. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_kernel_set_attribute(
    kernel: cushim_kernel,
    attribute: i32,
    value: i32,
) -> cushim_status {
    call(|| hold(kernel)?.set_attribute(CUfunction_attribute(attribute), value))
}

/// How many parameters the kernel has.
///
/// @param kernel The kernel.
/// @param count Receives the number; 0 on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED` before driver 12.4;
/// `CUSHIM_ERROR_FORKED`. Threads: any. Driver: 12.4.
///
/// # Safety
/// `count` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_parameter_count(
    kernel: cushim_kernel,
    count: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `count`.
        let count = unsafe { out::cleared(count, 0, "count") }?;
        let guard = enter_anywhere()?;
        *count = get(&guard, kernel)?.parameters()?.len();
        Ok(())
    })
}

/// Where one parameter of the kernel stands in a packed block, and how large it is.
///
/// @param kernel The kernel.
/// @param index Which one, from 0.
/// @param offset Receives its bytes from the start of the block; 0 on failure. May be NULL.
/// @param size Receives its bytes; 0 on failure. May be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT` for an index beyond the last;
/// `CUSHIM_ERROR_UNSUPPORTED` before driver 12.4; `CUSHIM_ERROR_FORKED`. Threads: any. Driver: 12.4.
///
/// # Safety
/// `offset` and `size` are NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_kernel_get_parameter(
    kernel: cushim_kernel,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (offset, size) = unsafe { (out::cleared_if_given(offset, 0), out::cleared_if_given(size, 0)) };
        let guard = enter_anywhere()?;
        let kernel = get(&guard, kernel)?;
        let all = kernel.parameters()?;
        let parameter = all.get(index).ok_or_else(|| {
            Error::new(
                Status::INVALID_ARGUMENT,
                format!("index is {index}; {} has {} parameters, numbered from 0", **kernel, all.len()),
            )
        })?;
        out::put(offset, parameter.offset);
        out::put(size, parameter.size);
        Ok(())
    })
}
