//! `cuGetErrorName` and `cuGetErrorString`.

use crate::abi::pointer::Out;
use crate::abi::sys::{CUDA_ERROR_INVALID_VALUE, CUresult};
use crate::abi::{Answer, codes};
use crate::instruments::settings::version;
use std::ffi::{CStr, c_char};

pub(crate) fn cuGetErrorName(error: CUresult, pStr: Out<*const c_char>) -> Answer {
    tell(codes::name(error, version()), pStr)
}

pub(crate) fn cuGetErrorString(error: CUresult, pStr: Out<*const c_char>) -> Answer {
    tell(codes::text(error, version()), pStr)
}

/// NULL for a code that the version does not know.
fn tell(text: Option<&CStr>, place: Out<*const c_char>) -> Answer {
    place.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(drop).ok_or(CUDA_ERROR_INVALID_VALUE)
}
