//! Code of several programs that becomes one.

use super::cache::Entry;
use super::compiled::{CodeKind, Compiled, Maker, Target};
use super::compiler::{capability, check_runs_code, version_of};
use super::find::{self, NVJITLINK};
use super::input::Input;
use super::linker::{Linker, Purpose};
use super::nvjitlink::{self, Failed, Form, Part};
use super::source::architecture_of;
use crate::context::Context;
use crate::driver::Kind;
use crate::driver::calls::kernel::link as driver_link;
use crate::object::error::{Error, Status};
use std::ffi::CString;
use std::path::PathBuf;

/// Programs and other code to be linked to one: functions and variables of one may be declared in another.
///
/// ```no_run
/// use cushim::compile::{CodeKind, Link, Source};
/// # let context = cushim::Device::get(&cushim::testing::driver(), 0)?.primary_context()?;
///
/// let compile = |text: &str| Source::new(text).kind(CodeKind::LtoIr).compile(context.device());
/// let kernel = compile("__device__ int twice(int); extern \"C\" __global__ void set(int *to) { *to = twice(*to); }")?;
/// let function = compile("__device__ int twice(int number) { return 2 * number; }")?;
/// let linked = Link::new().program(&kernel).program(&function).link(&context)?;
/// # drop(linked);
/// # Ok::<(), cushim::Error>(())
/// ```
///
/// Sources that become PTX or cubins are compiled for this with the option `-rdc=true`. LTO IR ([`CodeKind::LtoIr`]) is optimised as one.
#[derive(Debug, Clone)]
pub struct Link {
    inputs: Vec<Input>,
    options: Vec<String>,
    name: String,
    kind: Option<CodeKind>,
    linker: Option<PathBuf>,
}

impl Default for Link {
    fn default() -> Self {
        Self { inputs: Vec::new(), options: Vec::new(), name: "linked".to_owned(), kind: None, linker: None }
    }
}

impl Link {
    /// Of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// And of this program, whose name expressions name the same in the result.
    #[must_use]
    pub fn program(mut self, program: &Compiled) -> Self {
        self.inputs.push(Input::of(program));
        self
    }

    /// And of this code, which messages call by the name: PTX, a cubin, a fatbin, LTO IR, an object of nvcc's, or a library of those.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for code that is empty, cut off, or none of these.
    pub fn code(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        self.inputs.push(Input::new(name.into(), bytes.into())?);
        Ok(self)
    }

