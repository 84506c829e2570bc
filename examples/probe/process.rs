//! What a bug report needs beyond the examination of the driver: this process, its limits, and the files of drivers.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Process {
    /// How the probe was started.
    pub(crate) command: Vec<String>,
    /// `x86_64-linux, release`: of this program.
    pub(crate) build: String,
    /// Who runs it, and what limits it: names and values, as the kernel has them.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// The files of NVIDIA's and of ours that are mapped.
    pub(crate) mapped: Vec<String>,
    /// Device files: path, and who may open it.
    pub(crate) device_files: Vec<(String, String)>,
    /// The libcuda files in the usual folders: path, and where a link leads.
    pub(crate) copies: Vec<(PathBuf, Option<PathBuf>)>,
}

/// Where drivers are, and what may stand in front of them.
const FOLDERS: &[&str] = &[
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/lib",
    "usr/lib/wsl/lib",
    "run/opengl-driver/lib",
    "usr/local/cuda/compat",
    "usr/local/cuda/lib64/stubs",
    "usr/local/nvidia/lib64",
];

impl Process {
    /// Looks below `root`, which is `/` but for tests.
    pub(crate) fn read(root: &Path, device_files: &[String]) -> Self {
        let kind = if cfg!(debug_assertions) { "debug" } else { "release" };
        Self {
            command: std::env::args().skip(1).collect(),
            build: format!("{}-{}, {kind}", std::env::consts::ARCH, std::env::consts::OS),
            facts: facts(root),
            mapped: mapped(&text(root, "proc/self/maps")),
            device_files: device_files.iter().map(|file| (file.clone(), permissions(root, file))).collect(),
            copies: FOLDERS.iter().flat_map(|folder| copies(root, folder)).collect(),
        }
    }
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

fn facts(root: &Path) -> Vec<(&'static str, String)> {
    let (status, limits) = (text(root, "proc/self/status"), text(root, "proc/self/limits"));
    let memory = text(root, "proc/meminfo");
    let facts = [
        ("user ids", after(&status, "Uid:")),
        ("group ids", after(&status, "Gid:")),
        ("further groups", after(&status, "Groups:")),
        ("seccomp", after(&status, "Seccomp:")),
        ("processors", after(&status, "Cpus_allowed_list:")),
        ("memory", after(&memory, "MemTotal:")),
        ("memory that is free", after(&memory, "MemAvailable:")),
        ("limit of the group", Some(text(root, "sys/fs/cgroup/memory.max"))),
        ("locked memory", after(&limits, "Max locked memory")),
        ("address space", after(&limits, "Max address space")),
        ("open files", after(&limits, "Max open files")),
    ];
    let squeezed = |value: String| value.split_whitespace().collect::<Vec<_>>().join(" ");
    let facts = facts.into_iter().filter_map(|(name, value)| Some((name, squeezed(value?))));
    facts.filter(|(_, value)| !value.is_empty()).collect()
}

/// What follows the name at the beginning of a line.
fn after(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

fn mapped(maps: &str) -> Vec<String> {
    let files = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    let matters = |file: &&str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        ["libcuda", "libnvidia", "libsoftcuda", "libcushim", "libvgpu"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    let mut files: Vec<String> = files.filter(matters).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files
}

/// `rw-rw-rw- of 0:0`, or why nobody knows.
#[cfg(unix)]
fn permissions(root: &Path, file: &str) -> String {
    use std::os::unix::fs::MetadataExt as _;
    match fs::metadata(root.join(file.trim_start_matches('/'))) {
        Ok(metadata) => {
            let mode = metadata.mode();
            let bit =
                |(place, letter): (usize, char)| if mode >> (8 - place) & 1 == 1 { letter } else { '-' };
            let letters: String = "rwxrwxrwx".chars().enumerate().map(bit).collect();
            format!("{letters} of {}:{}", metadata.uid(), metadata.gid())
        }
        Err(error) => error.to_string(),
    }
}

#[cfg(not(unix))]
fn permissions(_: &Path, _: &str) -> String {
    String::new()
}

fn copies(root: &Path, folder: &str) -> Vec<(PathBuf, Option<PathBuf>)> {
    // What is there under two names, because a folder is a link, is shown once.
    let folder = root.join(folder);
    if folder.canonicalize().is_ok_and(|path| path != folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_driver = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libcuda.so"))
    };
    let mut paths: Vec<PathBuf> = paths.filter(is_driver).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_link(path).ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().expect("the file is in a folder"))
                .expect("the folder can be made");
            fs::write(file, text).expect("the file can be written");
        }
        root
    }

    #[test]
    fn what_the_kernel_says() {
        let root = root(&[
            ("proc/self/status", "Name:\tprobe\nUid:\t1000\t1000\t1000\t1000\nGroups:\t44 109 \n"),
            (
                "proc/self/limits",
                "Max locked memory         8388608              8388608              bytes\n",
            ),
            ("sys/fs/cgroup/memory.max", "max\n"),
        ]);
        let process = Process::read(root.path(), &[]);
        let expected = [
            ("user ids", "1000 1000 1000 1000"),
            ("further groups", "44 109"),
            ("limit of the group", "max"),
            ("locked memory", "8388608 8388608 bytes"),
        ];
        let facts: Vec<(&str, &str)> =
            process.facts.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(facts, expected);
        assert!(process.mapped.is_empty() && process.copies.is_empty());
    }

    #[test]
    fn libraries_that_are_mapped() {
        let maps = "7f00-7f01 r--p 00000000 08:01 1  /usr/lib/libcuda.so.580.95.05\n\
                    7f01-7f02 r-xp 00001000 08:01 1  /usr/lib/libcuda.so.580.95.05\n\
                    7f03-7f04 r--p 00000000 08:01 2  /usr/lib/libc.so.6\n7f05-7f06 rw-p 00000000 00:00 0\n";
        assert_eq!(mapped(maps), ["/usr/lib/libcuda.so.580.95.05"]);
    }

    #[cfg(unix)]
    #[test]
    fn files_of_drivers() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = root(&[
            ("usr/lib64/libcuda.so.580.95.05", ""),
            ("usr/lib64/libcudart.so.13", ""),
            ("dev/nvidia0", ""),
        ]);
        let folder = root.path().canonicalize().expect("the folder is there");
        std::os::unix::fs::symlink("libcuda.so.580.95.05", folder.join("usr/lib64/libcuda.so.1"))
            .expect("a link");
        fs::set_permissions(folder.join("dev/nvidia0"), fs::Permissions::from_mode(0o640))
            .expect("it is ours");
        let process = Process::read(&folder, &["/dev/nvidia0".to_owned(), "/dev/nvidia1".to_owned()]);
        let lib = folder.join("usr/lib64");
        assert_eq!(
            process.copies,
            [
                (lib.join("libcuda.so.1"), Some("libcuda.so.580.95.05".into())),
                (lib.join("libcuda.so.580.95.05"), None)
            ]
        );
        assert!(process.device_files[0].1.starts_with("rw-r----- of "), "{:?}", process.device_files);
        assert!(process.device_files[1].1.contains("No such file"), "{:?}", process.device_files);
    }
}
