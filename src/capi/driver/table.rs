//! The driver's table of functions, and that of the default driver.
//!
//! @header cushim_loader.h
//! @task call the driver's own functions

use super::handle::{cushim_driver, with};
use crate::capi::error::{self, call, cushim_status, fail};
use crate::capi::out;
use crate::driver::{Driver, Table};
use crate::object::cancellation::Deferred;
use crate::object::error::{Error, Status};
use crate::object::handle;
use std::cell::Cell;
use std::sync::OnceLock;

/// Which default stream the functions of a table use.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_table_kind {
    /// The legacy default stream, which is ordered with all blocking streams of the context.
    CUSHIM_TABLE_LEGACY_STREAM = 0,
    /// The per-thread default stream (`CUDA_API_PER_THREAD_DEFAULT_STREAM`).
    CUSHIM_TABLE_PER_THREAD_STREAM = 1,
}

/// Returns the driver's table of functions.
///
/// @param[in] driver The driver.
/// @param[in, enum(cushim_table_kind)] kind Which default stream the functions use.
/// @param[out] table The table. It is valid until the process ends and never changes.
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

/// Returns the table of the default driver, the one that `cushim_driver_open(NULL, …)` opens. The first call opens
/// it; if that fails, later calls do not try again.
///
/// The functions that `CUSHIM_CUDA_NAMES` defines call through this table. A call costs two atomic loads once the
/// driver is open.
///
/// @param[in, enum(cushim_table_kind)] kind Which default stream the functions use.
/// @return The table, which is valid until the process ends; never NULL. If there is no driver, in the child of a
///   fork, or if `kind` is not known, a table without entries: `cushim_last_error` then says why.
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
    let _uncancelled = Deferred::new();
    super::start_log(true);
    OPENING.set(true);
    let opened = std::panic::catch_unwind(Driver::open);
    OPENING.set(false);
    let opened = opened
        .map_or_else(|panic| Err(error::internal(panic.as_ref())), |result| result.map_err(Error::from));
    // Programs that use the driver's names need not know this library, nor ask for its last error.
    opened.inspect_err(|error| log::error!(target: "cushim", "no driver: {error}"))
}
