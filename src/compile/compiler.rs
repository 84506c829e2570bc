//! NVRTC that was found, and what it compiles.

use super::cache::{self, Entry};
use super::compiled::{CodeKind, Compiled, Maker, Target};
use super::find;
use super::found::Found;
use super::nvrtc::{BUILTINS, COMPILATION, Compiling, Nvrtc, Part};
use super::source::Source;
use crate::device::Device;
use crate::driver::{Driver, Kind, Version, sys};
use crate::object::error::{Error, Status};
use std::ffi::{CString, c_int};
use std::fmt;
use std::path::Path;

/// NVRTC, NVIDIA's compiler of CUDA C++ as a library, which was found on this machine.
///
/// Every function may be called from every thread. A library is loaded once: two compilers are equal if they are the same library.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Compiler(Found<Nvrtc>);

impl Compiler {
    /// The compiler for this driver: the library that `CUSHIM_NVRTC` names, or else the newest that is found and whose code the driver
    /// takes. It is looked for by name, as the loader does; in the packages of the Python environment (`nvidia-cuda-nvrtc-cu12`,
    /// `nvidia-cuda-nvrtc`); and in CUDA toolkits.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] where none is found: the sentence says what to install, and what was tried.
    pub fn find(driver: &Driver) -> Result<Self, Error> {
        Self::find_for(driver, kind_for(driver))
    }

    /// The same for code of this kind.
    pub(super) fn find_for(driver: &Driver, kind: CodeKind) -> Result<Self, Error> {
        check_runs_code(driver)?;
        let version = version_of(driver);
        let found = find::first(&find::compilers(version.major()), |place| {
            let compiler = Self(Found::load(place)?);
            match compiler.misfit(driver, kind) {
                None => Ok(compiler),
                Some(why) => Err(why),
            }
        });
        found.map_err(|tried| {
            let refusal = format!(
                "no NVRTC was found whose {kind} a driver for CUDA {version} takes: {}. Tried:{tried}",
                advice(version, kind)
            );
            Error::new(Status::UNSUPPORTED, refusal)
        })
    }

