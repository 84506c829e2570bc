//! State spaces: from an address to its bytes.
//!
//! Generic addresses below the windows are global (and constant) memory's own; each other space has a window of 4 GiB above
//! what any process of 64-bit Linux maps. An address of shared memory is an offset; with a number above bit 24 it is the
//! shared memory of the block of that rank in the cluster, plus one.

use super::core::Core;
use super::fault::FaultKind;

/// Where the windows of generic addresses begin.
pub(in crate::ptx) const SHARED_WINDOW: u64 = 1 << 56;
pub(in crate::ptx) const LOCAL_WINDOW: u64 = 2 << 56;
pub(in crate::ptx) const PARAM_WINDOW: u64 = 3 << 56;
/// Function addresses: not to be read or written.
pub(in crate::ptx) const CODE_WINDOW: u64 = 4 << 56;
/// Bytes of a function's address.
pub(in crate::ptx) const CODE_STEP: u64 = 16;
const WINDOW: u64 = 1 << 32;

/// Bits of an offset in a block's shared memory.
pub(in crate::ptx) const SHARED_BITS: u32 = 24;

/// A space that instructions name.
pub(in crate::ptx) trait Space {
    /// Whether runs of addresses can be looked up as one.
    const LINEAR: bool = true;

    /// Runs of addresses that end here at the latest can be.
    const LINEAR_BELOW: u64 = u64::MAX;

    /// The bytes at the address, of one lane.
    fn locate(core: &mut Core<'_>, lane: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind>;
}

/// Global and constant memory.
pub(in crate::ptx) struct Global;
/// Shared memory of the block or, with the rank in it, of the cluster.
pub(in crate::ptx) struct Shared;
/// Each thread's own memory.
pub(in crate::ptx) struct Local;
/// The kernel's parameters.
pub(in crate::ptx) struct Param;
/// Any of them.
pub(in crate::ptx) struct Generic;

impl Space for Global {
    #[inline(always)]
    fn locate(core: &mut Core<'_>, lane: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        core.global(lane, address, size)
    }
}

impl Space for Shared {
    #[inline(always)]
    fn locate(core: &mut Core<'_>, lane: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        let view = &core.block;
        if address + size as u64 <= u64::from(view.shared_near) {
            return Ok(view.shared.wrapping_add(address as usize));
        }
        core.shared_anew(lane, address, size)
    }
}

impl Space for Local {
    const LINEAR: bool = false;
    const LINEAR_BELOW: u64 = 0;

    #[inline(always)]
    fn locate(core: &mut Core<'_>, lane: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        if address <= core.local_stride as u64 && address + size as u64 <= core.local_stride as u64 {
            Ok(core.local.wrapping_add(lane * core.local_stride + address as usize))
        } else {
            Err(FaultKind::IllegalAddress)
        }
    }
}

impl Space for Param {
    #[inline(always)]
    fn locate(core: &mut Core<'_>, _: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        let args = core.job.args;
        if address <= args.len() as u64 && address + size as u64 <= args.len() as u64 {
            Ok(args.as_ptr().wrapping_add(address as usize).cast_mut())
        } else {
            Err(FaultKind::IllegalAddress)
        }
    }
}

impl Space for Generic {
    const LINEAR: bool = false;
    const LINEAR_BELOW: u64 = LOCAL_WINDOW;

    #[inline(always)]
    fn locate(core: &mut Core<'_>, lane: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        if address < SHARED_WINDOW {
            return core.global(lane, address, size);
        }
        let offset = address & (WINDOW - 1);
        match address - offset {
            SHARED_WINDOW => Shared::locate(core, lane, offset, size),
            LOCAL_WINDOW => Local::locate(core, lane, offset, size),
            PARAM_WINDOW => Param::locate(core, lane, offset, size),
            _ => Err(FaultKind::IllegalAddress),
        }
    }
}

/// Whether a generic address is in the window.
#[inline(always)]
pub(in crate::ptx) fn within(address: u64, window: u64) -> bool {
    address.wrapping_sub(window) < WINDOW
}

impl Core<'_> {
    /// Global memory: through the regions used lately, then through the driver.
    #[inline(always)]
    pub(in crate::ptx) fn global(
        &mut self,
        lane: usize,
        address: u64,
        size: usize,
    ) -> Result<*mut u8, FaultKind> {
        for region in &self.regions {
            if region.holds(address, size) {
                return Ok(region.place(address));
            }
        }
        self.global_anew(lane, address, size)
    }

    #[cold]
    fn global_anew(&mut self, lane: usize, address: u64, size: usize) -> Result<*mut u8, FaultKind> {
        if let Some(seen) = self.seen.take() {
            return self.global_watched(lane, address, size, seen);
        }
        if let Some(region) = self.read_only.find(address, size) {
            return self.place_to_read(region, address);
        }
        let region = self.job.host.region(address).filter(|region| region.holds(address, size));
        let region = region.ok_or(FaultKind::IllegalAddress)?;
        if region.read_only {
            self.read_only.add(region);
            return self.place_to_read(region, address);
        }
        let slot = self.next_region;
        self.regions[slot] = region;
        self.next_region = (slot + 1) % self.regions.len();
        Ok(region.place(address))
    }
}
