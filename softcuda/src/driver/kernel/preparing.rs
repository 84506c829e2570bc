//! The calls that set what the oldest way of launching needs.

use super::found::Found;
use super::shape;
use crate::abi::Answer;
use crate::abi::pointer::In;
use crate::abi::sys::{CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, CUfunction, CUresult, CUtexref};
use crate::driver::context::current::current;
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes of arguments that can be set, whatever the kernel has (measured).
const ROOM: usize = 32_764;

/// The function of the current context that is to be launched so. A library's kernel is none (measured).
pub(crate) fn find(function: CUfunction) -> Result<Found, CUresult> {
    let context = current()?;
    if function.is_null() {
        return Err(CUDA_ERROR_INVALID_HANDLE);
    }
    let found = Found::function(function)?;
    if Arc::ptr_eq(&found.instance.context, &context) { Ok(found) } else { Err(CUDA_ERROR_INVALID_HANDLE) }
}

pub(crate) fn cuFuncSetBlockShape(hfunc: CUfunction, x: i32, y: i32, z: i32) -> Answer {
    let found = find(hfunc)?;
    // A negative size is larger than any limit.
    let block = [x, y, z].map(|size| size as u32);
    shape::check_block(block, found.attributes())?;
    found.with_prepared(|prepared| prepared.block = block);
    Ok(())
}

pub(crate) fn cuFuncSetSharedSize(hfunc: CUfunction, bytes: u32) -> Answer {
    let found = find(hfunc)?;
    if bytes > found.attributes().dynamic_shared() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    found.with_prepared(|prepared| prepared.shared = bytes);
    Ok(())
}

/// The end of a range of argument bytes. A real driver looks at no offset, and crashes.
fn end(start: usize, size: usize) -> Result<usize, CUresult> {
    start.checked_add(size).filter(|end| *end <= ROOM).ok_or(CUDA_ERROR_INVALID_VALUE)
}

/// It counts words, and the number of bytes runs over where it is rounded (measured).
pub(crate) fn cuParamSetSize(hfunc: CUfunction, numbytes: u32) -> Answer {
    let found = find(hfunc)?;
    let size = match numbytes.checked_next_multiple_of(4) {
        Some(_) => end(0, numbytes as usize)?,
        None => 0,
    };
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
    let (end, bytes) = (end(start, size)?, bytes()?);
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

/// There are no textures, so no handle is one of a texture reference, which is looked at before the unit (measured).
pub(crate) fn cuParamSetTexRef(hfunc: CUfunction, _texunit: i32, _hTexRef: CUtexref) -> Answer {
    find(hfunc)?;
    Err(CUDA_ERROR_INVALID_HANDLE)
}