    /// The compiler in this library.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if it cannot be loaded, or is no NVRTC of CUDA 11.2 or newer.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Found::open(path.as_ref()).map(Self)
    }

    /// The CUDA release that it is of: 12.8.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.0.version()
    }

    /// The file of the library.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Why the driver does not take its code of this kind; `None` if it does. Machine code of a newer release is taken within a major
    /// version, PTX is not. LTO IR never reaches the driver.
    fn misfit(&self, driver: &Driver, kind: CodeKind) -> Option<String> {
        let (major, minor) = self.version();
        let own = Version::from_number(major * 1000 + minor * 10);
        let version = version_of(driver);
        let is_taken = match kind {
            CodeKind::Ptx => own <= version,
            CodeKind::Cubin => own.major() <= version.major(),
            CodeKind::LtoIr => true,
        };
        (!is_taken)
            .then(|| format!("it is of CUDA {own}, whose {kind} a driver for CUDA {version} does not take"))
    }

    /// Compiles a source for a device: to machine code, or on softcuda, which runs PTX, to that; or to what the source asks for. What was
    /// compiled before, of the same, by the same compiler, is taken from disk.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a source with errors, which the [`driver_log`](crate::Failure::driver_log) has, and for options
    /// that NVRTC does not know; [`Status::UNSUPPORTED`] for a device that this NVRTC does not compile for, and for code that the driver
    /// does not take.
    pub fn compile(&self, source: &Source, device: &Device) -> Result<Compiled, Error> {
        let (kind, architecture) = self.target(source, device)?;
        if let Some(why) = self.misfit(device.driver(), kind) {
            return Err(Error::new(
                Status::UNSUPPORTED,
                format!("{self} does not compile {} for {device}: {why}", source.name),
            ));
        }
        let mut options = source.options.clone();
        if source.architecture().is_none() {
            options.push(format!("--gpu-architecture={architecture}"));
        }
        if kind == CodeKind::LtoIr && !source.asks_for_lto_ir() {
            options.push("-dlto".to_owned());
        }
        let headers = &self.0.details().headers;
        options.extend(headers.iter().map(|folder| format!("--include-path={}", folder.display())));
        let target = Target {
            source: source.name.clone(),
            kind,
            architecture,
            maker: Maker::Nvrtc,
            version: self.version(),
        };
        let key = (source.is_cached && source.is_whole()).then(|| self.key(source, &options, kind));
        if let Some(entry) = key.as_deref().and_then(cache::get) {
            return Compiled::new(entry, target, true);
        }
        let entry = self.compile_now(source, &options, kind)?;
        if let Some(key) = &key {
            cache::put(key, &entry);
        }
        Compiled::new(entry, target, false)
    }

    /// What a source becomes, and for which architecture.
    fn target(&self, source: &Source, device: &Device) -> Result<(CodeKind, String), Error> {
        check_runs_code(device.driver())?;
        let asked = source.asked_kind();
        if let Some(named) = source.architecture() {
            let own = kind_by(named);
            if asked == Some(CodeKind::Cubin) && own != CodeKind::Cubin {
                let refusal = format!(
                    "an option of {} names {named}, for which there is PTX and no cubin: name an architecture like sm_90, or ask for PTX",
                    source.name
                );
                return Err(Error::new(Status::INVALID_ARGUMENT, refusal));
            }
            return Ok((asked.unwrap_or(own), named.to_owned()));
        }
        let (major, minor) = capability(device)?;
        let own = major * 10 + minor;
        let architectures = &self.0.details().architectures;
        let Some(nearest) = architectures.iter().copied().rfind(|known| *known <= own) else {
            let oldest = architectures.first().copied().unwrap_or_default();
            let refusal = format!(
                "{self} compiles for compute capability {}.{} and newer, and {device} has {major}.{minor}: install an older NVRTC",
                oldest / 10,
                oldest % 10
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(device));
        };
        // Machine code runs on devices of its own major version that are as new; PTX on all.
        let has_code = nearest / 10 == major;
        let kind = asked.unwrap_or_else(|| match kind_for(device.driver()) {
            CodeKind::Cubin if !has_code => CodeKind::Ptx,
            own => own,
        });
        if kind == CodeKind::Cubin && !has_code {
            let refusal = format!(
                "{self} makes no machine code for compute capability {major}.{minor}, which {device} has: ask for PTX, or install a newer \
                 NVRTC"
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(device));
        }
        let form = if kind == CodeKind::Cubin { "sm" } else { "compute" };
        Ok((kind, format!("{form}_{nearest}")))
    }

    /// All that matters for what comes of a source.
    fn key(&self, source: &Source, options: &[String], kind: CodeKind) -> Vec<String> {
        let changed = |path: &Path| {
            let metadata = path.metadata().ok();
            let when = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            format!("{} {when:?} {:?}", path.display(), metadata.map(|metadata| metadata.len()))
        };
        let mut key = vec![
            env!("CARGO_PKG_VERSION").to_owned(),
            format!("{:?} {}", self.version(), changed(self.path())),
            self.0.details().headers.as_deref().map(changed).unwrap_or_default(),
            kind.to_string(),
            source.name.clone(),
            source.text.clone(),
        ];
        for list in [options, &source.name_expressions] {
            key.push(list.len().to_string());
            key.extend_from_slice(list);
        }
        key.extend(source.headers.iter().flat_map(|(name, text)| [name.clone(), text.clone()]));
        key
    }

    fn compile_now(&self, source: &Source, options: &[String], kind: CodeKind) -> Result<Entry, Error> {
        let headers: Result<Vec<_>, Error> =
            source.headers.iter().map(|(name, text)| Ok((c_text(name)?, c_text(text)?))).collect();
        let expressions: Result<Vec<_>, Error> =
            source.name_expressions.iter().map(|text| c_text(text)).collect();
        let options: Result<Vec<_>, Error> = options.iter().map(|text| c_text(text)).collect();
        let (headers, expressions, options) = (headers?, expressions?, options?);
        let failed = |result: c_int| self.failed(source, result, String::new());
        let program = self
            .0
            .library()
            .program(&c_text(&source.text)?, &c_text(&source.name)?, &headers)
            .map_err(failed)?;
        for expression in &expressions {
            program.add_name(expression).map_err(failed)?;
        }
        let compiled = program.compile(&options);
        let log = log_of(&program);
        if let Err(result) = compiled {
            return Err(self.failed(source, result, log));
        }
        let names: Result<Vec<String>, c_int> =
            expressions.iter().map(|expression| program.lowered(expression)).collect();
        let names = source.name_expressions.iter().cloned().zip(names.map_err(failed)?).collect();
        let part = match kind {
            CodeKind::Ptx => Part::Ptx,
            CodeKind::Cubin => Part::Cubin,
            CodeKind::LtoIr => Part::LtoIr,
        };
        Ok(Entry { code: program.part(part).map_err(failed)?, log, names })
    }

    /// The error of a source, with the first that the compiler says of it.
    #[cold]
    fn failed(&self, source: &Source, result: c_int, log: String) -> Error {
        let first = log.lines().find(|line| line.contains("error")).unwrap_or_default().trim();
        let status = if result == BUILTINS { Status::UNSUPPORTED } else { Status::INVALID_ARGUMENT };
        let refusal = match (result, first) {
            (COMPILATION, first) if !first.is_empty() => {
                format!("{self} found errors in {}: {first}", source.name)
            }
            (_, "") => format!("{self} did not compile {}: {}", source.name, self.0.library().text(result)),
            _ => {
                format!("{self} did not compile {}: {}: {first}", source.name, self.0.library().text(result))
            }
        };
        let mut error = Error::new(status, refusal);
        error.driver_log = log;
        error
    }
}

