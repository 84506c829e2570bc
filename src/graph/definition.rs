//! Who holds a definition.

use super::tree::Tree;
use std::sync::Arc;

/// A definition as its users hold it: whoever has a [`Graph`](super::Graph) of it, or a claim on one. What was instantiated
/// from it holds the [`Tree`] alone: driver 580 updates nothing whose definition was destroyed, so that stays, but it keeps
/// nothing alive any more.
pub(super) struct Definition {
    pub(super) tree: Arc<Tree>,
}

impl Drop for Definition {
    fn drop(&mut self) {
        // Otherwise it ends with this.
        if Arc::strong_count(&self.tree) > 1 {
            self.tree.end_use();
        }
    }
}
