//! NVRTC that was found, and what it compiles.

use super::cache::{self, Entry};
use super::find;
use super::nvrtc::{self, COMPILATION, Compiling, Nvrtc, Part};
use super::source::Source;
use crate::device::Device;
use crate::driver::{Driver, Kind, Version, sys};
use crate::kernel::Image;
use crate::object::error::{Error, Status};
use parking_lot::Mutex;
use std::ffi::{CString, c_int};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// NVRTC, NVIDIA's compiler of CUDA C++ as a library, which was found on this machine.
///
/// Every function may be called from every thread.
pub struct Compiler {
    nvrtc: Nvrtc,
    path: PathBuf,
    version: (u32, u32),
    architectures: Vec<u32>,
    /// CUDA's headers, where they are beside it.
    headers: Option<PathBuf>,
}

/// What came of a source.
#[derive(Debug, Clone)]
pub struct Compiled {
    image: Image,
    log: String,
    names: Vec<(String, String)>,
    was_cached: bool,
}

/// Compilers that were loaded, by path: each once.
static LOADED: Mutex<Vec<Arc<Compiler>>> = Mutex::new(Vec::new());

/// In which form code is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As text, which the driver compiles.
    Ptx,
    /// For one architecture.
    Cubin,
}

impl Compiler {
    /// The compiler for this driver: the library that `CUSHIM_NVRTC` names, or else the newest that is found and whose code the driver
    /// takes. It is looked for by name, as the loader does; in the packages of the Python environment (`nvidia-cuda-nvrtc-cu12`,
    /// `nvidia-cuda-nvrtc`); and in CUDA toolkits.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] where none is found: the sentence says what to install, and what was tried.
    pub fn find(driver: &Driver) -> Result<Arc<Self>, Error> {
        let version = driver.version().unwrap_or(Version::OLDEST_SUPPORTED);
        let mut tried = String::new();
        for place in find::places(version.major()) {
            let why = match Self::load(&place) {
                Ok(compiler) => match compiler.misfit(driver) {
                    None => return Ok(compiler),
                    Some(why) => why,
                },
                Err(why) => why,
            };
            _ = write!(tried, "\n  {}: {why}", place.display());
        }
        let advice = if find::variable(find::VARIABLE).is_some() {
            format!("name another library in {}, or unset it so that cushim searches for one", find::VARIABLE)
        } else {
            let package = if version.major() < 13 { "nvidia-cuda-nvrtc-cu12" } else { "nvidia-cuda-nvrtc" };
            format!(
                "install one, for example with `pip install \"{package}<={}.{}.999\"`, or name its library in {}",
                version.major(),
                version.minor(),
                find::VARIABLE
            )
        };
        let refusal = format!(
            "no NVRTC was found whose code this driver, for CUDA {version}, takes: {advice}. Tried:{tried}"
        );
        Err(Error::new(Status::UNSUPPORTED, refusal))
    }

