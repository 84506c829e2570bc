//! What is known of an open driver: its library, what was tried before it, and every ABI of the catalogue.

use super::handle::{cushim_driver, with};
use super::table::{cushim_table_kind, table_of};
use crate::capi::driver_object::{DriverObject, catalogue_texts};
use crate::capi::error::{call, cushim_status};
use crate::capi::options;
use crate::driver::{Driver, Kind, Via, catalogue};
use crate::error::{Error, Status};
use std::ffi::{c_char, c_void};

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
    /// libsoftcuda, the driver in software.
    CUSHIM_DRIVER_KIND_SOFTWARE = 5,
    /// The caller's getter.
    CUSHIM_DRIVER_KIND_CUSTOM = 6,
    /// A toolkit's stub, which is never opened.
    CUSHIM_DRIVER_KIND_STUB = 7,
}

/// What is known of an open driver. Texts stay valid until the driver is
/// destroyed.
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
    /// The name or path that was tried; valid until the driver is destroyed.
    pub path: *const c_char,
    /// Why it was not used, in the loader's own words; NULL for the one that was loaded. Valid until the driver is destroyed.
    pub error: *const c_char,
    /// Why it was tried: "options", "CUSHIM_DRIVER", "loaded already", "loader", "folder" ... Valid until the driver is
    /// destroyed.
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

/// One ABI of the catalogue, and what this driver has of it. Texts stay valid until the driver is
/// destroyed.
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

/// Says what is known of the driver.
///
/// @param driver The driver.
/// @param info Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `info` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_info(
    driver: cushim_driver,
    info: *mut cushim_driver_info,
) -> cushim_status {
    call(|| {
        let full = with(driver, |object| Ok(object.info()))?;
        // SAFETY: the caller vouches for `info`.
        unsafe { options::write_out(info, &full, "info") }
    })
}

impl DriverObject {
    fn info(&self) -> cushim_driver_info {
        cushim_driver_info {
            struct_size: size_of::<cushim_driver_info>(),
            version: self.driver.version().map_or(0, |version| version.number() as i32),
            kind: kind_number(self.driver.kind()) as i32,
            path: self.path.as_ptr(),
            getter: self.getter.as_ptr(),
            candidate_count: self.candidates.len(),
            symbol_count: self.driver.symbols().iter().filter(|symbol| !symbol.address.is_null()).count(),
            older_than_supported: i32::from(self.driver.is_older_than_supported()),
            reserved: 0,
        }
    }
}

fn kind_number(kind: Kind) -> cushim_driver_kind {
    match kind {
        Kind::Native => cushim_driver_kind::CUSHIM_DRIVER_KIND_NATIVE,
        Kind::Compat => cushim_driver_kind::CUSHIM_DRIVER_KIND_COMPAT,
        Kind::Stub => cushim_driver_kind::CUSHIM_DRIVER_KIND_STUB,
        Kind::Wsl => cushim_driver_kind::CUSHIM_DRIVER_KIND_WSL,
        Kind::Tegra => cushim_driver_kind::CUSHIM_DRIVER_KIND_TEGRA,
        Kind::Software => cushim_driver_kind::CUSHIM_DRIVER_KIND_SOFTWARE,
        Kind::None => cushim_driver_kind::CUSHIM_DRIVER_KIND_NONE,
        Kind::Custom => cushim_driver_kind::CUSHIM_DRIVER_KIND_CUSTOM,
    }
}

/// One of the libraries that were tried when the driver was opened, in order; the last is the one that was loaded.
///
/// @param driver The driver.
/// @param index 0 to `cushim_driver_info.candidate_count` - 1.
/// @param candidate Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `candidate` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_candidate_at(
    driver: cushim_driver,
    index: usize,
    candidate: *mut cushim_candidate,
) -> cushim_status {
    call(|| {
        let full = with(driver, |object| {
            let found = object.candidates.get(index).ok_or_else(|| beyond(index, object.candidates.len()))?;
            Ok(cushim_candidate {
                struct_size: size_of::<cushim_candidate>(),
                path: found.path.as_ptr(),
                error: found.error.as_ref().map_or(std::ptr::null(), |error| error.as_ptr()),
                origin: found.origin.as_ptr(),
            })
        })?;
        // SAFETY: the caller vouches for `candidate`.
        unsafe { options::write_out(candidate, &full, "candidate") }
    })
}

fn beyond(index: usize, count: usize) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("index is {index}, and there are {count}"))
}

/// The number of ABIs in the catalogue, and of entries in a table of this library.
///
/// Errors: none. Threads: any. Needs no driver.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_symbol_count() -> usize {
    catalogue::ROWS.len()
}

/// One ABI of the catalogue, and what this driver has of it.
///
/// @param driver The driver.
/// @param index 0 to `cushim_symbol_count()` - 1, in the order of the table's entries.
/// @param kind A `cushim_table_kind`, as for `cushim_driver_lookup`.
/// @param symbol Written, as far as its `struct_size` goes; must not be NULL.
/// @return A `cushim_status`; a symbol that the driver lacks is an answer, not an error.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `symbol` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_symbol_at(
    driver: cushim_driver,
    index: usize,
    kind: i32,
    symbol: *mut cushim_symbol,
) -> cushim_status {
    call(|| {
        let full = with(driver, |object| {
            table_of(&object.driver, kind)?;
            let row = catalogue::ROWS.get(index).ok_or_else(|| beyond(index, catalogue::ROWS.len()))?;
            Ok(describe(&object.driver, index, row, kind))
        })?;
        // SAFETY: the caller vouches for `symbol`.
        unsafe { options::write_out(symbol, &full, "symbol") }
    })
}

fn describe(driver: &Driver, index: usize, row: &catalogue::Row, kind: i32) -> cushim_symbol {
    let per_thread = kind == cushim_table_kind::CUSHIM_TABLE_PER_THREAD_STREAM as i32;
    let variant = if per_thread { driver.per_thread_symbol(row.base, row.abi) } else { None };
    let found = variant.unwrap_or(&driver.symbols()[index]);
    let texts = &catalogue_texts()[index];
    let exported = if variant.is_some() { &texts.per_thread } else { &texts.exported };
    cushim_symbol {
        struct_size: size_of::<cushim_symbol>(),
        name: texts.base.as_ptr(),
        exported: exported.as_ptr(),
        group: texts.group.as_ptr(),
        via: found.via.map_or(std::ptr::null(), via_text),
        address: found.address.cast_mut(),
        abi: found.abi as i32,
        status: status_number(found.status) as i32,
    }
}

fn via_text(via: Via) -> *const c_char {
    match via {
        Via::Getter => c"cuGetProcAddress".as_ptr(),
        Via::Dlsym => c"dlsym".as_ptr(),
        Via::Custom => c"custom".as_ptr(),
    }
}

fn status_number(status: crate::driver::Status) -> cushim_symbol_status {
    use crate::driver::Status as Found;
    match status {
        Found::Found => cushim_symbol_status::CUSHIM_SYMBOL_FOUND,
        Found::NewerThanDriver => cushim_symbol_status::CUSHIM_SYMBOL_NEWER_THAN_DRIVER,
        Found::Denied { .. } | Found::NotExported => cushim_symbol_status::CUSHIM_SYMBOL_ABSENT,
        Found::NoDriver => cushim_symbol_status::CUSHIM_SYMBOL_NO_DRIVER,
    }
}
