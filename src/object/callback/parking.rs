//! Threads that a function of the program has ended: they are parked for ever, in the [frame](super::frame) of that function.
//!
//! Nothing on such a thread's stack is used again, and nothing is dropped. What others wait for, the frames below it have said
//! before ([`unless_parked`]), and it is done when the thread is parked.

#[cfg(framed)]
use super::caught::caught;
#[cfg(framed)]
use std::cell::Cell;

/// Functions are called without the frame: nothing parks a thread.
#[cfg(not(framed))]
pub(crate) fn unless_parked<R>(body: impl FnOnce() -> R, _parked: impl FnOnce()) -> R {
    body()
}

/// What a frame has to do if its thread is parked; a link of a list, the innermost first.
#[cfg(framed)]
struct Due {
    action: *mut dyn FnMut(),
    outer: *const Due,
}

#[cfg(framed)]
thread_local! {
    static INNERMOST: Cell<*const Due> = const { Cell::new(std::ptr::null()) };
}

/// Runs `body`; if a function of the program that it calls ends the thread, `parked` is run, and this never returns.
///
/// `parked` must not wait for anything, and must not drop what `body` uses.
#[cfg(framed)]
pub(crate) fn unless_parked<R>(body: impl FnOnce() -> R, parked: impl FnOnce()) -> R {
    let mut parked = Some(parked);
    let mut action = || parked.take().into_iter().for_each(|parked| parked());
    let action: *mut (dyn FnMut() + '_) = &raw mut action;
    // SAFETY: only the lifetime changes; the link is taken off the list before the frame ends.
    let action =
        unsafe { std::mem::transmute::<*mut (dyn FnMut() + '_), *mut (dyn FnMut() + 'static)>(action) };
    let due = Due { action, outer: INNERMOST.get() };
    INNERMOST.set(&raw const due);
    let _unlinked = Unlinked(due.outer);
    body()
}

/// Takes a link off the list, also if the body panics.
#[cfg(framed)]
struct Unlinked(*const Due);

#[cfg(framed)]
impl Drop for Unlinked {
    fn drop(&mut self) {
        INNERMOST.set(self.0);
    }
}

/// Runs what the frames below have to do, the innermost first.
#[cfg(framed)]
pub(super) fn run_due() {
    while let Some(due) = std::ptr::NonNull::new(INNERMOST.get().cast_mut()) {
        // SAFETY: links are in frames that have not ended, and never will.
        let Due { action, outer } = *unsafe { due.as_ref() };
        INNERMOST.set(outer);
        // SAFETY: as above; the frame that made it waits for its body.
        caught("what follows a parked thread", || unsafe { (*action)() });
    }
}
