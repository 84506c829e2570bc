//! Which devices there are, and what they are.

use crate::code::{INVALID_ARGUMENT, NOT_FOUND};
use crate::core::Device;
use crate::device::{Handle, device, handle, number};
use crate::place::{check_version, put, put_text, text};
use crate::session::call;
use std::ffi::{CStr, c_char, c_int, c_uint};

/// Results of `nvmlDeviceGetBrand` and others.
const BRAND_UNKNOWN: c_uint = 0;
const DISABLED: c_uint = 0;
/// Compute mode: every process may use the device, with any number of threads.
const MODE_DEFAULT: c_uint = 0;

/// Cores of a multiprocessor, of the compute capability that softcuda's devices have.
const CORES: u32 = 128;

/// # Safety
/// `count` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put(count, core.count()) })
}

/// # Safety
/// `count` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount(count: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { nvmlDeviceGetCount_v2(count) }
}

/// # Safety
/// `found` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, found: *mut Handle) -> c_int {
    call(|core| {
        if index >= core.count() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe { put(found, handle(index)) }
    })
}

/// # Safety
/// `found` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, found: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { nvmlDeviceGetHandleByIndex_v2(index, found) }
}

/// Finds the device of which a predicate holds.
///
/// # Safety
/// `found` is NULL or can be written.
unsafe fn find(
    is_it: impl Fn(&Device) -> bool,
    found: *mut Handle,
    core: &crate::core::Core,
) -> Result<(), crate::code::Code> {
    let mut numbers = 0..core.count();
    let number = numbers.find(|number| core.device(*number).is_some_and(|device| is_it(&device)));
    // SAFETY: the caller's promise.
    unsafe { put(found, handle(number.ok_or(NOT_FOUND)?)) }
}

/// Finds a device by what `nvmlDeviceGetUUID` says, with or without what that begins with; capital letters are others.
///
/// # Safety
/// `uuid` is NULL or terminated, `found` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, found: *mut Handle) -> c_int {
    call(|core| {
        // SAFETY: the caller's promise.
        let uuid = unsafe { text(uuid) }?;
        let wanted = uuid.strip_prefix(UUID_PREFIX).unwrap_or(uuid);
        let is_it = |device: &Device| uuid_of(device).strip_prefix(UUID_PREFIX) == Some(wanted);
        // SAFETY: the caller's promise.
        unsafe { find(is_it, found, core) }
    })
}

/// # Safety
/// `address` is NULL or terminated, `found` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    address: *const c_char,
    found: *mut Handle,
) -> c_int {
    call(|core| {
        // SAFETY: the caller's promise.
        let wanted = parse_address(unsafe { text(address) }?).ok_or(INVALID_ARGUMENT)?;
        let is_it = |device: &Device| (device.pci_domain, device.pci_bus, device.pci_device) == wanted;
        // SAFETY: the caller's promise.
        unsafe { find(is_it, found, core) }
    })
}

/// # Safety
/// `address` is NULL or terminated, `found` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId(address: *const c_char, found: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { nvmlDeviceGetHandleByPciBusId_v2(address, found) }
}

/// `[domain:]bus:device[.0]`, hexadecimal.
fn parse_address(text: &str) -> Option<(u32, u32, u32)> {
    let hex = |part: &str| u32::from_str_radix(part, 16).ok();
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = place.split(':').collect();
    let parsed = match parts[..] {
        [domain, bus, device] => (hex(domain)?, hex(bus)?, hex(device)?),
        [bus, device] => (0, hex(bus)?, hex(device)?),
        _ => return None,
    };
    (hex(function)? == 0).then_some(parsed)
}

const UUID_PREFIX: &str = "GPU-";

/// As people write it: `GPU-`, and groups of four, two, two, two and six bytes.
fn uuid_of(device: &Device) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let bytes = &device.uuid;
    let groups = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
    format!("{UUID_PREFIX}{}", groups.map(hex).join("-"))
}

/// # Safety
/// `name` is NULL or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(of: Handle, name: *mut c_char, length: c_uint) -> c_int {
    call(|core| {
        let device = device(core, of)?;
        // SAFETY: softcuda terminates it.
        let own = unsafe { CStr::from_ptr(device.name.as_ptr()) };
        // SAFETY: the caller's promise.
        unsafe { put_text(name, length, &own.to_string_lossy()) }
    })
}

/// # Safety
/// `uuid` is NULL or has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(of: Handle, uuid: *mut c_char, length: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put_text(uuid, length, &uuid_of(&device(core, of)?)) })
}

