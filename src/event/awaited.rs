//! Events for which nodes of graphs wait, and that a capture has recorded: whoever launches such a graph makes the stream part of the
//! capture, as if it had waited for the event itself (measured on driver 580). So launches ask here first, and no capture records such
//! an event between the question and the launch.

use crate::driver::calls::event::RawEvent;
use crate::driver::sys::CUevent;
use crate::object::slot::Exposed;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Weak};

/// One of them, in a capture that may be under way.
struct Awaited {
    event: usize,
    capture: Weak<dyn Exposed>,
}

static AWAITED: Mutex<Vec<Awaited>> = Mutex::new(Vec::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether nodes wait for any event: where none does, launches take no lock.
static ANY_IS_AWAITED: AtomicBool = AtomicBool::new(false);
/// Launches read; captures that record such an event write.
static RECORDING: RwLock<()> = RwLock::new(());

/// While it lives, captures record no event for which a node waits.
pub(crate) struct NoneRecorded(#[allow(dead_code, reason = "dropped")] RwLockReadGuard<'static, ()>);

/// While it lives, nobody launches a graph whose nodes may wait for an event.
pub(super) struct NoneLaunched(#[allow(dead_code, reason = "dropped")] RwLockWriteGuard<'static, ()>);

/// Has captures wait that would record an event for which a node waits; `None` if there is no such event.
#[inline]
pub(crate) fn none_is_recorded() -> Option<NoneRecorded> {
    if ANY_IS_AWAITED.load(Relaxed) { Some(NoneRecorded(RECORDING.read())) } else { None }
}

/// Has launches wait.
pub(super) fn none_is_launched() -> NoneLaunched {
    NoneLaunched(RECORDING.write())
}

/// Nodes wait for an event.
pub(super) fn is_awaited() {
    ANY_IS_AWAITED.store(true, Relaxed);
}

impl NoneRecorded {
    /// Whether a capture may have recorded one.
    #[inline]
    pub(crate) fn may_be_in_capture(&self) -> bool {
        any_awaited_in_capture()
    }
}

#[inline]
fn any_awaited_in_capture() -> bool {
    COUNT.load(Relaxed) > 0
}

/// Those of captures that are under way.
#[cold]
pub(crate) fn awaited_in_captures() -> Vec<CUevent> {
    change(|awaited| {
        awaited.retain(|it| it.capture.upgrade().is_some_and(|capture| !capture.is_over()));
        awaited.iter().map(|it| std::ptr::without_provenance_mut(it.event)).collect()
    })
}

/// The capture has recorded the event.
#[cold]
pub(super) fn note(event: &RawEvent, capture: &Arc<dyn Exposed>) {
    let event = event.handle().addr();
    let capture = Arc::downgrade(capture);
    change(|awaited| {
        awaited.retain(|it| it.event != event);
        awaited.push(Awaited { event, capture });
    });
}

/// It stands for a place in a capture no more.
#[inline]
pub(super) fn forget(event: &RawEvent) {
    if any_awaited_in_capture() {
        let event = event.handle().addr();
        change(|awaited| awaited.retain(|it| it.event != event));
    }
}

fn change<R>(look: impl FnOnce(&mut Vec<Awaited>) -> R) -> R {
    let mut awaited = AWAITED.lock();
    let answer = look(&mut awaited);
    COUNT.store(awaited.len(), Relaxed);
    answer
}
