//! What makes machine code, which softcuda does not execute, and the CUDA runtime, which does not work on it.

use super::Findings;
use crate::shown;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A library or program by the begin of its name, and what of it will not work.
const KINDS: [(&str, &str, &str); 5] = [
    (
        "libcudart.so",
        "CUDA runtime",
        "asks the driver for private tables and stops; programs must use the driver API",
    ),
    (
        NVRTC,
        "NVRTC",
        "for a real architecture (sm_90) makes a cubin, which is refused; have it make PTX (compute_90)",
    ),
    (
        NVJITLINK,
        "nvJitLink",
        "links to a cubin, which is refused; have it make PTX (-ptx), or let the driver link",
    ),
    (
        "ptxas",
        "ptxas",
        "makes cubins, which are refused, where it is called by its full path; by its name, and by Triton, softcuda-run's own is",
    ),
    (
        "nvcc",
        "nvcc",
        "calls softcuda-run's own ptxas where it is called by its name; by its full path it makes cubins unless it is told to keep PTX \
         (-gencode arch=compute_90,code=compute_90)",
    ),
];

const NVRTC: &str = "libnvrtc.so";
const NVJITLINK: &str = "libnvJitLink.so";

/// How deep packages have such files below their folder: `nvidia/cuda_nvrtc/lib/x`, `triton/backends/nvidia/bin/x`.
const DEPTH: usize = 5;

/// The packages that have them.
const PACKAGES: [&str; 8] =
    ["nvidia", "triton", "torch", "cupy", "cupy_backends", "warp", "numba_cuda", "jaxlib"];

/// Whether the libraries among them hand out PTX in place of cubins.
#[derive(Clone, Copy)]
pub(super) enum Handed {
    Ptx,
    /// The library that sees to it is not there.
    Nothing,
    /// The program's loader does not know `LD_AUDIT`.
    ByMusl,
}

/// Looks in the packages of Python, of the program if it is one, and in the folders of `PATH` and `LD_LIBRARY_PATH`.
pub(super) fn examine(program: Option<&Path>, handed: Handed, findings: &mut Findings) {
    compiler(findings);
    let mut files = Vec::new();
    for list in ["PATH", "LD_LIBRARY_PATH"] {
        let folders = std::env::var_os(list).unwrap_or_default();
        std::env::split_paths(&folders).for_each(|folder| look(&folder, 1, &mut files));
    }
    for folder in python_folders(program) {
        PACKAGES.iter().for_each(|package| look(&folder.join(package), DEPTH, &mut files));
    }
    for (begin, name, sentence) in KINDS {
        let of_kind = |path: &&PathBuf| is_of(path, begin);
        let mut there: Vec<String> = files.iter().filter(of_kind).map(shown).collect();
        there.sort_unstable();
        there.dedup();
        let files = match &there[..] {
            [] => continue,
            [one] => one.clone(),
            [first, others @ ..] => format!("{first} (and {} more)", others.len()),
        };
        match handed {
            Handed::Ptx if [NVRTC, NVJITLINK].contains(&begin) => {
                findings.fine(name, format!("{files} hands out PTX in place of cubins"));
            }
            Handed::ByMusl if [NVRTC, NVJITLINK].contains(&begin) => {
                findings.warning(
                    name,
                    format!(
                        "{files} {sentence}: musl's loader knows no LD_AUDIT, by which it would hand out PTX"
                    ),
                );
            }
            _ => findings.warning(name, format!("{files} {sentence}")),
        }
    }
}

/// Some packages compile in C when they run.
fn compiler(findings: &mut Findings) {
    let name = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&name);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.status().is_ok_and(|status| status.success()) {
        findings.fine("C compiler", shown(name));
    } else {
        findings.warning(
            "C compiler",
            format!("{} does not run; packages that compile when they run, as Triton, need one", shown(name)),
        );
    }
}

fn is_of(path: &Path, begin: &str) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let is_library = begin.contains(".so");
    if is_library { name.starts_with(begin.as_bytes()) } else { name == begin.as_bytes() }
}

/// The files of a folder, and of those below it, that are of one of the kinds.
fn look(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    if depth == 0 {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(&path, depth - 1, files);
        } else if KINDS.iter().any(|(begin, _, _)| is_of(&path, begin)) {
            files.push(path);
        }
    }
}

/// Where Python has its packages.
fn python_folders(program: Option<&Path>) -> Vec<PathBuf> {
    let is_python = |path: &&Path| path.file_name().unwrap_or_default().as_bytes().starts_with(b"python");
    let python = program.filter(is_python).unwrap_or(Path::new("python3"));
    let mut command = Command::new(python);
    // As it finds them by itself; nothing of the current folder is run.
    command
        .args(["-c", "import sys; print('\\n'.join(sys.path[1:]))"])
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let Ok(output) = command.output() else { return Vec::new() };
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| PathBuf::from(OsStr::from_bytes(line))).collect()
}
