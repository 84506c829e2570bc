//! Where NVRTC and nvJitLink may be: by name, as the loader finds it; in packages that pip installs; in toolkits.

use crate::driver::is_privileged;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A library that is looked for.
pub(super) struct Wanted {
    /// Names the library, in place of the search.
    pub(super) variable: &'static str,
    /// What it is called, by its major version.
    name: fn(u32) -> String,
    /// Where packages of Python have it.
    packaged: [&'static str; 2],
}

pub(super) const NVRTC: Wanted =
    Wanted { variable: "CUSHIM_NVRTC", name: nvrtc, packaged: ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"] };

pub(super) const NVJITLINK: Wanted = Wanted {
    variable: "CUSHIM_NVJITLINK",
    name: nvjitlink,
    packaged: ["nvidia/cu13/lib", "nvidia/nvjitlink/lib"],
};

/// The oldest major version that has all functions.
const OLDEST: u32 = 11;

/// The compilers to try, in order: those of this major version first, then older ones, then newer ones.
pub(super) fn compilers(major: u32) -> Vec<PathBuf> {
    places(&NVRTC, (OLDEST..=major).rev().chain(major + 1..=major + 2))
}

/// The libraries of these major versions to try, in order. Where somebody names one, no other.
pub(super) fn places(wanted: &Wanted, majors: impl Iterator<Item = u32>) -> Vec<PathBuf> {
    if let Some(named) = variable(wanted.variable) {
        return vec![named.into()];
    }
    let folders = folders(wanted);
    let mut found: Vec<PathBuf> = Vec::new();
    for major in majors {
        let name = (wanted.name)(major);
        let in_folders = folders.iter().map(|folder| folder.join(&name)).filter(|path| path.exists());
        found.push(PathBuf::from(&name));
        found.extend(in_folders);
    }
    found
}

/// What the first of the places has that has it, or what each says in place of that, a line for each.
pub(super) fn first<T>(places: &[PathBuf], at: impl Fn(&Path) -> Result<T, String>) -> Result<T, String> {
    let mut tried = String::new();
    for place in places {
        let why = match at(place) {
            Ok(found) => return Ok(found),
            Err(why) => why,
        };
        let place = place.display().to_string();
        // The loader names what it does not load.
        let named = if why.starts_with(&place) { String::new() } else { format!("{place}: ") };
        tried.push_str(&format!("\n  {named}{why}"));
    }
    Err(tried)
}

/// What nvJitLink of a major version is called.
fn nvjitlink(major: u32) -> String {
    if cfg!(windows) { format!("nvJitLink_{major}0_0.dll") } else { format!("libnvJitLink.so.{major}") }
}

/// What NVRTC of a major version is called.
fn nvrtc(major: u32) -> String {
    match (cfg!(windows), major) {
        (true, 11) => "nvrtc64_112_0.dll".to_owned(),
        (true, _) => format!("nvrtc64_{major}0_0.dll"),
        (false, 11) => "libnvrtc.so.11.2".to_owned(),
        (false, _) => format!("libnvrtc.so.{major}"),
    }
}

/// The folders of packages and toolkits, those that the environment names first.
fn folders(wanted: &Wanted) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).map(PathBuf::from);
    for prefix in
        environments.chain(python()).chain(variable("HOME").map(|home| Path::new(&home).join(".local")))
    {
        folders.push(prefix.join("lib"));
        for packages in packages(&prefix) {
            folders.extend(wanted.packaged.map(|folder| packages.join(folder)));
        }
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).map(PathBuf::from);
    folders.extend(toolkits.chain([PathBuf::from("/usr/local/cuda")]).map(|toolkit| toolkit.join("lib64")));
    folders
}

/// Where the `python3` of the search path is installed.
fn python() -> Option<PathBuf> {
    let path = variable("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("python3")).find(|file| file.exists())?;
    // Not resolved: that of a virtual environment is a link to the system's.
    Some(found.parent()?.parent()?.to_owned())
}

/// The folders of Python's packages below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(prefix.join("lib")) else { return Vec::new() };
    let is_python = |name: &OsStr| name.to_string_lossy().starts_with("python3");
    let versions = entries.flatten().filter(|entry| is_python(&entry.file_name())).map(|entry| entry.path());
    versions.flat_map(|version| ["site-packages", "dist-packages"].map(|name| version.join(name))).collect()
}

/// The headers of CUDA beside a library of a package or a toolkit, if they are there.
pub(super) fn headers(library: &Path) -> Option<PathBuf> {
    let lib = library.parent()?;
    let beside = [lib.join("../include"), lib.join("../../cuda_runtime/include")];
    beside.into_iter().find(|folder| folder.join("cuda_fp16.h").exists())?.canonicalize().ok()
}

/// A variable of the environment, which processes with more rights than their user do not read.
pub(super) fn variable(name: &str) -> Option<std::ffi::OsString> {
    if is_privileged() { None } else { std::env::var_os(name).filter(|value| !value.is_empty()) }
}
