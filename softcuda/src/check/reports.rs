//! What was found: each pair of places once.

pub(crate) use super::report::Report;
use super::shadow::Race;
use crate::instruments::checks;
use crate::instruments::complain::complain;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

/// So many are kept and said; of more only the number is told.
const MOST: usize = 1000;

#[derive(Default)]
struct Found {
    places: HashSet<String>,
    all: Vec<Arc<Report>>,
    suppressed: u64,
}

static FOUND: Mutex<Option<Found>> = Mutex::new(None);
/// A race was found; it is to be told if it is new.
pub(super) fn add(race: &Race, new: &mut Vec<Arc<Report>>) {
    let mut found = FOUND.lock();
    let found = found.get_or_insert_default();
    let report = Report::of(race);
    let places = report.places();
    if !found.places.insert(places.clone()) {
        return;
    }
    if checks::is_suppressed(&places) {
        found.suppressed += 1;
        return;
    }
    let report = Arc::new(report);
    found.all.push(Arc::clone(&report));
    if found.all.len() <= MOST {
        new.push(report);
    }
}

/// Says it.
pub(super) fn tell(report: &Report) {
    complain(&report.to_string());
    checks::log(&report.json());
}

/// How many there are.
pub(crate) fn count() -> usize {
    FOUND.lock().as_ref().map_or(0, |found| found.all.len())
}

/// One of them, from 0.
pub(crate) fn get(number: usize) -> Option<Arc<Report>> {
    FOUND.lock().as_ref().and_then(|found| found.all.get(number).cloned())
}

/// Forgets them.
pub(crate) fn reset() {
    *FOUND.lock() = None;
}

/// The process ends.
pub(super) fn end(passed: u64, was_full: bool) {
    if passed > 0 {
        complain(&format!(
            "races: {passed} pieces of work had not run when many later ones had, and were not looked at"
        ));
    }
    if was_full {
        complain(
            "races: the shadow of memory was full, 512 MiB, and was emptied; some races may not have been found",
        );
    }
    let (count, suppressed) =
        FOUND.lock().as_ref().map_or((0, 0), |found| (found.all.len(), found.suppressed));
    if count + suppressed as usize > 0 {
        complain(&format!("races: {count} reported, {suppressed} suppressed"));
    }
    let status = checks::exit_status();
    if count > 0 && status != 0 {
        // SAFETY: what the program has written goes out first; other handlers of the end do not run.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status);
        }
    }
}
