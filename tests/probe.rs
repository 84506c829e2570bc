//! Runs the probe as its users do, on drivers of every sort, and reads what it says.
//!
//! `cargo test` builds examples before it runs tests; `cargo test --test probe` does not, so the tests refuse a probe
//! that is older than its sources.
#![cfg(target_os = "linux")]

mod fakes;
mod oracle {
    pub(crate) mod drivers;
    pub(crate) mod fetch;
}

// The parts of the probe that stand alone bring tests of their own, and cargo runs no tests of examples.
#[path = "../examples/probe/args.rs"]
#[allow(dead_code)]
mod args;
#[path = "../examples/probe/elf.rs"]
#[allow(dead_code)]
mod elf;
#[path = "../examples/probe/environment.rs"]
#[allow(dead_code)]
mod environment;
#[path = "../examples/probe/host.rs"]
#[allow(dead_code)]
mod host;
#[path = "../examples/probe/kernel_module.rs"]
#[allow(dead_code)]
mod kernel_module;
#[path = "../examples/probe/process.rs"]
#[allow(dead_code)]
mod process;
#[path = "../examples/probe/program.rs"]
#[allow(dead_code)]
mod program_of;

use cushim::driver::catalogue::{Group, ROWS};
use cushim::driver::{Choice, OpenOptions, Outcome};
use cushim::{Device, Status};
use fakes::{Fake, folder, other_library};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The program under test, next to this one.
fn program() -> PathBuf {
    let this = std::env::current_exe().expect("the test program knows where it is");
    let profile = this.parent().and_then(Path::parent).expect("it lies in target/<profile>/deps");
    let probe = profile.join("examples/probe");
    let hint = "run cargo build --example probe, with the profile of this test";
    let built = changed(&probe).unwrap_or_else(|| panic!("{} is missing: {hint}", probe.display()));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["examples/probe", "examples/probe/report", "src/driver", "src/driver/library"] {
        for entry in fs::read_dir(sources.join(folder)).expect("the sources are there").flatten() {
            let is_newer = entry.path().is_file() && changed(&entry.path()) > Some(built);
            assert!(!is_newer, "{} is older than {}: {hint}", probe.display(), entry.path().display());
        }
    }
    probe
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// The probe, with an environment in which nothing steers it.
fn probe<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program());
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let steers =
            ["CUSHIM_", "SOFTCUDA_", "CUDA_", "NVIDIA_"].iter().any(|prefix| name.starts_with(prefix));
        if steers || name == "LD_LIBRARY_PATH" {
            command.env_remove(name);
        }
    }
    command
}

/// What a run came to.
struct Run {
    code: i32,
    out: String,
    err: String,
}

fn run(mut command: Command) -> Run {
    let output = command.output().expect("the probe starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the probe writes UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    let code = output.status.code().unwrap_or_else(|| panic!("{command:?}: {}\n{out}{err}", output.status));
    Run { code, out, err }
}

/// Runs the probe on one library, for people.
fn on(library: &Path, arguments: &[&str]) -> Run {
    let mut command = probe(["--driver"]);
    command.arg(library).args(arguments);
    run(command)
}

/// Runs the probe with `--json`; the report has all fields, and its exit code is the program's.
fn report(mut command: Command) -> (i32, Value) {
    command.arg("--json");
    let Run { code, out, err } = run(command);
    let value: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}\n{out}\n{err}"));
    check_fields(&value);
    assert_eq!(value["verdict"]["exit_code"], code, "{value:#}");
    (code, value)
}

/// As [`on`], for programs.
fn report_on(library: &Path, arguments: &[&str]) -> (i32, Value) {
    let mut command = probe(["--driver"]);
    command.arg(library).args(arguments);
    report(command)
}

fn report_on_software(version: &str, arguments: &[&str]) -> (i32, Value) {
    let mut command = probe(["--driver", "software"]);
    command.args(arguments).env("SOFTCUDA_VERSION", version);
    report(command)
}

/// Every field that readers may count on is there, whatever came of the run.
fn check_fields(report: &Value) {
    let has = |value: &Value, fields: &[&str]| {
        let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value}"));
        for field in fields {
            assert!(object.contains_key(*field), "{field} is missing in {value}");
        }
    };
    has(
        report,
        &[
            "schema_version",
            "host",
            "environment",
            "process",
            "program",
            "candidates",
            "driver",
            "init",
            "devices",
            "groups",
        ],
    );
    has(
        report,
        &["operations", "symbols", "per_thread_symbols", "selfcheck", "stand_in", "notes", "verdict"],
    );
    has(&report["driver"], &["path", "version", "kind", "release", "getter"]);
    has(&report["init"], &["called", "result", "name", "error"]);
    has(&report["verdict"], &["name", "exit_code", "summary", "action"]);
    has(&report["host"], &["system", "kernel", "libc", "container", "wsl", "jetson", "kernel_module"]);
    let every = |list: &str, fields: &[&str]| {
        list_of(report, list).iter().for_each(|item| has(item, fields));
    };
    every("candidates", &["path", "outcome", "error", "origin", "real_path", "kind"]);
    every("symbols", &["name", "abi", "exported", "status", "group", "via"]);
    every("devices", &["ordinal", "name", "uuid", "compute_capability", "memory", "attributes"]);
    every("operations", &["name", "available", "function", "abi", "needs"]);
    every("selfcheck", &["name", "ok", "detail", "device"]);
    assert_eq!(report["schema_version"], 1);
}

fn list_of<'a>(report: &'a Value, list: &str) -> &'a Vec<Value> {
    report[list].as_array().unwrap_or_else(|| panic!("{list} is no list"))
}

