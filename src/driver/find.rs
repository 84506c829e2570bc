//! Where to look for the driver, and in which order.

use super::environment::{DRIVER_VARIABLE, Environment, SOFTWARE_VARIABLE, SOFTWARE_VERSION_VARIABLE};
use super::options::Choice;
use super::report::Origin;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What to open, and where it may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// This library and no other.
    Only(Place, Wanted),
    /// The first of these that serves.
    First(Vec<Place>, Wanted),
    /// Nothing.
    Nothing,
}

/// Which sort of driver will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Any,
    /// Any that is found, but not softcuda if it is there because this library opened it: under the driver's name, it is
    /// found by that.
    Found,
    /// Any but softcuda: nobody who may decide it has asked for that.
    Hardware,
    Software,
}

/// A library to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: PathBuf,
    pub(super) origin: Origin,
}

impl Place {
    fn new(name: impl Into<PathBuf>, origin: Origin) -> Self {
        Self { name: name.into(), origin }
    }
}

/// The names of the driver's library, the better first: stubs of the toolkit carry the short one only.
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];
#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];

/// Where drivers are installed beside the folders that the loader knows.
#[cfg(all(not(windows), target_arch = "aarch64"))]
const FOLDERS: &[&str] = &[
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
];
#[cfg(all(not(windows), not(target_arch = "aarch64")))]
const FOLDERS: &[&str] = &[
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
];
#[cfg(windows)]
const FOLDERS: &[&str] = &[];

/// What was asked for, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) choice: Choice,
    pub(super) by: Origin,
}

/// The caller's choice, or else that of the environment.
pub(super) fn chosen(options: Option<&Choice>, environment: &Environment) -> Option<Chosen> {
    let by_options = || Some(Chosen { choice: options?.clone(), by: Origin::Options });
    let by_environment = || {
        let choice = Choice::from(environment.get(DRIVER_VARIABLE)?);
        Some(Chosen { choice, by: Origin::Environment(DRIVER_VARIABLE) })
    };
    by_options().or_else(by_environment)
}

/// Turns a choice and the environment into places to look at. `module` finds the file that holds this code,
/// which takes a while and is only asked for where softcuda is wanted.
pub(super) fn plan(
    chosen: Option<&Chosen>,
    environment: &Environment,
    module: impl FnOnce() -> Option<PathBuf>,
) -> Plan {
    let search = || {
        // Where a folder of the user's holds softcuda as libcuda.so.1, the user wants it; a privileged process does not.
        Plan::First(native(), if environment.privileged { Wanted::Hardware } else { Wanted::Found })
    };
    let Some(Chosen { choice, by }) = chosen else { return search() };
    match choice {
        Choice::Auto => search(),
        Choice::Path(path) => Plan::Only(Place::new(path, *by), Wanted::Any),
        Choice::None => Plan::Nothing,
        Choice::Software => match environment.get(SOFTWARE_VARIABLE) {
            Some(path) => {
                Plan::Only(Place::new(path, Origin::Environment(SOFTWARE_VARIABLE)), Wanted::Software)
            }
            None => {
                let places = software(environment.get(SOFTWARE_VERSION_VARIABLE), module().as_deref());
                Plan::First(places, Wanted::Software)
            }
        },
    }
}

/// NVIDIA's driver. softcuda is not among these: nobody should compute on the CPU without having said so.
fn native() -> Vec<Place> {
    let loaded = NAMES.iter().map(|name| Place::new(name, Origin::Loaded));
    let loader = NAMES.iter().map(|name| Place::new(name, Origin::Loader));
    let folders = FOLDERS.iter().map(|folder| Place::new(Path::new(folder).join(NAMES[0]), Origin::Folder));
    loaded.chain(loader).chain(folders).collect()
}

/// softcuda, beside this code or where the loader finds it. Cargo puts libraries of dependencies into `deps`, and
/// programs that are examples beside that folder.
fn software(version: Option<&OsStr>, module: Option<&Path>) -> Vec<Place> {
    let names = software_names(version);
    let beside = module.and_then(Path::parent).map(|folder| {
        let parent = folder.parent().unwrap_or(folder);
        [folder.to_owned(), folder.join("deps"), parent.join("deps")]
    });
    let in_folder = |folder: PathBuf| {
        let places = names.iter().map(move |name| Place::new(folder.join(name), Origin::Module));
        places.collect::<Vec<_>>()
    };
    let mut places: Vec<Place> = beside.into_iter().flatten().flat_map(in_folder).collect();
    places.extend(names.iter().map(|name| Place::new(name, Origin::Loader)));
    places
}

/// A shell for the version that softcuda is to impersonate exports exactly what that version exports, so it goes first.
fn software_names(version: Option<&OsStr>) -> Vec<String> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let version = version.and_then(OsStr::to_str).filter(|version| is_version(version));
    let shell = version.map(|version| format!("{DLL_PREFIX}softcuda-{version}{DLL_SUFFIX}"));
    shell.into_iter().chain([format!("{DLL_PREFIX}softcuda{DLL_SUFFIX}")]).collect()
}

/// Whether a value may become part of a file's name.
fn is_version(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_the_process_first_and_the_folders_last() {
        let order: Vec<Origin> = native().iter().map(|place| place.origin).collect();
        let mut expected = vec![Origin::Loaded; NAMES.len()];
        expected.extend(vec![Origin::Loader; NAMES.len()]);
        expected.extend(vec![Origin::Folder; FOLDERS.len()]);
        assert_eq!(order, expected);
        assert!(native().iter().all(|place| !place.name.to_string_lossy().contains("soft")));
    }

    #[test]
    #[cfg(not(windows))]
    fn the_folder_of_wsl_on_every_machine() {
        assert!(FOLDERS.contains(&"/usr/lib/wsl/lib"));
    }

    #[test]
    fn softcuda_beside_the_module_before_the_loader() {
        let places = software(Some("12.2".as_ref()), Some(Path::new("/target/debug/examples/probe")));
        let folders: Vec<&Path> = places.iter().step_by(2).filter_map(|place| place.name.parent()).collect();
        assert_eq!(folders.len() * 2, places.len());
        let expected = ["/target/debug/examples", "/target/debug/examples/deps", "/target/debug/deps", ""];
        assert_eq!(folders, expected.map(Path::new));
        let shells = places.iter().step_by(2).filter_map(|place| place.name.file_stem());
        assert!(shells.into_iter().all(|stem| stem.to_string_lossy().ends_with("softcuda-12.2")));
    }

    #[test]
    fn a_version_is_digits_and_dots() {
        assert!(is_version("11.4") && is_version("13.0"));
        assert!(!is_version("../evil") && !is_version("12.8/x") && !is_version("latest"));
    }
}
