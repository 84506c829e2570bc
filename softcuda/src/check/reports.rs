//! What was found: each pair of places once.

pub(crate) use super::report::Report;
use crate::instruments::checks;
use crate::instruments::complain::complain;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// So many are kept and said; of more only the number is told.
const MOST: usize = 1000;

#[derive(Default)]
struct Found {
    places: HashSet<String>,
    all: Vec<Arc<Report>>,
    counts: BTreeMap<&'static str, Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    reported: u64,
    suppressed: u64,
}

static FOUND: Mutex<Option<Found>> = Mutex::new(None);

/// Something was found at these places; it is to be told if it is new.
pub(super) fn add(places: String, report: impl FnOnce(&str) -> Report, new: &mut Vec<Arc<Report>>) {
    let mut found = FOUND.lock();
    let found = found.get_or_insert_default();
    if found.places.contains(&places) {
        return;
    }
    let report = Arc::new(report(&places));
    let is_suppressed = checks::is_suppressed(&places);
    found.places.insert(places);
    let counts = found.counts.entry(report.check).or_default();
    if is_suppressed {
        counts.suppressed += 1;
        return;
    }
    counts.reported += 1;
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
            "checks: {passed} pieces of work had not run when many later ones had, and were not looked at"
        ));
    }
    if was_full {
        complain(
            "checks: the shadow of memory was full, 512 MiB or of one kernel 400, and was emptied; something may not have been found",
        );
    }
    let counts = FOUND.lock().as_ref().map_or(BTreeMap::new(), |found| found.counts.clone());
    for (check, Counts { reported, suppressed }) in &counts {
        complain(&format!("{check}: {reported} reported, {suppressed} suppressed"));
    }
    let count: u64 = counts.values().map(|counts| counts.reported).sum();
    let status = checks::exit_status();
    if count > 0 && status != 0 {
        // SAFETY: what the program has written goes out first; other handlers of the end do not run.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(status);
        }
    }
}
