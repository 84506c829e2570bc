//! An image, compiled: what kernels and variables it has, in no context yet.

use super::adjusted::Adjusted;
use super::image::{Image, Text};
use super::native::{self, Native};
use super::parameter::Parameter;
use crate::abi::Answer;
use crate::abi::pointer::Out;
use crate::abi::sys::{
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_PTX,
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUresult,
};
use crate::driver::device::attributes::value;
use crate::driver::device::{self, Device};
use crate::driver::memory::table::Allocation;
use crate::instruments::settings::version;
use crate::ptx::{self, JitError, Refusal};
use std::ffi::CString;
use std::sync::Arc;

/// What became of an image. One that does not compile is a program all the same: a library of it can be had, and answers
/// with the error when it is used.
pub(crate) struct Program {
    code: Result<Code, CUresult>,
    /// What the compiler says of an error; "" if it has nothing to say.
    pub(crate) log: String,
    /// What was set of each kernel, for each device (measured).
    adjusted: Vec<Vec<Adjusted>>,
}

/// Code that can run.
pub(crate) struct Code {
    pub(crate) kernels: Vec<Entry>,
    pub(crate) variables: Vec<Variable>,
    /// What runs the kernels; `None` where all are native.
    pub(crate) engine: Option<ptx::Module>,
}

/// A kernel, as callers see it.
pub(crate) struct Entry {
    pub(crate) name: CString,
    pub(crate) parameters: Vec<Parameter>,
    /// Bytes of all parameters.
    pub(crate) parameter_bytes: usize,
    pub(crate) static_shared: u32,
    pub(crate) local_bytes: u32,
    pub(crate) constant_bytes: u32,
    pub(crate) registers: u32,
    /// The `.target` of the text: 70 for sm_70.
    pub(crate) target: u32,
    /// `.maxntid` or `.reqntid`, or what the device takes.
    pub(crate) most_threads: u32,
    /// `.reqntid`
    pub(crate) block: Option<[u32; 3]>,
    /// `.reqnctapercluster`
    pub(crate) cluster: Option<[u32; 3]>,
    /// What runs in its place.
    pub(crate) native: Option<Arc<Native>>,
}

/// A variable, as callers see it.
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) size: usize,
    pub(crate) managed: bool,
}

impl Program {
    /// Of kernels that are said to need no more registers than these. What was linked is compiled already, and has limits of its own.
    pub(crate) fn compile(image: &Image, most_registers: Option<u32>) -> Self {
        let (code, log) = match image {
            Image::Ptx(text) => Self::of_texts(&[Text::new(text.clone(), most_registers)]),
            Image::Linked(texts) => Self::of_texts(texts),
            Image::NoPtx(names) => match Code::of_natives(names) {
                Some(code) => (Ok(code), String::new()),
                None => (Err(CUDA_ERROR_NO_BINARY_FOR_GPU), no_ptx(names)),
            },
            Image::Unknown => (Err(CUDA_ERROR_INVALID_IMAGE), UNKNOWN.to_owned()),
        };
        let kernels = code.as_ref().map_or(0, |code| code.kernels.len());
        let of_device = |_| (0..kernels).map(|_| Adjusted::default()).collect();
        Self { code, log, adjusted: (0..device::count()).map(of_device).collect() }
    }

    fn of_texts(texts: &[Text]) -> (Result<Code, CUresult>, String) {
        match ptx::Module::link(texts, isa(version()), TARGET) {
            Ok(module) => (Ok(Code::of_module(module, texts)), String::new()),
            Err(error) => (Err(answer(&error)), log(&error)),
        }
    }

    /// Refuses a text that nothing can be linked with, with what the compiler says of it.
    pub(super) fn check(text: &str) -> Result<(), (CUresult, String)> {
        ptx::Module::check(text, isa(version()), TARGET).map_err(|error| (answer(&error), log(&error)))
    }

    /// The code, or why there is none.
    pub(crate) fn code(&self) -> Result<&Code, CUresult> {
        self.code.as_ref().map_err(|answer| *answer)
    }

    pub(crate) fn adjusted(&self, kernel: usize, device: Device) -> &Adjusted {
        &self.adjusted[device.ordinal()][kernel]
    }
}

impl Code {
    fn of_module(module: ptx::Module, texts: &[Text]) -> Self {
        let kernels = module.functions().iter().map(|function| Entry {
            registers: function.registers.min(texts[function.text].most_registers),
            ..Entry::of_function(function, module.target())
        });
        let variables = module.globals().iter().map(|global| Variable {
            name: global.name.clone(),
            size: global.size,
            managed: global.managed,
        });
        Self { kernels: kernels.collect(), variables: variables.collect(), engine: Some(module) }
    }

    /// Gives the variables their first values, where their memory is.
    pub(crate) fn initialise(&self, addresses: &[u64], memory: &[Arc<Allocation>]) -> Answer {
        let Some(module) = &self.engine else { return Ok(()) };
        for (global, allocation) in module.globals().iter().zip(memory) {
            allocation.clear();
            global.initialise(addresses, |offset, bytes| allocation.write(offset, bytes));
        }
        Ok(())
    }

