//! Statuses and the calling thread's last error.
//!
//! @header cushim_loader.h
//! @task find out why a call failed

use super::options::OutStruct;
use crate::object::callback::Lending;
use crate::object::cancellation::Deferred;
use crate::object::error::{Error, FORKED_TEXT, Status};
use crate::object::handle::forked;
use crate::object::thread_end::{at_end, has_ended};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::mem::{ManuallyDrop, offset_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call: `CUSHIM_SUCCESS` (0); the driver's own `CUresult`, unchanged, which is positive; or a
/// `cushim_status_code`, which is negative.
pub type cushim_status = i32;

/// The statuses of cushim itself. A number is never reused.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_status_code {
    /// The call did what its comment says.
    CUSHIM_SUCCESS = 0,
    /// An argument is not acceptable. The message says which one, its value, and what is accepted.
    CUSHIM_ERROR_INVALID_ARGUMENT = -1,
    /// The handle is not a handle of this library, is of another kind, or names an object that was destroyed.
    CUSHIM_ERROR_INVALID_HANDLE = -2,
    /// The handle was already destroyed. A program that destroys from several places may ignore it.
    CUSHIM_ERROR_ALREADY_DESTROYED = -3,
    /// The driver or the device cannot do it. The message names the driver function, the CUDA version that has it,
    /// and the driver's own version and path.
    CUSHIM_ERROR_UNSUPPORTED = -4,
    /// No CUDA driver was found. The message lists what was tried and why each attempt failed.
    CUSHIM_ERROR_DRIVER_NOT_FOUND = -5,
    /// The library cannot be used as a driver: it does not load, is the toolkit's stub, or exports no driver
    /// functions.
    CUSHIM_ERROR_DRIVER_UNUSABLE = -6,
    /// A bug in cushim. Please report the message.
    CUSHIM_ERROR_INTERNAL = -7,
    /// The process was forked after it had used cushim. CUDA does not work in such a child process; start the child
    /// with exec.
    CUSHIM_ERROR_FORKED = -8,
    /// An event does not measure time. Create it with `CUSHIM_EVENT_TIMING`.
    CUSHIM_ERROR_TIMING_DISABLED = -9,
    /// An event has never been recorded.
    CUSHIM_ERROR_NOT_RECORDED = -10,
    /// A stream is required, and none was given. Nothing was enqueued: cushim never uses a default stream unasked.
    CUSHIM_ERROR_STREAM_REQUIRED = -11,
    /// The call was made inside a function that the driver called, where CUDA allows almost none.
    CUSHIM_ERROR_IN_CALLBACK = -12,
    /// All 16,777,216 handles are in use. The program probably does not destroy what it creates. Handles of nodes
    /// count 32 at a time.
    CUSHIM_ERROR_TOO_MANY_HANDLES = -13,
    /// The process has no memory left for what the library has to keep. (A device's memory is
    /// `CUDA_ERROR_OUT_OF_MEMORY`.)
    CUSHIM_ERROR_OUT_OF_MEMORY = -14,
}

/// The details of a failed call. A text that does not fit is cut and ends with "...".
#[repr(C)]
pub struct cushim_error_detail {
    /// In: bytes of the caller's struct, `sizeof(cushim_error_detail)`. Out: bytes written.
    pub struct_size: usize,
    /// The status that the call returned; 0 if no call of this thread has failed.
    pub status: cushim_status,
    /// The ABI number of the driver function, such as 12020; 0 if the error is about none.
    pub abi: i32,
    /// The base name of the driver function, such as "cuMemPrefetchAsync"; "" if the error is about none.
    pub driver_function: [c_char; 64],
    /// What went wrong and what to do about it.
    pub message: [c_char; 4096],
    /// The index of the item that failed, from 0, if the call took several; otherwise -1.
    pub item: i64,
    /// The `CUresult` that the driver returned; 0 if the driver was not called or is not at fault.
    pub driver_code: i32,
    /// Zero.
    pub reserved: i32,
    /// Its name, such as "CUDA_ERROR_INVALID_VALUE"; "" if there is none.
    pub driver_code_name: [c_char; 64],
    /// The object that the call was about, such as `stream "copy"`; "" if there is none.
    pub object: [c_char; 256],
    /// The label of that object; "" if it has none.
    pub label: [c_char; 256],
    /// What the driver logged during the call, one entry per line; "" before CUDA 12.9, or if it logged nothing.
    pub driver_log: [c_char; 4096],
}

