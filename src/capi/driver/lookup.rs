//! Finding one ABI of one function.
//!
//! @header cushim_loader.h
//! @task call the driver's own functions

use super::handle::{cushim_driver, with};
use super::table::{DEFAULT, cushim_table_kind, table_of};
use crate::capi::error::{call, cushim_status};
use crate::capi::{out, text};
use crate::driver::{Driver, Symbol, Table, catalogue, sys};
use crate::object::error::{Error, Status};
use crate::object::handle;
use std::ffi::{c_char, c_void};

/// Reports that a table lacks a function. The functions of cushim's `cuda.h` and those that `CUSHIM_CUDA_NAMES`
/// defines call it; a program need not.
///
/// @param[in] table The table without the entry.
/// @param[in] name The base name of the function.
/// @param[in] abi The ABI number.
/// @return `CUDA_ERROR_NOT_FOUND` (500); for `cuInit`, which a table without a driver lacks, `CUDA_ERROR_NO_DEVICE`
///   (100), for which programs are prepared, or, in the child of a fork, `CUDA_ERROR_NOT_INITIALIZED` (3), as drivers
///   do there. `cushim_last_error` says which driver lacks the function, or why there is no driver.
///
/// # Safety
/// `name` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_table_missing(table: *const Table, name: *const c_char, abi: i32) -> i32 {
    let mut result = sys::CUDA_ERROR_NOT_FOUND;
    call(|| {
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { text::given(name, "name") }?.unwrap_or_default();
        if name == "cuInit" {
            // As a driver answers in a child of its process (measured on 580).
            result =
                if handle::forked() { sys::CUDA_ERROR_NOT_INITIALIZED } else { sys::CUDA_ERROR_NO_DEVICE };
        }
        let number = u32::try_from(abi).unwrap_or(0);
        match Driver::behind(table) {
            Some(driver) => {
                let symbol = driver.symbol(&name, number).ok_or_else(|| unknown(&name, abi))?;
                Err(missing(&driver, symbol))
            }
            None => Err(no_driver(&name, number)),
        }
    });
    result.0
}

/// Why a table that no driver handed out lacks a function: there is no default driver, or it is the caller's own
/// table.
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

/// Finds one ABI of a driver function.
///
/// @param[in] driver The driver.
/// @param[in, example("cuInit")] name The base name, without a version suffix, such as "cuMemAlloc".
/// @param[in, example(2000)] abi The ABI number, such as 3020. Or 0: then `name` is the exported name, as for dlsym:
///   "cuMemAlloc_v2", "cuMemcpyAsync_ptsz".
/// @param[in, enum(cushim_table_kind)] kind Which default stream the function uses. A function without a per-thread
///   variant is the same in both tables.
/// @param[out] function The address.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a name and ABI that cushim does not know; `CUSHIM_ERROR_UNSUPPORTED`
///   if this driver lacks it.
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
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { text::required(name, "name") }?;
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
    let refusal = match (abi, numbers.is_empty()) {
        (0, true) => format!(
            "no function of the driver is exported as {name}: give the name as for dlsym, such as cuMemAlloc_v2"
        ),
        (_, true) => format!(
            "no function of the driver is called {name}: give the base name without a suffix such as _v2, or the exported name and 0"
        ),
        _ => format!("the catalogue has no ABI {abi} of {name}: it has {}", numbers.join(", ")),
    };
    Error::new(Status::INVALID_ARGUMENT, refusal)
}
