//! Functions that wait in a stream for their turn.
//!
//! The driver gets a number, not a pointer: whoever takes the number off the list has the function, and nobody has it
//! twice. So a function that the driver will never call can be released although the driver still knows its number.
//! Driver 580 calls none after a sticky error (measured); what waits in a context that turns out to be corrupted, or that is
//! reset, is released uncalled.

use super::parking::unless_parked;
use super::worker::Task;
use super::{Owner, caught, inside_driver, later};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function that waits. It keeps its context alive, so that no context goes with functions waiting in it.
struct Waiting {
    function: Task,
    owner: Option<Owner>,
    context: Arc<dyn Any + Send + Sync>,
}

static WAITING: Mutex<BTreeMap<usize, Waiting>> = Mutex::new(BTreeMap::new());

/// Lists a function that a stream of the context is to call, with the owner of what it needs. The number, by which
/// [`call_waiting`] calls it, is never used again, and never 0.
pub(crate) fn wait<C: Any + Send + Sync>(function: Task, owner: Option<Owner>, context: &Arc<C>) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, Relaxed);
    let context: Arc<dyn Any + Send + Sync> = Arc::<C>::clone(context);
    WAITING.lock().insert(number, Waiting { function, owner, context });
    number
}

/// Takes a function off the list that was not enqueued, and gives its owner back; `None` if another thread had found out
/// that the context is corrupted, and released it uncalled.
pub(crate) fn take_back(number: usize) -> Option<Option<Owner>> {
    take(number).map(|waiting| waiting.owner)
}

fn take(number: usize) -> Option<Waiting> {
    WAITING.lock().remove(&number)
}

/// What the driver calls, with the number.
pub(crate) extern "C" fn call_waiting(number: *mut c_void) {
    let Some(Waiting { function, owner, context }) = take(number.addr()) else { return };
    inside_driver(move || {
        // What it held is released, whether it comes back or ends the thread.
        let held = Cell::new(Some((owner, context)));
        unless_parked(|| caught("a host function", function), || drop(held.take()));
        drop(held);
    });
}

/// Releases, uncalled, what waits in a context in which the driver calls nothing any more.
pub(crate) fn abandon<C: fmt::Display>(context: &C) {
    let is_in = |waiting: &Waiting| std::ptr::addr_eq(Arc::as_ptr(&waiting.context), context);
    let mut all = WAITING.lock();
    let numbers: Vec<usize> =
        all.iter().filter(|(_, waiting)| is_in(waiting)).map(|(number, _)| *number).collect();
    let abandoned: Vec<_> = numbers.iter().filter_map(|number| all.remove(number)).collect();
    drop(all);
    if !abandoned.is_empty() {
        let count = abandoned.len();
        log::warn!(target: "cushim", "host functions that {context}, which is corrupted, will never call: {count}");
        later(abandoned);
    }
}
