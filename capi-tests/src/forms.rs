//! The program that runs every form of `kernels/forms.txt`, with that table in it.

use crate::build::Build;
use crate::repository;
use std::path::PathBuf;

/// How it is made.
pub fn build() -> Build {
    let main = Build::new("forms/main");
    let all = ["forms/table", "forms/inputs", "corpus/run"].iter().fold(main, |build, s| build.and(s));
    all.option("-O1").input(file())
}

fn file() -> PathBuf {
    repository("kernels/forms.txt")
}

/// `forms.inc`: the table, as C that the assembler fills in.
pub(crate) fn table() -> String {
    format!(
        "extern const char forms_start[], forms_end[];\n\
         __asm__(\".section .rodata\\nforms_start: .incbin \\\"{}\\\"\\nforms_end: .byte 0\\n.previous\\n\");\n",
        file().display()
    )
}
