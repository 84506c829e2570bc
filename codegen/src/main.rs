//! Writes the generated files of cushim and softcuda from `catalogue/`, or checks that they are current.
//!
//! `cargo run -p codegen` writes; `cargo run -p codegen -- --check` writes nothing and exits 1 if a file is stale.

mod arguments;
mod c90;
mod capi;
mod catalogue;
mod ctype;
mod cuda_h;
mod declarations;
mod header;
mod interface;
mod rust_rows;
mod rust_sys;
mod rust_table;
mod softcuda;
mod structs;
mod tags;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// One generated file: where it goes and what it holds.
struct Output {
    path: &'static str,
    text: String,
}

const USAGE: &str = "usage: codegen [--check]\n  without a flag: write the generated files\n  --check: exit 1 if one of them is stale\n";

#[allow(clippy::print_stderr, clippy::print_stdout)] // a command-line tool
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        ["--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("codegen has a parent folder").to_owned();
    let mut stale = 0;
    for output in outputs(&root) {
        let path = root.join(output.path);
        if std::fs::read_to_string(&path).is_ok_and(|now| now == output.text) {
            continue;
        }
        if check {
            eprintln!("stale: {} (run `cargo run -p codegen`)", output.path);
            stale += 1;
        } else {
            std::fs::write(&path, &output.text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            println!("wrote {}", output.path);
        }
    }
    if !check && !python(&root) {
        eprintln!("the Python package was not written: python/generate.py needs python3 with cffi");
    }
    if stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What follows from the interface in the Python package, which Python writes: cffi makes a part of it. `--check` leaves that to
/// the package's tests.
fn python(root: &Path) -> bool {
    let mut command = Command::new("python3");
    command.arg(root.join("python/generate.py")).env("PYTHONPATH", root.join("target/python"));
    command.status().is_ok_and(|status| status.success())
}

fn outputs(root: &Path) -> Vec<Output> {
    let catalogue = catalogue::Catalogue::read(&root.join("catalogue"));
    let sources = capi::read(&root.join("src/capi"));
    let interface = interface::read(&catalogue, &sources);
    let declared = |header| {
        let files = sources.iter().filter(|source| source.header == header).map(|source| &source.file);
        declarations::write(files)
    };
    let parts = root.join("codegen/header");
    let cuda = cuda_h::Headers::new(&catalogue, &root.join("catalogue"), &parts);
    let softcuda = root.join("softcuda/src");
    let rust = |path, text: String| Output { path, text: rustfmt(root, &text) };
    vec![
        Output {
            path: "include/cushim_loader.h",
            text: header::loader(&parts, &declared("cushim_loader.h")),
        },
        Output { path: "include/cushim_driver.h", text: header::write(&catalogue, &parts) },
        Output {
            path: "include/cushim.h",
            text: header::objects(&parts, &interface::index(&interface), &declared("cushim.h")),
        },
        Output { path: "include/cushim-cuda/cuda.h", text: cuda.cuda() },
        Output { path: "include/cushim-cuda/cudaTypedefs.h", text: cuda.typedefs() },
        Output { path: "include/cushim-cuda/cudaProfiler.h", text: cuda.profiler() },
        Output { path: "include/cushim-cuda/builtin_types.h", text: cuda.builtin_types() },
        Output { path: "include/cushim.json", text: interface::json(&interface) },
        Output { path: "include/cushim.cdef.h", text: interface::cdef(&interface) },
        Output { path: "capi-tests/c/common/recorder.h", text: interface::recorder(&interface) },
        Output { path: "capi-tests/c/common/kinds.h", text: interface::kinds(&interface) },
        Output { path: "docs/streams.md", text: interface::streams(&interface) },
        Output { path: "capi-tests/c/sweep/sweep.inc", text: interface::sweep(&interface) },
        Output { path: "include/softcuda.h", text: softcuda::header(root) },
        rust("src/driver/rows.rs", rust_rows::write(&catalogue)),
        rust("src/driver/sys.rs", rust_sys::write(&catalogue, rust_sys::PROGRAM)),
        rust("src/driver/table.rs", rust_table::write(&catalogue)),
        rust("softcuda/src/abi/names.rs", softcuda::names(&catalogue, &softcuda)),
        rust("softcuda/src/abi/sys.rs", softcuda::types(&catalogue)),
        rust("softcuda/src/interface/exports.rs", softcuda::exports(&catalogue, &softcuda)),
        rust("softcuda/src/interface/functions.rs", softcuda::functions(&catalogue, &softcuda)),
    ]
}

/// Generated Rust is formatted like the rest, so that `cargo fmt --check` has nothing to say about it.
fn rustfmt(root: &Path, text: &str) -> String {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt runs (rustup component add rustfmt)");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let input = text.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
    let out = child.wait_with_output().expect("rustfmt ends");
    writer.join().expect("the writer ends").expect("rustfmt reads its input");
    assert!(out.status.success(), "rustfmt refused generated code:\n{text}");
    String::from_utf8(out.stdout).expect("rustfmt prints UTF-8")
}
