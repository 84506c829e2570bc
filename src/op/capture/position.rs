//! How far the branches of a capture are: it tells which memory that was given back can be given out again.
//!
//! A branch is a stream that takes part. Each has a clock, which counts the changes of its end; an event that is recorded there takes
//! along how far the branch was, and how far all those were after which its work comes. So memory that was given back can be used again in a
//! branch that comes after the ends which all branches had then.

use super::{Under, captured_by, others};
use crate::object::error::Error;
use crate::stream::{CapturedBy, Stream};
use std::sync::Weak;

/// For each branch of a capture, by its number there, how far it is; 0 for a branch that has no work of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// Of a branch of which nobody can tell; nothing is known to come after that.
    pub(crate) const UNKNOWN: u64 = u64::MAX;
    /// However far the branch is.
    pub(crate) const ANY: u64 = u64::MAX - 1;

    fn at(&self, branch: usize) -> u64 {
        self.0.get(branch).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, branch: usize, to: u64) {
        if self.0.len() <= branch {
            self.0.resize(branch + 1, 0);
        }
        self.0[branch] = to;
    }

    /// As far as one of the two, for each branch.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (branch, far) in other.0.iter().enumerate() {
            self.set(branch, self.at(branch).max(*far));
        }
    }

    /// Whether each branch is at least as far as there.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let covers = |(branch, far): (usize, &u64)| *far != Self::UNKNOWN && *far <= self.at(branch);
        other.0.iter().enumerate().all(covers)
    }

    /// The branches that went on since.
    fn since(&self, before: &Self) -> Self {
        let went_on = |(branch, far): (usize, &u64)| {
            if *far == Self::UNKNOWN || *far > before.at(branch) { *far } else { 0 }
        };
        Self(self.0.iter().enumerate().map(went_on).collect())
    }
}

/// The ends of the branches of a capture at some time; `None` if there may be branches that nobody knows.
#[derive(Clone)]
pub(crate) struct Ends {
    /// The capture, or, in one of somebody else's, the stream.
    whose: Weak<dyn Send + Sync>,
    clock: Option<Clock>,
}

/// Where a stream under capture is.
pub(crate) struct Position {
    ends: Ends,
    /// What the next operation in the stream comes after.
    after: Clock,
}

impl Position {
    pub(crate) fn new(whose: Weak<dyn Send + Sync>, ends: Option<Clock>, after: Clock) -> Self {
        Self { ends: Ends { whose, clock: ends }, after }
    }

    /// The present ends of all branches.
    pub(crate) fn ends(&self) -> &Ends {
        &self.ends
    }

    /// Whether the next operation in the stream comes after all these ends.
    pub(crate) fn is_after(&self, ends: &Ends) -> bool {
        let clock = ends.clock.as_ref().filter(|_| self.ends.is_of_same(ends));
        clock.is_some_and(|clock| self.after.covers(clock))
    }

    /// The present ends of those branches that went on since then. In another capture than then, nobody can tell.
    pub(crate) fn since(&self, then: &Ends) -> Ends {
        let both = self.ends.clock.as_ref().zip(then.clock.as_ref()).filter(|_| self.ends.is_of_same(then));
        Ends { whose: Weak::clone(&self.ends.whose), clock: both.map(|(now, then)| now.since(then)) }
    }
}

impl Ends {
    fn is_of_same(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.whose.as_ptr(), other.whose.as_ptr())
    }

    /// Both of these and of those.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        match (&mut self.clock, &other.clock) {
            (Some(clock), Some(more)) if std::ptr::addr_eq(self.whose.as_ptr(), other.whose.as_ptr()) => {
                clock.merge(more);
            }
            (clock, _) => *clock = None,
        }
        self
    }

    /// Whether something can be known to come after them.
    pub(crate) fn are_known(&self) -> bool {
        self.clock.is_some()
    }
}

/// The capture in which a stream is, and where in it; `None` if it is not under capture.
pub(crate) fn position(stream: &Stream) -> Result<Option<(Under, Position)>, Error> {
    Ok(match captured_by(stream)? {
        CapturedBy::Nobody => None,
        CapturedBy::Us(sink) => Some((sink.0.under(), sink.0.position(stream)?)),
        CapturedBy::Others => Some((others::under(stream)?, others::position(stream)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn clock(far: &[u64]) -> Clock {
        Clock(far.to_vec())
    }

    #[test]
    fn a_branch_that_is_not_listed_has_no_work() {
        assert!(clock(&[]).covers(&clock(&[0, 0])));
        assert!(!clock(&[5]).covers(&clock(&[5, 1])));
        assert!(clock(&[5, 1, 7]).covers(&clock(&[5, 1])));
    }

    #[test]
    fn nothing_comes_after_what_nobody_knows() {
        assert!(!clock(&[Clock::ANY]).covers(&clock(&[Clock::UNKNOWN])));
        assert!(!clock(&[Clock::UNKNOWN]).covers(&clock(&[Clock::UNKNOWN])));
        let since = clock(&[Clock::UNKNOWN]).since(&clock(&[Clock::UNKNOWN]));
        assert!(!clock(&[Clock::ANY]).covers(&since));
    }

    #[test]
    fn what_did_not_go_on_need_not_be_passed() {
        let since = clock(&[2, 7, 1]).since(&clock(&[2, 5]));
        assert!(clock(&[0, 7, 1]).covers(&since));
        assert!(!clock(&[0, 6, 1]).covers(&since));
    }

    #[test]
    fn ends_of_two_captures_have_nothing_to_do_with_each_other() {
        let (one, other): (Arc<u8>, Arc<u8>) = (Arc::new(1), Arc::new(1));
        let weak = |of: &Arc<u8>| -> Weak<dyn Send + Sync> { Arc::downgrade(of) as Weak<_> };
        let here = Position::new(weak(&one), Some(clock(&[1])), clock(&[Clock::ANY]));
        let there = Position::new(weak(&other), Some(clock(&[1])), clock(&[Clock::ANY]));
        assert!(here.is_after(here.ends()) && !here.is_after(there.ends()));
        assert!(!here.since(there.ends()).are_known());
        assert!(!here.ends().clone().and(there.ends()).are_known());
        assert!(here.since(here.ends()).are_known());
    }
}
