//! CUDA C++, compiled when the program runs.
//!
//! @header cushim.h
//! @task compile CUDA C++

use super::context::cushim_context;
use super::device::cushim_device;
use super::driver::cushim_driver;
use super::driver_types::Driver;
use super::error::{call, cushim_status, long_call};
use super::handles::{self, Incomplete, enter, enter_anywhere, get, hold, hold_all, keep, owned};
use super::options::OutStruct;
use super::{input, options, out, text};
use crate::compile::{CodeKind, Compiled, Compiler, Link, Linker, Source};
use crate::kernel::image::MOST_BYTES;
use crate::object::error::{Error, Status};
use crate::object::handle::{Header, object};
use std::ffi::{c_char, c_void};
use std::fmt;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::Arc;

/// CUDA C++ that was compiled, or programs that were linked: code, what the compiler said, and the names that it
/// gave. It belongs to no context, and needs the compiler no more.
///
/// @driver any
pub type cushim_program = *mut cushim_program_s;

/// Never given a body.
pub struct cushim_program_s {
    _private: [u8; 0],
}

impl Incomplete for cushim_program_s {
    type Object = ProgramObject;
}

/// What stands behind a `cushim_program`.
pub(crate) struct ProgramObject {
    header: Header,
    compiled: Compiled,
}

object!(ProgramObject: Program, header);

impl ProgramObject {
    fn new(compiled: Compiled) -> Arc<Self> {
        Arc::new(Self { header: Header::new::<Self>(), compiled })
    }

    pub(in crate::capi) fn compiled(&self) -> &Compiled {
        &self.compiled
    }
}

impl fmt::Display for ProgramObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.header.label() {
            Some(label) => write!(f, "program \"{label}\""),
            None => f.write_str("program"),
        }
    }
}

/// In which form code is.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_code_kind {
    /// What is best for the device: a cubin, or PTX on softcuda, and where the compiler is older than the device.
    CUSHIM_CODE_DEFAULT = 0,
    /// Text that the driver compiles when it is loaded: for devices of the architecture and newer ones, and for drivers
    /// of the compiler's CUDA version and newer ones.
    CUSHIM_CODE_PTX = 1,
    /// Machine code: for devices of one major compute capability, and for drivers of the compiler's CUDA major version
    /// and newer ones.
    CUSHIM_CODE_CUBIN = 2,
    /// The compiler's intermediate form, which is not loaded: `cushim_program_link` links it (a compiler of CUDA 12.0
    /// or newer).
    CUSHIM_CODE_LTO_IR = 3,
}

/// Flags of `cushim_compile_options`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum cushim_compile_flags {
    /// Neither take code from disk nor keep it there.
    CUSHIM_COMPILE_UNCACHED = 1,
}

/// A header that a source includes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_compile_header {
    /// The name by which it is included.
    pub name: *const c_char,
    /// Its text, in UTF-8.
    pub text: *const c_char,
}

/// Options of `cushim_program_compile`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_compile_options {
    /// Bytes of this struct, `sizeof(cushim_compile_options)`.
    pub struct_size: usize,
    /// @field[enum(cushim_code_kind)] In which form the code is to be.
    pub kind: i32,
    /// @field[flags(cushim_compile_flags)] Flags.
    pub flags: u32,
    /// @field[nullable] What messages of the compiler call the source; NULL means "source.cu".
    pub name: *const c_char,
    /// @field[nullable] The path of the compiler, a library; NULL means the one that
    ///   `cushim_driver_find_compiler` finds.
    pub compiler: *const c_char,
    /// @field[nullable, array(option_count)] Options of NVRTC's, such as "--std=c++17"; NULL if there are none. One that
    ///   names an architecture takes the place of the device's.
    pub options: *const *const c_char,
    /// The number of options.
    pub option_count: usize,
    /// @field[nullable, array(header_count)] Headers that the source includes by name; NULL if there are none.
    pub headers: *const cushim_compile_header,
    /// The number of headers.
    pub header_count: usize,
    /// Bytes from one header to the next; 0 means `sizeof(cushim_compile_header)`.
    pub header_stride: usize,
    /// @field[nullable, array(name_expression_count)] Kernels and variables as C++ names them, such as "scale<float>";
    ///   NULL if there are none. The compiler instantiates templates that are named.
    pub name_expressions: *const *const c_char,
    /// The number of name expressions.
    pub name_expression_count: usize,
}

