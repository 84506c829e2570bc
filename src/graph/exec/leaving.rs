//! What an instance kept, and lets go of together.

use crate::graph::by_address::ByAddress;
use crate::op::bundle::Bundle;
use crate::op::node::{Hold, Holds};
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