    /// What messages call the result; `linked` by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// An option of nvJitLink's: `-O3`. One that names an architecture takes the place of the device's. The driver's own linker takes none;
    /// softcuda's reads none.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// In which form the code is to be: a cubin, or PTX, which is made of LTO IR only. By default a cubin, or of LTO IR on softcuda PTX.
    #[must_use]
    pub fn kind(mut self, kind: CodeKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The library of nvJitLink, in place of the one that is found.
    #[must_use]
    pub fn linker(mut self, path: impl Into<PathBuf>) -> Self {
        self.linker = Some(path.into());
        self
    }

    /// Links it for the device of a context: by nvJitLink of the compilers' major version, or, where none is found and there is no LTO IR,
    /// by the driver.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] if there is nothing to link, and where something is missing or there twice, of which the
    /// [`driver_log`](crate::Failure::driver_log) has all; [`Status::UNSUPPORTED`] for LTO IR, and for options, where no linker is found:
    /// the sentence says what to install.
    pub fn link(&self, context: &Context) -> Result<Compiled, Error> {
        let driver = context.driver();
        check_runs_code(driver)?;
        let is_software = driver.kind() == Kind::Software;
        let kind = self.kind_for(is_software)?;
        if is_software && !self.needs_nvjitlink() {
            return self.by_driver(context, &self.inputs);
        }
        // What softcuda runs is PTX, of which its own linker makes the rest.
        let made = if is_software { CodeKind::Ptx } else { kind };
        let compiler = self.inputs.iter().filter_map(|input| input.compiler).max();
        let linker = match self.find_linker(context, Purpose { compiler, kind: made }) {
            Ok(linker) => linker,
            Err(why) if self.needs_nvjitlink() || self.is_linker_named() => return Err(why),
            Err(_) => return self.by_driver(context, &self.inputs),
        };
        if is_software { self.for_softcuda(&linker, context, kind) } else { self.by(&linker, context, kind) }
    }

    /// What it becomes.
    fn kind_for(&self, is_software: bool) -> Result<CodeKind, Error> {
        let refused = |why: &str| {
            Err(Error::new(Status::INVALID_ARGUMENT, format!("{} is not linked: {why}", self.name)))
        };
        let is_all_lto_ir = self.inputs.iter().all(Input::is_lto_ir);
        match self.kind {
            _ if self.inputs.is_empty() => refused("there is no code to link"),
            Some(CodeKind::LtoIr) => refused("linking does not give LTO IR; ask for a cubin or for PTX"),
            Some(CodeKind::Ptx) if !is_all_lto_ir => {
                refused("PTX is linked of LTO IR only; ask for a cubin, or compile all sources to LTO IR")
            }
            Some(kind) => Ok(kind),
            None if is_software && is_all_lto_ir => Ok(CodeKind::Ptx),
            None => Ok(CodeKind::Cubin),
        }
    }

    /// Whether the driver's own linker does not do: it does not know LTO IR.
    fn needs_nvjitlink(&self) -> bool {
        self.inputs.iter().any(Input::is_lto_ir) || self.options.iter().any(|option| option == "-lto")
    }

    fn is_linker_named(&self) -> bool {
        self.linker.is_some() || find::variable(NVJITLINK.variable).is_some()
    }

    fn find_linker(&self, context: &Context, purpose: Purpose) -> Result<Linker, Error> {
        let Some(path) = &self.linker else { return Linker::find_for(context.driver(), purpose) };
        let linker = Linker::open(path)?;
        match linker.misfit(context.driver(), purpose) {
            None => Ok(linker),
            Some(why) => {
                let refusal = format!("{} is not linked by {}: {why}", self.name, path.display());
                Err(Error::new(Status::UNSUPPORTED, refusal))
            }
        }
    }

    /// Links all by nvJitLink.
    fn by(&self, linker: &Linker, context: &Context, kind: CodeKind) -> Result<Compiled, Error> {
        let architecture = self.architecture(context, kind)?;
        let (code, log) = self.run(linker, &self.inputs, kind, &architecture)?;
        self.compiled(code, log, kind, architecture, (Maker::NvJitLink, linker.version()))
    }

    /// The LTO IR becomes PTX; that is what comes of it, if there is nothing else, and otherwise one more text for softcuda's linker. That
    /// looks in each case whether something is missing, which nvJitLink leaves to who compiles the PTX.
    fn for_softcuda(&self, linker: &Linker, context: &Context, kind: CodeKind) -> Result<Compiled, Error> {
        let architecture = self.architecture(context, CodeKind::Ptx)?;
        let (lto_ir, mut rest): (Vec<Input>, Vec<Input>) =
            self.inputs.iter().cloned().partition(Input::is_lto_ir);
        let (ptx, log) = self.run(linker, &lto_ir, CodeKind::Ptx, &architecture)?;
        let text = [ptx.as_slice(), if ptx.ends_with(&[0]) { &[] } else { &[0] }].concat();
        rest.push(Input {
            name: "the PTX of what is LTO IR".to_owned(),
            form: Form::Ptx,
            bytes: text,
            compiler: None,
            names: Vec::new(),
        });
        let (image, _) = self.run_driver(context, &rest)?;
        let code = if kind == CodeKind::Ptx { ptx } else { image };
        let architecture = self.architecture(context, kind)?;
        self.compiled(code, log, kind, architecture, (Maker::NvJitLink, linker.version()))
    }

    fn by_driver(&self, context: &Context, inputs: &[Input]) -> Result<Compiled, Error> {
        let driver = context.driver();
        if let Some(option) = self.options.first().filter(|_| driver.kind() != Kind::Software) {
            let refusal = format!(
                "{} is linked by the driver, since no nvJitLink was found, and the driver's linker takes no option {option}: install \
                 nvJitLink, for example with `pip install {}`, or leave the option out",
                self.name,
                if version_of(driver).major() < 13 { "nvidia-nvjitlink-cu12" } else { "nvidia-nvjitlink" }
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal));
        }
        let (code, log) = self.run_driver(context, inputs)?;
        let architecture = self.architecture(context, CodeKind::Cubin)?;
        let version = version_of(driver);
        let maker = (Maker::Driver, (version.major(), version.minor()));
        self.compiled(code, log, CodeKind::Cubin, architecture, maker)
    }

