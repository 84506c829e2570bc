//! The benchmark runs on the driver that does nothing, and has something to say of each row.

use serde_json::Value;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench-calls")).args(arguments).output().expect("the benchmark runs")
}

fn stdout(arguments: &[&str]) -> String {
    let out = bench(arguments);
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("UTF-8")
}

fn names() -> Vec<String> {
    stdout(&["--driver", "noop", "--list"]).lines().map(str::to_owned).collect()
}

#[test]
fn every_row_is_measured() {
    let names = names();
    let report: Value =
        serde_json::from_str(&stdout(&["--driver", "noop", "--quick", "--json"])).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| row["name"].as_str().expect("a name")).collect::<Vec<_>>(), names);
    for row in rows {
        let took = |subject: &str| row["subjects"][subject]["median"].as_f64();
        assert!(took("cushim").is_some_and(|time| time > 0.0), "{row}");
        assert_eq!(took("raw").is_some(), row["cushim_above"]["raw"]["median"].is_f64(), "{row}");
        assert!(row["rounds"].as_u64().is_some_and(|rounds| rounds > 0), "{row}");
    }
    let others = ["raw", "cudarc", "cudarc-untracked"];
    let compared = |with: &&str| rows.iter().any(|row| row["subjects"][with].is_object());
    assert!(others.iter().all(compared), "{report}");
}

#[test]
fn the_table_has_each_row() {
    let table = stdout(&["--driver", "noop", "--quick"]);
    for name in names() {
        assert!(table.lines().any(|line| line.starts_with(&name)), "{name} is missing in {table}");
    }
}

/// The layer for Rust programs has rows of its own, each with what cudarc takes.
#[test]
fn the_typed_layer_is_measured() {
    let report: Value =
        serde_json::from_str(&stdout(&["--driver", "noop", "--typed", "--quick", "--json"])).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert!(rows.len() > 10, "{report}");
    for row in rows {
        let took = |subject: &str| row["subjects"][subject]["median"].as_f64();
        assert!(
            ["raw", "cushim", "cudarc"].iter().all(|it| took(it).is_some_and(|time| time > 0.0)),
            "{row}"
        );
    }
}

#[test]
fn rows_can_be_chosen() {
    let table = stdout(&["--driver", "noop", "--quick", "--filter", "event query", "--filter", "fill"]);
    let has = |name: &str| table.lines().any(|line| line.starts_with(name));
    assert!(has("event query") && has("fill") && !has("event record"), "{table}");
}

#[test]
fn threads_are_measured_beside_each_other() {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()).min(2).to_string();
    let arguments = ["--driver", "noop", "--quick", "--threads", &cores];
    let table = stdout(&arguments);
    let report: Value = serde_json::from_str(&stdout(&[&arguments[..], &["--json"]].concat())).expect("JSON");
    for row in report["rows"].as_array().expect("rows") {
        assert!(row["median"].as_f64().is_some_and(|time| time > 0.0), "{row}");
        let name = format!("{}, {}", row["name"].as_str().unwrap(), row["subject"].as_str().unwrap());
        assert!(table.lines().any(|line| line.starts_with(&name)), "{name} is missing in {table}");
    }
}

#[test]
fn counted_calls_are_listed() {
    let list = stdout(&["--driver", "noop", "--instructions", "--filter", "event record"]);
    let lines: Vec<_> = list.lines().collect();
    let expected = ["nothing\t-", "event record\traw", "event record\tcushim", "event record\tcudarc"];
    assert_eq!(lines, expected.map(|line| format!("1000\t{line}")));
}

#[test]
fn what_it_cannot_do_it_says() {
    for (arguments, why) in [
        (&["--driver", "/nowhere/libcuda.so"][..], "--driver noop"),
        (&["--filter", "no such row", "--driver", "noop"], "--list"),
        (&["--millis", "soon"], "takes a number"),
        (&["--nonsense"], "--help"),
        (&["--threads", "99999", "--driver", "noop"], "one for each core"),
        (&["--core", "99999", "--driver", "noop"], "no core 99999"),
        (&["--library", "/nowhere/libcushim.so", "--driver", "noop"], "/nowhere/libcushim.so"),
    ] {
        let out = bench(arguments);
        let error = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(why), "{arguments:?}: {error}");
    }
    assert!(stdout(&["--help"]).contains("usage: bench-calls"));
}
