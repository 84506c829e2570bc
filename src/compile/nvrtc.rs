//! NVRTC as a library of this process: its functions, by name.

use super::find;
use super::found::{Findable, Known};
use super::library::{file_of, functions, open};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

pub(super) type Program = *mut c_void;

pub(super) const SUCCESS: c_int = 0;
/// The source is wrong: the log says why.
pub(super) const COMPILATION: c_int = 6;
/// A part of the compiler is missing: `libnvrtc-builtins`.
pub(super) const BUILTINS: c_int = 7;
/// A function is missing that CUDA 12.0 has; nobody else answers that.
const MISSING: c_int = -1;

functions! {
    /// The functions that are used here; NVRTC has all of them since CUDA 11.2, but for those that came with 12.0.
    pub(super) struct Nvrtc {
        nvrtcVersion(*mut c_int, *mut c_int) -> c_int;
        nvrtcGetErrorString(c_int) -> *const c_char;
        nvrtcGetNumSupportedArchs(*mut c_int) -> c_int;
        nvrtcGetSupportedArchs(*mut c_int) -> c_int;
        nvrtcCreateProgram(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> c_int;
        nvrtcDestroyProgram(*mut Program) -> c_int;
        nvrtcAddNameExpression(Program, *const c_char) -> c_int;
        nvrtcCompileProgram(Program, c_int, *const *const c_char) -> c_int;
        nvrtcGetProgramLogSize(Program, *mut usize) -> c_int;
        nvrtcGetProgramLog(Program, *mut c_char) -> c_int;
        nvrtcGetPTXSize(Program, *mut usize) -> c_int;
        nvrtcGetPTX(Program, *mut c_char) -> c_int;
        nvrtcGetCUBINSize(Program, *mut usize) -> c_int;
        nvrtcGetCUBIN(Program, *mut c_char) -> c_int;
        nvrtcGetLoweredName(Program, *const c_char, *mut *const c_char) -> c_int;
        [may be absent] nvrtcGetLTOIRSize(Program, *mut usize) -> c_int;
        [may be absent] nvrtcGetLTOIR(Program, *mut c_char) -> c_int;
    }
}

/// What is known of an NVRTC beside its version.
pub(super) struct Details {
    /// The architectures that it compiles for, as `90` is compute capability 9.0, in rising order.
    pub(super) architectures: Vec<u32>,
    /// CUDA's headers, where they are beside it.
    pub(super) headers: Option<PathBuf>,
}

impl Findable for Nvrtc {
    type Details = Details;

    const NAME: &'static str = "NVRTC";

    fn known() -> &'static Known<Self> {
        static KNOWN: Known<Nvrtc> = Known::new();
        &KNOWN
    }

    fn file(&self) -> Option<PathBuf> {
        file_of(self.nvrtcVersion as *const c_void)
    }

    fn ask(&self, path: &Path) -> Result<((u32, u32), Details), String> {
        let failed = |result: c_int| format!("it does not answer: {}", self.text(result));
        let version = self.version().map_err(failed)?;
        let architectures = self.architectures().map_err(failed)?;
        load_builtins(path, version);
        Ok((version, Details { architectures, headers: find::headers(path) }))
    }
}

/// Loads the part of NVRTC that it opens by name when it compiles: that of CUDA 13.0 does not look for it in its own folder, where
/// packages of Python have it. Where it is not, NVRTC says so.
fn load_builtins(path: &Path, (major, minor): (u32, u32)) {
    let name = format!("libnvrtc-builtins.so.{major}.{minor}");
    let Some(file) = path.parent().map(|folder| folder.join(name)).filter(|file| file.exists()) else {
        return;
    };
    match open(&file) {
        Ok(library) => std::mem::forget(library),
        Err(error) => log::debug!(target: "cushim", "{} is not loaded: {error}", file.display()),
    }
}

/// A program that is being compiled.
pub(super) struct Compiling<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

/// What of a program is asked for.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Log,
    Ptx,
    Cubin,
    LtoIr,
}

