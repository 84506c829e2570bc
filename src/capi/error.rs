//! Statuses and the calling thread's last error.

use crate::error::{Error, Status};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What every function returns: `CUSHIM_SUCCESS` (0); a positive number is the driver's own `CUresult`, unchanged; a
/// negative one is a `cushim_status_code`.
pub type cushim_status = i32;

/// The statuses of cushim's own. Numbers are never reused.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_status_code {
    /// The call did what it says.
    CUSHIM_SUCCESS = 0,
    /// An argument is outside what the function accepts; the message says which and what is accepted.
    CUSHIM_ERROR_INVALID_ARGUMENT = -1,
    /// The handle is not one of this library, or of another kind, or its object is gone.
    CUSHIM_ERROR_INVALID_HANDLE = -2,
    /// The handle was destroyed before. A program that destroys from several places may ignore it.
    CUSHIM_ERROR_ALREADY_DESTROYED = -3,
    /// This driver does not offer what was asked for; the message names the function, the driver's version and path, and
    /// the version that has it.
    CUSHIM_ERROR_UNSUPPORTED = -4,
    /// No CUDA driver was found; the message lists what was tried and why each failed.
    CUSHIM_ERROR_DRIVER_NOT_FOUND = -5,
    /// The library that was named, or the only one that was found, cannot be used: it does not open, is a toolkit's stub,
    /// or exports nothing of a driver.
    CUSHIM_ERROR_DRIVER_UNUSABLE = -6,
    /// A bug in cushim. Please report the message.
    CUSHIM_ERROR_INTERNAL = -7,
    /// The process was forked after cushim was used. CUDA does not work in such a child; start it with exec.
    CUSHIM_ERROR_FORKED = -8,
    /// An event does not measure time; create it with `CUSHIM_EVENT_TIMING`.
    CUSHIM_ERROR_TIMING_DISABLED = -9,
    /// An event was never recorded.
    CUSHIM_ERROR_NOT_RECORDED = -10,
    /// No stream was named. Nothing was enqueued: no stream is ever chosen by default.
    CUSHIM_ERROR_STREAM_REQUIRED = -11,
    /// The call was made inside a function that the driver called, where it allows next to none.
    CUSHIM_ERROR_IN_CALLBACK = -12,
    /// 16,777,216 handles are in use, as many as there can be. Any function that gives a handle may answer it; a program
    /// that sees it forgets to destroy what it creates.
    CUSHIM_ERROR_TOO_MANY_HANDLES = -13,
}

/// The detail of a failed call. Texts end with NUL; one that did not fit is cut and ends with "...".
#[repr(C)]
pub struct cushim_error_detail {
    /// In: bytes of the caller's struct, `sizeof(cushim_error_detail)`. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// The status that the failed call returned; 0 if no call of this thread failed yet.
    pub status: cushim_status,
    /// Number of the ABI of the driver function concerned, e.g. 12020; 0 where none is.
    pub abi: i32,
    /// Base name of the driver function concerned, e.g. "cuMemPrefetchAsync"; empty where none is.
    pub function: [c_char; 64],
    /// What went wrong and what to do about it.
    pub message: [c_char; 4096],
    /// Which of several items failed, from 0, where the call took several; otherwise -1.
    pub item: i64,
    /// What the driver answered, a `CUresult`; 0 where it was not asked or is not to blame.
    pub driver_code: i32,
    /// Zero.
    pub reserved: i32,
    /// The name of that code, e.g. "CUDA_ERROR_INVALID_VALUE"; empty where there is none.
    pub driver_code_name: [c_char; 64],
    /// The object that the call was about, e.g. `stream "copy"`; empty where none is.
    pub object: [c_char; 256],
    /// That object's label; empty where it has none.
    pub label: [c_char; 256],
    /// What the driver logged about the call, a line per entry; empty before driver 12.9, or if it logged nothing.
    pub driver_log: [c_char; 4096],
}

impl cushim_error_detail {
    /// The detail of an error, or of none.
    pub(super) fn of(error: Option<&Error>) -> Self {
        let mut detail = Self {
            struct_size: size_of::<Self>(),
            status: 0,
            abi: 0,
            function: [0; 64],
            message: [0; 4096],
            item: -1,
            driver_code: 0,
            reserved: 0,
            driver_code_name: [0; 64],
            object: [0; 256],
            label: [0; 256],
            driver_log: [0; 4096],
        };
        if let Some(error) = error {
            detail.fill(error);
        }
        detail
    }

