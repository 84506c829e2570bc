//! nvJitLink as a library of this process: its functions, by name, and linkers.

use super::found::{Findable, Known};
use super::library::{file_of, functions};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

type Handle = *mut c_void;

const SUCCESS: c_int = 0;
/// Something is missing, and more that has no number of its own.
pub(super) const INTERNAL: c_int = 6;
/// The architecture is none that it knows: two numbers, since CUDA 13.
pub(super) const ARCHITECTURE: [c_int; 2] = [16, 17];

/// What an input is, as nvJitLink numbers it.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Cubin = 1,
    Ptx = 2,
    LtoIr = 3,
    Fatbin = 4,
    Object = 5,
    Library = 6,
}

functions! {
    /// The functions that are used here; nvJitLink has all of them since CUDA 12.0, but for its version.
    pub(super) struct JitLink {
        nvJitLinkCreate(*mut Handle, u32, *const *const c_char) -> c_int;
        nvJitLinkDestroy(*mut Handle) -> c_int;
        nvJitLinkAddData(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
        nvJitLinkComplete(Handle) -> c_int;
        nvJitLinkGetLinkedCubinSize(Handle, *mut usize) -> c_int;
        nvJitLinkGetLinkedCubin(Handle, *mut c_void) -> c_int;
        nvJitLinkGetLinkedPtxSize(Handle, *mut usize) -> c_int;
        nvJitLinkGetLinkedPtx(Handle, *mut c_void) -> c_int;
        nvJitLinkGetErrorLogSize(Handle, *mut usize) -> c_int;
        nvJitLinkGetErrorLog(Handle, *mut c_void) -> c_int;
        nvJitLinkGetInfoLogSize(Handle, *mut usize) -> c_int;
        nvJitLinkGetInfoLog(Handle, *mut c_void) -> c_int;
        [may be absent] nvJitLinkVersion(*mut c_uint, *mut c_uint) -> c_int;
        [may be absent] __nvJitLinkCreate_12_1(*mut Handle, u32, *const *const c_char) -> c_int;
        [may be absent] __nvJitLinkCreate_12_2(*mut Handle, u32, *const *const c_char) -> c_int;
    }
}

/// A linker under way.
pub(super) struct Linking<'a> {
    library: &'a JitLink,
    handle: Handle,
}

/// What of a linker is asked for.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Cubin,
    Ptx,
    ErrorLog,
    InfoLog,
}

/// What did not succeed, and what nvJitLink says of it.
pub(super) struct Failed {
    pub(super) result: c_int,
    pub(super) log: String,
}

impl Findable for JitLink {
    type Details = ();

    const NAME: &'static str = "nvJitLink";

    fn known() -> &'static Known<Self> {
        static KNOWN: Known<JitLink> = Known::new();
        &KNOWN
    }

    fn file(&self) -> Option<PathBuf> {
        file_of(self.nvJitLinkCreate as *const c_void)
    }

    fn ask(&self, _path: &Path) -> Result<((u32, u32), ()), String> {
        Ok((self.version(), ()))
    }
}

impl JitLink {
    /// The CUDA release that it is of. Before 12.3 there is no function that tells; its functions have names with each minor version, too.
    fn version(&self) -> (u32, u32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: it writes two numbers.
        let tell = |version: unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int| unsafe {
            version(&raw mut major, &raw mut minor)
        };
        if self.nvJitLinkVersion.map(tell) == Some(SUCCESS) {
            return (major, minor);
        }
        match (self.__nvJitLinkCreate_12_1, self.__nvJitLinkCreate_12_2) {
            (_, Some(_)) => (12, 2),
            (Some(_), None) => (12, 1),
            (None, None) => (12, 0),
        }
    }

    /// A linker with these options.
    pub(super) fn linker(&self, options: &[CString]) -> Result<Linking<'_>, Failed> {
        let texts: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut linking = Linking { library: self, handle: null_mut() };
        let handle = &raw mut linking.handle;
        // SAFETY: there are as many texts; it writes a handle, also of a linker that says why it is none.
        let result = unsafe { (self.nvJitLinkCreate)(handle, texts.len() as u32, texts.as_ptr()) };
        linking.succeeded(result).inspect_err(|_| {
            // That of CUDA 12.0 ends the process when what it did not make is destroyed.
            if self.nvJitLinkVersion.is_none() {
                linking.handle = null_mut();
            }
        })?;
        Ok(linking)
    }
}

