//! Arguments of a launch.
//!
//! @header cushim.h

use crate::capi::buffer::cushim_buffer;
use crate::capi::callback::{cushim_owner, lent};
use crate::capi::graph::definition::cushim_condition;
use crate::capi::handles::{Lent, get};
use crate::capi::memory::{CallersEndpoint, cushim_endpoint};
use crate::capi::pointer::{self, MOST_ARGUMENTS};
use crate::capi::{input, text};
use crate::context::Context;
use crate::graph::Condition;
use crate::memory::{Buffer, BufferObject};
use crate::object::callback::{Lending, Owner};
use crate::object::error::{Error, Status};
use crate::object::handle::{self, Guard, Token};
use crate::op::Arguments;
use smallvec::SmallVec;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// What a `cushim_arg` is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_arg_kind {
    /// The bytes of a value: `value` points to it, and `size` says how many. Device pointers are values, too.
    CUSHIM_ARG_BYTES = 1,
    /// A device pointer with an owner: `value` points to a `cushim_owned_pointer`. `size` is 0.
    CUSHIM_ARG_OWNED = 2,
    /// A buffer: `value` is its handle, and the kernel gets the address. `size` is 0. Whoever destroys the buffer
    /// orders that after the kernel, as with any other work that uses it.
    CUSHIM_ARG_BUFFER = 3,
    /// An endpoint: `value` points to a `cushim_endpoint`, and the kernel gets the address, that of a buffer with its
    /// offset. `size` is 0. An array is no argument, and no bytes are kept.
    CUSHIM_ARG_ENDPOINT = 4,
    /// A condition of the graph that the kernel is a node of: `value` is its handle, and the kernel gets the number
    /// by which it sets the condition. `size` is 0. For kernel nodes and captured kernels only.
    CUSHIM_ARG_CONDITION = 5,
    /// A parameter: `value` points to a `cushim_parameter`, whose `value` points to the bytes. `size` is 0. The value is
    /// set for all kernel nodes of an exec at once by `cushim_exec_set_parameter`. In a stream it is just the value.
    CUSHIM_ARG_PARAMETER = 6,
}

/// One argument of a kernel. Its kind says what it is: nothing is guessed from bits.
///
/// In C, `{CUSHIM_ARG_BYTES, sizeof n, &n}` passes the variable `n`, whatever its type, by its value at the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_arg {
    /// @field[enum(cushim_arg_kind)] A `cushim_arg_kind`.
    pub kind: i32,
    /// Bytes of the value; 0 where the kind says how many there are.
    pub size: u32,
    /// @field[bytes(size)] Where the value is, or the handle. Read during the call only.
    pub value: *const c_void,
}

/// A value with a name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_parameter {
    /// The name: of one value in all kernel nodes of a graph, with its child graphs and bodies.
    pub name: *const c_char,
    /// @field[bytes(size)] The value.
    pub value: *const c_void,
    /// Its bytes.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
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

const BYTES: i32 = cushim_arg_kind::CUSHIM_ARG_BYTES as i32;
const OWNED: i32 = cushim_arg_kind::CUSHIM_ARG_OWNED as i32;
const BUFFER: i32 = cushim_arg_kind::CUSHIM_ARG_BUFFER as i32;
const ENDPOINT: i32 = cushim_arg_kind::CUSHIM_ARG_ENDPOINT as i32;
const CONDITION: i32 = cushim_arg_kind::CUSHIM_ARG_CONDITION as i32;
const PARAMETER: i32 = cushim_arg_kind::CUSHIM_ARG_PARAMETER as i32;

/// What a caller's arguments name, for as long as the launch takes: in their order, those that are no plain bytes.
#[derive(Default)]
pub(in crate::capi) struct CallersArguments<'g> {
    /// All of them, if they are nothing but buffers.
    buffers: SmallVec<[Lent<'g, Buffer>; 8]>,
    names: SmallVec<[Name<'g>; 4]>,
    /// Whether owners may be among the arguments.
    has_owners: bool,
    /// The number of the first argument, where they are some of a kernel's.
    first: usize,
}

enum Name<'g> {
    Buffer(Lent<'g, Buffer>),
    CallersEndpoint(Box<CallersEndpoint<'g>>),
    Condition(Condition),
    Parameter(cushim_parameter),
}

/// The array of a caller's arguments.
///
/// # Safety
/// `args` is NULL or valid for reads of `count` arguments for as long as the result is used.
#[inline]
pub(in crate::capi) unsafe fn given<'a>(
    args: *const cushim_arg,
    count: usize,
) -> Result<&'a [cushim_arg], Error> {
    // SAFETY: the caller vouches for the array.
    unsafe { input::slice_of_at_most(MOST_ARGUMENTS, args, count, "args") }
}