    fn fill(&mut self, error: &Error) {
        self.status = error.status.0;
        self.abi = error.abi as i32;
        copy_text(&error.function, &mut self.function);
        copy_text(&error.message, &mut self.message);
        self.item = error.item.map_or(-1, |item| item as i64);
        self.driver_code = error.driver_code;
        copy_text(&error.driver_code_name, &mut self.driver_code_name);
        copy_text(&error.object, &mut self.object);
        copy_text(&error.label, &mut self.label);
        copy_text(&error.driver_log, &mut self.driver_log);
    }
}

thread_local! {
    static LAST: RefCell<Option<Error>> = const { RefCell::new(None) };
    /// The text that `cushim_last_error_message` handed out last.
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
}

/// Runs the body of an exported function: an error becomes the thread's last error and its status, a panic an internal
/// error. Success leaves the last error as it is.
#[inline]
pub(super) fn call(body: impl FnOnce() -> Result<(), Error>) -> cushim_status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(internal(panic.as_ref())));
    match result {
        Ok(()) => Status::SUCCESS.0,
        Err(error) => fail(error),
    }
}

/// Makes the error the thread's last one.
#[cold]
pub(super) fn fail(error: Error) -> cushim_status {
    let status = error.status.0;
    // A thread that is ending has no last error any more; the status still reaches the caller.
    let _ = LAST.try_with(|last| last.replace(Some(error)));
    status
}

/// Takes the thread's last error away.
pub(super) fn take() -> Option<Error> {
    LAST.try_with(|last| last.take()).ok().flatten()
}

#[cold]
pub(super) fn internal(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::new(Status::INTERNAL, format!("cushim has a bug: {text}. Please report it."))
}

/// Copies the detail of the last call that failed on this thread.
///
/// A call that succeeds leaves the detail untouched, and other threads' calls have details of their own.
///
/// @param detail Written, as far as its `struct_size` goes; must not be NULL.
/// @return `CUSHIM_SUCCESS`; `CUSHIM_ERROR_INVALID_ARGUMENT` if `detail` is NULL or its `struct_size` is 0.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`. Threads: any. Needs no driver.
///
/// # Safety
/// `detail` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_last_error(detail: *mut cushim_error_detail) -> cushim_status {
    let last = LAST.try_with(|last| last.borrow().clone()).ok().flatten();
    call(|| {
        let full = cushim_error_detail::of(last.as_ref());
        // SAFETY: the caller vouches for `detail`.
        unsafe { super::options::write_out(detail, &full, "detail") }
    })
}

/// The message of the last call that failed on this thread, for programs that only print it.
///
/// @return The whole message, never NULL; "" if no call of this thread failed yet. Valid until this thread calls this
///   function again or ends.
///
/// Errors: none. Threads: any. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_last_error_message() -> *const c_char {
    let message =
        LAST.try_with(|last| last.borrow().as_ref().map(|error| error.message.clone())).ok().flatten();
    let text = CString::new(message.unwrap_or_default().replace('\0', " ")).unwrap_or_default();
    MESSAGE
        .try_with(|kept| {
            let mut kept = kept.borrow_mut();
            *kept = text;
            kept.as_ptr()
        })
        .unwrap_or(c"".as_ptr())
}

/// Copies a text into a fixed field, cut and marked where it does not fit.
pub(super) fn copy_text<const N: usize>(text: &str, field: &mut [c_char; N]) {
    field.iter_mut().zip(super::text::cut(text, N)).for_each(|(to, from)| *to = from as c_char);
}

/// The name of a status: "CUSHIM_ERROR_UNSUPPORTED", "CUDA_ERROR_INVALID_VALUE".
///
/// @param status Any number.
/// @return The name, valid for ever; NULL for a number that this version does not know.
///
/// Errors: none. Threads: any. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_status_name(status: cushim_status) -> *const c_char {
    Status(status).name().map_or(std::ptr::null(), std::ffi::CStr::as_ptr)
}

/// A few words on what a status means.
///
/// @param status Any number.
/// @return The text, in English, valid for ever; NULL for a number that this version does not know.
///
/// Errors: none. Threads: any. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_status_string(status: cushim_status) -> *const c_char {
    Status(status).text().map_or(std::ptr::null(), std::ffi::CStr::as_ptr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(call(|| panic!("boom")), Status::INTERNAL.0);
        let last = LAST.with(|last| last.borrow().clone()).expect("a last error");
        assert!(last.message.contains("boom"), "{last}");
    }
}
