//! The raw tier: opening a driver and handing its table out. Exported through `cushim_driver.h`.

use super::error::{call, cushim_status};
use super::options;
use crate::driver::{self, Driver, Table};
use crate::error::{Error, Status};
use crate::handle;
use std::ffi::{CStr, c_char, c_int, c_void};

/// An open driver: a checked token, never dereferenced. The driver behind it stays loaded until the process ends.
pub type cushim_driver = *mut cushim_driver_s;

/// Never given a body.
pub struct cushim_driver_s {
    _private: [u8; 0],
}

/// A getter of the caller's own, with the parameters of `cuGetProcAddress_v2` and a pointer of the caller's: writes the
/// address of the function `symbol` in the ABI that driver `version` has into `*address`, or NULL; `*found`, where
/// `found` is not NULL, gets a `CUdriverProcAddressQueryResult`. Returns a `CUresult`.
pub type cushim_driver_getter = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        symbol: *const c_char,
        address: *mut *mut c_void,
        version: c_int,
        flags: u64,
        found: *mut c_int,
    ) -> c_int,
>;

/// What `cushim_driver_options.flags` may contain.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_driver_flags {
    /// Read no environment variable, as in a set-uid process.
    CUSHIM_DRIVER_IGNORE_ENVIRONMENT = 1,
    /// `getter` behaves like `cuGetProcAddress` of drivers before 12.0: it does not write `*found`, and an absent
    /// function is an error, not a NULL address.
    CUSHIM_DRIVER_GETTER_V1 = 2,
}

/// Options of `cushim_driver_open`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_driver_options {
    /// Bytes of this struct, `sizeof(cushim_driver_options)`.
    pub struct_size: usize,
    /// Which driver: "auto", "software", "none", or the path of a library (write "./auto" for a file of that name).
    /// NULL: the environment variable `CUSHIM_DRIVER` decides, and without it "auto".
    pub driver: *const c_char,
    /// Where functions come from instead of a library. With it `driver` must be NULL.
    pub getter: cushim_driver_getter,
    /// The first argument of `getter`; must stay valid until the process ends.
    pub getter_user: *mut c_void,
    /// A combination of `cushim_driver_flags`.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// Which default stream the functions of a table use.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_table_kind {
    /// The legacy default stream, which waits for other streams and they for it.
    CUSHIM_TABLE_LEGACY_STREAM = 0,
    /// The calling thread's own default stream.
    CUSHIM_TABLE_PER_THREAD_STREAM = 1,
}

/// What kind of library a driver is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_driver_kind {
    /// "none" was asked for: no library, every entry of the table NULL.
    CUSHIM_DRIVER_KIND_NONE = 0,
    /// The driver that is installed on this machine.
    CUSHIM_DRIVER_KIND_NATIVE = 1,
    /// A forward compatibility package's.
    CUSHIM_DRIVER_KIND_COMPAT = 2,
    /// WSL's, which forwards to the Windows host.
    CUSHIM_DRIVER_KIND_WSL = 3,
    /// A Jetson's.
    CUSHIM_DRIVER_KIND_TEGRA = 4,
    /// libsoftcuda.
    CUSHIM_DRIVER_KIND_SOFTWARE = 5,
    /// The caller's getter.
    CUSHIM_DRIVER_KIND_CUSTOM = 6,
}

/// What is known of an open driver. Texts stay valid until the process ends.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_driver_info {
    /// In: bytes of the caller's struct. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// The CUDA version that the driver reports, 1000 * major + 10 * minor; 0 for "none".
    pub version: i32,
    /// A `cushim_driver_kind`.
    pub kind: i32,
    /// The real path of the library that was loaded; "" where there is none.
    pub path: *const c_char,
    /// How functions were looked up: "cuGetProcAddress_v2", "cuGetProcAddress", "dlsym", "custom" or "none".
    pub getter: *const c_char,
    /// Number of candidates that were tried, the loaded one included; see `cushim_driver_candidate_at`.
    pub candidate_count: usize,
    /// Number of table entries that this driver has.
    pub symbol_count: usize,
    /// 1 if the driver is older than 11.4, the oldest that cushim supports; it is opened all the same.
    pub older_than_supported: i32,
    /// Zero.
    pub reserved: i32,
}

/// One library that was tried when a driver was opened.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_candidate {
    /// In: bytes of the caller's struct. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// The name or path that was tried; valid until the process ends.
    pub path: *const c_char,
    /// Why it was not used, in the loader's own words; NULL for the one that was loaded. Valid until the process ends.
    pub error: *const c_char,
    /// Why it was tried: "options", "CUSHIM_DRIVER", "loaded already", "loader", "folder" ... Valid until the process
    /// ends.
    pub origin: *const c_char,
}

/// Whether a driver has an ABI, and if not why.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_symbol_status {
    /// The driver has it.
    CUSHIM_SYMBOL_FOUND = 0,
    /// The ABI is younger than the driver, which therefore was not asked.
    CUSHIM_SYMBOL_NEWER_THAN_DRIVER = 1,
    /// The driver's version covers the ABI, but neither the getter nor the export has it.
    CUSHIM_SYMBOL_ABSENT = 2,
    /// There is no library to ask.
    CUSHIM_SYMBOL_NO_DRIVER = 3,
}

/// One ABI of the catalogue, and what this driver has of it. Texts stay valid until the process ends.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_symbol {
    /// In: bytes of the caller's struct. Out: bytes that the library wrote.
    pub struct_size: usize,
    /// Base name: "cuMemAlloc".
    pub name: *const c_char,
    /// Name under which libcuda exports this ABI: "cuMemAlloc_v2".
    pub exported: *const c_char,
    /// Area of the function: "memory", "graph" ...
    pub group: *const c_char,
    /// How the address was found: "cuGetProcAddress", "dlsym", "custom"; NULL where the ABI is absent.
    pub via: *const c_char,
    /// The address; NULL where the ABI is absent.
    pub address: *mut c_void,
    /// Number of the ABI: 3020.
    pub abi: i32,
    /// A `cushim_symbol_status`.
    pub status: i32,
}
