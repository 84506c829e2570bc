//! Code of callers, from which no panic escapes.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of a caller's, from which no panic escapes.
pub(crate) fn caught(what: &str, body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        log::error!(target: "cushim", "{what} panicked: {}", text.unwrap_or("no message"));
    }
}
