//! Kernels.
//!
//! @header cushim.h
//! @task find kernels and ask about them

use super::library::cushim_library;
use crate::capi::callback::{cushim_owner, lent};
use crate::capi::context::cushim_context;
use crate::capi::driver_types::{CUfunction, CUfunction_attribute, CUkernel};
use crate::capi::error::{call, call_taking, cushim_status};
use crate::capi::handles::{
    self, Incomplete, borrowed, enter_anywhere, get, hold, hold_all, keep, keep_if_given, owned, reserve,
};
use crate::capi::{out, pointer, text};
use crate::kernel::{Keeper, Kernel, KernelObject, NativeKernel};
use crate::object::error::{Error, Status};
use std::ffi::c_char;
use std::ptr::null_mut;

/// A kernel: a function of loaded code that a device executes. A kernel keeps its library loaded.
///
/// @driver any
pub type cushim_kernel = *mut cushim_kernel_s;

/// Never given a body.
pub struct cushim_kernel_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_kernel_s {
    type Object = KernelObject;
}

/// Returns a kernel of a library by its name.
///
/// @param[in] library The library.
/// @param[in, example("kernel")] name The name in the code. A C++ compiler changes names unless they are declared
///   `extern "C"`.
/// @param[out, owned] kernel The kernel.
/// @errors `CUDA_ERROR_NOT_FOUND` (500) if there is no kernel of this name; the message lists those that there are.
/// @driver any
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
        *kernel = owned(|| hold(library)?.kernel(&name))?;
        Ok(())
    })
}

/// Wraps a `CUkernel`. A kernel of a library that cushim has loaded returns its own object.
///
/// @param[in] context A context of the kernel's driver, for attributes and parameters.
/// @param[in] native The kernel; a `cudaKernel_t` is the same.
/// @param[in, nullable] library A library that keeps the kernel's code loaded. If the code belongs to another library
///   that cushim has loaded, that one is kept instead; if it belongs to neither, a warning is logged.
/// @param[in, taken, nullable] owner Keeps the kernel's code loaded, instead of a library; released after the last
///   use of the kernel. NULL: the code must outlive the kernel.
/// @param[out, owned] kernel The kernel.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a library together with an owner.
/// @driver 12.0
///
/// # Safety
/// `native` is NULL or a kernel of the context's driver, whose code stays loaded until the last handle of the object
/// is destroyed; `owner` is NULL or a valid owner; `kernel` is NULL or valid for writes.
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

/// Wraps a `CUfunction`. One that `cushim_kernel_native_function` has returned, or that belongs to a library that
/// cushim has loaded before CUDA 12.0, returns its own object.
///
/// @param[in] context The context of the function.
/// @param[in] native The function; a `cudaFunction_t` is the same.
/// @param[in, nullable] library A library that keeps the function's code loaded.
/// @param[in, taken, nullable] owner Keeps the function's code loaded, instead of a library; released after the last
///   use of the kernel. NULL: the code must outlive the kernel.
/// @param[out, owned] kernel The kernel.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a library together with an owner.
/// @driver any
///
/// # Safety
/// `native` is NULL or a function of `context`, whose code stays loaded until the last handle of the object is
/// destroyed; `owner` is NULL or a valid owner; `kernel` is NULL or valid for writes.
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
    call_taking(|lending| {
        // SAFETY: the caller vouches for `kernel`.
        let kernel = unsafe { out::cleared(kernel, null_mut(), "kernel") }?;
        let (context, library) =
            hold_all(|guard| Ok((keep(guard, context)?, keep_if_given(guard, library)?)))?;
        pointer::check_if_given(owner, "owner")?;
        if library.is_some() && !owner.is_null() {
            return Err(Error::new(
                Status::INVALID_ARGUMENT,
                "library and owner are both given; one of them keeps the code loaded",
            ));
        }
        let reserved = reserve()?;
        // SAFETY: the caller vouches for the owner.
        let owner = unsafe { lent(lending, owner) };
        let keeper = match (library, owner) {
            (Some(library), _) => Keeper::Library(library),
            (None, Some(owner)) => Keeper::Owner(owner),
            (None, None) => Keeper::Lender,
        };
        // SAFETY: the caller vouches for the handle.
        let wrapped = unsafe { Kernel::take_in(&context, native, keeper) }.map_err(|(error, _)| error)?;
        *kernel = reserved.of(wrapped);
        Ok(())
    })
}

