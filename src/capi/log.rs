//! Where the library's log goes.
//!
//! @header cushim.h
//! @task read the log

use super::callback::{self, cushim_owner};
use super::error::{call, call_taking, cushim_status};
use crate::object::callback::Foreign;
use crate::object::callback::pull::Data;
use crate::object::error::{Error, Status};
use crate::object::{handle, logging};
use log::LevelFilter;
use std::ffi::{CString, c_char, c_void};

/// How much is logged, or how important a line is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_log_level {
    /// Nothing.
    CUSHIM_LOG_OFF = 0,
    /// Failures that no call has returned.
    CUSHIM_LOG_ERROR = 1,
    /// Likely mistakes: a release that failed, a function that will never be called.
    CUSHIM_LOG_WARN = 2,
    /// What a user may want to know.
    CUSHIM_LOG_INFO = 3,
    /// What helps to find a cause, the driver's own log included.
    CUSHIM_LOG_DEBUG = 4,
    /// Everything.
    CUSHIM_LOG_TRACE = 5,
}

/// A function that receives the lines of the log, one at a time and in order, on a thread of the library's own. It
/// must not throw C++ exceptions.
///
/// It is never called while the library holds a lock, and may call every function of the library. What it causes to
/// be logged is passed to no callback; only stderr and `cushim_drain` get it. Both texts are never NULL, and valid
/// during the call only.
///
/// @param[in, nullable] user What was passed with the function.
/// @param[in, enum(cushim_log_level)] level How important the line is.
/// @param[in] target The part of the library that logged it: "cushim", or "cushim::driver" for the driver's own log.
/// @param[in] message The line.
pub type cushim_log_callback = Option<
    unsafe extern "C" fn(user: *mut c_void, level: i32, target: *const c_char, message: *const c_char),
>;

/// Passes every later line of the log to a function, instead of stderr.
///
/// It may be called at any time, also inside the callback. Lines that were logged before still go where they would
/// have gone. If more than 1,024 lines wait for the function, further ones are dropped; a line says how many.
///
/// Without this function the log goes to stderr, by the environment variable `CUSHIM_LOG`: a level ("warn"), perhaps
/// with levels of parts ("warn,cushim::driver=debug"). It is read when the first driver is opened, but not in a
/// set-uid process, nor with `CUSHIM_DRIVER_IGNORE_ENVIRONMENT`. If it is not set, nothing is logged.
///
/// At level debug the log has the driver's own lines, too (CUDA 12.9), also about calls that a program makes by a
/// table of the driver's functions, if the level was set before the driver was opened.
///
/// @param[in, nullable] callback The function. NULL: the log goes to stderr again, by `CUSHIM_LOG`.
/// @param[in, nullable] user Passed to each call.
/// @param[in, taken, nullable] owner Keeps `user` alive; released after the last call that uses it. NULL: nothing to
///   release. Must be NULL if `callback` is. If the call fails, nothing is released.
/// @param[in, enum(cushim_log_level), example(CUSHIM_LOG_WARN)] level The least important level to log. Ignored if
///   `callback` is NULL.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` in a Rust program that has set its own logger.
///
/// # Safety
/// `callback` keeps its contract and may be called with `user`, from another thread, until the owner is released;
/// `owner` is NULL or a valid owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_log_set_callback(
    callback: cushim_log_callback,
    user: *mut c_void,
    owner: *const cushim_owner,
    level: i32,
) -> cushim_status {
    call_taking(|lending| {
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
        let owner = unsafe { callback::given(lending, owner) }?;
        logging::to_callback(
            level,
            Box::new(move |level, target, message| {
                let _owner = &owner;
                let (target, message) = (text(target), text(message));
                // SAFETY: the caller vouches for the function.
                unsafe { callback.call((user.get(), level as i32, target.as_ptr(), message.as_ptr())) };
            }),
        );
        Ok(())
    })
}

/// Queues every later line of the log for `cushim_drain`, as items of kind `CUSHIM_DRAIN_LOG_LINE`.
///
/// `cushim_log_set_callback` ends it. If more than 1,024 lines wait, further ones are dropped; a line says how many.
///
/// @param[in, enum(cushim_log_level), example(CUSHIM_LOG_WARN)] level The least important level to log.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` in a Rust program that has set its own logger.
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

/// A text as C reads it.
fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}
