//! Where softcuda is: the library of all versions, and those of one.

use crate::problem::Problem;
use crate::shown;
use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const CORE: &str = "libsoftcuda.so";

/// The folder beside it of what is installed for it alone, where `ldconfig` does not look.
const OWN_FOLDER: &str = "softcuda";

/// Says where it is.
const VARIABLE: &str = "CUSHIM_SOFTCUDA";

/// The libraries that were found.
#[derive(Debug)]
pub(crate) struct Libraries {
    /// `libsoftcuda.so`, which has the functions of all versions.
    pub(crate) core: PathBuf,
    /// The folders in which libraries of one version may be.
    shells: Vec<PathBuf>,
}

impl Libraries {
    /// Where the environment says, or else beside this program, as it is installed or built, or else where the loader finds it.
    pub(crate) fn find() -> Result<Self, Problem> {
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            return Self::said(Path::new(&path));
        }
        let program = std::env::current_exe()
            .map_err(|error| Problem::failed(format!("the file of this program cannot be told: {error}")))?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let core = places(folder).into_iter().find(|path| path.is_file()).or_else(by_loader);
        let core = core.ok_or_else(|| {
            let looked = shown(folder);
            Problem::failed(format!(
                "{CORE} is neither beside this program ({looked}), nor in ../lib from there, nor where the loader looks; \
                 set {VARIABLE} to its path"
            ))
        })?;
        Ok(Self::with(core))
    }

    /// The library that a variable names, which may be one of one version.
    fn said(path: &Path) -> Result<Self, Problem> {
        let wrong = |why: &str| Problem::failed(format!("{VARIABLE} is {}, {why}", shown(path)));
        let path = std::fs::canonicalize(path)
            .map_err(|error| wrong(&format!("which cannot be opened: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let from_shell = folder.join("../../../deps").join(CORE);
        let core =
            [folder.join(CORE), folder.join("..").join(CORE), folder.join("deps").join(CORE), from_shell]
                .into_iter()
                .find(|path| path.is_file());
        let core = core.ok_or_else(|| wrong(&format!("and there is no {CORE} beside it")))?;
        Ok(Self::with(core))
    }

    fn with(core: PathBuf) -> Self {
        let core = std::fs::canonicalize(&core).unwrap_or(core);
        let folder = core.parent().unwrap_or(Path::new("/")).to_owned();
        let built = folder.parent().map(|profile| built_shells(&profile.join("build")));
        Self { core, shells: [vec![folder.join(OWN_FOLDER), folder], built.unwrap_or_default()].concat() }
    }

    /// NVML for softcuda, if it is there.
    pub(crate) fn nvml(&self) -> Option<PathBuf> {
        self.beside("libsoftcuda_nvml.so")
    }

    /// What has compilers hand out PTX in place of machine code, if it is there.
    pub(crate) fn compilers(&self) -> Option<PathBuf> {
        self.beside("libsoftcuda_compilers.so")
    }

    /// A file that is installed or built with softcuda.
    fn beside(&self, name: &str) -> Option<PathBuf> {
        let places = [self.core.with_file_name(name), self.core.with_file_name(OWN_FOLDER).join(name)];
        places.into_iter().find(|path| path.is_file())
    }

    /// The versions of which there is a library, the oldest first.
    pub(crate) fn versions(&self) -> Vec<String> {
        let entries =
            self.shells.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        let version = |name: &str| Some(name.strip_prefix("libsoftcuda-")?.strip_suffix(".so")?.to_owned());
        let mut versions: Vec<_> = entries.filter_map(|entry| version(entry.file_name().to_str()?)).collect();
        let numbers =
            |version: &String| version.split('.').map_while(|part| part.parse().ok()).collect::<Vec<u32>>();
        versions.sort_by_key(numbers);
        versions.dedup();
        versions
    }

    /// The library of one version, which exports what a driver of that version does.
    pub(crate) fn shell(&self, version: &str) -> Option<PathBuf> {
        let name = format!("libsoftcuda-{version}.so");
        let there = self.shells.iter().map(|folder| folder.join(&name)).filter(|path| path.is_file());
        // Of several builds the last.
        let shell = there.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
        shell.and_then(|path| std::fs::canonicalize(path).ok())
    }
}

/// Where the library is, if a program lies in `folder`: as cargo builds both, beside each other in a package for Python, and as an
/// installation has them.
fn places(folder: &Path) -> Vec<PathBuf> {
    let multiarch = format!("../lib/{}-linux-gnu", std::env::consts::ARCH);
    ["deps", ".", "../lib", "../lib64", &multiarch].map(|place| folder.join(place).join(CORE)).into()
}

/// The folders of cargo's in which softcuda's build script has put libraries.
fn built_shells(build: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(build).into_iter().flatten().flatten();
    let of_softcuda = entries.filter(|entry| entry.file_name().as_bytes().starts_with(b"softcuda-"));
    of_softcuda.map(|entry| entry.path().join("out")).collect()
}

/// The file that the loader takes, which knows an installation's folders from the program.
fn by_loader() -> Option<PathBuf> {
    const NAME: &CStr = c"libsoftcuda.so";
    // SAFETY: the name is terminated, and what the library runs when it is loaded has no conditions.
    let library = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if library.is_null() {
        return None;
    }
    // SAFETY: of a library that stays loaded; `info` is written before it is read, and its name lasts as long as the library.
    unsafe {
        let symbol: *mut c_void = libc::dlsym(library, c"softcuda_version".as_ptr());
        let mut info: libc::Dl_info = std::mem::zeroed();
        if symbol.is_null() || libc::dladdr(symbol, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        Some(PathBuf::from(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes())))
    }
}
