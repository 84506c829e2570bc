//! `cushim.hpp`: in the standards and with the compilers, with and without exceptions; the examples in C++, which print what those in C
//! print.

use capi_tests::build::Build;
use capi_tests::header::between;
use capi_tests::interface::{self, list, text};
use capi_tests::matrix::{Compiler, Language, ONE_VERSION, Standard, compilers};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{generated, repository};
use std::path::PathBuf;

const fn cpp(name: &'static str) -> Standard {
    Standard { name, language: Language::Cpp }
}

/// Each standard, each compiler, and both forms, in some combination; the programs are C++17 with g++.
/// `scripts/cpp-modes.sh` tries all combinations.
const MODES: &[(Compiler, Standard, &str, &str)] = &[
    (Compiler::Clang, cpp("c++17"), "-fexceptions", "linking/units_b.cpp"),
    (Compiler::Clang, cpp("c++20"), "-fno-exceptions", "returning.cpp"),
    (Compiler::Gcc, cpp("c++20"), "-fno-rtti", "linking/units_b.cpp"),
    (Compiler::Gcc, cpp("c++2b"), "-fno-exceptions", "linking/units_b.cpp"),
];

fn source(name: &str) -> PathBuf {
    repository("capi-tests/cpp").join(name)
}

#[test]
fn it_compiles_in_each_mode() {
    let there = compilers(Language::Cpp);
    for_each(MODES.iter().filter(|mode| there.contains(&mode.0)), |(compiler, standard, option, name)| {
        Build::cpp(&source(name)).compiler(*compiler).standard(*standard).option(*option).check()
    });
}

/// A program may have translation units of both forms.
#[test]
fn both_forms_link_together() {
    let build = Build::cpp(&source("linking/units_a.cpp")).and_of(source("linking/units_b.cpp"));
    let program = build.program().expect("it compiles");
    Run::new(program, Driver::Shell(ONE_VERSION)).checks().unwrap_or_else(|failure| panic!("{failure}"));
}

