//! What new virtual memory is to be, once it was checked that the device can.

use super::options::{Access, ShareableHandle, VirtualOptions};
use crate::device::Device;
use crate::driver::calls::memory::virtual_memory::AllocationProperties;
use crate::driver::{CallError, Driver, sys};
use crate::feature::Feature;
use crate::location::Location;
use crate::object::error::{Error, Status};

/// How far the addresses of a process reach.
const ADDRESSES: usize = 1 << 47;

/// What new memory is to be.
pub(in crate::memory) struct Plan {
    pub(super) device: Device,
    pub(super) location: Location,
    pub(super) properties: AllocationProperties,
    pub(super) granularity: usize,
    pub(super) alignment: usize,
    pub(super) hint: u64,
    /// Who may do what. Nobody stands here twice, nor with nothing.
    pub(super) access: Vec<(Location, sys::CUmemAccess_flags)>,
}

impl Plan {
    /// Checks the options, and asks the driver for the granularity.
    pub(in crate::memory) fn new(device: &Device, options: &VirtualOptions) -> Result<Self, Error> {
        check_device(device)?;
        let location = options.location.unwrap_or(Location::device(device.ordinal()));
        check_location(device, location)?;
        check_shareable(device, location, options.shareable)?;
        check_rdma(device, location, options.gpu_direct_rdma)?;
        let access = access(device, location, options)?;
        let properties = AllocationProperties {
            location: location.native(),
            handle_types: match options.shareable {
                ShareableHandle::None => 0,
                ShareableHandle::PosixFd => sys::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0,
                ShareableHandle::Fabric => sys::CU_MEM_HANDLE_TYPE_FABRIC.0,
            },
            gpu_direct_rdma: options.gpu_direct_rdma,
        };
        let granularity = properties
            .granularity(device.driver().object_table(), !options.least_granularity)
            .map_err(|error| device.failed(error))?;
        let plan = Self {
            device: device.clone(),
            location,
            properties,
            granularity: granularity.max(1),
            alignment: options.alignment,
            hint: options.address_hint,
            access,
        };
        plan.check_addresses()?;
        Ok(plan)
    }

    pub(in crate::memory) fn device(&self) -> &Device {
        &self.device
    }

    /// Whether it is the host's memory.
    pub(in crate::memory) fn is_on_host(&self) -> bool {
        !self.location.is_device()
    }

    pub(super) fn driver(&self) -> &Driver {
        self.device.driver()
    }

    /// What a place may do with such memory.
    pub(super) fn access_for(&self, place: Location) -> sys::CUmemAccess_flags {
        let found = self.access.iter().find(|&&(named, _)| named == place);
        found.map_or(sys::CU_MEM_ACCESS_FLAGS_PROT_NONE, |&(_, flags)| flags)
    }

    /// The error of a call for such memory.
    pub(super) fn failed(&self, error: CallError) -> Error {
        self.device.failed(error)
    }

    /// What sizes and offsets of any such memory are multiples of, whichever granularity was asked for.
    pub(super) fn least(&self) -> Result<usize, Error> {
        let least = self.properties.granularity(self.driver().object_table(), false);
        least.map(|bytes| bytes.max(1)).map_err(|error| self.failed(error))
    }

    /// So many bytes in whole units of the granularity. Refuses 0, and more than there can be.
    pub(in crate::memory) fn rounded(&self, bytes: usize) -> Result<usize, Error> {
        let refusal = match bytes.checked_next_multiple_of(self.granularity) {
            Some(0) => format!(
                "0 bytes are no virtual memory: its sizes are multiples of {} bytes, at least one",
                self.granularity
            ),
            Some(rounded) if rounded < ADDRESSES => return Ok(rounded),
            _ => format!("{bytes} bytes are more than what a process can address; ask for less"),
        };
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    }

    fn check_addresses(&self) -> Result<(), Error> {
        let refusal = if self.alignment != 0 && !self.alignment.is_power_of_two() {
            format!("the alignment is {}; pass a power of two, or 0 for the granularity", self.alignment)
        } else if self.alignment >= ADDRESSES {
            format!(
                "the alignment is {:#x}, and there is no such address that a process can have: pass less than {ADDRESSES:#x}, or 0 for \
                 the granularity",
                self.alignment
            )
        } else if !self.hint.is_multiple_of(self.granularity as u64) {
            format!(
                "the address hint is {:#x}; pass a multiple of the granularity, {} bytes, or 0 for any address",
                self.hint, self.granularity
            )
        } else {
            return Ok(());
        };
        Err(Error::new(Status::INVALID_ARGUMENT, refusal))
    }
}

fn check_device(device: &Device) -> Result<(), Error> {
    if device.supports(Feature::VirtualMemory)? {
        return Ok(());
    }
    let refusal =
        format!("{device} has no virtual memory (the feature \"virtual-memory\"); use a memory pool");
    Err(Error::new(Status::UNSUPPORTED, refusal).about(device))
}

