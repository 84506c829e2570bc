//! Memory that kernels may only read. Who looks an address up does not say what for, so that each access asks what its instruction does; that
//! is not in the way of other memory, whose regions are remembered elsewhere.

use super::core::Core;
use super::fault::FaultKind;
use super::host::Region;
use super::seen::Instructions;

/// Regions used lately, of memory that is only read.
#[derive(Default)]
pub(super) struct ReadOnly {
    regions: Vec<Region>,
    instructions: Instructions,
}

impl ReadOnly {
    /// So many regions are remembered.
    const REGIONS: usize = 4;

    /// The region that so many bytes at an address lie in, if it was used lately.
    pub(super) fn find(&self, address: u64, size: usize) -> Option<Region> {
        self.regions.iter().copied().find(|region| region.holds(address, size))
    }

    pub(super) fn add(&mut self, region: Region) {
        self.regions.insert(0, region);
        self.regions.truncate(Self::REGIONS);
    }
}

impl Core<'_> {
    /// Where the bytes at an address are, for an instruction that only reads them.
    pub(super) fn place_to_read(&mut self, region: Region, address: u64) -> Result<*mut u8, FaultKind> {
        let instruction = || self.read_only.instructions.what(self.pc.saturating_sub(1), self.program).how;
        match self.doing.unwrap_or_else(instruction).writes() {
            true => Err(FaultKind::IllegalAddress),
            false => Ok(region.place(address)),
        }
    }
}
