//! Nodes that came after all that was captured by then, and that no stream waits for.

use crate::driver::sys::CUgraphNode;
use crate::op::capture::Clock;

/// A node that no stream waits for.
pub(super) struct Beside {
    pub(super) node: CUgraphNode,
    /// The ends that it comes after; `None` if there may be others.
    pub(super) after: Option<Clock>,
}

// SAFETY: the node is only compared and given back to the driver, under the lock of the definition.
unsafe impl Send for Beside {}
