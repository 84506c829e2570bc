//! The headers in every standard, with every compiler, at `-Wall -Wextra -Wpedantic -Werror`, and without a silent conversion.

use capi_tests::build::{Build, Link};
use capi_tests::generated;
use capi_tests::header;
use capi_tests::matrix::{Language, OLDEST_C, OLDEST_CPP, ONE_VERSION, Standard, compilers, standards};
use capi_tests::parallel::for_each;
use capi_tests::repository;
use capi_tests::run::{Driver, Run};
use std::path::PathBuf;

/// What compilers say of conversions that nobody asked for.
const CONVERSIONS: [&str; 2] = ["-Wconversion", "-Wsign-conversion"];

/// What C++ has better words for.
const C_IN_CPP: [&str; 2] = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"];

/// Each of our headers; a program's own code may convert as it likes.
#[test]
fn no_header_converts_silently() {
    for_each(standards(), |(compiler, standard)| {
        ["headers/all", "headers/cuda_h", "headers/loader"].into_iter().try_for_each(|source| {
            let build = Build::new(source).drop_in().compiler(compiler).standard(standard);
            CONVERSIONS.iter().fold(build, |build, option| build.option(*option)).check()
        })
    });
}

/// NVIDIA's headers compile as the C of 1990 and the C++ of 1998, so programs are written in them.
#[test]
fn every_header_is_c90_and_cpp98() {
    let with_each = |standard: &Standard| {
        let (standard, compilers) = (*standard, compilers(standard.language));
        compilers.into_iter().map(move |compiler| (compiler, standard))
    };
    for_each(OLDEST_C.iter().chain(&OLDEST_CPP).flat_map(with_each), |(compiler, standard)| {
        ["headers/all", "headers/cuda_h", "headers/c90"].into_iter().try_for_each(|source| {
            let build = Build::new(source).drop_in().compiler(compiler).standard(standard).option("-Wundef");
            let build = match standard.language {
                Language::C => build.option("-Wdeclaration-after-statement"),
                Language::Cpp => build,
            };
            CONVERSIONS.iter().fold(build, |build, option| build.option(*option)).check()
        })
    });
}

/// The folder's `builtin_types.h` hides none that the toolkit has, behind it in the include path.
#[test]
fn the_toolkits_types_are_found() {
    let toolkit = tempfile::tempdir().expect("a folder");
    let header = "#ifndef __BUILTIN_TYPES_H__\n#define __BUILTIN_TYPES_H__\ntypedef struct cudaExtent { int width; } cudaExtent;\n#endif\n";
    std::fs::write(toolkit.path().join("builtin_types.h"), header).expect("a header");
    let user =
        "#include <builtin_types.h>\n#include <builtin_types.h>\ncudaExtent extent;\nCUresult result;\n";
    let user = generated::source("toolkit_types.c", user);
    for_each(compilers(Language::C), |compiler| {
        let build = Build::of(&user).drop_in().compiler(compiler);
        build.option("-I").option(toolkit.path().display().to_string()).check()
    });
}

/// A program in the C of 1990 runs.
#[test]
fn a_program_in_c90_runs() {
    for_each(OLDEST_C, |standard| {
        let program = Build::new("headers/c90").standard(standard).program()?;
        let printed = Run::new(&program, Driver::Shell(ONE_VERSION)).output()?;
        if printed == "done\n" { Ok(()) } else { Err(printed) }
    });
}

/// The helpers take what they are for, and nothing that merely has as many bytes.
#[test]
fn helpers_refuse_what_is_something_else() {
    let source = std::fs::read_to_string(repository("capi-tests/c/headers/misused.c")).expect("the source");
    let mistakes: Vec<&str> = source
        .split("defined(")
        .skip(1)
        .filter_map(|rest| rest.split_once(')').map(|(name, _)| name))
        .collect();
    assert!(mistakes.len() >= 12, "{mistakes:?}");
    for_each(standards(), |(compiler, standard)| {
        let build = || Build::new("headers/misused").compiler(compiler).standard(standard);
        build().check()?;
        mistakes.iter().try_for_each(|mistake| match build().option(format!("-D{mistake}")).check() {
            Ok(()) => Err(format!("{compiler:?} takes {mistake} in {}", standard.name)),
            Err(_) => Ok(()),
        })
    });
}

