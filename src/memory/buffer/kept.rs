//! The buffers whose memory nodes of graphs use, as the nodes' parameters know them.

use super::Buffer;
use crate::op::node::{KeptArguments, KeptMemory};

impl KeptMemory {
    /// The buffer whose memory it is, if it is one's that is still there.
    #[must_use]
    pub fn buffer(&self) -> Option<Buffer> {
        self.object()
    }
}

impl KeptArguments {
    /// The buffer whose address an argument is, if it is one's that is still there.
    #[must_use]
    pub fn buffer(&self, index: usize) -> Option<Buffer> {
        self.object(index)
    }
}
