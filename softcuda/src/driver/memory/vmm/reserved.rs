//! Addresses that a program has reserved, and what is behind them. A mapping, and what is done with several, may reach over reservations
//! that adjoin (measured).

use super::physical::Physical;
use super::properties::GRANULARITY;
use crate::abi::Answer;
use crate::abi::sys::{
    CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY, CUmemAccess_flags,
};
use crate::driver::device::Device;
use crate::driver::memory::identity;
use crate::driver::memory::location::Location;
use crate::driver::space::window::{self, Range};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is behind addresses, of all reservations.
static SPACE: RwLock<Space> = RwLock::new(Space { reserved: BTreeMap::new(), mappings: BTreeMap::new() });

struct Space {
    /// Sizes, by first address.
    reserved: BTreeMap<usize, usize>,
    mappings: Mappings,
}

/// By first address.
type Mappings = BTreeMap<usize, Mapping>;

/// A range of addresses, which are reserved until this is dropped.
pub(crate) struct Reserved {
    range: Range,
}

/// Memory behind some of the addresses.
#[derive(Clone)]
pub(crate) struct Mapping {
    pub(crate) memory: Arc<Physical>,
    pub(crate) size: usize,
    /// Each mapping has another one (measured).
    pub(crate) id: u64,
    /// What devices may do, by ordinal; nothing those that are not there.
    devices: BTreeMap<usize, CUmemAccess_flags>,
    /// What the host may do.
    host: CUmemAccess_flags,
}

impl Mapping {
    /// What a place may do with it.
    pub(crate) fn access_from(&self, place: Location) -> CUmemAccess_flags {
        match place {
            Location::Device(device) => self.access_of_device(device.ordinal()),
            Location::Node | Location::CurrentNode => self.host,
            // Driver 580 tells of the host what its node may do, or the first device, if that may do more (measured).
            Location::Host => stronger(self.host, self.access_of_device(0)),
        }
    }

    fn access_of_device(&self, ordinal: usize) -> CUmemAccess_flags {
        self.devices.get(&ordinal).copied().unwrap_or(CU_MEM_ACCESS_FLAGS_PROT_NONE)
    }

    /// The host may use it by its addresses.
    fn show(&mut self, start: usize, flags: CUmemAccess_flags) -> Answer {
        let rights = match flags {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE => libc::PROT_READ | libc::PROT_WRITE,
            CU_MEM_ACCESS_FLAGS_PROT_READ => libc::PROT_READ,
            _ => libc::PROT_NONE,
        };
        // SAFETY: addresses of reservations, and nothing else is mapped there.
        if !unsafe { window::show(start, self.size, self.memory.memory.descriptor(), rights) } {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        }
        self.host = flags;
        Ok(())
    }
}

fn stronger(one: CUmemAccess_flags, other: CUmemAccess_flags) -> CUmemAccess_flags {
    CUmemAccess_flags(one.0 | other.0)
}

impl Reserved {
    pub(crate) fn new(range: Range) -> Self {
        SPACE.write().reserved.insert(range.address(), range.size());
        Self { range }
    }

    /// The first address, as calls know it.
    pub(crate) fn address(&self) -> usize {
        self.range.address()
    }

    /// Where the first byte is, of what calls know by the first address.
    pub(crate) fn bytes(&self) -> *mut u8 {
        self.range.bytes()
    }

    /// Nothing is mapped here from now on; false if something is.
    pub(crate) fn close(&self) -> bool {
        let mut space = SPACE.write();
        let (start, size) = (self.range.address(), self.range.size());
        let is_free = !overlaps(&space.mappings, start, size);
        is_free && space.reserved.remove(&start).is_some()
    }
}

/// The mapping that an address is in, and where it begins.
pub(crate) fn mapping(address: usize) -> Option<(usize, Mapping)> {
    let space = SPACE.read();
    let (&start, mapping) = space.mappings.range(..=address).next_back()?;
    (address - start < mapping.size).then(|| (start, mapping.clone()))
}

/// Whether memory is behind every one of these addresses.
pub(crate) fn covers(address: usize, size: usize) -> bool {
    all(address, size, |_| true)
}

/// Whether a device may use all of these: read them, and write if `writes`.
pub(crate) fn admits(device: Device, address: usize, size: usize, writes: bool) -> bool {
    all(address, size, |mapping| match mapping.access_from(Location::Device(device)) {
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE => true,
        CU_MEM_ACCESS_FLAGS_PROT_READ => !writes,
        _ => false,
    })
}

/// Whether memory of which something is true is behind every one of some addresses.
fn all(address: usize, size: usize, condition: impl Fn(&Mapping) -> bool) -> bool {
    let Some(end) = address.checked_add(size.max(1)) else { return false };
    let space = SPACE.read();
    let first = space.mappings.range(..=address).next_back().map_or(address, |(start, _)| *start);
    let mut known = address;
    for (start, mapping) in space.mappings.range(first..end) {
        if *start > known || start + mapping.size <= known || !condition(mapping) {
            return false;
        }
        known = start + mapping.size;
    }
    known >= end
}