/// The bytes of a text of the struct.
fn room<const SIZE: usize>(_: fn(&cushim_error_detail) -> &[c_char; SIZE]) -> usize {
    SIZE
}

/// Writes the detail of an error, or of none, member by member: the struct is larger than some threads' stacks can
/// bear.
pub(super) fn tell(error: Option<&Error>, mut detail: OutStruct<'_, cushim_error_detail>) {
    macro_rules! put {
        ($($member:ident: $value:expr;)*) => {
            $(detail.put(offset_of!(cushim_error_detail, $member), $value.to_ne_bytes());)*
        };
    }
    macro_rules! put_text {
        ($($member:ident: $text:expr;)*) => {$(
            let size = room(|detail| &detail.$member);
            detail.put(offset_of!(cushim_error_detail, $member), super::text::cut(&$text, size));
        )*};
    }
    match error {
        None => {
            put! { item: -1_i64; }
        }
        Some(error) => {
            put! {
                status: error.status.0;
                abi: error.abi as i32;
                item: error.item.map_or(-1, |item| item as i64);
                driver_code: error.driver_code;
            }
            put_text! {
                driver_function: error.function;
                message: error.message;
                driver_code_name: error.driver_code_name;
                object: error.object;
                label: error.label;
                driver_log: error.driver_log;
            }
        }
    }
    detail.finish();
}

/// A thread's last error.
struct Last {
    error: Option<Error>,
    /// The text that `cushim_last_error_message` handed out last.
    message: Option<CString>,
}

thread_local! {
    /// Without a destructor of the standard library's, which takes memory and the loader's lock: see `thread_end`.
    static LAST: ManuallyDrop<RefCell<Last>> = const { ManuallyDrop::new(RefCell::new(Last { error: None, message: None })) };
}

/// Forgets the thread's last error, as the thread ends.
fn forget() {
    let last = LAST.with(|last| last.replace(Last { error: None, message: None }));
    drop(last);
}

/// Runs the body of an exported function: an error becomes the thread's last error and its status, a panic an
/// internal error. Success leaves the last error as it is.
#[inline(always)]
pub(super) fn call(body: impl FnOnce() -> Result<(), Error>) -> cushim_status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(internal(panic.as_ref())));
    match result {
        Ok(()) => Status::SUCCESS.0,
        Err(error) => fail(error),
    }
}

/// The same for a function that takes owners: they are the library's once the call has succeeded. After an error or a
/// panic they are the caller's, wherever they had got to.
#[inline(always)]
pub(super) fn call_taking(body: impl FnOnce(&Lending) -> Result<(), Error>) -> cushim_status {
    let lending = Lending::new();
    let status = call(|| body(&lending));
    lending.settle(status == Status::SUCCESS.0);
    status
}

/// The same for a function that waits, or reads or writes files: a thread that is cancelled meanwhile
/// (`pthread_cancel`) comes back from it first.
pub(super) fn long_call(body: impl FnOnce() -> Result<(), Error>) -> cushim_status {
    let _uncancelled = Deferred::new();
    call(body)
}

/// Makes the error the thread's last one.
#[cold]
pub(super) fn fail(error: Error) -> cushim_status {
    let status = error.status.0;
    put(error);
    status
}