/// Code that is linked with programs, and was not compiled here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_link_code {
    /// @field[bytes(size)] PTX, a cubin, a fatbin, LTO IR, an object of nvcc's, or a library of those; which it is shows
    ///   from its bytes.
    pub code: *const c_void,
    /// Bytes of the code.
    pub size: usize,
    /// What messages call it.
    pub name: *const c_char,
}

/// Options of `cushim_program_link`. Zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_link_options {
    /// Bytes of this struct, `sizeof(cushim_link_options)`.
    pub struct_size: usize,
    /// @field[enum(cushim_code_kind)] In which form the code is to be: a cubin, or PTX, which is made of LTO IR only. By
    ///   default a cubin, or of LTO IR on softcuda PTX.
    pub kind: i32,
    /// Zero.
    pub reserved: u32,
    /// @field[nullable] What messages call the result; NULL means "linked".
    pub name: *const c_char,
    /// @field[nullable] The path of nvJitLink, a library; NULL means the one that is found.
    pub linker: *const c_char,
    /// @field[nullable, array(option_count)] Options of nvJitLink's, such as "-O3"; NULL if there are none. One that
    ///   names an architecture takes the place of the device's. The driver's own linker takes none; softcuda's reads
    ///   none.
    pub options: *const *const c_char,
    /// The number of options.
    pub option_count: usize,
    /// @field[nullable, array(code_count)] Code that is linked besides the programs; NULL if there is none.
    pub codes: *const cushim_link_code,
    /// The number of these.
    pub code_count: usize,
    /// Bytes from one code to the next; 0 means `sizeof(cushim_link_code)`.
    pub code_stride: usize,
}

/// What a program is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cushim_program_properties {
    /// In: bytes of the caller's struct, `sizeof(cushim_program_properties)`. Out: bytes written.
    pub struct_size: usize,
    /// @field[enum(cushim_code_kind)] In which form the code is.
    pub kind: i32,
    /// Whether it was taken from disk: 1 or 0.
    pub was_cached: i32,
    /// Bytes of the code.
    pub size: usize,
    /// The CUDA version of the compiler, or of the linker: 12080 is CUDA 12.8.
    pub compiler_version: u32,
    /// Zero.
    pub reserved: u32,
    /// The architecture that it was made for, as NVRTC names it: "sm_90", or "compute_90" for PTX.
    pub architecture: [c_char; 32],
}

/// The most bytes of a source or a header.
const MOST_OF_SOURCE: usize = 1 << 28;

/// The most headers: the libraries of CUDA C++ have some thousands.
const MOST_HEADERS: usize = 1 << 16;

const UNCACHED: u32 = cushim_compile_flags::CUSHIM_COMPILE_UNCACHED as u32;