/// Puts memory behind addresses that have none.
pub(crate) fn map(address: usize, memory: Arc<Physical>) -> Answer {
    let size = memory.memory.size();
    let mut space = SPACE.write();
    if !space.has(address, size) || overlaps(&space.mappings, address, size) {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: addresses of reservations, and nothing else is mapped there.
    if !unsafe { window::put(address, size, memory.memory.descriptor()) } {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    let (devices, host) = (BTreeMap::new(), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    space.mappings.insert(address, Mapping { memory, size, id: identity::next(), devices, host });
    Ok(())
}

/// Takes away what is behind some addresses, which must be whole mappings; between them may be nothing (measured).
pub(crate) fn unmap(address: usize, size: usize) -> Answer {
    let mut space = SPACE.write();
    let parts = inside(&space.mappings, address, size).filter(|_| space.has(address, size));
    let parts = parts.ok_or(CUDA_ERROR_INVALID_VALUE)?;
    // SAFETY: addresses of reservations; what is mapped there goes.
    if !unsafe { window::take_away(address, size) } {
        return Err(CUDA_ERROR_OUT_OF_MEMORY);
    }
    let gone: Vec<_> = parts.iter().filter_map(|start| space.mappings.remove_entry(start)).collect();
    for (start, mapping) in &gone {
        if mapping.host != CU_MEM_ACCESS_FLAGS_PROT_NONE {
            // SAFETY: as above.
            unsafe { window::hide(*start, mapping.size) };
        }
    }
    drop(space);
    drop(gone); // outside of the lock
    Ok(())
}

/// Says what places may do with whole mappings, one after the other. Nothing changes where one of the places can do nothing there.
pub(crate) fn set_access(address: usize, size: usize, access: &[(Location, CUmemAccess_flags)]) -> Answer {
    let mut space = SPACE.write();
    let parts = whole(&space.mappings, address, size).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let is_devices = |start: &usize| space.mappings[start].memory.properties.place.device().is_some();
    let shows = |(place, flags): &(Location, CUmemAccess_flags)| {
        place.device().is_none() && *flags != CU_MEM_ACCESS_FLAGS_PROT_NONE
    };
    let is_shown = access.iter().any(shows);
    if is_shown && parts.iter().any(|(start, _)| is_devices(start)) {
        return Err(CUDA_ERROR_NOT_SUPPORTED);
    }
    for (start, _) in parts {
        let Some(mapping) = space.mappings.get_mut(&start) else { continue };
        for (place, flags) in access {
            match place.device() {
                Some(device) => {
                    mapping.devices.insert(device.ordinal(), *flags);
                }
                None if mapping.memory.properties.place.device().is_some() => {}
                None => mapping.show(start, *flags)?,
            }
        }
    }
    Ok(())
}

impl Space {
    /// Whether every one of some addresses is reserved.
    fn has(&self, address: usize, size: usize) -> bool {
        let Some(end) = address.checked_add(size) else { return false };
        let first = self.reserved.range(..=address).next_back().map_or(address, |(start, _)| *start);
        let parts = self.reserved.range(first..end);
        let known = parts.fold(
            address,
            |known, (start, size)| if *start <= known { known.max(start + size) } else { known },
        );
        known >= end
    }
}

/// Whether one of the mappings has some of these addresses.
fn overlaps(mappings: &Mappings, address: usize, size: usize) -> bool {
    let before = mappings.range(..address + size).next_back();
    before.is_some_and(|(start, mapping)| start + mapping.size > address)
}

/// The mappings that have some of these addresses; `None` where one has others, too.
fn inside(mappings: &Mappings, address: usize, size: usize) -> Option<Vec<usize>> {
    let end = address.checked_add(size).filter(|_| size > 0 && size.is_multiple_of(GRANULARITY))?;
    let before = mappings.range(..address).next_back();
    let last = mappings.range(address..end).next_back();
    let reaches = |found: Option<(&usize, &Mapping)>, place| {
        found.is_some_and(|(start, mapping)| start + mapping.size > place)
    };
    let is_whole = !reaches(before, address) && !reaches(last, end);
    is_whole.then(|| mappings.range(address..end).map(|(start, _)| *start).collect())
}

/// The mappings that are these addresses, each with its size; `None` where one is not whole, or there is a gap.
fn whole(mappings: &Mappings, address: usize, size: usize) -> Option<Vec<(usize, usize)>> {
    let end = address.checked_add(size).filter(|_| size > 0 && size.is_multiple_of(GRANULARITY))?;
    let parts: Vec<_> = mappings.range(address..end).map(|(start, mapping)| (*start, mapping.size)).collect();
    let known =
        parts.iter().try_fold(address, |known, (start, size)| (*start == known).then(|| known + size));
    (known == Some(end)).then_some(parts)
}
