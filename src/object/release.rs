//! What becomes of an error that happens when the last hold on an object goes.
//!
//! A destroy answers for a release that happens inside it; a release that happens later, or on another thread, goes to
//! the log and is counted for its driver, and never surfaces from an unrelated call.

use crate::driver::{Driver, sys};
use crate::object::error::Error;
use parking_lot::Mutex;
use std::cell::RefCell;

thread_local! {
    /// Where a destroy that is under way on this thread collects the errors of what it releases.
    static COLLECTING: RefCell<Option<Vec<Error>>> = const { RefCell::new(None) };
}

/// By driver, releases that failed and that no destroy could answer for.
static UNREPORTED: Mutex<Vec<(Driver, u64)>> = Mutex::new(Vec::new());

/// Takes the result of releasing an object of the driver.
pub(crate) fn report(driver: &Driver, result: Result<(), Error>) {
    let Err(error) = result else { return };
    // The driver has ended, and everything with it.
    if error.status.0 == sys::CUDA_ERROR_DEINITIALIZED.0 {
        return;
    }
    // A thread that is ending collects nothing any more.
    let rest = COLLECTING.try_with(|collecting| match collecting.borrow_mut().as_mut() {
        Some(errors) => {
            errors.push(error.clone());
            None
        }
        None => Some(error.clone()),
    });
    if let Some(error) = rest.unwrap_or(Some(error)) {
        count(driver);
        log::warn!(target: "cushim", "releasing {} failed: {error}", error.object);
    }
}

fn count(driver: &Driver) {
    let mut unreported = UNREPORTED.lock();
    match unreported.iter_mut().find(|(of, _)| of == driver) {
        Some((_, count)) => *count += 1,
        None => unreported.push((driver.clone(), 1)),
    }
}

/// Runs `release` and answers with the first error of what it released.
pub(crate) fn collect(release: impl FnOnce()) -> Result<(), Error> {
    let collector = Collector::begin();
    release();
    let errors = collector.end();
    if errors.is_empty() { Ok(()) } else { Err(first_of(errors)) }
}

/// The first error; the others go to the log.
#[cold]
fn first_of(errors: Vec<Error>) -> Error {
    let mut errors = errors.into_iter();
    let first = errors.next().expect("there is one");
    for error in errors {
        log::warn!(target: "cushim", "releasing {} failed as well: {error}", error.object);
    }
    first
}

/// Errors are collected on this thread while it lives, also if what is released panics.
struct Collector {
    /// What an outer destroy collects.
    outer: Option<Vec<Error>>,
}

impl Collector {
    fn begin() -> Self {
        Self { outer: exchange(Some(Vec::new())) }
    }

    /// What was collected; the outer destroy goes on.
    fn end(mut self) -> Vec<Error> {
        let outer = self.outer.take();
        std::mem::forget(self);
        exchange(outer).unwrap_or_default()
    }
}

/// A thread that is ending collects nothing any more; a process may destroy things as it exits.
fn exchange(errors: Option<Vec<Error>>) -> Option<Vec<Error>> {
    COLLECTING.try_with(|collecting| collecting.replace(errors)).ok().flatten()
}

/// Where what was released has panicked.
impl Drop for Collector {
    fn drop(&mut self) {
        // What a panic left: nobody answers for it.
        let left = exchange(self.outer.take());
        for error in left.into_iter().flatten() {
            log::warn!(target: "cushim", "releasing {} failed: {error}", error.object);
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