/// The same for one that is given by itself.
///
/// # Safety
/// As for [`given`].
pub(in crate::capi) unsafe fn one<'a>(arg: *const cushim_arg) -> Result<&'a [cushim_arg], Error> {
    // SAFETY: the caller vouches for it.
    unsafe { input::slice_of_at_most(1, arg, 1, "arg") }
}

#[inline(always)]
fn is_value(arg: &cushim_arg) -> bool {
    arg.kind == BYTES && !arg.value.is_null()
}

/// Lists arguments that are all values. If they are not, answers so, and what was listed means nothing.
#[inline(always)]
pub(super) fn list_values(list: &mut Arguments<'_>, args: &[cushim_arg]) -> bool {
    list.extend_at(args, |arg| if is_value(arg) { Some((arg.value, arg.size)) } else { None })
}

/// How many buffers are listed without more.
pub(super) const FEW_BUFFERS: usize = 32;

/// The same for arguments of which some are buffers, with memory that is there for work in this context. Their
/// addresses are kept in `pointers`, for as long as the list is used; the guard keeps the buffers.
#[inline(always)]
pub(super) fn list_values_and_buffers(
    list: &mut Arguments<'_>,
    args: &[cushim_arg],
    guard: &Guard,
    at: &Context,
    pointers: &mut [u64; FEW_BUFFERS],
) -> bool {
    let mut free = pointers.iter_mut();
    list.extend_at(args, |arg| {
        if is_value(arg) {
            return Some((arg.value, arg.size));
        }
        if arg.kind != BUFFER || arg.size != 0 {
            return None;
        }
        let buffer = guard.find::<BufferObject>(Token::from_pointer(arg.value.cast_mut()))?;
        if !buffer.is_lent() {
            return None;
        }
        let pointer = free.next()?;
        *pointer = buffer.address_in(at)?;
        Some((std::ptr::from_ref(pointer).cast(), size_of::<u64>() as u32))
    })
}

/// Lists arguments of any kind, with their owners, which nothing but the sink refuses any more. What they name is
/// looked up, and stays in `named` for as long as the list is used.
///
/// # Safety
/// Each value is as its kind says, for as long as the list is used.
#[inline(always)]
pub(in crate::capi) unsafe fn list_all<'a, 'g>(
    lending: &Lending,
    list: &mut Arguments<'a>,
    args: &[cushim_arg],
    guard: &'g Guard,
    named: &'a mut CallersArguments<'g>,
) -> Result<(), Error> {
    if list_values(list, args) {
        return Ok(());
    }
    if look_up_buffers(&mut named.buffers, args, guard) {
        list_buffers(list, args, &named.buffers);
        return Ok(());
    }
    // SAFETY: as the caller vouches.
    unsafe { list_any(lending, list, args, guard, named) }
}

/// Looks up buffers among arguments that are values or buffers with memory of their own. If they are anything else,
/// answers so, and what was looked up means nothing.
#[inline]
fn look_up_buffers<'g>(
    buffers: &mut SmallVec<[Lent<'g, Buffer>; 8]>,
    args: &[cushim_arg],
    guard: &'g Guard,
) -> bool {
    args.iter().filter(|arg| !is_value(arg)).all(|arg| {
        if arg.kind != BUFFER || arg.size != 0 {
            return false;
        }
        let Some(buffer) = guard.find::<BufferObject>(Token::from_pointer(arg.value.cast_mut())) else {
            return false;
        };
        let is_one = buffer.as_argument().is_some();
        buffers.push(buffer);
        is_one
    })
}

/// Lists such arguments.
#[inline]
fn list_buffers<'a>(list: &mut Arguments<'a>, args: &[cushim_arg], buffers: &'a [Lent<'_, Buffer>]) {
    let mut buffers = buffers.iter();
    for arg in args {
        if is_value(arg) {
            list.push_at(arg.value, arg.size as usize);
        } else if let Some((address, held)) = buffers.next().and_then(|buffer| buffer.as_argument()) {
            list.push_object(address, held);
        }
    }
}

/// The same for arguments of which not all are values.
///
/// # Safety
/// As for [`list_all`].
#[inline(never)]
unsafe fn list_any<'a, 'g>(
    lending: &Lending,
    list: &mut Arguments<'a>,
    args: &[cushim_arg],
    guard: &'g Guard,
    named: &'a mut CallersArguments<'g>,
) -> Result<(), Error> {
    // SAFETY: as the caller vouches.
    unsafe {
        look_up(named, guard, args)?;
        let has_owners = named.has_owners;
        list_named(list, args, named)?;
        if has_owners {
            lend_owners(lending, list, args);
        }
    }
    Ok(())
}

/// # Safety
/// Each value is as its kind says.
unsafe fn look_up<'g>(
    named: &mut CallersArguments<'g>,
    guard: &'g Guard,
    args: &[cushim_arg],
) -> Result<(), Error> {
    for (index, arg) in args.iter().enumerate() {
        // SAFETY: the caller vouches for the value.
        unsafe { named.add(guard, arg) }.map_err(|error| error.of_item("argument", named.first + index))?;
    }
    Ok(())
}

