//! The programs in `c/`: on every driver version in one standard with the shared library; on one version statically linked,
//! with clang, and as C++.

use capi_tests::build::{Build, Link};
use capi_tests::libraries::{Workshop, library};
use capi_tests::matrix::{C11, CPP17, Compiler, Language, ONE_VERSION, VERSIONS, compilers, standards};
use capi_tests::parallel::for_each;
use capi_tests::programs::{ON_ANY_DRIVER, SHARED_ONLY, workshop};
use capi_tests::repository;
use capi_tests::run::{Driver, Run};
use std::path::PathBuf;

fn versions() -> impl Iterator<Item = &'static str> {
    VERSIONS.iter().map(|(name, _)| *name)
}

#[test]
fn every_program_on_every_version() {
    let workshop = workshop();
    for_each(ON_ANY_DRIVER, |name| {
        let program = Build::new(&workshop, &format!("{name}.c")).program(name)?;
        let failures: Vec<_> = versions()
            .filter_map(|version| Run::new(&program, Driver::Shell(version)).checks().err())
            .collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n")) }
    });
}

/// As `every_program_on_every_version`, but found and told its version by the environment, with all names exported.
#[test]
fn software_by_name_on_every_version() {
    let workshop = workshop();
    let program = Build::new(&workshop, "names.c").program("names").expect("it compiles");
    for_each(versions(), |version| Run::new(&program, Driver::Software(version)).checks());
}

#[test]
fn statically_linked() {
    let workshop = workshop();
    for_each(ON_ANY_DRIVER.iter().filter(|name| !SHARED_ONLY.contains(name)), |name| {
        let program = Build::new(&workshop, &format!("{name}.c")).link(Link::Static).program(name)?;
        Run::new(program, Driver::Shell(ONE_VERSION)).checks()
    });
}

#[test]
fn with_each_compiler_and_as_cpp() {
    let workshop = workshop();
    let with = |language, standard| compilers(language).into_iter().map(move |compiler| (compiler, standard));
    for_each(with(Language::C, C11).chain(with(Language::Cpp, CPP17)), |(compiler, standard)| {
        [Link::Shared, Link::Static].into_iter().try_for_each(|link| {
            let build = Build::new(&workshop, "names.c").compiler(compiler).standard(standard).link(link);
            let program = build.program(&format!("{compiler:?}-{:?}-{link:?}", standard.language))?;
            Run::new(program, Driver::Shell(ONE_VERSION)).checks()
        })
    });
}

#[test]
fn two_translation_units() {
    let workshop = workshop();
    let program = Build::new(&workshop, "units_a.c").and("units_b.c").program("units").expect("it compiles");
    Run::new(program, Driver::Shell(ONE_VERSION)).checks().unwrap_or_else(|failure| panic!("{failure}"));
}

/// All of the familiar names, with no driver asked for, and with one that cannot be opened.
#[test]
fn every_name_without_a_driver() {
    let workshop = workshop();
    let program = Build::new(&workshop, "names_none.c").program("names_none").expect("it compiles");
    let missing = "/nonexistent/libcuda.so.1";
    let runs = [
        Run::new(&program, Driver::None),
        Run::new(&program, Driver::Value(missing)).env("CHECK_MESSAGE", missing),
    ];
    for_each(runs, Run::checks);
}

/// The ABI and the variant that each name stands for.
#[test]
fn names_call_the_abi_of_cuda_12() {
    let workshop = workshop();
    let driver = Build::new(&workshop, "fake_driver.c")
        .link(Link::Without)
        .plug_in("libfake.so")
        .expect("it compiles");
    let driver = driver.to_str().expect("a temporary folder has a plain name");
    for_each(["", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"], |option| {
        let name = if option.is_empty() { "names_abi" } else { "names_abi_per_thread" };
        let build = Build::new(&workshop, "names_abi.c");
        let build = if option.is_empty() { build } else { build.option(option) };
        Run::new(build.program(name)?, Driver::Value(driver)).checks()
    });
}

/// A program compiled for the thread's own default stream, on a driver that works.
#[test]
fn per_thread_names_on_every_version() {
    let workshop = workshop();
    let build = Build::new(&workshop, "names.c").option("-DCUDA_API_PER_THREAD_DEFAULT_STREAM");
    let program = build.program("names").expect("it compiles");
    for_each(versions(), |version| Run::new(&program, Driver::Shell(version)).checks());
}

