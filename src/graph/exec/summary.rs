//! What an instance is, in a few words.

use super::Exec;
use crate::graph::description::{count, in_words};
use crate::graph::ids::GraphId;

impl Exec {
    /// How many nodes it runs: those that the definition had then, and has no more, too.
    #[cold]
    pub(crate) fn summary(&self) -> Option<String> {
        let state = self.0.state.try_lock()?;
        Some(in_words(count(&state.contents, GraphId::ROOT)))
    }
}