/// In C++ without a warning for casts and null pointers as C has them, which some programs forbid.
#[test]
fn no_header_is_c_to_cpp() {
    let in_cpp = standards().into_iter().filter(|(_, standard)| standard.language == Language::Cpp);
    for_each(in_cpp, |(compiler, standard)| {
        ["-DNAMES", "-DCUDA_H"].into_iter().try_for_each(|which| {
            let build = Build::new("headers/strict").drop_in().compiler(compiler).standard(standard);
            C_IN_CPP.iter().fold(build.option(which), |build, option| build.option(*option)).check()
        })
    });
}

/// Alone and twice; with the familiar names; first without and then with them; first with and then without.
#[test]
fn it_compiles_everywhere() {
    let ours = ["headers/alone.c", "raw/names.c", "headers/names_first.c"]
        .map(|name| repository("capi-tests/c").join(name));
    let examples = ["ordered.c", "managed.c", "raw.c", "porting/after.c"];
    let examples = examples.map(|name| repository("examples").join(name));
    let mut builds: Vec<Build> = Vec::new();
    for (compiler, standard) in standards() {
        let examples = examples.iter().filter(|_| standard.language == Language::C);
        let sources: Vec<&PathBuf> = ours.iter().chain(examples).collect();
        let build = |source: &PathBuf| Build::of(source).compiler(compiler).standard(standard);
        builds.extend(sources.into_iter().map(build));
    }
    for_each(builds, Build::check);
}

/// The runtime's headers declare `CUuuid` too; whoever comes second leaves it to the first.
#[test]
fn it_shares_a_type_with_the_runtime() {
    for_each(standards(), |(compiler, standard)| {
        ["-DRUNTIME_FIRST=1", "-DRUNTIME_FIRST=0"].into_iter().try_for_each(|order| {
            let build = Build::new("headers/runtime_types").compiler(compiler).standard(standard);
            build.option(order).check()
        })
    });
}

/// A program for a platform that is not supported is told so, and not that a size is wrong.
#[test]
fn it_refuses_32_bits() {
    for_each(compilers(Language::C), |compiler| {
        // Without a C library, which is rarely there for 32 bits.
        let build = Build::new("headers/alone").compiler(compiler);
        let refusal = build.option("-m32").option("-ffreestanding").check().expect_err("32 bits");
        if refusal.contains("64-bit platforms only") { Ok(()) } else { Err(refusal) }
    });
}

/// A compiler that optimises sees more, and says so.
#[test]
fn it_compiles_optimised() {
    for_each(compilers(Language::C), |compiler| {
        let build = Build::new("headers/names_first").compiler(compiler).option("-O2");
        build.plug_in().map(drop)
    });
}

/// The familiar names are no symbols: a program that uses them exports and wants none of the driver's.
#[test]
fn the_familiar_names_are_no_symbols() {
    let object = Build::new("headers/names_first").link(Link::Without).plug_in().expect("it compiles");
    let output = std::process::Command::new("nm").arg("-D").arg(object).output().expect("nm is there");
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    let named = |line: &str| line.split_whitespace().last().unwrap_or_default().to_owned();
    let symbols: Vec<String> = symbols.lines().map(named).collect();
    assert!(symbols.iter().any(|name| name == "cushim_driver_default_table"), "{symbols:?}");
    assert!(symbols.iter().all(|name| !name.starts_with("cu") || name.starts_with("cushim_")), "{symbols:?}");
}

/// What the other tests read out of the header is all there.
#[test]
fn it_reads_as_expected() {
    let header = header::text();
    let functions = header::functions(&header);
    assert!(
        functions.contains("cushim_driver_open") && functions.contains("cushim_symbol_count"),
        "{functions:?}"
    );
    let entries = header::entries(&header);
    assert_eq!(entries.len(), cushim::driver::catalogue::ROWS.len());
    for (entry, row) in entries.iter().zip(cushim::driver::catalogue::ROWS) {
        assert_eq!(
            (entry.base.as_str(), entry.number, entry.exported.as_str()),
            (row.base, row.abi, row.exported)
        );
    }
    let names = header::names(&header);
    assert!(names.len() > 500, "{} names", names.len());
    let create = names.iter().find(|(name, _)| name == "cuCtxCreate").expect("it is one of them");
    assert_eq!(create.1.len(), 3, "{create:?}");
}

/// Comments are as wide as a window of a usual size.
#[test]
fn its_comments_are_at_most_118_columns_wide() {
    let is_comment =
        |line: &&str| ["//", "/*", " *"].iter().any(|start| line.trim_start_matches("  ").starts_with(start));
    let text = header::text() + &header::objects() + &header::cuda();
    let wide: Vec<&str> = text.lines().filter(is_comment).filter(|line| line.chars().count() > 118).collect();
    assert_eq!(wide, Vec::<&str>::new());
}
