//! The command: whether softcuda can be loaded there, and which other drivers it may find.

use super::Findings;
use super::elf::{self, Elf};
use crate::libraries::Libraries;
use crate::{setting, shown};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const TOPIC: &str = "command";
const DRIVER: &str = "libcuda.so.1";

/// Where drivers are installed.
const FOLDERS: [&str; 8] = [
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/cuda/compat",
    "/usr/local/nvidia/lib64",
];

/// Looks at the command, if there is one; answers the file that runs it.
pub(super) fn examine(
    command: &[OsString],
    libraries: Option<&Libraries>,
    findings: &mut Findings,
) -> Option<PathBuf> {
    others(findings);
    variables(findings);
    let core = libraries.and_then(|libraries| elf::read(&libraries.core));
    let kind = |musl| if musl { "musl" } else { "glibc" };
    let softcuda_is_musl = core.as_ref().is_some_and(is_musl);
    findings.fine("C library", format!("softcuda is built for {}", kind(softcuda_is_musl)));
    let name = command.first()?;
    let Some(path) = in_path(name) else {
        findings.problem(TOPIC, format!("{}: command not found", shown(name)));
        return None;
    };
    let program = interpreter(&path).unwrap_or_else(|| path.clone());
    let Some(elf) = elf::read(&program) else {
        findings.warning(
            TOPIC,
            format!("{} is no program of this machine's; nothing can be said of it", shown(&program)),
        );
        return Some(program);
    };
    if elf.loader.is_none() && elf.needed.is_empty() {
        findings.warning(
            TOPIC,
            format!("{} is linked statically; it opens no driver, but what it starts may", shown(&program)),
        );
    } else if is_musl(&elf) != softcuda_is_musl {
        let (own, other) = (kind(softcuda_is_musl), kind(is_musl(&elf)));
        let name = shown(&program);
        findings.problem(
            TOPIC,
            format!("{name} is built for {other}, and softcuda for {own}: it cannot load it"),
        );
    } else {
        findings.fine(TOPIC, shown(&program));
    }
    for folder in elf.first_folders.iter().map(Path::new) {
        if folder.join(DRIVER).exists() {
            findings.problem(
                TOPIC,
                format!(
                    "{} looks in {} before LD_LIBRARY_PATH (RPATH), and finds {DRIVER} there; remove it with patchelf, or make it a RUNPATH",
                    shown(&program),
                    shown(folder)
                ),
            );
        }
    }
    Some(program)
}

fn is_musl(elf: &Elf) -> bool {
    elf.loader.iter().chain(&elf.needed).any(|part| part.contains("musl"))
}

/// Whether a program is loaded by musl.
pub(super) fn is_for_musl(program: &Path) -> bool {
    elf::read(program).is_some_and(|elf| is_musl(&elf))
}

/// Other drivers, which who opens them by their path gets.
fn others(findings: &mut Findings) {
    let there: Vec<String> = FOLDERS
        .iter()
        .map(|folder| format!("{folder}/{DRIVER}"))
        .filter(|path| Path::new(path).exists())
        .collect();
    if there.is_empty() {
        findings.fine("other drivers", "none in the usual folders");
    } else {
        let list = there.join(", ");
        findings.warning(
            "other drivers",
            format!("a program that opens {list} by its path gets that, not softcuda"),
        );
    }
}

/// Variables by which programs are led to another driver.
fn variables(findings: &mut Findings) {
    let value = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(shown);
    if let Some(path) = value("NUMBA_CUDA_DRIVER") {
        findings.warning("other drivers", format!("NUMBA_CUDA_DRIVER={path}: Numba opens that; unset it"));
    }
    if let Some(list) = value("LD_PRELOAD").filter(|list| list.contains("libcuda")) {
        findings.problem(
            "other drivers",
            format!("LD_PRELOAD={list} comes before softcuda in every program; unset it"),
        );
    }
}

/// The file that a name means, as a shell finds it.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| setting::USUAL_PROGRAMS.into());
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(runs)
}

/// The program that runs a script.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let text = std::fs::read(script).ok()?;
    let line = text.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if first.ends_with("/env") {
        let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        return in_path(OsStr::new(name));
    }
    Some(PathBuf::from(first))
}
