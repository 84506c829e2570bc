//! What callers know streams by.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// By the numbers of streams.
static NAMES: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());

/// A stream is called so.
pub(crate) fn set(stream: u64, name: String) {
    NAMES.lock().insert(stream, name);
}

pub(super) fn name(stream: u64) -> String {
    NAMES.lock().get(&stream).cloned().unwrap_or_else(|| format!("a stream of the driver's own ({stream})"))
}
