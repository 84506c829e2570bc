//! Where NVRTC may be: by name, as the loader finds it; in packages that pip installs; in toolkits.

use crate::driver::is_privileged;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Names the library, in place of the search.
pub(super) const VARIABLE: &str = "CUSHIM_NVRTC";

/// The oldest major version that has all functions.
const OLDEST: u32 = 11;

/// The libraries to try, in order: those of this major version first, then older ones, then newer ones. Where somebody names one, no other.
pub(super) fn places(major: u32) -> Vec<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return vec![named.into()];
    }
    let folders = folders();
    let majors = (OLDEST..=major).rev().chain(major + 1..=major + 2);
    let mut found: Vec<PathBuf> = Vec::new();
    for major in majors {
        found.push(name_of(major).into());
        let in_folders =
            folders.iter().map(|folder| folder.join(name_of(major))).filter(|path| path.exists());
        found.extend(in_folders);
    }
    found
}

/// What the library of a major version is called.
fn name_of(major: u32) -> String {
    match (cfg!(windows), major) {
        (true, 11) => "nvrtc64_112_0.dll".to_owned(),
        (true, _) => format!("nvrtc64_{major}0_0.dll"),
        (false, 11) => "libnvrtc.so.11.2".to_owned(),
        (false, _) => format!("libnvrtc.so.{major}"),
    }
}

/// The folders of packages and toolkits, those that the environment names first.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).map(PathBuf::from);
    for prefix in
        environments.chain(python()).chain(variable("HOME").map(|home| Path::new(&home).join(".local")))
    {
        folders.push(prefix.join("lib"));
        for packages in packages(&prefix) {
            folders.extend(["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"].map(|folder| packages.join(folder)));
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