fn code_kind(number: i32) -> Result<Option<CodeKind>, Error> {
    Ok(match number {
        n if n == cushim_code_kind::CUSHIM_CODE_DEFAULT as i32 => None,
        n if n == cushim_code_kind::CUSHIM_CODE_PTX as i32 => Some(CodeKind::Ptx),
        n if n == cushim_code_kind::CUSHIM_CODE_CUBIN as i32 => Some(CodeKind::Cubin),
        n if n == cushim_code_kind::CUSHIM_CODE_LTO_IR as i32 => Some(CodeKind::LtoIr),
        _ => {
            let refusal = format!("kind is {number}; use a cushim_code_kind, 0 for the default");
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
    })
}

fn told_kind(kind: CodeKind) -> i32 {
    let told = match kind {
        CodeKind::Ptx => cushim_code_kind::CUSHIM_CODE_PTX,
        CodeKind::Cubin => cushim_code_kind::CUSHIM_CODE_CUBIN,
        CodeKind::LtoIr => cushim_code_kind::CUSHIM_CODE_LTO_IR,
    };
    told as i32
}

/// A text of the compiler's, byte for byte.
///
/// # Safety
/// `text` is NULL or ends in NUL.
unsafe fn exact(text: *const c_char, what: &str) -> Result<String, Error> {
    // SAFETY: the caller vouches for it.
    let bytes = unsafe { text::bytes_of_at_most(MOST_OF_SOURCE, text, what) }?;
    bytes.to_str().map(str::to_owned).map_err(|error| {
        let refusal = format!("{what} is not UTF-8: byte {} is none of its characters", error.valid_up_to());
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}

/// Texts of the caller's.
///
/// # Safety
/// `texts` is NULL or has so many elements, each of which is NULL or ends in NUL.
unsafe fn exact_all(texts: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>, Error> {
    // SAFETY: the caller vouches for both.
    unsafe { input::array_if_any(texts, count, what, |text| exact(*text, what)) }
}

/// A source with its options, and the compiler that is named.
///
/// # Safety
/// `source` is NULL or ends in NUL; `options` is NULL or valid for the bytes that its `struct_size` names, its arrays are as
/// long as it says, and its texts end in NUL.
unsafe fn source_of(
    source: *const c_char,
    options: *const cushim_compile_options,
) -> Result<(Source, Option<String>), Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_flags(given.flags, UNCACHED)?;
    // SAFETY: the caller vouches for `source`.
    let text = unsafe { exact(source, "source") }?;
    let mut source = Source::new(text).cached(given.flags & UNCACHED == 0);
    if let Some(kind) = code_kind(given.kind)? {
        source = source.kind(kind);
    }
    // SAFETY: the caller vouches for the members.
    let (name, compiler, texts, expressions, headers) = unsafe {
        (
            text::given(given.name, "name")?,
            text::given(given.compiler, "compiler")?,
            exact_all(given.options, given.option_count, "options")?,
            exact_all(given.name_expressions, given.name_expression_count, "name_expressions")?,
            options::array_of_at_most(
                MOST_HEADERS,
                given.headers,
                given.header_count,
                given.header_stride,
                "headers",
            )?,
        )
    };
    if let Some(name) = name {
        source = source.name(name);
    }
    for (index, header) in headers.enumerate() {
        // SAFETY: the caller vouches for both.
        let (name, text) = unsafe {
            let of_item = |error: Error| error.of_item("header", index);
            (
                exact(header.name, "its name").map_err(of_item)?,
                exact(header.text, "its text").map_err(of_item)?,
            )
        };
        source = source.header(name, text);
    }
    source = texts.into_iter().fold(source, Source::option);
    source = expressions.into_iter().fold(source, Source::name_expression);
    Ok((source, compiler.map(|path| path.into_owned())))
}

/// Compiles CUDA C++ for a device with NVRTC, NVIDIA's compiler as a library, which is loaded now, if it was not
/// before. Nothing else of a CUDA toolkit is needed; headers of CUDA's, such as cuda_fp16.h, are found where they are
/// beside the compiler. `cushim_library_load_program` loads what came of it.
///
/// What was compiled before, of the same source with the same options by the same compiler for the same architecture,
/// is taken from disk: from the folder that `CUSHIM_CACHE` names, or else `$XDG_CACHE_HOME/cushim` or
/// `~/.cache/cushim`; `CUSHIM_CACHE=off` keeps nothing. Several processes may use the folder. It is kept below
/// 256 MiB, or below what `CUSHIM_CACHE_SIZE` says ("2G"): what was not used for the longest time is removed. A source
/// that includes files of its own is compiled each time; headers in the options are no files.
///
/// @param[in] device The device.
/// @param[in] source The source, in UTF-8.
/// @param[in, nullable] options The options.
/// @param[out, owned] program The program.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for a source with errors, of which `driver_log` of the error has all that
///   the compiler says, for options that the compiler does not know, and for texts that are not UTF-8;
///   `CUSHIM_ERROR_UNSUPPORTED` if there is no compiler whose code the driver takes, where the message says what to
///   install, or the compiler does not know the device.
/// @driver any
///
/// # Safety
/// `source` is NULL or ends in NUL; `options` is NULL or valid for the bytes that its `struct_size` names, its arrays are
/// as long as it says, and its texts end in NUL; `program` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_compile(
    device: cushim_device,
    source: *const c_char,
    options: *const cushim_compile_options,
    program: *mut cushim_program,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `program`.
        let program = unsafe { out::cleared(program, null_mut(), "program") }?;
        // SAFETY: the caller vouches for `source` and `options`.
        let (source, compiler) = unsafe { source_of(source, options) }?;
        let device = hold(device)?;
        *program = owned(|| {
            let compiled = match compiler {
                Some(path) => Compiler::open(path)?.compile(&source, &device),
                None => source.compile(&device),
            }?;
            Ok(ProgramObject::new(compiled))
        })?;
        Ok(())
    })
}

