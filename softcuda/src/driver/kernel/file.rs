//! Files that callers name: read whole, if they are such that reading them comes to an end.

use crate::abi::sys::{CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY, CUresult};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// No image is larger.
pub(super) const MOST: u64 = 1 << 30;

/// The bytes of a file. Devices and pipes are no files, and what is too large does not fit into memory.
pub(super) fn read(path: &str) -> Result<Vec<u8>, CUresult> {
    // Without waiting: opening a pipe would wait for somebody who writes.
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
    let file = file.map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
    let about = file.metadata().map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
    // Driver 580 asks for as much memory as a folder says that it needs (measured).
    if about.is_dir() {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    if !about.is_file() {
        return Err(CUDA_ERROR_FILE_NOT_FOUND);
    }
    read_whole(file, about.len())
}

/// A file may be longer than it says, and grow while it is read.
fn read_whole(file: File, size: u64) -> Result<Vec<u8>, CUresult> {
    if size > MOST {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize + 1).map_err(|_| CUDA_ERROR_OUT_OF_MEMORY)?;
    let read = file.take(MOST + 1).read_to_end(&mut bytes).map_err(|_| CUDA_ERROR_FILE_NOT_FOUND)?;
    if read as u64 > MOST { Err(CUDA_ERROR_OUT_OF_MEMORY) } else { Ok(bytes) }
}
