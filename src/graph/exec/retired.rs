//! What an instance kept, and goes when the launches that use it are done.

use super::waits::Wait;
use crate::context::Context;
use crate::graph::by_address::ByAddress;
use crate::object::callback::{ask_until, hand_over};
use crate::object::together::Together;
use crate::op::bundle::Bundle;
use crate::op::node::{Hold, Holds};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is let go of together. An object is listed once, however often it is exchanged, so an instance that is rebound for ever keeps
/// no more than it used.
#[derive(Default)]
pub(super) struct Leaving {
    objects: ByAddress<Hold>,
    rest: Vec<Holds>,
    bundles: Vec<Bundle>,
}

impl Leaving {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.rest.is_empty() && self.bundles.is_empty()
    }

    /// Has more go with it.
    pub(super) fn append(&mut self, mut other: Self) {
        self.list_once();
        other.list_once();
        self.objects.extend(other.objects);
    }

    fn list_once(&mut self) {
        let of_bundles = std::mem::take(&mut self.bundles).into_iter().flat_map(Bundle::into_holds);
        let all = std::mem::take(&mut self.rest).into_iter().chain(of_bundles);
        let objects = all.flat_map(Holds::into_objects).map(|object| (Arc::as_ptr(&object).addr(), object));
        self.objects.extend(objects);
    }
}

impl Extend<Holds> for Leaving {
    fn extend<I: IntoIterator<Item = Holds>>(&mut self, all: I) {
        for mut holds in all.into_iter().filter(|holds| !holds.is_empty()) {
            match holds.take_only_inner() {
                Some(object) => drop(self.objects.insert(Arc::as_ptr(&object).addr(), object)),
                None => self.rest.push(holds),
            }
        }
    }
}

impl Extend<Bundle> for Leaving {
    fn extend<I: IntoIterator<Item = Bundle>>(&mut self, all: I) {
        self.bundles.extend(all.into_iter().filter(|bundle| !bundle.is_empty()));
    }
}

/// What goes together, when the same launches are done.
pub(super) struct Retired(Together<Leaving>);

impl Retired {
    /// Goes when all of this is done, which the worker asks; `contexts` are all in which something may run.
    pub(super) fn after(
        mut waits: SmallVec<[Wait; 1]>,
        contexts: Vec<Arc<Context>>,
        leaving: Leaving,
    ) -> Arc<Self> {
        let retired = Arc::new(Self(Together::of(leaving)));
        let waiting = Arc::clone(&retired);
        ask_until(move || {
            waits.retain(|wait| !wait.is_over(&contexts));
            if waits.is_empty() {
                waiting.let_go();
            }
            waits.is_empty()
        });
        retired
    }

    /// Goes as soon as the worker has time. Until then more joins it, so that the worker has one task at most.
    pub(super) fn soon(leaving: Leaving) -> Arc<Self> {
        let retired = Arc::new(Self(Together::of(leaving)));
        let waiting = Arc::clone(&retired);
        hand_over(Box::new(move || waiting.let_go()));
        retired
    }

    fn let_go(&self) {
        drop(self.0.take()); // outside of the lock: objects may end with it
    }

    /// Whether it went.
    pub(super) fn is_gone(&self) -> bool {
        self.0.is_gone()
    }

    /// Has more go with it; gives it back if all went before.
    pub(super) fn add(&self, leaving: Leaving) -> Option<Leaving> {
        self.0.add(leaving, Leaving::append)
    }
}
