//! The default streams of a context, as objects of a type that a later floor knows.

use super::{Context, ContextObject};
use crate::object::handle::DefaultStream;
use crate::object::slot::Slot;
use parking_lot::Mutex;
use std::any::Any;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Release;

/// What a context has of its default streams.
///
/// A stream holds its context, so the context must not hold a stream for ever. But one that is made anew for each call costs more than most
/// calls do. So while handles own the context, it holds those that were asked for.
#[derive(Default)]
pub(super) struct DefaultStreams {
    /// What is known of each, whether somebody holds it or not.
    known: [Slot; 2],
    held: Mutex<Held>,
    /// Where the objects are that are held, to be found without the lock.
    at: [AtomicPtr<()>; 2],
}

#[derive(Default)]
struct Held {
    /// How many handles own the context.
    owners: usize,
    objects: [Option<Arc<dyn Any + Send + Sync>>; 2],
}

impl Context {
    /// Where streams keep what they know of a default stream of the context.
    pub(crate) fn stream_slot(&self, which: DefaultStream) -> &Slot {
        &self.0.streams.known[which as usize]
    }

    /// Holds the object of a default stream as long as handles own the context, if any do.
    pub(crate) fn hold_default_stream(&self, which: DefaultStream, stream: &Arc<dyn Any + Send + Sync>) {
        let DefaultStreams { held, at, .. } = &self.0.streams;
        let mut held = held.lock();
        if held.owners == 0 || held.objects[which as usize].is_some() {
            return;
        }
        held.objects[which as usize] = Some(Arc::clone(stream));
        at[which as usize].store(Arc::as_ptr(stream).cast_mut().cast(), Release);
    }

    /// Where the object of a default stream is, if the context holds it: it is there as long as a handle owns the context. NULL otherwise.
    #[cfg(feature = "capi")]
    #[inline]
    pub(crate) fn held_default_stream(&self, which: DefaultStream) -> *const () {
        self.0.streams.at[which as usize].load(std::sync::atomic::Ordering::Acquire)
    }
}

impl ContextObject {
    /// One more handle owns the context.
    pub(super) fn claimed(&self) {
        self.streams.held.lock().owners += 1;
    }

    /// One does not any more.
    pub(super) fn let_go(&self) {
        let mut held = self.streams.held.lock();
        held.owners -= 1;
        if held.owners > 0 {
            return;
        }
        let objects = std::mem::take(&mut held.objects);
        // Under the lock: a handle that owns the context from now on finds none of these.
        self.streams.at.iter().for_each(|at| at.store(null_mut(), Release));
        drop(held);
        drop(objects);
    }
}
