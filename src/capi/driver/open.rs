//! Opening a driver, and giving its handle back.
//!
//! @header cushim_loader.h
//! @task open a driver

use super::handle::cushim_driver;
use crate::capi::driver_object::DriverObject;
use crate::capi::error::{call, cushim_status, long_call};
use crate::capi::{options, out, text};
use crate::driver::{Choice, CustomGetter, GetProcAddress, OpenOptions};
use crate::object::callback::Foreign;
use crate::object::error::{Error, Status};
use crate::object::handle::{self, Token};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};

/// A function of the program's that finds driver functions: `cuGetProcAddress_v2` with a pointer of the program's as
/// its first parameter.
///
/// It writes the address of the function `symbol`, in the ABI of CUDA version `version`, to `*address` (NULL if there
/// is none), and a `CUdriverProcAddressQueryResult` to `*found`, and returns a `CUresult`. Both pointers are never
/// NULL. It is called on the thread that opens the driver, and only while the driver is being opened. The addresses
/// must stay valid until the process ends.
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

/// Flags of `cushim_driver_options`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_driver_flags {
    /// Do not read environment variables. They are never read in a set-uid process.
    CUSHIM_DRIVER_IGNORE_ENVIRONMENT = 1,
    /// `getter` behaves like `cuGetProcAddress` before CUDA 12.0: a missing function is an error instead of a NULL
    /// address, and it does not write `*found`.
    CUSHIM_DRIVER_GETTER_V1 = 2,
    /// Each launch of a graph that is instantiated from now on checks that the memory which its nodes use is still
    /// there (`cushim_exec_launch`), as the environment variable `CUSHIM_CHECK=graphs` asks for it. For all handles of
    /// this driver; it costs a call of the driver for each address.
    CUSHIM_DRIVER_CHECK_GRAPHS = 4,
}

/// Options of `cushim_driver_open`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_driver_options {
    /// Bytes of this struct, `sizeof(cushim_driver_options)`.
    pub struct_size: usize,
    /// @field[nullable] Which driver: "auto", "software", "none", or the path of a library ("./auto" for a file of that
    ///   name). NULL: what the environment variable `CUSHIM_DRIVER` says, or else "auto".
    pub driver: *const c_char,
    /// @field[nullable] Finds the driver's functions, instead of a library; `driver` must then be NULL. NULL: use a
    ///   library. Each call with a getter makes a new driver that stays until the process ends (20 KiB, and 35 KiB more
    ///   once its symbols are listed), so open it once.
    pub getter: cushim_driver_getter,
    /// @field[nullable] The first argument of the getter.
    pub getter_user: *mut c_void,
    /// @field[flags(cushim_driver_flags)] Flags.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
}

/// Opens the CUDA driver: finds the library, loads it and looks up every ABI of the table. It does not call `cuInit`.
///
/// If the options or the environment name a driver that cannot be opened, the call fails; it tries no other. Opening
/// a library again returns another handle of the same driver. A library stays loaded until the process ends.
///
/// @param[in, nullable] options The options.
/// @param[out, owned] driver The driver.
/// @errors `CUSHIM_ERROR_DRIVER_NOT_FOUND`, `CUSHIM_ERROR_DRIVER_UNUSABLE`: the message lists the libraries that were
///   tried and why each was refused.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, with strings that end in NUL and a getter
/// that keeps its contract; `driver` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_open(
    options: *const cushim_driver_options,
    driver: *mut cushim_driver,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `driver`.
        let driver = unsafe { out::cleared(driver, std::ptr::null_mut(), "driver") }?;
        let _guard = handle::enter()?;
        let reserved = handle::reserve()?;
        let mut getter = None;
        // SAFETY: the caller vouches for `options`.
        let opened = unsafe { open_options(options, &mut getter) }?.open()?;
        *driver = reserved.of(DriverObject::new(opened)).to_pointer();
        Ok(())
    })
}

const IGNORE_ENVIRONMENT: u32 = cushim_driver_flags::CUSHIM_DRIVER_IGNORE_ENVIRONMENT as u32;

const GETTER_V1: u32 = cushim_driver_flags::CUSHIM_DRIVER_GETTER_V1 as u32;

const CHECK_GRAPHS: u32 = cushim_driver_flags::CUSHIM_DRIVER_CHECK_GRAPHS as u32;

fn has(options: &cushim_driver_options, flag: u32) -> bool {
    options.flags & flag != 0
}

/// A getter of the program's.
struct GivenGetter {
    function: GetProcAddress,
    user: *mut c_void,
}

/// Asks the program's getter, which may end the thread.
unsafe extern "C" fn ask(
    getter: *mut c_void,
    symbol: *const c_char,
    address: *mut *mut c_void,
    version: c_int,
    flags: u64,
    found: *mut c_int,
) -> c_int {
    // SAFETY: it was made of such a reference, for the time of the opening, and is there.
    let Some(GivenGetter { function, user }) = (unsafe { &*getter.cast::<Option<GivenGetter>>() }) else {
        return -1;
    };
    // SAFETY: the caller vouches for the getter.
    unsafe { function.call((*user, symbol, address, version, flags, found)) }
}

/// The options to open with; `getter`, where the caller's stays, lives until the driver is open.
///
/// # Safety
/// As for `cushim_driver_open`.
unsafe fn open_options(
    options: *const cushim_driver_options,
    getter: &mut Option<GivenGetter>,
) -> Result<OpenOptions, Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let options = unsafe { options::read(options, "options") }?;
    let mut open = OpenOptions::new();
    if !options.driver.is_null() {
        // SAFETY: the caller vouches for the string.
        open = open.choice(Choice::from(os_string(unsafe { text::bytes(options.driver, "driver") }?)?));
    }
    let (ignore_environment, getter_v1) = (has(&options, IGNORE_ENVIRONMENT), has(&options, GETTER_V1));
    if let Some(function) = options.getter {
        *getter = Some(GivenGetter { function, user: options.getter_user });
        // SAFETY: the caller vouches for the getter, which is where it is as long as it may be called.
        let framed = unsafe { CustomGetter::new(ask, std::ptr::from_mut(getter).cast()) };
        open = open.getter(if getter_v1 { framed.v1() } else { framed });
    }
    let known = IGNORE_ENVIRONMENT | GETTER_V1 | CHECK_GRAPHS;
    if options.flags & !known != 0 || options.reserved != 0 {
        return Err(Error::new(
            Status::INVALID_ARGUMENT,
            format!(
                "options: flags is {:#x}, of which {known:#x} is known, and reserved must be 0",
                options.flags
            ),
        ));
    }
    super::start_log(!ignore_environment);
    Ok(open.environment(!ignore_environment).check_graphs(has(&options, CHECK_GRAPHS)))
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

/// Destroys an owning handle of a driver. The library stays loaded, and tables stay valid.
///
/// @param[in, ended, nullable] driver The handle; NULL does nothing.
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
