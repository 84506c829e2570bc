//! Events of a whole context: a record of all its work, and a wait of all that comes.

use super::{Activation, Context};
use crate::error::Answer;
use crate::event::Event;
use crate::executor::{self, Operation};
use crate::stream::{Stream, capture};
use crate::sys::{CUcontext, CUevent};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What all later work of a context comes after.
#[derive(Default)]
pub(super) struct Barriers {
    /// Whether there may be any: what every piece of work asks.
    any: AtomicBool,
    operations: RwLock<Vec<Arc<Operation>>>,
}

impl Barriers {
    fn add(&self, operation: Arc<Operation>) {
        let mut operations = self.operations.write();
        operations.retain(|operation| !operation.is_finished());
        operations.push(operation);
        self.any.store(true, Ordering::Release);
    }

    fn unfinished(&self) -> Vec<Arc<Operation>> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let operations = self.operations.read();
        operations.iter().filter(|operation| !operation.is_finished()).cloned().collect()
    }
}

impl Activation {
    /// What work that is submitted now must follow, besides what its stream demands.
    pub(crate) fn barriers(&self) -> Vec<Arc<Operation>> {
        self.barriers.unfinished()
    }
}

/// Marks the end of everything that the context has been given; no later work waits for the mark.
pub(crate) fn cuCtxRecordEvent(hCtx: CUcontext, hEvent: CUevent) -> Answer {
    let context = Context::of(hCtx)?.activation()?;
    let event = Event::of(hEvent)?;
    capture::check_context(context.id())?;
    event.record_after(&Stream::aside(&context), &executor::unfinished(context.id()))
}

/// Lets everything that the context is given from now on wait for the event's record as it is now.
pub(crate) fn cuCtxWaitEvent(hCtx: CUcontext, hEvent: CUevent) -> Answer {
    let context = Context::of(hCtx)?.activation()?;
    let event = Event::of(hEvent)?;
    capture::check_context(context.id())?;
    if let Some(record) = event.recorded() {
        context.barriers.add(record);
    }
    Ok(())
}
