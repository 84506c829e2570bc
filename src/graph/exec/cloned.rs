//! Graphs that were cloned: where a graph has conditional nodes, driver 580 does not instantiate it while a clone of it exists, and crashes
//! while one exists of a graph within it (measured; in the other order the clone is refused). A clone that became part of another graph
//! counts; a copy that an added child graph makes does not.

use crate::driver::sys::CUDA_ERROR_NOT_SUPPORTED;
use crate::graph::Graph;
use crate::graph::definition::{GraphState, State};
use crate::object::error::{Error, Status};
use crate::op::node::NodeType;

impl Graph {
    /// Refuses to instantiate what the driver does not.
    pub(super) fn check_clones(&self, state: &State) -> Result<(), Error> {
        let is_cloned = |graph: &&GraphState| graph.clones.exist();
        let Some(cloned) = state.graphs.iter().flatten().find(is_cloned).filter(|_| state.has_conditionals())
        else {
            return Ok(());
        };
        let (which, why) = match cloned.parent {
            None => ("it".to_owned(), "refuses that"),
            Some(_) => (format!("{} in it", cloned.object), "crashes"),
        };
        let refusal = format!(
            "{self} has conditional nodes, and {which} was cloned: driver 580 {why} while the clone exists, or an exec made from it. \
             Destroy those first, or add the graph as a child (CUSHIM_CHILD_CLONE) instead of cloning it",
        );
        Err(Error::new(Status(CUDA_ERROR_NOT_SUPPORTED.0), refusal).about(self.object.as_ref()))
    }
}

impl State {
    fn has_conditionals(&self) -> bool {
        self.has_conditions() || self.nodes().any(|(_, node)| node.node_type() == NodeType::Conditional)
    }
}
