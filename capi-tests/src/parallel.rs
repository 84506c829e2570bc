//! Many compilations or runs at a time, with all their failures reported.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does the work for every item, as many at a time as there are processors.
///
/// # Panics
/// If any of it failed, with all that failed.
pub fn for_each<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> Result<(), String> + Sync) {
    let items: Vec<T> = items.into_iter().collect();
    let count = items.len();
    let failures = failures(items, work);
    assert!(failures.is_empty(), "{} of {count} failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Does the work in the same way, and says all that failed.
///
/// # Panics
/// If there is nothing to do.
pub fn failures<T: Send>(items: Vec<T>, work: impl Fn(T) -> Result<(), String> + Sync) -> Vec<String> {
    failures_of(thread::available_parallelism().map_or(2, usize::from), items, work)
}

/// The same, so many at a time: more than there are processors if most of the work is to wait.
///
/// # Panics
/// If there is nothing to do.
pub fn failures_of<T: Send>(
    jobs: usize,
    items: Vec<T>,
    work: impl Fn(T) -> Result<(), String> + Sync,
) -> Vec<String> {
    assert!(!items.is_empty(), "there is nothing to do");
    let (waiting, failures) = (Mutex::new(items.into_iter()), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(item) = next() {
                    if let Err(failure) = work(item) {
                        failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}
