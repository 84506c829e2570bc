//! The nodes that come before another, as callers name them.

use super::node_name::NodeName;
use crate::driver::sys::CUgraphNode;
use crate::object::error::Error;
use crate::object::handle::Token;
use smallvec::SmallVec;

/// Native handles of the nodes that come before another.
pub(super) type Natives = SmallVec<[CUgraphNode; 8]>;

/// The nodes that come before another, as callers name them.
pub(crate) trait Predecessors {
    /// The handle of the only one, if it is named by a handle.
    fn only(&self) -> Option<Token> {
        None
    }

    /// The driver's handles, where nobody names them: they are asked for while the definition is locked.
    fn asked(&self) -> Option<Result<Vec<CUgraphNode>, Error>> {
        None
    }

    /// Shows one after the other, with its index.
    fn each(&self, show: &mut dyn FnMut(usize, NodeName<'_>) -> Result<(), Error>) -> Result<(), Error>;
}

impl Predecessors for [NodeName<'_>] {
    fn each(&self, show: &mut dyn FnMut(usize, NodeName<'_>) -> Result<(), Error>) -> Result<(), Error> {
        self.iter().enumerate().try_for_each(|(index, node)| show(index, *node))
    }
}
