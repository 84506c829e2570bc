//! The system: versions and processes.

use crate::code::{INVALID_ARGUMENT, NOT_FOUND, UNKNOWN};
use crate::core::Core;
use crate::place::{check_version, put, put_text};
use crate::session::{call, call_at_any_time};
use std::ffi::{c_char, c_int, c_uint};

/// The branch of NVIDIA's driver that came with a version of CUDA.
const BRANCHES: [(c_int, u32); 13] = [
    (11_040, 470),
    (11_080, 520),
    (12_000, 525),
    (12_020, 535),
    (12_030, 545),
    (12_040, 550),
    (12_050, 555),
    (12_080, 570),
    (12_090, 575),
    (13_000, 580),
    (13_010, 590),
    (13_020, 595),
    (13_050, 615),
];

fn branch(core: &Core) -> Option<u32> {
    let version = core.version()?;
    BRANCHES.iter().rev().find(|(since, _)| *since <= version).map(|(_, branch)| *branch)
}

/// As a driver of that branch writes it, with zeros for its releases, of which softcuda is none.
fn driver_version(core: &Core) -> Option<String> {
    branch(core).map(|branch| format!("{branch}.00.00"))
}

#[repr(C)]
pub(crate) struct Branch {
    version: c_uint,
    name: [c_char; 80],
}

/// # Safety
/// `info` is NULL, or begins with its version and can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverBranch(info: *mut Branch, length: c_uint) -> c_int {
    call(|core| {
        // SAFETY: the caller's promise.
        unsafe { check_version(info, 1) }?;
        let name = format!("r{}_00", branch(core).ok_or(UNKNOWN)?);
        // SAFETY: the caller's promise; no more than the struct has.
        unsafe { put_text((&raw mut (*info).name).cast(), length.min(80), &name) }
    })
}

/// # Safety
/// `version` is NULL or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put_text(version, length, &driver_version(core).ok_or(UNKNOWN)?) })
}

/// The version of CUDA's major part, and that of the driver. It needs no initialisation.
///
/// # Safety
/// `version` is NULL or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> c_int {
    call_at_any_time(|core| {
        let major = core.version().ok_or(UNKNOWN)? / 1000;
        let text = format!("{major}.{}", driver_version(core).ok_or(UNKNOWN)?);
        // SAFETY: the caller's promise.
        unsafe { put_text(version, length, &text) }
    })
}

/// # Safety
/// `version` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put(version, core.version().ok_or(UNKNOWN)?) })
}

/// # Safety
/// `version` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { nvmlSystemGetCudaDriverVersion(version) }
}

/// The first word of a process's command line, as much of it as fits.
///
/// # Safety
/// `name` is NULL or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) -> c_int {
    call(|_| {
        if name.is_null() || length == 0 {
            return Err(INVALID_ARGUMENT);
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(|_| NOT_FOUND)?;
        let word = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let word = String::from_utf8_lossy(&word[..word.len().min(length as usize - 1)]);
        // A letter that was cut in two may have become a longer one.
        let fits = (0..=word.len()).rev().find(|end| *end < length as usize && word.is_char_boundary(*end));
        // SAFETY: the caller's promise.
        unsafe { put_text(name, length, &word[..fits.unwrap_or(0)]) }
    })
}
