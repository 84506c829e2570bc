//! The raw tier: opening a driver and handing its table out. Exported through `cushim_driver.h`.

use super::driver_object::{DriverObject, catalogue_texts};
use super::error::{call, cushim_status, fail};
use super::{options, out};
use crate::driver::{Choice, CustomGetter, Driver, Kind, OpenOptions, Symbol, Table, Via, catalogue, sys};
use crate::error::{Error, Status};
use crate::handle::{self, Token};
use crate::logging;
use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};

/// An open driver: a checked token, never dereferenced. A token that is stale, foreign or of another kind is an error, not
/// a crash.
pub type cushim_driver = *mut cushim_driver_s;

/// Never given a body.
pub struct cushim_driver_s {
    _private: [u8; 0],
}

/// A getter of the caller's own: `cuGetProcAddress_v2` with a pointer of the caller's before its parameters.
///
/// Writes the address of the function `symbol` in the ABI that driver `version` has into `*address`, NULL where there is
/// none, and a `CUdriverProcAddressQueryResult` into `*found`. Returns a `CUresult`. Neither out-pointer is ever NULL. It
/// is called on the thread that opens the driver, only while it is being opened. What it hands out must stay valid until
/// the process ends.
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
    /// `getter` behaves as `cuGetProcAddress` did before 12.0: an absent function is an error rather than a NULL address,
    /// and what it leaves in `*found` means nothing.
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
    /// Where functions come from instead of a library; NULL: from a library. With it `driver` must be NULL.
    /// Each opening with a getter makes a driver of its own, which stays until the process ends, as what it hands out must:
    /// about 20 KiB, and 35 more once its symbols are enumerated. So open it once.
    pub getter: cushim_driver_getter,
    /// The first argument of the getter.
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

/// Opens the CUDA driver.
///
/// Finds the library, loads it and resolves every ABI of the catalogue; it does not call `cuInit`. A named driver that
/// cannot be opened is an error, no other is tried. Opening the same library again gives another handle of the same
/// driver. The library stays loaded until the process ends.
///
/// @param options NULL for the defaults. Read during the call only.
/// @param driver Receives the handle; NULL on failure. Must not be NULL. Give it back with `cushim_driver_destroy`.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_DRIVER_NOT_FOUND`, `CUSHIM_ERROR_DRIVER_UNUSABLE`,
/// `CUSHIM_ERROR_FORKED`. The message lists the libraries that were tried and why each was refused. Threads: any.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with strings that end in NUL and a getter that
/// keeps its contract; `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_open(
    options: *const cushim_driver_options,
    driver: *mut cushim_driver,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `driver`.
        let driver = unsafe { out::cleared(driver, std::ptr::null_mut(), "driver") }?;
        let _guard = handle::enter()?;
        // SAFETY: the caller vouches for `options`.
        let opened = unsafe { open_options(options) }?.open()?;
        *driver = handle::claim(Arc::new(DriverObject::new(opened)))?.to_pointer();
        Ok(())
    })
}

const IGNORE_ENVIRONMENT: u32 = cushim_driver_flags::CUSHIM_DRIVER_IGNORE_ENVIRONMENT as u32;
const GETTER_V1: u32 = cushim_driver_flags::CUSHIM_DRIVER_GETTER_V1 as u32;

fn has(options: &cushim_driver_options, flag: u32) -> bool {
    options.flags & flag != 0
}

/// # Safety
/// As for `cushim_driver_open`.
unsafe fn open_options(options: *const cushim_driver_options) -> Result<OpenOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let options = unsafe { options::read(options, "options") }?;
    let mut open = OpenOptions::new();
    if !options.driver.is_null() {
        // SAFETY: the caller vouches for the string.
        open = open.choice(Choice::from(os_string(unsafe { CStr::from_ptr(options.driver) })?));
    }
    let (ignore_environment, getter_v1) = (has(&options, IGNORE_ENVIRONMENT), has(&options, GETTER_V1));
    if let Some(getter) = options.getter {
        // SAFETY: the caller vouches for the getter.
        let getter = unsafe { CustomGetter::new(getter, options.getter_user) };
        open = open.getter(if getter_v1 { getter.v1() } else { getter });
    }
    let known = IGNORE_ENVIRONMENT | GETTER_V1;
    if options.flags & !known != 0 || options.reserved != 0 {
        return Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!(
                "options: flags is {:#x}, of which {known:#x} is known, and reserved must be 0",
                options.flags
            ),
        ));
    }
    if !ignore_environment {
        // Before the search, which the log tells of.
        logging::start();
    }
    Ok(open.environment(!ignore_environment))
}

#[cfg(unix)]
fn os_string(text: &CStr) -> Result<&OsStr, Error> {
    Ok(std::os::unix::ffi::OsStrExt::from_bytes(text.to_bytes()))
}

