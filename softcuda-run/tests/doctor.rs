//! `softcuda-run --doctor`: what it finds on machines that are made for it.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // each file of tests uses some of it
mod common;

use common::{Machine, Output, output};
use std::process::Command;

/// A call that finds nothing of this machine's but its C compiler and its Python.
fn doctor(machine: &Machine, words: &[&str]) -> Command {
    let mut command = machine.command(&["--doctor"]);
    command.args(words).env_remove("LD_LIBRARY_PATH").env_remove("PYTHONPATH");
    command
}

#[track_caller]
fn says(output: &Output, status: i32, level: &str, sentence: &str) {
    let found = output.out.lines().any(|line| line.starts_with(level) && line.contains(sentence));
    assert!(found && output.status == Some(status), "{sentence}\n{}{output:?}", output.out);
}

#[test]
fn what_is_as_it_should_be() {
    let machine = Machine::new();
    let output = output(doctor(&machine, &["--cuda=12.4", "--devices=2", "--memory=64M", "sh"]));
    says(&output, 0, "ok ", "driver: CUDA 12.4, libcuda.so.1 is /");
    says(&output, 0, "ok ", "libsoftcuda-12.4.so");
    let versions = softcuda::VERSIONS.iter().map(|(version, _)| *version).collect::<Vec<_>>().join(", ");
    says(&output, 0, "ok ", &format!("softcuda: versions {versions}"));
    says(&output, 0, "ok ", "NVML: /");
    says(&output, 0, "ok ", "devices: 2");
    says(&output, 0, "ok ", "memory: 64 MiB for each of 2; about ");
    says(&output, 0, "ok ", "C compiler: cc");
    says(&output, 0, "ok ", "C library: softcuda is built for glibc");
    says(&output, 0, "ok ", "command: /");
    says(&output, 0, "softcuda works here", "");
    machine.is_empty();
}

#[test]
fn json_says_the_same() {
    let machine = Machine::new();
    let mut command = doctor(&machine, &["--json"]);
    command.env("CUDA_VISIBLE_DEVICES", "\"none\\");
    let output = output(command);
    assert_eq!(output.status, Some(1), "{output:?}");
    let report: serde_json::Value = serde_json::from_str(&output.out).expect("it is JSON");
    assert_eq!((&report["works"], &report["version"]), (&false.into(), &env!("CARGO_PKG_VERSION").into()));
    let findings = report["findings"].as_array().expect("a list");
    let devices = findings.iter().find(|finding| finding["topic"] == "devices").expect("it is there");
    assert_eq!(devices["level"], "problem");
    let text = devices["text"].as_str().expect("a text");
    assert!(text.starts_with("CUDA_VISIBLE_DEVICES=\"none\\ leaves none of 1"), "{text}");
}

#[test]
fn settings_that_do_not_work() {
    let machine = Machine::new();
    says(
        &output(doctor(&machine, &["--cuda=12.7"])),
        1,
        "problem ",
        "settings: --cuda=12.7 is not one of 11.4, ",
    );
    says(&output(doctor(&machine, &["--memory=1024G"])), 0, "warning ", "one that uses it all may be killed");
    let with = |name: &str, value: &str, words: &[&str]| {
        let mut command = doctor(&machine, words);
        command.env(name, value);
        output(command)
    };
    says(&with("SOFTCUDA_FAULTS", "cuInit=2", &[]), 1, "problem ", "SOFTCUDA_FAULT is near it");
    says(
        &with("CUDA_VISIBLE_DEVICES", "1", &["--devices=2"]),
        0,
        "ok ",
        "CUDA_VISIBLE_DEVICES=1 leaves 1 of 2",
    );
    says(&with("CUDA_VISIBLE_DEVICES", "-1", &["--devices=0"]), 0, "ok ", "devices: none");
    says(&with("CUDA_LAUNCH_BLOCKING", "1", &[]), 0, "ok ", "CUDA_LAUNCH_BLOCKING=1: launches wait");
    says(&with("NUMBA_CUDA_DRIVER", "/x/libcuda.so", &[]), 0, "warning ", "Numba opens that");
    says(&with("CC", "no-such-compiler", &[]), 0, "warning ", "C compiler: no-such-compiler does not run");
    says(
        &with("CUSHIM_SOFTCUDA", "/no/such/file.so", &[]),
        1,
        "problem ",
        "softcuda: CUSHIM_SOFTCUDA is /no/such/file.so",
    );
    let wrong = output(doctor(&machine, &["--nonsense"]));
    assert_eq!(wrong.status, Some(2));
}

