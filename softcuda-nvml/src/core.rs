//! The softcuda of this process, by its control functions, which no trace, count or fault of a test sees.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &CStr = c"libsoftcuda.so";

/// As `softcuda.h` declares it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Device {
    pub(crate) name: [c_char; 64],
    pub(crate) uuid: [u8; 16],
    pub(crate) pci_domain: u32,
    pub(crate) pci_bus: u32,
    pub(crate) pci_device: u32,
    _ordinal: i32,
    pub(crate) capability_major: u32,
    pub(crate) capability_minor: u32,
    pub(crate) multiprocessors: u32,
    pub(crate) clock_rate: u32,
    pub(crate) memory_clock_rate: u32,
    pub(crate) contexts: u32,
    pub(crate) busy: u32,
    _reserved: u32,
    pub(crate) memory: u64,
    pub(crate) used: u64,
}

/// The control functions that are used.
pub(crate) struct Core {
    version: extern "C" fn() -> c_int,
    count: extern "C" fn() -> i64,
    get: unsafe extern "C" fn(u32, *mut Device) -> c_int,
}

impl Core {
    /// The library that is in the process, or else that beside this one, or else that which the loader finds; `None` without one.
    pub(crate) fn of_process() -> Option<&'static Self> {
        static CORE: OnceLock<Option<Core>> = OnceLock::new();
        CORE.get_or_init(open).as_ref()
    }

    /// The version of CUDA that the driver supports, as a number; `None` if the environment asks for something impossible.
    pub(crate) fn version(&self) -> Option<c_int> {
        Some((self.version)()).filter(|version| *version > 0)
    }

    /// How many devices the machine has.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from((self.count)()).unwrap_or(0)
    }

    pub(crate) fn device(&self, number: u32) -> Option<Device> {
        // SAFETY: numbers only, which the call writes if it succeeds.
        unsafe {
            let mut device: Device = std::mem::zeroed();
            ((self.get)(number, &raw mut device) == 0).then_some(device)
        }
    }
}

fn open() -> Option<Core> {
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
    let library = load(NAME, flags | libc::RTLD_NOLOAD)
        .or_else(|| beside().iter().find_map(|path| load(path, flags)))
        .or_else(|| load(NAME, flags))?;
    // SAFETY: the functions are those of `softcuda.h`, and the library stays loaded.
    unsafe {
        Some(Core {
            version: transmute::<*mut c_void, extern "C" fn() -> c_int>(find(library, c"softcuda_version")?),
            count: transmute::<*mut c_void, extern "C" fn() -> i64>(find(library, c"softcuda_device_count")?),
            get: transmute::<*mut c_void, unsafe extern "C" fn(u32, *mut Device) -> c_int>(find(
                library,
                c"softcuda_device_get",
            )?),
        })
    }
}

fn load(name: &CStr, flags: c_int) -> Option<*mut c_void> {
    // SAFETY: the name is terminated, and loading softcuda has no conditions.
    let library = unsafe { libc::dlopen(name.as_ptr(), flags) };
    (!library.is_null()).then_some(library)
}

fn find(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a library that was opened, and a terminated name.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Where softcuda is, if this library is installed or built beside it; it may have been opened by a link.
fn beside() -> Vec<CString> {
    let Some(path) = own_path() else { return Vec::new() };
    let real = std::fs::canonicalize(&path).unwrap_or(path);
    let folder = real.parent().unwrap_or(Path::new("/"));
    let places =
        ["libsoftcuda.so", "../libsoftcuda.so", "deps/libsoftcuda.so"].map(|place| folder.join(place));
    places.into_iter().filter_map(|place| CString::new(place.into_os_string().as_bytes()).ok()).collect()
}

fn own_path() -> Option<PathBuf> {
    // SAFETY: `info` is written before it is read, and its name lasts as long as this library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(own_path as *const c_void, &raw mut info) != 0 && !info.dli_fname.is_null();
        found.then(|| PathBuf::from(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes())))
    }
}
