//! What each capture has of an arena.

use super::plan::Plan;
use crate::object::handle::Shared as _;
use crate::object::handle::Weakly;
use crate::op::capture::{Under, under};
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::Weak;

/// So many plans for captures of others are kept, although nobody says whether those are over.
const MOST_OF_OTHERS: usize = 1024;

#[derive(Default)]
pub(super) struct Plans {
    /// By the number of the capture.
    of: BTreeMap<u64, CapturePlan>,
    /// The most that one capture needed.
    pub(super) needed: u64,
}

/// A plan, as long as its capture may allocate.
struct CapturePlan {
    plan: Plan,
    /// What goes when nothing is captured into the graph any more; `None` for captures of others.
    lasts: Option<Weak<dyn Send + Sync>>,
    /// A stream of the capture.
    stream: Weakly<Stream>,
}

impl Plans {
    /// The plan of the capture in which the stream is.
    pub(super) fn of(&mut self, under: &Under, stream: &Stream) -> &mut Plan {
        if !self.of.contains_key(&under.capture) {
            self.forget_what_is_over();
        }
        let new =
            || CapturePlan { plan: Plan::default(), lasts: under.lasts.clone(), stream: stream.downgrade() };
        &mut self.of.entry(under.capture).or_insert_with(new).plan
    }

    /// The same, if the capture has allocated.
    pub(super) fn known(&mut self, under: &Under) -> Option<&mut Plan> {
        self.of.get_mut(&under.capture).map(|kept| &mut kept.plan)
    }

    /// Nothing is given out twice in a capture: what may still be one keeps its plan, however many there are.
    fn forget_what_is_over(&mut self) {
        self.of.retain(|_, kept| kept.lasts.as_ref().is_none_or(|lasts| lasts.strong_count() > 0));
        let of_others = self.of.iter().filter(|(_, kept)| kept.lasts.is_none());
        let excess = of_others.clone().count().saturating_sub(MOST_OF_OTHERS);
        if excess > 0 {
            let over =
                of_others.filter(|(capture, kept)| kept.is_left(**capture)).map(|(capture, _)| *capture);
            for capture in over.take(excess).collect::<Vec<_>>() {
                self.of.remove(&capture);
            }
        }
    }
}

impl CapturePlan {
    /// Whether the stream is not in the capture any more.
    fn is_left(&self, capture: u64) -> bool {
        let now = self.stream.upgrade().and_then(|stream| under(&stream).ok().flatten());
        now.is_none_or(|now| now.capture != capture)
    }
}
