//! Random calls of every function, a million: half of them with all work eager, half with the driver two devices large.
//! Then graphs. `scripts/fuzz.sh` makes more.

use capi_tests::build::{Build, Link};
use capi_tests::matrix::ONE_VERSION;
use capi_tests::parallel::for_each;
use capi_tests::run::{Driver, Run};

/// Of each run.
const CALLS: &str = "500000";

#[test]
fn a_million_calls() {
    let build = Build::new("fuzz/fuzz").link(Link::Static).option("-O1");
    let program = build.program().expect("it compiles");
    for_each([("1", "1"), ("2", "2")], |(seed, devices)| {
        let run = Run::new(&program, Driver::Software(ONE_VERSION)).env("SOFTCUDA_DEVICES", devices);
        run.arg(CALLS).arg(seed).checks()
    });
}

/// Of graphs, with the work that they capture, in each schedule.
#[test]
fn two_hundred_thousand_calls_of_graphs() {
    let build = Build::new("fuzz/graphs").link(Link::Static).option("-O1");
    let program = build.program().expect("it compiles");
    for_each([("1", "eager"), ("2", "lazy"), ("3", "seeded"), ("4", "eager")], |(seed, schedule)| {
        let run = Run::new(&program, Driver::Software(ONE_VERSION)).env("SOFTCUDA_SCHEDULE", schedule);
        run.arg("50000").arg(seed).checks()
    });
}

/// Of graphs on several threads, which destroy, move and end what the others use.
#[test]
fn a_million_calls_on_three_threads() {
    let program = Build::new("fuzz/threads").link(Link::Static).option("-O1").program().expect("it compiles");
    for_each([("1", "eager"), ("1001", "lazy"), ("2001", "seeded")], |(seed, schedule)| {
        let run = Run::new(&program, Driver::Software(ONE_VERSION)).env("SOFTCUDA_SCHEDULE", schedule);
        run.arg("250").arg(seed).checks()
    });
    Run::new(&program, Driver::Software(ONE_VERSION))
        .arg("--shared")
        .arg("50")
        .checks()
        .expect("nothing captures any more");
}

/// While calls of the driver fail: nothing crashes, stands still, or is an internal error.
#[test]
fn fifty_thousand_calls_with_faults() {
    for_each(["fuzz/fuzz", "fuzz/graphs"], |source| {
        let program = Build::new(source).link(Link::Static).option("-O1").program()?;
        Run::new(program, Driver::Software(ONE_VERSION)).arg("--faults").arg("50000").arg("3").checks()
    });
}

/// One seed is one sequence: what it answers can be compared between drivers.
#[test]
fn a_transcript_is_the_same_each_time() {
    let program = Build::new("fuzz/fuzz").program().expect("it compiles");
    let run = |version| {
        let run = Run::new(&program, Driver::Software(version)).arg("--safe").arg("--transcript");
        run.arg("20000").arg("7").output().unwrap_or_else(|failure| panic!("{failure}"))
    };
    let transcript = run(ONE_VERSION);
    assert!(transcript.lines().count() > 20_000, "a line for each call");
    assert_eq!(transcript, run(ONE_VERSION));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name, text: &str| std::fs::write(folder.path().join(name), text).expect("it is written");
    write("one.txt", &transcript);
    write("older.txt", &run("12.4"));
    write("cut.txt", transcript.rsplit_once(" checks").expect("it ends so").0);
    let compare = |other: &str| {
        let run = Run::new(&program, Driver::None).folder(folder.path()).arg("--compare");
        run.arg("one.txt").arg(other).output()
    };
    let same = compare("one.txt").unwrap_or_else(|failure| panic!("{failure}"));
    assert!(same.ends_with("20000 calls compared, 0 unexpected differences\n"), "{same}");
    let older = compare("older.txt").expect_err("discarding is younger");
    assert!(older.contains("UNEXPECTED: cushim_stream_discard 0 and cushim_stream_discard -4"), "{older}");
    let cut = compare("cut.txt").expect_err("it says no more whether all was well");
    assert!(cut.contains("has no end"), "{cut}");
}
