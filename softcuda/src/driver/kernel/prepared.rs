//! What the oldest way of launching needs to know of a function: the block, shared memory, and arguments by their offsets. It is what
//! was set last, or what a launch said that says it itself (measured).

use std::ops::Range;

/// What is set of a function.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    /// Bytes of arguments that a launch gives to the kernel; with 0 it has those that there are (measured).
    pub(super) size: usize,
    /// What was set of them, up to the last byte that was.
    bytes: Vec<u8>,
}

impl Prepared {
    /// At first a block has one thread, or those that the kernel must have.
    pub(super) fn new(exact: Option<[u32; 3]>) -> Self {
        Self { block: exact.unwrap_or([1; 3]), shared: 0, size: 0, bytes: Vec::new() }
    }

    /// The arguments of a launch, of a kernel that has so many bytes of them. What was not set is 0.
    pub(crate) fn arguments(&self, all: usize) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(if self.size == 0 { all } else { self.size }, 0);
        bytes
    }

    pub(super) fn set(&mut self, range: Range<usize>, bytes: &[u8]) {
        if self.bytes.len() < range.end {
            self.bytes.resize(range.end, 0);
        }
        self.bytes[range].copy_from_slice(bytes);
    }

    /// A launch has said all of it.
    pub(crate) fn launched(&mut self, block: [u32; 3], shared: u32, arguments: &[u8]) {
        (self.block, self.shared, self.size) = (block, shared, arguments.len());
        self.bytes.clear();
        self.bytes.extend_from_slice(arguments);
    }
}
