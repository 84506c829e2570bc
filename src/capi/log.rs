//! Where the library's log goes.

use super::callback::{cushim_owner, lent};
use super::error::{call, cushim_status};
use crate::callback::pull::Data;
use crate::error::{Error, Status};
use crate::{handle, logging};
use log::{Level, LevelFilter};
use std::ffi::{CString, c_char, c_void};

/// How much is logged, or how important a line is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_log_level {
    /// Nothing is logged.
    CUSHIM_LOG_OFF = 0,
    /// What the library could not do and nobody was told of otherwise.
    CUSHIM_LOG_ERROR = 1,
    /// What probably is not meant: a release that failed, a function that will never be called.
    CUSHIM_LOG_WARN = 2,
    /// What a user may want to know.
    CUSHIM_LOG_INFO = 3,
    /// What helps to find out why something went wrong, the driver's own lines among it.
    CUSHIM_LOG_DEBUG = 4,
    /// Everything.
    CUSHIM_LOG_TRACE = 5,
}

/// A function that gets the lines of the log, one at a time and in order, on the library's worker thread. No lock of the
/// library is held meanwhile, and every function of it may be called. What such a call logs is given to no callback, so that
/// one whose own call fails does not feed itself; only stderr and `cushim_drain` get it. It must not unwind.
///
/// `level` is a `cushim_log_level`, `target` the part of the library that speaks ("cushim", "cushim::driver" for lines of
/// the driver's own). Both texts are valid during the call only, and never NULL.
pub type cushim_log_callback = Option<
    unsafe extern "C" fn(user: *mut c_void, level: i32, target: *const c_char, message: *const c_char),
>;

/// Has every line of the log given to a callback, from now on.
///
/// May be called at any time, also from inside a callback. Lines that were logged before still go where they would have
/// gone. What is logged on a thread that is inside such a callback is given to no callback. A program that does not keep up
/// loses lines beyond 1,024 that wait, and is told how many.
///
/// Without this function, the environment variable `CUSHIM_LOG` says what goes to stderr: a level ("warn"), and perhaps
/// levels of parts ("warn,cushim::driver=debug"). It is read when the first driver is opened, except in set-uid processes
/// and with `CUSHIM_DRIVER_IGNORE_ENVIRONMENT`; unset, nothing is logged.
///
/// @param callback The function; NULL: the lines go to stderr again, as `CUSHIM_LOG` says.
/// @param user Given to each call. May be NULL.
/// @param owner Keeps `user` alive: released when no call can use it any more. NULL: nothing to release. Must be NULL if
///   `callback` is. Read during the call only. If the call fails, nothing is released.
/// @param level A `cushim_log_level`: what is less important is not logged. Ignored if `callback` is NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED` in a Rust program that logs by itself;
/// `CUSHIM_ERROR_FORKED`. Threads: any, also inside functions that the driver calls. Needs no driver.
///
/// # Safety
/// `callback` keeps its contract and may be called with `user`, from another thread, until the owner is released; `owner`
/// is NULL or a valid owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_log_set_callback(
    callback: cushim_log_callback,
    user: *mut c_void,
    owner: *const cushim_owner,
    level: i32,
) -> cushim_status {
    call(|| {
        let _guard = handle::enter()?;
        let Some(callback) = callback else {
            if !owner.is_null() {
                return Err(Error::new(
                    Status::INVALID_ARGUMENT,
                    "owner must be NULL where callback is: nothing would use it",
                ));
            }
            logging::install()?;
            logging::to_stderr();
            return Ok(());
        };
        let (level, user) = (filter(level)?, Data(user));
        logging::install()?;
        // SAFETY: the caller vouches for the owner.
        let owner = unsafe { lent(owner) };
        logging::to_callback(
            level,
            Box::new(move |level, target, message| {
                let _owner = &owner;
                let (target, message) = (text(target), text(message));
                // SAFETY: the caller vouches for the function.
                unsafe { callback(user.get(), level_number(level), target.as_ptr(), message.as_ptr()) };
            }),
        );
        Ok(())
    })
}

/// Has every line of the log queued for `cushim_drain`, from now on, as items of kind `CUSHIM_ITEM_LOG_LINE`.
///
/// `cushim_log_set_callback` ends it. A program that does not keep up loses lines beyond 1,024 that wait, and is told how
/// many.
///
/// @param level A `cushim_log_level`: what is less important is not logged.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`; `CUSHIM_ERROR_UNSUPPORTED` in a Rust program that logs by itself;
/// `CUSHIM_ERROR_FORKED`. Threads: any, also inside functions that the driver calls. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_log_set_pull(level: i32) -> cushim_status {
    call(|| {
        let _guard = handle::enter()?;
        let level = filter(level)?;
        logging::install()?;
        logging::to_pull(level);
        Ok(())
    })
}

fn filter(level: i32) -> Result<LevelFilter, Error> {
    let levels = LevelFilter::iter().nth(usize::try_from(level).unwrap_or(usize::MAX));
    levels.ok_or_else(|| {
        Error::new(
            Status::INVALID_ARGUMENT,
            format!("level is {level}; use CUSHIM_LOG_OFF (0) to CUSHIM_LOG_TRACE (5)"),
        )
    })
}

/// The `cushim_log_level` of a line.
pub(super) fn level_number(level: Level) -> i32 {
    level as i32
}

/// A text as C reads it.
fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}