    /// The code and the log of nvJitLink.
    fn run(
        &self,
        linker: &Linker,
        inputs: &[Input],
        kind: CodeKind,
        architecture: &str,
    ) -> Result<(Vec<u8>, String), Error> {
        let mut options = Vec::new();
        if architecture_of(&self.options).is_none() {
            options.push(format!("-arch={architecture}"));
        }
        if inputs.iter().any(Input::is_lto_ir) && !self.options.iter().any(|option| option == "-lto") {
            options.push("-lto".to_owned());
        }
        if kind == CodeKind::Ptx {
            options.push("-ptx".to_owned());
        }
        let options: Result<Vec<CString>, Error> =
            options.iter().chain(&self.options).map(|option| c_text(option)).collect();
        let names: Result<Vec<CString>, Error> = inputs.iter().map(|input| c_text(&input.name)).collect();
        let names = names?;
        let failed = |failed: Failed| self.failed(linker, failed);
        let linking = linker.library().linker(&options?).map_err(failed)?;
        for (input, name) in inputs.iter().zip(&names) {
            linking.add(input.form, &input.bytes, name).map_err(failed)?;
        }
        linking.complete().map_err(failed)?;
        let part = if kind == CodeKind::Ptx { Part::Ptx } else { Part::Cubin };
        Ok((linking.part(part).map_err(failed)?, linking.log(Part::InfoLog)))
    }

    /// The code and the log of the driver's linker.
    fn run_driver(&self, context: &Context, inputs: &[Input]) -> Result<(Vec<u8>, String), Error> {
        let given: Result<Vec<driver_link::Input<'_>>, Error> = inputs
            .iter()
            .filter_map(|input| Some((input.drivers_kind()?, input)))
            .map(|(kind, input)| {
                Ok(driver_link::Input { kind, bytes: &input.bytes, name: c_text(&input.name)? })
            })
            .collect();
        driver_link::link(context.live(context)?, &given?).map_err(|failure| {
            let mut error = context.failed(failure.error, context);
            let first = failure.log.lines().map(str::trim).find(|line| !line.is_empty());
            let said = first.map_or(String::new(), |first| format!(". The linker says: {first}"));
            error.message = format!("{} is not linked: {}{said}", self.name, error.message);
            error.driver_log = failure.log;
            error
        })
    }

    /// The architecture that the result is for, as options name it.
    fn architecture(&self, context: &Context, kind: CodeKind) -> Result<String, Error> {
        if let Some(named) = architecture_of(&self.options) {
            return Ok(named.to_owned());
        }
        let (major, minor) = capability(context.device())?;
        Ok(format!("{}_{major}{minor}", if kind == CodeKind::Cubin { "sm" } else { "compute" }))
    }

    fn compiled(
        &self,
        code: Vec<u8>,
        log: String,
        kind: CodeKind,
        architecture: String,
        (maker, version): (Maker, (u32, u32)),
    ) -> Result<Compiled, Error> {
        let names = self.inputs.iter().flat_map(|input| input.names.clone()).collect();
        let target = Target { source: self.name.clone(), kind, architecture, maker, version };
        Compiled::new(Entry { code, log, names }, target, false)
    }

    #[cold]
    fn failed(&self, linker: &Linker, Failed { result, log }: Failed) -> Error {
        let is_architecture = nvjitlink::ARCHITECTURE.contains(&result);
        let status = if is_architecture { Status::UNSUPPORTED } else { Status::INVALID_ARGUMENT };
        let what = nvjitlink::text(result);
        let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
        let said = if lines.is_empty() { String::new() } else { format!(": {}", lines.join("; ")) };
        // Before 13.0 it prints what is missing, and does not say it in its log.
        let is_silent = result == nvjitlink::INTERNAL && linker.version().0 < 13 && log.lines().count() < 2;
        let hint = if is_silent {
            ". A function or variable is missing, or there twice: this version writes which to the standard error of the process"
        } else {
            ""
        };
        let mut error =
            Error::new(status, format!("{linker} did not link {}: {what}{said}{hint}", self.name));
        error.driver_log = log;
        error
    }
}

fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| {
        let refusal = format!("{text:?} has a NUL inside, which nvJitLink takes for its end");
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}