#[test]
fn commands_that_find_something_else() {
    let machine = Machine::new();
    let folder = machine.folder().join("drivers");
    std::fs::create_dir(&folder).expect("it can be made");
    std::fs::write(folder.join("libcuda.so.1"), "").expect("it can be written");
    let source = "int main(void) { return 0; }\n";
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let before = machine.program("before.c", source, &["-Wl,--disable-new-dtags", &rpath]);
    says(&output(doctor(&machine, &[&before])), 1, "problem ", "before LD_LIBRARY_PATH (RPATH)");
    let origin =
        machine.program("origin.c", source, &["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/drivers"]);
    says(&output(doctor(&machine, &[&origin])), 1, "problem ", "before LD_LIBRARY_PATH (RPATH)");
    let after = machine.program("after.c", source, &["-Wl,--enable-new-dtags", &rpath]);
    says(&output(doctor(&machine, &[&after])), 0, "ok ", "command: ");
    let other = machine.program("other.c", source, &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"]);
    says(&output(doctor(&machine, &[&other])), 1, "problem ", "is built for musl, and softcuda for glibc");
    says(
        &output(doctor(&machine, &["no-such-command"])),
        1,
        "problem ",
        "no-such-command: command not found",
    );
    // By its interpreter.
    let script = machine.write("script", &format!("#!{before}\n"));
    Command::new("chmod").args(["+x", &script]).status().expect("it is there");
    says(&output(doctor(&machine, &[&script])), 1, "problem ", "before LD_LIBRARY_PATH (RPATH)");
    let script = machine.write("script", "#!/usr/bin/env sh\n");
    says(&output(doctor(&machine, &[&script])), 0, "ok ", "command: /");
}

#[test]
fn what_makes_machine_code() {
    let machine = Machine::new();
    let packages = machine.folder().join("packages");
    for (folder, file) in [
        ("nvidia/cuda_runtime/lib", "libcudart.so.12"),
        ("nvidia/cuda_nvrtc/lib", "libnvrtc.so.12"),
        ("nvidia/cuda_nvrtc/lib", "libnvrtc-builtins.so.12.8"),
        ("nvidia/nvjitlink/lib", "libnvJitLink.so.12"),
        ("triton/backends/nvidia/bin", "ptxas"),
    ] {
        std::fs::create_dir_all(packages.join(folder)).expect("it can be made");
        std::fs::write(packages.join(folder).join(file), "").expect("it can be written");
    }
    let mut command = doctor(&machine, &[]);
    let output = output({
        command.env("PYTHONPATH", &packages);
        command
    });
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    for (topic, file) in [
        ("CUDA runtime", "nvidia/cuda_runtime/lib/libcudart.so.12"),
        ("ptxas", "triton/backends/nvidia/bin/ptxas"),
    ] {
        says(&output, 0, "warning ", &format!("{topic}: {}", packages.join(file).display()));
    }
    for (topic, file) in [
        ("NVRTC", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
        ("nvJitLink", "nvidia/nvjitlink/lib/libnvJitLink.so.12"),
    ] {
        says(&output, 0, "ok ", &format!("{topic}: {} hands out PTX", packages.join(file).display()));
    }
    // Of a program for musl.
    let other = machine.program(
        "m.c",
        "int main(void) { return 0; }\n",
        &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
    );
    let mut command = doctor(&machine, &[&other]);
    command.env("PYTHONPATH", &packages);
    says(
        &common::output(command),
        1,
        "warning ",
        "have it make PTX (compute_90): musl's loader knows no LD_AUDIT",
    );
    says(&output, 0, "softcuda works here; for some programs, mind the warnings", "");
    let mut command = doctor(&machine, &[]);
    let path = std::env::var("PATH").expect("there is one");
    command.env("PATH", format!("{}:{path}", packages.join("triton/backends/nvidia/bin").display()));
    says(&common::output(command), 0, "warning ", "ptxas: ");
}
