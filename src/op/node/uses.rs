//! The addresses that a node uses, and as what.

use super::{KeptMemory, Parameters};
use std::fmt;

/// As what a node uses an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Argument(usize),
    Destination,
    Source,
    Memset,
    Operation(usize),
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
        }
    }
}

impl Parameters {
    /// Calls a function with each address that the node uses. Every argument of eight bytes may be one: what a program gives as bytes
    /// is mostly an address, and who looks has to see whether there is memory.
    pub(crate) fn each_address(&self, mut look: impl FnMut(Use, u64)) {
        match self {
            Self::Kernel(kernel) => {
                let arguments = kernel.arguments();
                for index in 0..arguments.len() {
                    let bytes = arguments.bytes(index).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
                    if let Some(bytes) = bytes {
                        look(Use::Argument(index), u64::from_ne_bytes(bytes));
                    }
                }
            }
            Self::Copy(copy) => {
                look(Use::Destination, copy.to().address());
                look(Use::Source, copy.from().address());
            }
            Self::Memset(memset) => look(Use::Memset, memset.at().address()),
            Self::MemoryOperations(operations) => {
                for (index, place) in operations.places().iter().enumerate() {
                    if let Some(address) = place.as_ref().map(KeptMemory::address) {
                        look(Use::Operation(index), address);
                    }
                }
            }
            _ => {}
        }
    }
}
