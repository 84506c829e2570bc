//! The NVIDIA kernel module, as the kernel tells of it.

use std::fs;
use std::path::Path;

/// A loaded kernel module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KernelModule {
    /// The driver release that it belongs to: `580.95.05`.
    pub(crate) release: String,
    /// Whether it is the one with open sources; unknown where only the number is published.
    pub(crate) is_open: Option<bool>,
    /// The file that says so.
    pub(crate) source: &'static str,
}

const PROC: &str = "/proc/driver/nvidia/version";
const SYS: &str = "/sys/module/nvidia/version";

impl KernelModule {
    /// Looks below `root`, which is `/` but for tests.
    pub(crate) fn read(root: &Path) -> Option<Self> {
        let text = |path: &str| fs::read_to_string(root.join(&path[1..])).ok();
        let from_proc = text(PROC).and_then(|text| {
            let line = text.lines().find(|line| line.contains("Kernel Module"))?;
            let release = line.split_whitespace().find(|word| is_release(word))?.to_owned();
            Some(Self { release, is_open: Some(line.contains("Open Kernel Module")), source: PROC })
        });
        from_proc.or_else(|| {
            let release = text(SYS)?.trim().to_owned();
            is_release(&release).then_some(Self { release, is_open: None, source: SYS })
        })
    }
}

/// The driver release in the name of a library's file: `535.261.03` in `libcuda.so.535.261.03`. WSL and Jetson boards
/// have `libcuda.so.1.1`, which names no release.
pub(crate) fn release_of_library(path: &Path) -> Option<&str> {
    let release = path.file_name()?.to_str()?.strip_prefix("libcuda.so.")?;
    is_release(release).then_some(release)
}

/// Releases are numbered from 100 upwards in this century.
fn is_release(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let first = parts.next().is_some_and(|part| part.len() >= 3 && is_number(part));
    first && word.contains('.') && parts.all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with(path: &str, text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        let file = root.path().join(&path[1..]);
        fs::create_dir_all(file.parent().expect("the file is in a folder")).expect("the folder can be made");
        fs::write(file, text).expect("the file can be written");
        root
    }

    #[test]
    fn both_flavours_in_proc() {
        for (line, release, is_open) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Thu Jul 24 01:14:53 UTC 2025\n",
                "535.261.03",
                false,
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root)\n",
                "580.95.05",
                true,
            ),
        ] {
            let root =
                root_with(PROC, &format!("{line}GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"));
            let module = KernelModule::read(root.path()).expect("the module is found");
            assert_eq!(
                (module.release.as_str(), module.is_open, module.source),
                (release, Some(is_open), PROC)
            );
        }
    }

    #[test]
    fn the_number_alone_in_sys() {
        let root = root_with(SYS, "550.163.01\n");
        let module = KernelModule::read(root.path()).expect("the module is found");
        assert_eq!((module.release.as_str(), module.is_open), ("550.163.01", None));
    }

    #[test]
    fn none_or_nonsense() {
        assert_eq!(KernelModule::read(root_with("/proc/version", "Linux").path()), None);
        assert_eq!(KernelModule::read(root_with(SYS, "unknown\n").path()), None);
    }

    #[test]
    fn releases_in_file_names() {
        for (path, release) in [
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.261.03", Some("535.261.03")),
            ("libcuda.so.580.65", Some("580.65")),
            ("/usr/lib/wsl/lib/libcuda.so.1.1", None),
            ("/usr/lib/libcuda.so.1", None),
            ("/usr/lib/libcuda.so", None),
            ("/usr/lib/libsoftcuda.so", None),
        ] {
            assert_eq!(release_of_library(Path::new(path)), release, "{path}");
        }
    }
}
