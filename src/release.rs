//! What becomes of an error that happens when the last hold on an object goes.
//!
//! A destroy answers for a release that happens inside it; a release that happens later, or on another thread, goes to
//! the log and is counted, and never surfaces from an unrelated call.

use crate::error::Error;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    /// Where a destroy that is under way on this thread collects the errors of what it releases.
    static COLLECTING: RefCell<Option<Vec<Error>>> = const { RefCell::new(None) };
}

/// Releases that failed and that no destroy could answer for.
static UNREPORTED: AtomicU64 = AtomicU64::new(0);

/// Takes the result of releasing an object.
pub(crate) fn report(result: Result<(), Error>) {
    let Err(error) = result else { return };
    // A thread that is ending collects nothing any more.
    let rest = COLLECTING.try_with(|collecting| match collecting.borrow_mut().as_mut() {
        Some(errors) => {
            errors.push(error.clone());
            None
        }
        None => Some(error),
    });
    if let Ok(Some(error)) = rest {
        UNREPORTED.fetch_add(1, Relaxed);
        log::warn!("releasing {} failed: {error}", error.object);
    }
}

/// Runs `release` and answers with the first error of what it released.
pub(crate) fn collect(release: impl FnOnce()) -> Result<(), Error> {
    let outer = COLLECTING.with(|collecting| collecting.replace(Some(Vec::new())));
    release();
    let errors = COLLECTING.with(|collecting| collecting.replace(outer)).unwrap_or_default();
    let mut errors = errors.into_iter();
    let first = errors.next();
    for error in errors {
        log::warn!("releasing {} failed as well: {error}", error.object);
    }
    first.map_or(Ok(()), Err)
}

/// How many releases failed without a destroy to answer for them, in this process.
#[must_use]
pub fn unreported_release_errors() -> u64 {
    UNREPORTED.load(Relaxed)
}