/// Finds the compiler that `cushim_program_compile` uses for devices of a driver, and loads it: the library that
/// `CUSHIM_NVRTC` names, or else the newest that is found and whose code the driver takes. It is looked for by name,
/// as the loader does; in the Python packages `nvidia-cuda-nvrtc-cu12` and `nvidia-cuda-nvrtc` of the environment;
/// and in CUDA toolkits.
///
/// @param[in] driver The driver.
/// @param[out, nullable] version Receives the CUDA version of the compiler: 12080 is CUDA 12.8.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the path of the library.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole path takes.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if none is found; the message says what to install, and what was tried.
/// @driver any
///
/// # Safety
/// `version` and `needed` are NULL or valid for writes; `buffer` is valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_find_compiler(
    driver: cushim_driver,
    version: *mut u32,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for all three.
    unsafe {
        find(driver, version, buffer, size, needed, |driver| {
            let compiler = Compiler::find(driver)?;
            Ok((compiler.version(), compiler.path().to_owned()))
        })
    }
}

/// Links programs to one, for the device of a context: functions and variables of one may be declared in another.
/// Sources that become PTX or cubins are compiled for that with the option "-rdc=true"; LTO IR
/// (`CUSHIM_CODE_LTO_IR`) is optimised as one. `cushim_library_load_program` loads what came of it, in which the name
/// expressions of all programs name the same.
///
/// nvJitLink links, NVIDIA's linker as a library, of the same major version as the compilers and as new as they are.
/// It is loaded now, if it was not before: `cushim_driver_find_linker` says from where. Where none is found, the
/// driver links what is no LTO IR (`cuLinkCreate`). On softcuda, which runs PTX, its own linker links, and nvJitLink
/// only LTO IR.
///
/// Nothing of it is kept on disk.
///
/// @param[in] context The context.
/// @param[in, array(program_count), nullable_if_zero(program_count)] programs The programs; they stay as they are.
/// @param[in] program_count The number of programs; 0 only if the options have code.
/// @param[in, nullable] options The options.
/// @param[out, owned] linked The program that they became.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` if there is nothing to link, for code that is cut off or of no known form,
///   for options that the linker does not know, and if something is missing or there twice, of which `driver_log` of
///   the error has all; a result of the driver's linker; `CUSHIM_ERROR_UNSUPPORTED` for LTO IR, and for options, if
///   there is no nvJitLink that fits: the message says what to install.
/// @driver any
///
/// # Safety
/// `programs` is NULL or has so many elements; `options` is NULL or valid for the bytes that its `struct_size` names, its
/// arrays are as long as it says, each code has as many bytes as it says, and its texts end in NUL; `linked` is NULL or
/// valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_link(
    context: cushim_context,
    programs: *const cushim_program,
    program_count: usize,
    options: *const cushim_link_options,
    linked: *mut cushim_program,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for `linked`.
        let linked = unsafe { out::cleared(linked, null_mut(), "linked") }?;
        // SAFETY: the caller vouches for `options`.
        let (link, codes) = unsafe { link_of(options) }?;
        let (context, programs) = hold_all(|guard| {
            let context = keep(guard, context)?;
            // SAFETY: the caller vouches for the array.
            let programs = unsafe {
                input::array_if_any(programs, program_count, "programs", |program| keep(guard, *program))
            }?;
            Ok((context, programs))
        })?;
        *linked = owned(|| {
            let link = programs.iter().fold(link, |link, program| link.program(program.compiled()));
            let link = codes.into_iter().try_fold(link, |link, (name, bytes)| link.code(name, bytes))?;
            Ok(ProgramObject::new(link.link(&context)?))
        })?;
        Ok(())
    })
}

/// A code of the caller's, by its name.
type Code = (String, Vec<u8>);

