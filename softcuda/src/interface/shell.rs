//! The core's side of a per-version shell (`shell/shell.c`): it fills the table that the shell's exports jump through.

use super::addresses;
use super::getter::{shell_get_v1, shell_get_v2};
use crate::abi::names::EXPORTS;
use crate::abi::sys::{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CUresult};
use crate::abi::versions::dotted;
use crate::instruments::complain::complain;
use crate::instruments::settings::{claim, settings};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};

/// An export of a shell: `struct slot` of `shell/shell.c`.
#[repr(C)]
pub(super) struct Slot {
    name: *const c_char,
    own: *const c_void,
    target: *const c_void,
}

/// Called by a shell when it is loaded.
///
/// # Safety
/// `slots` points to `count` slots with terminated names, which stay as they are except for what this function writes.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn softcuda_attach(version: c_int, slots: *mut Slot, count: usize) {
    // SAFETY: the caller's promise.
    let slots = unsafe { std::slice::from_raw_parts_mut(slots, count) };
    // SAFETY: as above.
    let name = |slot: &Slot| unsafe { CStr::from_ptr(slot.name) }.to_str().unwrap_or_default();
    // The control functions are of no version.
    let (controls, exports): (Vec<_>, Vec<_>) =
        slots.iter_mut().partition(|slot| addresses::of_control(name(slot)).is_some());
    for slot in controls {
        slot.target = addresses::of_control(name(slot)).unwrap_or(slot.target);
    }
    if !claim(version as u32) {
        complain(&format!(
            "a shell of version {} was loaded, but this process already uses {}; the shell's calls answer an error",
            dotted(version as u32),
            settings().map_or("an invalid setting".to_owned(), |s| dotted(s.version)),
        ));
        for slot in exports {
            slot.target = wrong_version as *const c_void;
        }
        return;
    }
    let index: HashMap<&str, usize> = EXPORTS.iter().enumerate().map(|(i, e)| (e.name, i)).collect();
    let mut own = vec![0; EXPORTS.len()];
    for slot in exports {
        let name = name(slot);
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
            _ => addresses::in_core(i),
        };
    }
    addresses::keep_shell(own);
}

/// Every function of the driver in a shell whose version is not that of the process.
extern "C" fn wrong_version() -> CUresult {
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
}
