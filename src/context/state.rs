//! The state of a context: valid, corrupted by an error that sticks, or destroyed.

use super::{Context, ContextObject, KNOWN};
use crate::driver::sys;
use crate::driver::{CallError, Driver, calls::context as calls};
use crate::object::callback;
use crate::object::error::{Error, Status, Subject};
use std::sync::atomic::Ordering::Relaxed;

impl Context {
    /// The error after which nothing in the context works any more: one that is sticky, or
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED` (709) after a reset. Known once a call met it, or if the reset happened here.
    #[must_use]
    pub fn lost(&self) -> Option<Status> {
        self.0.lost()
    }

    /// Refuses a call on `object`, which belongs to this context, if the context is known to be gone. The driver may use
    /// its address for another one, and on driver 580 some calls on what was in it crash then.
    #[inline]
    pub(crate) fn check_there(&self, object: &dyn Subject) -> Result<(), Error> {
        if self.is_known_gone() { Err(self.gone(object)) } else { Ok(()) }
    }

    /// The same for an object of another context than the call's, which the driver would not be asked about otherwise: also if
    /// others destroyed or reset the context.
    #[inline]
    pub(crate) fn check_still_there(&self, object: &dyn Subject) -> Result<(), Error> {
        if self.is_gone() { Err(self.gone(object)) } else { Ok(()) }
    }

    /// The refusal of a call on `object`: this context, or something in it.
    #[cold]
    fn gone(&self, object: &dyn Subject) -> Error {
        let status = Status(DESTROYED);
        let what = match object.address() == self.address() {
            true => format!("{object} was destroyed or reset"),
            false => format!("{object} is in {self}, which was destroyed or reset"),
        };
        Error::new(status, format!("{what}{}", advice(status).unwrap_or_default())).about(object)
    }

    /// The refusal of a graph one of whose nodes uses something of this context, which is gone.
    #[cold]
    pub(crate) fn used_and_gone(&self, graph: &dyn Subject) -> Error {
        let status = Status(DESTROYED);
        let what = format!(
            "a node of {graph} uses something of {self}, which was destroyed or reset: set the node to what is there, or remove it"
        );
        Error::new(status, what).about(graph)
    }

    /// Whether the context is known to be gone; costs one read.
    #[inline]
    pub(crate) fn is_known_gone(&self) -> bool {
        self.0.is_known_gone()
    }

    /// Whether what was in the context went with it, so that nothing is left to release.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    /// Whether it is certainly another context that the driver says is gone. Before 12.0 the driver cannot be asked whether
    /// this one is what it was, only whether the one that is current here is any.
    fn another_is_gone(&self) -> bool {
        if self.0.id.is_some() {
            return !self.is_gone();
        }
        let current = calls::current(self.table()).unwrap_or(std::ptr::null_mut());
        !current.is_null() && current != self.native() && !calls::is_known(self.table(), current)
    }

    /// The error of a call on `object`, which belongs to this context; notes if the context is corrupted or destroyed.
    #[cold]
    pub(crate) fn failed(&self, error: CallError, object: &dyn Subject) -> Error {
        let mut failure = Error::of_call(self.driver(), error).about(object);
        if failure.status.0 == DESTROYED && self.another_is_gone() {
            failure.message.push_str(&format!(
                ". {self} is valid, but the context that is current on this thread, or that another argument belongs to, was \
                 destroyed"
            ));
        } else if let Some(advice) = advice(failure.status) {
            self.0.lost.store(failure.status.0, Relaxed);
            callback::abandon(&*self.0);
            failure.message.push_str(advice);
        }
        failure
    }

    /// What is left to say of the release of `object`, which belongs to this context. Nothing, if the context was reset or
    /// is corrupted: the object ends with it, and the error is that of earlier work.
    pub(crate) fn released(&self, result: Result<(), CallError>, object: &dyn Subject) -> Result<(), Error> {
        self.forgiven(result.map_err(|error| self.failed(error, object)))
    }

    /// The same for a release whose error has been made already.
    pub(crate) fn forgiven(&self, result: Result<(), Error>) -> Result<(), Error> {
        result.or_else(|failure| if self.lost() == Some(failure.status) { Ok(()) } else { Err(failure) })
    }

    /// Notes that the native context was reset or destroyed.
    pub(super) fn went(driver: &Driver, native: sys::CUcontext) {
        if let Some(context) = KNOWN.find(driver, native.addr()) {
            context.was_reset();
        }
    }

    /// Notes that everything in the context was destroyed.
    pub(super) fn was_reset(&self) {
        self.0.was_reset();
    }
}

impl ContextObject {
    pub(super) fn lost(&self) -> Option<Status> {
        match self.lost.load(Relaxed) {
            0 => None,
            code => Some(Status(code)),
        }
    }

    #[inline]
    fn is_known_gone(&self) -> bool {
        self.lost.load(Relaxed) == DESTROYED
    }

    pub(super) fn is_gone(&self) -> bool {
        // A reset by others shows in the number.
        if !self.is_known_gone() && self.id.is_some_and(|id| is_another(id, self.raw().id())) {
            self.was_reset();
        }
        self.is_known_gone()
    }

    fn was_reset(&self) {
        KNOWN.remove(self.driver(), self.raw().handle().addr(), self);
        self.lost.store(DESTROYED, Relaxed);
        callback::abandon(self);
    }
}

/// Whether a handle means another context than that of the number `id`, by what the driver says of its number now.
pub(super) fn is_another(id: u64, now: Result<u64, CallError>) -> bool {
    match now {
        Ok(now) => now != id,
        // The driver does not know the handle any more. Another failure tells nothing.
        Err(error) => matches!(
            error.result(),
            Some(sys::CUDA_ERROR_CONTEXT_IS_DESTROYED | sys::CUDA_ERROR_INVALID_CONTEXT)
        ),
    }
}

pub(super) const DESTROYED: i32 = sys::CUDA_ERROR_CONTEXT_IS_DESTROYED.0;

/// What is left to say of a release where a reset takes nothing away: of memory of a pool, say. Nothing, if something is corrupted: no reset
/// mends that, and all of it ends with the process.
pub(crate) fn forgiven_if_corrupted(result: Result<(), Error>) -> Result<(), Error> {
    result.or_else(|failure| if is_sticky(failure.status) { Ok(()) } else { Err(failure) })
}

/// Whether nothing works in the process after this answer.
fn is_sticky(status: Status) -> bool {
    matches!(status.0, 700 | 702 | 710 | 714..=719)
}

/// What to do after an answer that the driver gives to every later call in the context, too.
fn advice(status: Status) -> Option<&'static str> {
    match status.0 {
        _ if is_sticky(status) => Some(
            ". The error is sticky: nothing works in this context any more, nor in a new one; end the process and start again",
        ),
        DESTROYED => Some(
            ". What was created in it was destroyed with it: retain or create a context, and create in it what is needed",
        ),
        _ => None,
    }
}