/// What is linked, without its programs, and code besides.
///
/// # Safety
/// `options` is NULL or valid for the bytes that its `struct_size` names, its arrays are as long as it says, each code has
/// as many bytes as it says, and its texts end in NUL.
unsafe fn link_of(options: *const cushim_link_options) -> Result<(Link, Vec<Code>), Error> {
    // SAFETY: the caller vouches for `options`; all its members may be zero.
    let given = unsafe { options::read(options, "options") }?;
    options::check_reserved(given.reserved)?;
    let mut link = Link::new();
    if let Some(kind) = code_kind(given.kind)? {
        link = link.kind(kind);
    }
    // SAFETY: the caller vouches for the members.
    let (name, linker, texts, codes) = unsafe {
        (
            text::given(given.name, "name")?,
            text::given(given.linker, "linker")?,
            exact_all(given.options, given.option_count, "options")?,
            options::array_of_at_most(
                MOST_HEADERS,
                given.codes,
                given.code_count,
                given.code_stride,
                "codes",
            )?,
        )
    };
    if let Some(name) = name {
        link = link.name(name);
    }
    if let Some(path) = linker {
        link = link.linker(path.as_ref());
    }
    link = texts.into_iter().fold(link, Link::option);
    let code = |(index, code): (usize, cushim_link_code)| {
        // SAFETY: the caller vouches for the name and the bytes.
        let (name, bytes) = unsafe {
            let most = MOST_BYTES as usize;
            (
                exact(code.name, "its name"),
                input::slice_of_at_most::<u8>(most, code.code.cast(), code.size, "its code"),
            )
        };
        let of_item = |error: Error| error.of_item("code", index);
        Ok((name.map_err(of_item)?, bytes.map_err(of_item)?.to_vec()))
    };
    let codes: Result<Vec<Code>, Error> = codes.enumerate().map(code).collect();
    Ok((link, codes?))
}

/// Finds the linker that `cushim_program_link` uses for contexts of a driver, and loads it: the library that
/// `CUSHIM_NVJITLINK` names, or else the newest that is found and whose cubins the driver takes. It is looked for by
/// name, as the loader does; in the Python packages `nvidia-nvjitlink-cu12` and `nvidia-nvjitlink` of the environment;
/// and in CUDA toolkits. For programs of a compiler, one of its major version is looked for.
///
/// @param[in] driver The driver.
/// @param[out, nullable] version Receives the CUDA version of the linker: 12080 is CUDA 12.8.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the path of the library.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole path takes.
/// @errors `CUSHIM_ERROR_UNSUPPORTED` if none is found; the message says what to install, and what was tried.
/// @driver any
///
/// # Safety
/// `version` and `needed` are NULL or valid for writes; `buffer` is valid for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_driver_find_linker(
    driver: cushim_driver,
    version: *mut u32,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    // SAFETY: the caller vouches for all three.
    unsafe {
        find(driver, version, buffer, size, needed, |driver| {
            let linker = Linker::find(driver)?;
            Ok((linker.version(), linker.path().to_owned()))
        })
    }
}

/// Tells a library that is found, and its version.
///
/// # Safety
/// `version` and `needed` are NULL or valid for writes; `buffer` is valid for writes of `size` bytes.
unsafe fn find(
    driver: cushim_driver,
    version: *mut u32,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
    look: impl FnOnce(&Driver) -> Result<((u32, u32), PathBuf), Error>,
) -> cushim_status {
    long_call(|| {
        // SAFETY: the caller vouches for all three.
        let (version, room) =
            unsafe { (out::cleared_if_given(version, 0, "version"), text::Room::new(buffer, size, needed)) };
        let (version, mut room) = out::both(version, room)?;
        let guard = enter()?;
        let driver = get(&guard, driver)?.driver.clone();
        drop(guard);
        let (found, path) = look(&driver)?;
        out::put(version, number_of(found));
        room.write(&path.to_string_lossy());
        Ok(())
    })
}

/// A version as CUDA numbers it.
fn number_of((major, minor): (u32, u32)) -> u32 {
    major * 1000 + minor * 10
}

/// Returns one more owning handle of a program.
///
/// @param[in] program The program.
/// @param[out, owned] reference The new handle.
///
/// # Safety
/// `reference` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_ref(
    program: cushim_program,
    reference: *mut cushim_program,
) -> cushim_status {
    // SAFETY: the caller vouches for `reference`.
    unsafe { handles::reference(program, reference) }
}

/// Destroys an owning handle of a program. Libraries that were loaded from it stay as they are.
///
/// @param[in, ended, nullable] program The handle; NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn cushim_program_destroy(program: cushim_program) -> cushim_status {
    handles::destroy_anywhere(program)
}

