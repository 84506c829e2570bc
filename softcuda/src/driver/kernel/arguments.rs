//! What a launch gives to a kernel, packed.

use super::program::Entry;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUresult};
use crate::instruments::log;
use std::ffi::c_void;

const END: usize = 0;
const POINTER: usize = 1; // CU_LAUNCH_PARAM_BUFFER_POINTER
const SIZE: usize = 2; // CU_LAUNCH_PARAM_BUFFER_SIZE

/// The block of a kernel's parameters: from an array of pointers to each, or from a block of the caller's.
pub(crate) fn pack(
    kernel: &Entry,
    each: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Result<Box<[u8]>, CUresult> {
    let block = Block::read(extra)?;
    match (each.address() != 0, block) {
        (true, Some(block)) if block.size != 0 => Err(CUDA_ERROR_INVALID_VALUE),
        (true, _) => from_each(kernel, each),
        (false, Some(block)) if block.size != 0 => block.fill(kernel),
        (false, _) => none(kernel),
    }
}

/// The same from a block that the driver has.
pub(crate) fn pack_block(kernel: &Entry, given: &[u8]) -> Result<Box<[u8]>, CUresult> {
    fill(kernel, given.len(), || Ok(given))
}

/// For a kernel without parameters.
fn none(kernel: &Entry) -> Result<Box<[u8]>, CUresult> {
    match kernel.parameters.len() {
        0 => Ok(Box::default()),
        count => {
            let name = kernel.name.to_string_lossy();
            log::detail(format!("CUDA kernel {name} has {count} parameters but none provided at launch"));
            Err(CUDA_ERROR_INVALID_VALUE)
        }
    }
}

/// Driver 580 takes fewer bytes than the kernel has, but no byte more (measured). What is not given is 0.
fn fill<'a>(
    kernel: &Entry,
    size: usize,
    given: impl FnOnce() -> Result<&'a [u8], CUresult>,
) -> Result<Box<[u8]>, CUresult> {
    if size > kernel.parameter_bytes {
        return Err(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    let mut bytes = vec![0; kernel.parameter_bytes].into_boxed_slice();
    bytes[..size].copy_from_slice(given()?);
    Ok(bytes)
}

/// The list by which a caller gives, or is given, a block of arguments.
pub(crate) fn extra(block: *mut c_void, size: &usize) -> [*mut c_void; 5] {
    let word = std::ptr::without_provenance_mut;
    [word(POINTER), block, word(SIZE), std::ptr::from_ref(size).cast_mut().cast(), word(END)]
}

fn from_each(kernel: &Entry, each: Out<*mut c_void>) -> Result<Box<[u8]>, CUresult> {
    let mut block = vec![0; kernel.parameter_bytes].into_boxed_slice();
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        let bytes = In::untyped(each.item(index)?).bytes(parameter.size)?;
        block[parameter.offset..parameter.offset + parameter.size].copy_from_slice(bytes);
    }
    Ok(block)
}

/// A block of the caller's.
struct Block {
    start: *mut c_void,
    size: usize,
}

impl Block {
    /// `None` if the caller names none.
    fn read(extra: Out<*mut c_void>) -> Result<Option<Self>, CUresult> {
        if extra.address() == 0 {
            return Ok(None);
        }
        let (mut start, mut size) = (None, None);
        for index in (0..).step_by(2) {
            match extra.item(index)? as usize {
                END => break,
                POINTER => start = Some(extra.item(index + 1)?),
                SIZE => size = Some(Out::<usize>::untyped(extra.item(index + 1)?).item(0)?),
                _ => return Err(CUDA_ERROR_INVALID_VALUE),
            }
        }
        match (start, size) {
            (Some(start), Some(size)) => Ok(Some(Self { start, size })),
            (None, None) => Ok(None),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn fill(&self, kernel: &Entry) -> Result<Box<[u8]>, CUresult> {
        fill(kernel, self.size, || In::untyped(self.start).bytes(self.size))
    }
}
