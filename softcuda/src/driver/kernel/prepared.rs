//! What the oldest way of launching sets of a function before the launch: the block, shared memory, and arguments by their
//! offsets. It stays until it is set again, and no other way of launching looks at it.

use std::ops::Range;

/// What was set of a function.
#[derive(Clone, Default)]
pub(crate) struct Prepared {
    /// Threads of a block; zeros until it is set.
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    /// Bytes of arguments that a launch gives to the kernel.
    pub(super) size: usize,
    /// What was set of them, up to the last byte that was.
    bytes: Vec<u8>,
}

impl Prepared {
    /// The arguments of a launch. What was not set is 0.
    pub(crate) fn arguments(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(self.size, 0);
        bytes
    }

    pub(super) fn set(&mut self, range: Range<usize>, bytes: &[u8]) {
        if self.bytes.len() < range.end {
            self.bytes.resize(range.end, 0);
        }
        self.bytes[range].copy_from_slice(bytes);
    }
}
