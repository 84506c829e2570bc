//! Sets the linker's options and builds one shell per driver version (see `shell/README.md`).

#[path = "src/abi/names.rs"]
#[allow(dead_code)]
mod names;
#[path = "src/abi/versions.rs"]
#[allow(unreachable_pub)]
mod versions;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for path in ["build.rs", "shell", "src/abi/names.rs", "src/abi/versions.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if env("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    // Never unloaded: threads of the driver may still run. Its own calls stay inside it, whatever else exports `cuInit`.
    for option in ["-Wl,-soname,libsoftcuda.so", "-Wl,-z,nodelete", "-Wl,-Bsymbolic"] {
        println!("cargo::rustc-cdylib-link-arg={option}");
    }
    let compiler = match cc::Build::new().try_get_compiler() {
        Ok(compiler) if compiler.to_command().arg("--version").output().is_ok() => compiler,
        _ => {
            println!(
                "cargo::warning=no C compiler for {}: the per-version shells are not built",
                env("TARGET")
            );
            return;
        }
    };
    let out = PathBuf::from(env("OUT_DIR"));
    std::thread::scope(|scope| {
        for (text, number) in versions::VERSIONS {
            let command = compiler.to_command();
            let out = &out;
            scope.spawn(move || build_shell(command, out, text, *number));
        }
    });
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Compiles and links `libsoftcuda-<version>.so`, which exports what a driver of that version exports, and the control
/// functions.
fn build_shell(mut command: Command, out: &Path, text: &str, number: u32) {
    let mut list = String::new();
    let visible = names::EXPORTS.iter().filter(|e| names::exists(e, number));
    let exports = visible.map(|export| (export.name, "status")).chain(names::CONTROLS.iter().copied());
    for (index, (name, otherwise)) in exports.enumerate() {
        writeln!(list, "NAME({index}, {name}, {otherwise})").expect("a String takes text");
    }
    let header = out.join(format!("names-{text}.h"));
    std::fs::write(&header, list).expect("OUT_DIR is writable");
    let library = out.join(format!("libsoftcuda-{text}.so"));
    command
        .args(["-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-DVERSION={number}"))
        .arg(format!("-DNAMES=\"{}\"", header.display()))
        .args(["shell/shell.c", "shell/trampolines.S"])
        // What is linked against a shell needs the driver, whichever that is where it runs.
        .arg("-Wl,-soname,libcuda.so.1")
        .args(["-Wl,-z,nodelete", "-Wl,-Bsymbolic", "-ldl", "-o"])
        .arg(&library);
    let status = command.status().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(status.success(), "{command:?} failed");
}
