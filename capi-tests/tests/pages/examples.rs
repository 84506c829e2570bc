//! The examples of the pages compile, run, and print what the page says.
//!
//! A block of C ("```c") is one of three things, which its text tells apart: a program, which has a `main` and prints what the next
//! block of "```text" says, if there is one; what stands before `main`, beginning with `static`, `struct` or `#`; or statements.
//! All statements of a page are one function, which finds what `c/pages/page.h` declares. Of C++ ("```cpp") and Python programs are tested.

use capi_tests::build::Build;
use capi_tests::libraries::installed;
use capi_tests::matrix::{C11, CPP17, Language, VERSIONS};
use capi_tests::run::{Driver, Run};
use capi_tests::{generated, repository, skip};
use std::fmt::Write as _;
use std::path::Path;

/// An example of a page.
pub(crate) struct Example {
    language: Language,
    /// Its text.
    pub(crate) text: String,
    /// The line of the page on which the text begins.
    line: usize,
    /// What it prints, as the page says before the next example.
    printed: Option<String>,
}

impl Example {
    fn is_program(&self) -> bool {
        self.text.contains("\nint main(")
    }

    fn is_before_main(&self) -> bool {
        ["static ", "struct ", "#"].iter().any(|start| self.text.starts_with(start))
    }

    /// With the line of the page, which messages of the compiler and of the program then name.
    fn on_its_line(&self, page: &str) -> String {
        format!("#line {} \"{page}\"\n{}", self.line, self.text)
    }
}

/// The examples of a page, in C and C++.
pub(crate) fn of(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for (kind, line, text) in blocks(page) {
        let language = match kind {
            "c" => Language::C,
            "cpp" => Language::Cpp,
            "text" => {
                examples
                    .last_mut()
                    .into_iter()
                    .for_each(|last| last.printed = last.printed.take().or(Some(text.clone())));
                continue;
            }
            _ => continue,
        };
        examples.push(Example { language, text, line, printed: None });
    }
    examples
}

/// The blocks between "```" of a page: what they are, the line on which their text begins, and the text.
pub(crate) fn blocks(page: &str) -> Vec<(&str, usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, String)> = None;
    for (number, line) in (1..).zip(page.lines()) {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(kind)) => open = Some((kind, number + 1, String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, _, text)), None) => text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "each block ends");
    blocks
}

/// Pages whose examples are tested elsewhere.
const ELSEWHERE: &[&str] = &[
    "docs/porting.md", // lines of a file, and calls of the driver: `examples/porting/` has them as programs
];

/// The pages with examples: their paths, as the repository has them, and their examples.
fn pages() -> Vec<(String, Vec<Example>)> {
    let folder = repository("");
    let pages = super::below(repository("docs"), "md").into_iter().map(|path| {
        let name = path.strip_prefix(&folder).expect("it is in the repository").display().to_string();
        (name.clone(), of(&super::page(&name)))
    });
    let mut pages: Vec<_> = pages
        .filter(|(name, examples)| !examples.is_empty() && !ELSEWHERE.contains(&name.as_str()))
        .collect();
    pages.sort_by(|(one, _), (other, _)| one.cmp(other));
    pages
}

/// All statements of all pages are one program, which does what the pages say, whenever work in streams runs.
#[test]
fn the_examples_run() {
    let head = repository("capi-tests/c/pages/page.h");
    let pages = pages();
    assert!(pages.len() > 8, "{} pages have examples", pages.len());
    let source = generated::source("pages.c", &program(&head, &pages));
    let build =
        Build::of(&source).input(head).option("-Wno-unused-variable").option("-Wno-unused-but-set-variable");
    let program = build.program().expect("the examples compile");
    for (version, number) in VERSIONS {
        // Conditions are newer than the rest.
        if *number >= 12030 {
            for schedule in ["eager", "lazy"] {
                let run = Run::new(&program, Driver::Shell(version))
                    .env("SOFTCUDA_SCHEDULE", schedule)
                    .env("SOFTCUDA_DEVICES", "2");
                assert_eq!(run.output().as_deref(), Ok("done\n"), "{schedule}, on {version}");
            }
        }
    }
}

fn program(head: &Path, pages: &[(String, Vec<Example>)]) -> String {
    let mut program = format!("#include \"{}\"\n", head.display());
    let mut calls = String::new();
    for (index, (name, examples)) in pages.iter().enumerate() {
        let (before, rest): (Vec<_>, Vec<_>) = examples
            .iter()
            .filter(|it| it.language == Language::C && !it.is_program())
            .partition(|it| it.is_before_main());
        let joined =
            |examples: Vec<&Example>| examples.iter().map(|it| it.on_its_line(name)).collect::<String>();
        let (before, statements) = (joined(before), joined(rest));
        write!(program, "{before}\nstatic void page_{index}(void) {{\n{statements}}}\n")
            .expect("a String takes text");
        writeln!(calls, "page_{index}();").expect("a String takes text");
    }
    program + "int main(void) {\nset_up();\n" + &calls + "tear_down();\nprintf(\"done\\n\");\nreturn 0;\n}\n"
}

/// A block of Python is a program, and prints what the next block of text says.
#[test]
fn the_programs_in_python_print_what_the_pages_say() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return skip(format_args!("no python3: apt install python3"));
    }
    let folder = installed();
    let packages = std::env::join_paths([repository("python"), repository("target/python")]);
    let packages = packages.expect("paths without colons");
    let import = std::process::Command::new("python3")
        .args(["-c", "import cffi"])
        .env("PYTHONPATH", &packages)
        .output();
    let has_cffi = import.is_ok_and(|output| output.status.success());
    let mut programs = 0;
    for path in super::below(repository("docs"), "md") {
        let page = std::fs::read_to_string(&path).expect("it can be read");
        let blocks = blocks(&page);
        for pair in blocks.windows(2).filter(|pair| pair[0].0 == "python" && pair[1].0 == "text") {
            if pair[0].2.contains("import cushim") && !has_cffi {
                skip(format_args!("no cffi; python3 -m pip install --target target/python cffi"));
                continue;
            }
            let run = Run::new("python3", Driver::Software("13.0")).env("LD_LIBRARY_PATH", folder);
            let run = run.env("PYTHONPATH", &packages).env("PYTHONDONTWRITEBYTECODE", "1");
            let printed = run.arg("-c").arg(&pair[0].2).output();
            assert_eq!(printed.as_deref(), Ok(pair[1].2.as_str()), "{}:{}", path.display(), pair[0].1);
            programs += 1;
        }
    }
    assert!(programs > 0);
}

#[test]
fn the_programs_print_what_the_pages_say() {
    for (name, examples) in pages() {
        for example in examples.iter().filter(|it| it.is_program()) {
            let (standard, ending) =
                if example.language == Language::C { (C11, "c") } else { (CPP17, "cpp") };
            let source = format!("page_{}_{}.{ending}", name.replace(['/', '.'], "_"), example.line);
            let source = generated::source(&source, &example.on_its_line(&name));
            let program = Build::of(&source).standard(standard).program().expect("the program compiles");
            let printed = Run::new(&program, Driver::Software("13.0")).output();
            let printed = printed.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(
                example.printed.as_ref().is_none_or(|said| *said == printed),
                "{name}: printed {printed}"
            );
        }
    }
}
