//! What callers know streams by.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By the numbers of streams.
static NAMES: Mutex<BTreeMap<u64, Arc<str>>> = Mutex::new(BTreeMap::new());

/// A stream is called so.
pub(crate) fn set(stream: u64, name: String) {
    NAMES.lock().insert(stream, name.into());
}

/// It gets no work any more.
pub(super) fn forget(stream: u64) {
    NAMES.lock().remove(&stream);
}

pub(super) fn name(stream: u64) -> Arc<str> {
    let known = NAMES.lock().get(&stream).cloned();
    known.unwrap_or_else(|| format!("a stream of the driver's own ({stream})").into())
}
