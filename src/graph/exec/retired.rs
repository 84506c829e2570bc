//! What an instance kept goes when the launches that use it are done; and what is waited for until then.

use super::leaving::Leaving;
use crate::context::{Context, OwnEvent};
use crate::object::callback::{ask_until, hand_over};
use crate::object::together::Together;
use crate::stream::Stream;
use smallvec::SmallVec;
use std::sync::Arc;

/// What goes together, when the same launches are done.
pub(super) struct Retired(Together<Leaving>);

impl Retired {
    /// Goes when all of this is done, which the worker asks; `contexts` are all in which something may run.
    pub(super) fn after(waits: SmallVec<[Wait; 1]>, contexts: Vec<Context>, leaving: Leaving) -> Arc<Self> {
        let retired = Arc::new(Self(Together::of(leaving)));
        let waiting = Arc::clone(&retired);
        when_over(waits, contexts, move || waiting.let_go());
        retired
    }

    /// Goes as soon as the worker has time. Until then more joins it, so that the worker has one task at most.
    pub(super) fn soon(leaving: Leaving) -> Arc<Self> {
        let retired = Arc::new(Self(Together::of(leaving)));
        let waiting = Arc::clone(&retired);
        hand_over(Box::new(move || waiting.let_go()));
        retired
    }

    fn let_go(&self) {
        drop(self.0.take()); // outside of the lock: objects may end with it
    }

    /// Whether it went.
    pub(super) fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    /// Has more go with it; gives it back if all went before.
    pub(super) fn add(&self, leaving: Leaving) -> Option<Leaving> {
        self.0.add(leaving, Leaving::append)
    }
}

/// Does this when all of that is done, which the worker asks.
pub(super) fn when_over(
    mut waits: SmallVec<[Wait; 1]>,
    contexts: Vec<Context>,
    then: impl FnOnce() + Send + 'static,
) {
    let mut then = Some(then);
    ask_until(move || {
        waits.retain(|wait| !wait.is_over(&contexts));
        if waits.is_empty()
            && let Some(then) = then.take()
        {
            then();
        }
        waits.is_empty()
    });
}

/// One of the things that have to be done before.
pub(super) enum Wait {
    /// What was recorded there. Whoever waits for it has it alone: recorded again, it would tell of later work.
    Event(OwnEvent),
    /// What the stream has, of which no event tells yet: it is being captured, or the driver failed. Once it records one, by that.
    Stream(Stream),
    /// What was retired earlier.
    Earlier(Arc<Retired>),
}

impl Wait {
    /// For what the stream has by now; `None` if nothing runs there any more. It is there as long as its object is.
    pub(super) fn in_stream(stream: &Stream) -> Option<Self> {
        if nothing_runs(stream.context()) {
            return None;
        }
        match recorded(stream) {
            Some(event) => Some(Self::Event(event)),
            None if stream.context().lost().is_some() => None,
            None => Some(Self::Stream(stream.clone())),
        }
    }

    /// Whether it is not known before a capture has ended.
    pub(super) fn is_of_capture(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    /// Whether it is done. After an error of the device, or a reset, nothing runs any more in that context; in all `contexts` of the
    /// instance it is for the driver to tell.
    pub(super) fn is_over(&mut self, contexts: &[Context]) -> bool {
        match self {
            Self::Event(event) => {
                let context = event.context();
                // Of a context that is gone nothing is asked.
                let told = if nothing_runs(context) {
                    None
                } else {
                    event.is_done().map_err(|error| note(context, error)).ok()
                };
                told.unwrap_or_else(|| nothing_runs(context) && contexts.iter().all(is_idle))
            }
            Self::Stream(stream) => {
                if nothing_runs(stream.context()) {
                    return contexts.iter().all(is_idle);
                }
                let Some(event) = recorded(stream) else { return false };
                *self = Self::Event(event);
                self.is_over(contexts)
            }
            Self::Earlier(retired) => retired.is_gone(),
        }
    }
}

/// An event that is recorded in the stream now, unless that is being captured, or the driver fails.
fn recorded(stream: &Stream) -> Option<OwnEvent> {
    let recorded = OwnEvent::of(stream.context())
        .and_then(|event| stream.record_own(&event).map(|is_told| is_told.then_some(event)));
    recorded.unwrap_or_else(|error| {
        note(stream.context(), error);
        None
    })
}

/// An error may say that nothing runs in the context any more. Any other is no answer.
#[cold]
pub(super) fn note(context: &Context, error: crate::driver::CallError) {
    let _ = context.failed(error, context);
}

/// Whether nothing runs there any more: not after an error of the device, and not where it was reset.
pub(super) fn nothing_runs(context: &Context) -> bool {
    context.lost().is_some() || context.is_gone()
}

/// Whether no work goes on in a context in which nodes ran when their stream's context was lost. For the worker, as [`Wait::is_over`] is, whose
/// questions disturb no capture.
fn is_idle(context: &Context) -> bool {
    nothing_runs(context) || Stream::legacy(context).query().unwrap_or_else(|_| nothing_runs(context))
}
