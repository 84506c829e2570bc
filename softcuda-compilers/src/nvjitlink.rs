//! nvJitLink: the real one links, checks and says what is wrong; what is handed out has the PTX of the inputs. Inputs for link time
//! optimisation are linked a second time, to PTX.

use crate::cubin::{self, Text};
use crate::options::Options;
use crate::real::real;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A linker of nvJitLink's, by its value.
type Linker = usize;
type Kind = c_int;

const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const INTERNAL: c_int = 6;

const PTX: Kind = 2;
const LTOIR: Kind = 3;
const LIBRARY: Kind = 6;

/// The device's part of the CUDA runtime, whose functions softcuda has itself.
const RUNTIME: &str = "cudadevrt";

/// What was put into a linker that makes machine code.
#[derive(Clone, Default)]
struct Wanted {
    options: Options,
    architecture: u32,
    texts: Vec<Text>,
    /// For link time optimisation.
    intermediate: Vec<Vec<u8>>,
    /// Something of which the PTX is not known.
    has_others: bool,
    /// What is handed out.
    image: Option<Vec<u8>>,
}

static WANTED: Mutex<Option<HashMap<Linker, Wanted>>> = Mutex::new(None);

fn wanted() -> MutexGuard<'static, Option<HashMap<Linker, Wanted>>> {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with what was put into a linker; `None` of one that makes no machine code.
fn with<R>(linker: Linker, act: impl FnOnce(&mut Wanted) -> R) -> Option<R> {
    wanted().as_mut()?.get_mut(&linker).map(act)
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkCreate(
    linker: *mut Linker,
    count: u32,
    texts: *const *const c_char,
) -> c_int {
    let result = create(linker, count, texts);
    // SAFETY: the caller's promise.
    let options = unsafe { Options::read(count as c_int, texts) };
    if let Some(options) = options.filter(|options| result == SUCCESS && !options.has("-ptx"))
        && let Some(architecture) = options.real_architecture()
    {
        let new = Wanted { options, architecture, ..Wanted::default() };
        // SAFETY: the call has succeeded, and has written it.
        wanted().get_or_insert_default().insert(unsafe { *linker }, new);
    }
    result
}

fn create(linker: *mut Linker, count: u32, texts: *const *const c_char) -> c_int {
    real!(nvJitLinkCreate(*mut Linker, u32, *const *const c_char) or INTERNAL; linker, count, texts)
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkDestroy(linker: *mut Linker) -> c_int {
    if !linker.is_null() {
        // SAFETY: the caller's promise.
        wanted().get_or_insert_default().remove(&unsafe { *linker });
    }
    destroy(linker)
}

fn destroy(linker: *mut Linker) -> c_int {
    real!(nvJitLinkDestroy(*mut Linker) or INTERNAL; linker)
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkAddData(
    linker: Linker,
    kind: Kind,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> c_int {
    if data.is_null() || size == 0 {
        return add(linker, kind, data, size, name);
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    put(linker, kind, bytes, name)
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkAddFile(linker: Linker, kind: Kind, name: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let path = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy());
    let add_file = || real!(nvJitLinkAddFile(Linker, Kind, *const c_char) or INTERNAL; linker, kind, name);
    let Some(path) = path.filter(|_| kind != LIBRARY) else {
        let is_runtime = kind == LIBRARY && path_has(name, RUNTIME);
        with(linker, |wanted| wanted.has_others |= !is_runtime);
        return add_file();
    };
    match std::fs::read(&*path) {
        Ok(bytes) if !bytes.is_empty() => put(linker, kind, &bytes, name),
        _ => add_file(),
    }
}

fn path_has(name: *const c_char, part: &str) -> bool {
    // SAFETY: NULL, or a terminated text of the caller's.
    !name.is_null() && unsafe { CStr::from_ptr(name) }.to_string_lossy().contains(part)
}

fn add(linker: Linker, kind: Kind, data: *const c_void, size: usize, name: *const c_char) -> c_int {
    real!(nvJitLinkAddData(Linker, Kind, *const c_void, usize, *const c_char) or INTERNAL; linker, kind, data, size, name)
}

fn add_bytes(linker: Linker, kind: Kind, bytes: &[u8], name: *const c_char) -> c_int {
    add(linker, kind, bytes.as_ptr().cast(), bytes.len(), name)
}

/// Puts an input into a linker. One that was handed out in place of machine code is PTX for the real linker.
fn put(linker: Linker, kind: Kind, bytes: &[u8], name: *const c_char) -> c_int {
    if let Some(texts) = cubin::unpack(bytes) {
        for text in &texts {
            let terminated = [&text.ptx[..], &[0]].concat();
            let result = add_bytes(linker, PTX, &terminated, name);
            if result != SUCCESS {
                return result;
            }
        }
        with(linker, |wanted| wanted.texts.extend(texts));
        return SUCCESS;
    }
    let result = add_bytes(linker, kind, bytes, name);
    if result == SUCCESS {
        with(linker, |wanted| match what_is(kind, bytes) {
            PTX => {
                let ptx = bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
                wanted.texts.push(Text { ptx, most_registers: wanted.options.most_registers() });
            }
            LTOIR => wanted.intermediate.push(bytes.to_vec()),
            _ => wanted.has_others = true,
        });
    }
    result
}

/// The kind of an input: `NVJITLINK_INPUT_ANY` leaves it to the linker to see.
fn what_is(kind: Kind, bytes: &[u8]) -> Kind {
    const ANY: Kind = 10;
    const INTERMEDIATE: [u8; 4] = 0x7f4e_43ed_u32.to_le_bytes();
    match kind {
        ANY if bytes.starts_with(&INTERMEDIATE) => LTOIR,
        ANY if bytes.windows(8).any(|word| word == b".version") && !bytes.starts_with(b"\x7fELF") => PTX,
        kind => kind,
    }
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkComplete(linker: Linker) -> c_int {
    let result = complete(linker);
    if result == SUCCESS
        && let Some(linked) = with(linker, |wanted| wanted.clone()).filter(|wanted| !wanted.has_others)
        && let Some(image) = image_of(&linked)
    {
        with(linker, |wanted| wanted.image = Some(image));
    }
    result
}

fn complete(linker: Linker) -> c_int {
    real!(nvJitLinkComplete(Linker) or INTERNAL; linker)
}

/// What is handed out for what was put in.
fn image_of(wanted: &Wanted) -> Option<Vec<u8>> {
    let mut texts = wanted.texts.clone();
    if !wanted.intermediate.is_empty() {
        let ptx = optimised(wanted)?;
        texts.push(Text { ptx, most_registers: wanted.options.most_registers() });
    }
    Some(cubin::pack(&texts, wanted.architecture))
}

/// The PTX of the inputs for link time optimisation.
fn optimised(wanted: &Wanted) -> Option<Vec<u8>> {
    let texts = wanted.options.with("-ptx").texts();
    let texts: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    let mut linker: Linker = 0;
    if create(&raw mut linker, texts.len() as u32, texts.as_ptr()) != SUCCESS {
        return None;
    }
    let mut inputs = wanted.intermediate.iter();
    let is_linked = inputs.all(|input| add_bytes(linker, LTOIR, input, c"input".as_ptr()) == SUCCESS)
        && complete(linker) == SUCCESS;
    let ptx = is_linked.then(|| linked_ptx(linker)).flatten();
    destroy(&raw mut linker);
    ptx
}

fn linked_ptx(linker: Linker) -> Option<Vec<u8>> {
    let mut size = 0usize;
    let code = real!(nvJitLinkGetLinkedPtxSize(Linker, *mut usize) or INTERNAL; linker, &raw mut size);
    let mut ptx = vec![0u8; (code == SUCCESS).then_some(size)?];
    let code = real!(nvJitLinkGetLinkedPtx(Linker, *mut u8) or INTERNAL; linker, ptx.as_mut_ptr());
    let end = ptx.iter().position(|byte| *byte == 0).unwrap_or(ptx.len());
    ptx.truncate(end);
    (code == SUCCESS).then_some(ptx)
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkGetLinkedCubinSize(linker: Linker, size: *mut usize) -> c_int {
    let Some(length) = with(linker, |wanted| wanted.image.as_ref().map(Vec::len)).flatten() else {
        return real!(nvJitLinkGetLinkedCubinSize(Linker, *mut usize) or INTERNAL; linker, size);
    };
    if size.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller's promise.
    unsafe { size.write(length) };
    SUCCESS
}

/// # Safety
/// As nvJitLink has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvJitLinkGetLinkedCubin(linker: Linker, place: *mut u8) -> c_int {
    let Some(image) = with(linker, |wanted| wanted.image.clone()).flatten() else {
        return real!(nvJitLinkGetLinkedCubin(Linker, *mut u8) or INTERNAL; linker, place);
    };
    if place.is_null() {
        return INVALID_INPUT;
    }
    // SAFETY: the caller has as many bytes there as `nvJitLinkGetLinkedCubinSize` has said.
    unsafe { place.copy_from_nonoverlapping(image.as_ptr(), image.len()) };
    SUCCESS
}
