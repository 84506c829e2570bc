//! Captures that are under way in a context, and what they forbid for all of it.

use super::Context;
use crate::driver::calls::capture_mode;
use crate::object::error::{Error, Status};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

/// How many captures of this library's are under way in a context.
#[derive(Default)]
pub(super) struct Captures {
    all: AtomicUsize,
    /// Streams among them that wait for the legacy default stream, and it for them.
    blocking: AtomicUsize,
    /// How many threads wait for the whole context, or are about to.
    waits: AtomicUsize,
}

/// A thread that waits for the whole context.
struct Waits<'a>(&'a Captures);

impl<'a> Waits<'a> {
    fn begin(captures: &'a Captures) -> Self {
        captures.waits.fetch_add(1, SeqCst);
        Self(captures)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, SeqCst);
    }
}

impl Context {
    /// A capture of this library's is about to have one more stream of the context, which waits for the legacy default stream or not. From
    /// now on nobody waits for the whole context, which would invalidate the capture. Who has found before that nothing captures may not
    /// have told the driver yet, so this lets it pass; not for ever, since what it waits for may take long, and may need this thread.
    pub(crate) fn capture_begins(&self, is_blocking: bool, patience: Duration) {
        capture_mode::capture_began();
        self.0.captures.all.fetch_add(1, SeqCst);
        if is_blocking {
            self.0.captures.blocking.fetch_add(1, Relaxed);
        }
        let until = Instant::now() + patience;
        while self.0.captures.waits.load(SeqCst) > 0 && Instant::now() < until {
            std::thread::yield_now();
        }
    }

    /// One is over, or did not begin.
    pub(crate) fn capture_ended(&self, is_blocking: bool) {
        capture_mode::capture_ended();
        self.0.captures.all.fetch_sub(1, Relaxed);
        if is_blocking {
            self.0.captures.blocking.fetch_sub(1, Relaxed);
        }
    }

    /// Has `wait` wait for the whole context, unless something is captured in it.
    pub(super) fn wait_for_all(&self, wait: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let _waits = Waits::begin(&self.0.captures);
        self.check_no_capture()?;
        wait()
    }

    /// Refuses to wait for the whole context while something is captured in it.
    fn check_no_capture(&self) -> Result<(), Error> {
        if self.0.captures.all.load(SeqCst) == 0 {
            return Ok(());
        }
        Err(self.capture_goes_on(
            "a builder captures in it, and waiting for the whole context would invalidate that, whatever its mode: synchronise \
             streams or events",
        ))
    }

    /// Refuses work in the legacy default stream while a stream is captured that waits for that.
    #[inline]
    pub(crate) fn check_legacy(&self) -> Result<(), Error> {
        if self.0.captures.blocking.load(Relaxed) == 0 { Ok(()) } else { Err(self.legacy_is_blocked()) }
    }

    #[cold]
    fn legacy_is_blocked(&self) -> Error {
        self.capture_goes_on(
            "a blocking stream is being captured, and work in the legacy default stream would invalidate that: use another stream",
        )
    }

    #[cold]
    fn capture_goes_on(&self, why: &str) -> Error {
        Error::new(Status::INVALID_ARGUMENT, format!("{self}: {why}. The capture is still valid")).about(self)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn a_capture_begins_when_nobody_is_about_to_wait_for_the_whole_context() {
        let context = Context::on_softcuda();
        let (is_about_to, begins, has_waited) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let wait = || {
                    is_about_to.store(true, SeqCst);
                    while !begins.load(SeqCst) {
                        thread::yield_now();
                    }
                    thread::sleep(Duration::from_millis(20));
                    has_waited.store(true, SeqCst);
                    Ok(())
                };
                context.wait_for_all(wait).expect("nothing is captured");
            });
            while !is_about_to.load(SeqCst) {
                thread::yield_now();
            }
            begins.store(true, SeqCst);
            context.capture_begins(false, Duration::from_secs(60));
            assert!(has_waited.load(SeqCst));
        });
        let mut waits = false;
        let refused = context.wait_for_all(|| {
            waits = true;
            Ok(())
        });
        assert!(refused.is_err() && !waits);
        context.capture_ended(false);
        context.wait_for_all(|| Ok(())).expect("the capture is over");
    }

    #[test]
    fn a_capture_does_not_wait_for_ever() {
        let context = Context::on_softcuda();
        let waits = || {
            context.capture_begins(true, Duration::from_millis(1));
            context.capture_ended(true);
            Ok(())
        };
        context.wait_for_all(waits).expect("nothing is captured");
    }
}
