//! Graphs that are not instantiated because of what was made of them.

use crate::driver::sys::CUDA_ERROR_NOT_SUPPORTED;
use crate::graph::Graph;
use crate::graph::definition::{GraphState, State};
use crate::object::error::{Error, Status};
use crate::op::node::NodeType;

impl Graph {
    /// Refuses to instantiate what the driver does not, or crashes on.
    pub(super) fn check_derived(&self, state: &State) -> Result<(), Error> {
        let has_derived = |graph: &&GraphState| graph.derived.exist();
        let Some(original) = state.graphs.iter().flatten().find(has_derived) else { return Ok(()) };
        if !state.has_conditionals() {
            return Ok(());
        }
        let why = match original.parent {
            None => "has a clone: driver branch 580 does not instantiate it while the clone, or an exec of it, exists".to_owned(),
            Some(_) => format!(
                "contains {}, which was cloned, or was copied or instantiated before it was moved there: driver branch 580 crashes while \
                 that clone, copy or exec exists",
                original.object
            ),
        };
        let refusal = format!(
            "{self} has conditional nodes and {why}. Destroy that first, or add a copy of the graph as a child (CUSHIM_CHILD_CLONE) instead"
        );
        Err(Error::new(Status(CUDA_ERROR_NOT_SUPPORTED.0), refusal).about(self.object.as_ref()))
    }
}

impl State {
    fn has_conditionals(&self) -> bool {
        self.has_conditions() || self.nodes().any(|(id, _)| self.node_type(id) == NodeType::Conditional)
    }
}
