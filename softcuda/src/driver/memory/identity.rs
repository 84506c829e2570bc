//! Numbers by which programs tell pieces of memory apart.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other piece of memory has, or will have.
pub(super) fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
