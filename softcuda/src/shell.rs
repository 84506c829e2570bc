//! The core's side of a per-version shell (`shell/shell.c`): it fills the table that the shell's exports jump through.

use crate::getter::{shell_get_v1, shell_get_v2};
use crate::names::EXPORTS;
use crate::settings::{claim, complain, settings};
use crate::sys::{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CUresult};
use crate::{control, entry};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// An export of a shell: `struct slot` of `shell/shell.c`.
#[repr(C)]
pub(crate) struct Slot {
    name: *const c_char,
    own: *const c_void,
    target: *const c_void,
}

/// Where the first shell of the process has each export, in the order of `EXPORTS`; 0 where it has none.
static OWN: OnceLock<Vec<usize>> = OnceLock::new();

/// Called by a shell when it is loaded.
///
/// # Safety
/// `slots` points to `count` slots with terminated names, which stay as they are except for what this function writes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn softcuda_attach(version: c_int, slots: *mut Slot, count: usize) {
    // SAFETY: the caller's promise.
    let slots = unsafe { std::slice::from_raw_parts_mut(slots, count) };
    if !claim(version as u32) {
        complain(&format!(
            "a shell of version {} was loaded, but this process already uses {}; the shell's calls answer an error",
            control::dotted(version as u32),
            settings().map_or("an invalid setting".to_owned(), |s| control::dotted(s.version)),
        ));
        for slot in slots {
            slot.target = wrong_version as *const c_void;
        }
        return;
    }
    let index: HashMap<&str, usize> = EXPORTS.iter().enumerate().map(|(i, e)| (e.name, i)).collect();
    let mut own = vec![0; EXPORTS.len()];
    for slot in slots {
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(slot.name) }.to_str().unwrap_or_default();
        let Some(&i) = index.get(name) else {
            complain(&format!(
                "the shell exports {name}, which libsoftcuda.so does not know: they are of different builds"
            ));
            continue;
        };
        own[i] = slot.own as usize;
        slot.target = match name {
            "cuGetProcAddress" => shell_get_v1 as *const c_void,
            "cuGetProcAddress_v2" => shell_get_v2 as *const c_void,
            _ => entry::address(i),
        };
    }
    OWN.get_or_init(|| own);
}

/// The address of export number `index` in the shell of this process.
pub(crate) fn address(index: usize) -> *const c_void {
    match OWN.get().map(|own| own[index]) {
        Some(own) if own != 0 => own as *const c_void,
        _ => entry::address(index),
    }
}

/// Every export of a shell whose version is not that of the process.
extern "C" fn wrong_version() -> CUresult {
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
}
