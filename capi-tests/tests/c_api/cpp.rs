//! `cushim.hpp`: in the standards and with the compilers, with and without exceptions; the examples in C++, which print what those in C
//! print.

use capi_tests::build::Build;
use capi_tests::matrix::{Compiler, Language, ONE_VERSION, Standard, compilers};
use capi_tests::parallel::for_each;
use capi_tests::repository;
use capi_tests::run::{Driver, Run};
use std::path::PathBuf;

const fn cpp(name: &'static str) -> Standard {
    Standard { name, language: Language::Cpp }
}

/// Each standard, each compiler, and both forms, in some combination; the programs are C++17 with g++ and exceptions.
/// `scripts/cpp-modes.sh` tries all combinations.
const MODES: &[(Compiler, Standard, &str)] = &[
    (Compiler::Clang, cpp("c++17"), "-fexceptions"),
    (Compiler::Clang, cpp("c++20"), "-fno-exceptions"),
    (Compiler::Gcc, cpp("c++20"), "-fno-rtti"),
    (Compiler::Gcc, cpp("c++2b"), "-fno-exceptions"),
];

fn source(name: &str) -> PathBuf {
    repository("capi-tests/cpp").join(name)
}

#[test]
fn it_compiles_in_each_mode() {
    let there = compilers(Language::Cpp);
    for_each(MODES.iter().filter(|mode| there.contains(&mode.0)), |(compiler, standard, option)| {
        Build::cpp(&source("linking/units_b.cpp"))
            .compiler(*compiler)
            .standard(*standard)
            .option(*option)
            .check()
    });
}

/// A program may have translation units of both forms.
#[test]
fn both_forms_link_together() {
    let build = Build::cpp(&source("linking/units_a.cpp")).and_of(source("linking/units_b.cpp"));
    let program = build.program().expect("it compiles");
    Run::new(program, Driver::Shell(ONE_VERSION)).checks().unwrap_or_else(|failure| panic!("{failure}"));
}

/// What each example prints: the file beside its counterpart in C, or this.
const EXAMPLES: &[(&str, Option<&str>)] =
    &[("ordered", None), ("saxpy", None), ("managed", None), ("buffers", Some("the last byte is 42\n"))];

#[test]
fn the_examples_print_what_those_in_c_print() {
    for_each(EXAMPLES, |(name, printed)| {
        let program = Build::cpp(&repository(&format!("examples/{name}.cpp"))).program()?;
        let expected = match printed {
            Some(text) => (*text).to_owned(),
            None => std::fs::read_to_string(repository(&format!("examples/{name}.txt")))
                .map_err(|error| error.to_string())?,
        };
        ["11.4", ONE_VERSION].into_iter().try_for_each(|version| {
            let printed = Run::new(&program, Driver::Shell(version)).output()?;
            if printed == expected { Ok(()) } else { Err(format!("{name} on {version}:\n{printed}")) }
        })?;
        let failure = Run::new(&program, Driver::Value("/nonexistent/libcuda.so.1")).output();
        match failure {
            Err(text) if text.contains("exit status: 1") && text.contains("/nonexistent/libcuda.so.1") => {
                Ok(())
            }
            other => Err(format!("{name} without a driver: {other:?}")),
        }
    });
}
