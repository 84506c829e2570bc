//! What becomes of an error that happens when the last hold on an object goes.
//!
//! A destroy answers for a release that happens inside it; a release that happens later, or on another thread, goes to
//! the log and is counted for its driver, and never surfaces from an unrelated call.

use crate::driver::{Driver, sys};
use crate::object::error::Error;
use crate::object::thread_end::{at_end, has_ended};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

thread_local! {
    /// Has no destructor, so that a destroy which releases without an error finds all that it needs at once.
    static COLLECTING: Collecting = const { Collecting { depth: Cell::new(0), errors: Cell::new(0) } };
    /// The errors of what was released in the destroys that are under way on this thread, each with the destroy's depth.
    static ERRORS: ManuallyDrop<RefCell<Vec<(u32, Error)>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// The destroys that are under way on a thread, one within the release of another.
struct Collecting {
    /// How many there are.
    depth: Cell<u32>,
    /// How many errors they collected.
    errors: Cell<u32>,
}

/// By driver, releases that failed and that no destroy could answer for.
static UNREPORTED: Mutex<Vec<(Driver, u64)>> = Mutex::new(Vec::new());

/// Takes the result of releasing an object of the driver.
#[inline]
pub(crate) fn report(driver: &Driver, result: Result<(), Error>) {
    if let Err(error) = result {
        report_error(driver, error);
    }
}

#[cold]
fn report_error(driver: &Driver, error: Error) {
    // The driver has ended, and everything with it.
    if error.status.0 == sys::CUDA_ERROR_DEINITIALIZED.0 {
        return;
    }
    if let Err(error) = put_down(error) {
        count(driver);
        log::warn!(target: "cushim", "releasing {} failed: {error}", error.object);
    }
}

/// Something is never released: counted and logged.
#[cold]
pub(crate) fn leaked(driver: &Driver, what: &str) {
    count(driver);
    log::warn!(target: "cushim", "never released: {what}");
}

/// Leaves an error to the innermost destroy that is under way; gives it back if there is none.
#[cold]
fn put_down(error: Error) -> Result<(), Error> {
    let depth = COLLECTING.with(|collecting| collecting.depth.get());
    if depth == 0 {
        return Err(error);
    }
    // Each destroy takes its errors away when it ends; what stays is room for more.
    at_end(|| ERRORS.with(|errors| drop(errors.take())));
    ERRORS.with(|errors| errors.borrow_mut().push((depth, error)));
    COLLECTING.with(|collecting| collecting.errors.set(collecting.errors.get() + 1));
    Ok(())
}

fn count(driver: &Driver) {
    let mut unreported = UNREPORTED.lock();
    match unreported.iter_mut().find(|(of, _)| of == driver) {
        Some((_, count)) => *count += 1,
        None => unreported.push((driver.clone(), 1)),
    }
}

/// Runs `release` and answers with the first error of what it released.
#[inline]
pub(crate) fn collect(release: impl FnOnce()) -> Result<(), Error> {
    COLLECTING.with(|collecting| {
        let collector = Collector::begin(collecting);
        release();
        collector.end()
    })
}

/// The first error; the others go to the log.
#[cold]
fn first_of(errors: Vec<Error>) -> Result<(), Error> {
    let mut errors = errors.into_iter();
    let first = errors.next();
    for error in errors {
        log::warn!(target: "cushim", "releasing {} failed as well: {error}", error.object);
    }
    first.map_or(Ok(()), Err)
}

/// Errors are collected on this thread while it lives, also if what is released panics.
struct Collector<'a>(&'a Collecting);

impl<'a> Collector<'a> {
    #[inline]
    fn begin(collecting: &'a Collecting) -> Self {
        collecting.depth.set(collecting.depth.get() + 1);
        Self(collecting)
    }

    /// The outer destroy goes on.
    #[inline]
    fn end(self) -> Result<(), Error> {
        let collecting = self.0;
        std::mem::forget(self);
        if collecting.leave() { first_of(Self::take()) } else { Ok(()) }
    }

    /// Takes what the destroy that was just left has collected.
    #[cold]
    fn take() -> Vec<Error> {
        let left = COLLECTING.with(|collecting| collecting.depth.get());
        ERRORS.with(|errors| {
            let mut errors = errors.borrow_mut();
            let taken: Vec<_> =
                errors.extract_if(.., |(depth, _)| *depth > left).map(|(_, error)| error).collect();
            COLLECTING.with(|collecting| collecting.errors.set(errors.len() as u32));
            if has_ended() {
                drop(std::mem::take(&mut *errors));
            }
            taken
        })
    }
}

impl Collecting {
    /// Ends the innermost destroy; answers whether there are errors, which may be an outer one's.
    #[inline]
    fn leave(&self) -> bool {
        self.depth.set(self.depth.get() - 1);
        self.errors.get() != 0
    }
}

/// Where what was released has panicked.
impl Drop for Collector<'_> {
    fn drop(&mut self) {
        if self.0.leave() {
            // What a panic left: nobody answers for it.
            for error in Self::take() {
                log::warn!(target: "cushim", "releasing {} failed: {error}", error.object);
            }
        }
    }
}

/// How many releases of the driver's objects failed without a destroy to answer for them.
#[must_use]
pub fn unreported_release_errors(driver: &Driver) -> u64 {
    UNREPORTED.lock().iter().find(|(of, _)| of == driver).map_or(0, |(_, count)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Choice, OpenOptions};
    use crate::object::error::Status;

    fn failure() -> Result<(), Error> {
        Err(Error::new(Status::INTERNAL, "for a test"))
    }

    #[test]
    fn a_destroy_answers_for_what_it_releases_and_no_other_call_does() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let before = unreported_release_errors(&driver);
        let answer = collect(|| {
            report(&driver, failure());
            report(&driver, Ok(()));
        });
        assert_eq!(answer, failure());
        assert_eq!(unreported_release_errors(&driver), before);
        report(&driver, failure());
        assert_eq!(unreported_release_errors(&driver), before + 1);
        assert_eq!(collect(|| ()), Ok(()));
    }

    #[test]
    fn a_panic_leaves_nothing_behind() {
        let driver = OpenOptions::new().choice(Choice::None).open().expect("none always opens");
        let answer = collect(|| {
            let inner = || {
                collect(|| {
                    report(&driver, failure());
                    panic!("for a test");
                })
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(inner)).is_err());
        });
        assert_eq!(answer, Ok(()), "the outer destroy answers for its own releases only");
        let before = unreported_release_errors(&driver);
        report(&driver, failure());
        assert_eq!(unreported_release_errors(&driver), before + 1, "nobody collects any more");
    }
}
