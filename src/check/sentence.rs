//! What a report says: one sentence, with both places and what would order them.

use super::deed::{Access, Use};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// How many reports there are at most.
const MOST: usize = 1000;

/// One of the two that have no order.
#[derive(Debug, Clone)]
pub(super) struct Party {
    /// What it is: "copy of 64 bytes".
    pub(super) what: Arc<str>,
    /// Where it is: "stream \"copies\"".
    pub(super) at: Option<Arc<str>>,
    pub(super) usage: Use,
    pub(super) access: Access,
    /// What the program calls the memory.
    pub(super) memory: Option<Arc<str>>,
}

impl Party {
    fn place(&self) -> String {
        match &self.at {
            Some(at) => format!("{} in {at}", self.what),
            None => self.what.to_string(),
        }
    }
}

/// The bytes that both touch. Of what a kernel uses only the first is known.
fn bytes(range: &Range<u64>, one: &Party, other: &Party) -> String {
    let mut text = match range.end - range.start {
        _ if one.usage.is_argument() || other.usage.is_argument() => "the memory".to_owned(),
        1 => "1 byte".to_owned(),
        more => format!("{more} bytes"),
    };
    if let Some(name) = one.memory.as_ref().or(other.memory.as_ref()) {
        let _ = write!(text, " of {name}");
    }
    let _ = write!(text, " at {:#x}", range.start);
    text
}

/// Two operations in streams.
pub(super) fn of_streams(before: &Party, after: &Party, range: &Range<u64>) -> String {
    let (there, here) = (before.at.as_deref().unwrap_or_default(), after.at.as_deref().unwrap_or_default());
    format!(
        "{} {} {} ({}), which {} {} ({}), and nothing orders the two: record an event in {there} after the {} (cushim_event_record), and \
         have {here} wait for it before the {} (cushim_stream_wait_event)",
        after.place(),
        after.access.verb(),
        bytes(range, before, after),
        after.usage,
        before.place(),
        before.access.verb(),
        before.usage,
        before.what,
        after.what,
    )
}

/// Two nodes of a graph.
pub(super) fn of_nodes(graph: &str, before: &Party, after: &Party, range: &Range<u64>) -> String {
    format!(
        "{graph}: {} {} {} ({}), which {} {} ({}), and no path of edges orders the two: add an edge from {} to {} \
         (cushim_graph_add_edges), or, where a builder captures them, have the stream of the one wait for the other",
        after.what,
        after.access.verb(),
        bytes(range, before, after),
        after.usage,
        before.what,
        before.access.verb(),
        before.usage,
        before.what,
        after.what,
    )
}

/// What was reported.
#[derive(Debug, Default)]
pub(super) struct Reported(HashSet<String>);

impl Reported {
    /// Whether two places are new together: each pair is reported once, and there is an end.
    pub(super) fn is_new(&mut self, before: &Party, after: &Party) -> bool {
        let of = |party: &Party| format!("{} ({})", party.place(), party.usage);
        self.0.len() < MOST && self.0.insert(format!("{} / {}", of(before), of(after)))
    }
}

/// Logs reports, without a lock of the check's.
pub(super) fn tell(reports: Vec<String>) {
    for report in reports {
        log::warn!(target: "cushim", "{report}");
    }
}
