//! Functions that wait in a stream for their turn.
//!
//! The driver gets a number, not a pointer: whoever takes the number off the list has the function, and nobody has it
//! twice. So a function that the driver will never call can be released although the driver still knows its number.
//! Driver 580 calls none after a sticky error (measured); what waits in a context that turns out to be lost, or that is
//! reset, is released uncalled.

use super::worker::Task;
use super::{Owner, caught, inside_driver, later};
use crate::context::Context;
use crate::driver::calls::host_function as calls;
use crate::error::{Error, Status};
use crate::stream::Stream;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function that waits. It keeps its context alive, so that no context goes with functions waiting in it.
struct Waiting {
    function: Task,
    owner: Option<Owner>,
    context: Arc<Context>,
}

static WAITING: Mutex<BTreeMap<usize, Waiting>> = Mutex::new(BTreeMap::new());

/// Enqueues a function in the stream, with the owner of what it needs. On failure the owner is given back.
pub(crate) fn launch(
    stream: &Stream,
    function: Task,
    owner: Option<Owner>,
) -> Result<(), (Error, Option<Owner>)> {
    if let Err(error) = refuse_capture(stream) {
        return Err((error, owner));
    }
    let table = stream.driver().object_table();
    let mut waiting = Some(Waiting { function, owner, context: Arc::clone(stream.context()) });
    let result = stream.here(|raw| {
        let number = waiting.take().map_or(0, add);
        calls::launch(table, raw, call, number).inspect_err(|_| waiting = take(number))
    });
    match (result, waiting) {
        (Err(error), Some(waiting)) => Err((error, waiting.owner)),
        // Enqueued; or refused when another thread had found out that the context is lost, and had released it uncalled.
        _ => Ok(()),
    }
}

/// A graph may call its functions many times, or never.
fn refuse_capture(stream: &Stream) -> Result<(), Error> {
    if !stream.here(|raw| calls::is_capturing(stream.driver().object_table(), raw))? {
        return Ok(());
    }
    Err(Error::new(
        Status::INVALID_ARGUMENT,
        format!("{stream} is being captured, and a function that is called once cannot be part of a graph"),
    )
    .with_object(stream.to_string()))
}

/// Lists the function under a number that is never used again, and never 0.
fn add(waiting: Waiting) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, Relaxed);
    WAITING.lock().insert(number, waiting);
    number
}

fn take(number: usize) -> Option<Waiting> {
    WAITING.lock().remove(&number)
}

/// What the driver calls.
extern "C" fn call(number: *mut c_void) {
    let Some(Waiting { function, owner, context }) = take(number.addr()) else { return };
    inside_driver(move || {
        caught("a host function", function);
        drop((owner, context));
    });
}

/// Releases, uncalled, what waits in a context in which the driver calls nothing any more.
pub(crate) fn abandon(context: &Context) {
    let is_in = |_: &usize, waiting: &mut Waiting| std::ptr::eq(Arc::as_ptr(&waiting.context), context);
    let abandoned: Vec<_> = WAITING.lock().extract_if(.., is_in).map(|(_, waiting)| waiting).collect();
    if !abandoned.is_empty() {
        let count = abandoned.len();
        log::warn!(target: "cushim", "host functions that {context}, which is lost, will never call: {count}");
        later(abandoned);
    }
}
