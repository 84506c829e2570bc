//! Arguments of a launch.

use crate::callback::Owner;
use crate::capi::buffer::cushim_buffer;
use crate::capi::callback::{cushim_owner, lent};
use crate::capi::handles::get;
use crate::error::{Error, Status};
use crate::handle::Guard;
use crate::kernel::{Arguments, Kernel};
use crate::memory::DevicePointer;
use std::ffi::c_void;

/// What a `cushim_arg` is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_arg_kind {
    /// The bytes of a value: `value` points to it, and `size` says how many. Device pointers are values, too.
    CUSHIM_ARG_BYTES = 1,
    /// A device pointer with an owner: `value` points to a `cushim_owned_pointer`. `size` is 0.
    CUSHIM_ARG_OWNED = 2,
    /// A buffer: `value` is its handle, and the kernel gets the address. `size` is 0. Whoever destroys the buffer orders that
    /// after the kernel, as with any other work that uses it.
    CUSHIM_ARG_BUFFER = 3,
}

/// One argument of a kernel. Its kind says what it is: nothing is guessed from bits.
///
/// In C, `{CUSHIM_ARG_BYTES, sizeof n, &n}` passes the variable `n`, whatever its type, by its value at the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_arg {
    /// A `cushim_arg_kind`.
    pub kind: i32,
    /// Bytes of the value; 0 where the kind says how many there are.
    pub size: u32,
    /// Where the value is, or the handle. Read during the call only.
    pub value: *const c_void,
}

/// A device pointer, and what keeps the memory alive until the kernel is done.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_owned_pointer {
    /// The device pointer.
    pub pointer: u64,
    /// Released when the kernel is done. If the launch fails, nothing is released.
    pub owner: cushim_owner,
}

/// Lists a caller's arguments for a launch; answers with the owners among them.
///
/// # Safety
/// `args` is valid for reads of `count` arguments, and each value as its kind says.
#[inline]
pub(super) unsafe fn list(
    guard: &Guard,
    arguments: &mut Arguments,
    kernel: &Kernel,
    args: *const cushim_arg,
    count: usize,
) -> Result<Vec<Owner>, Error> {
    if args.is_null() && count > 0 {
        return Err(refused(format!("args is NULL, and there are to be {count}")));
    }
    // SAFETY: the caller vouches for the array; without one nothing is read.
    let args = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(args, count) } };
    let is_value = |arg: &cushim_arg| arg.kind == BYTES && !arg.value.is_null();
    if args.iter().all(is_value)
        && arguments.push_all(kernel, args.iter().map(|arg| (arg.value, arg.size as usize)))
    {
        return Ok(Vec::new());
    }
    // Something is special, or wrong.
    let mut owned = false;
    for (index, arg) in args.iter().enumerate() {
        // SAFETY: the caller vouches for the value.
        owned |= unsafe { list_one(guard, arguments, kernel, index, arg) }?;
    }
    if !owned {
        return Ok(Vec::new());
    }
    // Only now, when none of them can be refused any more.
    let is_owned = |arg: &&cushim_arg| arg.kind == OWNED;
    // SAFETY: the caller vouches for the values and the owners.
    let owner =
        |arg: &cushim_arg| unsafe { lent(&raw const (*arg.value.cast::<cushim_owned_pointer>()).owner) };
    Ok(args.iter().filter(is_owned).filter_map(owner).collect())
}

const BYTES: i32 = cushim_arg_kind::CUSHIM_ARG_BYTES as i32;
const OWNED: i32 = cushim_arg_kind::CUSHIM_ARG_OWNED as i32;
const BUFFER: i32 = cushim_arg_kind::CUSHIM_ARG_BUFFER as i32;

/// Answers whether it has an owner.
///
/// # Safety
/// The argument's value is as its kind says.
unsafe fn list_one(
    guard: &Guard,
    arguments: &mut Arguments,
    kernel: &Kernel,
    index: usize,
    arg: &cushim_arg,
) -> Result<bool, Error> {
    if arg.value.is_null() && arg.kind != BUFFER {
        return Err(refused(format!(
            "argument {index} points to NULL; its value stands where `value` points"
        )));
    }
    match arg.kind {
        BYTES => arguments.push_at(kernel, arg.value, arg.size as usize)?,
        OWNED if arg.size == 0 => {
            // SAFETY: the caller vouches for the value.
            let pointer = unsafe { (*arg.value.cast::<cushim_owned_pointer>()).pointer };
            arguments.push_pointer(kernel, DevicePointer(pointer))?;
        }
        BUFFER if arg.size == 0 => {
            let buffer: cushim_buffer = arg.value.cast_mut().cast();
            let found = get(guard, buffer).map_err(|mut error| {
                error.item = Some(index);
                error
            })?;
            arguments.push_pointer(kernel, found.pointer())?;
        }
        OWNED | BUFFER => {
            return Err(refused(format!(
                "argument {index} says by its kind how large it is, and has size {}; it must be 0",
                arg.size
            )));
        }
        kind => {
            return Err(refused(format!(
                "argument {index} is of kind {kind}; use a cushim_arg_kind, 1 to 3"
            )));
        }
    }
    Ok(arg.kind == OWNED)
}

#[cold]
fn refused(why: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, why)
}