#[cfg(not(unix))]
fn os_string(text: &CStr) -> Result<&OsStr, Error> {
    let text =
        text.to_str().map_err(|_| Error::new(Status::INVALID_ARGUMENT, "options: driver must be UTF-8"))?;
    Ok(OsStr::new(text))
}

/// Gives a handle back. The driver's library stays loaded, and tables that were handed out stay valid.
///
/// @param driver A handle of `cushim_driver_open`, or NULL, which does nothing.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_ALREADY_DESTROYED`, `CUSHIM_ERROR_FORKED`. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_driver_destroy(driver: cushim_driver) -> cushim_status {
    call(|| {
        if driver.is_null() {
            return Ok(());
        }
        // The driver itself stays: nothing can go wrong when the last hold goes, here or later.
        drop(handle::enter()?.destroy::<DriverObject>(Token::from_pointer(driver))?);
        Ok(())
    })
}

/// Runs `body` with the object behind the handle.
fn with<R>(driver: cushim_driver, body: impl FnOnce(&DriverObject) -> Result<R, Error>) -> Result<R, Error> {
    let guard = handle::enter()?;
    let object = guard.get::<DriverObject>(Token::from_pointer(driver))?;
    body(&object)
}

/// Hands out the driver's table of functions.
///
/// @param driver The driver.
/// @param kind A `cushim_table_kind`: which default stream the functions use.
/// @param table Receives the table, which is valid until the process ends and never changes; NULL on failure. Must not be
///   NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`, `CUSHIM_ERROR_INVALID_ARGUMENT`, `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `table` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_get_table(
    driver: cushim_driver,
    kind: i32,
    table: *mut *const Table,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `table`.
        let table = unsafe { out::cleared(table, std::ptr::null(), "table") }?;
        *table = with(driver, |object| table_of(&object.driver, kind))?;
        Ok(())
    })
}

fn table_of(driver: &Driver, kind: i32) -> Result<&'static Table, Error> {
    match kind {
        k if k == cushim_table_kind::CUSHIM_TABLE_LEGACY_STREAM as i32 => Ok(driver.table()),
        k if k == cushim_table_kind::CUSHIM_TABLE_PER_THREAD_STREAM as i32 => Ok(driver.per_thread_table()),
        _ => Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!(
                "kind is {kind}; use CUSHIM_TABLE_LEGACY_STREAM (0) or CUSHIM_TABLE_PER_THREAD_STREAM (1)"
            ),
        )),
    }
}

/// The table of the default driver: the one that `cushim_driver_open(NULL, ...)` opens. The first call opens it and decides
/// for the process, also if it fails: later ones do not try again.
///
/// The familiar names of `CUSHIM_CUDA_NAMES` call through it. Costs two atomic loads once the driver is open.
///
/// @param kind A `cushim_table_kind`: which default stream the functions use.
/// @return The table, valid until the process ends and never NULL. Where there is no driver, in the child of a fork, or if
///   `kind` is unknown, a table without entries; `cushim_last_error` then says why.
///
/// Errors: none of its own. Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_driver_default_table(kind: i32) -> *const Table {
    static NO_ENTRIES: Table = Table::EMPTY;
    let mut table: *const Table = &raw const NO_ENTRIES;
    match default_driver() {
        Ok(driver) if kind == cushim_table_kind::CUSHIM_TABLE_LEGACY_STREAM as i32 => table = driver.table(),
        Ok(driver) => {
            call(|| table_of(driver, kind).map(|found| table = found));
        }
        Err(error) => {
            fail(error);
        }
    }
    table
}

static DEFAULT: OnceLock<Result<Driver, Error>> = OnceLock::new();

thread_local! {
    /// This thread is opening the default driver.
    static OPENING: Cell<bool> = const { Cell::new(false) };
}

fn default_driver() -> Result<&'static Driver, Error> {
    // The child of a fork is turned away before the lock, which a thread that it does not have may hold.
    let opened = match DEFAULT.get() {
        Some(_) if handle::forked() => return Err(handle::Forked.into()),
        Some(opened) => opened,
        None => {
            let _guard = handle::enter()?;
            if OPENING.get() {
                // The library that is being loaded calls back into us; waiting for it would be waiting for ourselves.
                let text = "the default driver is being opened by this very call; a library that it loads must not use it";
                return Err(Error::new(Status::DRIVER_UNUSABLE, text));
            }
            DEFAULT.get_or_init(open_default)
        }
    };
    opened.as_ref().map_err(Clone::clone)
}

fn open_default() -> Result<Driver, Error> {
    logging::start();
    OPENING.set(true);
    let opened = std::panic::catch_unwind(Driver::open);
    OPENING.set(false);
    opened.map_or_else(
        |panic| Err(super::error::internal(panic.as_ref())),
        |result| result.map_err(Error::from),
    )
}

