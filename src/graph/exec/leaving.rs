//! What an instance kept, and lets go of together.

use crate::graph::by_address::ByAddress;
use crate::graph::contents::Contents;
use crate::op::node::{Hold, Holds};
use std::sync::Arc;

/// What is let go of together. An object is listed once, however often it is exchanged, so an instance that is rebound for ever keeps
/// no more than it used.
#[derive(Default)]
pub(super) struct Leaving {
    objects: ByAddress<Hold>,
    rest: Vec<Holds>,
    contents: Vec<Contents>,
}

impl Leaving {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.rest.is_empty() && self.contents.is_empty()
    }

    /// Has more go with it.
    pub(super) fn append(&mut self, mut other: Self) {
        self.list_once();
        other.list_once();
        self.objects.extend(other.objects);
    }

    /// What nodes did goes with it, too.
    pub(super) fn add(&mut self, contents: Contents) {
        if contents.keeps() {
            self.contents.push(contents);
        }
    }

    /// What nodes did stays.
    pub(super) fn without_contents(mut self) -> Self {
        self.contents.clear();
        self
    }

    fn list_once(&mut self) {
        let Self { objects, rest, contents } = self;
        let listed = |object: Hold| (Arc::as_ptr(&object).addr(), object);
        objects.extend(rest.drain(..).flat_map(Holds::into_objects).map(listed));
        for contents in contents.drain(..) {
            objects.extend(contents.objects().cloned().map(listed));
        }
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