    /// The kernels of these names that were registered. All that were, if the machine code does not say what it has.
    fn of_natives(names: &[String]) -> Option<Self> {
        let mut natives = native::all();
        natives.retain(|native| {
            let name = native.name.to_bytes();
            names.is_empty() || names.iter().any(|known| known.as_bytes() == name)
        });
        if natives.is_empty() {
            return None;
        }
        let kernels = natives.into_iter().map(Entry::of_native).collect();
        Some(Self { kernels, variables: Vec::new(), engine: None })
    }
}

impl Entry {
    /// Tells where a parameter stands; its size may not be wanted.
    pub(crate) fn tell_parameter(&self, index: usize, offset: Out<usize>, size: Out<usize>) -> Answer {
        let parameter = self.parameters.get(index).ok_or(CUDA_ERROR_INVALID_VALUE)?;
        offset.set(parameter.offset)?;
        size.set_if_wanted(parameter.size);
        Ok(())
    }

    fn of_function(function: &ptx::Function, target: u32) -> Self {
        let parameters = function.params.iter();
        Self {
            name: CString::new(function.name.as_str()).unwrap_or_default(),
            parameters: parameters.map(|p| Parameter { offset: p.offset, size: p.size }).collect(),
            parameter_bytes: function.param_bytes,
            static_shared: function.shared_bytes as u32,
            local_bytes: function.local_bytes as u32,
            constant_bytes: function.const_bytes as u32,
            registers: function.registers,
            target,
            most_threads: function.max_threads,
            block: function.required_block,
            cluster: function.required_cluster,
            native: native::named(function.name.as_bytes()),
        }
    }

    fn of_native(native: Arc<Native>) -> Self {
        let (parameters, parameter_bytes) = native.layout();
        Self {
            name: native.name.clone(),
            parameters,
            parameter_bytes,
            static_shared: 0,
            local_bytes: 0,
            constant_bytes: 0,
            registers: 32,
            target: TARGET,
            most_threads: value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) as u32,
            block: None,
            cluster: None,
            native: Some(native),
        }
    }
}

/// The devices are of compute capability 9.0.
pub(crate) const TARGET: u32 = 90;

/// The newest PTX that a driver of a version reads: 7.4 with 11.4 up to 9.0 with 13.0, by the release notes of PTX.
fn isa(version: u32) -> u32 {
    let newest = ISA.iter().rev().find(|(since, _)| *since <= version);
    newest.map_or(ISA[0].1, |(_, isa)| *isa)
}

/// From which driver version on it is so.
const ISA: [(u32, u32); 20] = [
    (11040, 74),
    (11050, 75),
    (11060, 76),
    (11070, 77),
    (11080, 78),
    (12000, 80),
    (12010, 81),
    (12020, 82),
    (12030, 83),
    (12040, 84),
    (12050, 85),
    (12070, 86),
    (12080, 87),
    (12090, 88),
    (13000, 90),
    (13010, 91),
    (13020, 92),
    (13030, 93),
    (13040, 94),
    (13050, 95),
];

const UNKNOWN: &str = "error   : Binary format for key='0', ident='' is not recognized";
/// How many kernels are named at most.
const MOST_NAMES: usize = 4;

/// What the compiler says of machine code.
fn no_ptx(names: &[String]) -> String {
    let list = names[..names.len().min(MOST_NAMES)].join(", ");
    let kernels = match names.len() {
        0 => String::new(),
        1 => format!(" of the kernel {list}"),
        2..=MOST_NAMES => format!(" of the kernels {list}"),
        count => format!(" of the kernels {list} and {} more", count - MOST_NAMES),
    };
    format!(
        "error   : softcuda runs PTX, and the image has machine code{kernels} only; compile it with PTX too \
         (nvcc -gencode arch=compute_90,code=compute_90), or register a native kernel (softcuda_kernel_register)"
    )
}

fn answer(error: &JitError) -> CUresult {
    match error.refusal {
        Refusal::NotPtx => CUDA_ERROR_INVALID_IMAGE,
        Refusal::Version => CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        Refusal::Invalid | Refusal::Target | Refusal::Uncovered | Refusal::Limit => CUDA_ERROR_INVALID_PTX,
    }
}

/// The log in the form that ptxas gives it, which programs take apart.
fn log(error: &JitError) -> String {
    let kind = match error.refusal {
        Refusal::NotPtx => return UNKNOWN.to_owned(),
        Refusal::Target => return format!("ptxas fatal   : {}", error.log),
        Refusal::Limit => return format!("ptxas error   : {}", error.log),
        Refusal::Version => "fatal",
        Refusal::Invalid | Refusal::Uncovered => "error",
    };
    let line = |line: &str| match line.split_once(": ") {
        Some((place, what)) if place.starts_with("line ") => {
            format!("ptxas application ptx input, {place}; {kind:<8}: {what}")
        }
        _ => format!("ptxas fatal   : {line}"),
    };
    let mut lines: Vec<String> = error.log.lines().map(line).collect();
    if error.refusal == Refusal::Uncovered {
        lines.push("softcuda does not execute all of PTX: softcuda/PTX.md has what it does".to_owned());
    }
    if lines.iter().any(|line| line.contains("; error ")) {
        lines.push("ptxas fatal   : Ptx assembly aborted due to errors".to_owned());
    }
    lines.join("\n")
}