/// Returns one more owning handle of a kernel.
///
/// @param[in] kernel The kernel.
/// @param[out, owned] reference The new handle.
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

/// Destroys an owning handle of a kernel. When nothing uses the kernel any more, it no longer keeps its library
/// loaded.
///
/// @param[in, ended, nullable] kernel The handle; NULL does nothing.
/// @driver none
/// @sync code if this unloads it
#[unsafe(no_mangle)]
pub extern "C" fn cushim_kernel_destroy(kernel: cushim_kernel) -> cushim_status {
    handles::destroy(kernel)
}

/// Copies the name of a kernel; "" for a kernel that was wrapped before CUDA 12.3.
///
/// @param[in] kernel The kernel.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the name.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole name takes.
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

/// Returns the context of a kernel: that of its library, or the one with which it was wrapped.
///
/// @param[in] kernel The kernel.
/// @param[out, borrowed] context The context, valid as long as the kernel.
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

/// Returns the library of a kernel.
///
/// @param[in] kernel The kernel.
/// @param[out, borrowed] library The library, valid as long as the kernel; NULL for a kernel that was wrapped without
///   one.
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

/// Returns the `CUkernel` of a kernel.
///
/// @param[in] kernel The kernel.
/// @param[out] native The handle, which cushim keeps; NULL for a kernel that is only a `CUfunction`: before CUDA
///   12.0, or wrapped as one.
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

/// Returns the `CUfunction` of a kernel in its context.
///
/// @param[in] kernel The kernel.
/// @param[out] native The handle, which cushim keeps.
/// @driver any
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

/// Returns an attribute of a kernel on the device of its context.
///
/// @param[in] kernel The kernel.
/// @param[in, enum(CUfunction_attribute), example(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)] attribute Which
///   attribute.
/// @param[out] value The value.
/// @errors `CUDA_ERROR_INVALID_VALUE` (1) for an attribute that this driver does not know.
/// @driver any
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

/// Sets an attribute of a kernel on the device of its context, for all later launches in the process.
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` (8) allows more than 48 KiB of dynamic shared memory.
///
/// @param[in] kernel The kernel.
/// @param[in, enum(CUfunction_attribute), example(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)] attribute Which
///   attribute.
/// @param[in, example(2048)] value The value.
/// @errors `CUDA_ERROR_INVALID_VALUE` (1) for a value out of range, and for an attribute that is read-only.
/// @driver any
#[unsafe(no_mangle)]
pub extern "C" fn cushim_kernel_set_attribute(
    kernel: cushim_kernel,
    attribute: i32,
    value: i32,
) -> cushim_status {
    call(|| hold(kernel)?.set_attribute(CUfunction_attribute(attribute), value))
}

/// Loads the code of a kernel in its context now (`cuFuncLoad`). Otherwise the first launch may do it (lazy loading,
/// the driver's default since CUDA 12.2), which takes long, and may wait for kernels that run. Call it before a
/// capture, or before kernels that wait for each other. A kernel that is loaded already stays as it is.
///
/// @param[in] kernel The kernel.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` before CUDA 12.4: set `CUDA_MODULE_LOADING=EAGER` in the environment there, or
///   launch the kernel once before.
/// @driver 12.4
#[unsafe(no_mangle)]
pub extern "C" fn cushim_kernel_preload(kernel: cushim_kernel) -> cushim_status {
    call(|| hold(kernel)?.preload())
}

/// Returns the number of a kernel's parameters.
///
/// @param[in] kernel The kernel.
/// @param[out] count The number.
/// @driver 12.4
/// @callback allowed
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

/// Returns the offset and the size of a kernel's parameter in a packed block.
///
/// @param[in] kernel The kernel.
/// @param[in] index The index, from 0.
/// @param[out, nullable] offset Bytes from the start of the block.
/// @param[out, nullable] size The size in bytes.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an index out of range.
/// @driver 12.4
/// @callback allowed
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
        let (offset, size) = unsafe {
            out::both(out::cleared_if_given(offset, 0, "offset"), out::cleared_if_given(size, 0, "size"))
        }?;
        let guard = enter_anywhere()?;
        let kernel = get(&guard, kernel)?;
        let all = kernel.parameters()?;
        let parameter = all.get(index).ok_or_else(|| {
            Error::new(
                Status::INVALID_ARGUMENT,
                format!("index is {index}; {} has {} parameters, numbered from 0", *kernel, all.len()),
            )
        })?;
        out::put(offset, parameter.offset);
        out::put(size, parameter.size);
        Ok(())
    })
}
