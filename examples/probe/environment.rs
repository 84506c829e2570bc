//! The environment variables that steer the driver or the search for it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// Name and value, sorted; values that look like secrets are left out.
    pub(crate) variables: Vec<(String, String)>,
    /// The folders of `LD_LIBRARY_PATH` that hold a libcuda, with the names of those files.
    pub(crate) folders: Vec<(PathBuf, Vec<String>)>,
}

/// Stands for a value that people should not find in a report which they publish.
const HIDDEN: &str = "(set, not shown)";

impl Environment {
    /// Picks what matters from all variables of the process.
    pub(crate) fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            let name = name.to_string_lossy().into_owned();
            if name == "LD_LIBRARY_PATH" {
                environment.folders = std::env::split_paths(&value).filter_map(libcuda_in).collect();
            } else if matters(&name) {
                let value = if is_secret(&name) { HIDDEN.into() } else { value.to_string_lossy() };
                environment.variables.push((name, value.into_owned()));
            }
        }
        environment.variables.sort();
        environment
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn matters(name: &str) -> bool {
    // A preloaded library can stand between a program and its driver.
    name == "LD_PRELOAD"
        || ["CUSHIM_", "SOFTCUDA_", "CUDA_", "NVIDIA_"].iter().any(|prefix| name.starts_with(prefix))
}

fn is_secret(name: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"].iter().any(|word| name.contains(word))
}

/// The folder, if it holds a libcuda. An empty entry of the path means the current folder.
fn libcuda_in(folder: PathBuf) -> Option<(PathBuf, Vec<String>)> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".").to_owned() } else { folder };
    let entries = fs::read_dir(&folder).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("libcuda.so")).collect();
    names.sort();
    (!names.is_empty()).then_some((folder, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::of(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn only_what_matters_is_kept() {
        let environment = environment(&[
            ("PATH", "/bin"),
            ("NVIDIA_VISIBLE_DEVICES", "all"),
            ("CUDA_VISIBLE_DEVICES", ""),
            ("SOFTCUDA_VERSION", "12.2"),
            ("CUSHIM_DRIVER", "software"),
            ("LD_PRELOAD", "/opt/libvgpu.so"),
        ]);
        let names: Vec<&str> = environment.variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "CUDA_VISIBLE_DEVICES",
                "CUSHIM_DRIVER",
                "LD_PRELOAD",
                "NVIDIA_VISIBLE_DEVICES",
                "SOFTCUDA_VERSION"
            ]
        );
        assert_eq!(environment.get("CUDA_VISIBLE_DEVICES"), Some(""));
        assert_eq!(environment.get("PATH"), None);
    }

    #[test]
    fn secrets_stay_at_home() {
        let environment = environment(&[("NVIDIA_API_KEY", "nvapi-1234")]);
        assert_eq!(environment.get("NVIDIA_API_KEY"), Some(HIDDEN));
    }

    #[test]
    fn folders_with_a_libcuda() {
        let with = tempfile::tempdir().expect("a temporary folder");
        let without = tempfile::tempdir().expect("a temporary folder");
        fs::write(with.path().join("libcuda.so.1"), "").expect("the file can be written");
        fs::write(without.path().join("libcudart.so.12"), "").expect("the file can be written");
        let path = std::env::join_paths([without.path(), with.path(), Path::new("/nowhere/at/all")]);
        let path = path.expect("no colons in these paths");
        let environment = Environment::of([("LD_LIBRARY_PATH".into(), path)]);
        assert_eq!(environment.folders, [(with.path().to_owned(), vec!["libcuda.so.1".to_owned()])]);
    }
}
