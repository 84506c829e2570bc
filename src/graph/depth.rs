//! How deep graphs stand in each other.
//!
//! What goes through a graph goes through the graphs in it, here and in the driver, and needs some stack for each. Beyond a limit that no
//! program comes near which means it, the stack of a thread would end.

use super::definition::{GraphState, State};
use super::ids::GraphId;
use crate::object::error::{Error, Status};

/// How many graphs stand around another one at most.
const DEEPEST: u32 = 256;

impl State {
    /// How deep graphs stand in a graph; 0 if there is none in it.
    pub(super) fn height(&self, of: GraphId) -> u32 {
        let is_within = |graph: &&GraphState| of == GraphId::ROOT || self.is_above(of, graph.object.id);
        let deepest = self.graphs().filter(is_within).map(|graph| graph.depth).max();
        deepest.unwrap_or_default() - self.graph(of).depth
    }

    /// Refuses a node of a graph with a graph in which others stand so deep.
    pub(super) fn check_depth(&self, graph: GraphId, height: u32) -> Result<(), Error> {
        let GraphState { depth, object, .. } = self.graph(graph);
        let lowest = depth + 1 + height;
        if lowest <= DEEPEST {
            return Ok(());
        }
        let refusal = format!(
            "{object} cannot hold this node: {lowest} graphs would stand around the innermost one, and {DEEPEST} can"
        );
        Err(Error::new(Status::INVALID_ARGUMENT, refusal).about(object.as_ref()))
    }
}
