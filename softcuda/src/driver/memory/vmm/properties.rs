//! What a program asks of memory that it creates.

use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, CU_MEM_ALLOCATION_COMP_GENERIC,
    CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_FABRIC, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    CU_MEM_HANDLE_TYPE_WIN32, CU_MEM_HANDLE_TYPE_WIN32_KMT, CU_MEM_LOCATION_TYPE_HOST,
    CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED,
    CUmemAllocationGranularity_flags, CUmemAllocationHandleType, CUmemAllocationProp_v1,
    CUmemAllocationProp_v1_allocFlags, CUmemLocation, CUmemLocation_v1_u4, CUresult,
};
use crate::driver::memory::location::Location;
use crate::driver::space::shared::Label;
use crate::driver::space::window::BLOCK;
use crate::instruments::settings::version;

/// Sizes of such memory, and of addresses for it, are multiples of this (measured).
pub(crate) const GRANULARITY: usize = BLOCK;

/// The version that brought memory of a NUMA node.
const NODES_SINCE: u32 = 12020;

/// The version that brought memory of the host at large, which is that of a node (measured), and is not shared.
const HOST_SINCE: u32 = 13000;

const WINDOWS: i32 = CU_MEM_HANDLE_TYPE_WIN32.0 | CU_MEM_HANDLE_TYPE_WIN32_KMT.0;
const FILES: i32 = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;

/// What can be asked for, and had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Properties {
    /// A device, or the host's node.
    pub(crate) place: Location,
    /// Whether it can be given to another process by a file descriptor.
    pub(crate) is_shareable: bool,
}

impl Properties {
    /// What a caller means.
    pub(crate) fn of(asked: &CUmemAllocationProp_v1) -> Result<Self, CUresult> {
        if asked.type_ != CU_MEM_ALLOCATION_TYPE_PINNED {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let place = match Location::of(asked.location) {
            Ok(place @ Location::Device(_)) => place,
            Ok(place @ Location::Node) if version() >= NODES_SINCE => place,
            Ok(Location::Host) if version() >= HOST_SINCE => Location::Node,
            Ok(_) | Err(CUDA_ERROR_INVALID_VALUE) => return Err(CUDA_ERROR_INVALID_VALUE),
            Err(_) => return Err(CUDA_ERROR_INVALID_DEVICE),
        };
        let handles = asked.requestedHandleTypes.0;
        let is_shareable = handles & FILES != 0;
        let is_at_large = asked.location.type_ == CU_MEM_LOCATION_TYPE_HOST;
        if handles & WINDOWS != 0 || is_at_large && is_shareable || !asked.win32HandleMetaData.is_null() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let flags = asked.allocFlags;
        let is_known = i32::from(flags.compressionType) <= CU_MEM_ALLOCATION_COMP_GENERIC.0;
        if !is_known || flags.reserved != [0; 4] {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // No device says that it has a fabric, or that others' devices reach its memory.
        if handles & CU_MEM_HANDLE_TYPE_FABRIC.0 != 0 || flags.gpuDirectRDMACapable != 0 {
            return Err(CUDA_ERROR_NOT_SUPPORTED);
        }
        Ok(Self { place, is_shareable })
    }

    /// As a caller is told.
    pub(crate) fn tell(self) -> CUmemAllocationProp_v1 {
        CUmemAllocationProp_v1 {
            type_: CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: CUmemAllocationHandleType(if self.is_shareable { FILES } else { 0 }),
            location: CUmemLocation {
                type_: self.place.kind(),
                u4: CUmemLocation_v1_u4 { id: self.place.id() },
            },
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: CUmemAllocationProp_v1_allocFlags {
                compressionType: 0,
                gpuDirectRDMACapable: 0,
                usage: 0,
                reserved: [0; 4],
            },
        }
    }

    /// What is said of the memory to who gets a descriptor of it.
    pub(super) fn label(self) -> Label {
        [KIND, self.place.kind().0 as u64, self.place.id() as u64, 0, 0, 0]
    }

    /// What a label says; `None` for what is other memory, and for a device that there is not.
    pub(super) fn read(label: &Label) -> Option<Self> {
        let [kind, place, id, ..] = *label;
        let asked = Self { place: Location::Node, is_shareable: true };
        let asked = CUmemAllocationProp_v1 {
            location: CUmemLocation {
                type_: crate::abi::sys::CUmemLocationType(i32::try_from(place).ok()?),
                u4: CUmemLocation_v1_u4 { id: i32::try_from(id).ok()? },
            },
            ..asked.tell()
        };
        let read = (kind == KIND).then(|| Self::of(&asked).ok())??;
        // What was imported is not given on (measured).
        Some(Self { is_shareable: false, ..read })
    }
}

/// What a label begins with that is of an allocation.
const KIND: u64 = 1;

pub(crate) fn cuMemGetAllocationGranularity(
    granularity: Out<usize>,
    prop: In<CUmemAllocationProp_v1>,
    option: CUmemAllocationGranularity_flags,
) -> Answer {
    granularity.check()?;
    // Whatever is asked for (measured).
    prop.get()?;
    match option {
        CU_MEM_ALLOC_GRANULARITY_MINIMUM | CU_MEM_ALLOC_GRANULARITY_RECOMMENDED => {
            granularity.set(GRANULARITY)
        }
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}
