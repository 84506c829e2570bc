//! `softcuda.h` in every standard, with every compiler; what it declares; and the example that uses it.

use capi_tests::build::{Build, Link};
use capi_tests::libraries::{built, library};
use capi_tests::matrix::{C11, CPP17, Language, ONE_VERSION, standards};
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{generated, repository};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLE: &str = "examples/softcuda_faults.c";

/// A program that includes the header alone and twice, and uses each kind of function.
const USER: &str = r#"
#include <softcuda.h>
#include <softcuda.h>
int main(void) {
  uint64_t base = 1;
  size_t size = 1;
  void *context = NULL;
  int64_t calls = softcuda_call_count("cuInit");
  if (softcuda_version() < 0 || softcuda_fault_set("cuMemAlloc#1=2") != 0 || calls != 0) return 1;
  if (softcuda_fault_set("nonsense") != 1 || *softcuda_message() == '\0') return 2;
  return softcuda_allocation_info(base, &base, &size, &context) == 500 ? 0 : 3;
}
"#;

fn user() -> PathBuf {
    generated::source("user.c", USER)
}

/// With softcuda linked, as a test links it.
fn linked(build: Build) -> Build {
    let folder = built().display();
    let build = build.option(format!("-L{folder}")).option(format!("-Wl,-rpath,{folder}"));
    build.option("-Wl,--no-as-needed").option("-lsoftcuda").input(library("libsoftcuda.so"))
}

#[test]
fn the_header_compiles_everywhere() {
    let user = user();
    let mut builds = Vec::new();
    for (compiler, standard) in standards() {
        let build = |source| Build::of(source).compiler(compiler).standard(standard);
        builds.push(build(&user).option("-Wconversion"));
        if standard.language == Language::C {
            builds.push(build(&user).option("-Wstrict-prototypes"));
            builds.push(build(&repository(EXAMPLE)));
        }
    }
    for_each(builds, Build::check);
}

#[test]
fn it_declares_what_the_library_exports() {
    let header = std::fs::read_to_string(repository("include/softcuda.h")).expect("the header is there");
    let declared: BTreeSet<&str> = header
        .lines()
        .filter(|line| {
            line.contains('(') && !line.starts_with(['/', ' ', '#']) && !line.starts_with("typedef")
        })
        .filter_map(|line| {
            line.split('(').next()?.split([' ', '*']).find(|word| word.starts_with("softcuda_"))
        })
        .collect();
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(library("libsoftcuda.so")).output();
    let listed =
        String::from_utf8(listed.expect("nm is there; apt install binutils").stdout).expect("nm prints text");
    let exported: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| name.starts_with("softcuda_") && *name != "softcuda_attach") // the shells' own
        .collect();
    assert!(declared.contains("softcuda_fault_set"), "{declared:?}");
    assert_eq!(declared, exported);
}

/// Linked, as C and as C++.
#[test]
fn a_program_links_it() {
    let user = user();
    for_each([C11, CPP17], |standard| {
        let build = Build::of(&user).standard(standard).link(Link::Without);
        Run::new(linked(build).program()?, Driver::Unset).output().map(drop)
    });
}

/// Its counterpart in C++ finds nothing left behind, either: owners free what they have where an exception passes.
#[test]
fn the_example_in_cpp_leaves_nothing_behind() {
    let program =
        linked(Build::cpp(&repository("examples/softcuda_faults.cpp"))).program().expect("it compiles");
    let printed = Run::new(program, Driver::Software(ONE_VERSION)).output();
    assert_eq!(printed.as_deref(), Ok("4 faults, 0 failures\n"));
}

/// As it is, and with a mistake in it: a buffer that nobody frees.
#[test]
fn the_example_tells_a_leak() {
    let run = |source: &Path| {
        let program = linked(Build::of(source)).program().expect("it compiles");
        Run::new(program, Driver::Software(ONE_VERSION)).output()
    };
    let printed = run(&repository(EXAMPLE));
    assert_eq!(printed.as_deref(), Ok("4 faults, 0 failures\n"));

    let text = std::fs::read_to_string(repository(EXAMPLE)).expect("the example is there");
    let mistaken = text.replace("freed = cuMemFree(to)", "freed = CUDA_SUCCESS");
    assert_ne!(mistaken, text);
    let mistaken = generated::source("mistaken.c", &mistaken);
    let said = run(&mistaken).expect_err("it finds the leak");
    assert!(
        said.contains("cuMemset*#1=2: something is left behind:") && said.contains("device memory 0x"),
        "{said}"
    );
}
