//! The linker: several inputs become one image, which is loaded like any other. Its inputs are texts, or what has texts in it.

use super::file;
use super::image::{self, Image, Text};
use super::jit::Options;
use super::program::Program;
use crate::abi::Answer;
use crate::abi::pointer::{In, Out};
use crate::abi::sys::{
    CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_FATBINARY, CU_JIT_INPUT_LIBRARY, CU_JIT_INPUT_OBJECT, CU_JIT_INPUT_PTX,
    CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_SOURCE, CUDA_ERROR_INVALID_VALUE,
    CUjit_option, CUjitInputType, CUlinkState, CUresult,
};
use crate::driver::context::current::current;
use crate::driver::handle::{Object, Table};
use crate::instruments::live;
use parking_lot::Mutex;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

static LINKERS: Table<Linker> = Table::new();

/// A linker under way.
struct Linker {
    handle: usize,
    options: Lent,
    state: Mutex<State>,
}

/// The caller's buffers for the logs.
struct Lent(Options);

// SAFETY: addresses, which the caller promises for as long as the linker lives, and for any thread that uses it.
unsafe impl Send for Lent {}
// SAFETY: as above; a report is written under the linker's lock.
unsafe impl Sync for Lent {}

#[derive(Default)]
struct State {
    texts: Vec<Text>,
    /// The image, once it is complete: nothing is added then.
    image: Option<Box<[u8]>>,
}

impl Object for Linker {
    fn report(&self) -> Option<live::Object> {
        let (kind, name) = (live::LINKER, self.handle);
        Some(live::Object { kind, name, bytes: 0, device: None, context: None, label: None })
    }
}

impl Linker {
    fn of(handle: CUlinkState) -> Result<Arc<Self>, CUresult> {
        LINKERS.get(handle as usize).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    /// An input's own options go before those of the linker.
    fn add(&self, image: Image, options: &Options) -> Answer {
        let mut state = self.state.lock();
        if state.image.is_some() {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        match image {
            Image::Ptx(text) => match Program::check(&text) {
                Ok(()) => {
                    let most_registers = options.most_registers.or(self.options.0.most_registers);
                    state.texts.push(Text::new(text, most_registers));
                }
                Err((answer, log)) => return self.refuse(answer, &log),
            },
            Image::Linked(texts) => state.texts.extend(texts),
            Image::NoPtx(_) | Image::Unknown => {
                let program = Program::compile(&image, None);
                return self.refuse(program.code().err().unwrap_or(CUDA_ERROR_INVALID_VALUE), &program.log);
            }
        }
        Ok(())
    }

    fn refuse(&self, answer: CUresult, log: &str) -> Answer {
        self.options.0.report(log);
        Err(answer)
    }

    /// Where the image is, and its size. What is missing, or there twice, is found out here: each text alone is right.
    fn complete(&self) -> Result<(*mut c_void, usize), CUresult> {
        let mut state = self.state.lock();
        if state.image.is_none() {
            let image = Image::Linked(state.texts.clone());
            let program = Program::compile(&image, None);
            self.options.0.report(&program.log);
            program.code().map_err(|answer| match answer {
                CUDA_ERROR_INVALID_PTX => CUDA_ERROR_INVALID_SOURCE,
                other => other,
            })?;
            let foreign = self.options.0.foreign;
            state.image = Some(if foreign { image::foreign() } else { image::pack(&state.texts) });
        }
        let image = state.image.as_deref().unwrap_or_default();
        Ok((image.as_ptr().cast_mut().cast(), image.len()))
    }
}

/// What an input of a type is.
fn input(kind: CUjitInputType, bytes: &[u8]) -> Result<Image, CUresult> {
    match kind {
        CU_JIT_INPUT_PTX => Ok(Image::of_text(bytes.split(|byte| *byte == 0).next().unwrap_or_default())),
        CU_JIT_INPUT_CUBIN | CU_JIT_INPUT_FATBINARY | CU_JIT_INPUT_OBJECT | CU_JIT_INPUT_LIBRARY => {
            Ok(Image::of_bytes(bytes))
        }
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}

pub(crate) fn cuLinkCreate(
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
    stateOut: Out<CUlinkState>,
) -> Answer {
    cuLinkCreate_v2(numOptions, options, optionValues, stateOut)
}

pub(crate) fn cuLinkCreate_v2(
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
    stateOut: Out<CUlinkState>,
) -> Answer {
    current()?;
    stateOut.check()?;
    let options = Lent(Options::read(numOptions, options, optionValues)?);
    let linker = LINKERS.add(|handle| Linker { handle, options, state: Mutex::default() });
    stateOut.set(linker.handle as CUlinkState)
}

#[allow(clippy::too_many_arguments)] // the driver's
pub(crate) fn cuLinkAddData(
    state: CUlinkState,
    type_: CUjitInputType,
    data: *mut c_void,
    size: usize,
    name: In<c_char>,
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
) -> Answer {
    cuLinkAddData_v2(state, type_, data, size, name, numOptions, options, optionValues)
}

#[allow(clippy::too_many_arguments)] // the driver's
pub(crate) fn cuLinkAddData_v2(
    state: CUlinkState,
    type_: CUjitInputType,
    data: *mut c_void,
    size: usize,
    _name: In<c_char>,
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
) -> Answer {
    let linker = Linker::of(state)?;
    let options = Options::read_for_device(numOptions, options, optionValues)?;
    if size == 0 || size as u64 > file::MOST {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    linker.add(input(type_, In::untyped(data).bytes(size)?)?, &options)
}

pub(crate) fn cuLinkAddFile(
    state: CUlinkState,
    type_: CUjitInputType,
    path: In<c_char>,
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
) -> Answer {
    cuLinkAddFile_v2(state, type_, path, numOptions, options, optionValues)
}

pub(crate) fn cuLinkAddFile_v2(
    state: CUlinkState,
    type_: CUjitInputType,
    path: In<c_char>,
    numOptions: u32,
    options: Out<CUjit_option>,
    optionValues: Out<*mut c_void>,
) -> Answer {
    let linker = Linker::of(state)?;
    let options = Options::read_for_device(numOptions, options, optionValues)?;
    linker.add(input(type_, &file::read(path.text()?)?)?, &options)
}

pub(crate) fn cuLinkComplete(state: CUlinkState, cubinOut: Out<*mut c_void>, sizeOut: Out<usize>) -> Answer {
    let linker = Linker::of(state)?;
    cubinOut.check()?;
    let (image, size) = linker.complete()?;
    cubinOut.set(image)?;
    sizeOut.set_if_wanted(size);
    Ok(())
}

/// The image goes with it.
pub(crate) fn cuLinkDestroy(state: CUlinkState) -> Answer {
    LINKERS.remove(state as usize).map(drop).ok_or(CUDA_ERROR_INVALID_HANDLE)
}