/// The examples that a newcomer copies from.
#[test]
fn examples_run() {
    let workshop = workshop();
    for_each(["examples/raw.c", "examples/porting/after.c"], |source| {
        let name = source.replace('/', "-");
        let program = Build::of(&workshop, &repository(source)).program(&name)?;
        for version in ["12.4", "13.0"] {
            let output = Run::new(&program, Driver::Shell(version)).output()?;
            if !output.contains(version) {
                return Err(format!("{source} does not name CUDA {version}:\n{output}"));
            }
        }
        Ok(())
    });
}

/// The README's program prints the same in every standard, with each compiler, linked in both ways, on every version.
#[test]
fn the_main_example_prints_the_same_everywhere() {
    let workshop = workshop();
    let source = repository("examples/ordered.c");
    let expected = std::fs::read_to_string(repository("examples/ordered.txt")).expect("it is there");
    let in_c = standards().into_iter().filter(|(_, standard)| standard.language == Language::C);
    let builds = in_c.flat_map(|built| [Link::Shared, Link::Static].map(|link| (built, link)));
    for_each(builds, |((compiler, standard), link)| {
        let name = format!("ordered-{compiler:?}-{}-{link:?}", standard.name);
        let build = Build::of(&workshop, &source).compiler(compiler).standard(standard).link(link);
        let program = build.program(&name)?;
        versions().try_for_each(|version| {
            let printed = Run::new(&program, Driver::Shell(version)).output()?;
            if printed == expected { Ok(()) } else { Err(format!("{name} on {version}:\n{printed}")) }
        })
    });
}

#[test]
fn the_example_of_a_kernel_prints_the_same_on_every_version() {
    let workshop = workshop();
    let program =
        Build::of(&workshop, &repository("examples/saxpy.c")).program("saxpy").expect("it compiles");
    let expected = std::fs::read_to_string(repository("examples/saxpy.txt")).expect("it is there");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == expected { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

#[test]
fn the_example_of_managed_memory_prints_the_same_on_every_version() {
    let workshop = workshop();
    let program =
        Build::of(&workshop, &repository("examples/managed.c")).program("managed").expect("it compiles");
    let expected = std::fs::read_to_string(repository("examples/managed.txt")).expect("it is there");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == expected { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
    let run = Run::new(&program, Driver::Shell(ONE_VERSION)).env("SOFTCUDA_CONCURRENT_MANAGED", "0");
    assert_eq!(run.output().as_deref(), Ok("this device moves managed memory as it likes\n"));
}

#[test]
fn the_example_of_buffers_prints_the_same_on_every_version() {
    let workshop = workshop();
    let program =
        Build::of(&workshop, &repository("examples/buffers.c")).program("buffers").expect("it compiles");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == "the last byte is 42\n" { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

/// Without a driver the example says so and fails; it does not crash.
#[test]
fn an_example_without_a_driver() {
    let workshop = workshop();
    let program = Build::of(&workshop, &repository("examples/raw.c")).program("raw").expect("it compiles");
    let failure =
        Run::new(&program, Driver::Value("/nonexistent/libcuda.so.1")).output().expect_err("it cannot run");
    assert!(failure.contains("exit status: 1") && failure.contains("/nonexistent/libcuda.so.1"), "{failure}");
}

/// A plug-in with a copy of the library of its own.
fn plug_in(workshop: &Workshop, name: &str, hides: bool) -> PathBuf {
    let build = Build::new(workshop, "plug_in.c").link(Link::Static);
    let build = if hides { build.option("-Wl,--exclude-libs,ALL") } else { build };
    build.plug_in(name).expect("it compiles")
}

#[test]
fn three_copies_in_one_process() {
    let workshop = workshop();
    let program = Build::new(&workshop, "copies.c").program("copies").expect("it compiles");
    for_each(["apart", "together"], |how| {
        let [a, b] = ["a", "b"].map(|name| plug_in(&workshop, &format!("{name}-{how}.so"), how == "apart"));
        Run::new(&program, Driver::Shell(ONE_VERSION)).arg(a).arg(b).arg(how).checks()
    });
}

#[test]
fn the_library_stays_when_it_is_closed() {
    let workshop = workshop();
    let program =
        Build::new(&workshop, "unload.c").link(Link::Static).program("unload").expect("it compiles");
    let run = Run::new(program, Driver::None).arg(library("libcushim.so"));
    run.checks().unwrap_or_else(|failure| panic!("{failure}"));
}

/// Compilers that are missing were skipped aloud, or are a failure; without gcc nothing here means anything.
#[test]
fn gcc_is_there() {
    assert!(compilers(Language::C).contains(&Compiler::Gcc), "apt install gcc");
}
