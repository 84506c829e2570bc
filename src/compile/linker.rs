//! nvJitLink that was found.

use super::compiled::CodeKind;
use super::compiler::{check_runs_code, version_of};
use super::find::{self, NVJITLINK};
use super::found::Found;
use super::nvjitlink::JitLink;
use crate::driver::{Driver, Version};
use crate::object::error::{Error, Status};
use std::fmt;
use std::path::Path;

/// nvJitLink, NVIDIA's linker of device code as a library, which was found on this machine.
///
/// Every function may be called from every thread. A library is loaded once: two linkers are equal if they are the same library.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Linker(Found<JitLink>);

/// The oldest major version that there is.
const OLDEST: u32 = 12;

/// What a linker is wanted for: code of the compiler of this release, where it is known, and what becomes of it.
#[derive(Clone, Copy)]
pub(super) struct Purpose {
    pub(super) compiler: Option<(u32, u32)>,
    pub(super) kind: CodeKind,
}

impl Linker {
    /// The linker for this driver: the library that `CUSHIM_NVJITLINK` names, or else the newest that is found and whose cubins the
    /// driver takes. It is looked for as the [compiler](super::Compiler) is; Python has it in the packages `nvidia-nvjitlink-cu12` and
    /// `nvidia-nvjitlink`.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] where none is found: the sentence says what to install, and what was tried.
    pub fn find(driver: &Driver) -> Result<Self, Error> {
        Self::find_for(driver, Purpose { compiler: None, kind: CodeKind::Cubin })
    }

    pub(super) fn find_for(driver: &Driver, purpose: Purpose) -> Result<Self, Error> {
        check_runs_code(driver)?;
        let newest = version_of(driver).major();
        let majors = match purpose.compiler {
            Some((major, _)) => major..=major,
            None => OLDEST..=newest,
        };
        let found = find::first(&find::places(&NVJITLINK, majors.rev()), |place| {
            let linker = Self(Found::load(place)?);
            match linker.misfit(driver, purpose) {
                None => Ok(linker),
                Some(why) => Err(why),
            }
        });
        found.map_err(|tried| none_found(version_of(driver), purpose, &tried))
    }

    /// The linker in this library.
    ///
    /// # Errors
    /// [`Status::UNSUPPORTED`] if it cannot be loaded, or is no nvJitLink.
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

    /// Its functions.
    pub(super) fn library(&self) -> &JitLink {
        self.0.library()
    }

    /// Why it does not do for a purpose; `None` if it does.
    pub(super) fn misfit(&self, driver: &Driver, purpose: Purpose) -> Option<String> {
        let (own, version) = (number(self.version()), version_of(driver));
        if let Some(compiler) = purpose.compiler
            && (self.version().0 != compiler.0 || self.version().1 < compiler.1)
        {
            let compiler = number(compiler);
            return Some(format!(
                "it is of CUDA {own}, and the code of CUDA {compiler}: the linker must be of the same major version, and as new"
            ));
        }
        let is_taken = match purpose.kind {
            CodeKind::Ptx => own <= version,
            CodeKind::Cubin | CodeKind::LtoIr => own.major() <= version.major(),
        };
        (!is_taken).then(|| {
            format!("it is of CUDA {own}, whose {} a driver for CUDA {version} does not take", purpose.kind)
        })
    }
}

fn number((major, minor): (u32, u32)) -> Version {
    Version::from_number(major * 1000 + minor * 10)
}

#[cold]
fn none_found(version: Version, purpose: Purpose, tried: &str) -> Error {
    let Purpose { compiler, kind } = purpose;
    let variable = NVJITLINK.variable;
    let code =
        compiler.map_or(String::new(), |release| format!(" and that links code of CUDA {}", number(release)));
    let advice = if find::variable(variable).is_some() {
        format!("name another library in {variable}, or unset it so that cushim searches for one")
    } else {
        let package = package(version, purpose);
        format!(
            "install one, for example with `pip install \"{package}\"`, or name its library in {variable}"
        )
    };
    let refusal = format!(
        "no nvJitLink was found whose {kind} a driver for CUDA {version} takes{code}: {advice}. Tried:{tried}"
    );
    Error::new(Status::UNSUPPORTED, refusal)
}

/// What pip is to install.
fn package(version: Version, Purpose { compiler, kind }: Purpose) -> String {
    let major = compiler.map_or(version.major(), |(major, _)| major).max(OLDEST);
    let package = if major == 12 { "nvidia-nvjitlink-cu12" } else { "nvidia-nvjitlink" };
    let least = compiler.map(|release| format!(">={}", number(release)));
    let most = match kind {
        CodeKind::Ptx => format!("<={version}.999"),
        _ => format!("<{}", major + 1),
    };
    let bounds: Vec<String> = least.into_iter().chain([most]).collect();
    format!("{package}{}", bounds.join(","))
}

impl fmt::Display for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug_as("Linker", f)
    }
}
