//! Finding one ABI of one function.

use super::handle::{cushim_driver, with};
use super::table::{DEFAULT, cushim_table_kind, table_of};
use crate::capi::error::{call, cushim_status};
use crate::capi::out;
use crate::driver::{Driver, Symbol, Table, catalogue, sys};
use crate::error::{Error, Status};
use crate::handle;
use std::ffi::{CStr, c_char, c_void};

/// What a familiar name of `CUSHIM_CUDA_NAMES` does where the table has no such entry; programs have no reason to call it.
///
/// @param table The table without the entry.
/// @param name Base name of the function.
/// @param abi Number of the ABI.
/// @return `CUDA_ERROR_NOT_FOUND` (500); `cushim_last_error` says which driver lacks the function.
///
/// Errors: none of its own. Threads: any.
///
/// # Safety
/// `name` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_table_missing(table: *const Table, name: *const c_char, abi: i32) -> i32 {
    call(|| {
        // SAFETY: the caller vouches for `name`.
        let name = if name.is_null() { "".into() } else { unsafe { CStr::from_ptr(name) }.to_string_lossy() };
        let number = u32::try_from(abi).unwrap_or(0);
        match Driver::behind(table) {
            Some(driver) => {
                let symbol = driver.symbol(&name, number).ok_or_else(|| unknown(&name, abi))?;
                Err(missing(&driver, symbol))
            }
            None => Err(no_driver(&name, number)),
        }
    });
    sys::CUDA_ERROR_NOT_FOUND.0
}

/// Why a table that no driver handed out lacks a function: there is no default driver, or it is the caller's own table.
fn no_driver(name: &str, abi: u32) -> Error {
    if handle::forked() {
        return handle::Forked.into();
    }
    match DEFAULT.get() {
        Some(Err(error)) => error.clone(),
        _ => Error::new(
            Status::UNSUPPORTED,
            format!("the table has no {name} (ABI {abi}), and no driver is behind it"),
        )
        .with_function(name, abi),
    }
}

/// Finds one ABI of one function.
///
/// @param driver The driver.
/// @param name Base name, without a version suffix: "cuMemAlloc". Must not be NULL.
/// @param abi Number of the ABI: 3020. Or 0: then `name` is the one that libcuda exports, as for dlsym:
///   "cuMemAlloc_v2", "cuMemcpyAsync_ptsz".
/// @param kind A `cushim_table_kind`: which default stream the function uses. A function that has no variant for the
///   per-thread one is the same in both.
/// @param function Receives the address; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a (name, abi) that the catalogue does
/// not have; `CUSHIM_ERROR_UNSUPPORTED` if this driver lacks it; `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `name` is NULL or ends in NUL; `function` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_lookup(
    driver: cushim_driver,
    name: *const c_char,
    abi: i32,
    kind: i32,
    function: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `function`.
        let function = unsafe { out::cleared(function, std::ptr::null_mut(), "function") }?;
        if name.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "name must not be NULL"));
        }
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        *function = with(driver, |object| {
            table_of(&object.driver, kind)?;
            find(&object.driver, &name, abi, kind).map(|symbol| symbol.address.cast_mut())
        })?;
        Ok(())
    })
}

fn find(driver: &Driver, name: &str, abi: i32, kind: i32) -> Result<&'static Symbol, Error> {
    let per_thread = kind == cushim_table_kind::CUSHIM_TABLE_PER_THREAD_STREAM as i32;
    let (base, number, per_thread) = match (abi, catalogue::Row::exported_as(name)) {
        (0, Some((row, is_variant))) => (row.base, row.abi, is_variant || per_thread),
        _ => (name, u32::try_from(abi).unwrap_or(0), per_thread),
    };
    let variant = if per_thread { driver.per_thread_symbol(base, number) } else { None };
    let symbol = variant.or_else(|| driver.symbol(base, number)).ok_or_else(|| unknown(name, abi))?;
    if symbol.address.is_null() {
        return Err(missing(driver, symbol));
    }
    Ok(symbol)
}

fn missing(driver: &Driver, symbol: &Symbol) -> Error {
    let explanation = driver.explain(symbol).to_string();
    Error::new(Status::UNSUPPORTED, explanation).with_function(symbol.row.base, symbol.abi)
}

fn unknown(name: &str, abi: i32) -> Error {
    let numbers: Vec<String> =
        catalogue::ROWS.iter().filter(|row| row.base == name).map(|row| row.abi.to_string()).collect();
    let hint = if numbers.is_empty() {
        "no function has that name; give the base name without a suffix such as _v2, or the exported name and 0".to_owned()
    } else {
        format!("it has {}", numbers.join(", "))
    };
    Error::new(Status::INVALID_ARGUMENT, format!("the catalogue has no ABI {abi} of {name}: {hint}"))
}