/// What a familiar name of `CUSHIM_CUDA_NAMES` does where the table has no such entry; programs have no reason to call it.
///
/// @param table The table without the entry.
/// @param name Base name of the function.
/// @param abi Number of the ABI.
/// @return `CUDA_ERROR_NOT_FOUND` (500); `cushim_last_error` says which driver lacks the function.
///
/// Errors: none of its own. Threads: any.
///
/// # Safety
/// `name` is NULL or ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_table_missing(table: *const Table, name: *const c_char, abi: i32) -> i32 {
    call(|| {
        // SAFETY: the caller vouches for `name`.
        let name = if name.is_null() { "".into() } else { unsafe { CStr::from_ptr(name) }.to_string_lossy() };
        let number = u32::try_from(abi).unwrap_or(0);
        match Driver::behind(table) {
            Some(driver) => {
                let symbol = driver.symbol(&name, number).ok_or_else(|| unknown(&name, abi))?;
                Err(missing(&driver, symbol))
            }
            None => Err(no_driver(&name, number)),
        }
    });
    sys::CUDA_ERROR_NOT_FOUND.0
}

/// Why a table that no driver handed out lacks a function: there is no default driver, or it is the caller's own table.
fn no_driver(name: &str, abi: u32) -> Error {
    if handle::forked() {
        return handle::Forked.into();
    }
    match DEFAULT.get() {
        Some(Err(error)) => error.clone(),
        _ => Error::new(
            Status::UNSUPPORTED,
            format!("the table has no {name} (ABI {abi}), and no driver is behind it"),
        )
        .with_function(name, abi),
    }
}

/// Finds one ABI of one function.
///
/// @param driver The driver.
/// @param name Base name, without a version suffix: "cuMemAlloc". Must not be NULL.
/// @param abi Number of the ABI: 3020. Or 0: then `name` is the one that libcuda exports, as for dlsym:
///   "cuMemAlloc_v2", "cuMemcpyAsync_ptsz".
/// @param kind A `cushim_table_kind`: which default stream the function uses. A function that has no variant for the
///   per-thread one is the same in both.
/// @param function Receives the address; NULL on failure. Must not be NULL.
/// @return A `cushim_status`.
///
/// Errors: `CUSHIM_ERROR_INVALID_HANDLE`; `CUSHIM_ERROR_INVALID_ARGUMENT`, also for a (name, abi) that the catalogue does
/// not have; `CUSHIM_ERROR_UNSUPPORTED` if this driver lacks it; `CUSHIM_ERROR_FORKED`. Threads: any.
///
/// # Safety
/// `name` is NULL or ends in NUL; `function` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_lookup(
    driver: cushim_driver,
    name: *const c_char,
    abi: i32,
    kind: i32,
    function: *mut *mut c_void,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `function`.
        let function = unsafe { out::cleared(function, std::ptr::null_mut(), "function") }?;
        if name.is_null() {
            return Err(Error::new(Status::INVALID_ARGUMENT, "name must not be NULL"));
        }
        // SAFETY: the caller vouches for `name`.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        *function = with(driver, |object| {
            table_of(&object.driver, kind)?;
            find(&object.driver, &name, abi, kind).map(|symbol| symbol.address.cast_mut())
        })?;
        Ok(())
    })
}

fn find(driver: &Driver, name: &str, abi: i32, kind: i32) -> Result<&'static Symbol, Error> {
    let per_thread = kind == cushim_table_kind::CUSHIM_TABLE_PER_THREAD_STREAM as i32;
    let (base, number, per_thread) = match (abi, catalogue::Row::exported_as(name)) {
        (0, Some((row, is_variant))) => (row.base, row.abi, is_variant || per_thread),
        _ => (name, u32::try_from(abi).unwrap_or(0), per_thread),
    };
    let variant = if per_thread { driver.per_thread_symbol(base, number) } else { None };
    let symbol = variant.or_else(|| driver.symbol(base, number)).ok_or_else(|| unknown(name, abi))?;
    if symbol.address.is_null() {
        return Err(missing(driver, symbol));
    }
    Ok(symbol)
}

fn missing(driver: &Driver, symbol: &Symbol) -> Error {
    let explanation = driver.explain(symbol).to_string();
    Error::new(Status::UNSUPPORTED, explanation).with_function(symbol.row.base, symbol.abi)
}

fn unknown(name: &str, abi: i32) -> Error {
    let numbers: Vec<String> =
        catalogue::ROWS.iter().filter(|row| row.base == name).map(|row| row.abi.to_string()).collect();
    let hint = if numbers.is_empty() {
        "no function has that name; give the base name without a suffix such as _v2, or the exported name and 0".to_owned()
    } else {
        format!("it has {}", numbers.join(", "))
    };
    Error::new(Status::INVALID_ARGUMENT, format!("the catalogue has no ABI {abi} of {name}: {hint}"))
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
