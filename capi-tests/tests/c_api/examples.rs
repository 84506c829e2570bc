//! The examples in C: on every version, and the main one in every standard, with each compiler, linked in both ways.

use capi_tests::build::{Build, Link};
use capi_tests::matrix::{Language, ONE_VERSION, VERSIONS, standards};
use capi_tests::parallel::for_each;
use capi_tests::repository;
use capi_tests::run::{Driver, Run};
use capi_tests::skip;

fn versions() -> impl Iterator<Item = &'static str> {
    VERSIONS.iter().map(|(name, _)| *name)
}

/// The examples that a newcomer copies from.
#[test]
fn examples_run() {
    for_each(["examples/raw.c", "examples/porting/after.c"], |source| {
        let program = Build::of(&repository(source)).program()?;
        for version in ["12.4", "13.0"] {
            let output = Run::new(&program, Driver::Shell(version)).output()?;
            if !output.contains(version) {
                return Err(format!("{source} does not name CUDA {version}:\n{output}"));
            }
        }
        Ok(())
    });
}

/// A program that was written for `cuda.h` builds with ours, unedited, and runs on older and newer drivers.
#[test]
fn a_program_that_includes_cuda_h_runs_unedited() {
    let after = Build::of(&repository("examples/porting/after.c")).program().expect("it compiles");
    let before =
        Build::of(&repository("examples/porting/before.c")).drop_in().program().expect("it compiles");
    for_each(["11.4", "12.4", "13.0"], |version| {
        let [before, after] =
            [&before, &after].map(|program| Run::new(program, Driver::Shell(version)).output());
        if before? == after? { Ok(()) } else { Err(format!("before.c prints something else on {version}")) }
    });
}

/// Without a driver the program with two lines more says why; the unedited one has the log.
#[test]
fn a_ported_program_says_why_there_is_no_driver() {
    let ported = Build::of(&repository("examples/porting/after.c")).program().expect("it compiles");
    let unedited =
        Build::of(&repository("examples/porting/before.c")).drop_in().program().expect("it compiles");
    for_each([(&ported, ""), (&unedited, "error")], |(program, log)| {
        let run = Run::new(program, Driver::Value("/nowhere/libcuda.so.1")).env("CUSHIM_LOG", log);
        let said = run.output().expect_err("there is no driver");
        if said.contains("/nowhere/libcuda.so.1 (CUSHIM_DRIVER): ") { Ok(()) } else { Err(said) }
    });
}

/// The README's program prints the same in every standard, with each compiler, linked in both ways, on every version.
#[test]
fn the_main_example_prints_the_same_everywhere() {
    let source = repository("examples/ordered.c");
    let expected = std::fs::read_to_string(repository("examples/ordered.txt")).expect("it is there");
    let in_c = standards().into_iter().filter(|(_, standard)| standard.language == Language::C);
    let builds = in_c.flat_map(|built| [Link::Shared, Link::Static].map(|link| (built, link)));
    for_each(builds, |((compiler, standard), link)| {
        let name = format!("ordered-{compiler:?}-{}-{link:?}", standard.name);
        let build = Build::of(&source).compiler(compiler).standard(standard).link(link);
        let program = build.program()?;
        versions().try_for_each(|version| {
            let printed = Run::new(&program, Driver::Shell(version)).output()?;
            if printed == expected { Ok(()) } else { Err(format!("{name} on {version}:\n{printed}")) }
        })
    });
}

