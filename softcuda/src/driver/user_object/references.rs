//! The references that a graph has, or what was made of it.

use super::{UserObject, later};
use std::collections::BTreeMap;
use std::sync::Arc;

/// References to objects, by their handles. What is dropped without a word is given back by a thread of the driver's.
#[derive(Default)]
pub(crate) struct References(BTreeMap<usize, Reference>);

struct Reference {
    object: Arc<UserObject>,
    count: u64,
}

impl References {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes references over, which the object counts already.
    pub(crate) fn add(&mut self, object: &Arc<UserObject>, count: u64) {
        let none = || Reference { object: Arc::clone(object), count: 0 };
        self.0.entry(object.handle).or_insert_with(none).count += count;
    }

    /// Takes all of another's over.
    pub(crate) fn append(&mut self, mut other: Self) {
        for reference in std::mem::take(&mut other.0).into_values() {
            self.add(&reference.object, reference.count);
        }
    }

    /// A launch has kept the objects.
    pub(crate) fn set_launched(&self) {
        self.0.values().for_each(|reference| reference.object.set_launched());
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().map(|reference| reference.count).sum()
    }

    /// Hands out some of the references to an object, not more than there are.
    pub(crate) fn split(&mut self, object: &UserObject, count: u64) -> Self {
        let mut apart = Self::default();
        if let Some(reference) = self.0.get_mut(&object.handle) {
            let taken = reference.count.min(count);
            reference.count -= taken;
            apart.add(&reference.object, taken);
            if reference.count == 0 {
                self.0.remove(&object.handle);
            }
        }
        apart
    }

    /// As many references again.
    pub(crate) fn again(&self) -> Self {
        let mut again = Self::default();
        for reference in self.0.values() {
            // Never refused: nothing is taken from the program.
            let _ = reference.object.hold(reference.count, false);
            again.add(&reference.object, reference.count);
        }
        again
    }

    /// Gives them back; destructors are called before this returns. No lock may be held.
    pub(crate) fn release(mut self) {
        self.give_back();
    }

    fn give_back(&mut self) {
        for reference in std::mem::take(&mut self.0).into_values() {
            reference.object.give_back(reference.count);
        }
    }
}

impl Drop for References {
    fn drop(&mut self) {
        if !self.is_empty() {
            let mut own = Self(std::mem::take(&mut self.0));
            later::run(move || own.give_back());
        }
    }
}
