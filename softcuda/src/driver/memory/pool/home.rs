//! What kind of memory a pool gives, and where it has it from.

use super::shared::SharedStore;
use crate::abi::sys::{
    CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE,
    CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_LOCATION_TYPE_NONE,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUresult,
};
use crate::driver::device::{self, Device};
use crate::driver::memory::location::Location;
use crate::driver::space::host_pages::HostPages;
use crate::driver::space::window::{self, Range};
use crate::instruments::live;
use crate::instruments::settings::{concurrent_managed, version};
use std::sync::Arc;

/// The versions that brought pools of a NUMA node, and those of the host and of managed memory.
const NODES_SINCE: u32 = 12020;
const OTHERS_SINCE: u32 = 13000;

/// Bytes of a page of the host.
const PAGE: usize = 4096;

/// Whose memory a pool gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    Device(Device),
    Host,
    /// The host's NUMA node.
    Node,
    /// Managed memory, with its preferred location.
    Managed(Option<Location>),
}

/// Memory of a pool.
pub(super) enum Store {
    Device(Range),
    Host(Arc<HostPages>),
    /// Of a pool that other processes can import, or that another one has made.
    Shared(SharedStore),
}

impl Home {
    /// What a caller means.
    pub(super) fn of(kind: CUmemAllocationType, location: CUmemLocation) -> Result<Self, CUresult> {
        match kind {
            CU_MEM_ALLOCATION_TYPE_PINNED => Self::pinned(location),
            CU_MEM_ALLOCATION_TYPE_MANAGED if version() >= OTHERS_SINCE => Self::managed(location),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn pinned(location: CUmemLocation) -> Result<Self, CUresult> {
        match place(location)? {
            Location::Device(device) => Ok(Self::Device(device)),
            Location::Host if version() >= OTHERS_SINCE => Ok(Self::Host),
            Location::Node if version() >= NODES_SINCE => Ok(Self::Node),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    fn managed(location: CUmemLocation) -> Result<Self, CUresult> {
        let preferred = match location.type_ {
            CU_MEM_LOCATION_TYPE_NONE => None,
            _ => Some(place(location)?),
        };
        if concurrent_managed() { Ok(Self::Managed(preferred)) } else { Err(CUDA_ERROR_NOT_SUPPORTED) }
    }

    /// Whose memory it takes, if it is a device's.
    pub(crate) fn device(self) -> Option<Device> {
        match self {
            Self::Device(device) => Some(device),
            Self::Host | Self::Node | Self::Managed(_) => None,
        }
    }

    /// Where the memory is, as callers name it.
    pub(super) fn place(self) -> (CUmemLocationType, i32) {
        match self {
            Self::Device(device) | Self::Managed(Some(Location::Device(device))) => {
                (CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal() as i32)
            }
            Self::Host | Self::Managed(Some(Location::Host)) => (CU_MEM_LOCATION_TYPE_HOST, 0),
            Self::Node | Self::Managed(Some(_)) => (CU_MEM_LOCATION_TYPE_HOST_NUMA, 0),
            Self::Managed(None) => (CU_MEM_LOCATION_TYPE_NONE, 0),
        }
    }

    /// What a report calls its memory.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Device(_) => live::DEVICE_MEMORY,
            Self::Host | Self::Node => live::PINNED_MEMORY,
            Self::Managed(_) => live::MANAGED_MEMORY,
        }
    }

    pub(super) fn is_managed(self) -> bool {
        matches!(self, Self::Managed(_))
    }

    /// Sizes are rounded up to multiples of it.
    pub(super) fn unit(self) -> usize {
        if self.device().is_some() { window::ALIGNMENT } else { PAGE }
    }

    /// Most bytes that a pool reserves which was given no limit.
    pub(crate) fn most(self) -> usize {
        if self.device().is_some() { device::total_memory() as usize } else { usize::MAX }
    }

    /// New memory.
    pub(super) fn take(self, size: usize) -> Option<Store> {
        match self.device() {
            Some(device) => Range::take(size, device.ordinal()).map(Store::Device),
            None => HostPages::map(size.checked_next_multiple_of(PAGE)?).map(Arc::new).map(Store::Host),
        }
    }
}

fn place(location: CUmemLocation) -> Result<Location, CUresult> {
    Location::of(location).map_err(|_| CUDA_ERROR_INVALID_VALUE)
}

impl Store {
    /// Bytes, in whole units.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Device(range) => range.size(),
            Self::Host(pages) => pages.size,
            Self::Shared(store) => store.size(),
        }
    }

    /// Its pages, if they are the host's.
    pub(super) fn pages(&self) -> Option<Arc<HostPages>> {
        match self {
            Self::Device(_) => None,
            Self::Host(pages) => Some(Arc::clone(pages)),
            Self::Shared(store) => store.pages(),
        }
    }

    /// The device pointer.
    pub(super) fn address(&self) -> usize {
        match self {
            Self::Device(range) => range.address(),
            Self::Host(pages) => pages.address,
            Self::Shared(store) => store.address(),
        }
    }

    /// Where the bytes are.
    pub(super) fn bytes(&self) -> *mut u8 {
        match self {
            Self::Device(range) => range.bytes(),
            Self::Host(pages) => pages.address as *mut u8,
            Self::Shared(store) => store.bytes(),
        }
    }
}