/// What a device says of one of its abilities; `None` if the driver is older than the attribute.
fn says(device: &Device, attribute: sys::CUdevice_attribute) -> Result<Option<bool>, Error> {
    match device.attribute(attribute) {
        Ok(value) => Ok(Some(value != 0)),
        Err(failure) if failure.status.0 == sys::CUDA_ERROR_INVALID_VALUE.0 => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn unsupported(device: &Device, refusal: String) -> Error {
    Error::new(Status::UNSUPPORTED, refusal).about(device)
}

fn check_location(device: &Device, location: Location) -> Result<(), Error> {
    location.check(device)?;
    let refuse = |refusal: String| Err(Error::new(Status::INVALID_ARGUMENT, refusal));
    let (attribute, since) = match location.kind() {
        sys::CU_MEM_LOCATION_TYPE_DEVICE if location.id() == device.ordinal() => return Ok(()),
        sys::CU_MEM_LOCATION_TYPE_DEVICE => {
            return refuse(format!(
                "the location is {location}, and the memory is asked of {device}: ask it of the device whose memory it is, with \
                 this one as a peer"
            ));
        }
        sys::CU_MEM_LOCATION_TYPE_HOST => {
            (sys::CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 13000)
        }
        sys::CU_MEM_LOCATION_TYPE_HOST_NUMA => {
            (sys::CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 12020)
        }
        _ => {
            return refuse(format!(
                "{location} is no place for virtual memory: pass a device, the host, or a NUMA node by its number"
            ));
        }
    };
    let version = device.driver().version().map_or(0, |version| version.number());
    if version < since || says(device, attribute)? == Some(false) {
        return Err(unsupported(
            device,
            format!(
                "{device} has no virtual memory at {location}: that needs CUDA {}.{} and a device that offers it",
                since / 1000,
                since % 1000 / 10
            ),
        ));
    }
    Ok(())
}

fn check_shareable(device: &Device, location: Location, shareable: ShareableHandle) -> Result<(), Error> {
    let (attribute, what) = match shareable {
        ShareableHandle::None => return Ok(()),
        ShareableHandle::PosixFd => {
            (sys::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "file descriptor")
        }
        ShareableHandle::Fabric => (sys::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, "fabric handle"),
    };
    if location == Location::HOST {
        let refusal = "memory of the host at large cannot be shared; name one of its NUMA nodes";
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
    }
    if says(device, attribute)? == Some(true) {
        return Ok(());
    }
    Err(unsupported(
        device,
        format!("{device} shares no virtual memory by {what}; ask for memory without it"),
    ))
}

fn check_rdma(device: &Device, location: Location, is_wanted: bool) -> Result<(), Error> {
    if !is_wanted {
        return Ok(());
    }
    if !location.is_device() {
        let refusal = "GPUDirect RDMA is for a device's memory; leave it out for memory of the host";
        return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
    }
    let attribute = sys::CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
    if says(device, attribute)? == Some(true) {
        return Ok(());
    }
    let refusal = format!("{device} offers no GPUDirect RDMA to virtual memory; ask for memory without it");
    Err(unsupported(device, refusal))
}

/// Who may do what: the device, the host if the memory is the host's, and the peers.
fn access(
    device: &Device,
    location: Location,
    options: &VirtualOptions,
) -> Result<Vec<(Location, sys::CUmemAccess_flags)>, Error> {
    let own = Location::device(device.ordinal());
    let mut access = Vec::new();
    let mut add = |place: Location, wanted| {
        if wanted != Access::None {
            access.push((place, flags_of(wanted)));
        }
    };
    add(own, options.access);
    if !location.is_device() {
        // The host uses what is its own as the device may, or fills it for a device that may not write.
        add(location, Access::ReadWrite);
    }
    for (item, &peer) in options.peers.iter().enumerate() {
        check_peer(device, location, options, item).map_err(|failure| failure.at_item(item))?;
        add(Location::device(peer), options.peer_access);
    }
    Ok(access)
}

pub(super) fn flags_of(access: Access) -> sys::CUmemAccess_flags {
    match access {
        Access::ReadWrite => sys::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        Access::Read => sys::CU_MEM_ACCESS_FLAGS_PROT_READ,
        Access::None => sys::CU_MEM_ACCESS_FLAGS_PROT_NONE,
    }
}

/// What the driver tells.
pub(super) fn access_of(flags: u64) -> Access {
    match flags {
        0 => Access::None,
        1 => Access::Read,
        _ => Access::ReadWrite,
    }
}

fn check_peer(
    device: &Device,
    location: Location,
    options: &VirtualOptions,
    item: usize,
) -> Result<(), Error> {
    let ordinal = options.peers[item];
    let refuse = |refusal: String| Err(Error::new(Status::INVALID_ARGUMENT, refusal));
    if options.peers[..item].contains(&ordinal) {
        return refuse(format!("device {ordinal} is named twice as a peer; name each device once"));
    }
    if ordinal == device.ordinal() {
        return refuse(format!("{device} owns the memory and is no peer; set its access in `access`"));
    }
    let peer = Device::get(device.driver(), ordinal)?;
    if location.is_device() && !peer.can_access_peer(device)? {
        return refuse(format!("{peer} cannot reach memory of {device}; leave it out"));
    }
    Ok(())
}