/// Each function of `cushim.h` has a form in C++, or the page says what takes its place.
#[test]
fn it_has_each_function() {
    let entries = std::fs::read_dir(repository("include/cushim")).expect("the folder is readable");
    let files = entries.map(|entry| entry.expect("the folder is readable").path());
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("it can be read");
    let known: String = files.map(read).chain([page()]).collect();
    let is_named = |name: &str| {
        known.match_indices(name).any(|(at, _)| {
            !known[at + name.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
        })
    };
    let interface = interface::read();
    let missing: Vec<&str> = list(&interface, "functions")
        .iter()
        .map(|function| text(function, "name"))
        .filter(|name| !is_named(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

fn page() -> String {
    std::fs::read_to_string(repository("docs/cpp.md")).expect("the page is there")
}

/// What the page shows first.
#[test]
fn the_quick_start_runs() {
    let page = page();
    let program = generated::source("quick_start.cpp", between(&page, "```cpp\n", "```"));
    let program = Build::cpp(&program).program().expect("it compiles");
    assert_eq!(Run::new(program, Driver::Shell(ONE_VERSION)).output().as_deref(), Ok("1.5\n"));
}

/// The examples, and the first version that has what each needs.
const EXAMPLES: &[(&str, &str)] = &[
    ("ordered", "11.4"),
    ("saxpy", "11.4"),
    ("managed", "11.4"),
    ("buffers", "11.4"),
    ("virtual_memory", "11.4"),
    ("sharing", "11.4"),
    ("graphs/heat", "12.3"),
    ("graphs/bisection", "12.8"),
    ("graphs/switch", "12.8"),
    ("graphs/stencil", "11.4"),
    ("graphs/pipeline", "11.4"),
    ("graphs/hybrid", "12.3"),
    ("graphs/decoder", "11.4"),
];

/// What an example prints: the file beside it, which is that of its counterpart in C, but for times.
fn printed_by(name: &str) -> Result<String, String> {
    if name == "buffers" {
        return Ok("the last byte is 42\n".to_owned());
    }
    std::fs::read_to_string(repository(&format!("examples/{name}.txt")))
        .map_err(|error| format!("{name}: {error}"))
}

/// On the newest version they print what those in C print; on the oldest, too, or what they lack.
#[test]
fn the_examples_print_what_those_in_c_print() {
    for_each(EXAMPLES, |(name, since)| {
        let program = Build::cpp(&repository(&format!("examples/{name}.cpp"))).program()?;
        let expected = printed_by(name)?;
        for version in ["11.4", ONE_VERSION] {
            let printed = Run::new(&program, Driver::Shell(version)).output()?;
            let lacks = format!("needs a driver for CUDA {since} or newer\n");
            let is_there = version == ONE_VERSION || *since == "11.4";
            let is_right = if is_there { printed.starts_with(&expected) } else { printed.ends_with(&lacks) };
            if !is_right {
                return Err(format!("{name} on {version}:\n{printed}"));
            }
        }
        let failure = Run::new(&program, Driver::Value("/nonexistent/libcuda.so.1")).output();
        match failure {
            Err(text) if text.contains("exit status: 1") && text.contains("/nonexistent/libcuda.so.1") => {
                Ok(())
            }
            other => Err(format!("{name} without a driver: {other:?}")),
        }
    });
}

/// Without NVIDIA's device runtime library a kernel updates no node, and the example says so.
#[test]
fn the_example_of_an_update_by_a_kernel_says_what_it_needs() {
    let program =
        Build::cpp(&repository("examples/graphs/device_update.cpp")).program().expect("it compiles");
    let said = Run::new(&program, Driver::None).output().expect("it explains itself");
    assert!(said.contains("needs NVIDIA's device runtime library"), "{said}");
}

/// What is called most often: the function of C, and the branch for its failure, in as many instructions as C takes.
#[test]
#[cfg(target_arch = "x86_64")]
fn recording_and_launching_is_the_call_in_c_and_nothing_else() {
    for_each(compilers(Language::Cpp), |compiler| {
        let build = Build::cpp(&source("cost/calls.cpp")).compiler(compiler).option("-O2");
        let listing = disassembly(&build.plug_in()?);
        for name in ["record", "wait", "launch_exec", "launch"] {
            let [in_c, in_cpp] = ["c", "cpp"].map(|form| instructions(&listing, &format!("{name}_{form}")));
            let calls = in_c.iter().filter(|line| line.starts_with("call cushim_")).count();
            if calls != 1 || in_c != in_cpp {
                return Err(format!("{name} with {compiler:?}:\nin C {in_c:#?}\nin C++ {in_cpp:#?}"));
            }
        }
        Ok(())
    });
}

#[cfg(target_arch = "x86_64")]
fn disassembly(library: &std::path::Path) -> String {
    let output =
        std::process::Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(library).output();
    String::from_utf8(output.expect("objdump is there; apt install binutils").stdout)
        .expect("objdump prints text")
}

/// What a function does where nothing fails, but for where it stands, in memory and on the stack: a compiler may write independent
/// instructions in any order, and leave gaps between variables.
#[cfg(target_arch = "x86_64")]
fn instructions(listing: &str, function: &str) -> Vec<String> {
    let begin = format!("<{function}>:");
    let lines = listing.lines().skip_while(|line| !line.ends_with(&begin)).skip(1);
    let texts = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split('\t').nth(1));
    let mut found = Vec::new();
    for text in texts {
        let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
        let symbol = operands
            .split_once('<')
            .map(|(_, symbol)| symbol.split(['@', '+', '>']).next().unwrap_or_default());
        found.push(match symbol {
            Some(symbol) if name.starts_with("call") => format!("call {symbol}"),
            // To what differs: where the failure is dealt with.
            Some(_) => name.to_owned(),
            None => format!("{name} {}", anywhere_on_the_stack(operands.trim())),
        });
        if name.starts_with("ret") {
            break;
        }
    }
    found.sort_unstable();
    found
}

/// Operands without distances from the stack pointer, and without what is added to it.
#[cfg(target_arch = "x86_64")]
fn anywhere_on_the_stack(operands: &str) -> String {
    let is_frame = operands.ends_with(",%rsp") && operands.starts_with('$');
    let place =
        |operand: &str| if operand.ends_with("(%rsp)") { "(%rsp)".to_owned() } else { operand.to_owned() };
    if is_frame { "%rsp".to_owned() } else { operands.split(',').map(place).collect::<Vec<_>>().join(",") }
}
