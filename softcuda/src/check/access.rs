//! What work does to memory, and what is said of it.

use super::bits::Bits;
use super::clock::Stamp;
use crate::instruments::live::Named;
use std::fmt;
use std::sync::Arc;

/// What is done to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
    /// Atomic operations, and stores that say how they are ordered with others': they do not conflict with each other.
    Atomic,
    /// Loads that say how they are ordered with others': they only conflict with plain writes.
    AtomicRead,
    /// It becomes memory.
    Allocate,
    /// It ends.
    Free,
    /// Somehow: it is only told so of what went wrong.
    Use,
    /// Threads are at a barrier, or have ended: that is no use of memory.
    Wait,
    End,
}

impl Kind {
    /// Whether the order of the two makes a difference.
    pub(super) fn conflicts(self, other: Self) -> bool {
        let reads = |kind| matches!(kind, Self::Read | Self::AtomicRead);
        let is_atomic = |kind| matches!(kind, Self::Atomic | Self::AtomicRead);
        !(reads(self) && reads(other) || is_atomic(self) && is_atomic(other))
    }

    /// Whether what conflicts with an earlier access of the other kind, without order, does so with a later one of this kind.
    pub(super) fn stands_for(self, earlier: Self) -> bool {
        match self {
            Self::AtomicRead => earlier == Self::AtomicRead,
            Self::Read | Self::Atomic => matches!(earlier, Self::AtomicRead) || earlier == self,
            Self::Write | Self::Allocate | Self::Free | Self::Use | Self::Wait | Self::End => true,
        }
    }

    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Read | Self::AtomicRead => "reads",
            Self::Write => "writes",
            Self::Atomic => "updates",
            Self::Allocate => "allocates",
            Self::Free => "frees",
            Self::Use => "uses",
            Self::Wait => "waits",
            Self::End => "ends",
        }
    }
}

/// A range of bytes that is used.
#[derive(Clone, Copy)]
pub(crate) struct Touch {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
}

/// Bytes of a page that a kernel uses.
pub(crate) struct Touched {
    pub(crate) page: u64,
    pub(crate) kind: Kind,
    pub(crate) bits: Bits,
    /// Whether what is there makes a difference: a plain load's, and an atomic operation's that computes with it.
    pub(crate) reads: bool,
    pub(crate) sites: Arc<dyn Sites>,
}

/// Bytes that a copy takes from memory to memory.
pub(crate) struct Moved {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) size: u64,
}

/// Work has used memory that it may not use, and ended with that.
#[derive(Clone)]
pub(crate) struct Misuse {
    /// What went wrong, in a few words that are the same for each time: "an illegal address".
    pub(crate) what: String,
    /// All there is to say of it.
    pub(crate) text: String,
    pub(crate) address: Option<u64>,
    /// Where in a kernel.
    pub(crate) site: Option<Site>,
}

/// Where in a kernel the bytes of a page are used.
pub(crate) trait Sites: Send + Sync {
    fn site(&self, byte: usize) -> Site;
}

/// A place in a kernel, and the first thread that is known to have been there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    /// Of the PTX text.
    pub(crate) line: u32,
    /// File and line of the source, if the PTX has them.
    pub(crate) source: Option<String>,
    pub(crate) instruction: String,
    pub(crate) block: [u32; 3],
    pub(crate) thread: [u32; 3],
}

/// An allocation.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) what: &'static str,
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// The driver function that made it.
    pub(crate) made: &'static str,
    /// What the program calls it.
    pub(crate) label: Option<Arc<str>>,
    /// Whether everything that is done to it is seen: it is no memory of the host's, nor of another process.
    pub(crate) is_all_seen: bool,
}

impl Memory {
    pub(super) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.size
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Named(self.start as usize, self.label.as_deref());
        write!(f, "the {} bytes of {} at {name}", self.size, self.what)
    }
}

/// What a program sees of a piece of work.
pub(crate) struct Described {
    /// A copy, a fill, a kernel.
    pub(crate) what: &'static str,
    /// The kernel's name; empty for what is none.
    pub(crate) kernel: String,
    /// The number of the stream.
    pub(crate) stream: u64,
    /// Which piece of a graph it is.
    pub(crate) node: Option<u32>,
    pub(crate) device: usize,
}

/// A piece of work that uses memory.
pub(crate) struct Op {
    /// In the order of the calls, from 1.
    pub(super) number: u64,
    /// The driver function that gave it.
    pub(super) call: &'static str,
    pub(super) described: Described,
    /// What callers know the stream by.
    pub(super) stream: Arc<str>,
    pub(super) stamp: Arc<Stamp>,
}
