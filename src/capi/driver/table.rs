//! The driver's table of functions, and that of the default driver.

use super::handle::{cushim_driver, with};
use crate::capi::error::{self, call, cushim_status, fail};
use crate::capi::out;
use crate::driver::{Driver, Table};
use crate::error::{Error, Status};
use crate::handle;
use crate::logging;
use std::cell::Cell;
use std::sync::OnceLock;

/// Which default stream the functions of a table use.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_table_kind {
    /// The legacy default stream, which waits for other streams and they for it.
    CUSHIM_TABLE_LEGACY_STREAM = 0,
    /// The calling thread's own default stream.
    CUSHIM_TABLE_PER_THREAD_STREAM = 1,
}

/// Hands out the driver's table of functions.
///
/// @param driver The driver.
/// @param kind A `cushim_table_kind`: which default stream the functions use.
/// @param table Receives the table, which is valid until the process ends and never changes; NULL on failure. Must not be
///   NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `table` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_table(
    driver: cushim_driver,
    kind: i32,
    table: *mut *const Table,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `table`.
        let table = unsafe { out::cleared(table, std::ptr::null(), "table") }?;
        *table = with(driver, |object| table_of(&object.driver, kind))?;
        Ok(())
    })
}

pub(super) fn table_of(driver: &Driver, kind: i32) -> Result<&'static Table, Error> {
    match kind {
        k if k == cushim_table_kind::CUSHIM_TABLE_LEGACY_STREAM as i32 => Ok(driver.table()),
        k if k == cushim_table_kind::CUSHIM_TABLE_PER_THREAD_STREAM as i32 => Ok(driver.per_thread_table()),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!(
                "kind is {kind}; use CUSHIM_TABLE_LEGACY_STREAM (0) or CUSHIM_TABLE_PER_THREAD_STREAM (1)"
            ),
        )),
    }
}

/// The table of the default driver: the one that `cushim_driver_open(NULL, ...)` opens. The first call opens it and decides
/// for the process, also if it fails: later ones do not try again.
///
/// The familiar names of `CUSHIM_CUDA_NAMES` call through it. Costs two atomic loads once the driver is open.
///
/// @param kind A `cushim_table_kind`: which default stream the functions use.
/// @return The table, valid until the process ends and never NULL. Where there is no driver, in the child of a fork, or if
///   `kind` is unknown, a table without entries; `cushim_last_error` then says why.
///
/// Errors: none of its own. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_driver_default_table(kind: i32) -> *const Table {
    static NO_ENTRIES: Table = Table::EMPTY;
    let mut table: *const Table = &raw const NO_ENTRIES;
    match default_driver() {
        Ok(driver) if kind == cushim_table_kind::CUSHIM_TABLE_LEGACY_STREAM as i32 => table = driver.table(),
        Ok(driver) => {
            call(|| table_of(driver, kind).map(|found| table = found));
        }
        Err(error) => {
            fail(error);
        }
    }
    table
}

pub(super) static DEFAULT: OnceLock<Result<Driver, Error>> = OnceLock::new();

thread_local! {
    /// This thread is opening the default driver.
    static OPENING: Cell<bool> = const { Cell::new(false) };
}

fn default_driver() -> Result<&'static Driver, Error> {
    // The child of a fork is turned away before the lock, which a thread that it does not have may hold.
    let opened = match DEFAULT.get() {
        Some(_) if handle::forked() => return Err(handle::Forked.into()),
        Some(opened) => opened,
        None => {
            let _guard = handle::enter()?;
            if OPENING.get() {
                // The library that is being loaded calls back into us; waiting for it would be waiting for ourselves.
                let text = "the default driver is being opened by this very call; a library that it loads must not use it";
                return Err(Error::new(Status::DRIVER_UNUSABLE, text));
            }
            DEFAULT.get_or_init(open_default)
        }
    };
    opened.as_ref().map_err(Clone::clone)
}

fn open_default() -> Result<Driver, Error> {
    logging::start();
    OPENING.set(true);
    let opened = std::panic::catch_unwind(Driver::open);
    OPENING.set(false);
    opened.map_or_else(|panic| Err(error::internal(panic.as_ref())), |result| result.map_err(Error::from))
}