#[test]
fn the_example_of_a_kernel_prints_the_same_on_every_version() {
    let program = Build::of(&repository("examples/saxpy.c")).program().expect("it compiles");
    let expected = std::fs::read_to_string(repository("examples/saxpy.txt")).expect("it is there");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == expected { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

#[test]
fn the_example_of_virtual_memory_prints_the_same_on_every_version() {
    let program = Build::of(&repository("examples/virtual_memory.c")).program().expect("it compiles");
    let expected = std::fs::read_to_string(repository("examples/virtual_memory.txt")).expect("it is there");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == expected { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

#[test]
fn the_example_of_managed_memory_prints_the_same_on_every_version() {
    let program = Build::of(&repository("examples/managed.c")).program().expect("it compiles");
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
    let program = Build::of(&repository("examples/buffers.c")).program().expect("it compiles");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == "the last byte is 42\n" { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

/// The examples of graphs, and the first version that has what they need.
const GRAPHS: &[(&str, &str)] = &[
    ("heat", "12.3"),
    ("bisection", "12.8"),
    ("switch", "12.8"),
    ("stencil", "11.4"),
    ("pipeline", "11.4"),
    ("hybrid", "12.3"),
];

/// The same on every version that has what they need; older ones are named with what they lack.
#[test]
fn the_examples_of_graphs_print_the_same_on_every_version() {
    for_each(GRAPHS, |(name, since)| {
        let program = Build::of(&repository(&format!("examples/graphs/{name}.c"))).program()?;
        let expected = std::fs::read_to_string(repository(&format!("examples/graphs/{name}.txt")));
        let expected = expected.map_err(|error| error.to_string())?;
        let first = versions().position(|version| version == *since).expect("it is one of the list");
        versions().enumerate().try_for_each(|(index, version)| {
            let printed = Run::new(&program, Driver::Shell(version)).output()?;
            let lacks = format!("needs a driver for CUDA {since} or newer\n");
            let is_right = if index < first { printed.ends_with(&lacks) } else { printed == expected };
            if is_right { Ok(()) } else { Err(format!("{name} on {version}:\n{printed}")) }
        })?;
        let help = Run::new(&program, Driver::None).arg("--help").output()?;
        if help.starts_with("usage: ") { Ok(()) } else { Err(format!("{name} --help:\n{help}")) }
    });
}

/// The decoder's results are the same in a stream and by a graph, on every version; how long its steps took is not the same twice.
#[test]
fn the_example_of_a_decoder_computes_the_same_on_every_version() {
    let program = Build::of(&repository("examples/graphs/decoder.c")).program().expect("it compiles");
    let expected = std::fs::read_to_string(repository("examples/graphs/decoder.txt")).expect("it is there");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        let times = printed.strip_prefix(&expected);
        let is_right = times.is_some_and(|times| times.starts_with("microseconds per step: "));
        if is_right { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
    let help = Run::new(&program, Driver::None).arg("--help").output().expect("it explains itself");
    assert!(help.starts_with("usage: "), "{help}");
}

/// Without NVIDIA's device runtime library a kernel updates no node, and the example says so.
#[test]
fn the_example_of_an_update_by_a_kernel_says_what_it_needs() {
    let program = Build::of(&repository("examples/graphs/device_update.c")).program().expect("it compiles");
    let said = Run::new(&program, Driver::None).output().expect("it explains itself");
    assert!(said.contains("needs NVIDIA's device runtime library"), "{said}");
    let help = Run::new(&program, Driver::None).arg("--help").output().expect("it explains itself");
    assert!(help.starts_with("usage: "), "{help}");
    let missing = Run::new(&program, Driver::None).arg("no-such-library.a").output();
    let said = missing.expect_err("there is no such file");
    assert!(said.contains("there is no device runtime library at no-such-library.a"), "{said}");
}

/// The pictures in the documentation are those of the examples; `CUSHIM_REFRESH=1` draws them anew.
#[test]
fn the_pictures_of_graphs_are_those_of_the_examples() {
    let script = repository("examples/graphs/picture.py");
    if std::process::Command::new("python3").arg(&script).arg("--help").output().is_err() {
        return skip(format_args!("no python3: apt install python3"));
    }
    for_each(GRAPHS.iter().map(|(name, _)| *name).chain(["decoder"]), |name| {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let json = folder.path().join("graph.json");
        let program = Build::of(&repository(&format!("examples/graphs/{name}.c"))).program()?;
        Run::new(&program, Driver::Shell(ONE_VERSION)).arg("--json").arg(&json).output()?;
        let drawn = Run::new("python3", Driver::Unset).arg(&script).arg(&json).output()?;
        let picture = repository(&format!("docs/pictures/{name}.svg"));
        if std::env::var_os("CUSHIM_REFRESH").is_some() {
            return std::fs::write(&picture, drawn).map_err(|error| error.to_string());
        }
        let known = std::fs::read_to_string(&picture).map_err(|error| error.to_string())?;
        let stale = || format!("{} is stale; CUSHIM_REFRESH=1 draws it anew", picture.display());
        if drawn == known { Ok(()) } else { Err(stale()) }
    });
}

/// The benchmark of graphs runs, with the older functions and the newer, and prints its table.
#[test]
fn the_benchmark_of_graphs_runs() {
    let program = Build::of(&repository("benches/graphs.c")).program().expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        let run = Run::new(&program, Driver::Shell(version)).arg("--nodes").arg("100");
        let printed = run.arg("--rounds").arg("2").arg("--rebinds").arg("500").output()?;
        let is_whole = printed.contains(&format!("CUDA {version};"))
            && printed.contains("| destroy graph, each node |")
            && printed.contains("| cushim_exec_rebind |")
            && printed.contains("Rebound 500 times: ");
        if is_whole { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

/// And that of launches.
#[test]
fn the_benchmark_of_launches_runs() {
    let program = Build::of(&repository("benches/launches.c")).program().expect("it compiles");
    for_each(["11.4", ONE_VERSION], |version| {
        let run = Run::new(&program, Driver::Shell(version)).arg("--nodes").arg("20");
        let printed = run.arg("--rounds").arg("1").arg("--rebinds").arg("200").output()?;
        let is_whole = printed.contains(&format!("CUDA {version};"))
            && printed.contains("| per-thread stream | 100 | 200 |")
            && printed.contains("| cushim_exec_rebind |")
            && printed.contains("Rebound 20 times in a legacy stream");
        if is_whole { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

/// Without a driver the example says so and fails; it does not crash.
#[test]
fn an_example_without_a_driver() {
    let program = Build::of(&repository("examples/raw.c")).program().expect("it compiles");
    let failure =
        Run::new(&program, Driver::Value("/nonexistent/libcuda.so.1")).output().expect_err("it cannot run");
    assert!(failure.contains("exit status: 1") && failure.contains("/nonexistent/libcuda.so.1"), "{failure}");
}

#[test]
fn the_example_of_two_processes_prints_the_same_on_every_version() {
    let program = Build::of(&repository("examples/sharing.c")).program().expect("it compiles");
    let expected = std::fs::read_to_string(repository("examples/sharing.txt")).expect("it is there");
    for_each(versions(), |version| {
        let printed = Run::new(&program, Driver::Shell(version)).output()?;
        if printed == expected { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
    });
}

/// softcuda has no OpenGL: the examples say what they lack, and end.
#[test]
fn the_examples_of_opengl_say_what_they_lack() {
    for_each(["examples/opengl.c", "examples/opengl.cpp"], |source| {
        let path = repository(source);
        let build = if source.ends_with(".cpp") { Build::cpp(&path) } else { Build::of(&path) };
        let printed = Run::new(&build.program()?, Driver::Shell(ONE_VERSION)).output()?;
        if printed.starts_with("skipped: ") { Ok(()) } else { Err(format!("{source}:\n{printed}")) }
    });
}
