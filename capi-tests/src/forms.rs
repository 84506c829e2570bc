//! The program that runs every form of `kernels/forms.txt`, with that table in it.

use crate::build::Build;
use crate::libraries::Workshop;
use crate::repository;

/// How it is made.
pub fn build(workshop: &Workshop) -> Build<'_> {
    let table = repository("kernels/forms.txt");
    let text = format!(
        "extern const char forms_start[], forms_end[];\n\
         __asm__(\".section .rodata\\nforms_start: .incbin \\\"{}\\\"\\nforms_end: .byte 0\\n.previous\\n\");\n",
        table.display()
    );
    workshop.write("forms.inc", &text);
    let main = Build::new(workshop, "forms/main.c");
    let all = ["forms/table.c", "forms/inputs.c", "corpus/run.c"].iter().fold(main, |build, s| build.and(s));
    all.option("-O1")
}
