//! The suite on softcuda: as driver 580 answers where it impersonates that version, and whole at every other.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// The right to run a suite. Some answers are about time, so only few suites run beside each other.
struct Turn;

static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Turn {
    const AT_ONCE: usize = 2;

    fn wait() -> Self {
        let running = RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = RUNNING.1.wait_while(running, |running| *running == Self::AT_ONCE);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        RUNNING.1.notify_one();
    }
}

/// With two devices, so that every section is run.
fn suite(version: &str, options: &[&str]) -> Command {
    let driver = softcuda::shell_path(version).expect("the build has made the shell of every version");
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command.arg("--driver").arg(driver).args(options).env("SOFTCUDA_DEVICES", "2");
    command
}

fn run(mut suite: Command) -> Output {
    let _turn = Turn::wait();
    suite.output().expect("the suite runs")
}

/// What a comparison complains about. It must have come to its end.
fn complaints(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.trim_end().ends_with(" complaints"), "the comparison has no end: {output:?}");
    text.lines().filter(|line| line.starts_with("# [")).map(str::to_owned).collect()
}

/// A transcript that was not there before.
fn new_transcript(version: &str) -> String {
    let output = run(suite(version, &[]));
    assert!(output.status.success(), "{version}: {output:?}");
    String::from_utf8(output.stdout).expect("a transcript is text")
}

/// The comparison of 13.0 with driver 580, whoever asked for it first.
fn compared() -> &'static Output {
    static COMPARED: OnceLock<Output> = OnceLock::new();
    COMPARED.get_or_init(|| run(suite("13.0", &["--compare"])))
}

/// The transcript of a version, whoever asked for it first.
fn transcript(version: &str) -> &'static str {
    static TRANSCRIPTS: [OnceLock<String>; softcuda::VERSIONS.len()] =
        [const { OnceLock::new() }; softcuda::VERSIONS.len()];
    let at = softcuda::VERSIONS.iter().position(|(name, _)| *name == version).expect("a version");
    TRANSCRIPTS[at].get_or_init(|| new_transcript(version))
}

/// Situations and answers: the transcript's columns.
fn lines(transcript: &str) -> impl Iterator<Item = (&str, &str)> {
    const COLUMN: usize = 66;
    transcript
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_at_checked(COLUMN).unwrap_or((line, "")))
}

#[test]
fn softcuda_answers_as_driver_580() {
    let mut with_one = suite("13.0", &["--compare"]);
    with_one.env("SOFTCUDA_DEVICES", "1");
    for (devices, output) in [("1", &run(with_one)), ("2", compared())] {
        let complaints = complaints(output);
        assert!(complaints.is_empty(), "{devices} devices: {complaints:#?}");
        assert!(output.status.success(), "{devices} devices: {:?}", output.status);
        let asked = String::from_utf8_lossy(&output.stdout).contains("can device 0 access device 1");
        assert_eq!(asked, devices == "2");
    }
}

/// Whatever order a schedule chooses, a driver could have chosen. `lazy` runs work when somebody waits for it, so its
/// events tell other times.
#[test]
fn every_schedule_answers_as_driver_580() {
    for (schedule, seed) in [("seeded", "1"), ("lazy", "0"), ("in-order", "0")] {
        let mut suite = suite("13.0", &["--compare"]);
        suite.envs([("SOFTCUDA_SCHEDULE", schedule), ("SOFTCUDA_SEED", seed)]);
        let output = run(suite);
        let complaints = complaints(&output);
        let about_times =
            |complaint: &&String| schedule == "lazy" && complaint.contains("elapsed around work");
        let others: Vec<&String> = complaints.iter().filter(|complaint| !about_times(complaint)).collect();
        assert!(others.is_empty(), "{schedule} {seed}: {others:#?}");
    }
}

#[test]
fn two_runs_have_the_same_transcript() {
    let answers =
        |transcript| lines(transcript).filter(|(situation, _)| !situation.is_empty()).collect::<Vec<_>>();
    let second = String::from_utf8_lossy(&compared().stdout);
    let (first, second) = (answers(transcript("13.0")), answers(&second));
    let differing: Vec<_> = first.iter().zip(&second).filter(|(one, other)| one != other).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(first.len(), second.len());
}

#[test]
fn every_version_answers_every_question() {
    let asked: Vec<&str> = lines(transcript("13.0")).map(|(situation, _)| situation).collect();
    std::thread::scope(|scope| {
        for (name, number) in softcuda::VERSIONS {
            let asked = asked.iter().copied();
            scope.spawn(move || {
                let transcript = transcript(name);
                assert!(!transcript.contains("!!"), "softcuda {name} crashes or gives up:\n{transcript}");
                assert!(lines(transcript).map(|(situation, _)| situation).eq(asked), "{name}:\n{transcript}");
                for (situation, answer) in lines(transcript) {
                    absent_only_if_newer(situation, answer, *number);
                }
            });
        }
    });
}

/// A function is absent because the version is older than it, and for no other reason.
fn absent_only_if_newer(situation: &str, answer: &str, version: u32) {
    if let Some(entry) = answer.strip_prefix("absent: ") {
        let abi = entry.rsplit_once('_').and_then(|(_, abi)| abi.parse().ok());
        assert!(abi.is_some_and(|abi: u32| abi > version), "{version}: {situation}: {entry} is absent");
    }
}

#[test]
fn an_old_version_lacks_functions() {
    let old = transcript("11.4");
    let absent =
        |line: &str| lines(old).any(|(at, answer)| at.trim() == line && answer.starts_with("absent: "));
    assert!(absent("unknown name"), "cuGetProcAddress_12000 is there on 11.4:\n{old}");
    assert!(absent("synchronize that one"), "cuCtxSynchronize_13000 is there on 11.4:\n{old}");
}