/// Tells what a program is: in which form its code is, for which architecture and by which compiler.
///
/// @param[in] program The program.
/// @param[inout] properties Receives the properties.
///
/// # Safety
/// `properties` is NULL or valid for writes of the bytes that its `struct_size` names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_get_properties(
    program: cushim_program,
    properties: *mut cushim_program_properties,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for `properties`.
        let properties = unsafe { OutStruct::cleared(properties, "properties") }?;
        let guard = enter_anywhere()?;
        let lent = get(&guard, program)?;
        let compiled = lent.compiled();
        let mut full = cushim_program_properties {
            struct_size: size_of::<cushim_program_properties>(),
            kind: told_kind(compiled.kind()),
            was_cached: i32::from(compiled.was_cached()),
            size: compiled.bytes().len(),
            compiler_version: number_of(compiled.compiler_version()),
            reserved: 0,
            architecture: [0; 32],
        };
        let size = full.architecture.len();
        let name = text::cut(compiled.architecture(), size);
        full.architecture.iter_mut().zip(name).for_each(|(to, from)| *to = from as c_char);
        properties.fill(&full);
        Ok(())
    })
}

/// Copies the code of a program: PTX without a NUL, or the bytes of a cubin or of LTO IR.
///
/// @param[in] program The program.
/// @param[out, bytes(size), nullable_if_zero(size)] code Receives the code.
/// @param[in] size Bytes of the room: at least the code's, or 0 to learn only how many those are.
/// @param[out, nullable] needed Receives the bytes of the code.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT` for room that the code does not fit in.
///
/// # Safety
/// `code` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_get_code(
    program: cushim_program,
    code: *mut c_void,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for both.
        let (needed, room) = unsafe {
            (out::cleared_if_given(needed, 0, "needed"), out::array(code.cast::<u8>(), size, 0, "code"))
        };
        let (needed, room) = out::both(needed, room)?;
        let guard = enter_anywhere()?;
        let lent = get(&guard, program)?;
        let bytes = lent.compiled().bytes();
        if size > 0 && size < bytes.len() {
            let refusal = format!("there is room for {size} bytes, and the code has {}", bytes.len());
            return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
        }
        out::put(needed, bytes.len());
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    })
}

/// Copies what the compiler or the linker said of a program: warnings.
///
/// @param[in] program The program.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the messages; "" if there are none.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that all messages take.
///
/// # Safety
/// `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_get_log(
    program: cushim_program,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        let guard = enter_anywhere()?;
        room.write(get(&guard, program)?.compiled().log());
        Ok(())
    })
}

/// Copies the name that a kernel or variable has in the code of a program. `cushim_kernel_create` and
/// `cushim_library_get_global` take the expression itself, in libraries that were loaded from the program.
///
/// @param[in] program The program.
/// @param[in, example("kernel")] expression One of the name expressions that the program was compiled with.
/// @param[out, bytes(size), nullable_if_zero(size)] buffer Receives the name.
/// @param[in] size Bytes of the buffer.
/// @param[out, nullable] needed Receives the bytes that the whole name takes.
/// @errors `CUSHIM_ERROR_INVALID_ARGUMENT`, also for an expression that the program was not compiled with.
///
/// # Safety
/// `expression` is NULL or ends in NUL; `buffer` is valid for writes of `size` bytes; `needed` is NULL or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cushim_program_get_name(
    program: cushim_program,
    expression: *const c_char,
    buffer: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> cushim_status {
    call(|| {
        // SAFETY: the caller vouches for the buffer.
        let mut room = unsafe { text::Room::new(buffer, size, needed) }?;
        // SAFETY: the caller vouches for `expression`.
        let expression = unsafe { text::required(expression, "expression") }?;
        let guard = enter_anywhere()?;
        let lent = get(&guard, program)?;
        let compiled = lent.compiled();
        let name = compiled.lowered_name(&expression).ok_or_else(|| unknown(compiled, &expression))?;
        room.write(name);
        Ok(())
    })
}

#[cold]
fn unknown(compiled: &Compiled, expression: &str) -> Error {
    let known: Vec<&str> = compiled.name_expressions().collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let refusal = format!(
        "expression is \"{expression}\", and the name expressions of this program are: {known}. Pass it in name_expressions when the \
         program is compiled"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal)
}
