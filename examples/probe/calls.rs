//! Every call of the driver that the probe makes: the only unsafe code of the probe.

use cushim::driver::sys::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CUcontext,
    CUdevice, CUdevice_attribute, CUdeviceptr, CUresult, CUuuid, result_name, result_text,
};
use cushim::driver::{Driver, MissingSymbol};
use std::ffi::{CStr, c_char};
use std::fmt;

/// Why a call brought nothing.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The driver answered with an error.
    Refused { function: &'static str, code: i32 },
    /// The driver has no such function.
    Missing(Box<MissingSymbol>),
}

impl Failure {
    pub(crate) fn code(&self) -> Option<i32> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Missing(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { function, code } => write!(f, "{function} answers {}", describe(*code)),
            Self::Missing(missing) => missing.fmt(f),
        }
    }
}

/// The name of a result, or a stand-in for one that is newer than this program.
pub(crate) fn name(code: i32) -> String {
    match result_name(code) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "an unknown error".to_owned(),
    }
}

fn describe(code: i32) -> String {
    match result_text(code) {
        Some(text) => format!("{} ({code}): {}", name(code), text.to_string_lossy()),
        None => format!("{} ({code})", name(code)),
    }
}

type Outcome<T> = Result<T, Failure>;

fn done(function: &'static str, CUresult(code): CUresult) -> Outcome<()> {
    if code == 0 { Ok(()) } else { Err(Failure::Refused { function, code }) }
}

/// The entry of the table, or the explanation of why there is none.
fn entry<F>(driver: &Driver, entry: Option<F>, base: &'static str, abi: u32) -> Outcome<F> {
    entry.ok_or_else(|| {
        let symbol = driver.symbol(base, abi).expect("every entry of the table is in the catalogue");
        Failure::Missing(Box::new(driver.explain(symbol)))
    })
}

/// Initialises the driver.
pub(crate) fn init(driver: &Driver) -> Outcome<()> {
    let init = entry(driver, driver.table().cuInit_2000, "cuInit", 2000)?;
    // SAFETY: takes a number, at any time.
    done("cuInit", unsafe { init(0) })
}

/// The devices that the driver shows to this process.
pub(crate) fn devices(driver: &Driver) -> Outcome<Vec<CUdevice>> {
    let table = driver.table();
    let get_count = entry(driver, table.cuDeviceGetCount_2000, "cuDeviceGetCount", 2000)?;
    let get = entry(driver, table.cuDeviceGet_2000, "cuDeviceGet", 2000)?;
    let mut count = 0;
    // SAFETY: the out-pointer is valid.
    done("cuDeviceGetCount", unsafe { get_count(&raw mut count) })?;
    let device = |ordinal| {
        let mut device = 0;
        // SAFETY: the out-pointer is valid.
        done("cuDeviceGet", unsafe { get(&raw mut device, ordinal) }).map(|()| device)
    };
    (0..count).map(device).collect()
}

pub(crate) fn device_name(driver: &Driver, device: CUdevice) -> Outcome<String> {
    let get = entry(driver, driver.table().cuDeviceGetName_2000, "cuDeviceGetName", 2000)?;
    // SAFETY: the driver writes a string with its NUL into the room, whose size it is told.
    device_text("cuDeviceGetName", |room, size| unsafe { get(room, size, device) })
}

/// The place on the PCI bus, `0000:04:00.0`.
pub(crate) fn pci_bus_id(driver: &Driver, device: CUdevice) -> Outcome<String> {
    let get = entry(driver, driver.table().cuDeviceGetPCIBusId_4010, "cuDeviceGetPCIBusId", 4010)?;
    // SAFETY: as above.
    device_text("cuDeviceGetPCIBusId", |room, size| unsafe { get(room, size, device) })
}

fn device_text(function: &'static str, get: impl FnOnce(*mut c_char, i32) -> CUresult) -> Outcome<String> {
    // One byte more than the driver is told of, so that the text ends whatever it writes.
    let mut room = [0u8; 257];
    done(function, get(room.as_mut_ptr().cast(), room.len() as i32 - 1))?;
    let text = CStr::from_bytes_until_nul(&room).expect("the last byte is never written");
    Ok(text.to_string_lossy().into_owned())
}

