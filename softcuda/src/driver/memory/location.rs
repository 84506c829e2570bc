//! Where memory is to be, as callers say it.

use crate::abi::sys::{
    CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA,
    CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, CUdevice,
    CUmemLocation, CUmemLocationType, CUresult,
};
use crate::driver::device::Device;

/// The only NUMA node of the host.
const NODE: i32 = 0;

/// `CU_DEVICE_CPU` of the calls that name a place by an ordinal, and the id of a host location that is told.
const HOST: i32 = -1;

/// A place that exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    Device(Device),
    Host,
    /// The host's NUMA node, by its number.
    Node,
    /// The host's NUMA node, as the one where the calling thread runs.
    CurrentNode,
}

impl Location {
    /// The place that a caller means; INVALID_DEVICE for a device that there is not.
    pub(crate) fn of(location: CUmemLocation) -> Result<Self, CUresult> {
        // SAFETY: every member of the union is made of plain numbers.
        let id = unsafe { location.u4.id };
        match location.type_ {
            CU_MEM_LOCATION_TYPE_DEVICE => Device::of(id).map(Self::Device),
            CU_MEM_LOCATION_TYPE_HOST => Ok(Self::Host),
            CU_MEM_LOCATION_TYPE_HOST_NUMA if id == NODE => Ok(Self::Node),
            CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(Self::CurrentNode),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// As `of`, for the calls that name a device, or the host by -1.
    pub(crate) fn with_ordinal(ordinal: CUdevice) -> Result<Self, CUresult> {
        match ordinal {
            HOST => Ok(Self::Host),
            _ => Device::of(ordinal).map(Self::Device).map_err(|_| CUDA_ERROR_INVALID_DEVICE),
        }
    }

    /// As the calls name it that know devices and the host.
    pub(crate) fn ordinal(self) -> i32 {
        match self {
            Self::Device(device) => device.handle(),
            Self::Host | Self::Node | Self::CurrentNode => HOST,
        }
    }

    /// As the calls name it that know types of places.
    pub(crate) fn kind(self) -> CUmemLocationType {
        match self {
            Self::Device(_) => CU_MEM_LOCATION_TYPE_DEVICE,
            Self::Host => CU_MEM_LOCATION_TYPE_HOST,
            Self::Node => CU_MEM_LOCATION_TYPE_HOST_NUMA,
            Self::CurrentNode => CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
        }
    }

    /// Which of its kind.
    pub(crate) fn id(self) -> i32 {
        match self {
            Self::Device(device) => device.handle(),
            Self::Host => HOST,
            Self::Node | Self::CurrentNode => NODE,
        }
    }

    pub(crate) fn device(self) -> Option<Device> {
        match self {
            Self::Device(device) => Some(device),
            Self::Host | Self::Node | Self::CurrentNode => None,
        }
    }

    /// Whether it is one of the host's NUMA nodes, by whatever name.
    pub(crate) fn is_node(self) -> bool {
        matches!(self, Self::Node | Self::CurrentNode)
    }
}

/// The device that a location means; refuses every other place.
pub(crate) fn device_at(location: CUmemLocation) -> Result<Device, CUresult> {
    let place = Location::of(location).map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
    place.device().ok_or(CUDA_ERROR_INVALID_VALUE)
}