/// Makes the error the thread's last one, without a word.
fn put(error: Error) {
    if forked() {
        // Nothing is freed: the allocator's lock may be held for ever.
        return std::mem::forget(LAST.with(|last| last.borrow_mut().error.replace(error)));
    }
    // A thread that is ending has no last error any more. Where the C library has no memory to say when it ends, its last one is leaked.
    if !at_end(forget) && has_ended() {
        return;
    }
    let before = LAST.with(|last| last.borrow_mut().error.replace(error));
    drop(before);
}

/// Takes the thread's last error away.
pub(super) fn take() -> Option<Error> {
    LAST.with(|last| last.borrow_mut().error.take())
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

/// Copies the details of the last call that failed on the calling thread. A successful call leaves them as they are.
///
/// @param[inout] detail Receives the details.
/// @fork allowed
///
/// # Safety
/// `detail` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_last_error(detail: *mut cushim_error_detail) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `detail`.
        let detail = unsafe { OutStruct::cleared(detail, "detail") }?;
        let last = take();
        tell(last.as_ref(), detail);
        last.into_iter().for_each(put);
        Ok(())
    })
}

/// Returns the message of the last call that failed on the calling thread.
///
/// @return The whole message; "" if no call of this thread has failed. It is valid until this thread calls this
///   function again or ends.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_last_error_message() -> *const c_char {
    LAST.with(|last| {
        let Last { error, message } = &mut *last.borrow_mut();
        match error {
            None => c"".as_ptr(),
            // In the child of a fork nothing is allocated.
            Some(error) if error.is_kept() => FORKED_TEXT.as_ptr(),
            Some(error) => {
                let text = CString::new(error.message.replace('\0', " ")).unwrap_or_default();
                message.insert(text).as_ptr()
            }
        }
    })
}

/// Copies a text into a fixed field, cut and marked where it does not fit.
pub(super) fn copy_text<const N: usize>(text: &str, field: &mut [c_char; N]) {
    field.iter_mut().zip(super::text::cut(text, N)).for_each(|(to, from)| *to = from as c_char);
}

/// Returns the name of a status, such as "CUSHIM_ERROR_UNSUPPORTED" or "CUDA_ERROR_INVALID_VALUE".
///
/// @param[in] status Any number.
/// @return The name, which stays valid; NULL for a number that this version does not know.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_status_name(status: cushim_status) -> *const c_char {
    Status(status).name().map_or(std::ptr::null(), std::ffi::CStr::as_ptr)
}

/// Returns a short description of a status.
///
/// @param[in] status Any number.
/// @return The description, in English, which stays valid; NULL for a number that this version does not know.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_status_string(status: cushim_status) -> *const c_char {
    Status(status).text().map_or(std::ptr::null(), std::ffi::CStr::as_ptr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::callback::flush_callbacks;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::Duration;

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(call(|| panic!("boom")), Status::INTERNAL.0);
        let last = take().expect("a last error");
        assert!(last.message.contains("boom"), "{last}");
    }

    #[test]
    fn a_panic_takes_no_owner_wherever_that_had_got_to() {
        static RELEASED: AtomicU32 = AtomicU32::new(0);
        unsafe extern "C" fn release(_: *mut std::ffi::c_void) {
            RELEASED.fetch_add(1, Relaxed);
        }
        // SAFETY: it may be called with anything.
        let lend = |lending: &Lending| unsafe { lending.lend(std::ptr::null_mut(), Some(release)) };
        let mut kept = None;
        let status = call_taking(|lending| {
            kept = Some(lend(lending));
            panic!("for a test")
        });
        assert_eq!(status, Status::INTERNAL.0);
        drop(kept.take());
        assert_eq!(flush_callbacks(Duration::from_secs(20)), Ok(true));
        assert_eq!(RELEASED.load(Relaxed), 0);
        let status = call_taking(|lending| {
            kept = Some(lend(lending));
            Ok(())
        });
        assert_eq!(status, Status::SUCCESS.0);
        drop(kept.take());
        assert_eq!(flush_callbacks(Duration::from_secs(20)), Ok(true));
        assert_eq!(RELEASED.load(Relaxed), 1);
    }
}
