//! What came of a source.

use super::cache::Entry;
use crate::kernel::Image;
use crate::object::error::{Error, Status};
use std::fmt;

/// In which form code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeKind {
    /// Text that the driver compiles: for devices of the architecture and newer ones, and for drivers of the compiler's CUDA release and
    /// newer ones.
    Ptx,
    /// Machine code: for devices of one major compute capability, and for drivers of the compiler's CUDA major version and newer ones.
    Cubin,
    /// The compiler's intermediate form, to be linked (CUDA 12.0).
    LtoIr,
}

/// What came of a source.
#[derive(Debug, Clone)]
pub struct Compiled {
    code: Code,
    log: String,
    names: Vec<(String, String)>,
    was_cached: bool,
    target: Target,
}

/// The code itself.
#[derive(Debug, Clone)]
enum Code {
    Loadable(Image),
    LtoIr(Vec<u8>),
}

/// What code was compiled for, from what, and by whom.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// What messages call the source.
    pub(super) source: String,
    pub(super) kind: CodeKind,
    /// As the compiler's option names it: `sm_90`.
    pub(super) architecture: String,
    pub(super) maker: Maker,
    /// The CUDA release of who made it.
    pub(super) version: (u32, u32),
}

/// Who made code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    Nvrtc,
    NvJitLink,
    Driver,
}

impl Compiled {
    pub(super) fn new(entry: Entry, target: Target, was_cached: bool) -> Result<Self, Error> {
        let Entry { code, log, names } = entry;
        let code = match target.kind {
            CodeKind::LtoIr => Code::LtoIr(code),
            CodeKind::Ptx | CodeKind::Cubin => Code::Loadable(Image::new(code)?.with_names(names.clone())),
        };
        Ok(Self { code, log, names, was_cached, target })
    }

    /// The code, to be loaded. The library that it becomes knows its kernels by the name expressions of the source, too.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for LTO IR, which is not loaded but linked.
    pub fn image(&self) -> Result<&Image, Error> {
        match &self.code {
            Code::Loadable(image) => Ok(image),
            Code::LtoIr(_) => {
                let refusal = format!("{self} is not loaded: link it first, or compile it to PTX or a cubin");
                Err(Error::new(Status::INVALID_ARGUMENT, refusal))
            }
        }
    }

    /// The bytes of the code. PTX ends with its last character, without a NUL.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.code {
            Code::Loadable(image) => image.without_nul(),
            Code::LtoIr(bytes) => bytes,
        }
    }

    /// In which form it is.
    #[must_use]
    pub fn kind(&self) -> CodeKind {
        self.target.kind
    }

    /// The architecture that it was made for, as the compiler's option names it: `sm_90`, or `compute_90` for PTX.
    #[must_use]
    pub fn architecture(&self) -> &str {
        &self.target.architecture
    }

    /// The CUDA release of the compiler, or of the linker: 12.8.
    #[must_use]
    pub fn compiler_version(&self) -> (u32, u32) {
        self.target.version
    }

    /// What messages call the source.
    pub(super) fn source(&self) -> &str {
        &self.target.source
    }

    /// The name expressions of the source, and the names of the code for them.
    pub(super) fn names(&self) -> &[(String, String)] {
        &self.names
    }

    /// What the compiler or the linker said: warnings.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// What the code calls that which an expression of the source names ([`Source::name_expression`](super::Source::name_expression)).
    #[must_use]
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        self.names.iter().find(|(own, _)| own == expression).map(|(_, name)| name.as_str())
    }

    /// The name expressions of the source.
    pub fn name_expressions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|(expression, _)| expression.as_str())
    }

    /// Whether it was on disk.
    #[must_use]
    pub fn was_cached(&self) -> bool {
        self.was_cached
    }
}

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { source, kind, architecture, maker, version: (major, minor) } = &self.target;
        write!(f, "{kind} of {source} for {architecture}, by {maker} {major}.{minor}")
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nvrtc => "NVRTC",
            Self::NvJitLink => "nvJitLink",
            Self::Driver => "the linker of the driver for CUDA",
        })
    }
}

impl fmt::Display for CodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ptx => "PTX",
            Self::Cubin => "cubin",
            Self::LtoIr => "LTO IR",
        })
    }
}