fn item<'a>(report: &'a Value, list: &str, name: &str) -> &'a Value {
    let found = list_of(report, list).iter().find(|item| item["name"] == name);
    found.unwrap_or_else(|| panic!("{list} has no {name:?}"))
}

fn text<'a>(report: &'a Value, pointer: &str) -> &'a str {
    report.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} is no text"))
}

/// Builds `tests/fakes/machine.c` as `path`.
fn machine(path: &Path, version: u32, macros: &[&str]) -> PathBuf {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("the folder can be made");
    }
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(path);
    cc.arg(format!("-DVERSION={version}")).args(macros.iter().map(|name| format!("-D{name}")));
    cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/machine.c"));
    let output = cc.output().expect("the C compiler runs (apt install gcc, or set CC)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path.to_owned()
}

/// Whether this machine is without any libcuda that the search could meet.
fn machine_has_none() -> bool {
    let machine = OpenOptions::new().choice(Choice::Auto).environment(false).open();
    let Err(error) = machine else { return false };
    let candidates = &error.report().expect("a search took place").candidates;
    candidates.iter().all(|candidate| candidate.outcome == Outcome::Absent)
}

// The command line

#[test]
fn help_names_every_option_and_exit_code() {
    let Run { code, out, err } = run(probe(["--help"]));
    assert_eq!((code, err.as_str()), (0, ""));
    for option in [
        "--driver auto",
        "--software",
        "PATH",
        "--report",
        "--json",
        "--symbols",
        "--no-init",
        "--require",
        "--help",
    ] {
        assert!(out.contains(option), "{option} is not in the help");
    }
    for code in [0, 2, 10, 11, 12, 13, 14, 15, 16] {
        let start = format!("{code:>4}  ");
        assert!(out.lines().any(|line| line.starts_with(&start)), "exit code {code} is not in the help");
    }
    assert!(out.contains("CUSHIM_DRIVER"));
}

#[test]
fn the_man_page_has_every_option_and_exit_code() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/cushim-probe.1.in"));
    let page = page.expect("the page is there").replace('\\', "");
    let words = args::HELP.split(|c: char| c.is_whitespace() || ",.;:()".contains(c));
    let options: Vec<&str> = words.filter(|word| word.starts_with("--")).collect();
    assert!(options.len() > 8, "{options:?}");
    for option in options {
        assert!(page.contains(option), "{option}");
    }
    let codes = args::HELP.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u8>().ok());
    for code in codes {
        assert!(page.contains(&format!("\n.B {code}\n")), "exit code {code}");
    }
}