impl Source {
    /// Compiles it for a device, with the [compiler](Compiler) that is found for that device's driver.
    ///
    /// # Errors
    /// As [`Compiler::find`] and [`Compiler::compile`].
    pub fn compile(&self, device: &Device) -> Result<Compiled, Error> {
        let kind = self.asked_kind().or_else(|| self.architecture().map(kind_by));
        let kind = kind.unwrap_or_else(|| kind_for(device.driver()));
        Compiler::find_for(device.driver(), kind)?.compile(self, device)
    }
}

/// What becomes of a source for an architecture that an option names.
fn kind_by(architecture: &str) -> CodeKind {
    if architecture.starts_with("sm_") { CodeKind::Cubin } else { CodeKind::Ptx }
}

/// The kind of code that is best for a driver.
pub(super) fn kind_for(driver: &Driver) -> CodeKind {
    if driver.kind() == Kind::Software { CodeKind::Ptx } else { CodeKind::Cubin }
}

pub(super) fn check_runs_code(driver: &Driver) -> Result<(), Error> {
    if driver.kind() != Kind::None {
        return Ok(());
    }
    let refusal =
        "the driver \"none\" runs no code, so nothing is compiled for it: open a CUDA driver, or softcuda";
    Err(Error::new(Status::UNSUPPORTED, refusal))
}

pub(super) fn version_of(driver: &Driver) -> Version {
    driver.version().unwrap_or(Version::OLDEST_SUPPORTED)
}

/// The compute capability of a device.
pub(super) fn capability(device: &Device) -> Result<(u32, u32), Error> {
    let attribute = |attribute| device.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
    Ok((
        attribute(sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

/// What to do where none was found.
#[cold]
fn advice(version: Version, kind: CodeKind) -> String {
    let variable = find::NVRTC.variable;
    if find::variable(variable).is_some() {
        return format!("name another library in {variable}, or unset it so that cushim searches for one");
    }
    let (major, minor) = (version.major(), version.minor());
    let install = match (major, kind) {
        // The packages begin with 11.7.
        (..12, CodeKind::Ptx) if (major, minor) < (11, 7) => {
            format!("install that of the CUDA toolkit {version} or older")
        }
        (..12, _) => "install one, for example with `pip install nvidia-cuda-nvrtc-cu11`".to_owned(),
        (12, _) => {
            format!("install one, for example with `pip install \"nvidia-cuda-nvrtc-cu12<={version}.999\"`")
        }
        _ => format!("install one, for example with `pip install \"nvidia-cuda-nvrtc<={version}.999\"`"),
    };
    format!("{install}, or name its library in {variable}")
}

fn log_of(program: &Compiling<'_>) -> String {
    let bytes = program.part(Part::Log).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim_end().to_owned()
}

fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| {
        let refusal = "a source, header, option or name has a NUL inside, which NVRTC takes for its end";
        Error::new(Status::INVALID_ARGUMENT, refusal)
    })
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug_as("Compiler", f)
    }
}
