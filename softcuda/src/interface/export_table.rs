//! `cuGetExportTable`: the driver's private tables, of which there are none.

use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{CUDA_ERROR_NOT_FOUND, CUuuid};
use crate::instruments::complain::complain;
use std::ffi::{c_char, c_void};
use std::sync::Once;

/// Which table the CUDA runtime asks for first, and without which it answers an error to every call (11.8, 12.9 and 13.0).
const OF_RUNTIME: [u8; 16] =
    [0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9];

pub(crate) fn cuGetExportTable(ppExportTable: Out<*const c_void>, pExportTableId: In<CUuuid>) -> Answer {
    ppExportTable.set(std::ptr::null())?;
    if pExportTableId.get().is_ok_and(|id| id.bytes == OF_RUNTIME.map(|byte| byte as c_char)) {
        tell_of_runtime();
    }
    Err(CUDA_ERROR_NOT_FOUND)
}

/// Who gets no more than an error of the runtime's learns from nobody else why.
fn tell_of_runtime() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        complain(
            "the CUDA runtime (libcudart) is in this process, and asks for private tables of NVIDIA's driver, which softcuda does not have: \
             each call of it will fail; use the driver API (docs/tasks/testing.md, \"The CUDA runtime\")",
        );
    });
}
