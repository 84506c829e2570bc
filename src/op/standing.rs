//! What a device may do with virtual memory. The driver refuses what it may not do with the number that it has for everything else, and tells
//! of a pointer how many addresses were reserved at once, which is no measure of what is mapped there.

use crate::context::Context;
use crate::driver::calls::memory::virtual_memory::{access_at, is_mapped_at};
use crate::driver::sys::{CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
use crate::location::Location;

/// What a device is to do with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// How memory stands to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is no virtual memory.
    Other,
    /// The device may do it.
    Open,
    /// The device may only read it.
    ReadOnly,
    /// The device may do nothing with some of it.
    Closed,
    /// Only so many bytes are mapped.
    Mapped(u64),
}

/// Mappings begin at multiples of this on driver branch 580. Where they begin elsewhere, too, less is found out.
const STEP: u64 = 2 << 20;

/// How so many bytes from an address on stand to what the device of a context is to do with them.
#[cold]
pub(super) fn standing(at: &Context, address: u64, bytes: usize, what: Use) -> Standing {
    let place = Location::device(at.device().ordinal()).native();
    let end = address.saturating_add(bytes as u64);
    let mut next = address;
    while next < end {
        if !is_mapped_at(at.table(), next) {
            return if next == address { Standing::Other } else { Standing::Mapped(next - address) };
        }
        let Ok(flags) = access_at(at.table(), next, place) else { return Standing::Open };
        if flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE.0 as u64 {
            match what {
                _ if flags != CU_MEM_ACCESS_FLAGS_PROT_READ.0 as u64 => return Standing::Closed,
                Use::Write => return Standing::ReadOnly,
                Use::Read => {}
            }
        }
        next = (next / STEP + 1) * STEP;
    }
    Standing::Open
}

impl Standing {
    /// Why the device may not do it, as a sentence goes on after the name of the memory.
    pub(super) fn refusal(self, at: &Context) -> Option<String> {
        let device = at.device();
        let may = match self {
            Self::ReadOnly => format!("that {device} may only read: let it write, too"),
            Self::Closed => format!("that {device} has no access to: give it access"),
            Self::Other | Self::Open | Self::Mapped(_) => return None,
        };
        Some(format!(
            "is virtual memory {may}, by the options with which the memory is created or by cushim_reservation_set_access"
        ))
    }
}