#[test]
fn it_says_its_version() {
    let Run { code, out, .. } = run(probe(["--version"]));
    assert_eq!((code, out), (0, format!("probe {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_senseless_command_line_is_refused_without_a_report() {
    for line in [
        &["--frobnicate"][..],
        &["libcuda.so.1"],
        &["--driver"],
        &["--driver", ""],
        &["--require", "new"],
        &["--require", "12080"],
        &["--json", "--require"],
        &["--json=1"],
        &["--driver", "software", "--driver", "auto"],
    ] {
        let Run { code, out, err } = run(probe(line));
        assert_eq!((code, out.as_str()), (2, ""), "{line:?}");
        assert!(err.starts_with("probe: ") && err.contains("--help"), "{line:?}: {err}");
    }
}

#[test]
fn a_reader_may_stop_reading() {
    let mut command = probe(["--driver", "software", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the probe starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the probe ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

// Machines without a driver, and files that are none

#[test]
fn a_named_file_that_is_no_driver() {
    let folder = folder();
    let text_file = folder.path().join("libcuda.so.1");
    fs::write(&text_file, "not a library").expect("the file can be written");
    let other = other_library(folder.path().join("libother.so"));
    for (path, reason) in [
        (folder.path().join("nothing.so"), "No such file"),
        (text_file, "text file"),
        (folder.path().to_owned(), "directory"),
        (other, "cuDriverGetVersion"),
    ] {
        let (code, report) = report_on(&path, &[]);
        assert_eq!((code, text(&report, "/verdict/name")), (10, "unusable-driver"), "{report:#}");
        let candidates = list_of(&report, "candidates");
        assert_eq!((candidates.len(), &candidates[0]["origin"]), (1, &"options".into()));
        let outcome = if path.exists() { "refused" } else { "absent" };
        assert_eq!(text(&report, "/candidates/0/outcome"), outcome);
        assert_eq!(text(&report, "/candidates/0/path"), path.to_str().expect("the path is text"));
        assert!(text(&report, "/candidates/0/error").contains(reason), "{report:#}");
        assert_eq!(report["driver"]["path"], Value::Null);
        assert_eq!(report["init"]["called"], false);
        for list in ["devices", "symbols", "operations", "selfcheck"] {
            assert_eq!(list_of(&report, list).len(), 0, "{list}");
        }
        assert_eq!(report["stand_in"], Value::Null, "whoever names a driver gets no other");

        let people = on(&path, &[]);
        assert_eq!(people.code, 10);
        let line = people.out.lines().find(|line| line.starts_with("Verdict: ")).expect("there is a verdict");
        assert!(line.contains(reason), "{line}");
    }
}

#[test]
fn the_variable_is_a_choice_like_the_option() {
    let folder = folder();
    let missing = folder.path().join("nothing.so");
    let mut command = probe::<&str>([]);
    command.env("CUSHIM_DRIVER", &missing);
    let (code, report) = report(command);
    assert_eq!((code, &report["stand_in"]), (10, &Value::Null));
    assert_eq!(text(&report, "/candidates/0/origin"), "CUSHIM_DRIVER");
    assert!(text(&report, "/verdict/action").contains("in CUSHIM_DRIVER, or unset it"), "{report:#}");

    let mut command = probe(["--driver", "software"]);
    command.env("CUSHIM_SOFTCUDA", &missing);
    let (code, report) = self::report(command);
    assert_eq!((code, text(&report, "/verdict/name")), (10, "unusable-driver"));
    assert_eq!(text(&report, "/verdict/action"), "correct or unset CUSHIM_SOFTCUDA");

    let mut command = probe(["--driver", "software"]);
    command.env("CUSHIM_DRIVER", &missing);
    let (code, report) = self::report(command);
    assert_eq!((code, text(&report, "/driver/kind")), (0, "software"));
    assert!(list_of(&report, "notes").contains(&"--driver overrules CUSHIM_DRIVER".into()), "{report:#}");
}

#[test]
fn none_is_no_driver() {
    let mut command = probe::<&str>([]);
    command.env("CUSHIM_DRIVER", "none");
    let (code, report) = report(command);
    assert_eq!((code, text(&report, "/verdict/name")), (10, "none-chosen"));
    assert_eq!(text(&report, "/driver/kind"), "none");
    assert!(list_of(&report, "symbols").iter().all(|symbol| symbol["status"] == "no-driver"));
}

#[test]
fn softcuda_stands_in_where_nothing_was_asked_for_and_nothing_is_there() {
    let (auto, of_auto) = report(probe(["--driver", "auto"]));
    let (plain, of_plain) = report(probe::<&str>([]));
    assert_eq!(of_auto["stand_in"], Value::Null, "auto never falls back");
    if !machine_has_none() {
        assert_eq!((plain, &of_plain["stand_in"]), (auto, &Value::Null));
        assert_eq!(of_plain["driver"], of_auto["driver"]);
        return;
    }
    assert_eq!((auto, text(&of_auto, "/verdict/name")), (10, "no-driver"));
    assert_eq!((plain, text(&of_plain, "/verdict/name")), (0, "no-driver"));
    assert_eq!(of_plain["driver"]["path"], Value::Null, "the report is on the machine's driver");
    assert_eq!(text(&of_plain, "/stand_in/driver/kind"), "software");
    assert_eq!(text(&of_plain, "/selfcheck_driver"), "software");
    assert!(list_of(&of_plain, "selfcheck").iter().all(|check| check["ok"] == true));

    let Run { code, out, .. } = run(probe::<&str>([]));
    assert_eq!(code, 0);
    assert!(out.contains("Self-check on softcuda, the driver in software"), "{out}");
    assert!(out.contains("device 0 ok: context create, allocation,"), "{out}");

    for asked in [&["--no-init"][..], &["--require", "11.4"], &["--no-init", "--require", "11.4"]] {
        let (code, of_demand) = report(probe(asked));
        let found = (code, text(&of_demand, "/verdict/name"), &of_demand["stand_in"]);
        assert_eq!(found, (10, "no-driver", &Value::Null), "{asked:?}: what is not there is an error");
    }
    let mut command = probe::<&str>([]);
    command.env("CUSHIM_DRIVER", "auto");
    assert_eq!(report(command).0, 10, "the variable is a choice too");
}

/// Under the name that it has where it is installed, it answers for the machine.
#[test]
fn an_installed_probe_answers_for_the_machine() {
    let folder = folder();
    let installed = folder.path().join("cushim-probe");
    std::os::unix::fs::symlink(program(), &installed).expect("a link");
    let as_installed = |arguments: &[&str], driver: Option<&str>| {
        let plain = probe(arguments);
        let mut command = Command::new(&installed);
        command.args(arguments);
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.envs(driver.map(|driver| ("CUSHIM_DRIVER", driver)));
        command
    };
    let (code, found) = report(as_installed(&[], None));
    assert_eq!(found["stand_in"], Value::Null, "{found:#}");
    let (of_auto, _) = report(probe(["--driver", "auto"]));
    assert_eq!(code, of_auto);
    if machine_has_none() {
        assert_eq!((code, text(&found, "/verdict/name")), (10, "no-driver"), "{found:#}");
        assert!(text(&found, "/verdict/action").contains("set CUSHIM_DRIVER=software"), "{found:#}");
    }
    for software in [as_installed(&["--software"], None), as_installed(&[], Some("software"))] {
        let (code, found) = report(software);
        assert_eq!((code, text(&found, "/driver/kind")), (0, "software"), "{found:#}");
    }
    let (code, found) = report(as_installed(&[], Some("sofware")));
    assert_eq!(code, 10);
    let action = text(&found, "/verdict/action");
    assert!(action.contains("or software for softcuda, in CUSHIM_DRIVER"), "{action}");
}

#[test]
fn a_broken_libcuda_is_not_the_same_as_none() {
    let folder = folder();
    fs::write(folder.path().join("libcuda.so.1"), "not a library").expect("the file can be written");
    let mut command = probe::<&str>([]);
    command.env("LD_LIBRARY_PATH", folder.path());
    let (code, report) = report(command);
    let listed = &report["environment"]["library_path"][0];
    assert_eq!(listed["folder"], folder.path().to_str().expect("the path is text"));
    assert_eq!(listed["files"], serde_json::json!(["libcuda.so.1"]));
    assert_eq!(report["stand_in"], Value::Null);
    if machine_has_none() {
        assert_eq!((code, text(&report, "/verdict/name")), (10, "unusable-driver"), "{report:#}");
    }
}

#[test]
fn a_stub_is_told_from_a_driver() {
    let folder = folder();
    let stub = Fake::new(12080).define("VERSION_RESULT", 34).build(folder.path().join("libcuda.so.1"));
    let (code, report) = report_on(&stub, &[]);
    assert_eq!((code, text(&report, "/verdict/name")), (11, "stub"));
    assert_eq!(text(&report, "/candidates/0/kind"), "stub");
    assert_eq!(report["driver"]["kind"], Value::Null);
    assert!(text(&report, "/verdict/action").contains("name the driver's library instead"), "{report:#}");

    let mut command = probe::<&str>([]);
    command.env("LD_LIBRARY_PATH", folder.path());
    let (code, report) = self::report(command);
    if code == 11 {
        assert!(text(&report, "/verdict/action").contains("LD_LIBRARY_PATH"), "{report:#}");
    }
    let notes = list_of(&report, "notes");
    assert!(
        notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("is a stub"))),
        "{report:#}"
    );
    // A driver elsewhere is still found; without one a stub is no reason for softcuda.
    assert_eq!(code == 11, report["driver"]["path"].is_null(), "{report:#}");
    assert_eq!(report["stand_in"], Value::Null);

    let late = machine(&folder.path().join("late.so"), 12080, &["INIT=34"]);
    assert_eq!(report_on(&late, &[]).0, 11, "a stub that gives a version away is one all the same");
}

// softcuda

#[test]
fn the_report_for_people_has_its_sections_in_order() {
    let Run { code, out, .. } = run(probe(["--driver", "software"]));
    assert_eq!(code, 0);
    let headings: Vec<&str> = out.lines().filter(|line| line.starts_with(char::is_uppercase)).collect();
    let starts =
        ["Host", "Environment", "Candidates", "Driver", "Devices", "Operations", "Symbols", "Self-check"];
    let starts = starts.into_iter().chain(["Notes", "Verdict: ", "What to do: "]);
    assert_eq!(headings.len(), starts.clone().count(), "{headings:?}");
    for (heading, start) in headings.iter().zip(starts) {
        assert!(heading.starts_with(start), "{heading:?} where {start:?} was expected");
    }
    assert!(out.contains("kind           software"), "{out}");
    for group in Group::ALL {
        assert!(out.contains(&format!("\n  {:<14}", group.name())), "{} is not counted", group.name());
    }
    assert!(!out.contains("cuMemcpyBatchAsync_v2"), "single symbols are listed on demand only");
}

#[test]
fn symbols_are_listed_on_demand() {
    let Run { code, out, .. } = run(probe(["--driver", "software", "--symbols", "--no-init"]));
    assert_eq!(code, 0);
    for row in ROWS {
        let listed = out.lines().filter(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(row.base)
                && words.next() == Some(&row.abi.to_string())
                && words.next() == Some(row.exported)
        });
        assert_eq!(listed.count(), 1, "{} {}", row.base, row.abi);
        let variant = row.per_thread.map(|(exported, _)| out.contains(&format!(" {exported} ")));
        assert_ne!(variant, Some(false), "the per-thread variant of {}", row.base);
    }
}

#[test]
fn every_version_resolves_as_the_catalogue_says() {
    for &(version, number) in softcuda::VERSIONS {
        let (code, report) = report_on_software(version, &[]);
        assert_eq!((code, text(&report, "/verdict/name")), (0, "ok"), "{version}: {report:#}");
        assert_eq!((text(&report, "/driver/version"), text(&report, "/driver/kind")), (version, "software"));
        let symbols = list_of(&report, "symbols");
        assert_eq!(symbols.len(), ROWS.len());
        for (symbol, row) in symbols.iter().zip(ROWS) {
            let status = match row.base {
                _ if row.abi > number => "newer-than-driver",
                "cuEventCreateFromEGLSync" => "denied", // as by every driver measured
                _ => "found",
            };
            assert_eq!(symbol["name"], row.base);
            assert_eq!(symbol["abi"], row.abi);
            assert_eq!(symbol["exported"], row.exported);
            assert_eq!(symbol["group"], row.group.name());
            assert_eq!(symbol["status"], status, "{} {} on {version}", row.base, row.abi);
            assert_eq!(symbol["via"].is_null(), status != "found");
        }
        check_operations(&report, number);
        check_device(&report);
    }
}

/// The ABI of an operation is the newest that the version has.
fn check_operations(report: &Value, number: u32) {
    for (name, abis) in [
        ("prefetch", &[8000, 12020][..]),
        ("batch copy", &[4000, 12080, 13000]),
        ("create context", &[3020, 11040, 12050]),
        ("capture info", &[10010, 11030, 12030]),
        ("discard", &[13000]),
        ("conditional nodes", &[12030]),
        ("elapsed time", &[2000, 12080]),
    ] {
        let operation = item(report, "operations", name);
        match abis.iter().rev().find(|&&abi| abi <= number) {
            Some(&abi) => {
                assert_eq!(
                    (&operation["available"], &operation["abi"]),
                    (&true.into(), &abi.into()),
                    "{name}"
                );
            }
            None => {
                let needs = format!("{}.{}", abis[0] / 1000, abis[0] % 1000 / 10);
                assert_eq!(operation["available"], false, "{name}");
                assert_eq!(operation["needs"], needs, "{name}");
            }
        }
    }
}

fn check_device(report: &Value) {
    let created = item(report, "selfcheck", "context create");
    let abi = &item(report, "operations", "create context")["abi"];
    assert_eq!(created["detail"], format!("cuCtxCreate, ABI {abi}"), "the self-check takes the same way");
    let devices = list_of(report, "devices");
    assert_eq!(devices.len(), 1);
    let device = &devices[0];
    assert!(device["uuid"].as_str().is_some_and(|uuid| uuid.starts_with("GPU-") && uuid.len() == 40));
    assert!(device["memory"].as_str().is_some_and(|bytes| bytes.starts_with("0x")), "{device:#}");
    assert!(device["attributes"]["managed_memory"].is_boolean(), "{device:#}");
    for name in [
        "context create",
        "allocation",
        "copy to device",
        "copy from device",
        "fill",
        "free",
        "context destroy",
    ] {
        assert_eq!(item(report, "selfcheck", name)["ok"], true, "{name}");
    }
}

#[test]
fn shells_are_opened_by_path() {
    for &(version, number) in softcuda::VERSIONS {
        let shell = softcuda::shell_path(version).expect("the shells are built where there is a C compiler");
        let (code, report) = report_on(&shell, &[]);
        assert_eq!((code, text(&report, "/driver/version")), (0, version), "{report:#}");
        let getter = if number < 12000 { "cuGetProcAddress" } else { "cuGetProcAddress_v2" };
        assert_eq!(
            (text(&report, "/driver/getter"), text(&report, "/driver/kind")),
            (getter, "software"),
            "{version}"
        );
    }
}

#[test]
fn each_device_is_listed_and_tried() {
    let mut command = probe(["--driver", "software"]);
    command.env("SOFTCUDA_DEVICES", "3");
    let (code, report) = report(command);
    assert_eq!((code, list_of(&report, "devices").len()), (0, 3));
    for ordinal in 0..3 {
        let tried = list_of(&report, "selfcheck").iter().filter(|check| check["device"] == ordinal);
        assert_eq!(tried.filter(|check| check["ok"] == true).count(), 7, "device {ordinal}");
    }

    let mut command = probe(["--driver", "software"]);
    command.env("SOFTCUDA_DEVICES", "0");
    let (code, report) = self::report(command);
    assert_eq!((code, &report["init"]["result"]), (12, &100.into()));
    assert!(text(&report, "/verdict/action").contains("SOFTCUDA_DEVICES"));
}

/// What a failure is due to is no GPU's business.
#[test]
fn a_softcuda_that_was_told_to_fail_is_not_the_machines_fault() {
    for (fault, exit) in [("cuMemAlloc=2", 15), ("cuInit=3", 13)] {
        let mut command = probe(["--driver", "software"]);
        command.env("SOFTCUDA_FAULT", fault);
        let (code, report) = report(command);
        assert_eq!(code, exit);
        assert_eq!(text(&report, "/verdict/action"), format!("unset SOFTCUDA_FAULT, which is {fault:?}"));
    }
}

#[test]
fn a_setting_that_softcuda_refuses_is_named() {
    let (code, report) = report_on_software("9.9", &[]);
    assert_eq!((code, text(&report, "/verdict/name")), (10, "unusable-driver"), "{report:#}");
    assert!(text(&report, "/verdict/action").contains("SOFTCUDA_VERSION=9.9"));
}

// What is asked for

#[test]
fn a_required_version() {
    for (require, code) in [("12.2", 0), ("12", 0), ("11.8", 0), ("12.3", 14), ("13.0", 14)] {
        let (got, report) = report_on_software("12.2", &["--require", require]);
        assert_eq!(got, code, "{require}: {report:#}");
        assert_eq!(text(&report, "/verdict/name"), if code == 0 { "ok" } else { "too-old" });
        let (got, _) = report_on_software("12.2", &["--no-init", "--require", require]);
        assert_eq!(got, code, "{require} without initialisation");
    }
    let (_, report) = report_on_software("12.2", &["--require", "12.8"]);
    assert!(text(&report, "/verdict/summary").contains("older than 12.8"));
    assert!(text(&report, "/verdict/action").contains("12.8"));
    for (require, advice) in [
        ("12.6", "SOFTCUDA_VERSION=12.8"),
        ("13.4", "SOFTCUDA_VERSION=13.5"),
        ("13.6", "require CUDA 13.5 or less of softcuda"),
    ] {
        let (_, report) = report_on_software("12.2", &["--require", require]);
        assert!(text(&report, "/verdict/action").contains(advice), "{require}: {report:#}");
    }
}

#[test]
fn without_initialisation_nothing_is_called() {
    let folder = folder();
    let path = machine(&folder.path().join("libcuda.so.1"), 12080, &["INIT_ABORTS"]);
    let (code, report) = report_on(&path, &["--no-init"]);
    assert_eq!((code, text(&report, "/verdict/name")), (0, "ok"));
    assert_eq!((&report["init"]["called"], &report["init"]["result"]), (&false.into(), &Value::Null));
    assert_eq!((list_of(&report, "devices").len(), list_of(&report, "selfcheck").len()), (0, 0));
    assert_eq!(on(&path, &["--no-init"]).code, 0);
    // Otherwise it would be: this driver ends the process.
    let mut command = probe(["--driver"]);
    let status = command.arg(&path).output().expect("the probe starts").status;
    assert_eq!(status.code(), None, "{status}");
}

// Drivers that fail

#[test]
fn a_driver_that_works() {
    let folder = folder();
    let path = machine(&folder.path().join("libcuda.so.535.261.03"), 12020, &[]);
    let (code, report) = report_on(&path, &[]);
    assert_eq!((code, text(&report, "/verdict/name")), (0, "ok"), "{report:#}");
    assert_eq!(text(&report, "/driver/kind"), "native");
    assert_eq!(text(&report, "/driver/release"), "535.261.03");
    assert_eq!(text(&report, "/driver/getter"), "dlsym");
    let device = &report["devices"][0];
    assert_eq!((&device["name"], &device["memory"]), (&"heap".into(), &"0x1400000000".into()));
    assert_eq!(device["compute_capability"], "8.6");
    assert_eq!((&device["uuid"], &device["pci_bus_id"]), (&Value::Null, &Value::Null));
    assert_eq!(device["attributes"]["managed_memory"], true);
    assert_eq!(device["attributes"]["memory_pools"], Value::Null, "the driver refuses the attribute");
    let missing = item(&report, "operations", "prefetch");
    assert_eq!((&missing["available"], &missing["status"]), (&false.into(), &"not-exported".into()));
    assert_eq!(item(&report, "symbols", "cuInit")["via"], "dlsym");
}

#[test]
fn each_failure_of_init_has_its_exit_code_and_advice() {
    let folder = folder();
    for (result, code, name, advice) in [
        (3, 13, "CUDA_ERROR_NOT_INITIALIZED", "forked"),
        (46, 13, "CUDA_ERROR_DEVICE_UNAVAILABLE", "nvidia-smi -c 0"),
        (100, 12, "CUDA_ERROR_NO_DEVICE", ""),
        (304, 13, "CUDA_ERROR_OPERATING_SYSTEM", "/dev/nvidia"),
        (802, 13, "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"),
        (803, 16, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot"),
        (804, 16, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "LD_LIBRARY_PATH"),
        (805, 13, "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS"),
        (999, 13, "CUDA_ERROR_UNKNOWN", "nvidia-uvm"),
        (12345, 13, "an unknown error", "dmesg"),
    ] {
        let path = folder.path().join(format!("libcuda-{result}.so"));
        let path = machine(&path, 12080, &[&format!("INIT={result}")]);
        let (got, report) = report_on(&path, &[]);
        assert_eq!(got, code, "{result}: {report:#}");
        assert_eq!((&report["init"]["called"], &report["init"]["result"]), (&true.into(), &result.into()));
        assert_eq!(text(&report, "/init/name"), name);
        assert!(text(&report, "/verdict/summary").contains(&format!("{name} ({result})")), "{report:#}");
        assert!(text(&report, "/verdict/action").contains(advice), "{report:#}");
        assert_eq!(list_of(&report, "selfcheck").len(), 0);
        assert_eq!(list_of(&report, "symbols").len(), ROWS.len(), "symbols need no initialisation");
    }
}

#[test]
fn a_compat_library_that_does_not_fit_is_to_go() {
    let folder = folder();
    let path = machine(&folder.path().join("cuda-13.0/compat/libcuda.so.580.65.06"), 13000, &["INIT=803"]);
    let (code, report) = report_on(&path, &[]);
    assert_eq!((code, text(&report, "/driver/kind")), (16, "compat"));
    assert!(text(&report, "/verdict/action").contains("compat folder out of LD_LIBRARY_PATH"), "{report:#}");
}

#[test]
fn no_device_though_init_succeeds() {
    let folder = folder();
    let path = machine(&folder.path().join("none.so"), 12080, &["DEVICES=0"]);
    let (code, report) = report_on(&path, &[]);
    assert_eq!((code, text(&report, "/verdict/name")), (12, "no-device"));
    let path =
        machine(&folder.path().join("unknown.so"), 12080, &["FAILING=\"cuDeviceGetCount\"", "FAILURE=999"]);
    let (code, report) = report_on(&path, &[]);
    assert_eq!((code, text(&report, "/verdict/name")), (13, "init-failed"));
    assert!(text(&report, "/init/error").contains("cuDeviceGetCount"), "{report:#}");
}

#[test]
fn a_negative_number_of_devices_is_an_error_of_the_driver() {
    let folder = folder();
    let path = machine(&folder.path().join("negative.so"), 12080, &["DEVICES=-1"]);
    let driver = OpenOptions::new().choice(Choice::from(path.as_os_str())).open().expect("it opens");
    for error in [
        Device::count(&driver).expect_err("-1 devices"),
        Device::all(&driver).map(drop).expect_err("all of -1"),
        Device::get(&driver, 0).map(drop).expect_err("one of -1"),
    ] {
        assert_eq!((error.status, error.function.as_str()), (Status(999), "cuDeviceGetCount"));
        assert!(error.message.contains("-1 devices"), "{error}");
    }
}

#[test]
fn what_the_self_check_finds() {
    let folder = folder();
    for (macros, failed, detail, tried) in [
        (&["LOST_BYTE=77"][..], "copy from device", "byte 77 is", 6),
        (
            &["FAILING=\"cuCtxCreate_v2\"", "FAILURE=46"],
            "context create",
            "CUDA_ERROR_DEVICE_UNAVAILABLE (46)",
            1,
        ),
        (&["FAILING=\"cuMemAlloc_v2\"", "FAILURE=2"], "allocation", "CUDA_ERROR_OUT_OF_MEMORY (2)", 3),
        (
            &["FAILING=\"cuMemcpyHtoD_v2\"", "FAILURE=700"],
            "copy to device",
            "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
            5,
        ),
        (
            &["FAILING=\"cuMemcpyDtoH_v2\"", "FAILURE=1"],
            "copy from device",
            "CUDA_ERROR_INVALID_VALUE (1)",
            6,
        ),
        (&["FAILING=\"cuMemsetD8_v2\"", "FAILURE=1"], "fill", "CUDA_ERROR_INVALID_VALUE (1)", 7),
        (&["FAILING=\"cuMemFree_v2\"", "FAILURE=1"], "free", "CUDA_ERROR_INVALID_VALUE (1)", 7),
        (&["FAILING=\"cuCtxDestroy_v2\"", "FAILURE=1"], "context destroy", "CUDA_ERROR_INVALID_VALUE (1)", 7),
    ] {
        let path = machine(&folder.path().join(failed.replace(' ', "-") + macros[0]), 11040, macros);
        let (code, report) = report_on(&path, &[]);
        assert_eq!((code, text(&report, "/verdict/name")), (15, "self-check-failed"), "{report:#}");
        let checks = list_of(&report, "selfcheck");
        assert_eq!(checks.len(), tried, "{report:#}");
        for check in checks {
            assert_eq!(check["ok"] == false, check["name"] == failed, "{report:#}");
        }
        assert!(
            item(&report, "selfcheck", failed)["detail"].as_str().is_some_and(|text| text.contains(detail))
        );
        // What was made is given back all the same.
        assert_eq!(checks.last().map(|check| check["name"] == "context destroy"), Some(tried > 1));
        let people = on(&path, &[]);
        assert!(people.out.contains(&format!("device 0 FAILED: {failed}: ")), "{}", people.out);
    }
}

// What reports say of the environment

#[test]
fn the_environment_that_matters_is_shown_and_secrets_are_not() {
    for arguments in
        [&["--driver", "software", "--no-init"][..], &["--driver", "software", "--no-init", "--json"]]
    {
        let mut command = probe(arguments);
        command.env("NVIDIA_API_KEY", "nvapi-do-not-show").env("CUDA_MODULE_LOADING", "EAGER");
        let Run { out, .. } = run(command);
        assert!(out.contains("CUDA_MODULE_LOADING") && out.contains("EAGER"), "{out}");
        assert!(out.contains("NVIDIA_API_KEY") && !out.contains("nvapi-do-not-show"), "{out}");
    }
}

#[test]
fn a_bug_report_tells_of_this_process_too() {
    let home = folder();
    let other = other_library(home.path().join("other.so"));
    let mut command = probe([OsStr::new("--report"), OsStr::new("--driver"), other.as_os_str()]);
    command.env("HOME", home.path());
    let Run { code, out, .. } = run(command);
    assert_eq!(code, 10, "{out}");
    assert!(out.starts_with("<details>") && out.trim_end().ends_with("</details>"), "{out}");
    assert!(out.contains("\nProcess\n") && out.contains("~/other.so"), "{out}");
    assert!(!out.contains(&home.path().display().to_string()), "{out}");

    let (code, with) = report_on_software("13.0", &["--report"]);
    assert_eq!((code, &with["process"]["facts"]["user ids"].is_string()), (0, &true), "{with:#}");
    let mapped = list_of(&with["process"], "mapped");
    assert!(
        mapped.iter().any(|file| file.as_str().is_some_and(|file| file.contains("libsoftcuda"))),
        "{mapped:?}"
    );
    let (_, without) = report_on_software("13.0", &[]);
    assert!(without["process"].is_null());
}

#[test]
fn a_path_with_a_line_break_takes_one_line() {
    let folder = folder();
    let odd = folder.path().join("lib\ncuda.so.1");
    let Run { code, out, .. } = on(&odd, &[]);
    assert_eq!(code, 10);
    let candidates: Vec<&str> = out
        .lines()
        .skip_while(|line| *line != "Candidates")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    assert_eq!(candidates.len(), 1, "{candidates:?}");
}

// NVIDIA's own

#[test]
#[cfg(target_arch = "x86_64")]
fn real_drivers_without_initialisation_and_with() {
    let Some(drivers) = oracle::drivers::real_drivers() else { return };
    let lines: Vec<Vec<&str>> =
        include_str!("data/real_drivers.csv").lines().map(|line| line.split(',').collect()).collect();
    for driver in drivers {
        let (code, report) = report_on(&driver.path, &["--no-init"]);
        assert_eq!((code, text(&report, "/driver/kind")), (0, "native"), "{report:#}");
        assert_eq!(report["driver"]["version_number"], driver.cuda);
        assert_eq!(text(&report, "/driver/release"), driver.release);
        let column = lines[0].iter().position(|name| *name == driver.release).expect("it has a column");
        for (symbol, row) in list_of(&report, "symbols").iter().zip(&lines[1..]) {
            assert_eq!((&symbol["name"], symbol["abi"].to_string().as_str()), (&row[0].into(), row[1]));
            let covered = symbol["abi"].as_u64() <= Some(driver.cuda.into());
            let found = covered && !row[column].is_empty();
            assert_eq!(symbol["status"] == "found", found, "{symbol} on {}", driver.release);
        }
        check_operations(&report, driver.cuda);

        let (code, report) = report_on(&driver.path, &[]);
        // Beside a kernel module of another release it says so; without one it sees no device.
        let expected: &[i32] =
            if report["host"]["kernel_module"].is_null() { &[12, 13] } else { &[0, 12, 13, 16] };
        assert!(expected.contains(&code), "{code}: {report:#}");
        assert_eq!(report["init"]["called"], true);
        assert!(!text(&report, "/verdict/action").is_empty());
    }
}

/// What a program is in C that imports some functions, and names others.
const WANTS: &str = r#"
extern int cuInit(unsigned), cuStreamQuery_ptsz(void *), cuFutureThing(void);
extern int cuGraphConditionalHandleCreate(void *, void *, void *, unsigned, unsigned);
const char *const named[] = {"cuMemcpyBatchAsync", "cuGetProcAddress_v2", "cuMemAlloc", "no cuMemFree"};
int all(void) {
  return cuInit(0) + cuStreamQuery_ptsz(0) + cuFutureThing() + cuGraphConditionalHandleCreate(0, 0, 0, 0, 0) + (named[0] != 0);
}
"#;

fn compiled(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (input, output) = (folder.join("source.c"), folder.join(name));
    fs::write(&input, source).expect("written");
    let status = Command::new("cc").arg(&input).arg("-o").arg(&output).args(options).status();
    assert!(status.expect("there is a C compiler").success());
    output
}

/// Runs the probe on softcuda as one version, and asks for a program.
fn report_of_program(version: &str, program: &Path) -> (i32, Value) {
    let program = program.to_str().expect("a path");
    report_on_software(version, &["--no-init", "--program", program])
}

fn names_of<'a>(program: &'a Value, list: &str) -> Vec<&'a str> {
    list_of(program, list).iter().map(|item| item["name"].as_str().expect("a name")).collect()
}

/// In each form that a program can have: a library, one without sections, an object file.
#[test]
fn programs_say_what_they_want() {
    let folder = folder();
    let library = compiled(folder.path(), "library.so", WANTS, &["-shared", "-fPIC"]);
    let object = compiled(folder.path(), "object.o", WANTS, &["-c"]);
    // Without the table of sections, as some tools leave programs.
    let mut bytes = fs::read(&library).expect("read");
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    let bare = folder.path().join("bare.so");
    fs::write(&bare, bytes).expect("written");
    for file in [&library, &object, &bare] {
        let (code, report) = report_of_program("13.0", file);
        let program = &report["program"];
        assert_eq!(code, 0, "{program:#}");
        assert_eq!(
            names_of(program, "imports"),
            ["cuGraphConditionalHandleCreate", "cuInit", "cuStreamQuery_ptsz"],
            "{}",
            file.display()
        );
        assert_eq!(names_of(program, "names"), ["cuGetProcAddress_v2", "cuMemAlloc", "cuMemcpyBatchAsync"]);
        assert_eq!(list_of(program, "unknown"), &["cuFutureThing"]);
        assert_eq!(program["needs"], "12.3");
        assert_eq!(list_of(program, "needs_for"), &["cuGraphConditionalHandleCreate"]);
        assert_eq!((&program["names_up_to"], &program["served"]), (&"12.8".into(), &true.into()));
        assert_eq!(program["links_driver"], false);
        // Which ABI a base name gets, the program says as it asks.
        assert_eq!(program["names"][1]["abi"], Value::Null);
        assert_eq!(program["imports"][2]["per_thread"], true);
        assert!(text(&report, "/verdict/summary").contains("it has all that"));
    }
}

#[test]
fn a_program_that_needs_more_than_there_is() {
    let folder = folder();
    let library = compiled(folder.path(), "library.so", WANTS, &["-shared", "-fPIC"]);
    let (code, report) = report_of_program("12.2", &library);
    assert_eq!((code, text(&report, "/verdict/name")), (17, "program-needs-more"));
    assert!(text(&report, "/verdict/summary").contains("CUDA 12.3, for cuGraphConditionalHandleCreate"));
    assert_eq!(report["program"]["served"], false);
    assert_eq!(report["program"]["imports"][0]["here"], false);
    assert_eq!(report["program"]["names"][2]["here"], false);
    // What is only named is looked up: that is the program's affair.
    let named =
        compiled(folder.path(), "named.so", "const char name[] = \"cuMemcpyBatchAsync\";", &["-shared"]);
    let (code, report) = report_of_program("12.2", &named);
    assert_eq!((code, &report["program"]["needs"]), (0, &Value::Null));
    let Run { code, out, .. } = {
        let mut command = probe(["--driver", "software", "--no-init", "--program"]);
        command.arg(&library).env("SOFTCUDA_VERSION", "12.2");
        run(command)
    };
    assert!(
        code == 17
            && out.contains("imports, and this driver has not, 1: cuGraphConditionalHandleCreate (12.3)"),
        "{out}"
    );
}

/// What it is linked with counts: the driver, and a runtime, which needs a driver of its major version.
#[test]
fn what_a_program_is_linked_with() {
    let folder = folder();
    let fake = |name: &str| {
        let soname = format!("-Wl,-soname,{name}");
        compiled(folder.path(), name, "int nothing;", &["-shared", &soname]);
    };
    fake("libcudart.so.12");
    fake("libcuda.so.1");
    let with = format!("-L{}", folder.path().display());
    let options = ["-shared", "-fPIC", &with, "-Wl,--no-as-needed", "-l:libcudart.so.12", "-l:libcuda.so.1"];
    let program = compiled(
        folder.path(),
        "linked.so",
        "extern int cuInit(unsigned); int f(void) { return cuInit(0); }",
        &options,
    );
    let (code, report) = report_of_program("11.8", &program);
    let told = &report["program"];
    assert_eq!((code, &told["served"]), (17, &false.into()), "{told:#}");
    assert_eq!((&told["links_driver"], &told["runtime"]), (&true.into(), &"libcudart.so.12".into()));
    assert_eq!(
        (&told["needs"], list_of(told, "needs_for")),
        (&"12.0".into(), &vec!["libcudart.so.12".into()])
    );
    assert_eq!(report_of_program("12.0", &program).0, 0);
}

#[test]
fn files_that_are_no_programs() {
    let folder = folder();
    let script = folder.path().join("script");
    fs::write(&script, "#!/bin/sh\n").expect("written");
    let archive = folder.path().join("archive.a");
    fs::write(&archive, "!<arch>\n").expect("written");
    let (absent, directory) = (folder.path().join("absent"), folder.path().to_owned());
    for (file, why) in [
        (script, "is a script"),
        (archive, "is an archive"),
        (absent, "cannot be read"),
        (directory, "is no file"),
    ] {
        let mut command = probe(["--program"]);
        command.arg(&file);
        let Run { code, err, .. } = run(command);
        assert!(code == 2 && err.contains(why) && err.contains(file.to_str().expect("a path")), "{err}");
    }
}
