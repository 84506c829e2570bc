//! What the driver has made of a graph and knows of it, wherever that is now: clones, copies in other graphs, and execs.
//!
//! Driver 580 instantiates no graph with conditional nodes of which there is a clone, and crashes if there is one of a graph in it; also if
//! there is a copy or an exec that was made of it before it was moved there (measured).

use super::instance::Instance;
use std::sync::{Arc, Weak};

#[derive(Default)]
pub(super) struct Derived {
    /// There as long as the driver's graph.
    this: Option<Arc<()>>,
    clones: Vec<Weak<()>>,
    /// Those that other graphs hold.
    copies: Vec<Weak<()>>,
    /// Those that were made before it was moved into another graph.
    execs: Vec<Weak<Instance>>,
    is_moved: bool,
}

impl Derived {
    /// The graph was cloned.
    pub(super) fn has_clone(&mut self, clone: &mut Self) {
        self.clones.retain(exists);
        self.clones.push(clone.token());
    }

    /// Another graph holds a copy.
    pub(super) fn has_copy(&mut self, copy: &mut Self) {
        self.copies.retain(exists);
        self.copies.push(copy.token());
    }

    /// The graph is part of another one from now on; there are these execs of it.
    pub(super) fn moved(self, execs: Vec<Weak<Instance>>) -> Self {
        Self { execs, is_moved: true, ..self }
    }

    fn token(&mut self) -> Weak<()> {
        Arc::downgrade(self.this.get_or_insert_default())
    }

    /// Whether something exists that keeps a graph around it from being instantiated, if that has conditional nodes.
    pub(super) fn exist(&self) -> bool {
        let is_any = |made: &[Weak<()>]| made.iter().any(exists);
        is_any(&self.clones) || self.is_moved && (is_any(&self.copies) || self.execs.iter().any(exists))
    }
}

fn exists<T>(made: &Weak<T>) -> bool {
    made.strong_count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_counts_until_it_goes() {
        let (mut original, mut clone) = (Derived::default(), Derived::default());
        original.has_clone(&mut clone);
        assert!(original.exist() && !clone.exist());
        drop(clone);
        assert!(!original.exist());
    }

    #[test]
    fn a_copy_counts_once_its_original_was_moved() {
        let (mut original, mut copy) = (Derived::default(), Derived::default());
        original.has_copy(&mut copy);
        assert!(!original.exist());
        let original = original.moved(Vec::new());
        assert!(original.exist());
        drop(copy);
        assert!(!original.exist());
    }
}
