//! The program that runs every kernel of `kernels/`, with their PTX in it.

use crate::build::Build;
use crate::repository;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: &[&str] = &["run", "child", "arrays", "numbers", "mathematics", "threads", "language"];

/// How it is made.
pub fn build() -> Build {
    let main = Build::new("corpus/main");
    let all = SOURCES.iter().fold(main, |build, source| build.and(&format!("corpus/{source}")));
    let all = files().into_iter().fold(all, Build::input);
    // A product and a sum are two operations unless the reference says otherwise, and what rounds is chosen as it runs.
    all.option("-O1").option("-ffp-contract=off").option("-frounding-math")
}

/// The PTX of every compiler.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<_> =
        sorted(&repository("kernels/ptx")).iter().flat_map(|folder| sorted(folder)).collect();
    files.sort_by_key(|file| (stem(file), file.clone()));
    files
}

/// `corpus.inc`: the PTX of every compiler, by name, as C that the assembler fills in.
pub(crate) fn images() -> String {
    let files = files();
    let mut text = String::new();
    for (number, file) in files.iter().enumerate() {
        let path = file.display();
        let _ = writeln!(text, "extern const char ptx_{number}[], ptx_{number}_end[];");
        let _ = writeln!(text, "__asm__(\".section .rodata\\nptx_{number}: .incbin \\\"{path}\\\"\\n\"");
        let _ = writeln!(text, "        \".byte 0\\nptx_{number}_end:\\n.previous\\n\");");
    }
    text.push_str("static const struct image images[] = {\n");
    for (number, file) in files.iter().enumerate() {
        let compiler = file.parent().map(stem).unwrap_or_default();
        let _ = writeln!(text, "    {{\"{}\", \"{compiler}\", ptx_{number}, ptx_{number}_end}},", stem(file));
    }
    text.push_str("};\n");
    text
}

/// What a folder holds.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The name without what says which kind of file it is; a compiler's has dots of its own.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".ptx").unwrap_or(&name).to_owned()
}
