//! The callbacks that receive the log.

use crate::abi::sys::{CU_LOG_LEVEL_ERROR, CUlogLevel};
use crate::instruments::foreign;
use parking_lot::RwLock;
use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

type Function = unsafe extern "C" fn(*mut c_void, CUlogLevel, *mut c_char, usize);

struct Listener {
    handle: usize,
    function: Function,
    data: *mut c_void,
}

// SAFETY: the data is the caller's, who hands it over to be given back on any thread.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

static LISTENERS: RwLock<Vec<Listener>> = RwLock::new(Vec::new());

thread_local! {
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Adds a callback; `None` inside one.
pub(crate) fn add(function: Function, data: *mut c_void) -> Option<usize> {
    if TELLING.get() {
        return None;
    }
    static HANDLES: AtomicUsize = AtomicUsize::new(1);
    let handle = HANDLES.fetch_add(1, Ordering::Relaxed);
    LISTENERS.write().push(Listener { handle, function, data });
    Some(handle)
}

/// Takes a callback away, which runs on no thread any more then. `Some(false)` if there is none of this handle; `None`
/// inside a callback, which would wait for itself.
pub(crate) fn remove(handle: usize) -> Option<bool> {
    if TELLING.get() {
        return None;
    }
    let mut listeners = LISTENERS.write();
    let before = listeners.len();
    listeners.retain(|listener| listener.handle != handle);
    Some(listeners.len() < before)
}

/// Tells all of them a message, but not what happens to their own calls.
pub(crate) fn tell(message: &str) {
    if TELLING.get() {
        return;
    }
    // Not stopped by one who waits to remove a callback: another thread's callback may wait for this one.
    let listeners = LISTENERS.read_recursive();
    if listeners.is_empty() {
        return;
    }
    let text = CString::new(message).unwrap_or_default();
    TELLING.set(true);
    for listener in listeners.iter() {
        let (place, length) = (text.as_ptr().cast_mut(), text.as_bytes().len());
        let level = CU_LOG_LEVEL_ERROR.0 as usize;
        let arguments = [listener.data.expose_provenance(), level, place.expose_provenance(), length];
        // SAFETY: the caller registered the function to be called so; it must not write to the message.
        let call = || unsafe { foreign::call(listener.function as *const c_void, arguments) };
        // SAFETY: a thread that is parked reads them no more.
        foreign::unless_parked(call, || unsafe { LISTENERS.force_unlock_read() });
    }
    TELLING.set(false);
}
