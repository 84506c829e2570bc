//! Kernel launches: a grid and a block of numbers, and arguments that are numbers of Python or buffers.

use crate::bound::{Address, BUFFER, KERNEL, STREAM};
use crate::calls::{Call, answer, in_python, integer};
use crate::object::{handle, size};
use crate::python::{
    Object, PyFloat_AsDouble, PyFloat_Type, PyLong_Type, PyTuple_GetItem, PyTuple_Size, PyTuple_Type, is_a,
    unlocked,
};
use std::ffi::c_void;
use std::ptr::null_mut;

const DOC: &std::ffi::CStr =
    c"launch($self, stream, grid, block, /, *arguments, **config)\n--\n\nEnqueues the kernel; see `cushim.launch`.";
const FUNCTION_DOC: &std::ffi::CStr =
    c"launch(kernel, stream, grid, block, /, *arguments, **config)\n--\n\nEnqueues a kernel in a stream.";

pub(crate) static METHOD: Call = Call::new(c"launch", DOC, method);
pub(crate) static FUNCTION: Call = Call::new(c"launch", FUNCTION_DOC, function);

/// Of `cushim_launch_config`: its size, and where `grid` and `block` are.
pub(crate) static CONFIG: [Address; 3] = [Address::nothing(), Address::nothing(), Address::nothing()];
/// Room for that of a later version, too.
const ROOM: usize = 512;
/// Arguments; more go by Python.
const MOST: usize = 32;

/// `cushim_arg`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Argument {
    kind: i32,
    size: u32,
    value: *const c_void,
}

const BYTES: i32 = 1;
const OF_BUFFER: i32 = 3;

type Launch = unsafe extern "C" fn(u64, u64, *const c_void, *const Argument, usize) -> i32;

unsafe extern "C" fn method(
    of: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python calls it so, with a kernel.
    unsafe {
        if count < 3 || !names.is_null() {
            return in_python(&METHOD, of, arguments, count, names);
        }
        let given = std::slice::from_raw_parts(arguments, count.cast_unsigned());
        launch(of, given).unwrap_or_else(|| in_python(&METHOD, of, arguments, count, names))
    }
}

unsafe extern "C" fn function(
    _: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: Python calls it so.
    unsafe {
        if count < 4 || !names.is_null() || !is_a(*arguments, KERNEL.class()) {
            return in_python(&FUNCTION, null_mut(), arguments, count, names);
        }
        let given = std::slice::from_raw_parts(arguments, count.cast_unsigned());
        launch(given[0], &given[1..])
            .unwrap_or_else(|| in_python(&FUNCTION, null_mut(), arguments, count, names))
    }
}

/// Launches, unless something is not usual: then nothing was done.
///
/// # Safety
/// The calling thread has Python's lock, `kernel` is one, and there are a stream, a grid and a block.
unsafe fn launch(kernel: *mut Object, given: &[*mut Object]) -> Option<*mut Object> {
    let (&[stream, grid, block], rest) = given.split_first_chunk().expect("three at least");
    if rest.len() > MOST {
        return None;
    }
    let mut words = [0_u64; MOST];
    let mut items = [Argument { kind: 0, size: 0, value: std::ptr::null() }; MOST];
    // SAFETY: as the caller says; the address is that of a function of this type, and the configuration has room for what it has.
    unsafe {
        if !is_a(stream, STREAM.class()) {
            return None;
        }
        let config = config(dim(grid)?, dim(block)?);
        for (index, &value) in rest.iter().enumerate() {
            items[index] = argument(kernel, index, value, &mut words[index])?;
        }
        let function = std::mem::transmute::<usize, Launch>(METHOD.address.get());
        let (kernel, stream) = (handle(kernel), handle(stream));
        Some(answer(unlocked(|| {
            function(kernel, stream, config.0.as_ptr().cast(), items.as_ptr(), rest.len())
        })))
    }
}

/// An argument of the kernel, whose value is in `word` or the handle of a buffer.
unsafe fn argument(
    kernel: *mut Object,
    index: usize,
    value: *mut Object,
    word: &mut u64,
) -> Option<Argument> {
    // SAFETY: the caller's objects live, and it has Python's lock.
    unsafe {
        let kind = (*value).kind;
        if kind == &raw mut PyLong_Type {
            let (size, number) = (size(kernel, index)?, integer(value)?);
            *word = bits(number, size)?;
            Some(Argument { kind: BYTES, size, value: (&raw const *word).cast() })
        } else if kind == &raw mut PyFloat_Type {
            let size = size(kernel, index)?;
            *word = match (size, PyFloat_AsDouble(value)) {
                (4, number) => u64::from(narrow(number).to_bits()),
                (8, number) => number.to_bits(),
                _ => return None,
            };
            Some(Argument { kind: BYTES, size, value: (&raw const *word).cast() })
        } else if is_a(value, BUFFER.class()) {
            let address = usize::try_from(handle(value)).ok()?;
            Some(Argument { kind: OF_BUFFER, size: 0, value: std::ptr::without_provenance(address) })
        } else {
            None
        }
    }
}

/// A number, if it fits so many bytes, signed or unsigned.
fn bits(number: i64, size: u32) -> Option<u64> {
    let word = number.cast_unsigned();
    if size == 8 {
        return Some(word);
    }
    let bits = 8 * size;
    ((-1_i64 << (bits - 1))..1_i64 << bits).contains(&number).then_some(word & ((1 << bits) - 1))
}

/// A number as one of single precision, as C converts it.
#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// A number, or a tuple of up to three.
unsafe fn dim(value: *mut Object) -> Option<[u32; 3]> {
    // SAFETY: the caller's object lives, and it has Python's lock.
    unsafe {
        let mut dim = [1; 3];
        let one = |number: *mut Object| {
            let is_integer = (*number).kind == &raw mut PyLong_Type;
            if is_integer { u32::try_from(integer(number)?).ok() } else { None }
        };
        if (*value).kind != &raw mut PyTuple_Type {
            dim[0] = one(value)?;
            return Some(dim);
        }
        let length = PyTuple_Size(value);
        if !(1..=3).contains(&length) {
            return None;
        }
        for index in 0..length {
            dim[index.cast_unsigned()] = one(PyTuple_GetItem(value, index))?;
        }
        Some(dim)
    }
}

/// A `cushim_launch_config`.
#[repr(C, align(8))]
struct Config([u8; ROOM]);

fn config(grid: [u32; 3], block: [u32; 3]) -> Config {
    let [size, grid_at, block_at] = CONFIG.each_ref().map(Address::get);
    let mut config = Config([0; ROOM]);
    config.0[..8].copy_from_slice(&size.to_ne_bytes());
    for (at, dim) in [(grid_at, grid), (block_at, block)] {
        for (axis, number) in dim.into_iter().enumerate() {
            config.0[at + 4 * axis..][..4].copy_from_slice(&number.to_ne_bytes());
        }
    }
    config
}

/// Whether a configuration of this form fits.
pub(crate) fn fits(form: [usize; 3]) -> bool {
    form[0] <= ROOM && form[1] + 12 <= form[0] && form[2] + 12 <= form[0]
}
