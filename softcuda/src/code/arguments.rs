//! What a launch gives to a kernel, packed.

use super::program::Entry;
use crate::logs;
use crate::pointer::Out;
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUresult};
use std::ffi::c_void;

const END: usize = 0;
const POINTER: usize = 1; // CU_LAUNCH_PARAM_BUFFER_POINTER
const SIZE: usize = 2; // CU_LAUNCH_PARAM_BUFFER_SIZE

/// The block of a kernel's parameters: from an array of pointers to each, or from a block of the caller's.
pub(super) fn pack(
    kernel: &Entry,
    each: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Result<Box<[u8]>, CUresult> {
    let count = kernel.parameters.len();
    match (each.address() != 0, extra.address() != 0) {
        (true, true) => Err(CUDA_ERROR_INVALID_VALUE),
        (true, false) => from_each(kernel, each),
        (false, true) => from_block(kernel, extra),
        (false, false) if count == 0 => Ok(Box::default()),
        (false, false) => {
            let name = kernel.name.to_string_lossy();
            logs::detail(format!("CUDA kernel {name} has {count} parameters but none provided at launch"));
            Err(CUDA_ERROR_INVALID_VALUE)
        }
    }
}

fn from_each(kernel: &Entry, each: Out<*mut c_void>) -> Result<Box<[u8]>, CUresult> {
    let mut block = vec![0; kernel.parameter_bytes].into_boxed_slice();
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        let argument = each.item(index)?;
        if argument.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller gave a pointer to as many bytes as the parameter has.
        let bytes = unsafe { std::slice::from_raw_parts(argument.cast::<u8>(), parameter.size) };
        block[parameter.offset..parameter.offset + parameter.size].copy_from_slice(bytes);
    }
    Ok(block)
}

/// Driver 580 takes no byte more than the kernel does (measured).
fn from_block(kernel: &Entry, extra: Out<*mut c_void>) -> Result<Box<[u8]>, CUresult> {
    let (mut block, mut size) = (None, None);
    for index in (0..).step_by(2) {
        match extra.item(index)? as usize {
            END => break,
            POINTER => block = Some(extra.item(index + 1)?),
            SIZE => size = Some(Out::<usize>::untyped(extra.item(index + 1)?).item(0)?),
            _ => return Err(CUDA_ERROR_INVALID_VALUE),
        }
    }
    let (Some(block), Some(size)) = (block, size) else { return Err(CUDA_ERROR_INVALID_VALUE) };
    if size != kernel.parameter_bytes {
        return Err(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    if size == 0 {
        return Ok(Box::default());
    }
    if block.is_null() {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the caller gave a block of that many bytes.
    Ok(unsafe { std::slice::from_raw_parts(block.cast::<u8>(), size) }.into())
}
