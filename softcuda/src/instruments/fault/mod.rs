//! Faults on demand: calls that fail because a test wants them to, before they have any effect.

mod rule;

use super::counts::{self, FAULTS};
use crate::abi::sys::CUresult;
use parking_lot::RwLock;
use rule::Rule;
use std::sync::atomic::{AtomicU64, Ordering};

static RULES: RwLock<Vec<Rule>> = RwLock::new(Vec::new());

/// Calls that a fault has taken the place of, since the rules were set.
static HITS: AtomicU64 = AtomicU64::new(0);

/// Replaces all rules, and counts from zero; the error is a sentence about the rule that cannot be read.
pub(crate) fn set(text: &str) -> Result<(), String> {
    let new = rule::parse(text)?;
    let wanted = !new.is_empty();
    *RULES.write() = new;
    HITS.store(0, Ordering::Relaxed);
    counts::watch(FAULTS, wanted);
    Ok(())
}

/// Forgets all rules. What they did stays counted.
pub(crate) fn clear() {
    counts::watch(FAULTS, false);
    RULES.write().clear();
}

pub(crate) fn hits() -> u64 {
    HITS.load(Ordering::Relaxed)
}

/// What takes the place of a call.
pub(crate) struct Strike {
    pub(crate) code: CUresult,
    /// Whether the context is lost with it.
    pub(crate) sticky: bool,
}

/// What happens to a call of export number `index` instead of being made. Every rule counts the call; the first one whose
/// turn it is decides.
pub(crate) fn strike(index: usize) -> Option<Strike> {
    let rules = RULES.read();
    let due =
        rules.iter().filter(|rule| rule.is_due(index)).fold(None, |first, rule| first.or(Some(rule)))?;
    HITS.fetch_add(1, Ordering::Relaxed);
    Some(Strike { code: due.code, sticky: due.sticky })
}