impl<'g> CallersArguments<'g> {
    /// Of arguments of which the first has this number.
    pub(in crate::capi) fn starting_at(first: usize) -> Self {
        Self { first, ..Self::default() }
    }

    /// # Safety
    /// The argument's value is as its kind says.
    unsafe fn add(&mut self, guard: &'g Guard, arg: &cushim_arg) -> Result<(), Error> {
        if arg.value.is_null() && !matches!(arg.kind, BUFFER | CONDITION) {
            return Err(invalid("value is NULL; it points to the value of the argument".to_owned()));
        }
        match arg.kind {
            BYTES => {}
            _ if arg.size != 0 && (OWNED..=PARAMETER).contains(&arg.kind) => {
                return Err(invalid(format!(
                    "size is {}; the kind says how large it is, make it 0",
                    arg.size
                )));
            }
            OWNED => {
                pointer::check(arg.value.cast::<cushim_owned_pointer>(), "value")?;
                handle::check_memory()?;
                self.has_owners = true;
            }
            BUFFER => {
                let buffer: cushim_buffer = arg.value.cast_mut().cast();
                self.names.push(Name::Buffer(get(guard, buffer)?));
            }
            ENDPOINT => {
                // SAFETY: the caller vouches for the value.
                let endpoint =
                    unsafe { CallersEndpoint::read(guard, arg.value.cast::<cushim_endpoint>(), "endpoint") }?;
                self.names.push(Name::CallersEndpoint(Box::new(endpoint)));
                self.has_owners = true;
            }
            CONDITION => {
                let condition: cushim_condition = arg.value.cast_mut().cast();
                self.names.push(Name::Condition(Condition::of(&*get(guard, condition)?)?));
            }
            PARAMETER => {
                // SAFETY: the caller vouches for the value.
                let parameter = unsafe { input::given(arg.value.cast::<cushim_parameter>(), "value") }?;
                if parameter.name.is_null() || parameter.value.is_null() || parameter.reserved != 0 {
                    return Err(invalid("a parameter has a name, a value, and zero in reserved".to_owned()));
                }
                self.names.push(Name::Parameter(parameter));
            }
            kind => {
                return Err(invalid(format!(
                    "kind is {kind}; use CUSHIM_ARG_BYTES, _OWNED, _BUFFER, _PLACE, _CONDITION or _PARAMETER"
                )));
            }
        }
        Ok(())
    }
}

/// # Safety
/// As for [`list_all`].
unsafe fn list_named<'a>(
    list: &mut Arguments<'a>,
    args: &[cushim_arg],
    named: &'a CallersArguments<'_>,
) -> Result<(), Error> {
    let mut names = named.names.iter();
    for (index, arg) in args.iter().enumerate() {
        match arg.kind {
            BYTES => list.push_at(arg.value, arg.size as usize),
            // SAFETY: the caller vouches for the value.
            OWNED => list.push_pointer(unsafe { (*arg.value.cast::<cushim_owned_pointer>()).pointer }),
            _ => match names.next() {
                Some(Name::Buffer(buffer)) => match buffer.as_argument() {
                    Some((address, held)) => list.push_object(address, held),
                    None => list.push_endpoint(buffer.at(0)),
                },
                Some(Name::CallersEndpoint(endpoint)) => {
                    let endpoint = endpoint
                        .as_argument()
                        .map_err(|error| error.of_item("argument", named.first + index))?;
                    list.push_endpoint(endpoint);
                }
                Some(Name::Condition(condition)) => list.push_condition(Arc::new(condition.clone())),
                Some(Name::Parameter(given)) => {
                    // SAFETY: the caller vouches for the name.
                    let name = unsafe { text::required(given.name, "name") }
                        .map_err(|error| error.of_item("argument", named.first + index))?;
                    list.push_parameter(&name, given.value, given.size as usize);
                }
                None => {}
            },
        }
    }
    Ok(())
}

/// # Safety
/// Each value is as its kind says.
unsafe fn lend_owners(lending: &Lending, list: &mut Arguments<'_>, args: &[cushim_arg]) {
    for (index, arg) in args.iter().enumerate() {
        // SAFETY: the caller vouches for the values and the owners.
        let owner: Option<Owner> = unsafe {
            match arg.kind {
                OWNED => lent(lending, &raw const (*arg.value.cast::<cushim_owned_pointer>()).owner),
                ENDPOINT => lent(lending, (*arg.value.cast::<cushim_endpoint>()).owner),
                _ => None,
            }
        };
        owner.into_iter().for_each(|owner| list.push_owner(index, owner));
    }
}

fn invalid(why: String) -> Error {
    Error::new(Status::INVALID_ARGUMENT, why)
}
