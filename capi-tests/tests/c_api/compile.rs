//! CUDA C++ compiled by real compilers, and linked by real linkers, which pip fetches: that of each is run by softcuda, and the examples print
//! what they are to.

use capi_tests::build::Build;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};
use capi_tests::{repository, say, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// What the scripts that fetch answer when a tool is missing, and when the network did not answer.
const TOOL_MISSING: i32 = 69;
const NO_ANSWER: i32 = 75;

/// The compilers that are fetched: the CUDA version of each, and the driver that runs its code.
const VERSIONS: [(&str, u32); 4] = [("12.0", 12000), ("12.8", 12080), ("13.0", 13000), ("13.5", 13050)];

/// The compilers, oldest first, the newest of all last; none where they cannot be had, which was said by then.
fn compilers() -> &'static [PathBuf] {
    static FETCHED: LazyLock<Vec<PathBuf>> = LazyLock::new(|| fetch("fetch-nvrtc"));
    &FETCHED
}

/// The linkers of the same versions.
fn linkers() -> &'static [PathBuf] {
    static FETCHED: LazyLock<Vec<PathBuf>> = LazyLock::new(|| fetch("fetch-nvjitlink"));
    &FETCHED
}

fn fetch(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let script = repository("scripts").join(format!("{name}.sh"));
    let output = Command::new("bash").arg(&script).arg(&folder).output().expect("bash runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect(),
        // Whether a registry answers is nobody's fault here: never a failure.
        Some(NO_ANSWER) => {
            say(format_args!("skipped: download failed: {}", errors.lines().last().unwrap_or_default()));
            Vec::new()
        }
        Some(TOOL_MISSING) => {
            skip(format_args!("{}", errors.lines().last().unwrap_or_default()));
            Vec::new()
        }
        _ => panic!("{}: {}\n{errors}", script.display(), output.status),
    }
}

/// Each compiler with the oldest driver that runs its PTX.
fn pairs() -> impl Iterator<Item = (&'static PathBuf, &'static str, u32)> {
    compilers().iter().zip(VERSIONS).map(|(path, (version, number))| (path, version, number))
}

#[test]
fn what_each_compiles_runs() {
    let program = Build::new("compile/real").program().expect("it compiles");
    for_each(pairs(), |(compiler, version, number)| {
        let run = Run::new(&program, Driver::Shell(version)).env("CUSHIM_NVRTC", compiler);
        run.env("CHECK_COMPILER", number.to_string()).checked().map(drop)
    });
}

/// Each linker links what the compiler of its version compiles, and refuses by name what a newer one has.
#[test]
fn what_each_links_runs() {
    let program = Build::new("compile/link").program().expect("it compiles");
    for_each(pairs().zip(linkers()), |((compiler, version, number), linker)| {
        let run = Run::new(&program, Driver::Shell(version)).env("CUSHIM_NVRTC", compiler);
        let run = run.env("CUSHIM_NVJITLINK", linker).env("CHECK_LINKER", number.to_string());
        run.checked().map(drop)
    });
    let (Some(newer), Some(older)) = (compilers().get(1), linkers().first()) else { return };
    let run =
        Run::new(&program, Driver::Shell("12.8")).env("CUSHIM_NVRTC", newer).env("CUSHIM_NVJITLINK", older);
    run.env("CHECK_REFUSED", "it is of CUDA 12.0, and the code of CUDA 12.8").checked().expect("it says why");
}

#[test]
fn the_examples_print_the_same_with_each() {
    let expected = std::fs::read_to_string(repository("examples/saxpy.txt")).expect("it is there");
    let in_c = Build::of(&repository("examples/compile.c")).program().expect("it compiles");
    let in_cpp = Build::cpp(&repository("examples/compile.cpp")).program().expect("it compiles");
    for_each(pairs(), |(compiler, version, _)| {
        [&in_c, &in_cpp].into_iter().try_for_each(|program| {
            let run = Run::new(program, Driver::Shell(version)).env("CUSHIM_NVRTC", compiler);
            let printed = run.output()?;
            if printed == expected { Ok(()) } else { Err(format!("{version}:\n{printed}")) }
        })
    });
}

/// The examples of graphs that have twins which run without NVIDIA's device runtime library.
const TWINS: [&str; 7] = ["heat", "bisection", "switch", "stencil", "pipeline", "hybrid", "decoder"];

/// The programs of an example, in C and in C++.
fn in_both(source: &Path) -> Result<[PathBuf; 2], String> {
    Ok([
        Build::of(&source.with_extension("c")).program()?,
        Build::cpp(&source.with_extension("cpp")).program()?,
    ])
}

