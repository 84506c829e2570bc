//! What an operation does with memory, and with the order of streams.

use super::memory::{Found, find};
use crate::driver::Driver;
use std::fmt;

/// As what an operation uses an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Argument(usize),
    Destination,
    Source,
    Memset,
    Operation(usize),
    Allocated,
    Freed,
}

impl Use {
    /// Whether a kernel uses it.
    pub(crate) fn is_argument(self) -> bool {
        matches!(self, Self::Argument(_))
    }

    /// The number of the argument or operation.
    pub(crate) fn number(self) -> Option<usize> {
        match self {
            Self::Argument(number) | Self::Operation(number) => Some(number),
            _ => None,
        }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(number) => write!(f, "argument {number}"),
            Self::Destination => f.write_str("destination"),
            Self::Source => f.write_str("source"),
            Self::Memset => f.write_str("memory to set"),
            Self::Operation(number) => write!(f, "operation {number}"),
            Self::Allocated => f.write_str("allocation"),
            Self::Freed => f.write_str("free"),
        }
    }
}

/// What is done with memory, from the weakest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    Reads,
    /// A kernel has the address, and nobody knows what it does with it.
    MayWrite,
    Writes,
}

impl Access {
    /// Whether two have to be ordered.
    pub(super) fn conflicts(self, other: Self) -> bool {
        self.max(other) > Self::Reads
    }

    /// Whether who is not ordered with the other is reported where this one is looked at instead.
    pub(super) fn stands_for(self, other: Self) -> bool {
        self > Self::Reads || other == Self::Reads
    }

    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::MayWrite => "may write",
            Self::Writes => "writes",
        }
    }
}

/// Bytes that an operation touches.
#[derive(Debug, Clone)]
pub(crate) struct Touch {
    pub(crate) address: u64,
    /// How many; `None` for all of the allocation.
    pub(crate) bytes: Option<u64>,
    pub(crate) access: Access,
    pub(crate) usage: Use,
    /// What the program calls the memory, if it is an object's.
    pub(crate) name: Option<String>,
}

impl Touch {
    /// An argument of a kernel: how far that goes nobody knows, so it stands for the first byte.
    pub(crate) fn argument(index: usize, address: u64, kernel: Option<&str>) -> Self {
        let reads = kernel.is_some_and(|kernel| super::reads_only(kernel, index));
        let access = if reads { Access::Reads } else { Access::MayWrite };
        Self { address, bytes: Some(1), access, usage: Use::Argument(index), name: None }
    }
}

/// One thing that an operation does.
#[derive(Debug)]
pub(crate) enum Deed {
    Touches(Touch),
    /// An event stands for it from then on, by its native handle.
    Records(usize),
    /// The stream waits for an event.
    Waits(usize),
    /// The stream waits for something that is known to others alone, and only this once.
    WaitsForOthers,
    /// Whatever waits for memory or a function of the program's may see it: the host, and with it everybody.
    IsSeen,
    /// From then on the stream may wait for anything: a function of the program's, or a value in memory.
    MayWait,
}

/// What an operation does, and what it is called. Made only where the order is checked.
#[derive(Debug, Default)]
pub struct Deeds {
    pub(crate) what: String,
    all: Vec<Deed>,
}

impl Deeds {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), all: Vec::new() }
    }

    pub(crate) fn push(&mut self, deed: Deed) {
        self.all.push(deed);
    }

    pub(crate) fn touch(&mut self, touch: Touch) {
        self.push(Deed::Touches(touch));
    }

    /// What is known now of the memory: before the driver frees it, say.
    pub(crate) fn look_up(self, driver: &Driver) -> LookedUp {
        let mut looked_up = LookedUp { what: self.what, touches: Vec::new(), others: Vec::new() };
        for deed in self.all {
            match deed {
                Deed::Touches(touch) => {
                    looked_up.touches.extend(find(driver, &touch).map(|found| (touch, found)));
                }
                other => looked_up.others.push(other),
            }
        }
        looked_up
    }
}

/// What an operation does, with the allocations of what it touches.
#[derive(Debug)]
pub(crate) struct LookedUp {
    pub(super) what: String,
    pub(super) touches: Vec<(Touch, Found)>,
    pub(super) others: Vec<Deed>,
}

impl LookedUp {
    /// What is known only now: the memory that was allocated.
    pub(crate) fn add(&mut self, driver: &Driver, more: Deeds) {
        self.touches.extend(more.look_up(driver).touches);
    }
}
