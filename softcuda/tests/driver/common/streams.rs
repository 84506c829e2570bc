//! Streams, events, and host functions that a test controls.

use super::{Library, at};
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) const NOT_READY: i32 = 600;
pub(crate) const INVALID_HANDLE: i32 = 400;
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
pub(crate) const NOT_PERMITTED: i32 = 800;

/// Handles of default streams.
pub(crate) const LEGACY: u64 = 1;
pub(crate) const PER_THREAD: u64 = 2;

/// Longer than anything takes that is not stuck.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A created stream, blocking.
pub(crate) fn stream(cu: &Library) -> u64 {
    stream_with(cu, 0)
}

/// A created stream, non-blocking.
pub(crate) fn free_stream(cu: &Library) -> u64 {
    stream_with(cu, 1)
}

fn stream_with(cu: &Library, flags: u64) -> u64 {
    let mut stream = 0;
    assert_eq!(cu.call("cuStreamCreate", &[at(&mut stream), flags]), 0);
    stream
}

pub(crate) fn event(cu: &Library) -> u64 {
    event_with(cu, 0)
}

pub(crate) fn event_with(cu: &Library, flags: u64) -> u64 {
    let mut event = 0;
    assert_eq!(cu.call("cuEventCreate", &[at(&mut event), flags]), 0);
    event
}

/// Records the event; success.
pub(crate) fn record(cu: &Library, event: u64, stream: u64) {
    assert_eq!(cu.call("cuEventRecord", &[event, stream]), 0);
}

pub(crate) fn query(cu: &Library, stream: u64) -> i32 {
    cu.call("cuStreamQuery", &[stream])
}

pub(crate) fn synchronize(cu: &Library, stream: u64) -> i32 {
    cu.call("cuStreamSynchronize", &[stream])
}

/// Puts a host function into a stream that does nothing.
pub(crate) fn nop(cu: &Library, stream: u64) {
    extern "C" fn nothing(_: *mut c_void) {}
    assert_eq!(cu.call("cuLaunchHostFunc", &[stream, nothing as *const () as u64, 0]), 0);
}

/// Page-locked memory.
pub(crate) fn pinned(cu: &Library, size: usize) -> &'static mut [u8] {
    let mut address = 0u64;
    assert_eq!(cu.call("cuMemHostAlloc", &[at(&mut address), size as u64, 0]), 0);
    // SAFETY: new memory of that size, which the test does not free.
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, size) }
}

/// Holds a stream up until the test opens it.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    reached: bool,
    open: bool,
}

impl Gate {
    /// Puts a new gate into a stream. It lives for ever, since the driver refers to it.
    pub(crate) fn in_stream(cu: &Library, stream: u64) -> &'static Self {
        let gate: &'static Self = Box::leak(Box::default());
        let data = std::ptr::from_ref(gate) as u64;
        assert_eq!(cu.call("cuLaunchHostFunc", &[stream, Self::pass as *const () as u64, data]), 0);
        gate
    }

    extern "C" fn pass(gate: *mut c_void) {
        // SAFETY: the gate that `in_stream` gave.
        let gate = unsafe { &*gate.cast::<Self>() };
        let mut state = gate.lock();
        state.reached = true;
        gate.changed.notify_all();
        while !state.open {
            state = gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn open(&self) {
        self.lock().open = true;
        self.changed.notify_all();
    }

    /// Waits until the stream has come here; false if it does not.
    pub(crate) fn wait_until_reached(&self) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), LONG, |state| !state.reached);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lock().open
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What host functions have written down, in their order.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<i32>>);

/// A host function that writes a number into a log.
struct Note(&'static Log, i32);

impl Log {
    pub(crate) fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    pub(crate) fn add(&self, number: i32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(number);
    }

    pub(crate) fn numbers(&self) -> Vec<i32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a host function into a stream that writes the number.
    pub(crate) fn note(&'static self, cu: &Library, stream: u64, number: i32) {
        extern "C" fn write(note: *mut c_void) {
            // SAFETY: the note below, given up by it.
            let note = unsafe { Box::from_raw(note.cast::<Note>()) };
            note.0.add(note.1);
        }
        let note = Box::into_raw(Box::new(Note(self, number))) as u64;
        assert_eq!(cu.call("cuLaunchHostFunc", &[stream, write as *const () as u64, note]), 0);
    }
}