    /// The compiler in this library.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if it cannot be loaded, or is no NVRTC of CUDA 11.2 or newer.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Self>, Error> {
        let path = path.as_ref();
        Self::load(path).map_err(|why| {
            Error::new(Status::UNSUPPORTED, format!("{} cannot be used as NVRTC: {why}", path.display()))
        })
    }

    fn load(place: &Path) -> Result<Arc<Self>, String> {
        let mut loaded = LOADED.lock();
        if let Some(known) = loaded.iter().find(|known| known.path == place) {
            return Ok(Arc::clone(known));
        }
        let nvrtc = Nvrtc::load(place)?;
        // What is in the process already the loader gives by its name, too, wherever it came from.
        let path = nvrtc.file().unwrap_or_else(|| place.to_owned());
        if let Some(known) = loaded.iter().find(|known| known.path == path) {
            return Ok(Arc::clone(known));
        }
        let failed = |result: c_int| format!("it does not answer: {}", nvrtc.text(result));
        let (version, mut architectures) =
            (nvrtc.version().map_err(failed)?, nvrtc.architectures().map_err(failed)?);
        architectures.sort_unstable();
        nvrtc::load_builtins(&path, version);
        let headers = find::headers(&path);
        let compiler = Arc::new(Self { nvrtc, path, version, architectures, headers });
        loaded.push(Arc::clone(&compiler));
        Ok(compiler)
    }

    /// The CUDA release that it is of: 12.8.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The file of the library.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the driver does not take its code; `None` if it does. Machine code of a newer release is taken within a major version, PTX is
    /// not.
    fn misfit(&self, driver: &Driver) -> Option<String> {
        let own = Version::from_number(self.version.0 * 1000 + self.version.1 * 10);
        let version = driver.version().unwrap_or(Version::OLDEST_SUPPORTED);
        let is_taken = match form_for(driver) {
            Form::Ptx => own <= version,
            Form::Cubin => own.major() <= version.major(),
        };
        let what = if form_for(driver) == Form::Ptx { "PTX" } else { "code" };
        (!is_taken)
            .then(|| format!("it is of CUDA {own}, whose {what} a driver for CUDA {version} does not take"))
    }

    /// Compiles a source for a device: to machine code, or on softcuda, which runs PTX, to that. What was compiled before, of the same,
    /// by the same compiler, is taken from disk.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a source with errors, which the [`driver_log`](crate::Failure::driver_log) has, and for options
    /// that NVRTC does not know; [`Status::UNSUPPORTED`] for a device that this NVRTC does not compile for.
    pub fn compile(&self, source: &Source, device: &Device) -> Result<Compiled, Error> {
        if let Some(why) = self.misfit(device.driver()) {
            return Err(Error::new(
                Status::UNSUPPORTED,
                format!("{self} does not compile for {device}: {why}"),
            ));
        }
        let (form, architecture) = match source.architecture() {
            Some(named) if named.starts_with("sm_") => (Form::Cubin, None),
            Some(_) => (Form::Ptx, None),
            None => {
                let (form, architecture) = self.target(device)?;
                (form, Some(architecture))
            }
        };
        let mut options = source.options.clone();
        options.extend(architecture.map(|architecture| format!("--gpu-architecture={architecture}")));
        options.extend(self.headers.iter().map(|folder| format!("--include-path={}", folder.display())));
        let key = (source.is_cached && source.is_whole()).then(|| self.key(source, &options, form));
        if let Some(entry) = key.as_deref().and_then(cache::get) {
            return Compiled::new(entry, true);
        }
        let entry = self.compile_now(source, &options, form)?;
        if let Some(key) = &key {
            cache::put(key, &entry);
        }
        Compiled::new(entry, false)
    }

    /// For what a device's code is compiled.
    fn target(&self, device: &Device) -> Result<(Form, String), Error> {
        let attribute =
            |attribute| device.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
        let (major, minor) = (
            attribute(sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let own = major * 10 + minor;
        let Some(nearest) = self.architectures.iter().copied().rfind(|known| *known <= own) else {
            let oldest = self.architectures.first().copied().unwrap_or_default();
            let refusal = format!(
                "{self} compiles for compute capability {}.{} and newer, and {device} has {major}.{minor}: install an older NVRTC",
                oldest / 10,
                oldest % 10
            );
            return Err(Error::new(Status::UNSUPPORTED, refusal).about(device));
        };
        // Machine code runs on devices of its own major version that are as new; PTX on all.
        match form_for(device.driver()) {
            Form::Cubin if nearest / 10 == major => Ok((Form::Cubin, format!("sm_{nearest}"))),
            _ => Ok((Form::Ptx, format!("compute_{nearest}"))),
        }
    }

    /// All that matters for what comes of a source.
    fn key(&self, source: &Source, options: &[String], form: Form) -> Vec<String> {
        let changed = |path: &Path| {
            let metadata = path.metadata().ok();
            let when = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            format!("{} {when:?} {:?}", path.display(), metadata.map(|metadata| metadata.len()))
        };
        let mut key = vec![
            env!("CARGO_PKG_VERSION").to_owned(),
            format!("{:?} {}", self.version, changed(&self.path)),
            self.headers.as_deref().map(changed).unwrap_or_default(),
            if form == Form::Ptx { "PTX" } else { "cubin" }.to_owned(),
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

    fn compile_now(&self, source: &Source, options: &[String], form: Form) -> Result<Entry, Error> {
        let headers: Result<Vec<_>, Error> =
            source.headers.iter().map(|(name, text)| Ok((c_text(name)?, c_text(text)?))).collect();
        let expressions: Result<Vec<_>, Error> =
            source.name_expressions.iter().map(|text| c_text(text)).collect();
        let options: Result<Vec<_>, Error> = options.iter().map(|text| c_text(text)).collect();
        let (headers, expressions, options) = (headers?, expressions?, options?);
        let failed = |result: c_int| self.failed(source, result, String::new());
        let program =
            self.nvrtc.program(&c_text(&source.text)?, &c_text(&source.name)?, &headers).map_err(failed)?;
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
        let part = if form == Form::Ptx { Part::Ptx } else { Part::Cubin };
        Ok(Entry { code: program.part(part).map_err(failed)?, log, names })
    }

    /// The error of a source, with the first that the compiler says of it.
    #[cold]
    fn failed(&self, source: &Source, result: c_int, log: String) -> Error {
        let first = log.lines().find(|line| line.contains("error")).unwrap_or_default().trim();
        let refusal = match (result, first) {
            (COMPILATION, first) if !first.is_empty() => {
                format!("{self} found errors in {}: {first}", source.name)
            }
            _ => format!("{self} did not compile {}: {}", source.name, self.nvrtc.text(result)),
        };
        let mut error = Error::new(Status::INVALID_ARGUMENT, refusal);
        error.driver_log = log;
        error
    }
}

/// In which form the driver takes code.
fn form_for(driver: &Driver) -> Form {
    if driver.kind() == Kind::Software { Form::Ptx } else { Form::Cubin }
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

impl Compiled {
    fn new(entry: Entry, was_cached: bool) -> Result<Self, Error> {
        let Entry { code, log, names } = entry;
        Ok(Self { image: Image::new(code)?, log, names, was_cached })
    }

    /// The code, to be loaded.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What the compiler said: warnings.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// What the code calls that which an expression of the source names ([`Source::name_expression`]).
    #[must_use]
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        self.names.iter().find(|(own, _)| own == expression).map(|(_, name)| name.as_str())
    }

    /// Whether it was on disk.
    #[must_use]
    pub fn was_cached(&self) -> bool {
        self.was_cached
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {}.{}", self.version.0, self.version.1)
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler")
            .field("version", &self.version)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
