//! Runs the programs in `c/`, each once in every case that `capi_tests::programs` lists, and looks at the end whether
//! every function was seen to return what its documentation says.
//!
//! `cargo test -p capi-tests --test programs -- TEXT` runs the cases whose names contain the text, such as `objects/streams`
//! or `on none`, and does not look at that: what was left out may be what was not seen.
#![cfg(target_os = "linux")]

mod arguments;
mod record;

use arguments::Arguments;
use capi_tests::parallel::failures_of;
use capi_tests::programs::{Case, cases};
use capi_tests::run::Run;
use capi_tests::say;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

/// The name of the last step.
const RECORD: &str = "record: every function was seen to return what it says";

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            say(format_args!("{wrong}"));
            return ExitCode::FAILURE;
        }
    };
    let all = cases();
    let count = all.len();
    let chosen: Vec<Case> = all.into_iter().filter(|case| arguments.chooses(&case.name)).collect();
    let looks_at_all = chosen.len() == count && arguments.chooses(RECORD);
    if arguments.lists {
        chosen.iter().for_each(|case| print(format_args!("{}: test", case.name)));
        return ExitCode::SUCCESS;
    }
    let begun = Instant::now();
    let tests = chosen.len() + usize::from(looks_at_all);
    print(format_args!("\nrunning {tests} tests"));
    let mut failed = run(chosen, looks_at_all);
    failed.sort_unstable();
    failed.iter().for_each(|failure| print(format_args!("\n---- {failure}")));
    let result = if failed.is_empty() { "ok" } else { "FAILED" };
    print(format_args!(
        "\ntest result: {result}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        tests - failed.len(),
        failed.len(),
        count + 1 - tests,
        begun.elapsed().as_secs_f32()
    ));
    ExitCode::from(u8::from(!failed.is_empty()))
}

/// Runs the cases, and looks at their record if those are all. Answers what failed.
fn run(cases: Vec<Case>, looks_at_all: bool) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = folder.path().join("record");
    let attempt = |case: Case| tell(&case.name, run_case(&case, &record));
    // A third of the time is spent in waiting: for a schedule's patience, for captures that go on, for a process to end.
    let jobs = 2 * thread::available_parallelism().map_or(2, usize::from);
    let mut failed = if cases.is_empty() { Vec::new() } else { failures_of(jobs, cases, attempt) };
    if looks_at_all {
        failed.extend(tell(RECORD, record::is_complete(&record)).err());
    }
    failed
}

fn run_case(case: &Case, record: &Path) -> Result<String, String> {
    let run = Run::new(case.build.clone().program()?, case.driver);
    let run = case.environment.iter().fold(run, |run, (name, value)| run.env(name, value));
    let run = if case.is_recorded { run.env("CHECK_RECORD", record) } else { run };
    run.checked()
}

/// Says how a test ended, with the first line of what it said of itself if it said more than how many checks it made.
fn tell(name: &str, ended: Result<String, String>) -> Result<(), String> {
    match ended {
        Ok(said) if said.lines().count() > 1 => {
            print(format_args!("test {name} ... ok: {}", said.lines().next().unwrap_or_default()));
            Ok(())
        }
        Ok(_) => {
            print(format_args!("test {name} ... ok"));
            Ok(())
        }
        Err(failure) => {
            print(format_args!("test {name} ... FAILED"));
            Err(format!("{name} ----\n{failure}"))
        }
    }
}

#[allow(clippy::print_stdout)] // where the results of tests stand
fn print(line: std::fmt::Arguments<'_>) {
    println!("{line}");
}
