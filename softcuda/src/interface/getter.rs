//! `cuGetProcAddress`: which ABI a name means at a version, as measured on drivers 470 to 580.

use super::{addresses, entry};
use crate::abi::Answer;
use crate::abi::exports::index;
use crate::abi::names::{EXPORTS, Export, exists};
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_GET_PROC_ADDRESS_SUCCESS, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND,
    CUdriverProcAddressQueryResult, CUresult,
};
use crate::instruments::settings::version;
use crate::instruments::trace::Arguments;
use std::ffi::{c_char, c_void};

const LEGACY_STREAM: u64 = 1;
const PER_THREAD_STREAM: u64 = 2;

/// From this driver version on, a request above the driver's own version is an error. Between 12.5 and 13.0 unmeasured.
const REFUSES_NEWER: u32 = 12080;

/// What a look-up finds.
enum Found {
    /// The number of the export.
    Symbol(usize),
    Unknown,
    TooNew,
}

/// The getter of 11.3 to 11.8, whose export keeps four arguments for ever.
pub(crate) fn cuGetProcAddress(
    symbol: In<c_char>,
    pfn: Out<*mut c_void>,
    driverVersion: i32,
    flags: u64,
) -> Answer {
    get_v1(symbol, pfn, driverVersion, flags, addresses::in_core)
}

pub(crate) fn cuGetProcAddress_v2(
    symbol: In<c_char>,
    pfn: Out<*mut c_void>,
    driverVersion: i32,
    flags: u64,
    symbolFound: Out<CUdriverProcAddressQueryResult>,
) -> Answer {
    get_v2(symbol, pfn, driverVersion, flags, symbolFound, addresses::in_core)
}

/// `cuGetProcAddress` called through a shell: it answers the shell's own symbols.
pub(super) extern "C" fn shell_get_v1(
    symbol: In<c_char>,
    pfn: Out<*mut c_void>,
    driver_version: i32,
    flags: u64,
) -> CUresult {
    let describe = |a: &mut Arguments| describe(a, symbol, pfn, driver_version, flags);
    entry::call(index("cuGetProcAddress"), &describe, &|| {
        get_v1(symbol, pfn, driver_version, flags, addresses::in_shell)
    })
}

/// `cuGetProcAddress_v2` called through a shell.
pub(super) extern "C" fn shell_get_v2(
    symbol: In<c_char>,
    pfn: Out<*mut c_void>,
    driver_version: i32,
    flags: u64,
    status: Out<CUdriverProcAddressQueryResult>,
) -> CUresult {
    let describe = |a: &mut Arguments| {
        describe(a, symbol, pfn, driver_version, flags);
        a.address("symbolStatus", status.address());
    };
    entry::call(index("cuGetProcAddress_v2"), &describe, &|| {
        get_v2(symbol, pfn, driver_version, flags, status, addresses::in_shell)
    })
}

/// As the exports of the core do it.
fn describe(a: &mut Arguments, symbol: In<c_char>, pfn: Out<*mut c_void>, driver_version: i32, flags: u64) {
    a.text("symbol", symbol);
    a.address("pfn", pfn.address());
    a.value("driverVersion", driver_version);
    a.value("flags", flags);
}

fn get_v1(
    symbol: In<c_char>,
    pfn: Out<*mut c_void>,
    requested: i32,
    flags: u64,
    address: fn(usize) -> *const c_void,
) -> Answer {
    pfn.check()?;
    match look_up(symbol.text()?, requested, flags)? {
        Found::Symbol(export) => pfn.set(address(export).cast_mut()),
        Found::Unknown | Found::TooNew => Err(CUDA_ERROR_NOT_FOUND),
    }
}

fn get_v2(
    symbol: In<c_char>,
    pfn: Out<*mut c_void>,
    requested: i32,
    flags: u64,
    status: Out<CUdriverProcAddressQueryResult>,
    address: fn(usize) -> *const c_void,
) -> Answer {
    pfn.check()?; // the measured driver crashes here, and on a NULL name
    let (pointer, code) = match look_up(symbol.text()?, requested, flags)? {
        Found::Symbol(export) => (address(export).cast_mut(), CU_GET_PROC_ADDRESS_SUCCESS),
        Found::Unknown => (std::ptr::null_mut(), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
        Found::TooNew => (std::ptr::null_mut(), CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
    };
    status.set_if_wanted(code);
    pfn.set(pointer)
}

fn look_up(name: &str, requested: i32, flags: u64) -> Result<Found, CUresult> {
    let driver = version();
    let newer = requested > driver as i32;
    if flags & !(LEGACY_STREAM | PER_THREAD_STREAM) != 0 || (newer && driver >= REFUSES_NEWER) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // A negative request finds the newest, as measured: it is compared once with a sign and once without.
    Ok(newest(name, requested as u32, driver, flags & PER_THREAD_STREAM != 0))
}

/// The newest ABI that is not newer than requested. A base that has per-thread functions is searched among those alone
/// when they are asked for, though its legacy function may be older.
fn newest(base: &str, requested: u32, driver: u32, per_thread: bool) -> Found {
    let start = EXPORTS.partition_point(|e| e.base < base);
    let all = EXPORTS[start..].iter().take_while(|e| e.base == base).enumerate();
    let known: Vec<(usize, &Export)> = all.filter(|(_, e)| exists(e, driver)).collect();
    let variant = per_thread && known.iter().any(|(_, e)| e.per_thread);
    let fits = |(_, e): &&(usize, &Export)| e.per_thread == variant && e.number <= requested;
    match known.iter().rev().find(fits) {
        Some((offset, _)) => Found::Symbol(start + offset),
        None if known.is_empty() => Found::Unknown,
        None => Found::TooNew,
    }
}