/// Defines functions that write one number.
macro_rules! numbers {
    ($($(#[$comment:meta])* $name:ident = |$core:ident, $of:ident| $value:expr;)*) => {$(
        $(#[$comment])*
        ///
        /// # Safety
        /// `place` is NULL or can be written.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($of: Handle, place: *mut c_uint) -> c_int {
            call(|$core| {
                let value = $value;
                // SAFETY: the caller's promise.
                unsafe { put(place, value) }
            })
        }
    )*};
}

numbers! {
    /// Its place among the devices of the machine.
    nvmlDeviceGetIndex = |core, of| number(core, of)?;
    /// That of its device file, if it had one.
    nvmlDeviceGetMinorNumber = |core, of| number(core, of)?;
    /// It is nobody's product.
    nvmlDeviceGetBrand = |core, of| number(core, of).map(|_| BRAND_UNKNOWN)?;
    /// The generation that its compute capability is of.
    nvmlDeviceGetArchitecture = |core, of| architecture(&device(core, of)?);
    /// Cores of all multiprocessors.
    nvmlDeviceGetNumGpuCores = |core, of| device(core, of)?.multiprocessors * CORES;
    /// Off: the driver is there as long as the process.
    nvmlDeviceGetPersistenceMode = |core, of| number(core, of).map(|_| DISABLED)?;
    /// Any number of contexts.
    nvmlDeviceGetComputeMode = |core, of| number(core, of).map(|_| MODE_DEFAULT)?;
    /// No display.
    nvmlDeviceGetDisplayMode = |core, of| number(core, of).map(|_| DISABLED)?;
    /// No display.
    nvmlDeviceGetDisplayActive = |core, of| number(core, of).map(|_| DISABLED)?;
    /// One device, one board.
    nvmlDeviceGetMultiGpuBoard = |core, of| number(core, of).map(|_| 0)?;
    /// No virtual machine has it (NVML_GPU_VIRTUALIZATION_MODE_NONE).
    nvmlDeviceGetVirtualizationMode = |core, of| number(core, of).map(|_| 0)?;
}

/// `NVML_DEVICE_ARCH_…`.
fn architecture(device: &Device) -> c_uint {
    match (device.capability_major, device.capability_minor) {
        (7, 0..5) => 5,
        (7, _) => 6,
        (8, 9) => 8,
        (8, _) => 7,
        (9, _) => 9,
        (10.., _) => 10,
        _ => c_uint::MAX,
    }
}

/// # Safety
/// `major` and `minor` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    of: Handle,
    major: *mut c_int,
    minor: *mut c_int,
) -> c_int {
    call(|core| {
        let device = device(core, of)?;
        if major.is_null() || minor.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller's promise.
        unsafe {
            put(major, device.capability_major as c_int)?;
            put(minor, device.capability_minor as c_int)
        }
    })
}

/// Bytes of a PCI address as a text, before NVML 9 and since.
type OldAddress = [c_char; 16];
type Address = [c_char; 32];

/// Where a device is on the PCI bus. It is no product, and has no number as one.
#[repr(C)]
pub(crate) struct Pci {
    old_address: OldAddress,
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    product: c_uint,
    subsystem: c_uint,
    address: Address,
}

/// The same of the oldest function. There was more, which is not written.
#[repr(C)]
pub(crate) struct OldPci {
    address: OldAddress,
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    product: c_uint,
}

/// The same of the second function.
#[repr(C)]
pub(crate) struct PciV2 {
    old: OldPci,
    subsystem: c_uint,
}

fn old_pci(device: &Device) -> OldPci {
    OldPci {
        address: old_address(device),
        domain: device.pci_domain,
        bus: device.pci_bus,
        device: device.pci_device,
        product: 0,
    }
}

#[repr(C)]
pub(crate) struct PciExt {
    version: c_uint,
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    product: c_uint,
    subsystem: c_uint,
    base_class: c_uint,
    sub_class: c_uint,
    address: Address,
}

/// A class of PCI devices: a controller for displays, of three dimensions.
const DISPLAY_CONTROLLER: c_uint = 3;
const THREE_D: c_uint = 2;

fn letters<const N: usize>(text: &str) -> [c_char; N] {
    let mut letters = [0; N];
    for (place, byte) in letters[..N - 1].iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    letters
}

fn old_address(device: &Device) -> OldAddress {
    letters(&format!("{:04X}:{:02X}:{:02X}.0", device.pci_domain, device.pci_bus, device.pci_device))
}

fn address(device: &Device) -> Address {
    letters(&format!("{:08X}:{:02X}:{:02X}.0", device.pci_domain, device.pci_bus, device.pci_device))
}

/// # Safety
/// `pci` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(of: Handle, pci: *mut Pci) -> c_int {
    call(|core| {
        let device = device(core, of)?;
        let own = Pci {
            old_address: old_address(&device),
            domain: device.pci_domain,
            bus: device.pci_bus,
            device: device.pci_device,
            product: 0,
            subsystem: 0,
            address: address(&device),
        };
        // SAFETY: the caller's promise.
        unsafe { put(pci, own) }
    })
}

/// # Safety
/// `pci` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v2(of: Handle, pci: *mut PciV2) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put(pci, PciV2 { old: old_pci(&device(core, of)?), subsystem: 0 }) })
}

/// # Safety
/// `pci` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo(of: Handle, pci: *mut OldPci) -> c_int {
    // SAFETY: the caller's promise.
    call(|core| unsafe { put(pci, old_pci(&device(core, of)?)) })
}

/// # Safety
/// `pci` is NULL, or begins with its version and can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfoExt(of: Handle, pci: *mut PciExt) -> c_int {
    call(|core| {
        let device = device(core, of)?;
        // SAFETY: the caller's promise.
        unsafe { check_version(pci, 1) }?;
        let own = PciExt {
            version: size_of::<PciExt>() as c_uint | 1 << 24,
            domain: device.pci_domain,
            bus: device.pci_bus,
            device: device.pci_device,
            product: 0,
            subsystem: 0,
            base_class: DISPLAY_CONTROLLER,
            sub_class: THREE_D,
            address: address(&device),
        };
        // SAFETY: the caller's promise.
        unsafe { put(pci, own) }
    })
}

#[cfg(test)]
mod tests {
    use super::{OldPci, Pci, PciExt, PciV2, parse_address};

    #[test]
    fn addresses() {
        for (text, parsed) in [
            ("00000000:01:06.0", Some((0, 1, 6))),
            ("0000:0A:06.0", Some((0, 10, 6))),
            ("1f:06", Some((0, 31, 6))),
            ("0001:00:06", Some((1, 0, 6))),
            ("00:06.1", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(parse_address(text), parsed, "{text:?}");
        }
    }

    #[test]
    fn layouts() {
        assert_eq!((size_of::<OldPci>(), size_of::<PciV2>(), size_of::<Pci>()), (32, 36, 68));
        assert_eq!(size_of::<PciExt>(), 64);
    }
}
