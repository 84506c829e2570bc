//! The names that programs call: the header of each version of nvJitLink adds that version to the names of functions, all of which are the
//! same here.

use crate::nvjitlink;
use std::ffi::{c_char, c_int, c_void};

macro_rules! named {
    ($function:ident $parameters:tt $arguments:tt: $($name:ident)*) => { $(
        /// # Safety
        /// As nvJitLink has it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name $parameters -> c_int {
            // SAFETY: the caller's promise.
            unsafe { nvjitlink::$function $arguments }
        }
    )* };
}

named! {
    nvJitLinkCreate (linker: *mut usize, count: u32, texts: *const *const c_char) (linker, count, texts):
    __nvJitLinkCreate_12_0 __nvJitLinkCreate_12_1 __nvJitLinkCreate_12_2 __nvJitLinkCreate_12_3
    __nvJitLinkCreate_12_4 __nvJitLinkCreate_12_5 __nvJitLinkCreate_12_6 __nvJitLinkCreate_12_7
    __nvJitLinkCreate_12_8 __nvJitLinkCreate_12_9 __nvJitLinkCreate_13_0 __nvJitLinkCreate_13_1
    __nvJitLinkCreate_13_2 __nvJitLinkCreate_13_3 __nvJitLinkCreate_13_4 __nvJitLinkCreate_13_5
}

named! {
    nvJitLinkDestroy (linker: *mut usize) (linker):
    __nvJitLinkDestroy_12_0 __nvJitLinkDestroy_12_1 __nvJitLinkDestroy_12_2 __nvJitLinkDestroy_12_3
    __nvJitLinkDestroy_12_4 __nvJitLinkDestroy_12_5 __nvJitLinkDestroy_12_6 __nvJitLinkDestroy_12_7
    __nvJitLinkDestroy_12_8 __nvJitLinkDestroy_12_9 __nvJitLinkDestroy_13_0 __nvJitLinkDestroy_13_1
    __nvJitLinkDestroy_13_2 __nvJitLinkDestroy_13_3 __nvJitLinkDestroy_13_4 __nvJitLinkDestroy_13_5
}

named! {
    nvJitLinkAddData (linker: usize, kind: c_int, data: *const c_void, size: usize, name: *const c_char) (linker, kind, data, size, name):
    __nvJitLinkAddData_12_0 __nvJitLinkAddData_12_1 __nvJitLinkAddData_12_2 __nvJitLinkAddData_12_3
    __nvJitLinkAddData_12_4 __nvJitLinkAddData_12_5 __nvJitLinkAddData_12_6 __nvJitLinkAddData_12_7
    __nvJitLinkAddData_12_8 __nvJitLinkAddData_12_9 __nvJitLinkAddData_13_0 __nvJitLinkAddData_13_1
    __nvJitLinkAddData_13_2 __nvJitLinkAddData_13_3 __nvJitLinkAddData_13_4 __nvJitLinkAddData_13_5
}

named! {
    nvJitLinkAddFile (linker: usize, kind: c_int, name: *const c_char) (linker, kind, name):
    __nvJitLinkAddFile_12_0 __nvJitLinkAddFile_12_1 __nvJitLinkAddFile_12_2 __nvJitLinkAddFile_12_3
    __nvJitLinkAddFile_12_4 __nvJitLinkAddFile_12_5 __nvJitLinkAddFile_12_6 __nvJitLinkAddFile_12_7
    __nvJitLinkAddFile_12_8 __nvJitLinkAddFile_12_9 __nvJitLinkAddFile_13_0 __nvJitLinkAddFile_13_1
    __nvJitLinkAddFile_13_2 __nvJitLinkAddFile_13_3 __nvJitLinkAddFile_13_4 __nvJitLinkAddFile_13_5
}

named! {
    nvJitLinkComplete (linker: usize) (linker):
    __nvJitLinkComplete_12_0 __nvJitLinkComplete_12_1 __nvJitLinkComplete_12_2 __nvJitLinkComplete_12_3
    __nvJitLinkComplete_12_4 __nvJitLinkComplete_12_5 __nvJitLinkComplete_12_6 __nvJitLinkComplete_12_7
    __nvJitLinkComplete_12_8 __nvJitLinkComplete_12_9 __nvJitLinkComplete_13_0 __nvJitLinkComplete_13_1
    __nvJitLinkComplete_13_2 __nvJitLinkComplete_13_3 __nvJitLinkComplete_13_4 __nvJitLinkComplete_13_5
}

named! {
    nvJitLinkGetLinkedCubinSize (linker: usize, size: *mut usize) (linker, size):
    __nvJitLinkGetLinkedCubinSize_12_0 __nvJitLinkGetLinkedCubinSize_12_1 __nvJitLinkGetLinkedCubinSize_12_2
    __nvJitLinkGetLinkedCubinSize_12_3 __nvJitLinkGetLinkedCubinSize_12_4 __nvJitLinkGetLinkedCubinSize_12_5
    __nvJitLinkGetLinkedCubinSize_12_6 __nvJitLinkGetLinkedCubinSize_12_7 __nvJitLinkGetLinkedCubinSize_12_8
    __nvJitLinkGetLinkedCubinSize_12_9 __nvJitLinkGetLinkedCubinSize_13_0 __nvJitLinkGetLinkedCubinSize_13_1
    __nvJitLinkGetLinkedCubinSize_13_2 __nvJitLinkGetLinkedCubinSize_13_3 __nvJitLinkGetLinkedCubinSize_13_4
    __nvJitLinkGetLinkedCubinSize_13_5
}

named! {
    nvJitLinkGetLinkedCubin (linker: usize, place: *mut u8) (linker, place):
    __nvJitLinkGetLinkedCubin_12_0 __nvJitLinkGetLinkedCubin_12_1 __nvJitLinkGetLinkedCubin_12_2
    __nvJitLinkGetLinkedCubin_12_3 __nvJitLinkGetLinkedCubin_12_4 __nvJitLinkGetLinkedCubin_12_5
    __nvJitLinkGetLinkedCubin_12_6 __nvJitLinkGetLinkedCubin_12_7 __nvJitLinkGetLinkedCubin_12_8
    __nvJitLinkGetLinkedCubin_12_9 __nvJitLinkGetLinkedCubin_13_0 __nvJitLinkGetLinkedCubin_13_1
    __nvJitLinkGetLinkedCubin_13_2 __nvJitLinkGetLinkedCubin_13_3 __nvJitLinkGetLinkedCubin_13_4
    __nvJitLinkGetLinkedCubin_13_5
}
