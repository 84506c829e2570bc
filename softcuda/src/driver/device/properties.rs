//! Enumeration of devices, their names, identities and memory sizes.

use super::attributes::value;
use super::{Device, total_memory};
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, CU_DEVICE_ATTRIBUTE_MAX_PITCH,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_NOT_SUPPORTED, CUdevice, CUdevprop_v1, CUexecAffinityType, CUuuid,
};
use crate::instruments::visible;
use std::ffi::c_char;

/// Bytes of a PCI address with its terminator, `0000:00:06.0`.
const PCI_TEXT: i32 = 13;

impl Device {
    fn pci_address(self) -> String {
        format!("0000:{:02X}:{:02X}.0", self.pci_bus(), value(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID))
    }

    fn uuid(self) -> CUuuid {
        CUuuid { bytes: visible::uuid(self.number()).map(|b| b as c_char) }
    }
}

pub(crate) fn cuDeviceGetCount(count: Out<i32>) -> Answer {
    count.set(super::count() as i32)
}

pub(crate) fn cuDeviceGet(device: Out<CUdevice>, ordinal: i32) -> Answer {
    device.check()?;
    device.set(Device::of(ordinal)?.handle())
}

pub(crate) fn cuDeviceGetName(name: Out<c_char>, len: i32, dev: CUdevice) -> Answer {
    name.check()?;
    let device = Device::of(dev)?;
    name.set_text(&name_of(device.number()), len)
}

/// What a device of the machine is called, whichever ordinal it has.
pub(crate) fn name_of(number: usize) -> String {
    format!("softcuda device {number} (no GPU)")
}

pub(crate) fn cuDeviceGetUuid(uuid: Out<CUuuid>, dev: CUdevice) -> Answer {
    uuid.check()?;
    uuid.set(Device::of(dev)?.uuid())
}

pub(crate) fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, dev: CUdevice) -> Answer {
    cuDeviceGetUuid(uuid, dev)
}

/// Windows has these; the measured Linux driver refuses.
pub(crate) fn cuDeviceGetLuid(_luid: Out<c_char>, _deviceNodeMask: Out<u32>, _dev: CUdevice) -> Answer {
    Err(CUDA_ERROR_NOT_SUPPORTED)
}

pub(crate) fn cuDeviceTotalMem(bytes: Out<u32>, dev: CUdevice) -> Answer {
    bytes.check()?;
    Device::of(dev)?;
    bytes.set(u32::try_from(total_memory()).unwrap_or(u32::MAX))
}

pub(crate) fn cuDeviceTotalMem_v2(bytes: Out<usize>, dev: CUdevice) -> Answer {
    bytes.check()?;
    Device::of(dev)?;
    bytes.set(total_memory() as usize)
}

pub(crate) fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, dev: CUdevice) -> Answer {
    major.check()?;
    minor.check()?;
    Device::of(dev)?;
    major.set(value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR))?;
    minor.set(value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
}

pub(crate) fn cuDeviceGetProperties(prop: Out<CUdevprop_v1>, dev: CUdevice) -> Answer {
    prop.check()?;
    Device::of(dev)?;
    let block = [
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    ];
    let grid = [
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    ];
    prop.set(CUdevprop_v1 {
        maxThreadsPerBlock: value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        maxThreadsDim: block.map(value),
        maxGridSize: grid.map(value),
        sharedMemPerBlock: value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        totalConstantMemory: value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        SIMDWidth: value(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        memPitch: value(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        regsPerBlock: value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        clockRate: value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        textureAlign: value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    })
}

pub(crate) fn cuDeviceGetPCIBusId(pciBusId: Out<c_char>, len: i32, dev: CUdevice) -> Answer {
    pciBusId.check()?;
    let address = Device::of(dev)?.pci_address();
    pciBusId.set_text(&address, len)?;
    if len < PCI_TEXT { Err(CUDA_ERROR_INVALID_VALUE) } else { Ok(()) }
}

pub(crate) fn cuDeviceGetByPCIBusId(dev: Out<CUdevice>, pciBusId: In<c_char>) -> Answer {
    dev.check()?;
    let (bus, slot, function) = parse_pci(pciBusId.text()?).ok_or(CUDA_ERROR_INVALID_VALUE)?;
    let ours = slot == value(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) as usize && function == 0;
    let device = Device::with_number(bus).filter(|_| ours).ok_or(CUDA_ERROR_INVALID_DEVICE)?;
    dev.set(device.handle())
}

/// `[domain:]bus:device.function`, hexadecimal (measured: without the function it is none); a domain other than 0 has no devices.
fn parse_pci(text: &str) -> Option<(usize, usize, usize)> {
    let hex = |part: &str| usize::from_str_radix(part, 16).ok();
    let (place, function) = text.split_once('.')?;
    let parts: Vec<&str> = place.split(':').collect();
    let (domain, bus, slot) = match parts[..] {
        [domain, bus, slot] => (hex(domain)?, hex(bus)?, hex(slot)?),
        [bus, slot] => (0, hex(bus)?, hex(slot)?),
        _ => return None,
    };
    let bus = if domain == 0 { bus } else { usize::MAX };
    Some((bus, slot, hex(function)?))
}

/// No measured device supports execution affinity.
pub(crate) fn cuDeviceGetExecAffinitySupport(
    pi: Out<i32>,
    _type: CUexecAffinityType,
    dev: CUdevice,
) -> Answer {
    pi.check()?;
    Device::of(dev)?;
    pi.set(0)
}

#[cfg(test)]
mod tests {
    use super::parse_pci;

    #[test]
    fn pci_addresses() {
        assert_eq!(parse_pci("0000:01:06.0"), Some((1, 6, 0)));
        assert_eq!(parse_pci("1a:06.0"), Some((0x1a, 6, 0)));
        assert_eq!(parse_pci("0001:00:06.0"), Some((usize::MAX, 6, 0)));
        for bad in ["", "zz", "1", "1:2:3:4", "00:06.x", "1a:06"] {
            assert_eq!(parse_pci(bad), None, "{bad:?}");
        }
    }
}