/// The examples of graphs print the same with the kernels of their twins in CUDA C++ as with their own; the driver is one that has what they need.
#[test]
fn the_twins_of_the_kernels_do_the_same() {
    let twins = ["heat", "bisection", "switch", "stencil", "pipeline", "hybrid", "decoder"];
    let tried =
        twins.into_iter().flat_map(|name| pairs().map(move |(compiler, _, number)| (name, compiler, number)));
    for_each(tried, |(name, compiler, number)| {
        let version =
            VERSIONS[1..].iter().find(|(_, since)| number <= *since).expect("the last is the newest").0;
        let source = repository(&format!("examples/graphs/{name}"));
        let expected =
            std::fs::read_to_string(source.with_extension("txt")).map_err(|error| error.to_string())?;
        in_both(&source)?.iter().try_for_each(|program| {
            let run = Run::new(program, Driver::Shell(version)).env("CUSHIM_NVRTC", compiler);
            let printed = run.env("EXAMPLE_KERNELS", source.with_extension("cu")).output()?;
            // How long the decoder's steps took is not the same twice.
            if printed.starts_with(&expected) {
                Ok(())
            } else {
                Err(format!("{name} on {version}:\n{printed}"))
            }
        })
    });
}

/// That of the example which updates a node compiles, too. NVIDIA's device runtime library, which it is linked with, is not there: the file
/// that is named in its place is what is refused.
#[test]
fn the_twin_that_updates_a_node_compiles() {
    let source = repository("examples/graphs/device_update");
    let programs = in_both(&source).expect("they compile");
    let no_library = repository("README.md");
    for_each(pairs().filter(|(_, _, number)| *number >= 12040), |(compiler, version, _)| {
        programs.iter().try_for_each(|program| {
            let run = Run::new(program, Driver::Shell(version)).env("CUSHIM_NVRTC", compiler);
            let run = run.env("EXAMPLE_KERNELS", source.with_extension("cu")).arg(&no_library);
            match run.output() {
                Err(said)
                    if said.contains(&format!("{}: CUDA_ERROR_INVALID_IMAGE", no_library.display())) =>
                {
                    Ok(())
                }
                other => Err(format!("{version}: {other:?}")),
            }
        })
    });
}

/// Each example takes the twin that it is given: one that is missing, or is no code, it names.
#[test]
fn a_twin_that_cannot_be_compiled_is_named() {
    let Some(compiler) = compilers().last() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (missing, wrong) = (folder.path().join("missing.cu"), folder.path().join("wrong.cu"));
    std::fs::write(&wrong, "#error it is wrong").expect("written");
    for_each(TWINS.iter().chain(&["device_update"]), |name| {
        let programs = in_both(&repository(&format!("examples/graphs/{name}")))?;
        let cases = programs
            .iter()
            .flat_map(|program| [(program, &missing, "missing.cu"), (program, &wrong, "wrong.cu(1): ")]);
        for (program, twin, what) in cases {
            let mut run = Run::new(program, Driver::Shell("13.5")).env("CUSHIM_NVRTC", compiler);
            if *name == "device_update" {
                run = run.arg(repository("README.md"));
            }
            match run.env("EXAMPLE_KERNELS", twin).output() {
                Err(said) if said.contains(what) => {}
                other => return Err(format!("{name}, {what}: {other:?}")),
            }
        }
        Ok(())
    });
}

/// Without a compiler the examples say what to install, and for which driver.
#[test]
fn the_examples_say_what_to_install() {
    let in_c = Build::of(&repository("examples/compile.c")).program().expect("it compiles");
    let in_cpp = Build::cpp(&repository("examples/compile.cpp")).program().expect("it compiles");
    let empty = tempfile::tempdir().expect("a folder");
    for_each(
        [("12.4", "nvidia-cuda-nvrtc-cu12<=12.4.999"), ("13.0", "nvidia-cuda-nvrtc<=13.0.999")],
        |(version, package)| {
            [&in_c, &in_cpp].into_iter().try_for_each(|program| {
                // Nothing is found: no variable, no Python, no home.
                let run = ["CUSHIM_NVRTC", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"]
                    .into_iter()
                    .fold(Run::new(program, Driver::Shell(version)), |run, name| run.env(name, ""));
                let run = run.env("PATH", empty.path()).env("HOME", empty.path());
                match run.output() {
                    Err(said) if said.contains(package) && said.contains("No such file or directory") => {
                        Ok(())
                    }
                    Err(said) if said.contains("NVRTC") => Err(said),
                    // A toolkit is installed on this machine.
                    Ok(printed) if printed.contains("0 wrong") => Ok(()),
                    other => Err(format!("{other:?}")),
                }
            })
        },
    );
}
