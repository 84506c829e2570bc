//! What functions return.

use std::ffi::{CStr, c_char, c_int};

/// A result of NVML's, which is not success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) c_int);

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const UNINITIALIZED: Code = Code(1);
pub(crate) const INVALID_ARGUMENT: Code = Code(2);
pub(crate) const NOT_SUPPORTED: Code = Code(3);
pub(crate) const NOT_FOUND: Code = Code(6);
pub(crate) const INSUFFICIENT_SIZE: Code = Code(7);
pub(crate) const DRIVER_NOT_LOADED: Code = Code(9);
pub(crate) const LIBRARY_NOT_FOUND: Code = Code(12);
pub(crate) const FUNCTION_NOT_FOUND: Code = Code(13);
pub(crate) const VERSION_MISMATCH: Code = Code(25);
pub(crate) const GPU_NOT_FOUND: Code = Code(28);
pub(crate) const UNKNOWN: Code = Code(999);

/// What the codes mean, from 0, as the NVML of driver 580 says it.
const TEXTS: [&CStr; 31] = [
    c"Success",
    c"Uninitialized",
    c"Invalid Argument",
    c"Not Supported",
    c"Insufficient Permissions",
    c"Already Initialized",
    c"Not Found",
    c"Insufficient Size",
    c"Insufficient External Power",
    c"Driver Not Loaded",
    c"Timeout",
    c"Interrupt Request Issue",
    c"NVML Shared Library Not Found",
    c"Function Not Found",
    c"Corrupted infoROM",
    c"GPU is lost",
    c"GPU requires reset",
    c"GPU access blocked by the operating system",
    c"Driver/library version mismatch",
    c"In use by another client",
    c"Insufficient Memory",
    c"No data",
    c"vGPU ECC not supported",
    c"Insufficient Resources",
    c"Invalid Frequency",
    c"Argument version mismatch",
    c"Requested functionality has been deprecated",
    c"System is not in ready state",
    c"No supported GPUs were found",
    c"Resource not in correct state to perform requested operation",
    c"Reset type is not supported for given device",
];

/// What a result means. Never NULL; the text lasts. Works at any time.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: c_int) -> *const c_char {
    let known = usize::try_from(result).ok().and_then(|result| TEXTS.get(result));
    known.copied().unwrap_or(c"Unknown Error").as_ptr()
}