impl Nvrtc {
    /// Its version: that of the CUDA release that it is of.
    fn version(&self) -> Result<(u32, u32), c_int> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: it writes two numbers.
        succeeded(unsafe { (self.nvrtcVersion)(&raw mut major, &raw mut minor) })?;
        Ok((major as u32, minor as u32))
    }

    /// The architectures that it compiles for, in rising order.
    fn architectures(&self) -> Result<Vec<u32>, c_int> {
        let mut count = 0;
        // SAFETY: it writes a number.
        succeeded(unsafe { (self.nvrtcGetNumSupportedArchs)(&raw mut count) })?;
        let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: it writes as many numbers.
        succeeded(unsafe { (self.nvrtcGetSupportedArchs)(list.as_mut_ptr()) })?;
        let mut list: Vec<u32> =
            list.into_iter().filter_map(|architecture| u32::try_from(architecture).ok()).collect();
        list.sort_unstable();
        Ok(list)
    }

    /// What a result means, in its own words.
    pub(super) fn text(&self, result: c_int) -> String {
        if result == MISSING {
            return "it makes no LTO IR, which that of CUDA 12.0 does".to_owned();
        }
        // SAFETY: it answers a text of its own for every number.
        let text = unsafe { (self.nvrtcGetErrorString)(result) };
        if text.is_null() {
            return result.to_string();
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} ({result})", text.to_string_lossy())
    }

    /// A program of this source, with headers by name.
    pub(super) fn program(
        &self,
        source: &CStr,
        name: &CStr,
        headers: &[(CString, CString)],
    ) -> Result<Compiling<'_>, c_int> {
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let (mut program, count) = (null_mut(), headers.len() as c_int);
        // SAFETY: the texts end in NUL, there are as many headers as names, and it copies them.
        succeeded(unsafe {
            (self.nvrtcCreateProgram)(
                &raw mut program,
                source.as_ptr(),
                name.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        })?;
        Ok(Compiling { nvrtc: self, program })
    }
}

impl Compiling<'_> {
    pub(super) fn add_name(&self, expression: &CStr) -> Result<(), c_int> {
        // SAFETY: the program is there, and it copies the text.
        succeeded(unsafe { (self.nvrtc.nvrtcAddNameExpression)(self.program, expression.as_ptr()) })
    }

    pub(super) fn compile(&self, options: &[CString]) -> Result<(), c_int> {
        let texts: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is there, and there are as many texts.
        succeeded(unsafe {
            (self.nvrtc.nvrtcCompileProgram)(self.program, texts.len() as c_int, texts.as_ptr())
        })
    }

    /// The name that the compiler gave to what an expression names.
    pub(super) fn lowered(&self, expression: &CStr) -> Result<String, c_int> {
        let mut name = std::ptr::null();
        // SAFETY: the program was compiled; what it answers is there as long as the program.
        unsafe {
            succeeded((self.nvrtc.nvrtcGetLoweredName)(self.program, expression.as_ptr(), &raw mut name))?;
            Ok(CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// A part of what came of it.
    pub(super) fn part(&self, part: Part) -> Result<Vec<u8>, c_int> {
        let nvrtc = self.nvrtc;
        let (size_of, get) = match part {
            Part::Log => (nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog),
            Part::Ptx => (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX),
            Part::Cubin => (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN),
            Part::LtoIr => (nvrtc.nvrtcGetLTOIRSize.ok_or(MISSING)?, nvrtc.nvrtcGetLTOIR.ok_or(MISSING)?),
        };
        let mut size = 0;
        // SAFETY: the program is there; the bytes are as many as it says.
        unsafe {
            succeeded(size_of(self.program, &raw mut size))?;
            let mut bytes = vec![0_u8; size];
            succeeded(get(self.program, bytes.as_mut_ptr().cast()))?;
            Ok(bytes)
        }
    }
}

impl Drop for Compiling<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once.
        unsafe { (self.nvrtc.nvrtcDestroyProgram)(&raw mut self.program) };
    }
}

fn succeeded(result: c_int) -> Result<(), c_int> {
    if result == SUCCESS { Ok(()) } else { Err(result) }
}