impl<'a> Linking<'a> {
    /// It keeps the address of the name, not the text, for what it says about the input later (13.0, measured).
    pub(super) fn add(&self, form: Form, bytes: &[u8], name: &'a CStr) -> Result<(), Failed> {
        // SAFETY: so many bytes are there, which it copies; the name is there as long as the linker.
        self.succeeded(unsafe {
            (self.library.nvJitLinkAddData)(
                self.handle,
                form as c_int,
                bytes.as_ptr().cast(),
                bytes.len(),
                name.as_ptr(),
            )
        })
    }

    /// Of what is there twice it says so in its log, and succeeds.
    pub(super) fn complete(&self) -> Result<(), Failed> {
        // SAFETY: the linker is there.
        self.succeeded(unsafe { (self.library.nvJitLinkComplete)(self.handle) })?;
        let log = self.log(Part::ErrorLog);
        if log.lines().any(|line| line.starts_with("error")) {
            return Err(Failed { result: INTERNAL, log });
        }
        Ok(())
    }

    pub(super) fn part(&self, part: Part) -> Result<Vec<u8>, Failed> {
        self.get(part).map_err(|result| self.failed(result))
    }

    fn get(&self, part: Part) -> Result<Vec<u8>, c_int> {
        let library = self.library;
        let (size_of, get) = match part {
            Part::Cubin => (library.nvJitLinkGetLinkedCubinSize, library.nvJitLinkGetLinkedCubin),
            Part::Ptx => (library.nvJitLinkGetLinkedPtxSize, library.nvJitLinkGetLinkedPtx),
            Part::ErrorLog => (library.nvJitLinkGetErrorLogSize, library.nvJitLinkGetErrorLog),
            Part::InfoLog => (library.nvJitLinkGetInfoLogSize, library.nvJitLinkGetInfoLog),
        };
        let checked = |result| if result == SUCCESS { Ok(()) } else { Err(result) };
        let mut size = 0;
        // SAFETY: the linker is there; the bytes are as many as it says.
        unsafe {
            checked(size_of(self.handle, &raw mut size))?;
            let mut bytes = vec![0_u8; size];
            if size > 0 {
                checked(get(self.handle, bytes.as_mut_ptr().cast()))?;
            }
            Ok(bytes)
        }
    }

    /// A log as text; empty where there is none.
    pub(super) fn log(&self, part: Part) -> String {
        let bytes = self.get(part).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim_end().to_owned()
    }

    fn succeeded(&self, result: c_int) -> Result<(), Failed> {
        if result == SUCCESS { Ok(()) } else { Err(self.failed(result)) }
    }

    fn failed(&self, result: c_int) -> Failed {
        let log = if self.handle.is_null() { String::new() } else { self.log(Part::ErrorLog) };
        Failed { result, log }
    }
}

impl Drop for Linking<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: it is destroyed once.
            unsafe { (self.library.nvJitLinkDestroy)(&raw mut self.handle) };
        }
    }
}

/// What a result means, by its name in nvJitLink's header.
pub(super) fn text(result: c_int) -> String {
    const NAMES: [&str; 19] = [
        "SUCCESS",
        "ERROR_UNRECOGNIZED_OPTION",
        "ERROR_MISSING_ARCH",
        "ERROR_INVALID_INPUT",
        "ERROR_PTX_COMPILE",
        "ERROR_NVVM_COMPILE",
        "ERROR_INTERNAL",
        "ERROR_THREADPOOL",
        "ERROR_UNRECOGNIZED_INPUT",
        "ERROR_FINALIZE",
        "ERROR_NULL_INPUT",
        "ERROR_INCOMPATIBLE_OPTIONS",
        "ERROR_INCORRECT_INPUT_TYPE",
        "ERROR_ARCH_MISMATCH",
        "ERROR_OUTDATED_LIBRARY",
        "ERROR_MISSING_FATBIN",
        "ERROR_UNRECOGNIZED_ARCH",
        "ERROR_UNSUPPORTED_ARCH",
        "ERROR_LTO_NOT_ENABLED",
    ];
    match usize::try_from(result).ok().and_then(|index| NAMES.get(index)) {
        Some(name) => format!("NVJITLINK_{name} ({result})"),
        None => format!("error {result}"),
    }
}
