//! Addresses that a program has reserved, and what is behind them.

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
use crate::driver::space::window::Range;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A range of addresses. Places in it are told by their distance from the first.
pub(crate) struct Reserved {
    range: Range,
    /// `None` once the addresses are given back.
    mappings: RwLock<Option<Mappings>>,
}

/// By place.
type Mappings = BTreeMap<usize, Mapping>;

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
            Location::Device(device) => {
                self.devices.get(&device.ordinal()).copied().unwrap_or(CU_MEM_ACCESS_FLAGS_PROT_NONE)
            }
            Location::Host | Location::Node | Location::CurrentNode => self.host,
        }
    }
}

impl Reserved {
    pub(crate) fn new(range: Range) -> Self {
        Self { range, mappings: RwLock::new(Some(Mappings::new())) }
    }

    /// The first address, as calls know it.
    pub(crate) fn address(&self) -> usize {
        self.range.address()
    }

    /// Where the first byte is, of what calls know by the first address.
    pub(crate) fn bytes(&self) -> *mut u8 {
        self.range.bytes()
    }

    /// The mapping that a place is in, and where it begins.
    pub(crate) fn mapping(&self, offset: usize) -> Option<(usize, Mapping)> {
        let mappings = self.mappings.read();
        let (&start, mapping) = mappings.as_ref()?.range(..=offset).next_back()?;
        (offset - start < mapping.size).then(|| (start, mapping.clone()))
    }

    /// Nothing is mapped here from now on; false if something is.
    pub(crate) fn close(&self) -> bool {
        let mut mappings = self.mappings.write();
        let may = mappings.as_ref().is_some_and(Mappings::is_empty);
        if may {
            *mappings = None;
        }
        may
    }

    /// Whether memory is behind every one of these.
    pub(crate) fn covers(&self, offset: usize, size: usize) -> bool {
        self.all(offset, size, |_| true)
    }

    /// Whether a device may use all of these: read them, and write if `writes`.
    pub(crate) fn admits(&self, device: Device, offset: usize, size: usize, writes: bool) -> bool {
        self.all(offset, size, |mapping| match mapping.access_from(Location::Device(device)) {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE => true,
            CU_MEM_ACCESS_FLAGS_PROT_READ => !writes,
            _ => false,
        })
    }

    /// Whether memory of which something is true is behind every one of some addresses.
    fn all(&self, offset: usize, size: usize, condition: impl Fn(&Mapping) -> bool) -> bool {
        let Some(end) = offset.checked_add(size.max(1)) else { return false };
        let mappings = self.mappings.read();
        let Some(mappings) = &*mappings else { return false };
        let first = mappings.range(..=offset).next_back().map_or(offset, |(start, _)| *start);
        let mut known = offset;
        for (start, mapping) in mappings.range(first..end) {
            if *start > known || !condition(mapping) {
                return false;
            }
            known = known.max(start + mapping.size);
        }
        known >= end
    }

    /// Puts memory behind addresses that have none.
    pub(crate) fn map(&self, offset: usize, memory: Arc<Physical>) -> Answer {
        let size = memory.memory.size();
        let mut mappings = self.mappings.write();
        let mappings = mappings.as_mut().ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if overlaps(mappings, offset, size) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        if !self.range.put(offset, size, memory.memory.descriptor()) {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        }
        let (devices, host) = (BTreeMap::new(), CU_MEM_ACCESS_FLAGS_PROT_NONE);
        mappings.insert(offset, Mapping { memory, size, id: identity::next(), devices, host });
        Ok(())
    }

    /// Takes away what is behind some addresses, which must be whole mappings; between them may be nothing (measured).
    pub(crate) fn unmap(&self, offset: usize, size: usize) -> Answer {
        let mut state = self.mappings.write();
        let mappings = state.as_mut().ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let parts = inside(mappings, offset, size).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if !self.range.take_away(offset, size) {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        }
        let gone: Vec<_> = parts.iter().filter_map(|start| mappings.remove_entry(start)).collect();
        for (start, mapping) in &gone {
            if mapping.host != CU_MEM_ACCESS_FLAGS_PROT_NONE {
                self.range.hide(*start, mapping.size);
            }
        }
        drop(state);
        drop(gone); // outside of the lock
        Ok(())
    }

    /// Says what places may do with whole mappings, one after the other. Nothing changes where one of the places can do nothing there.
    pub(crate) fn set_access(
        &self,
        offset: usize,
        size: usize,
        access: &[(Location, CUmemAccess_flags)],
    ) -> Answer {
        let mut mappings = self.mappings.write();
        let mappings = mappings.as_mut().ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let parts = whole(mappings, offset, size).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let is_devices = |start: &usize| mappings[start].memory.properties.place.device().is_some();
        let names_host = access.iter().any(|(place, _)| place.device().is_none());
        if names_host && parts.iter().any(|(start, _)| is_devices(start)) {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        for (start, _) in parts {
            let Some(mapping) = mappings.get_mut(&start) else { continue };
            for (place, flags) in access {
                match place.device() {
                    Some(device) => {
                        mapping.devices.insert(device.ordinal(), *flags);
                    }
                    None => self.show(start, mapping, *flags)?,
                }
            }
        }
        Ok(())
    }

    /// The host may use a mapping by its addresses.
    fn show(&self, start: usize, mapping: &mut Mapping, flags: CUmemAccess_flags) -> Answer {
        let rights = match flags {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE => libc::PROT_READ | libc::PROT_WRITE,
            CU_MEM_ACCESS_FLAGS_PROT_READ => libc::PROT_READ,
            _ => libc::PROT_NONE,
        };
        if !self.range.show(start, mapping.size, mapping.memory.memory.descriptor(), rights) {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        }
        mapping.host = flags;
        Ok(())
    }
}

/// Whether one of the mappings has some of these addresses.
fn overlaps(mappings: &Mappings, offset: usize, size: usize) -> bool {
    let before = mappings.range(..offset + size).next_back();
    before.is_some_and(|(start, mapping)| start + mapping.size > offset)
}

/// The mappings that have some of these addresses; `None` where one has others, too.
fn inside(mappings: &Mappings, offset: usize, size: usize) -> Option<Vec<usize>> {
    let end = offset.checked_add(size).filter(|_| size > 0 && size.is_multiple_of(GRANULARITY))?;
    let before = mappings.range(..offset).next_back();
    let last = mappings.range(offset..end).next_back();
    let reaches = |found: Option<(&usize, &Mapping)>, place| {
        found.is_some_and(|(start, mapping)| start + mapping.size > place)
    };
    let is_whole = !reaches(before, offset) && !reaches(last, end);
    is_whole.then(|| mappings.range(offset..end).map(|(start, _)| *start).collect())
}

/// The mappings that are these addresses, each with its size; `None` where one is not whole, or there is a gap.
fn whole(mappings: &Mappings, offset: usize, size: usize) -> Option<Vec<(usize, usize)>> {
    let end = offset.checked_add(size).filter(|_| size > 0 && size.is_multiple_of(GRANULARITY))?;
    let parts: Vec<_> = mappings.range(offset..end).map(|(start, mapping)| (*start, mapping.size)).collect();
    let known = parts.iter().try_fold(offset, |known, (start, size)| (*start == known).then(|| known + size));
    (known == Some(end)).then_some(parts)
}
