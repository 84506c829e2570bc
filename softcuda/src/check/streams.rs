//! What callers know streams by.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of what is no stream: a driver function does it at once.
pub(super) const HOST: u64 = u64::MAX;

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
    if stream == HOST {
        return "none".into();
    }
    let known = NAMES.lock().get(&stream).cloned();
    known.unwrap_or_else(|| format!("a stream of the driver's own ({stream})").into())
}