/// The sixteen bytes that identify a device or, from 11.4, a part of one.
pub(crate) fn uuid(driver: &Driver, device: CUdevice) -> Outcome<[u8; 16]> {
    let table = driver.table();
    let get = table.cuDeviceGetUuid_11040.or(table.cuDeviceGetUuid_9020);
    let get = entry(driver, get, "cuDeviceGetUuid", 9020)?;
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: the out-pointer is valid; both ABIs have the same parameters.
    done("cuDeviceGetUuid", unsafe { get(&raw mut uuid, device) })?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The device's memory in bytes.
pub(crate) fn total_memory(driver: &Driver, device: CUdevice) -> Outcome<u64> {
    let get = entry(driver, driver.table().cuDeviceTotalMem_3020, "cuDeviceTotalMem", 3020)?;
    let mut bytes = 0;
    // SAFETY: the out-pointer is valid.
    done("cuDeviceTotalMem", unsafe { get(&raw mut bytes, device) })?;
    Ok(bytes as u64)
}

pub(crate) fn attribute(driver: &Driver, device: CUdevice, attribute: CUdevice_attribute) -> Outcome<i32> {
    let get = entry(driver, driver.table().cuDeviceGetAttribute_2000, "cuDeviceGetAttribute", 2000)?;
    let mut value = 0;
    // SAFETY: the out-pointer is valid; an attribute that the driver does not know is refused.
    done("cuDeviceGetAttribute", unsafe { get(&raw mut value, attribute, device) })?;
    Ok(value)
}

/// Major and minor number.
pub(crate) fn compute_capability(driver: &Driver, device: CUdevice) -> Outcome<(i32, i32)> {
    let major = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Ok((major, attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?))
}

/// A context, current to the thread that created it. Not destroyed by itself, because whether that works is a question.
pub(crate) struct Context(CUcontext);

/// Creates a context through the newest ABI that the driver has, and tells its number.
pub(crate) fn create_context(driver: &Driver, device: CUdevice) -> Outcome<(Context, u32)> {
    let table = driver.table();
    let mut context = std::ptr::null_mut();
    let out = &raw mut context;
    // SAFETY: the out-pointer is valid, and null parameters stand for a plain context.
    let (result, abi) = unsafe {
        if let Some(create) = table.cuCtxCreate_12050 {
            (create(out, std::ptr::null_mut(), 0, device), 12050)
        } else if let Some(create) = table.cuCtxCreate_11040 {
            (create(out, std::ptr::null_mut(), 0, 0, device), 11040)
        } else {
            (entry(driver, table.cuCtxCreate_3020, "cuCtxCreate", 3020)?(out, 0, device), 3020)
        }
    };
    done("cuCtxCreate", result).map(|()| (Context(context), abi))
}

pub(crate) fn destroy_context(driver: &Driver, Context(context): Context) -> Outcome<()> {
    let destroy = entry(driver, driver.table().cuCtxDestroy_4000, "cuCtxDestroy", 4000)?;
    // SAFETY: the context was created here and is given up.
    done("cuCtxDestroy", unsafe { destroy(context) })
}

/// Memory of the device whose context is current.
pub(crate) struct Allocation {
    address: CUdeviceptr,
    size: usize,
}

impl Allocation {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

pub(crate) fn allocate(driver: &Driver, size: usize) -> Outcome<Allocation> {
    let allocate = entry(driver, driver.table().cuMemAlloc_3020, "cuMemAlloc", 3020)?;
    let mut address = 0;
    // SAFETY: the out-pointer is valid.
    done("cuMemAlloc", unsafe { allocate(&raw mut address, size) })?;
    Ok(Allocation { address, size })
}

pub(crate) fn free(driver: &Driver, allocation: Allocation) -> Outcome<()> {
    let free = entry(driver, driver.table().cuMemFree_3020, "cuMemFree", 3020)?;
    // SAFETY: the memory was allocated here and is given up.
    done("cuMemFree", unsafe { free(allocation.address) })
}

/// Writes `bytes` to the start of the allocation.
pub(crate) fn copy_to_device(driver: &Driver, allocation: &Allocation, bytes: &[u8]) -> Outcome<()> {
    assert!(bytes.len() <= allocation.size, "the copy is larger than the allocation");
    let copy = entry(driver, driver.table().cuMemcpyHtoD_3020, "cuMemcpyHtoD", 3020)?;
    // SAFETY: the source is as long as the copy, and so is the allocation.
    done("cuMemcpyHtoD", unsafe { copy(allocation.address, bytes.as_ptr().cast(), bytes.len()) })
}

/// Fills `bytes` from the start of the allocation.
pub(crate) fn copy_from_device(driver: &Driver, allocation: &Allocation, bytes: &mut [u8]) -> Outcome<()> {
    assert!(bytes.len() <= allocation.size, "the copy is larger than the allocation");
    let copy = entry(driver, driver.table().cuMemcpyDtoH_3020, "cuMemcpyDtoH", 3020)?;
    // SAFETY: the destination is as long as the copy, and so is the allocation.
    done("cuMemcpyDtoH", unsafe { copy(bytes.as_mut_ptr().cast(), allocation.address, bytes.len()) })
}

/// Sets every byte of the allocation to `value`.
pub(crate) fn fill(driver: &Driver, allocation: &Allocation, value: u8) -> Outcome<()> {
    let fill = entry(driver, driver.table().cuMemsetD8_3020, "cuMemsetD8", 3020)?;
    // SAFETY: the fill ends where the allocation does.
    done("cuMemsetD8", unsafe { fill(allocation.address, value, allocation.size) })
}

/// The C library's name, and its version where it tells.
pub(crate) fn c_library() -> Option<String> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: gives a string that is never freed.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(format!("glibc {}", version.to_string_lossy()))
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        cfg!(target_env = "musl").then(|| "musl".to_owned())
    }
}
