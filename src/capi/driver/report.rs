//! What is known of an open driver: its library, what was tried before it, and every ABI of the catalogue.
//!
//! @header cushim_loader.h
//! @task ask what the driver is

use super::handle::{cushim_driver, with};
use super::table::{cushim_table_kind, table_of};
use crate::capi::driver_object::{DriverObject, catalogue_texts};
use crate::capi::error::{call, cushim_status};
use crate::capi::options::OutStruct;
use crate::driver::{Driver, Kind, Via, catalogue};
use crate::object::error::{Error, Status};
use std::ffi::{c_char, c_void};

/// What sort of library a driver is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_driver_kind {
    /// "none": no library; every entry of the table is NULL.
    CUSHIM_DRIVER_KIND_NONE = 0,
    /// The driver that is installed on this machine.
    CUSHIM_DRIVER_KIND_NATIVE = 1,
    /// A driver from a forward compatibility package.
    CUSHIM_DRIVER_KIND_COMPAT = 2,
    /// The driver of WSL, which forwards to the Windows host.
    CUSHIM_DRIVER_KIND_WSL = 3,
    /// The driver of a Jetson.
    CUSHIM_DRIVER_KIND_TEGRA = 4,
    /// libsoftcuda, the driver in software.
    CUSHIM_DRIVER_KIND_SOFTWARE = 5,
    /// The functions of a program's getter.
    CUSHIM_DRIVER_KIND_CUSTOM = 6,
    /// The toolkit's stub, which cushim never opens.
    CUSHIM_DRIVER_KIND_STUB = 7,
}

/// Facts about an open driver. Texts are valid until the driver is destroyed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_driver_info {
    /// In: bytes of the caller's struct. Out: bytes written.
    pub struct_size: usize,
    /// The CUDA version that the driver reports, 1000 * major + 10 * minor; 0 for "none".
    pub version: i32,
    /// @field[enum(cushim_driver_kind)] What sort of library it is.
    pub kind: i32,
    /// The real path of the library; "" if there is none.
    pub path: *const c_char,
    /// How functions were looked up: "cuGetProcAddress_v2", "cuGetProcAddress", "dlsym", "custom" or "none".
    pub getter: *const c_char,
    /// How many libraries were tried, including the one that was loaded; see `cushim_driver_get_candidate`.
    pub candidate_count: usize,
    /// How many entries of the table this driver has.
    pub symbol_count: usize,
    /// 1 if the driver is older than CUDA 11.4, the oldest version that cushim supports. It is opened all the same.
    pub older_than_supported: i32,
    /// Zero.
    pub reserved: i32,
}

/// A library that was tried when a driver was opened. Texts are valid until the driver is destroyed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_candidate {
    /// In: bytes of the caller's struct. Out: bytes written.
    pub struct_size: usize,
    /// The name or path that was tried.
    pub path: *const c_char,
    /// @field[nullable] Why it was not used, in the loader's own words; NULL for the library that was loaded.
    pub error: *const c_char,
    /// Why it was tried: "options", "CUSHIM_DRIVER", "loaded already", "loader", "folder" …
    pub origin: *const c_char,
}

/// Whether a driver has an ABI.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_symbol_status {
    /// The driver has it.
    CUSHIM_SYMBOL_FOUND = 0,
    /// The ABI is newer than the driver, so cushim did not ask for it.
    CUSHIM_SYMBOL_NEWER_THAN_DRIVER = 1,
    /// The driver's version should have it, but it was not found.
    CUSHIM_SYMBOL_ABSENT = 2,
    /// There is no library to ask.
    CUSHIM_SYMBOL_NO_DRIVER = 3,
}

/// One ABI of a driver function, and whether a driver has it. Texts are valid until the driver is destroyed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_symbol {
    /// In: bytes of the caller's struct. Out: bytes written.
    pub struct_size: usize,
    /// The base name, such as "cuMemAlloc".
    pub name: *const c_char,
    /// The exported name of this ABI, such as "cuMemAlloc_v2".
    pub exported: *const c_char,
    /// The area of the function: "memory", "graph" …
    pub group: *const c_char,
    /// @field[nullable] How the address was found: "cuGetProcAddress", "dlsym" or "custom"; NULL if it was not.
    pub via: *const c_char,
    /// @field[nullable] The address; NULL if it was not found.
    pub address: *mut c_void,
    /// The ABI number, such as 3020.
    pub abi: i32,
    /// @field[enum(cushim_symbol_status)] Whether the driver has it.
    pub status: i32,
}

/// Returns facts about a driver: version, path, how functions were found.
///
/// @param[in] driver The driver.
/// @param[inout] info Receives the facts.
///
/// # Safety
/// `info` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_info(
    driver: cushim_driver,
    info: *mut cushim_driver_info,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `info`.
        let info = unsafe { OutStruct::cleared(info, "info") }?;
        info.fill(&with(driver, |object| Ok(object.info()))?);
        Ok(())
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

/// Returns one of the libraries that were tried when the driver was opened. The last one is the one that was loaded.
///
/// @param[in] driver The driver.
/// @param[in] index The index, from 0 to `cushim_driver_info.candidate_count` - 1.
/// @param[inout] candidate Receives the library.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an index out of range.
///
/// # Safety
/// `candidate` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_candidate(
    driver: cushim_driver,
    index: usize,
    candidate: *mut cushim_candidate,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `candidate`.
        let candidate = unsafe { OutStruct::cleared(candidate, "candidate") }?;
        candidate.fill(&with(driver, |object| {
            let found = object.candidates.get(index).ok_or_else(|| beyond(index, object.candidates.len()))?;
            Ok(cushim_candidate {
                struct_size: size_of::<cushim_candidate>(),
                path: found.path.as_ptr(),
                error: found.error.as_ref().map_or(std::ptr::null(), |error| error.as_ptr()),
                origin: found.origin.as_ptr(),
            })
        })?);
        Ok(())
    })
}

fn beyond(index: usize, count: usize) -> Error {
    Error::new(Status::INVALID_ARGUMENT, format!("index is {index}, and there are {count}"))
}

/// Returns the number of ABIs that cushim knows, which is the number of entries in a table.
///
/// @return The number.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_symbol_count() -> usize {
    catalogue::ROWS.len()
}

/// Returns one ABI that cushim knows, and whether the driver has it. A missing ABI is an answer, not an error.
///
/// @param[in] driver The driver.
/// @param[in] index The index, from 0 to `cushim_symbol_count()` - 1, in the order of the table's entries.
/// @param[in, enum(cushim_table_kind)] kind Which table, as for `cushim_driver_lookup`.
/// @param[inout] symbol Receives the ABI.
/// @return A `cushim_status`.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for an index out of range.
///
/// # Safety
/// `symbol` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_symbol(
    driver: cushim_driver,
    index: usize,
    kind: i32,
    symbol: *mut cushim_symbol,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `symbol`.
        let symbol = unsafe { OutStruct::cleared(symbol, "symbol") }?;
        symbol.fill(&with(driver, |object| {
            table_of(&object.driver, kind)?;
            let row = catalogue::ROWS.get(index).ok_or_else(|| beyond(index, catalogue::ROWS.len()))?;
            Ok(describe(&object.driver, index, row, kind))
        })?);
        Ok(())
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
