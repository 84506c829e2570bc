//! What comes last in a stream of a capture.

use super::super::branches;
use super::Capture;
use crate::driver::calls::graph::capture as calls;
use crate::driver::sys::CUgraphNode;
use crate::graph::add::Added;
use crate::graph::node_name::NodeName;
use crate::graph::predecessors::Predecessors;
use crate::graph::{Node, foreign};
use crate::object::error::Error;
use crate::stream::Stream;

/// What the next operation in a stream of a capture comes after, as what comes before a node that is added by hand. Nothing is captured
/// from when it is asked for, which is when the definition is locked, until the stream goes on with that node.
pub(in crate::graph::builder) struct Tail<'a> {
    capture: &'a Capture,
    stream: &'a Stream,
}

impl Predecessors for Tail<'_> {
    fn asked(&self) -> Option<Result<Vec<CUgraphNode>, Error>> {
        let Self { capture, stream } = self;
        Some(capture.check_valid().and_then(|()| capture.native_tail(stream)))
    }

    fn each(&self, _: &mut dyn FnMut(usize, NodeName<'_>) -> Result<(), Error>) -> Result<(), Error> {
        Ok(())
    }
}

impl Tail<'_> {
    /// The next operation in the stream comes after this node.
    pub(in crate::graph::builder) fn goes_on_with(&self, added: Added<'_>) -> Result<Node, Error> {
        let Self { capture, stream } = self;
        let mut after = [added.state.node(added.id).native];
        // SAFETY: the node is one of the graph that is captured.
        unsafe { calls::set_dependencies(capture.table(), stream.raw(), &mut after) }
            .map_err(|error| capture.failed(error))?;
        Ok(added.node())
    }
}

impl Capture {
    /// What the next operation in a stream of the capture comes after, for a node that is added there.
    pub(in crate::graph::builder) fn tail_of<'a>(&'a self, stream: &'a Stream) -> Tail<'a> {
        Tail { capture: self, stream }
    }

    /// The same as nodes.
    pub(in crate::graph::builder) fn tail(&self, stream: &Stream) -> Result<Vec<Node>, Error> {
        let (tree, graph) = (self.tree(), self.object().id);
        let mut state = tree.lock();
        self.check_valid()?;
        let natives = self.native_tail(stream)?;
        let ids: Result<Vec<_>, _> =
            natives.into_iter().map(|native| foreign::known(tree, &mut state, graph, native)).collect();
        Ok(ids?.into_iter().map(|id| Node::of(tree, &mut state, id)).collect())
    }

    pub(super) fn native_tail(&self, stream: &Stream) -> Result<Vec<CUgraphNode>, Error> {
        branches::tail(self.table(), stream).map_err(|error| self.failed(error))
    }
}
