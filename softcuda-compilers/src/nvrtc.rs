//! NVRTC: a program for a real architecture is compiled for the virtual one, and its PTX is in what is handed out as its cubin. Names of
//! kernels, logs and everything else are NVRTC's own.

use crate::cubin::{self, Text};
use crate::options::Options;
use crate::real::real;
use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A program of NVRTC's, by its value.
type Program = usize;

const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const INTERNAL_ERROR: c_int = 11;

/// What was asked for, of a program that was compiled for a real architecture.
#[derive(Clone, Copy)]
struct Wanted {
    architecture: u32,
    most_registers: Option<u32>,
}

static WANTED: Mutex<Option<HashMap<Program, Wanted>>> = Mutex::new(None);

fn wanted() -> MutexGuard<'static, Option<HashMap<Program, Wanted>>> {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// As NVRTC has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCompileProgram(
    program: Program,
    count: c_int,
    texts: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let options = unsafe { Options::read(count, texts) };
    wanted().get_or_insert_default().remove(&program);
    // Code for linking at link time is no machine code yet.
    let architecture =
        options.as_ref().filter(|options| !is_for_linking(options)).and_then(Options::real_architecture);
    let (Some(options), Some(architecture)) = (options, architecture) else {
        return compile(program, count, texts);
    };
    let own = options.virtually().texts();
    let own: Vec<*const c_char> = own.iter().map(|text| text.as_ptr()).collect();
    let result = compile(program, count, own.as_ptr());
    if result == SUCCESS {
        let most_registers = options.most_registers();
        wanted().get_or_insert_default().insert(program, Wanted { architecture, most_registers });
    }
    result
}

fn compile(program: Program, count: c_int, texts: *const *const c_char) -> c_int {
    real!(nvrtcCompileProgram(Program, c_int, *const *const c_char) or INTERNAL_ERROR; program, count, texts)
}

fn is_for_linking(options: &Options) -> bool {
    ["-dlto", "--dlink-time-opt"].iter().any(|option| options.has(option))
}

/// # Safety
/// As NVRTC has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcDestroyProgram(program: *mut Program) -> c_int {
    if !program.is_null() {
        // SAFETY: the caller's promise.
        wanted().get_or_insert_default().remove(&unsafe { *program });
    }
    real!(nvrtcDestroyProgram(*mut Program) or INTERNAL_ERROR; program)
}

/// # Safety
/// As NVRTC has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetCUBINSize(program: Program, size: *mut usize) -> c_int {
    match image(program) {
        None => real!(nvrtcGetCUBINSize(Program, *mut usize) or INTERNAL_ERROR; program, size),
        Some(Err(code)) => code,
        Some(Ok(_)) if size.is_null() => INVALID_INPUT,
        Some(Ok(image)) => {
            // SAFETY: the caller's promise.
            unsafe { size.write(image.len()) };
            SUCCESS
        }
    }
}

/// # Safety
/// As NVRTC has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetCUBIN(program: Program, place: *mut u8) -> c_int {
    match image(program) {
        None => real!(nvrtcGetCUBIN(Program, *mut u8) or INTERNAL_ERROR; program, place),
        Some(Err(code)) => code,
        Some(Ok(_)) if place.is_null() => INVALID_INPUT,
        Some(Ok(image)) => {
            // SAFETY: the caller has as many bytes there as `nvrtcGetCUBINSize` has said.
            unsafe { place.copy_from_nonoverlapping(image.as_ptr(), image.len()) };
            SUCCESS
        }
    }
}

/// What is handed out of a program; `None` if that is not ours to say.
fn image(program: Program) -> Option<Result<Vec<u8>, c_int>> {
    let wanted = *wanted().as_ref()?.get(&program)?;
    let text = ptx(program).map(|ptx| Text { ptx, most_registers: wanted.most_registers });
    Some(text.map(|text| cubin::pack(&[text], wanted.architecture)))
}

/// A program's PTX.
fn ptx(program: Program) -> Result<Vec<u8>, c_int> {
    let checked = |code| if code == SUCCESS { Ok(()) } else { Err(code) };
    let mut size = 0usize;
    checked(real!(nvrtcGetPTXSize(Program, *mut usize) or INTERNAL_ERROR; program, &raw mut size))?;
    let mut ptx = vec![0u8; size];
    checked(real!(nvrtcGetPTX(Program, *mut u8) or INTERNAL_ERROR; program, ptx.as_mut_ptr()))?;
    let end = ptx.iter().position(|byte| *byte == 0).unwrap_or(size);
    ptx.truncate(end);
    Ok(ptx)
}
