//! Which clones of a graph there are, wherever they are now.

use std::sync::{Arc, Weak};

/// What is known of the clones of a graph.
#[derive(Default)]
pub(super) struct Clones {
    /// There as long as the driver's graph, wherever that is.
    this: Option<Arc<()>>,
    /// Those of its clones.
    made: Vec<Weak<()>>,
}

impl Clones {
    /// The graph was cloned, and this is its clone.
    pub(super) fn add(&mut self, clone: &mut Self) {
        self.made.retain(|made| made.strong_count() > 0);
        self.made.push(Arc::downgrade(clone.this.get_or_insert_default()));
    }

    pub(super) fn exist(&self) -> bool {
        self.made.iter().any(|made| made.strong_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_counts_until_it_goes() {
        let (mut original, mut clone) = (Clones::default(), Clones::default());
        original.add(&mut clone);
        assert!(original.exist() && !clone.exist());
        drop(clone);
        assert!(!original.exist());
    }
}
