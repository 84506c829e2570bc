//! The calls that set what the oldest way of launching needs.

use super::found::Found;
use super::shape;
use crate::abi::Answer;
use crate::abi::pointer::In;
use crate::abi::sys::{CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUfunction, CUresult, CUtexref};
use crate::driver::context::current::current;
use std::ffi::c_void;

/// Bytes of arguments that every function has room for; one with more parameters has room for those.
const ROOM: usize = 4096;

/// The function, or the library's kernel in the current context, that is to be launched so.
fn find(function: CUfunction) -> Result<Found, CUresult> {
    let context = current()?;
    if function.is_null() { Err(CUDA_ERROR_INVALID_HANDLE) } else { Found::anywhere(function, &context) }
}

pub(crate) fn cuFuncSetBlockShape(hfunc: CUfunction, x: i32, y: i32, z: i32) -> Answer {
    let found = find(hfunc)?;
    // A negative size is larger than any limit.
    let block = [x, y, z].map(|size| size as u32);
    shape::check_block(block)?;
    found.with_prepared(|prepared| prepared.block = block);
    Ok(())
}

/// Whether a block may have as much is known at the launch: the kernel's limit can be raised until then.
pub(crate) fn cuFuncSetSharedSize(hfunc: CUfunction, bytes: u32) -> Answer {
    find(hfunc)?.with_prepared(|prepared| prepared.shared = bytes);
    Ok(())
}

/// The end of a range of argument bytes; refused if the function has no room for it.
fn end(found: &Found, start: usize, size: usize) -> Result<usize, CUresult> {
    let room = found.kernel().parameter_bytes.max(ROOM);
    start.checked_add(size).filter(|end| *end <= room).ok_or(CUDA_ERROR_INVALID_VALUE)
}

pub(crate) fn cuParamSetSize(hfunc: CUfunction, numbytes: u32) -> Answer {
    let found = find(hfunc)?;
    let size = end(&found, 0, numbytes as usize)?;
    found.with_prepared(|prepared| prepared.size = size);
    Ok(())
}

/// Sets bytes of the arguments, which `bytes` gives once it is known that there is room for them.
fn set<'a>(
    function: CUfunction,
    offset: i32,
    size: usize,
    bytes: impl FnOnce() -> Result<&'a [u8], CUresult>,
) -> Answer {
    let found = find(function)?;
    let start = usize::try_from(offset).map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
    let (end, bytes) = (end(&found, start, size)?, bytes()?);
    found.with_prepared(|prepared| prepared.set(start..end, bytes));
    Ok(())
}

pub(crate) fn cuParamSeti(hfunc: CUfunction, offset: i32, value: u32) -> Answer {
    let bytes = value.to_ne_bytes();
    set(hfunc, offset, bytes.len(), || Ok(&bytes))
}

pub(crate) fn cuParamSetf(hfunc: CUfunction, offset: i32, value: f32) -> Answer {
    let bytes = value.to_ne_bytes();
    set(hfunc, offset, bytes.len(), || Ok(&bytes))
}

pub(crate) fn cuParamSetv(hfunc: CUfunction, offset: i32, ptr: *mut c_void, numbytes: u32) -> Answer {
    let size = numbytes as usize;
    set(hfunc, offset, size, || In::untyped(ptr).bytes(size))
}

/// There are no textures, so no handle is one of a texture reference. The unit must be the default one: documented.
pub(crate) fn cuParamSetTexRef(hfunc: CUfunction, texunit: i32, hTexRef: CUtexref) -> Answer {
    const DEFAULT: i32 = -1; // CU_PARAM_TR_DEFAULT
    find(hfunc)?;
    let _ = hTexRef;
    if texunit == DEFAULT { Err(CUDA_ERROR_INVALID_HANDLE) } else { Err(CUDA_ERROR_INVALID_VALUE) }
}
